//! What expressions and statements of an action read and write.

use crate::model::{Access, Action, Use, Write, Written};
use crate::walk::{Bound, Walk};
use num_traits::Zero;
use p4_check::value::Value;
use p4_check::{CallInfo, CallKind, Def};
use p4_syntax::ast::*;

/// What a statement or a whole action does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effect {
    pub reads: Vec<Access>,
    pub crossbar: Vec<Access>,
    pub writes: Vec<Write>,
    pub uses: Vec<Use>,
    /// Writes that surely happen: what is read behind them is no older value.
    sure: Vec<Access>,
    /// Depth of branches around
    branches: u32,
}

impl Effect {
    pub fn overlaps(a: &Access, b: &Access) -> bool {
        a.field == b.field && a.lo <= b.hi && b.lo <= a.hi
    }

    pub fn read(&mut self, accesses: &[Access], crossbar: bool) {
        let list = match crossbar {
            true => &mut self.crossbar,
            false => &mut self.reads,
        };
        for access in accesses {
            let covered =
                |w: &Access| w.field == access.field && w.lo <= access.lo && access.hi <= w.hi;
            if !self.sure.iter().any(covered) && !list.contains(access) {
                list.push(*access);
            }
        }
    }

    pub fn write(&mut self, accesses: &[Access], value: Written) {
        for access in accesses {
            self.writes.push(Write {
                access: *access,
                value,
            });
            if self.branches == 0 {
                self.sure.push(*access);
            }
        }
    }

    pub fn uses(&mut self, used: Use) {
        if !self.uses.contains(&used) {
            self.uses.push(used);
        }
    }

    /// `later` happens behind this, in the same action.
    pub fn then(&mut self, later: Effect) {
        self.read(&later.reads, false);
        self.read(&later.crossbar, true);
        for used in later.uses {
            self.uses(used);
        }
        self.writes.extend(later.writes);
        self.sure.extend(later.sure);
    }

    /// Whether `later` touches what this writes.
    pub fn conflicts(&self, later: &Effect) -> bool {
        let touched = later.reads.iter().chain(&later.crossbar);
        let written = later.writes.iter().map(|write| &write.access);
        touched
            .chain(written)
            .any(|a| self.writes.iter().any(|w| Effect::overlaps(&w.access, a)))
    }

    pub fn into_action(self) -> Action {
        Action {
            reads: self.reads,
            crossbar: self.crossbar,
            writes: self.writes,
            uses: self.uses,
            ..Action::default()
        }
    }
}

