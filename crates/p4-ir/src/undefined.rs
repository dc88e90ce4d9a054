//! Reads of what the language leaves undefined (P4_16, 8.25), made visible: instead of the zero
//! that a read gives otherwise it gives noise from a seed, and an event says so.
//!
//! Undefined are variables and `out` parameters before their first assignment, fields of invalid
//! headers, fields of a header since it was made valid and not assigned, elements beyond the end of
//! a stack, and what an architecture adds with [`Machine::undefine`](crate::interp::Machine).
//! A scalar is read where the program uses its value. Whole structs and headers are only copied:
//! what was undefined in them is undefined in the copy.
//!
//! A program that compares such a value is right by chance unless the noise is the very value that
//! it asks for. So half of the noise is drawn from the numbers that are written in the program.
//!
//! Unset variables hold their noise in the frame, so that each has one value however often it is
//! read. Fields of invalid headers stay zero there, as comparing and copying headers relies on it;
//! they hold noise only while an instruction reads them.

use crate::interp::Prepared;
use crate::interp_access::{accesses, Access};
use crate::interp_prepare::place_words;
use crate::ir::{mask, ArgValue, ConstMatch, Op, Pc, Program, Slot, ValueKind, Var, WideKind};
use crate::trace::{Event, Tracer};

/// Why a value is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The header that the field belongs to is invalid.
    Invalid,
    /// Nothing has been assigned yet.
    Unset,
    /// The index is beyond the end of the stack.
    OutOfRange,
}

/// What is undefined now, and the noise to come.
#[derive(Clone, Debug)]
pub(crate) struct Undefined {
    random: u64,
    /// The numbers of one word that the program names, in ascending order
    named: Vec<u64>,
    /// For each word whether it belongs to a variable without a value
    unset: Vec<bool>,
    /// Words that hold noise for the running instruction only, with what goes back into them
    lent: Vec<(Slot, u64)>,
    /// What is left to do when the running instruction is done
    after: Vec<After>,
}

#[derive(Clone, Copy, Debug)]
enum After {
    Set {
        slot: Slot,
        n: u32,
    },
    Unset {
        slot: Slot,
        n: u32,
    },
    Copy {
        from: Slot,
        to: Slot,
        n: u32,
    },
    /// Fields of a header that has become valid
    Fresh {
        slot: Slot,
        n: u32,
    },
    Noise {
        slot: Slot,
        var: u32,
    },
}

impl Undefined {
    pub fn new(seed: u64, words: usize, program: &Program) -> Undefined {
        Undefined {
            random: seed,
            named: named(program),
            unset: vec![false; words],
            lent: Vec::new(),
            after: Vec::new(),
        }
    }

    /// Everything has a value again.
    pub fn reset(&mut self) {
        self.unset.fill(false);
        self.lent.clear();
        self.after.clear();
    }

    /// The words without a value between `slot` and `slot + n`.
    pub fn list(&self, slot: Slot, n: u32, out: &mut Vec<Slot>) {
        out.extend((slot..slot + n).filter(|word| self.unset[*word as usize]));
    }

    /// Marks words as without a value; they keep what they hold.
    pub fn mark(&mut self, words: &[Slot]) {
        for word in words {
            if let Some(unset) = self.unset.get_mut(*word as usize) {
                *unset = true;
            }
        }
    }

    /// SplitMix64, as the random numbers of an architecture.
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Noise that is a value of the variable's type, so that nothing else can go wrong with it.
    fn noise(&mut self, program: &Program, var: &Var) -> Vec<u64> {
        let width = var.place.width;
        let members = match var.place.kind {
            ValueKind::Enum(id) => program.enums.get(id as usize).map(|e| e.members.len()),
            ValueKind::Error => Some(program.errors.len()),
            _ => None,
        };
        if let Some(members) = members {
            return vec![self.next() % (members.max(1) as u64)];
        }
        let word = |i: usize| mask(width.saturating_sub(i as u32 * 64));
        let n = place_words(&var.place);
        if n == 1 && self.next() & 1 == 1 {
            if let Some(value) = self.one_named(width) {
                return vec![value];
            }
        }
        (0..n).map(|i| self.next() & word(i)).collect()
    }

    /// A number of the program that a variable of `width` bits, at most 64, can hold; one that needs
    /// more than half of the bits if there is any.
    fn one_named(&mut self, width: u32) -> Option<u64> {
        let upto = |bits| self.named.partition_point(|value| *value <= mask(bits));
        let (half, all) = (upto(width / 2), upto(width));
        let from = if half < all { half } else { 0 };
        let count = (all - from) as u64;
        let draw = self.next();
        let index = from as u64 + draw.checked_rem(count)?;
        Some(self.named[index as usize])
    }

    /// Takes their values from the variables in these words. Headers there are not yet valid.
    pub fn undefine(&mut self, prepared: &Prepared, slot: Slot, n: u32, frame: &mut [u64]) {
        self.forget(prepared, slot, n, frame, false);
    }

