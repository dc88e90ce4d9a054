//! From paths to native code.
//!
//! All paths are walked at once as long as they agree. Where they part, the answer that parts them
//! decides which of them the code goes on with; where they all give the same answer, any other one is a
//! miss. There is no way back together, so what is known on the way stays known: constants, which headers
//! are valid, where in the packet and in the output one is.

use crate::context::{parameters, OVER};
use crate::emit::{Emitter, Known};
use crate::flow::Unsupported;
use crate::paths::{at, find, MAX_KEY};
use crate::translate::{move_if, plain};
use crate::walk_calls::Method;
use crate::walk_forks::Forks;
use crate::walk_glue::Goes;
use crate::walk_packet::{fixed_memory, Piece, MAX_BITS};
use crate::wide;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types, Block, InstBuilder, Value};
use cranelift_frontend::Switch;
use p4_ir::glue::Segment;
use p4_ir::ir::{DynamicRef, InstanceId, Op, Pc, Slot};
use p4_ir::paths::{End, Fired, Path, Request, Step};
use std::collections::HashMap;

/// How a path ends.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub end: End,
    /// Bytes written in front of the payload
    pub head: usize,
    /// Where in the packet the payload begins, if the path comes to the last block
    pub payload: Option<usize>,
    /// Words told
    pub told: usize,
}

/// What is known of the packet at some point of a path, besides the words.
#[derive(Clone, Default)]
pub(crate) struct Here {
    /// Blocks that are over
    pub done: usize,
    pub at: Place,
    /// Bits consumed
    pub cursor: u32,
    /// Bytes that the packet is known to have
    pub have: u32,
    /// Bytes by which `setValid` and `setInvalid` have changed the length
    pub delta: i64,
    /// What has been emitted
    pub pieces: Vec<Piece>,
    pub calls: Vec<Request>,
    /// What has been asked for since the last [`Glue::Take`](p4_ir::glue::Glue), and before it; the last
    /// of a kind counts.
    pub asking: Vec<(u8, Request)>,
    pub asked: Vec<(u8, Request)>,
    pub events: Vec<Fired>,
    pub told: Vec<(usize, Value)>,
    /// Words told so far
    pub n_told: usize,
    /// What the packet is to be cut to: asked for since the last [`Glue::Take`](p4_ir::glue::Glue), and
    /// before it
    pub cutting: Option<Value>,
    pub cut: Option<Value>,
    /// The method of a register's that is under way
    pub method: Option<Method>,
    /// Sums that something has been done to
    pub sums: Vec<(InstanceId, Value)>,
}

/// What is next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// This operation of the glue after the blocks that are over
    Glue(usize),
    /// This step of the next block
    Step(usize),
}

impl Default for Place {
    fn default() -> Place {
        Place::Glue(0)
    }
}

pub(crate) struct Walker<'a> {
    pub e: Emitter<'a>,
    pub leaves: Vec<Leaf>,
    /// Words that have been asked for since the start or the last fork, and at those before it
    pub given: usize,
    pub all_given: Vec<usize>,
    pub segment: &'a Segment,
    pub paths: Vec<&'a Path>,
    pub forks: Forks<'a>,
    /// Where a packet goes that takes none of the paths
    pub miss: Block,
    pub input: Value,
    pub length: Value,
    /// The bits of the packet that a value is: the first, and how many
    pub sources: HashMap<Value, (u32, u32)>,
}

/// Where each group of paths goes on, and words that it has there
pub(crate) type Parts = Vec<(Block, Vec<usize>, Known)>;

/// Paths that go on in the same way, by what tells them from the others.
pub(crate) type Groups = Vec<(u64, Vec<usize>)>;

pub(crate) fn unsupported<T>(what: &str) -> Result<T, Unsupported> {
    Err(Unsupported(format!("a path with {what}")))
}

