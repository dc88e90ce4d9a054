//! Calls of externs on a path: what is computed, what is put off, and methods of registers, which become part
//! of it.

use crate::emit::offset;
use crate::externs::{fold, ones_sum, sum_up};
use crate::flow::Unsupported;
use crate::paths::{at, cell, compute, put_cell, MAX_KEY};
use crate::walk::{unsupported, Here, Place, Walker};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types, InstBuilder, Value};
use p4_ir::glue::{Glue, Test, Tests};
use p4_ir::ir::{mask, words, CallId, InstanceId, Op, Slot};
use p4_ir::native::{CellCall, Inline, SumStep, Summands, Term, Unpack};
use p4_ir::paths::{Later, Request};
use p4_ir::{accesses, Access};
use std::collections::HashMap;

/// A register's method under way.
#[derive(Clone)]
pub(crate) struct Method {
    call: CallId,
    index: Value,
    /// The cell's words before it
    cell: Vec<Value>,
    /// Routines within it that have not ended
    pub depth: u32,
}

impl Walker<'_> {
    pub fn call(
        &mut self,
        here: &mut Here,
        call: CallId,
        op: &Op,
        paths: &[usize],
    ) -> Result<(), Unsupported> {
        let prepared = self.e.prepared;
        match prepared.inline(call) {
            Some(Inline::Store(values)) => {
                for (slot, value) in values {
                    let value = self.e.number(*value);
                    self.e.set(*slot, value);
                }
            }
            Some(Inline::Unless(slot)) => {
                let groups = self.by_outcome(here, paths)?;
                if groups.iter().any(|(held, _)| *held != 0) {
                    return unsupported("a call of the host");
                }
                let condition = self.e.get(*slot);
                self.require(condition, 0)?;
            }
            Some(Inline::Checksum(sum)) => {
                let groups = self.by_outcome(here, paths)?;
                let [(held, _)] = groups[..] else {
                    return unsupported("a checksum only now and then");
                };
                if let Some(condition) = sum.condition {
                    let condition = self.e.get(condition);
                    if held == 0 {
                        return self.require(condition, 0);
                    }
                    self.require_not(condition, 0)?;
                }
                let terms = self.terms(&sum.data)?;
                sum_up(&mut self.e, sum, &terms);
            }
            Some(Inline::Later(later)) => self.put_off(here, call, later, paths)?,
            Some(Inline::Cut(slot)) => {
                let length = self.e.get(*slot);
                let length = self.e.cut(length, u32::MAX.into());
                here.cutting = Some(self.least(here.cutting, length));
            }
            Some(inline @ (Inline::Pure | Inline::Undoable)) => {
                let is_pure = *inline == Inline::Pure;
                self.execute(here, op, (call, is_pure), paths)?;
            }
            Some(Inline::Cell(own)) => self.begin_method(here, call, own)?,
            Some(Inline::Unpack(own)) => self.unpack(here, own)?,
            Some(Inline::Sum(sum, step)) => self.sum(here, *sum, step)?,
            Some(Inline::ByArguments) | None => return unsupported("a call of the host"),
        }
        Ok(())
    }

    fn put_off(
        &mut self,
        here: &mut Here,
        call: CallId,
        later: &Later,
        paths: &[usize],
    ) -> Result<(), Unsupported> {
        let groups = self.by_outcome(here, paths)?;
        let [(list, _)] = groups[..] else {
            return unsupported("several lists");
        };
        if let Some(slot) = later.list {
            let value = self.e.get(slot);
            self.require(value, list)?;
        }
        let words = here.n_told;
        for slot in &later.words {
            let value = self.e.get(*slot);
            self.tell(here, value);
        }
        let request = Request {
            call,
            words,
            list: later.list.map(|_| list),
            kept: (0, 0),
        };
        match later.asks {
            Some(kind) => here.asking.push((kind, request)),
            None => here.calls.push(request),
        }
        Ok(())
    }

    /// Has the host execute a call, with words of the frame lent to it. One that only computes what nobody
    /// reads is left out.
    fn execute(
        &mut self,
        here: &Here,
        op: &Op,
        (call, is_pure): (CallId, bool),
        paths: &[usize],
    ) -> Result<(), Unsupported> {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let program = self.e.program;
        let seen = accesses(program, op, &mut |access| match access {
            Access::Read { slot, n } => reads.extend(slot..slot + n),
            Access::Write { slot, n } => writes.extend(slot..slot + n),
            Access::Jump(_) => {}
        });
        if seen.is_err() {
            return unsupported("a call that is not well formed");
        }
        if is_pure && !writes.is_empty() && !self.is_read(here, &writes, paths) {
            return Ok(());
        }
        let (frame, flags) = (self.e.fixed(at::FRAME), self.e.of_packet);
        reads.retain(|slot| *slot < program.constant_base);
        for slot in reads.into_iter().chain(writes.iter().copied()) {
            let value = self.e.get(slot);
            self.e.ins().store(flags, value, frame, offset(slot));
        }
        let failed = self.e.call_thunk(compute as *const u8, &[call.into()]);
        self.require(failed, 0)?;
        for slot in writes {
            let value = self.e.ins().load(types::I64, flags, frame, offset(slot));
            self.e.set(slot, value);
        }
        Ok(())
    }

    /// Whether one of the paths reads one of these words behind the next step, or a copy of one.
    fn is_read(&self, here: &Here, words: &[Slot], paths: &[usize]) -> bool {
        let Place::Step(number) = here.at else {
            return true;
        };
        let mut all = words.to_vec();
        let on_path = |path: &usize| {
            let mut words = words.to_vec();
            let blocks = self.paths[*path].blocks.iter().enumerate();
            blocks.skip(here.done).any(|(block, steps)| {
                let first = if block == here.done { number + 1 } else { 0 };
                let mut steps = steps.iter().skip(first);
                steps.any(|step| {
                    let is_read = self.reads(self.op(step.pc), &mut words);
                    for word in &words {
                        if !all.contains(word) {
                            all.push(*word);
                        }
                    }
                    is_read
                })
            })
        };
        if paths.iter().any(on_path) {
            return true;
        }
        let tested = |tests: &Tests| {
            tests.iter().any(|test| match test {
                Test::Is { slot, .. } | Test::Not { slot, .. } => all.contains(slot),
                _ => false,
            })
        };
        let in_glue = |glue: &Glue| match glue {
            Glue::Tell { slot, .. } => all.contains(slot),
            Glue::Event(event) => tested(&event.tests),
            Glue::Guard(tests) => tested(tests),
            _ => false,
        };
        let lists = self.segment.lists.iter().flat_map(|(_, list)| list);
        let copies = self.segment.copies.iter();
        let carried = copies.flat_map(|copies| &copies.regions);
        let mut kept = lists.chain(carried).flat_map(|(slot, n)| *slot..*slot + *n);
        let mut ahead = here.done + 1..=self.segment.blocks.len();
        kept.any(|slot| all.contains(&slot))
            || ahead.any(|done| self.segment.glue(done).iter().any(in_glue))
    }

    /// Whether an instruction reads one of these words otherwise than to copy it. Copies join them, and
    /// words that are written leave them.
    fn reads(&self, op: Option<&Op>, words: &mut Vec<Slot>) -> bool {
        let (d, s, n, condition) = match op {
            Some(Op::Mov { d, s }) => (*d, *s, 1, None),
            Some(Op::MovN { d, s, n }) => (*d, *s, *n, None),
            Some(Op::MovIf { d, s, c }) => (*d, *s, 1, Some(*c)),
            Some(Op::MovNIf { d, s, c, n }) => (*d, *s, u32::from(*n), Some(*c)),
            other => return self.uses(other, words),
        };
        let copied = words.iter().filter(|word| (s..s + n).contains(*word));
        let copies: Vec<Slot> = copied.map(|word| word - s + d).collect();
        match condition {
            None => words.retain(|word| !(d..d + n).contains(word)),
            Some(condition) if words.contains(&condition) => return true,
            Some(_) => {}
        }
        words.extend(copies);
        false
    }

    fn uses(&self, op: Option<&Op>, words: &mut Vec<Slot>) -> bool {
        let Some(op) = op else { return true };
        // Whatever else writes may leave a word as it was.
        let surely = matches!(
            op,
            Op::Zero { .. } | Op::Alu { .. } | Op::NotBool { .. } | Op::Slice { .. }
        );
        let (mut used, mut written) = (false, Vec::new());
        let seen = accesses(self.e.program, op, &mut |access| match access {
            Access::Read { slot, n } => {
                used |= words.iter().any(|word| (slot..slot + n).contains(word));
            }
            Access::Write { slot, n } if surely => written.push(slot..slot + n),
            _ => {}
        });
        words.retain(|word| !written.iter().any(|own| own.contains(word)));
        used || seen.is_err()
    }

    /// The cell's words are where the method looks for them; its instructions come next.
    fn begin_method(
        &mut self,
        here: &mut Here,
        call: CallId,
        own: &CellCall,
    ) -> Result<(), Unsupported> {
        if here.method.is_some() || own.value.len() >= MAX_KEY {
            return unsupported("a method of a register within another, or of a wide one");
        }
        let index = self.e.get(own.index);
        self.e.set_own(at::KEY, index);
        let (found, data) = self.e.call_for_table(cell as *const u8, call);
        self.require(found, 0)?;
        let mut words = Vec::new();
        for (word, slot) in (0..).zip(&own.value) {
            let flags = self.e.of_packet;
            let value = self.e.ins().load(types::I64, flags, data, offset(word));
            self.e.set(*slot, value);
            words.push(value);
        }
        for (slot, _) in &own.results {
            self.e.clear(*slot, 1);
        }
        here.method = Some(Method {
            call,
            index,
            cell: words,
            depth: 0,
        });
        Ok(())
    }

    /// Something returns; a method whose own end that is has its cell put back.
    pub fn returned(&mut self, here: &mut Here) -> Result<(), Unsupported> {
        match &mut here.method {
            None => return Ok(()),
            Some(method) if method.depth > 0 => {
                method.depth -= 1;
                return Ok(());
            }
            Some(_) => {}
        }
        let Some(method) = here.method.take() else {
            return Ok(());
        };
        let prepared = self.e.prepared;
        let Some(Inline::Cell(own)) = prepared.inline(method.call) else {
            return unsupported("a method of no register");
        };
        let cell: Vec<Value> = own.value.iter().map(|slot| self.e.get(*slot)).collect();
        if cell != method.cell {
            self.e.set_own(at::KEY, method.index);
            for (word, value) in (1..).zip(cell) {
                self.e.set_own(at::KEY + word * 8, value);
            }
            let thunk = put_cell as *const u8;
            let failed = self.e.call_thunk(thunk, &[method.call.into()]);
            self.require(failed, 0)?;
        }
        for (from, to) in &own.results {
            let value = self.e.get(*from);
            self.e.set(*to, value);
        }
        Ok(())
    }

    fn sum(&mut self, here: &mut Here, sum: InstanceId, step: &SumStep) -> Result<(), Unsupported> {
        let before = here.sums.iter().find(|(own, _)| *own == sum);
        let before = before.map_or_else(|| self.e.number(0), |(_, value)| *value);
        match step {
            SumStep::Verify(slot) => {
                let code = IntCC::NotEqual;
                let differs = self.e.ins().icmp_imm_u(code, before, 0xffff);
                let (zero, one) = (self.e.number(0), self.e.number(1));
                let result = self.e.ins().select(differs, one, zero);
                self.e.set(*slot, result);
            }
            SumStep::Get(place) => {
                let result = self.e.cut(before, mask(place.width));
                self.e.clear(place.slot, words(place.width));
                self.e.set(place.slot, result);
            }
            SumStep::Add(data) => {
                let terms = self.terms(data)?;
                let own = ones_sum(&mut self.e, &terms);
                self.add_up(here, sum, before, own);
            }
            SumStep::Subtract(data) => {
                let terms = self.terms(data)?;
                let own = ones_sum(&mut self.e, &terms);
                let own = self.e.ins().bnot(own);
                let own = self.e.cut(own, 0xffff);
                self.add_up(here, sum, before, own);
            }
        }
        Ok(())
    }

    /// What is summed up for packets whose varbits are as long as this one's.
    fn terms(&mut self, data: &Summands) -> Result<Vec<Term>, Unsupported> {
        let mut lengths = HashMap::new();
        for slot in data.varbits() {
            lengths.insert(*slot, self.varbit_length(*slot)?);
        }
        Ok(data.terms(|slot| lengths.get(&slot).copied().unwrap_or(0)))
    }

    fn add_up(&mut self, here: &mut Here, sum: InstanceId, before: Value, own: Value) {
        let both = self.e.ins().iadd(before, own);
        let both = fold(&mut self.e, both, 16);
        here.sums.retain(|(known, _)| *known != sum);
        here.sums.push((sum, both));
    }

    /// Fields of no header.
    fn unpack(&mut self, here: &mut Here, own: &Unpack) -> Result<(), Unsupported> {
        self.need(here, own.bits)?;
        if let Some(valid) = own.valid {
            let one = self.e.number(1);
            self.e.set(valid, one);
        }
        let mut from = here.cursor;
        for (slot, width) in &own.fields {
            let value = self.bits(here, from, *width);
            self.e.set(*slot, value);
            from += width;
        }
        here.cursor += own.bits;
        Ok(())
    }
}
