//! Parsers: states as labels, selects as tests.

use super::call::ERROR_NO_MATCH;
use super::Lowerer;
use crate::ir::*;
use p4_check::types::Type;
use p4_syntax::ast::{Decl, Expr, ExprKind, Ident, Name, SelectCase, State, Transition};
use std::collections::HashMap;

impl<'a> Lowerer<'a, '_> {
    /// The states of a parser, `start` first; `accept` returns.
    pub(super) fn states(&mut self, decl: &'a Decl, states: &'a [State]) {
        let start = states
            .iter()
            .position(|s| &*s.name.name == "start")
            .unwrap_or(0);
        let order = std::iter::once(start).chain((0..states.len()).filter(|i| *i != start));
        let mut starts: HashMap<Name, usize> = HashMap::new();
        // Jumps to states, patched when all have their place
        let mut jumps: Vec<(usize, Name)> = Vec::new();
        for index in order {
            let Some(state) = states.get(index) else {
                continue;
            };
            starts.insert(state.name.name.clone(), self.here());
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
        for (at, name) in jumps {
            match starts.get(&name) {
                Some(start) => self.patch_to(at, *start),
                None => self.refuse(
                    "E0403",
                    decl.name.span,
                    format!("the parser has no state `{name}`"),
                ),
            }
        }
    }

    fn go_to(&mut self, next: &Ident, jumps: &mut Vec<(usize, Name)>) {
        match &*next.name {
            "accept" => self.jump_to_end(),
            "reject" => {
                let err = self.number(0);
                self.emit(Op::Reject { err });
            }
            _ => {
                let at = self.emit(Op::Jmp { t: 0 });
                jumps.push((at, next.name.clone()));
            }
        }
    }

    fn transition(&mut self, transition: &'a Transition, jumps: &mut Vec<(usize, Name)>) {
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

    fn select(
        &mut self,
        keys: &'a [Expr],
        cases: &'a [SelectCase],
        jumps: &mut Vec<(usize, Name)>,
    ) {
        // Components in one run of words, as value sets of several fields want them.
        let types: Vec<Type> = keys.iter().map(|k| self.target_type(k)).collect();
        let sizes: Vec<u32> = types.iter().map(|t| self.words_of(t)).collect();
        let total: u32 = sizes.iter().sum();
        let first = self.scratch(total.max(1));
        let mut slots = Vec::new();
        let mut at = first;
        for (key, size) in keys.iter().zip(&sizes) {
            let s = self.value(key);
            self.move_words(at, s, *size);
            slots.push(at);
            at += size;
        }
        for case in cases {
            self.span = case.span;
            let mark = self.chunks[self.current].scratch_top;
            let test = self.case_matches(case, &slots, &types);
            match test {
                None => {
                    self.go_to(&case.next, jumps);
                    // Nothing after a case that always matches can be reached.
                    self.chunks[self.current].scratch_top = mark;
                    return;
                }
                Some(c) => {
                    let skip = self.emit(Op::JmpIfNot { c, t: 0 });
                    self.go_to(&case.next, jumps);
                    self.patch(skip);
                }
            }
            self.chunks[self.current].scratch_top = mark;
        }
        let err = self.number(ERROR_NO_MATCH);
        self.emit(Op::Reject { err });
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
