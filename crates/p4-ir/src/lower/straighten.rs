//! Jumps that lead straight to where they end, and nothing that is never reached.

use super::{Chunk, Lowerer};
use crate::ir::*;
use p4_syntax::span::Span;

/// The code of a routine with the switches in it; targets are relative to its start.
struct Code {
    ops: Vec<Op>,
    spans: Vec<Span>,
    /// Index in the program, and the switch
    switches: Vec<(u32, SwitchTable)>,
}

impl Lowerer<'_, '_> {
    /// Straightens every routine.
    pub(super) fn straighten(&mut self) {
        let exits = self.chunks.iter().any(|chunk| chunk.may_exit);
        let mut switches: Vec<Vec<(u32, SwitchTable)>> = vec![Vec::new(); self.chunks.len()];
        let tables = std::mem::take(&mut self.program.switches);
        for (index, (table, chunk)) in tables.iter().zip(&self.switch_chunks).enumerate() {
            switches[*chunk].push((index as u32, table.clone()));
        }
        self.program.switches = tables;
        for (chunk, switches) in self.chunks.iter_mut().zip(switches) {
            let mut code = Code {
                ops: std::mem::take(&mut chunk.code),
                spans: std::mem::take(&mut chunk.spans),
                switches,
            };
            if !exits {
                // Nobody asks whether `exit` has been executed.
                let flag = self.exit_flag;
                let keep = |op: &Op| !matches!(op, Op::Mov { d, .. } if *d == flag);
                let keep: Vec<bool> = code.ops.iter().map(keep).collect();
                code.keep(&keep);
            }
            while code.step() {}
            for (index, table) in code.switches {
                self.program.switches[index as usize] = table;
            }
            *chunk = Chunk {
                code: code.ops,
                spans: code.spans,
                ..std::mem::take(chunk)
            };
        }
    }
}

impl Code {
    /// One round; whether it changed anything.
    fn step(&mut self) -> bool {
        let mut changed = self.thread();
        let mut keep = self.reached();
        let targets = self.targets();
        for i in 0..self.ops.len() {
            let next = self.ops.get(i + 1).copied();
            match (self.ops[i], next) {
                (Op::Jmp { t } | Op::JmpIf { t, .. } | Op::JmpIfNot { t, .. }, _)
                    if t as usize == i + 1 =>
                {
                    keep[i] = false;
                }
                // A jump around a jump
                (Op::JmpIfNot { c, t }, Some(Op::Jmp { t: far }))
                    if t as usize == i + 2 && !targets[i + 1] =>
                {
                    self.ops[i] = Op::JmpIf { c, t: far };
                    keep[i + 1] = false;
                }
                (Op::JmpIf { c, t }, Some(Op::Jmp { t: far }))
                    if t as usize == i + 2 && !targets[i + 1] =>
                {
                    self.ops[i] = Op::JmpIfNot { c, t: far };
                    keep[i + 1] = false;
                }
                _ => {}
            }
        }
        if keep.contains(&false) {
            self.keep(&keep);
            changed = true;
        }
        changed
    }

    /// Lets jumps to jumps go on to the end of the chain, and jumps to returns return.
    fn thread(&mut self) -> bool {
        let ops = self.ops.clone();
        let end = |start: Pc| {
            let mut at = start;
            // A chain longer than the code is a circle.
            for _ in 0..ops.len() {
                match ops.get(at as usize) {
                    Some(Op::Jmp { t }) => at = *t,
                    _ => return at,
                }
            }
            start
        };
        let mut changed = false;
        for op in &mut self.ops {
            match op {
                Op::Jmp { t } | Op::JmpIf { t, .. } | Op::JmpIfNot { t, .. } => {
                    let far = end(*t);
                    changed |= far != *t;
                    *t = far;
                }
                _ => {}
            }
            if let Op::Jmp { t } = op {
                if let Some(Op::Ret) = ops.get(*t as usize) {
                    *op = Op::Ret;
                    changed = true;
                }
            }
        }
        for (_, table) in &mut self.switches {
            let places = table.cases.iter_mut().map(|(_, t)| t);
            for t in places.chain([&mut table.default]) {
                let far = end(*t);
                changed |= far != *t;
                *t = far;
            }
        }
        changed
    }

    fn switch(&self, table: u32) -> Option<&SwitchTable> {
        let found = self.switches.iter().find(|(index, _)| *index == table);
        found.map(|(_, table)| table)
    }

    /// Where an instruction may jump to, and whether it may go on to the next.
    fn successors(&self, op: &Op) -> (Vec<Pc>, bool) {
        match op {
            Op::Jmp { t } => (vec![*t], false),
            Op::JmpIf { t, .. } | Op::JmpIfNot { t, .. } => (vec![*t], true),
            Op::Switch { table, .. } => match self.switch(*table) {
                Some(table) => {
                    let cases = table.cases.iter().map(|(_, t)| *t);
                    (cases.chain([table.default]).collect(), false)
                }
                None => (Vec::new(), true),
            },
            Op::Ret | Op::Reject { .. } | Op::Trap => (Vec::new(), false),
            _ => (Vec::new(), true),
        }
    }

    fn reached(&self) -> Vec<bool> {
        let mut reached = vec![false; self.ops.len()];
        let mut waiting = vec![0];
        while let Some(at) = waiting.pop() {
            let Some(seen) = reached.get_mut(at as usize) else {
                continue;
            };
            if std::mem::replace(seen, true) {
                continue;
            }
            let (jumps, falls) = self.successors(&self.ops[at as usize]);
            waiting.extend(jumps);
            waiting.extend(falls.then_some(at + 1));
        }
        reached
    }

    fn targets(&self) -> Vec<bool> {
        let mut targets = vec![false; self.ops.len() + 1];
        for op in &self.ops {
            for t in self.successors(op).0 {
                targets[t as usize] = true;
            }
        }
        targets
    }

    /// Removes the instructions that are not kept; jumps to them go to the next that is.
    fn keep(&mut self, keep: &[bool]) {
        let mut places = Vec::with_capacity(keep.len() + 1);
        let mut next: Pc = 0;
        for kept in keep {
            places.push(next);
            next += Pc::from(*kept);
        }
        places.push(next);
        let moved = |t: &mut Pc| *t = places[*t as usize];
        for op in &mut self.ops {
            if let Op::Jmp { t } | Op::JmpIf { t, .. } | Op::JmpIfNot { t, .. } = op {
                moved(t);
            }
        }
        for (_, table) in &mut self.switches {
            table.cases.iter_mut().for_each(|(_, t)| moved(t));
            moved(&mut table.default);
        }
        let mut kept = keep.iter();
        self.ops.retain(|_| *kept.next().unwrap_or(&true));
        let mut kept = keep.iter();
        self.spans.retain(|_| *kept.next().unwrap_or(&true));
    }
}