    fn forget(
        &mut self,
        prepared: &Prepared,
        slot: Slot,
        n: u32,
        frame: &mut [u64],
        in_headers: bool,
    ) {
        let program = prepared.program();
        for index in variables(prepared, slot, n) {
            let var = &program.vars[index as usize];
            let own = var.place.slot as usize..var.place.slot as usize + place_words(&var.place);
            if !has_noise(var) || var.header.is_some() && !in_headers {
                self.unset[own].fill(false);
                continue;
            }
            let noise = self.noise(program, var);
            frame[own.clone()].copy_from_slice(&noise);
            self.unset[own].fill(true);
        }
    }

    /// The last instruction is done.
    pub fn finish(&mut self, prepared: &Prepared, frame: &mut [u64]) {
        for (slot, word) in self.lent.drain(..) {
            frame[slot as usize] = word;
        }
        // Taken, but given back: this runs behind each instruction, and allocates nothing.
        let mut left = std::mem::take(&mut self.after);
        for after in left.drain(..) {
            match after {
                After::Set { slot, n } => {
                    self.unset[slot as usize..(slot + n) as usize].fill(false);
                }
                After::Unset { slot, n } => self.forget(prepared, slot, n, frame, false),
                After::Fresh { slot, n } => self.forget(prepared, slot, n, frame, true),
                After::Copy { from, to, n } => {
                    let from = from as usize..(from + n) as usize;
                    self.unset.copy_within(from, to as usize);
                }
                After::Noise { slot, var } => {
                    let var = &prepared.program().vars[var as usize];
                    let noise = self.noise(prepared.program(), var);
                    frame[slot as usize..][..noise.len()].copy_from_slice(&noise);
                }
            }
        }
        self.after = left;
    }

    /// Instruction `pc` is about to run: what it reads undefined gets noise and is recorded.
    pub fn begin<T: Tracer>(
        &mut self,
        prepared: &Prepared,
        pc: Pc,
        frame: &mut [u64],
        tracer: &mut T,
    ) {
        let program = prepared.program();
        let Some(op) = program.code.get(pc as usize) else {
            return;
        };
        let mut step = Step {
            undefined: self,
            prepared,
            pc,
            frame,
            tracer,
        };
        match *op {
            Op::Mov { d, s } => {
                if !completes_slice(program, pc, d) {
                    step.read(s, 1);
                }
                step.set(d, 1);
            }
            Op::MovN { d, s, n } => {
                if !completes_slice(program, pc, d) {
                    step.copy(d, s, n);
                }
            }
            Op::MovIf { d, s, c } => {
                step.read(s, 1);
                if step.frame[c as usize] != 0 {
                    step.set(d, 1);
                }
            }
            Op::MovNIf { d, s, c, n } if step.frame[c as usize] != 0 => {
                step.copy(d, s, n.into());
            }
            Op::MovNIf { .. } => {}
            Op::Undefine { d, n } => step.later(After::Unset { slot: d, n }),
            Op::SetValid { layout, base } if step.frame[base as usize] == 0 => {
                let n = prepared.layout_words(layout) as u32 - 1;
                step.later(After::Fresh { slot: base + 1, n });
            }
            Op::SetValid { .. } => {}
            Op::LoadAt { r, d, idx } => step.load_at(r, d, idx),
            Op::StoreAt { r, s, idx } => step.store_at(r, s, idx),
            Op::Emit { layout, base } => {
                if step.frame[base as usize] != 0 {
                    step.read(base, prepared.layout_words(layout) as u32);
                }
            }
            Op::StackLast { d, .. } => step.set(d, 1),
            Op::Extern { call } => step.extern_call(call),
            _ => step.plain(op),
        }
    }
}

/// One instruction about to run.
struct Step<'a, T> {
    undefined: &'a mut Undefined,
    prepared: &'a Prepared,
    pc: Pc,
    frame: &'a mut [u64],
    tracer: &'a mut T,
}

