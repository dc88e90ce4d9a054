//! What a body of statements applies and calls.
//!
//! The control plane sees only what can be reached: a table that nobody applies and an action that
//! no table lists and nobody calls do not exist for it.

use p4_check::value::Value;
use p4_check::{CallKind, Checked};
use p4_syntax::ast::*;
use p4_syntax::HashSet;

/// Functions and actions that call each other deeper than this are walked no further; the language
/// has no recursion, so it is a backstop.
const MAX_DEPTH: u32 = 64;

/// Something a body does that the control plane may get to see.
pub(crate) enum Event<'a> {
    Table(&'a Decl),
    Action(&'a Decl),
    /// `x.apply(...)`, where `x` is the expression
    Block(&'a Expr),
    /// `C.apply(...)`: an instance of `C` made on the spot
    Direct(&'a Expr, &'a Decl),
    ExternFunction(&'a Expr, &'a Decl),
    /// `x.m(...)` of an extern: the call, its method, and the upper end of a slice right behind it
    Method(&'a Expr, &'a Decl, Option<&'a Expr>),
    /// An instance declared among the statements
    Instance(&'a Decl),
}

pub(crate) struct Walker<'a, 'w> {
    checked: &'w Checked<'a>,
    /// Values of constructor parameters
    params: &'w dyn Fn(&Param) -> Option<Value>,
    /// Whether bodies of actions are walked where they are called
    into_actions: bool,
    events: Vec<Event<'a>>,
    walked: HashSet<NodeId>,
    depth: u32,
}

impl<'a, 'w> Walker<'a, 'w> {
    pub fn new(
        checked: &'w Checked<'a>,
        params: &'w dyn Fn(&Param) -> Option<Value>,
        into_actions: bool,
    ) -> Walker<'a, 'w> {
        Walker {
            checked,
            params,
            into_actions,
            events: Vec::new(),
            walked: HashSet::default(),
            depth: 0,
        }
    }

    /// What `body` does, in its order.
    pub fn block_events(mut self, body: &'a Block) -> Vec<Event<'a>> {
        self.stmts(&body.stmts);
        self.events
    }

    pub fn state_events(mut self, states: &'a [State]) -> Vec<Event<'a>> {
        for state in states {
            self.stmts(&state.body);
            if let Transition::Select { keys, .. } = &state.transition {
                self.exprs(keys);
            }
        }
        self.events
    }

    fn stmts(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Empty
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Exit
            | StmtKind::Return(None) => {}
            StmtKind::Decl(decl) => self.decl(decl),
            StmtKind::Call(expr) | StmtKind::Return(Some(expr)) => self.expr(expr),
            StmtKind::Assign { lhs, rhs } | StmtKind::AssignOp { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                self.expr(cond);
                let known = self.known(cond);
                if known != Some(false) {
                    self.stmt(then);
                }
                if let Some(otherwise) = otherwise.as_deref().filter(|_| known != Some(true)) {
                    self.stmt(otherwise);
                }
            }
            StmtKind::Switch { value, cases } => {
                self.expr(value);
                for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                    self.stmts(&body.stmts);
                }
            }
            StmtKind::For {
                init,
                cond,
                update,
                body,
            } => {
                self.stmts(init);
                self.expr(cond);
                self.stmts(update);
                self.stmt(body);
            }
            StmtKind::ForIn { range, body, .. } => {
                self.expr(range);
                self.stmt(body);
            }
            StmtKind::Block(block) => self.stmts(&block.stmts),
        }
    }

    /// The value of a condition that is known at compile time.
    fn known(&self, cond: &Expr) -> Option<bool> {
        match self.checked.eval(cond, self.params) {
            Some(Value::Bool(value)) => Some(value),
            _ => None,
        }
    }

    fn decl(&mut self, decl: &'a Decl) {
        match &decl.kind {
            DeclKind::Variable {
                init: Some(init), ..
            } => self.expr(init),
            DeclKind::Instance { .. } => self.events.push(Event::Instance(decl)),
            _ => {}
        }
    }

    fn exprs(&mut self, exprs: &'a [Expr]) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        if let ExprKind::Conditional(cond, yes, no) = &expr.kind {
            self.expr(cond);
            let known = self.known(cond);
            if known != Some(false) {
                self.expr(yes);
            }
            if known != Some(true) {
                self.expr(no);
            }
            return;
        }
        for child in expr.children() {
            self.expr(child);
        }
        if let (ExprKind::Slice(base, upper, _), Some(Event::Method(call, _, end))) =
            (&expr.kind, self.events.last_mut())
        {
            if call.id == base.id {
                *end = Some(upper);
            }
        }
        if let ExprKind::Call { func, .. } = &expr.kind {
            self.call(expr, func);
        }
    }

    fn call(&mut self, expr: &'a Expr, func: &'a Expr) {
        let Some(info) = self.checked.calls.get(&expr.id) else {
            return;
        };
        match info.kind {
            CallKind::Action(decl) => {
                self.events.push(Event::Action(decl));
                if let (true, DeclKind::Action { body, .. }) = (self.into_actions, &decl.kind) {
                    self.routine(decl, body);
                }
            }
            CallKind::Function(decl) => {
                if let DeclKind::Function { body, .. } = &decl.kind {
                    self.routine(decl, body);
                }
            }
            // It is gone once the program is compiled.
            CallKind::ExternFunction(decl) if &*decl.name.name == "static_assert" => {}
            CallKind::ExternFunction(decl) => {
                self.events.push(Event::ExternFunction(expr, decl));
            }
            CallKind::TableApply(decl) => {
                self.events.push(Event::Table(decl));
                self.keys(decl);
            }
            CallKind::BlockApply(_) => {
                if let ExprKind::Member(base, _) = &func.kind {
                    self.events.push(Event::Block(base));
                }
            }
            CallKind::TypeApply(decl) => self.events.push(Event::Direct(expr, decl)),
            CallKind::Method { method, .. } => self.events.push(Event::Method(expr, method, None)),
            CallKind::Construct(_) | CallKind::Builtin(_) => {}
        }
    }

    /// The key of a table can apply another table.
    fn keys(&mut self, table: &'a Decl) {
        let DeclKind::Table(properties) = &table.kind else {
            return;
        };
        if self.depth >= MAX_DEPTH || !self.walked.insert(table.id) {
            return;
        }
        self.depth += 1;
        for property in properties {
            if let PropertyValue::Key(elements) = &property.value {
                for element in elements {
                    self.expr(&element.expr);
                }
            }
        }
        self.depth -= 1;
    }

    fn routine(&mut self, decl: &Decl, body: &'a Block) {
        if self.depth < MAX_DEPTH && self.walked.insert(decl.id) {
            self.depth += 1;
            self.stmts(&body.stmts);
            self.depth -= 1;
        }
    }
}
