//! Conditions as jumps, and choices among constants as one switch.

use super::Lowerer;
use crate::ir::*;
use p4_check::types::Type;
use p4_check::value::Value;
use p4_check::Def;
use p4_syntax::ast::{BinOp, Expr, ExprKind, SwitchCase, SwitchLabel, UnOp};

/// A switch to be filled: its index in the program.
#[derive(Clone, Copy)]
pub(super) struct SwitchId(usize);

impl<'a> Lowerer<'a, '_> {
    /// Jumps, to be patched, that are taken if `cond` is `when`; otherwise execution goes on. The
    /// right side of `&&` and `||` runs only when needed.
    pub(super) fn branch(&mut self, cond: &'a Expr, when: bool) -> Vec<usize> {
        if let Some(Value::Bool(known)) = self.eval(cond) {
            return match known == when {
                true => vec![self.emit(Op::Jmp { t: 0 })],
                false => Vec::new(),
            };
        }
        match &cond.kind {
            ExprKind::Unary(UnOp::Not, operand) => self.branch(operand, !when),
            ExprKind::Binary(op @ (BinOp::And | BinOp::Or), a, b) => {
                // The left side alone decides if it is false for `&&`, true for `||`.
                let decides = *op == BinOp::Or;
                let mut jumps = self.branch(a, decides);
                if decides == when {
                    jumps.extend(self.branch(b, when));
                    return jumps;
                }
                let taken = self.branch(b, when);
                for at in jumps {
                    self.patch(at);
                }
                taken
            }
            ExprKind::Binary(op @ (BinOp::Eq | BinOp::Ne), a, b) => {
                match self.against_zero(a, b) {
                    // Equal to zero is false as a condition.
                    Some(c) => vec![self.jump_on(c, when == (*op == BinOp::Ne))],
                    None => self.branch_on_value(cond, when),
                }
            }
            _ => self.branch_on_value(cond, when),
        }
    }

    fn branch_on_value(&mut self, cond: &'a Expr, when: bool) -> Vec<usize> {
        let c = self.value(cond);
        vec![self.jump_on(c, when)]
    }

    fn jump_on(&mut self, c: Slot, when: bool) -> usize {
        if when {
            self.emit(Op::JmpIf { c, t: 0 })
        } else {
            self.emit(Op::JmpIfNot { c, t: 0 })
        }
    }

    /// The slot of the one-word value that is compared with the constant 0, if that is what
    /// `a == b` does.
    fn against_zero(&mut self, a: &'a Expr, b: &'a Expr) -> Option<Slot> {
        let (value, zero) = match (self.eval(a), self.eval(b)) {
            (None, Some(zero)) => (a, zero),
            (Some(zero), None) => (b, zero),
            _ => return None,
        };
        let is_zero = match &zero {
            Value::Bool(b) => !b,
            zero => zero.as_int().is_some_and(|n| n.bits() == 0),
        };
        let ty = self.target_type(value);
        let width = self.scalar(&ty).map(|(width, _)| width)?;
        (is_zero && (1..=64).contains(&width)).then(|| self.value(value))
    }

    /// A switch on the value at `v`: for each value its place in the list, the first of equal ones.
    /// Its cases lead nowhere until they are set.
    pub(super) fn switch_on(&mut self, v: Slot, values: &[u64]) -> (SwitchId, Vec<Option<usize>>) {
        let mut cases: Vec<(u64, Pc)> = values.iter().map(|value| (*value, 0)).collect();
        cases.sort_by_key(|case| case.0);
        cases.dedup_by_key(|case| case.0);
        let mut seen = Vec::new();
        let places = values
            .iter()
            .map(|value| {
                let first = !seen.contains(value);
                seen.push(*value);
                let found = cases.binary_search_by_key(value, |case| case.0).ok();
                found.filter(|_| first)
            })
            .collect();
        let table = self.program.switches.len();
        self.program
            .switches
            .push(SwitchTable { cases, default: 0 });
        self.switch_chunks.push(self.current);
        self.emit(Op::Switch {
            v,
            table: table as u32,
        });
        (SwitchId(table), places)
    }

    pub(super) fn set_case(&mut self, switch: SwitchId, place: usize, target: usize) {
        self.program.switches[switch.0].cases[place].1 = target as Pc;
    }

    pub(super) fn set_default(&mut self, switch: SwitchId, target: usize) {
        self.program.switches[switch.0].default = target as Pc;
    }

    /// The word that `item` compares a one-word key of type `ty` with, if it is a constant.
    pub(super) fn exact_word(&mut self, item: &'a Expr, ty: &Type) -> Option<u64> {
        let (width, _) = self.scalar(ty)?;
        if width > 64 || matches!(item.kind, ExprKind::DontCare | ExprKind::Dots) {
            return None;
        }
        if let Some(Def::ValueSet(_)) = self.checked.defs.get(&item.id) {
            return None;
        }
        let value = self.eval(item)?;
        match self.value_words(&value, ty)?.as_slice() {
            [word] => Some(*word),
            _ => None,
        }
    }

    /// `switch (value) { ... }`
    pub(super) fn switch(&mut self, value: &'a Expr, cases: &'a [SwitchCase]) {
        let ty = self.type_of(value);
        let v = self.value(value);
        let table = match &ty {
            Type::ActionRun(id) => self.env.tables.get(id).copied(),
            _ => None,
        };
        let words: Option<Vec<(usize, u64)>> = cases
            .iter()
            .enumerate()
            .filter_map(|(i, case)| match &case.label {
                SwitchLabel::Default(_) => None,
                SwitchLabel::Expr(label) => Some((i, label)),
            })
            .map(|(i, label)| {
                let word = match table {
                    Some(table) => self.action_position(table, label),
                    None => self.exact_word(label, &ty),
                };
                Some((i, word?))
            })
            .collect();
        match words {
            Some(words) => self.switch_by_word(v, &words, cases),
            None => self.switch_by_tests(v, &ty, cases),
        }
    }

    fn switch_by_word(&mut self, v: Slot, words: &[(usize, u64)], cases: &'a [SwitchCase]) {
        let values: Vec<u64> = words.iter().map(|(_, word)| *word).collect();
        let (switch, places) = self.switch_on(v, &values);
        let (starts, done) = self.switch_bodies(cases);
        for ((case, _), place) in words.iter().zip(places) {
            if let Some(place) = place {
                self.set_case(switch, place, starts[*case]);
            }
        }
        self.set_default(switch, default_start(cases, &starts).unwrap_or(done));
    }

    /// Labels that are too wide for a switch: one test after the other.
    fn switch_by_tests(&mut self, v: Slot, ty: &Type, cases: &'a [SwitchCase]) {
        let mut jumps: Vec<(usize, usize)> = Vec::new();
        for (i, case) in cases.iter().enumerate() {
            if let SwitchLabel::Expr(label) = &case.label {
                if let Some(c) = self.matches(label, v, ty) {
                    jumps.push((self.emit(Op::JmpIf { c, t: 0 }), i));
                }
            }
        }
        let otherwise = self.emit(Op::Jmp { t: 0 });
        let (starts, done) = self.switch_bodies(cases);
        for (at, case) in jumps {
            self.patch_to(at, starts[case]);
        }
        self.patch_to(otherwise, default_start(cases, &starts).unwrap_or(done));
    }

    /// The bodies of a switch one after the other; where each case begins, and the end. A label
    /// without a body belongs to the next.
    fn switch_bodies(&mut self, cases: &'a [SwitchCase]) -> (Vec<usize>, usize) {
        let mut starts = Vec::new();
        let mut to_done = Vec::new();
        for case in cases {
            starts.push(self.label());
            if let Some(body) = &case.body {
                self.block(body);
                to_done.push(self.emit(Op::Jmp { t: 0 }));
            }
        }
        for at in to_done {
            self.patch(at);
        }
        (starts, self.label())
    }
}

fn default_start(cases: &[SwitchCase], starts: &[usize]) -> Option<usize> {
    let default = |case: &SwitchCase| matches!(case.label, SwitchLabel::Default(_));
    let position = cases.iter().position(default)?;
    starts.get(position).copied()
}
