//! `if` and `switch` of an apply block.

use crate::model::{Guard, UnitKind};
use crate::reads::Effect;
use crate::walk::{Flow, Walk};
use p4_check::value::Value;
use p4_check::CallKind;
use p4_syntax::ast::*;

/// Arms of `action_run` begin here, behind those of `hit`.
const FIRST_ACTION: u32 = 2;

impl<'a> Walk<'_, 'a> {
    pub fn if_statement(
        &mut self,
        cond: &'a Expr,
        then: &'a Stmt,
        otherwise: Option<&'a Stmt>,
    ) -> Flow {
        if let Some(Value::Bool(known)) = self.constant(cond) {
            return match (known, otherwise) {
                (true, _) => self.statement(then),
                (false, Some(otherwise)) => self.statement(otherwise),
                (false, None) => Flow::GoesOn,
            };
        }
        let (unit, then_arm) = match self.hit(cond) {
            Some((table, hit)) => (self.apply_in(table), u32::from(hit)),
            None => (self.condition(cond), 1),
        };
        let before = self.copies.clone();
        let then_ends = self.arm(unit, vec![then_arm], |walk| walk.statement(then));
        let behind_then = std::mem::replace(&mut self.copies, before);
        let else_ends = match otherwise {
            Some(stmt) => self.arm(unit, vec![1 - then_arm], |walk| walk.statement(stmt)),
            None => false,
        };
        match (then_ends, else_ends) {
            (true, _) => {}
            (false, true) => self.copies = behind_then,
            (false, false) => self.keep_common(&behind_then),
        }
        match (then_ends, else_ends) {
            (false, false) => Flow::GoesOn,
            (true, true) => Flow::Ends,
            (true, false) => Flow::GoesOnIf(unit, vec![1 - then_arm]),
            (false, true) => Flow::GoesOnIf(unit, vec![then_arm]),
        }
    }

    /// Runs `inner` on one branch; whether the branch surely ends there.
    fn arm(&mut self, unit: u32, arms: Vec<u32>, inner: impl FnOnce(&mut Self) -> Flow) -> bool {
        self.guards.push(Guard { unit, arms });
        let flow = inner(self);
        self.flush();
        self.guards.pop();
        matches!(flow, Flow::Ends)
    }

    /// A condition on fields; tables applied in it come first.
    fn condition(&mut self, cond: &'a Expr) -> u32 {
        self.tables_in(cond);
        self.flush();
        let mut effect = Effect::default();
        self.value(cond, &mut effect, true);
        let mut reads = effect.crossbar;
        reads.extend(effect.reads);
        self.push_unit(UnitKind::Condition, String::new(), cond.span, reads)
    }

    /// `t.apply().hit` or `.miss`, with any number of `!` in front: the call, and whether the
    /// condition holds on a hit.
    fn hit(&self, cond: &'a Expr) -> Option<(&'a Expr, bool)> {
        match &cond.kind {
            ExprKind::Unary(UnOp::Not, inner) => {
                let (table, hit) = self.hit(inner)?;
                Some((table, !hit))
            }
            ExprKind::Member(base, name) if self.applies(base) => match &*name.name {
                "hit" => Some((base, true)),
                "miss" => Some((base, false)),
                _ => None,
            },
            _ => None,
        }
    }

    fn applies(&self, expr: &Expr) -> bool {
        let call = self.checked.calls.get(&expr.id).map(|call| call.kind);
        matches!(call, Some(CallKind::TableApply(_)))
    }

    fn apply_in(&mut self, call: &'a Expr) -> u32 {
        match self.checked.calls.get(&call.id).map(|call| call.kind) {
            Some(CallKind::TableApply(decl)) => self.table(decl, call.span),
            _ => self.push_unit(UnitKind::Condition, String::new(), call.span, Vec::new()),
        }
    }

    /// Adds the tables that an expression applies.
    pub fn tables_in(&mut self, expr: &'a Expr) {
        if !self.spend(1) {
            return;
        }
        if let Some(CallKind::TableApply(decl)) =
            self.checked.calls.get(&expr.id).map(|call| call.kind)
        {
            self.table(decl, expr.span);
            return;
        }
        for child in expr.children() {
            self.tables_in(child);
        }
    }

    pub fn switch_statement(&mut self, value: &'a Expr, cases: &'a [SwitchCase]) {
        let table = match &value.kind {
            ExprKind::Member(base, name) if &*name.name == "action_run" && self.applies(base) => {
                Some(&**base)
            }
            _ => None,
        };
        let unit = match table {
            Some(call) => self.apply_in(call),
            None => self.condition(value),
        };
        let names: Vec<String> = match (table, self.units.get(unit as usize)) {
            (Some(_), Some(unit)) => unit.actions.iter().map(|a| a.name.clone()).collect(),
            _ => Vec::new(),
        };
        let arms: Vec<Vec<u32>> = case_arms(cases, table.is_some(), &names);
        let mut waiting = Vec::new();
        for (case, own) in cases.iter().zip(arms) {
            waiting.extend(own);
            if let Some(body) = &case.body {
                let arms = std::mem::take(&mut waiting);
                let before = self.copies.clone();
                self.arm(unit, arms, |walk| walk.block(&body.stmts));
                let behind = std::mem::replace(&mut self.copies, before);
                self.keep_common(&behind);
            }
        }
    }
}

/// The arms of each case: of `default` all that no other case names.
fn case_arms(cases: &[SwitchCase], actions: bool, names: &[String]) -> Vec<Vec<u32>> {
    let own = |(i, case): (usize, &SwitchCase)| match &case.label {
        SwitchLabel::Default(_) => None,
        SwitchLabel::Expr(expr) if actions => {
            let ExprKind::Path(path) = &expr.kind else {
                return Some(Vec::new());
            };
            let at = names.iter().position(|name| **name == *path.ident.name);
            Some(at.map(|at| FIRST_ACTION + at as u32).into_iter().collect())
        }
        SwitchLabel::Expr(_) => Some(vec![i as u32]),
    };
    let named: Vec<Option<Vec<u32>>> = cases.iter().enumerate().map(own).collect();
    let taken: Vec<u32> = named.iter().flatten().flatten().copied().collect();
    let all: Vec<u32> = match actions {
        true => (0..names.len() as u32).map(|i| FIRST_ACTION + i).collect(),
        false => (0..=cases.len() as u32).collect(),
    };
    let rest: Vec<u32> = all.into_iter().filter(|arm| !taken.contains(arm)).collect();
    named
        .into_iter()
        .map(|arms| arms.unwrap_or_else(|| rest.clone()))
        .collect()
}