impl<'a> Walker<'a> {
    pub fn new(mut e: Emitter<'a>, segment: &'a Segment, paths: &'a [Path]) -> Walker<'a> {
        let miss = e.cold_block();
        let input = e.fixed(at::INPUT);
        let length = e.fixed(at::LENGTH);
        Walker {
            e,
            leaves: Vec::new(),
            given: 0,
            all_given: Vec::new(),
            segment,
            paths: paths.iter().collect(),
            forks: Forks::default(),
            miss,
            input,
            length,
            sources: HashMap::new(),
        }
    }

    pub fn walk(&mut self) -> Result<(), Unsupported> {
        self.begin();
        let here = Here {
            n_told: self.segment.told,
            ..Here::default()
        };
        self.follow(here, (0..self.paths.len()).collect())?;
        self.go_on_from_forks()?;
        self.e.builder.switch_to_block(self.miss);
        self.end(0);
        Ok(())
    }

    pub fn end(&mut self, status: u64) {
        let (status, nothing) = (self.e.number(status), self.e.number(0));
        self.e.ins().return_(&[status, nothing]);
    }

    /// From `here` to the ends of `paths`, which have been the same so far.
    pub fn follow(&mut self, mut here: Here, paths: Vec<usize>) -> Result<(), Unsupported> {
        loop {
            let Some(first) = paths.first().copied() else {
                return unsupported("nothing on it");
            };
            let number = match here.at {
                Place::Glue(at) => match self.glue(&mut here, at, &paths)? {
                    Goes::On => continue,
                    Goes::Ended => return Ok(()),
                },
                Place::Step(number) => number,
            };
            let (Some(steps), Some(entry)) = (
                self.paths[first].blocks.get(here.done),
                self.segment.blocks.get(here.done),
            ) else {
                return unsupported("other blocks than its segment");
            };
            let Some(step) = steps.get(number).copied() else {
                let is_over = |path: &usize| {
                    let steps = self.paths[*path].blocks.get(here.done);
                    steps.is_some_and(|steps| steps.len() == number)
                };
                let ended = steps.last().and_then(|step| self.op(step.pc));
                if !paths.iter().all(is_over) || !matches!(ended, Some(Op::Ret)) {
                    return unsupported("a block that does not end");
                }
                (here.done, here.at) = (here.done + 1, Place::Glue(0));
                continue;
            };
            if number == 0 && *entry != step.pc {
                return unsupported("another block than its segment has");
            }
            if let Some(parts) = self.by_length(&here, step, &paths)? {
                return self.part(&here, parts);
            }
            let parts = self.step(&mut here, step, &paths)?;
            here.at = Place::Step(number + 1);
            if let Some(parts) = parts {
                return self.part(&here, parts);
            }
        }
    }

    /// Goes on in each of the blocks.
    pub fn part(&mut self, here: &Here, parts: Parts) -> Result<(), Unsupported> {
        let known = std::mem::take(&mut self.e.known);
        for (block, group, words) in parts {
            self.e.builder.switch_to_block(block);
            self.e.known.clone_from(&known);
            self.e.known.extend(words);
            self.follow(here.clone(), group)?;
        }
        Ok(())
    }

    pub fn op(&self, pc: Pc) -> Option<&'a Op> {
        self.e.program.code.get(pc as usize)
    }

