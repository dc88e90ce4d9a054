//! What one packet can meet twice: tables applied and registers accessed along the ways through a
//! block, with sub-blocks, actions and functions followed where they are used.

use crate::{CallKind, Checked, Def};
use p4_syntax::ast::*;
use p4_syntax::span::Span;
use p4_syntax::HashMap;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum What {
    Apply,
    Read,
    Write,
}

/// A second use of a table or register on one way through the block.
pub(super) struct Again<'a> {
    pub what: What,
    pub decl: &'a Decl,
    pub first: Span,
    pub span: Span,
}

#[derive(Default)]
pub(super) struct Paths<'a> {
    pub again: Vec<Again<'a>>,
    /// Tables applied in two places, after which different things happen
    pub diverging: Vec<Again<'a>>,
}

/// So many statements are followed; a program of nested instances may multiply without end.
const MAX_STEPS: u32 = 50_000;
const MAX_DEPTH: usize = 32;

/// Follows all ways through a parser's or control's body.
pub(super) fn paths<'a>(checked: &Checked<'a>, block: &'a Decl) -> Paths<'a> {
    let mut walker = Walker {
        checked,
        found: Paths::default(),
        followers: HashMap::default(),
        instances: Vec::new(),
        steps: MAX_STEPS,
    };
    walker.block(block, Some(Uses::new()), END);
    walker.found
}

/// An object of one instance of the block around it.
type Key = (Vec<NodeId>, NodeId, What);
type Uses = BTreeMap<Key, Span>;
/// Uses before a place, on some way to it; none if no way leads there.
type Before = Option<Uses>;

/// What is executed next, as the address of the statement.
type Next = usize;
const END: Next = 0;

fn address(stmt: &Stmt) -> Next {
    std::ptr::from_ref(stmt) as usize
}

struct Walker<'c, 'a> {
    checked: &'c Checked<'a>,
    found: Paths<'a>,
    /// For each table where it was applied first, and what follows there
    followers: HashMap<(Vec<NodeId>, NodeId), (Next, Span)>,
    /// Instances around, outermost first
    instances: Vec<NodeId>,
    steps: u32,
}

fn join(a: Before, b: Before) -> Before {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            for (key, span) in b {
                a.entry(key).or_insert(span);
            }
            Some(a)
        }
        (one, None) | (None, one) => one,
    }
}

