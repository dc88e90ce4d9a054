//! Parameters of actions, functions and blocks: other names for their arguments.

use crate::model::{Action, Written};
use crate::reads::Effect;
use crate::walk::{Bound, Walk};
use p4_check::Builtin;
use p4_syntax::ast::*;
use p4_syntax::Span;

impl<'a> Walk<'_, 'a> {
    /// Lets parameters stand for the arguments. An argument that is computed is read where the
    /// parameter is.
    pub fn bind(
        &mut self,
        params: &'a [Param],
        order: &[Option<usize>],
        args: &'a [Arg],
        effect: &mut Effect,
    ) {
        let mut bound = Vec::new();
        for (i, param) in params.iter().enumerate() {
            let arg = order.get(i).copied().flatten().and_then(|i| args.get(i));
            let expr = arg.map(|arg| &arg.value).or(param.default.as_ref());
            let value = match expr {
                None => Bound::Value {
                    reads: Vec::new(),
                    crossbar: Vec::new(),
                },
                Some(expr) => match self.place(expr) {
                    Some(place) => Bound::Place(place),
                    None => {
                        let mut own = Effect::default();
                        self.value(expr, &mut own, false);
                        for used in own.uses {
                            effect.uses(used);
                        }
                        Bound::Value {
                            reads: own.reads,
                            crossbar: own.crossbar,
                        }
                    }
                },
            };
            bound.push((param.id, value));
        }
        self.env.bound.extend(bound);
    }

    /// An action called by a statement of another action, or of an apply block.
    pub fn inline_action(
        &mut self,
        decl: &'a Decl,
        order: &[Option<usize>],
        args: &'a [Arg],
        effect: &mut Effect,
    ) {
        let DeclKind::Action { params, body } = &decl.kind else {
            return;
        };
        self.bind(params, order, args, effect);
        self.plainly(|walk| walk.body(&body.stmts, effect));
    }

    /// An action of a table: parameters without direction come with the entry.
    pub fn table_action(
        &mut self,
        decl: &'a Decl,
        order: &[Option<usize>],
        args: &'a [Arg],
    ) -> Action {
        let DeclKind::Action { params, body } = &decl.kind else {
            return Action::default();
        };
        let mut effect = Effect::default();
        self.plainly(|walk| walk.bind(params, order, args, &mut effect));
        let mut data = Vec::new();
        for param in params.iter().filter(|p| p.direction == Direction::None) {
            let ty = self.concrete(self.checked.type_ref(param.ty.id));
            data.push(self.width(&ty));
            self.env.bound.insert(
                param.id,
                Bound::Value {
                    reads: Vec::new(),
                    crossbar: Vec::new(),
                },
            );
        }
        self.plainly(|walk| walk.body(&body.stmts, &mut effect));
        self.forget_written(&effect);
        Action {
            name: decl.name.name.to_string(),
            span: decl.name.span,
            data,
            ..effect.into_action()
        }
    }

    pub fn builtin(
        &mut self,
        builtin: Builtin,
        place: &crate::places::Place,
        effect: &mut Effect,
        crossbar: bool,
    ) {
        match builtin {
            Builtin::IsValid => {
                let bits = self.validity(place);
                effect.read(&bits, crossbar);
            }
            Builtin::SetValid | Builtin::SetInvalid => {
                let bits = self.validity(place);
                effect.write(&bits, Written::Constant);
            }
            Builtin::PushFront | Builtin::PopFront => {
                let all = self.accesses(place);
                effect.read(&all, false);
                effect.write(&all, Written::Computed);
            }
            Builtin::Size(_) => {}
        }
    }

    /// Reads variables as they are while `inner` runs.
    pub fn plainly<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.in_action, true);
        let result = inner(self);
        self.in_action = outer;
        result
    }

    pub fn loop_note(&mut self) {
        self.note("A loop is counted as one round of it.");
    }

    pub fn note(&mut self, text: &str) {
        if !self.notes.iter().any(|note| note == text) {
            self.notes.push(text.to_string());
        }
    }
}

/// From the start of one span to the end of another.
pub(crate) fn hull(a: Span, b: Span) -> Span {
    Span {
        lo: a.lo.min(b.lo),
        hi: a.hi.max(b.hi),
    }
}