    /// The steps of a path from here to the end of the block.
    fn steps_on(&self, path: usize, here: &Here) -> Option<&'a [Step]> {
        match here.at {
            Place::Step(number) => self.paths[path].blocks.get(here.done)?.get(number..),
            Place::Glue(_) => None,
        }
    }

    /// The paths by the instruction that comes next.
    fn by_next(&self, here: &Here, paths: &[usize]) -> Result<Groups, Unsupported> {
        let next = |path: usize| {
            let next = self.steps_on(path, here)?.get(1)?;
            Some(u64::from(next.pc))
        };
        self.grouped(paths, next)
    }

    /// The paths by what this instruction came to.
    pub fn by_outcome(&self, here: &Here, paths: &[usize]) -> Result<Groups, Unsupported> {
        let own = |path: usize| {
            let own = self.steps_on(path, here)?.first()?;
            Some(own.outcome)
        };
        self.grouped(paths, own)
    }

    /// Where the paths part before an instruction, by the length of the varbit that it extracts.
    fn by_length(
        &mut self,
        here: &Here,
        step: Step,
        paths: &[usize],
    ) -> Result<Option<Parts>, Unsupported> {
        let Some(Op::ExtractVar { bits, .. }) = self.op(step.pc) else {
            return Ok(None);
        };
        let groups = self.by_outcome(here, paths)?;
        if groups.len() < 2 {
            return Ok(None);
        }
        let length = self.e.get(*bits);
        let mut parts = Vec::new();
        for (own, group) in groups {
            let (block, other) = (self.e.builder.create_block(), self.e.builder.create_block());
            let is = self.e.ins().icmp_imm_u(IntCC::Equal, length, own as i64);
            self.e.ins().brif(is, block, &[], other, &[]);
            self.e.builder.switch_to_block(other);
            parts.push((block, group, Known::new()));
        }
        let miss = self.miss;
        self.e.ins().jump(miss, &[]);
        Ok(Some(parts))
    }

    fn grouped(
        &self,
        paths: &[usize],
        by: impl Fn(usize) -> Option<u64>,
    ) -> Result<Groups, Unsupported> {
        let mut groups: Groups = Vec::new();
        for path in paths {
            let Some(value) = by(*path) else {
                return unsupported("an end within a block");
            };
            match groups.iter_mut().find(|(own, _)| *own == value) {
                Some((_, group)) => group.push(*path),
                None => groups.push((value, vec![*path])),
            }
        }
        Ok(groups)
    }

    /// One instruction. If the paths may part here: where each group of them goes on, and words that
    /// it has then.
    fn step(
        &mut self,
        here: &mut Here,
        step: Step,
        paths: &[usize],
    ) -> Result<Option<Parts>, Unsupported> {
        let Some(op) = self.op(step.pc) else {
            return unsupported("no instruction");
        };
        let program = self.e.program;
        match *op {
            Op::Jmp { .. } | Op::State { .. } => {}
            Op::Call { .. } => {
                if let Some(method) = &mut here.method {
                    method.depth += 1;
                }
            }
            Op::Ret => self.returned(here)?,
            Op::JmpIf { c, t } | Op::JmpIfNot { c, t } => {
                let condition = self.e.get(c);
                if self.e.constant_of(condition).is_some() || t == step.pc + 1 {
                    return self.all_alike(self.by_next(here, paths)?);
                }
                let jumps_if = matches!(op, Op::JmpIf { .. });
                let groups = self.by_next(here, paths)?;
                let mut ways = [self.miss; 2];
                let mut parts = Vec::new();
                for (next, group) in groups {
                    let holds = (next == u64::from(t)) == jumps_if;
                    let block = self.e.builder.create_block();
                    ways[usize::from(holds)] = block;
                    parts.push((block, group, Known::new()));
                }
                self.e.ins().brif(condition, ways[1], &[], ways[0], &[]);
                return Ok(Some(parts));
            }
            Op::Switch { v, table } => {
                let value = self.e.get(v);
                let groups = self.by_next(here, paths)?;
                if self.e.constant_of(value).is_some() {
                    return self.all_alike(groups);
                }
                let mut parts = Vec::new();
                let mut blocks: HashMap<u64, Block> = HashMap::new();
                for (next, group) in groups {
                    let block = self.e.builder.create_block();
                    blocks.insert(next, block);
                    parts.push((block, group, Known::new()));
                }
                let block = |pc: Pc| blocks.get(&u64::from(pc)).copied().unwrap_or(self.miss);
                let table = &program.switches[table as usize];
                let mut switch = Switch::new();
                for (case, target) in &table.cases {
                    switch.set_entry(u128::from(*case), block(*target));
                }
                switch.emit(&mut self.e.builder, value, block(table.default));
                return Ok(Some(parts));
            }
            Op::Apply { table } => return self.apply(here, table, paths).map(Some),
            Op::Extern { call } => self.call(here, call, op, paths)?,
            Op::SetValid { layout, base } => {
                let (valid, plan) = (self.constant(base)?, self.e.prepared.plan(layout));
                if valid == 0 {
                    here.delta += (plan.bits / 8) as i64;
                    let n = program.layouts[layout as usize].words;
                    self.e.clear(base, n);
                    let one = self.e.number(1);
                    self.e.set(base, one);
                }
            }
            Op::SetInvalid { layout, base } => {
                let (valid, plan) = (self.constant(base)?, self.e.prepared.plan(layout));
                if valid != 0 {
                    let varbit = plan.copies().and_then(|copies| copies.varbit);
                    let varbit = match varbit {
                        Some((from, _)) => self.varbit_length(base + from)?,
                        None => 0,
                    };
                    here.delta -= (plan.bits / 8) as i64 + i64::from(varbit / 8);
                }
                let n = program.layouts[layout as usize].words;
                self.e.clear(base, n);
            }
            Op::Extract { layout, base } => self.extract(here, layout, base, 0)?,
            Op::ExtractVar { layout, base, bits } => {
                let length = self.e.get(bits);
                self.require(length, step.outcome)?;
                let varbit = u32::try_from(step.outcome).ok();
                let Some(varbit) = varbit.filter(|varbit| *varbit <= MAX_BITS) else {
                    return unsupported("very long headers");
                };
                self.extract(here, layout, base, varbit)?;
            }
            Op::ExtractNext { stack } => {
                let stack = &program.stacks[stack as usize];
                let next = self.constant(stack.next)?;
                let Some(layout) = stack.layout.filter(|_| next < u64::from(stack.count)) else {
                    return unsupported("an element that is none");
                };
                self.extract(here, layout, stack.element(next as u32), 0)?;
                let next = self.e.number(next + 1);
                self.e.set(stack.next, next);
            }
            Op::StackLast { stack, d } => {
                let next = self.constant(program.stacks[stack as usize].next)?;
                let Some(last) = next.checked_sub(1) else {
                    return unsupported("an element that is none");
                };
                let last = self.e.number(last);
                self.e.set(d, last);
            }
            Op::LoadAt { r, d, idx } => {
                let r = &program.dynamic[r as usize];
                let index = self.e.get(idx);
                match self.e.constant_of(index).map(|index| element(r, index)) {
                    Some(Some(at)) => self.e.copy(d, r.base + at, r.n),
                    Some(None) => self.e.clear(d, r.n),
                    None => self.choose(r, d, index),
                }
            }
            Op::StoreAt { r, s, idx } => {
                let r = &program.dynamic[r as usize];
                if let Some(at) = element(r, self.constant(idx)?) {
                    match r.valid {
                        Some(valid) => {
                            move_if(&mut self.e, r.base + at, s, valid + at, r.n);
                        }
                        None => self.e.copy(r.base + at, s, r.n),
                    }
                }
            }
            Op::Lookahead { w, d } => self.look_ahead(here, w, d)?,
            Op::Advance { bits } => {
                let bits = self.constant(bits)?;
                let Some(bits) = u32::try_from(bits).ok().filter(|n| *n <= MAX_BITS) else {
                    return unsupported("a long way to advance");
                };
                self.need(here, bits)?;
                here.cursor += bits;
            }
            Op::PacketLength { d } => {
                let length = self.length;
                self.e.set(d, length);
            }
            Op::Emit { layout, base } => self.emit(here, layout, base)?,
            Op::Alu { op, w, d, a, b } => {
                let (left, right) = (self.e.get(a), self.e.get(b));
                match (self.e.constant_of(left), self.e.constant_of(right)) {
                    (Some(a), Some(b)) => {
                        let value = self.e.number(p4_ir::alu(op, w, a, b));
                        self.e.set(d, value);
                    }
                    _ => plain(&mut self.e, step.pc),
                }
            }
            Op::NotBool { d, a } => {
                let value = self.e.get(a);
                match self.e.constant_of(value) {
                    Some(value) => {
                        let value = self.e.number(u64::from(value == 0));
                        self.e.set(d, value);
                    }
                    None => plain(&mut self.e, step.pc),
                }
            }
            Op::MovNIf { d, s, c, n } => move_if(&mut self.e, d, s, c, n.into()),
            Op::Wide { op } if !wide::is_inline(&program.wide[op as usize]) => {
                return unsupported("a rare operation");
            }
            Op::Mov { .. }
            | Op::MovN { .. }
            | Op::MovIf { .. }
            | Op::Zero { .. }
            | Op::Undefine { .. }
            | Op::Not { .. }
            | Op::Neg { .. }
            | Op::Concat { .. }
            | Op::Slice { .. }
            | Op::Insert { .. }
            | Op::SignExtend { .. }
            | Op::Wide { .. } => plain(&mut self.e, step.pc),
            _ => return unsupported("a rare operation"),
        }
        Ok(None)
    }

    /// Nothing parts the paths here.
    fn all_alike(&self, groups: Groups) -> Result<Option<Parts>, Unsupported> {
        match groups.len() {
            1 => Ok(None),
            _ => unsupported("two answers to one question"),
        }
    }

    pub fn constant(&mut self, slot: Slot) -> Result<u64, Unsupported> {
        let value = self.e.get(slot);
        match self.e.constant_of(value) {
            Some(value) => Ok(value),
            None => unsupported("a header that may be valid or not"),
        }
    }

    /// Reads the element that a value of the packet chooses; zero if there is none.
    fn choose(&mut self, r: &DynamicRef, d: Slot, index: Value) {
        let zero = self.e.number(0);
        let mut words = vec![zero; r.n as usize];
        for number in 0..r.count {
            let is = self
                .e
                .ins()
                .icmp_imm_u(IntCC::Equal, index, i64::from(number));
            for (i, word) in (0..).zip(&mut words) {
                let own = self.e.get(r.base + number * r.stride + i);
                *word = self.e.ins().select(is, own, *word);
            }
        }
        for (slot, word) in (d..).zip(words) {
            self.e.set(slot, word);
        }
    }

    /// Goes on only if `value` is this number.
    pub fn require(&mut self, value: Value, number: u64) -> Result<(), Unsupported> {
        match self.e.constant_of(value) {
            Some(known) if known == number => Ok(()),
            Some(_) => unsupported("something that is not so"),
            None => {
                let is = self.e.ins().icmp_imm_u(IntCC::Equal, value, number as i64);
                self.go_on_if(is);
                Ok(())
            }
        }
    }

    pub fn require_not(&mut self, value: Value, number: u64) -> Result<(), Unsupported> {
        match self.e.constant_of(value) {
            Some(known) if known != number => Ok(()),
            Some(_) => unsupported("something that is not so"),
            None => {
                let code = IntCC::NotEqual;
                let is = self.e.ins().icmp_imm_u(code, value, number as i64);
                self.go_on_if(is);
                Ok(())
            }
        }
    }

    pub fn go_on_if(&mut self, condition: Value) {
        let on = self.e.builder.create_block();
        let miss = self.miss;
        self.e.ins().brif(condition, on, &[], miss, &[]);
        self.e.builder.switch_to_block(on);
    }

    /// The less of the two, if there are two.
    pub fn least(&mut self, one: Option<Value>, other: Value) -> Value {
        match one {
            Some(one) => self.e.ins().umin(one, other),
            None => other,
        }
    }

    pub fn tell(&mut self, here: &mut Here, value: Value) {
        here.told.push((here.n_told, value));
        here.n_told += 1;
    }

    pub fn word_given(&mut self, index: usize) -> Value {
        self.given = self.given.max(index + 1);
        let given = self.e.fixed(at::GIVEN);
        let flags = fixed_memory();
        self.e
            .ins()
            .load(types::I64, flags, given, (index * 8) as i32)
    }

    fn apply(&mut self, here: &Here, id: u32, paths: &[usize]) -> Result<Parts, Unsupported> {
        let program = self.e.program;
        let table = &program.tables[id as usize];
        if table.key_words as usize > MAX_KEY {
            return unsupported("a long key");
        }
        for word in 0..table.key_words {
            let value = self.e.get(table.key + word);
            self.e.set_own(at::KEY + word as i32 * 8, value);
        }
        let (found, data) = self.e.call_for_table(find as *const u8, id);
        let groups = self.by_outcome(here, paths)?;
        let mut parts = Vec::new();
        let n = groups.len();
        for (at, (outcome, group)) in groups.into_iter().enumerate() {
            if outcome == OVER {
                return unsupported("a lookup of its own");
            }
            let block = self.e.builder.create_block();
            let other = match at + 1 < n {
                true => self.e.builder.create_block(),
                false => self.miss,
            };
            let is = self.e.ins().icmp_imm_u(IntCC::Equal, found, outcome as i64);
            self.e.ins().brif(is, block, &[], other, &[]);
            self.e.builder.switch_to_block(block);
            let (hit, action) = (outcome >> 32, outcome & u64::from(u32::MAX));
            let before = self.e.known.clone();
            let (hit, chosen) = (self.e.number(hit), self.e.number(action));
            self.e.set(table.hit, hit);
            self.e.set(table.chosen, chosen);
            if let Some(listed) = table.actions.get(action as usize) {
                let (slot, n) = parameters(program, listed.action);
                self.e.fetch(slot, data, n);
            }
            let words = std::mem::replace(&mut self.e.known, before);
            // What follows begins in a block of its own.
            let start = self.e.builder.create_block();
            self.e.ins().jump(start, &[]);
            parts.push((start, group, words));
            if other != self.miss {
                self.e.builder.switch_to_block(other);
            }
        }
        Ok(parts)
    }
}

/// Words from the first element to element `index`, if there is one.
fn element(r: &DynamicRef, index: u64) -> Option<u32> {
    (index < u64::from(r.count)).then(|| index as u32 * r.stride)
}