impl<'a> Walker<'_, 'a> {
    fn block(&mut self, block: &'a Decl, before: Before, next: Next) -> Before {
        match &block.kind {
            DeclKind::Control { apply, .. } => self.body(apply, before, next),
            DeclKind::Parser { states, .. } => {
                // States repeat and skip one another; each by itself is a way.
                for state in states {
                    self.statements(&state.body, before.clone(), next);
                }
                before
            }
            _ => before,
        }
    }

    /// A body that ends at its `return`s.
    fn body(&mut self, body: &'a Block, before: Before, next: Next) -> Before {
        let fallback = before.clone();
        let after = self.statements(&body.stmts, before, next);
        // Where every way returns, what was used before is still used.
        after.or(fallback)
    }

    fn statements(&mut self, stmts: &'a [Stmt], mut before: Before, next: Next) -> Before {
        for (index, stmt) in stmts.iter().enumerate() {
            let next = stmts.get(index + 1).map_or(next, address);
            before = self.statement(stmt, before, next);
        }
        before
    }

    fn statement(&mut self, stmt: &'a Stmt, before: Before, next: Next) -> Before {
        if self.steps == 0 || before.is_none() {
            return before;
        }
        self.steps -= 1;
        match &stmt.kind {
            StmtKind::Decl(decl) => match &decl.kind {
                DeclKind::Variable {
                    init: Some(init), ..
                } => self.expression(init, before, next),
                _ => before,
            },
            StmtKind::Call(call) => self.expression(call, before, next),
            StmtKind::Assign { lhs, rhs } | StmtKind::AssignOp { lhs, rhs, .. } => {
                let before = self.expression(lhs, before, next);
                self.expression(rhs, before, next)
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                let before = self.expression(cond, before, address(stmt));
                let taken = self.statement(then, before.clone(), next);
                let other = match otherwise {
                    Some(otherwise) => self.statement(otherwise, before, next),
                    None => before,
                };
                join(taken, other)
            }
            StmtKind::Switch { value, cases } => {
                let before = self.expression(value, before, address(stmt));
                let mut after = before.clone();
                for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                    let case = self.statements(&body.stmts, before.clone(), next);
                    after = join(after, case);
                }
                after
            }
            StmtKind::For {
                init,
                cond,
                update,
                body,
            } => {
                let mut before = self.statements(init, before, address(stmt));
                for _ in 0..2 {
                    before = self.expression(cond, before, address(stmt));
                    let round = self.statement(body, before.clone(), address(stmt));
                    let round = self.statements(update, round, address(stmt));
                    before = join(before, round);
                }
                before
            }
            StmtKind::ForIn { range, body, .. } => {
                let mut before = self.expression(range, before, address(stmt));
                for _ in 0..2 {
                    let round = self.statement(body, before.clone(), address(stmt));
                    before = join(before, round);
                }
                before
            }
            StmtKind::Block(inner) => self.statements(&inner.stmts, before, next),
            StmtKind::Return(Some(value)) => {
                self.expression(value, before, next);
                None
            }
            StmtKind::Return(None) | StmtKind::Exit => None,
            StmtKind::Empty | StmtKind::Break | StmtKind::Continue => before,
        }
    }

    fn expression(&mut self, expr: &'a Expr, mut before: Before, next: Next) -> Before {
        for child in expr.children() {
            before = self.expression(child, before, next);
        }
        let Some(call) = self.checked.calls.get(&expr.id) else {
            return before;
        };
        match call.kind {
            CallKind::Action(decl) | CallKind::Function(decl) => self.routine(decl, before),
            CallKind::TableApply(table) => self.table(table, expr.span, before, next),
            CallKind::BlockApply(decl) | CallKind::TypeApply(decl) => {
                let instance = self.callee(expr).unwrap_or(expr.id);
                self.inside(
                    instance,
                    |walker, before| walker.block(decl, before, next),
                    before,
                )
            }
            CallKind::Method { method, .. } if &*method.name.name == "execute" => {
                match self.register_of_action(expr) {
                    Some(register) => self.used(register, What::Write, expr.span, before),
                    None => before,
                }
            }
            CallKind::Method { method, .. } => match (self.register(expr), &*method.name.name) {
                (Some(register), "read") => self.used(register, What::Read, expr.span, before),
                (Some(register), "write") => self.used(register, What::Write, expr.span, before),
                _ => before,
            },
            _ => before,
        }
    }

    /// The instance that `x.apply(...)` or `x.method(...)` is called of.
    fn callee(&self, call: &Expr) -> Option<NodeId> {
        let ExprKind::Call { func, .. } = &call.kind else {
            return None;
        };
        let ExprKind::Member(base, _) = &func.kind else {
            return None;
        };
        match self.checked.defs.get(&base.id)? {
            Def::Instance(decl) => Some(decl.id),
            _ => None,
        }
    }

    fn register(&self, call: &Expr) -> Option<&'a Decl> {
        use crate::types::{Kind, Type};
        let decl = *self.checked.decls.get(&self.callee(call)?)?;
        let ty = self.checked.expr_type(decl.id);
        matches!(ty, Type::Named(Kind::Extern, _, name, _) if matches!(&**name, "register" | "Register"))
            .then_some(decl)
    }

    /// The register that a RegisterAction is made for.
    fn register_of_action(&self, call: &Expr) -> Option<&'a Decl> {
        let action = *self.checked.decls.get(&self.callee(call)?)?;
        let DeclKind::Instance { args, .. } = &action.kind else {
            return None;
        };
        let is_action = matches!(
            super::tna::extern_of(self.checked, action.id),
            Some("RegisterAction" | "DirectRegisterAction")
        );
        match self.checked.defs.get(&args.first()?.value.id) {
            Some(Def::Instance(register)) if is_action => Some(register),
            _ => None,
        }
    }

    fn inside(
        &mut self,
        instance: NodeId,
        walk: impl FnOnce(&mut Self, Before) -> Before,
        before: Before,
    ) -> Before {
        if self.instances.len() >= MAX_DEPTH {
            return before;
        }
        self.instances.push(instance);
        let after = walk(self, before);
        self.instances.pop();
        after
    }

    fn routine(&mut self, decl: &'a Decl, before: Before) -> Before {
        match &decl.kind {
            DeclKind::Action { body, .. } | DeclKind::Function { body, .. }
                if self.steps > 0 && self.instances.len() < MAX_DEPTH =>
            {
                self.steps -= 1;
                self.body(body, before, END)
            }
            _ => before,
        }
    }

    fn table(&mut self, table: &'a Decl, span: Span, before: Before, next: Next) -> Before {
        let place = (self.instances.clone(), table.id);
        let (follower, first) = *self.followers.entry(place).or_insert((next, span));
        if follower != next {
            self.found.diverging.push(Again {
                what: What::Apply,
                decl: table,
                first,
                span,
            });
        }
        let before = self.used(table, What::Apply, span, before);
        let DeclKind::Table(properties) = &table.kind else {
            return before;
        };
        let mut after = before.clone();
        for property in properties {
            if let PropertyValue::Actions(actions) = &property.value {
                for action in actions {
                    if let Some(decl) = self.checked.action_refs.get(&action.id) {
                        let one = self.routine(decl, before.clone());
                        after = join(after, one);
                    }
                }
            }
        }
        after
    }

    fn used(&mut self, decl: &'a Decl, what: What, span: Span, before: Before) -> Before {
        let mut uses = before?;
        let key = (self.instances.clone(), decl.id, what);
        if let Some(first) = uses.get(&key) {
            self.found.again.push(Again {
                what,
                decl,
                first: *first,
                span,
            });
        } else {
            uses.insert(key, span);
        }
        Some(uses)
    }
}
