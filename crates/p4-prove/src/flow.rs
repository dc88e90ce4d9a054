//! Which instructions run: one way after the other, or all at once.
//!
//! Parsers and deparsers are walked: each branch on something unknown is a decision of the path, for
//! what they do with bytes depends on it. Controls are run once, with all their branches; where ways
//! meet again, each word becomes a choice between the words of the ways.

use crate::path::{Step, Stop};
use crate::run::{Parsed, Run, State};
use crate::term::Term;
use p4_ir::interp::errors;
use p4_ir::ir::{Op, Pc, Program};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Instructions of one walk, and jumps of one run with all branches
const MOST: u32 = 200_000;

/// Marks the instructions that a jump leads to.
pub(crate) fn targets(program: &Program) -> Vec<bool> {
    let mut targets = vec![false; program.code.len() + 1];
    for op in &program.code {
        match *op {
            Op::Jmp { t } | Op::JmpIf { t, .. } | Op::JmpIfNot { t, .. } => {
                targets[t as usize] = true;
            }
            Op::Switch { table, .. } => {
                let table = &program.switches[table as usize];
                for pc in table.cases.iter().map(|case| case.1).chain([table.default]) {
                    targets[pc as usize] = true;
                }
            }
            _ => {}
        }
    }
    targets
}

/// Where a routine goes from `pc`; what it calls comes back.
pub(crate) fn next(program: &Program, pc: Pc) -> Vec<Pc> {
    match program.code[pc as usize] {
        Op::Jmp { t } => vec![t],
        Op::JmpIf { t, .. } | Op::JmpIfNot { t, .. } => vec![pc + 1, t],
        Op::Switch { table, .. } => {
            let table = &program.switches[table as usize];
            let cases = table.cases.iter().map(|case| case.1);
            cases.chain([table.default]).collect()
        }
        Op::Ret | Op::Reject { .. } | Op::Trap => Vec::new(),
        _ => vec![pc + 1],
    }
}

/// The instructions of a routine, numbered so that those before a meeting point come before it.
fn order(program: &Program, entry: Pc) -> FxHashMap<Pc, u32> {
    let mut done: Vec<Pc> = Vec::new();
    let mut seen: FxHashMap<Pc, ()> = FxHashMap::default();
    let mut todo = vec![(entry, 0)];
    seen.insert(entry, ());
    while let Some((pc, at)) = todo.pop() {
        match next(program, pc).get(at) {
            Some(after) => {
                todo.push((pc, at + 1));
                if seen.insert(*after, ()).is_none() {
                    todo.push((*after, 0));
                }
            }
            None => done.push(pc),
        }
    }
    let last = done.len() as u32;
    let numbered = done.into_iter().enumerate();
    numbered.map(|(at, pc)| (pc, last - at as u32)).collect()
}

