//! Parsers and controls (specification 13, 14).

use crate::types::{Kind, Type};
use crate::{Checker, Context, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use std::collections::HashMap;

impl<'a> Checker<'a> {
    pub(crate) fn parser(
        &mut self,
        decl: &'a Decl,
        proto: &'a ParserProto,
        ctor_params: &'a [Param],
        locals: &'a [Decl],
        states: &'a [State],
    ) {
        // Known inside, for states that apply another instance of the same type.
        self.with_type_params(decl, &proto.type_params, |c| {
            c.params(&proto.params);
            c.ctor_params(ctor_params);
            c.scopes.push();
            let outer = std::mem::replace(
                &mut c.context,
                Context {
                    in_parser: true,
                    ..Context::default()
                },
            );
            for local in locals {
                c.local(local);
            }
            c.states(decl, states);
            c.context = outer;
            c.scopes.pop();
        });
        self.declare(&decl.name, Def::Type(decl));
    }

    fn ctor_params(&mut self, params: &'a [Param]) {
        self.params(params);
        for param in params {
            if param.direction != Direction::None {
                self.error(
                    "E0310",
                    param.span,
                    format!(
                        "the constructor parameter `{}` cannot have a direction",
                        param.name.name
                    ),
                );
            }
        }
    }

    fn states(&mut self, decl: &'a Decl, states: &'a [State]) {
        let mut known: HashMap<&Name, p4_syntax::span::Span> = HashMap::new();
        for state in states {
            if matches!(&*state.name.name, "accept" | "reject") {
                self.error(
                    "E0401",
                    state.name.span,
                    format!(
                        "the state `{}` exists in every parser and cannot be declared",
                        state.name.name
                    ),
                );
            }
            if let Some(first) = known.insert(&state.name.name, state.name.span) {
                self.report(
                    Diagnostic::error(
                        "E0202",
                        state.name.span,
                        format!("the state `{}` is declared twice", state.name.name),
                    )
                    .label(first, "first declared here"),
                );
            }
        }
        if !states.iter().any(|s| &*s.name.name == "start") {
            self.report(
                Diagnostic::error(
                    "E0402",
                    decl.name.span,
                    format!("the parser `{}` has no state `start`", decl.name.name),
                )
                .hint("parsing begins in the state named `start`: add one"),
            );
        }
        for state in states {
            self.scopes.push();
            self.statements(&state.body);
            match &state.transition {
                Transition::Missing(_) => {}
                Transition::Direct(next) => self.next_state(next, states),
                Transition::Select { keys, cases, .. } => self.select(keys, cases, states),
            }
            self.scopes.pop();
        }
    }

    fn next_state(&mut self, next: &'a Ident, states: &'a [State]) {
        let name = &*next.name;
        if matches!(name, "accept" | "reject") || states.iter().any(|s| s.name.name == next.name) {
            return;
        }
        let mut diagnostic = Diagnostic::error(
            "E0403",
            next.span,
            format!("the parser has no state `{name}`"),
        );
        let names = states
            .iter()
            .map(|s| &*s.name.name)
            .chain(["accept", "reject"]);
        if let Some(near) = names.min_by_key(|n| crate::scope::edit_distance(n, name)) {
            if crate::scope::edit_distance(near, name) <= name.len() / 2 {
                diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
            }
        }
        self.report(diagnostic);
    }

    fn select(&mut self, keys: &'a [Expr], cases: &'a [SelectCase], states: &'a [State]) {
        let mut types = Vec::new();
        for key in keys {
            let mut ty = self.value_expr(key);
            if ty == Type::Int {
                self.report(
                    Diagnostic::error("E0404", key.span, "the value to select on needs a width")
                        .hint("write it with a width, as in `8w1`"),
                );
                ty = Type::Unknown;
            }
            types.push(ty);
        }
        for case in cases {
            self.keyset(&case.keyset, &types, case.span);
            self.next_state(&case.next, states);
        }
    }

    /// Checks one keyset of a select case or table entry against the types of the key.
    pub(crate) fn keyset(
        &mut self,
        keyset: &'a [Expr],
        types: &[Type],
        span: p4_syntax::span::Span,
    ) {
        if let [single] = keyset {
            if matches!(single.kind, ExprKind::DontCare) {
                self.expr(single);
                return;
            }
            // `(a, b)` for one key that is a pair, or a value of a type with that many parts
            if let ExprKind::List { items, .. } = &single.kind {
                self.keyset(items, types, span);
                self.set_type(single.id, Type::Tuple(types.to_vec()));
                return;
            }
            if let (ExprKind::Tuple(items), true) = (&single.kind, types.len() > 1) {
                self.keyset(items, types, span);
                self.set_type(single.id, Type::Tuple(types.to_vec()));
                return;
            }
            if types.len() > 1 {
                let ty = self.value_expr(single);
                let wanted = Type::Tuple(types.to_vec());
                let inner = match ty {
                    Type::Set(inner) => *inner,
                    other => other,
                };
                let fields = self
                    .fields_of(&inner)
                    .map(|f| Type::Tuple(f.into_iter().map(|(_, t, _)| t).collect()));
                if inner == wanted || fields == Some(wanted) || inner == Type::Unknown {
                    return;
                }
                self.error(
                    "E0405",
                    span,
                    format!("the key has {} parts, but this gives 1", types.len()),
                );
                return;
            }
        }
        if keyset.len() != types.len() {
            self.error(
                "E0405",
                span,
                format!(
                    "the key has {} part(s), but this gives {}",
                    types.len(),
                    keyset.len()
                ),
            );
            for item in keyset {
                self.expr(item);
            }
            return;
        }
        for (item, ty) in keyset.iter().zip(types) {
            self.keyset_item(item, ty);
        }
    }

    fn keyset_item(&mut self, item: &'a Expr, key: &Type) {
        let given = self.value_expr(item);
        if matches!(given, Type::DontCare | Type::Unknown) || *key == Type::Unknown {
            return;
        }
        let base = self.out.underlying(key);
        match &item.kind {
            ExprKind::Mask(a, b) | ExprKind::Range(a, b) => {
                let renamed = base != *key;
                for side in [a, b] {
                    let side_type = self.out.expr_type(side.id).clone();
                    let wanted = if renamed && side_type == base {
                        &base
                    } else {
                        key
                    };
                    let wanted = if side_type == Type::Int {
                        &base
                    } else {
                        wanted
                    };
                    self.coerce(side, wanted);
                }
                self.set_type(item.id, Type::Set(Box::new(key.clone())));
            }
            _ => match given {
                Type::Set(inner) => {
                    let single = self
                        .fields_of(&inner)
                        .and_then(|f| (f.len() == 1).then(|| f[0].1.clone()));
                    if !self.unify(&inner, key) && single.as_ref() != Some(key) {
                        self.error(
                            "E0302",
                            item.span,
                            format!("this is a set of {inner}, but the key is {key}"),
                        );
                    }
                }
                other => {
                    // A serialisable enum's member may stand for its value and the other way round.
                    if other == base && base != *key && key.is_kind(Kind::SerEnum) {
                        return;
                    }
                    self.coerce(item, key);
                }
            },
        }
    }

    pub(crate) fn control(
        &mut self,
        decl: &'a Decl,
        proto: &'a ParserProto,
        ctor_params: &'a [Param],
        locals: &'a [Decl],
        apply: &'a Block,
    ) {
        self.with_type_params(decl, &proto.type_params, |c| {
            c.params(&proto.params);
            c.ctor_params(ctor_params);
            c.scopes.push();
            let context = Context {
                return_type: Some(Type::Void),
                ..Context::default()
            };
            let outer = std::mem::replace(&mut c.context, context);
            for local in locals {
                c.local(local);
            }
            c.block(apply);
            c.context = outer;
            c.scopes.pop();
        });
        self.declare(&decl.name, Def::Type(decl));
    }
}
