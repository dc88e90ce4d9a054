//! Parsers: states as labels, selects as tests.

use super::branch::SwitchId;
use super::Lowerer;
use crate::interp::errors;
use crate::ir::*;
use p4_check::types::Type;
use p4_syntax::ast::{Decl, Expr, ExprKind, Ident, Name, SelectCase, State, Transition};
use p4_syntax::HashMap;

/// A jump to a state, patched when all states have their place.
struct Leap {
    from: From,
    to: Name,
}

enum From {
    Op(usize),
    Case(SwitchId, usize),
}

impl<'a> Lowerer<'a, '_> {
    /// The states of a parser, `start` first; `accept` returns.
    pub(super) fn states(&mut self, decl: &'a Decl, states: &'a [State]) {
        let start = states
            .iter()
            .position(|s| &*s.name.name == "start")
            .unwrap_or(0);
        let order = std::iter::once(start).chain((0..states.len()).filter(|i| *i != start));
        let mut starts: HashMap<Name, usize> = HashMap::default();
        let mut jumps: Vec<Leap> = Vec::new();
        for index in order {
            let Some(state) = states.get(index) else {
                continue;
            };
            starts.insert(state.name.name.clone(), self.label());
            self.span = state.name.span;
            let number = self.program.states.len() as u32;
            let name = format!("{}.{}", decl.name.name, state.name.name).into();
            self.program.states.push(StateInfo {
                name,
                span: state.name.span,
            });
            self.emit(Op::State { state: number });
            self.statements(&state.body);
            let mark = self.chunks[self.current].scratch_top;
            self.transition(&state.transition, &mut jumps);
            self.chunks[self.current].scratch_top = mark;
        }
        for Leap { from, to: name } in jumps {
            match (starts.get(&name), from) {
                (Some(start), From::Op(at)) => self.patch_to(at, *start),
                (Some(start), From::Case(switch, place)) => self.set_case(switch, place, *start),
                (None, _) => self.refuse(
                    "E0403",
                    decl.name.span,
                    format!("the parser has no state `{name}`"),
                ),
            }
        }
    }

    fn go_to(&mut self, next: &Ident, jumps: &mut Vec<Leap>) {
        match &*next.name {
            "accept" => self.jump_to_end(),
            "reject" => {
                let err = self.number(0);
                self.emit(Op::Reject { err });
            }
            _ => {
                let at = self.emit(Op::Jmp { t: 0 });
                jumps.push(Leap {
                    from: From::Op(at),
                    to: next.name.clone(),
                });
            }
        }
    }

    fn transition(&mut self, transition: &'a Transition, jumps: &mut Vec<Leap>) {
        match transition {
            Transition::Missing(span) => {
                self.span = *span;
                let err = self.number(0);
                self.emit(Op::Reject { err });
            }
            Transition::Direct(next) => {
                self.span = next.span;
                self.go_to(next, jumps);
            }
            Transition::Select { span, keys, cases } => {
                self.span = *span;
                self.select(keys, cases, jumps);
            }
        }
    }

    fn select(&mut self, keys: &'a [Expr], cases: &'a [SelectCase], jumps: &mut Vec<Leap>) {
        let types: Vec<Type> = keys.iter().map(|k| self.target_type(k)).collect();
        let slots = self.select_keys(keys, cases, &types);
        let mut rest = cases;
        while let Some(case) = rest.first() {
            self.span = case.span;
            let words = self.exact_cases(rest, &types);
            if words.len() > 1 {
                let (now, later) = rest.split_at(words.len());
                self.select_switch(slots[0], &words, now, jumps);
                rest = later;
                continue;
            }
            let mark = self.chunks[self.current].scratch_top;
            let test = self.case_matches(case, &slots, &types);
            // The words of the test are free again; nothing between uses them.
            self.chunks[self.current].scratch_top = mark;
            let Some(c) = test else {
                // Nothing after a case that always matches can be reached.
                return self.go_to(&case.next, jumps);
            };
            let skip = self.emit(Op::JmpIfNot { c, t: 0 });
            self.go_to(&case.next, jumps);
            self.patch(skip);
            rest = &rest[1..];
        }
        let err = self.number(u64::from(match self.binding.as_bmv2() {
            true => errors::UNMATCHED,
            false => errors::NO_MATCH,
        }));
        self.emit(Op::Reject { err });
    }

    /// The slots of the components. Value sets of several fields want them in one run of words.
    fn select_keys(
        &mut self,
        keys: &'a [Expr],
        cases: &'a [SelectCase],
        types: &[Type],
    ) -> Vec<Slot> {
        let whole = |case: &SelectCase| {
            matches!(case.keyset.as_slice(), [only] if !matches!(
                only.kind,
                ExprKind::DontCare | ExprKind::Tuple(_) | ExprKind::List { .. }
            ))
        };
        if keys.len() == 1 || !cases.iter().any(whole) {
            let mut slots = Vec::new();
            for (i, key) in keys.iter().enumerate() {
                let changes = keys[i + 1..]
                    .iter()
                    .any(|later| self.has_side_effects(later));
                slots.push(if changes {
                    self.value_copy(key)
                } else {
                    self.value(key)
                });
            }
            return slots;
        }
        let sizes: Vec<u32> = types.iter().map(|t| self.words_of(t)).collect();
        let total: u32 = sizes.iter().sum();
        let mut at = self.scratch(total.max(1));
        let mut slots = Vec::new();
        for (key, size) in keys.iter().zip(&sizes) {
            let s = self.value(key);
            self.move_words(at, s, *size);
            slots.push(at);
            at += size;
        }
        slots
    }

    /// The words that the first cases compare the only key with.
    fn exact_cases(&mut self, cases: &'a [SelectCase], types: &[Type]) -> Vec<u64> {
        let [ty] = types else { return Vec::new() };
        let word = |case: &'a SelectCase| match case.keyset.as_slice() {
            [item] => self.exact_word(item, ty),
            _ => None,
        };
        cases.iter().map_while(word).collect()
    }

    /// Cases with constants: one switch, and behind it what goes on if none fits.
    fn select_switch(
        &mut self,
        v: Slot,
        words: &[u64],
        cases: &'a [SelectCase],
        jumps: &mut Vec<Leap>,
    ) {
        let (switch, places) = self.switch_on(v, words);
        for (case, place) in cases.iter().zip(places) {
            let Some(place) = place else { continue };
            match &*case.next.name {
                "accept" | "reject" => {
                    let target = self.label();
                    self.set_case(switch, place, target);
                    self.span = case.span;
                    self.go_to(&case.next, jumps);
                }
                _ => jumps.push(Leap {
                    from: From::Case(switch, place),
                    to: case.next.name.clone(),
                }),
            }
        }
        let next = self.label();
        self.set_default(switch, next);
    }

    /// `None`: always.
    fn case_matches(
        &mut self,
        case: &'a SelectCase,
        slots: &[Slot],
        types: &[Type],
    ) -> Option<Slot> {
        let items: &'a [Expr] = match case.keyset.as_slice() {
            [Expr {
                kind: ExprKind::List { items, .. },
                ..
            }] => items,
            [Expr {
                kind: ExprKind::Tuple(items),
                ..
            }] if slots.len() > 1 => items,
            items => items,
        };
        if let ([only], true) = (items, slots.len() > 1) {
            return match only.kind {
                ExprKind::DontCare => None,
                // A value set of structs, or a struct
                _ => self.matches(only, slots[0], &Type::Tuple(types.to_vec())),
            };
        }
        let mut result = None;
        for ((item, slot), ty) in items.iter().zip(slots).zip(types) {
            if let Some(test) = self.matches(item, *slot, ty) {
                result = Some(self.and(result, test));
            }
        }
        result
    }
}