impl<T: Tracer> Step<'_, T> {
    fn later(&mut self, after: After) {
        self.undefined.after.push(after);
    }

    fn set(&mut self, slot: Slot, n: u32) {
        self.later(After::Set { slot, n });
    }

    /// The values of all variables in these words are used.
    fn read(&mut self, slot: Slot, n: u32) {
        let program = self.prepared.program();
        for index in variables(self.prepared, slot, n) {
            let var = &program.vars[index as usize];
            let at = var.place.slot as usize;
            let own = at..at + place_words(&var.place);
            let invalid = var
                .header
                .is_some_and(|valid| self.frame[valid as usize] == 0);
            let why = match (invalid, self.undefined.unset[at]) {
                (false, false) => continue,
                _ if !has_noise(var) => continue,
                (true, _) => Why::Invalid,
                (_, true) => Why::Unset,
            };
            let lent = self
                .undefined
                .lent
                .iter()
                .any(|(slot, _)| *slot == at as Slot);
            if invalid && !lent {
                let noise = self.undefined.noise(program, var);
                for (i, word) in noise.into_iter().enumerate() {
                    let place = (at + i) as Slot;
                    self.undefined.lent.push((place, self.frame[at + i]));
                    self.frame[at + i] = word;
                }
            }
            if !lent {
                let value = self.frame[own].to_vec();
                self.record(index, why, value);
            }
        }
    }

    fn record(&mut self, var: u32, why: Why, value: Vec<u64>) {
        let event = Event::Undefined { var, why, value };
        self.tracer.record(self.pc, event);
    }

    /// One variable is read; several are copied as they are.
    fn copy(&mut self, d: Slot, s: Slot, n: u32) {
        match self.single(s, n) {
            true => {
                self.read(s, n);
                self.set(d, n);
            }
            false => self.later(After::Copy { from: s, to: d, n }),
        }
    }

    fn single(&self, slot: Slot, n: u32) -> bool {
        self.prepared.var_at(slot).is_some_and(|var| {
            let place = &self.prepared.program().vars[var as usize].place;
            place.slot == slot && place_words(place) as u32 == n
        })
    }

    fn load_at(&mut self, r: u32, d: Slot, idx: Slot) {
        self.read(idx, 1);
        let r = self.prepared.program().dynamic[r as usize];
        let index = self.frame[idx as usize];
        if index < r.count.into() {
            return self.copy(d, r.base + index as u32 * r.stride, r.n);
        }
        self.set(d, r.n);
        let first = self.prepared.var_at(r.base);
        if let Some(var) = first.filter(|_| self.single(r.base, r.n)) {
            let info = &self.prepared.program().vars[var as usize];
            if has_noise(info) {
                self.later(After::Noise { slot: d, var });
                self.record(var, Why::OutOfRange, Vec::new());
            }
        }
    }

    fn store_at(&mut self, r: u32, s: Slot, idx: Slot) {
        self.read(idx, 1);
        let r = self.prepared.program().dynamic[r as usize];
        let index = self.frame[idx as usize];
        if index < r.count.into() {
            self.copy(r.base + index as u32 * r.stride, s, r.n);
        }
    }

    /// A call whose parameter `condition` is false reads nothing else.
    fn extern_call(&mut self, call: u32) {
        let call = &self.prepared.program().calls[call as usize];
        let idle = call.args.iter().any(|arg| match &arg.value {
            ArgValue::Scalar(place) => {
                &*arg.name == "condition" && self.frame[place.slot as usize] == 0
            }
            _ => false,
        });
        for arg in &call.args {
            let places = match &arg.value {
                ArgValue::Scalar(place) => std::slice::from_ref(place),
                ArgValue::List(leaves) => {
                    for (place, _) in leaves {
                        let n = place_words(place) as u32;
                        if arg.is_in && !idle && !arg.is_out {
                            self.read(place.slot, n);
                        }
                        if arg.is_out {
                            self.set(place.slot, n);
                        }
                    }
                    continue;
                }
                _ => continue,
            };
            for place in places {
                let n = place_words(place) as u32;
                if arg.is_in && (!idle || &*arg.name == "condition") {
                    self.read(place.slot, n);
                }
                if arg.is_out {
                    self.set(place.slot, n);
                }
            }
        }
        for place in &call.result {
            self.set(place.slot, place_words(place) as u32);
        }
    }

    /// Any other instruction uses what it reads and defines what it writes.
    fn plain(&mut self, op: &Op) {
        // What it writes has a value only when it is done, so the order is all one. The program has
        // been checked, so this finds nothing wrong.
        let _ = accesses(self.prepared.program(), op, &mut |access| match access {
            Access::Read { slot, n } => self.read(slot, n),
            Access::Write { slot, n } => self.set(slot, n),
            Access::Jump(_) => {}
        });
    }
}

/// Validity and the fill of stacks are always defined; a varbit without a value is empty.
/// The numbers of one word that are written in a program: in its code, in what `select` and `switch`
/// compare with, and in its entries.
fn named(program: &Program) -> Vec<u64> {
    let mut found = program.constants.clone();
    for table in &program.switches {
        found.extend(table.cases.iter().map(|(value, _)| *value));
    }
    let entries = program.tables.iter().flat_map(|table| &table.entries);
    for one in entries.flat_map(|entry| &entry.matches) {
        match one {
            ConstMatch::Exact(value) | ConstMatch::Masked { value, .. } => found.extend(value),
            ConstMatch::Range { low, .. } => found.extend(low),
            ConstMatch::Any => {}
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn has_noise(var: &Var) -> bool {
    !matches!(
        var.place.kind,
        ValueKind::Valid | ValueKind::NextIndex | ValueKind::Varbit
    )
}

/// The variables in these words, each once.
fn variables(prepared: &Prepared, slot: Slot, n: u32) -> impl Iterator<Item = u32> + use<'_> {
    let mut last = None;
    (slot..slot.saturating_add(n))
        .filter_map(|word| prepared.var_at(word))
        .filter(move |var| last.replace(*var) != Some(*var))
}

/// Whether the value moved to `d` is only there to have a slice of it replaced.
fn completes_slice(program: &Program, pc: Pc, d: Slot) -> bool {
    match program.code.get(pc as usize + 1) {
        Some(Op::Insert { d: into, .. }) => *into == d,
        Some(Op::Wide { op }) => {
            let op = &program.wide[*op as usize];
            matches!(op.kind, WideKind::Insert { .. }) && op.d == d
        }
        _ => false,
    }
}