impl Run<'_, '_, '_> {
    fn order_of(&mut self, entry: Pc) -> Rc<FxHashMap<Pc, u32>> {
        if let Some(order) = self.code.orders.get(&entry) {
            return Rc::clone(order);
        }
        let order = Rc::new(order(self.program, entry));
        self.code.orders.insert(entry, Rc::clone(&order));
        order
    }

    /// Runs a routine with all its branches; `None` if it never returns.
    pub fn run_all(&mut self, entry: Pc, state: State) -> Step<Option<State>> {
        let order = self.order_of(entry);
        let mut waiting: BTreeMap<u32, (Pc, State)> = BTreeMap::new();
        let mut ended: Option<State> = None;
        waiting.insert(0, (entry, state));
        let mut jumps = 0;
        while let Some((_, (start, mut state))) = waiting.pop_first() {
            self.paths.tick(self.terms)?;
            jumps += 1;
            if jumps > MOST {
                return Err(Stop::Bound("steps of a control"));
            }
            let mut pc = start;
            loop {
                if pc != start && self.code.targets[pc as usize] {
                    self.wait(&mut waiting, &order, pc, state)?;
                    break;
                }
                match self.program.code[pc as usize] {
                    Op::Jmp { t } => {
                        self.wait(&mut waiting, &order, t, state)?;
                        break;
                    }
                    Op::JmpIf { c, t } => {
                        let c = self.truth(&state, c);
                        self.comes_to_jump(pc, c, &state.guard)?;
                        self.fork(&mut waiting, &order, state, vec![(c, t)], pc + 1)?;
                        break;
                    }
                    Op::JmpIfNot { c, t } => {
                        let c = self.truth(&state, c);
                        self.comes_to_jump(pc, c, &state.guard)?;
                        let c = self.terms.not(c);
                        self.fork(&mut waiting, &order, state, vec![(c, t)], pc + 1)?;
                        break;
                    }
                    Op::Switch { v, table } => {
                        let (cases, default) = self.cases(&state, v, table);
                        self.comes_to_switch(pc, &cases, default, &state.guard)?;
                        self.fork(&mut waiting, &order, state, cases, default)?;
                        break;
                    }
                    Op::Call { t } => match self.run_all(t, state)? {
                        Some(after) => state = after,
                        None => break,
                    },
                    Op::Ret => {
                        ended = Some(match ended {
                            Some(other) => self.merge(other, state)?,
                            None => state,
                        });
                        break;
                    }
                    Op::Apply { table } => match self.apply_all(table, state)? {
                        Some(after) => state = after,
                        None => break,
                    },
                    Op::Extern { call } => self.call(call, &mut state, true)?,
                    op => self.simple(op, &mut state)?,
                }
                pc += 1;
            }
        }
        Ok(ended)
    }

    fn wait(
        &mut self,
        waiting: &mut BTreeMap<u32, (Pc, State)>,
        order: &FxHashMap<Pc, u32>,
        pc: Pc,
        state: State,
    ) -> Step<()> {
        let at = order[&pc];
        let state = match waiting.remove(&at) {
            Some((_, other)) => self.merge(other, state)?,
            None => state,
        };
        waiting.insert(at, (pc, state));
        Ok(())
    }

    /// The cases of a switch that can be taken, each with its condition.
    fn cases(&mut self, state: &State, v: u32, table: u32) -> (Vec<(Term, Pc)>, Pc) {
        let table = &self.program.switches[table as usize];
        let value = self.word(state, v);
        let mut cases = Vec::new();
        for (number, pc) in &table.cases {
            let value = self.terms.fit(value, 64);
            let number = self.terms.number(*number, 64);
            cases.push((self.terms.equal(value, number), *pc));
        }
        (cases, table.default)
    }

    /// One condition for each instruction that cases lead to; the cases exclude each other.
    fn by_target(&mut self, cases: Vec<(Term, Pc)>) -> Vec<(Term, Pc)> {
        let mut joined: Vec<(Term, Pc)> = Vec::new();
        for (condition, pc) in cases {
            match joined.iter_mut().find(|other| other.1 == pc) {
                Some(other) => other.0 = self.terms.or(other.0, condition),
                None => joined.push((condition, pc)),
            }
        }
        joined
    }

    /// Sends the state to each case whose condition may hold; the conditions exclude each other.
    fn fork(
        &mut self,
        waiting: &mut BTreeMap<u32, (Pc, State)>,
        order: &FxHashMap<Pc, u32>,
        state: State,
        cases: Vec<(Term, Pc)>,
        default: Pc,
    ) -> Step<()> {
        let conditions: Vec<Term> = cases.iter().map(|case| case.0).collect();
        let any = self.terms.any(&conditions);
        let none = self.terms.not(any);
        for (condition, pc) in cases.into_iter().chain([(none, default)]) {
            if let Some(state) = self.under(&state, condition) {
                self.wait(waiting, order, pc, state)?;
            }
        }
        Ok(())
    }

    /// The state where `condition` holds too; `None` where that cannot be.
    fn under(&mut self, state: &State, condition: Term) -> Option<State> {
        match self.paths.known(self.terms, condition) {
            Some(true) => return Some(state.clone()),
            Some(false) => return None,
            None => {}
        }
        let not = self.terms.not(condition);
        if state.guard.contains(&not) {
            return None;
        }
        let mut state = state.clone();
        if !state.guard.contains(&condition) {
            state.guard.push(condition);
        }
        Some(state)
    }

    /// Two ways meet; they exclude each other.
    pub fn merge(&mut self, a: State, b: State) -> Step<State> {
        let common = a
            .guard
            .iter()
            .zip(&b.guard)
            .take_while(|(x, y)| x == y)
            .count();
        let only_a = self.terms.all(&a.guard[common..]);
        let only_b = self.terms.all(&b.guard[common..]);
        let mut guard = a.guard[..common].to_vec();
        let either = self.terms.or(only_a, only_b);
        if self.terms.small(either) != Some(1) {
            guard.push(either);
        }
        let words = a.frame.into_iter().zip(b.frame);
        let frame = words.map(|(x, y)| self.merge_words(only_a, x, y)).collect();
        Ok(State { frame, guard })
    }

    /// A table with all actions that may run.
    fn apply_all(&mut self, id: u32, mut state: State) -> Step<Option<State>> {
        let found = self.look_up(id, &mut state)?;
        self.comes_to_table(id, &found, &state.guard)?;
        let table = &self.program.tables[id as usize];
        let guard = state.guard.clone();
        let mut ended: Option<State> = None;
        for (index, when, data) in found {
            let Some(mut state) = self.under(&state, when) else {
                continue;
            };
            let number = self.terms.number(index as u64, 64);
            self.set(&mut state, table.chosen, number);
            self.give(table.actions[index].action, &data, &mut state);
            let entry = self.program.actions[table.actions[index].action as usize].entry;
            if let Some(after) = self.run_all(entry, state)? {
                ended = Some(match ended {
                    Some(other) => self.merge(other, after)?,
                    None => after,
                });
            }
        }
        if let Some(ended) = &mut ended {
            // One of the actions has run.
            ended.guard = guard;
        }
        Ok(ended)
    }

    fn give(&mut self, action: u32, data: &[Term], state: &mut State) {
        let params = &self.program.actions[action as usize].params;
        for (param, value) in params.iter().zip(data) {
            self.put(state, param.place.slot, param.place.width, *value);
        }
    }

    /// Which action runs when, with its data; notes whether an entry hits.
    fn look_up(&mut self, id: u32, state: &mut State) -> Step<Vec<(usize, Term, Vec<Term>)>> {
        let table = &self.program.tables[id as usize];
        let is_plain = |name: &str| matches!(name, "counters" | "meters");
        if let Some((name, _)) = table.instances.iter().find(|(name, _)| !is_plain(name)) {
            return Err(Stop::Unsupported(format!("{}: {name}", table.name)));
        }
        for axiom in self.world.axioms_of(&table.name) {
            self.paths.believe_always(*axiom);
        }
        let keys = table.keys.iter();
        let key: Vec<Term> = keys
            .map(|key| self.get(state, key.place.slot, key.place.width))
            .collect();
        let found = self
            .world
            .lookup(self.program, table, &key, self.terms)
            .map_err(Stop::Unsupported)?;
        self.set(state, table.hit, found.hit);
        Ok(found.actions)
    }

    /// Walks a routine, deciding each branch; `Err` of the inner result is the parser's error.
    pub fn walk(&mut self, entry: Pc, state: &mut State) -> Step<Parsed> {
        let mut calls: Vec<Pc> = Vec::new();
        let mut pc = entry;
        for _ in 0..MOST {
            self.paths.tick(self.terms)?;
            let mut after = pc + 1;
            match self.program.code[pc as usize] {
                Op::Jmp { t } => after = t,
                Op::JmpIf { c, t } => {
                    let c = self.truth(state, c);
                    self.comes_to_jump(pc, c, &[])?;
                    if self.paths.decide(self.terms, c)? {
                        after = t;
                    }
                }
                Op::JmpIfNot { c, t } => {
                    let c = self.truth(state, c);
                    self.comes_to_jump(pc, c, &[])?;
                    if !self.paths.decide(self.terms, c)? {
                        after = t;
                    }
                }
                Op::Switch { v, table } => {
                    let (cases, default) = self.cases(state, v, table);
                    self.comes_to_switch(pc, &cases, default, &[])?;
                    after = default;
                    for (condition, pc) in self.by_target(cases) {
                        if self.paths.decide(self.terms, condition)? {
                            after = pc;
                            break;
                        }
                    }
                }
                Op::Call { t } => {
                    calls.push(after);
                    after = t;
                }
                Op::Ret => match calls.pop() {
                    Some(back) => after = back,
                    None => return Ok(Parsed::Accepted),
                },
                Op::Apply { table } => {
                    if let Some(entry) = self.apply_one(table, state)? {
                        calls.push(after);
                        after = entry;
                    }
                }
                Op::Extern { call } => self.call(call, state, false)?,
                Op::Reject { err } => {
                    let error = self.word(state, err);
                    let error = self.paths.concrete(self.terms, error)?;
                    let error = error.and_then(|value| u32::try_from(value).ok());
                    let unknown = || Stop::Unsupported("an unknown parser error".into());
                    return Ok(Parsed::Rejected(error.ok_or_else(unknown)?));
                }
                Op::State { .. } => {
                    self.states += 1;
                    if self.states > self.bounds.states {
                        return Err(Stop::Bound("states of a parser"));
                    }
                }
                Op::StackLast { stack, d } => {
                    let next = self.word(state, self.program.stacks[stack as usize].next);
                    match self.terms.small(next) {
                        Some(0) => return Ok(Parsed::Rejected(errors::STACK_OUT_OF_BOUNDS)),
                        Some(next) => {
                            let last = self.terms.number(next - 1, 64);
                            self.set(state, d, last);
                        }
                        None => return Err(Stop::Unsupported("a stack of unknown size".into())),
                    }
                }
                op => {
                    if let Some(error) = self.packet_op(op, state)? {
                        return Ok(Parsed::Rejected(error));
                    }
                }
            }
            pc = after;
        }
        Err(Stop::Bound("steps of a parser"))
    }

    /// Decides which action of a table runs; its first instruction.
    fn apply_one(&mut self, id: u32, state: &mut State) -> Step<Option<Pc>> {
        let found = self.look_up(id, state)?;
        self.comes_to_table(id, &found, &[])?;
        let table = &self.program.tables[id as usize];
        for (index, when, data) in found {
            if self.paths.decide(self.terms, when)? {
                let action = table.actions[index].action;
                let number = self.terms.number(index as u64, 64);
                self.set(state, table.chosen, number);
                self.give(action, &data, state);
                return Ok(Some(self.program.actions[action as usize].entry));
            }
        }
        Ok(None)
    }
}