impl<'a> Walk<'_, 'a> {
    /// Notes what an expression reads; tells what kind of value it is.
    pub fn value(&mut self, expr: &'a Expr, effect: &mut Effect, crossbar: bool) -> Written {
        if !self.spend(1) {
            return Written::Computed;
        }
        if let Some(value) = self.constant(expr) {
            let zero = match &value {
                Value::Bool(flag) => !flag,
                value => value.as_int().is_some_and(Zero::is_zero),
            };
            return if zero {
                Written::Zero
            } else {
                Written::Constant
            };
        }
        if let Some(place) = self.place(expr) {
            let accesses = self.accesses(&place);
            self.read(&accesses, effect, crossbar);
            return match accesses.as_slice() {
                [one] if !self.checked.coercions.contains_key(&expr.id) => Written::Copy(*one),
                _ => Written::Computed,
            };
        }
        if let Some(Def::Param(param)) = self.checked.defs.get(&expr.id) {
            if let Some(Bound::Value { reads, crossbar: x }) = self.env.bound.get(&param.id) {
                let (reads, through) = (reads.clone(), x.clone());
                effect.read(&reads, crossbar);
                effect.read(&through, true);
            }
            return Written::Computed;
        }
        if self.checked.calls.contains_key(&expr.id) {
            self.call(expr, effect, crossbar);
            return Written::Computed;
        }
        for child in expr.children() {
            self.value(child, effect, crossbar);
        }
        Written::Computed
    }

    /// `lhs = ` something.
    pub fn write_to(&mut self, lhs: &'a Expr, value: Written, effect: &mut Effect) {
        if let Some(place) = self.place(lhs) {
            let accesses = self.accesses(&place);
            let value = if accesses.len() == 1 {
                value
            } else {
                Written::Computed
            };
            effect.write(&accesses, value);
        }
    }

    /// The statements of an action, a function or a parser state.
    pub fn body(&mut self, stmts: &'a [Stmt], effect: &mut Effect) {
        for stmt in stmts {
            self.action_statement(stmt, effect);
        }
    }

    pub fn action_statement(&mut self, stmt: &'a Stmt, effect: &mut Effect) {
        if !self.spend(1) {
            return;
        }
        match &stmt.kind {
            StmtKind::Empty | StmtKind::Break | StmtKind::Continue | StmtKind::Exit => {}
            StmtKind::Decl(decl) => {
                if let DeclKind::Variable { init, .. } = &decl.kind {
                    let place = self.variable(decl);
                    if let Some(init) = init {
                        let value = self.value(init, effect, false);
                        let accesses = self.accesses(&place);
                        effect.write(&accesses, value);
                    }
                }
            }
            StmtKind::Call(expr) => {
                self.value(expr, effect, false);
            }
            StmtKind::Assign { lhs, rhs } => {
                let value = self.value(rhs, effect, false);
                self.write_to(lhs, value, effect);
            }
            StmtKind::AssignOp { lhs, rhs, .. } => {
                self.value(lhs, effect, false);
                self.value(rhs, effect, false);
                self.write_to(lhs, Written::Computed, effect);
            }
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    self.value(value, effect, false);
                }
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                if let Some(Value::Bool(known)) = self.constant(cond) {
                    let taken = if known {
                        Some(&**then)
                    } else {
                        otherwise.as_deref()
                    };
                    if let Some(stmt) = taken {
                        self.action_statement(stmt, effect);
                    }
                    return;
                }
                self.value(cond, effect, false);
                effect.branches += 1;
                self.action_statement(then, effect);
                if let Some(otherwise) = otherwise {
                    self.action_statement(otherwise, effect);
                }
                effect.branches -= 1;
            }
            StmtKind::Switch { value, cases } => {
                self.value(value, effect, false);
                effect.branches += 1;
                for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                    self.body(&body.stmts, effect);
                }
                effect.branches -= 1;
            }
            StmtKind::For { init, body, .. } => {
                self.body(init, effect);
                self.loop_note();
                effect.branches += 1;
                self.action_statement(body, effect);
                effect.branches -= 1;
            }
            StmtKind::ForIn { body, .. } => {
                self.loop_note();
                effect.branches += 1;
                self.action_statement(body, effect);
                effect.branches -= 1;
            }
            StmtKind::Block(block) => self.body(&block.stmts, effect),
        }
    }

    /// A call that is not an apply.
    pub fn call(&mut self, expr: &'a Expr, effect: &mut Effect, crossbar: bool) {
        let (base, args): (Option<&'a Expr>, &'a [Arg]) = match &expr.kind {
            ExprKind::Call { func, args, .. } => match &func.kind {
                ExprKind::Member(base, _) => (Some(base), args),
                _ => (None, args),
            },
            _ => (None, &[]),
        };
        let Some(info) = self.checked.calls.get(&expr.id).cloned() else {
            return;
        };
        match info.kind {
            CallKind::Action(decl) => self.inline_action(decl, &info.args, args, effect),
            CallKind::Function(decl) => {
                let DeclKind::Function { params, body, .. } = &decl.kind else {
                    return;
                };
                self.bind(params, &info.args, args, effect);
                self.body(&body.stmts, effect);
            }
            CallKind::ExternFunction(decl) => {
                self.extern_function(decl, &info, args, effect, crossbar)
            }
            CallKind::Method { object, method } => {
                self.method(object, method, base, &info, args, effect)
            }
            CallKind::Builtin(builtin) => {
                if let Some(place) = base.and_then(|base| self.place(base)) {
                    self.builtin(builtin, &place, effect, crossbar);
                }
            }
            CallKind::TableApply(_)
            | CallKind::BlockApply(_)
            | CallKind::TypeApply(_)
            | CallKind::Construct(_) => {
                for arg in args {
                    self.value(&arg.value, effect, crossbar);
                }
            }
        }
    }

    /// Arguments by direction: what is `in` is read, what is `out` written.
    pub fn arguments(
        &mut self,
        params: &'a [Param],
        info: &CallInfo<'a>,
        args: &'a [Arg],
        effect: &mut Effect,
        crossbar: bool,
    ) {
        for (param, index) in params.iter().zip(&info.args) {
            let Some(arg) = index.and_then(|i| args.get(i)) else {
                continue;
            };
            if !matches!(param.direction, Direction::Out) {
                self.value(&arg.value, effect, crossbar);
            }
        }
        for (param, index) in params.iter().zip(&info.args) {
            let Some(arg) = index.and_then(|i| args.get(i)) else {
                continue;
            };
            if matches!(param.direction, Direction::Out | Direction::InOut) {
                self.write_to(&arg.value, Written::Computed, effect);
            }
        }
    }
}
