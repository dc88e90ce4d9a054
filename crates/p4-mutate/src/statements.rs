//! Mistakes in statements: left out, twice, in the wrong order, in the wrong branch.

use crate::edits::Operator;
use crate::walk::Walk;
use p4_syntax::ast::*;
use p4_syntax::Span;

impl<'a> Walk<'a> {
    pub(crate) fn block(&mut self, block: &'a Block) {
        let depth = self.scope.len();
        self.statements(&block.stmts);
        self.scope.truncate(depth);
    }

    pub(crate) fn statements(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            self.statement(stmt);
        }
        for pair in stmts.windows(2) {
            self.swap(&pair[0], &pair[1]);
        }
    }

    fn statement(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Empty | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Decl(decl) => self.declaration(decl),
            StmtKind::Block(block) => self.block(block),
            StmtKind::Exit | StmtKind::Return(None) => self.drop(stmt),
            StmtKind::Return(Some(value)) => self.value(value),
            StmtKind::Call(call) => {
                self.drop(stmt);
                self.double(stmt);
                self.expression(call);
            }
            StmtKind::Assign { lhs, rhs } | StmtKind::AssignOp { lhs, rhs, .. } => {
                self.drop(stmt);
                if matches!(stmt.kind, StmtKind::AssignOp { .. }) || self.mentions(rhs, lhs) {
                    self.double(stmt);
                }
                self.targets(lhs);
                self.expression(lhs);
                self.value(rhs);
                self.narrowed(rhs);
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => self.branch(stmt, cond, then, otherwise.as_deref()),
            StmtKind::Switch { value, cases } => {
                self.drop(stmt);
                self.expression(value);
                self.cases(cases);
            }
            StmtKind::For {
                init, cond, update, ..
            } => {
                let depth = self.scope.len();
                self.statements(init);
                self.expression(cond);
                self.statements(update);
                self.body(stmt);
                self.scope.truncate(depth);
            }
            StmtKind::ForIn { range, .. } => {
                self.expression(range);
                self.body(stmt);
            }
        }
    }

    fn body(&mut self, stmt: &'a Stmt) {
        if let StmtKind::For { body, .. } | StmtKind::ForIn { body, .. } = &stmt.kind {
            self.statement(body);
        }
    }

    fn drop(&mut self, stmt: &Stmt) {
        let title = format!("`{}` is left out", self.edits.shown(stmt.span));
        // An empty statement, so that what is a body stays one.
        self.edits.replace(Operator::Drop, stmt.span, ";", title);
    }

    fn double(&mut self, stmt: &Stmt) {
        let text = self.edits.text(stmt.span);
        let title = format!("`{}` is there twice", self.edits.shown(stmt.span));
        let twice = format!("{text} {text}");
        self.edits
            .replace(Operator::Double, stmt.span, &twice, title);
    }

    fn swap(&mut self, first: &Stmt, second: &Stmt) {
        let touched = [self.touched(first), self.touched(second)];
        let [Some(a), Some(b)] = &touched else {
            return;
        };
        if !a.meets(b) && !b.meets(a) {
            return;
        }
        let texts = [first.span, second.span].map(|span| self.edits.text(span));
        let between = self.between(first.span, second.span);
        let other = format!("{}{between}{}", texts[1], texts[0]);
        let (one, two) = (self.edits.shown(first.span), self.edits.shown(second.span));
        let title = format!("`{one}` comes after `{two}`");
        let whole = first.span.to(second.span);
        self.edits.replace(Operator::Swap, whole, &other, title);
    }

    pub(crate) fn between(&self, first: Span, second: Span) -> &'a str {
        if first.hi > second.lo {
            return "";
        }
        self.edits.text(Span {
            lo: first.hi,
            hi: second.lo,
        })
    }

    fn branch(
        &mut self,
        stmt: &'a Stmt,
        cond: &'a Expr,
        then: &'a Stmt,
        otherwise: Option<&'a Stmt>,
    ) {
        self.condition(cond);
        self.statement(then);
        let Some(otherwise) = otherwise else {
            return;
        };
        self.statement(otherwise);
        self.without_else(stmt, then, otherwise);
        let other = match &otherwise.kind {
            StmtKind::If { then, .. } => then,
            _ => otherwise,
        };
        self.exchange(then.span, other.span);
    }

    fn without_else(&mut self, stmt: &Stmt, then: &Stmt, otherwise: &Stmt) {
        let title = format!("`else {}` is left out", self.edits.shown(otherwise.span));
        let rest = Span {
            lo: then.span.hi,
            hi: stmt.span.hi,
        };
        self.edits.replace(Operator::Else, rest, "", title);
    }

    /// Two bodies take each other's place.
    fn exchange(&mut self, first: Span, second: Span) {
        if first.hi > second.lo {
            return;
        }
        let [one, two] = [first, second].map(|span| self.edits.text(span));
        let (a, b) = (self.edits.shown(first), self.edits.shown(second));
        let title = format!("`{a}` and `{b}` are exchanged");
        let other = format!("{two}{}{one}", self.between(first, second));
        let whole = first.to(second);
        self.edits.replace(Operator::Branches, whole, &other, title);
    }

    fn cases(&mut self, cases: &'a [SwitchCase]) {
        for case in cases {
            if let Some(body) = &case.body {
                let title = format!("The case `{}` is left out", self.edits.shown(case.span));
                self.edits.replace(Operator::Case, case.span, "", title);
                self.block(body);
            }
        }
        for pair in cases.windows(2) {
            if let [Some(first), Some(second)] = [&pair[0].body, &pair[1].body] {
                self.exchange(first.span, second.span);
            }
        }
    }

    /// Whether `expr` reads what `lhs` names.
    fn mentions(&self, expr: &Expr, lhs: &Expr) -> bool {
        self.edits.text(expr.span) == self.edits.text(lhs.span)
            || expr
                .children()
                .iter()
                .any(|child| self.mentions(child, lhs))
    }

    /// What a statement reads and writes; None for one that is more than an assignment, a test or a
    /// call.
    fn touched(&self, stmt: &Stmt) -> Option<Touched<'a>> {
        let mut touched = Touched::default();
        self.touch(stmt, &mut touched).then_some(touched)
    }

    fn touch(&self, stmt: &Stmt, touched: &mut Touched<'a>) -> bool {
        match &stmt.kind {
            StmtKind::Assign { lhs, rhs } | StmtKind::AssignOp { lhs, rhs, .. } => {
                touched.writes.push(self.edits.text(lhs.span));
                self.reads(rhs, touched);
                true
            }
            StmtKind::Call(call) => {
                touched.is_call = true;
                self.reads(call, touched);
                true
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                self.reads(cond, touched);
                let rest = otherwise.as_deref();
                self.touch(then, touched) && rest.is_none_or(|rest| self.touch(rest, touched))
            }
            StmtKind::Block(block) => block.stmts.iter().all(|stmt| self.touch(stmt, touched)),
            StmtKind::Empty => true,
            _ => false,
        }
    }

    fn reads(&self, expr: &Expr, touched: &mut Touched<'a>) {
        match &expr.kind {
            ExprKind::Path(_) | ExprKind::Member(..) => {
                touched.reads.push(self.edits.text(expr.span));
            }
            ExprKind::Call { func, args, .. } => {
                touched.is_call |= !self.edits.text(func.span).ends_with(".isValid");
                self.reads(func, touched);
                args.iter().for_each(|arg| self.reads(&arg.value, touched));
            }
            _ => expr.children().iter().for_each(|e| self.reads(e, touched)),
        }
    }
}

/// Names that a statement reads and writes. What a call does nobody asks: it may be anything.
#[derive(Default)]
struct Touched<'a> {
    reads: Vec<&'a str>,
    writes: Vec<&'a str>,
    is_call: bool,
}

impl Touched<'_> {
    /// Whether it matters to `other` that this comes first.
    fn meets(&self, other: &Touched<'_>) -> bool {
        let is_part = |a: &str, b: &str| {
            a == b
                || a.strip_prefix(b)
                    .is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        let seen = other.reads.iter().chain(&other.writes);
        self.is_call
            || seen.into_iter().any(|b| {
                let mut writes = self.writes.iter();
                writes.any(|a| is_part(a, b) || is_part(b, a))
            })
    }
}
