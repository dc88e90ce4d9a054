//! One program's instructions on terms.
//!
//! A frame is as the interpreter has it, a term in the place of each word; what a control asks of the
//! architecture stands in words behind it ([`Asked`]), so that branches merge it as they merge fields.

use crate::branches::Seen;
use crate::packet::Packet;
use crate::path::{Paths, Step, Stop};
use crate::term::{Binary, Term, Terms};
use crate::undefined::Undefined;
use crate::world::{Bounds, World};
use p4_arch::{tna, v1model};
use p4_ir::ir::{words, Alu, LayoutId, Op, Pc, Program, Slot, WideKind};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Words behind the frame.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    Clone,
    CloneSession,
    CloneList,
    Resubmit,
    ResubmitList,
    Recirculate,
    RecirculateList,
    /// Bytes that `setValid` and `setInvalid` have added, 32 bits
    Grown,
    Words,
}

/// A write to a register, in the order of the code, or a packet that a counter counts; each holds
/// where its guard does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub when: Term,
    pub index: Term,
    /// One term per leaf of the register's type; none for a counter
    pub values: Vec<Term>,
}

/// A program's values at one point of its code.
#[derive(Clone, Debug)]
pub struct State {
    pub frame: Vec<Term>,
    /// What holds where this state is, beside what was decided on the path
    pub guard: Vec<Term>,
}

/// How a parser ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    Accepted,
    Rejected(u32),
}

/// The architecture that a program was made for, and the program.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    V1Model(&'a v1model::Image),
    Tna(&'a tna::Image),
}

impl<'a> Target<'a> {
    pub fn program(self) -> &'a Program {
        match self {
            Target::V1Model(image) => image.program(),
            Target::Tna(image) => image.program(),
        }
    }
}

/// What stays of a program from path to path.
pub struct Code<'a> {
    pub target: Target<'a>,
    /// The frame before a packet comes
    pub blank: Vec<Term>,
    pub(crate) undefined: Undefined,
    /// Instructions that a jump leads to
    pub(crate) targets: Vec<bool>,
    /// For each routine the order in which its instructions are met
    pub(crate) orders: FxHashMap<Pc, Rc<FxHashMap<Pc, u32>>>,
    /// Which branches have been taken, where somebody wants to know
    pub(crate) seen: Option<Box<Seen>>,
}

impl<'a> Code<'a> {
    pub fn new(target: Target<'a>, bounds: &Bounds, terms: &mut Terms) -> Result<Code<'a>, String> {
        let program = target.program();
        if program.keeps_invalid {
            return Err("programs lowered for bmv2 are not compared".into());
        }
        let zero = terms.number(0, 64);
        let undefined = Undefined::new(program, bounds, terms);
        let mut blank = vec![zero; program.frame_words as usize];
        undefined.begin(&mut blank);
        for (index, value) in program.constants.iter().enumerate() {
            blank[program.constant_base as usize + index] = terms.number(*value, 64);
        }
        blank.resize(blank.len() + Asked::Words as usize, zero);
        Ok(Code {
            target,
            blank,
            undefined,
            targets: crate::flow::targets(program),
            orders: FxHashMap::default(),
            seen: None,
        })
    }
}

/// One program on one path.
pub struct Run<'r, 'a, 's> {
    pub code: &'r mut Code<'a>,
    pub program: &'a Program,
    pub terms: &'r mut Terms,
    pub paths: &'r mut Paths<'s>,
    pub world: &'r World,
    pub bounds: &'r Bounds,
    pub packet: Packet,
    /// Bits of the packet that the parser has consumed
    pub cursor: usize,
    /// What the deparser has made, whole bytes first
    pub output: Vec<Term>,
    pub loose: Option<Term>,
    /// By instance
    pub writes: FxHashMap<u32, Vec<Write>>,
    /// Numbers that registers have in both programs, by name
    pub registers: &'r mut Vec<String>,
    pub states: u32,
    /// What only TNA has
    pub chip: crate::tna::Chip,
}

impl Run<'_, '_, '_> {
    pub fn asked(&self, what: Asked) -> Slot {
        self.program.frame_words + what as Slot
    }

    pub fn word(&self, state: &State, slot: Slot) -> Term {
        state.frame[slot as usize]
    }

    pub fn set(&self, state: &mut State, slot: Slot, value: Term) {
        state.frame[slot as usize] = value;
    }

    /// The value of `width` bits whose first word is `slot`.
    pub fn get(&mut self, state: &State, slot: Slot, width: u32) -> Term {
        let width = width.max(1);
        if width <= 64 {
            return self.terms.fit(state.frame[slot as usize], width);
        }
        let n = words(width);
        let mut joined = self
            .terms
            .fit(state.frame[(slot + n - 1) as usize], width - (n - 1) * 64);
        for limb in (0..n - 1).rev() {
            let low = self.terms.fit(state.frame[(slot + limb) as usize], 64);
            joined = self.terms.concat(joined, low);
        }
        joined
    }

    pub fn put(&mut self, state: &mut State, slot: Slot, width: u32, value: Term) {
        let width = width.max(1);
        let value = self.terms.fit(value, width);
        if width <= 64 {
            return self.set(state, slot, value);
        }
        for limb in 0..words(width) {
            let bits = (width - limb * 64).min(64);
            let part = self.terms.slice(value, limb * 64, bits);
            self.set(state, slot + limb, part);
        }
    }

    pub fn truth(&mut self, state: &State, slot: Slot) -> Term {
        let word = self.word(state, slot);
        self.terms.is_set(word)
    }

    fn zero(&mut self, state: &mut State, slot: Slot, n: u32) {
        let zero = self.terms.number(0, 64);
        state.frame[slot as usize..(slot + n) as usize].fill(zero);
    }

    /// Takes the value from what is in the words.
    pub(crate) fn undefine(&self, state: &mut State, slot: Slot, n: u32) {
        let own = self.code.undefined.words(slot, n);
        state.frame[slot as usize..(slot + n) as usize].copy_from_slice(own);
    }

    /// A copy of whole headers: one without a name of its own has zeros in its fields where it is
    /// invalid, for headers are compared by all their words.
    fn copy(&mut self, d: Slot, s: Slot, n: u32, state: &mut State) {
        let old = state.frame[s as usize..(s + n) as usize].to_vec();
        state.frame[d as usize..(d + n) as usize].copy_from_slice(&old);
        let zero = self.terms.number(0, 64);
        for at in 0..n {
            let undefined = &self.code.undefined;
            let (from, to) = (undefined.header_of(s + at), undefined.header_of(d + at));
            let (valid, instead) = match (from, to) {
                (Some(valid), None) if valid >= s && !undefined.is_named(d + at) => (valid, zero),
                (None, Some(valid)) if valid >= d && !undefined.is_named(s + at) => {
                    (valid - d + s, undefined.words(d + at, 1)[0])
                }
                _ => continue,
            };
            let valid = self.terms.is_set(old[(valid - s) as usize]);
            let value = self.merge_words(valid, old[at as usize], instead);
            self.set(state, d + at, value);
        }
    }

    /// `value` where `c` holds, else what is there.
    fn store_if(&mut self, state: &mut State, c: Term, slot: Slot, value: Term) {
        let old = self.word(state, slot);
        let merged = self.merge_words(c, value, old);
        self.set(state, slot, merged);
    }

    pub fn merge_words(&mut self, c: Term, a: Term, b: Term) -> Term {
        if a == b {
            return a;
        }
        let width = self.terms.needed(a).max(self.terms.needed(b));
        let (a, b) = (self.terms.fit(a, width), self.terms.fit(b, width));
        self.terms.choose(c, a, b)
    }

    /// An instruction that neither jumps nor asks the host.
    pub fn simple(&mut self, op: Op, state: &mut State) -> Step<()> {
        match op {
            Op::Mov { d, s } => {
                let value = self.word(state, s);
                self.set(state, d, value);
            }
            Op::MovN { d, s, n } => self.copy(d, s, n, state),
            Op::MovIf { d, s, c } => {
                let (c, value) = (self.truth(state, c), self.word(state, s));
                self.store_if(state, c, d, value);
            }
            Op::MovNIf { d, s, c, n } => {
                let c = self.truth(state, c);
                let values: Vec<Term> =
                    state.frame[s as usize..s as usize + usize::from(n)].to_vec();
                for (at, value) in values.into_iter().enumerate() {
                    self.store_if(state, c, d + at as u32, value);
                }
            }
            Op::Zero { d, n } => self.zero(state, d, n),
            Op::Undefine { d, n } => self.undefine(state, d, n),
            Op::Alu { op, w, d, a, b } => {
                let w = u32::from(w);
                let x = self.get(state, a, w);
                let y = match op {
                    Alu::Shl | Alu::Shr | Alu::ShrS => self.word(state, b),
                    _ => self.get(state, b, w),
                };
                let value = self.alu(op, x, y);
                self.set(state, d, value);
            }
            Op::Not { w, d, a } => {
                let value = self.get(state, a, w.into());
                let value = self.terms.not(value);
                self.set(state, d, value);
            }
            Op::Neg { w, d, a } => {
                let value = self.get(state, a, w.into());
                let value = self.negative(value);
                self.set(state, d, value);
            }
            Op::NotBool { d, a } => {
                let value = self.truth(state, a);
                let value = self.terms.not(value);
                self.set(state, d, value);
            }
            Op::Concat { w, d, a, b } => {
                let low = self.get(state, b, w.into());
                let high = self.word(state, a);
                let joined = self.terms.concat(high, low);
                let width = self.terms.width(joined).min(64);
                let value = self.terms.fit(joined, width);
                self.set(state, d, value);
            }
            Op::Slice { lo, w, d, a } => {
                let whole = self.get(state, a, 64);
                let whole = self.terms.fit(whole, 128);
                let value = self.terms.slice(whole, lo.into(), u32::from(w).max(1));
                self.set(state, d, value);
            }
            Op::Insert { lo, w, d, s } => {
                let (old, value) = (self.get(state, d, 64), self.get(state, s, w.into()));
                let value = self.insert(old, value, lo.into());
                self.set(state, d, value);
            }
            Op::SignExtend { from, to, d, a } => {
                let value = self.get(state, a, from.into());
                let value = self.terms.sign_extend(value, to.into());
                self.set(state, d, value);
            }
            Op::Wide { op } => self.wide(op, state),
            Op::LoadAt { r, d, idx } => self.load_at(r, d, idx, state),
            Op::StoreAt { r, s, idx } => self.store_at(r, s, idx, state),
            Op::SetValid { layout, base } => self.set_valid(layout, base, state),
            Op::SetInvalid { layout, base } => self.set_invalid(layout, base, state),
            Op::StackShift { stack, by } => self.shift_stack(stack, by, state),
            Op::PacketLength { d } => {
                let length = self.packet.length(self.world.length, self.terms);
                self.set(state, d, length);
            }
            // Nobody has put a member into a value set.
            Op::InValueSet { d, .. } => self.zero(state, d, 1),
            other => return Err(Stop::Unsupported(format!("{other:?}"))),
        }
        Ok(())
    }

    fn insert(&mut self, old: Term, value: Term, lo: u32) -> Term {
        let (whole, bits) = (self.terms.width(old), self.terms.width(value));
        let mut joined = value;
        if lo + bits < whole {
            let high = self.terms.slice(old, lo + bits, whole - lo - bits);
            joined = self.terms.concat(high, joined);
        }
        if lo > 0 {
            let low = self.terms.slice(old, 0, lo);
            joined = self.terms.concat(joined, low);
        }
        joined
    }

    fn negative(&mut self, value: Term) -> Term {
        let zero = self.terms.number(0, self.terms.width(value));
        self.terms.binary(Binary::Sub, zero, value)
    }

    fn shift(&mut self, op: Binary, a: Term, by: Term) -> Term {
        let (width, own) = (self.terms.width(a), self.terms.width(by));
        if own <= width {
            let by = self.terms.fit(by, width);
            return self.terms.binary(op, a, by);
        }
        let limit = self.terms.number(width.into(), own.max(32));
        let wide = self.terms.fit(by, own.max(32));
        let inside = self.terms.less(wide, limit);
        let small = self.terms.fit(by, width);
        let shifted = self.terms.binary(op, a, small);
        let beyond = match op {
            Binary::ShrS => {
                let sign = self.terms.slice(a, width - 1, 1);
                self.terms.sign_extend(sign, width)
            }
            _ => self.terms.number(0, width),
        };
        self.terms.choose(inside, shifted, beyond)
    }

    fn alu(&mut self, op: Alu, a: Term, b: Term) -> Term {
        let t = &mut *self.terms;
        match op {
            Alu::Add => t.binary(Binary::Add, a, b),
            Alu::Sub => t.binary(Binary::Sub, a, b),
            Alu::Mul => t.binary(Binary::Mul, a, b),
            Alu::Div => t.binary(Binary::Div, a, b),
            Alu::Mod => t.binary(Binary::Mod, a, b),
            Alu::And => t.and(a, b),
            Alu::Or => t.or(a, b),
            Alu::Xor => t.binary(Binary::Xor, a, b),
            Alu::Shl => self.shift(Binary::Shl, a, b),
            Alu::Shr => self.shift(Binary::Shr, a, b),
            Alu::ShrS => self.shift(Binary::ShrS, a, b),
            Alu::AddSat | Alu::SubSat | Alu::AddSatS | Alu::SubSatS => self.saturating(op, a, b),
            Alu::Eq => t.equal(a, b),
            Alu::Ne => {
                let equal = t.equal(a, b);
                t.not(equal)
            }
            Alu::Lt => t.less(a, b),
            Alu::Le => {
                let greater = t.less(b, a);
                t.not(greater)
            }
            Alu::LtS => t.binary(Binary::LtS, a, b),
            Alu::LeS => {
                let greater = t.binary(Binary::LtS, b, a);
                t.not(greater)
            }
        }
    }

    fn saturating(&mut self, op: Alu, a: Term, b: Term) -> Term {
        let width = self.terms.width(a);
        let is_signed = matches!(op, Alu::AddSatS | Alu::SubSatS);
        let plus = matches!(op, Alu::AddSat | Alu::AddSatS);
        let t = &mut *self.terms;
        let wide = |t: &mut Terms, x| match is_signed {
            true => t.sign_extend(x, width + 2),
            false => t.fit(x, width + 2),
        };
        let (x, y) = (wide(t, a), wide(t, b));
        let exact = t.binary(if plus { Binary::Add } else { Binary::Sub }, x, y);
        let one = t.number(1, width);
        let zero = t.number(0, width);
        let ones = t.not(zero);
        let (low, high) = match is_signed {
            true => {
                let top = t.number(u64::from(width) - 1, width);
                let low = t.binary(Binary::Shl, one, top);
                (low, t.not(low))
            }
            false => (zero, ones),
        };
        let (least, most) = (wide(t, low), wide(t, high));
        let below = t.binary(Binary::LtS, exact, least);
        let above = t.binary(Binary::LtS, most, exact);
        let cut = t.slice(exact, 0, width);
        let value = t.choose(above, high, cut);
        t.choose(below, low, value)
    }

    fn wide(&mut self, op: u32, state: &mut State) {
        let op = self.program.wide[op as usize];
        let a = self.get(state, op.a, op.aw);
        let value = match op.kind {
            WideKind::Alu(alu) => {
                let b = self.get(state, op.b, op.bw);
                let b = match alu {
                    Alu::Shl | Alu::Shr | Alu::ShrS => b,
                    _ => self.terms.fit(b, op.aw),
                };
                self.alu(alu, a, b)
            }
            WideKind::Not => self.terms.not(a),
            WideKind::Neg => self.negative(a),
            WideKind::Concat => {
                let b = self.get(state, op.b, op.bw);
                self.terms.concat(a, b)
            }
            WideKind::Slice { lo } => {
                let whole = self.terms.fit(a, op.aw.max(lo + op.dw));
                self.terms.slice(whole, lo, op.dw)
            }
            WideKind::Insert { lo } => {
                let old = self.get(state, op.d, op.dw);
                self.insert(old, a, lo)
            }
            WideKind::SignExtend => self.terms.sign_extend(a, op.dw),
        };
        self.put(state, op.d, op.dw, value);
    }

    /// Whether the index is `number`.
    fn is_index(&mut self, index: Term, number: u32) -> Term {
        let width = self.terms.width(index).max(32);
        let index = self.terms.fit(index, width);
        let number = self.terms.number(number.into(), width);
        self.terms.equal(index, number)
    }

    fn load_at(&mut self, r: u32, d: Slot, idx: Slot, state: &mut State) {
        let r = self.program.dynamic[r as usize];
        let index = self.word(state, idx);
        let old: Vec<Term> = state.frame.clone();
        let beyond = self.code.undefined.words(r.base, r.n);
        state.frame[d as usize..(d + r.n) as usize].copy_from_slice(beyond);
        for number in 0..r.count {
            let c = self.is_index(index, number);
            for word in 0..r.n {
                let value = old[(r.base + number * r.stride + word) as usize];
                self.store_if(state, c, d + word, value);
            }
        }
    }

    fn store_at(&mut self, r: u32, s: Slot, idx: Slot, state: &mut State) {
        let r = self.program.dynamic[r as usize];
        let index = self.word(state, idx);
        let values: Vec<Term> = state.frame[s as usize..(s + r.n) as usize].to_vec();
        for number in 0..r.count {
            let mut c = self.is_index(index, number);
            if let Some(valid) = r.valid {
                let valid = self.truth(state, valid + number * r.stride);
                c = self.terms.and(c, valid);
            }
            for (word, value) in values.iter().enumerate() {
                let slot = r.base + number * r.stride + word as u32;
                self.store_if(state, c, slot, *value);
            }
        }
    }

    /// Bytes of the header at `base` if it is valid, 32 bits; `varbit` with its varbit field.
    fn header_bytes(&mut self, layout: LayoutId, base: Slot, state: &State, varbit: bool) -> Term {
        let layout = &self.program.layouts[layout as usize];
        let mut bits = self.terms.number(layout.fixed_bits.into(), 32);
        if varbit {
            for field in layout.fields.iter().filter(|field| field.varbit) {
                let length = self.get(state, base + field.offset, 32);
                bits = self.terms.binary(Binary::Add, bits, length);
            }
        }
        let three = self.terms.number(3, 32);
        self.terms.binary(Binary::Shr, bits, three)
    }

    fn grow(&mut self, state: &mut State, c: Term, bytes: Term) {
        let slot = self.asked(Asked::Grown);
        let old = self.get(state, slot, 32);
        let sum = self.terms.binary(Binary::Add, old, bytes);
        let merged = self.terms.choose(c, sum, old);
        self.set(state, slot, merged);
    }

    fn set_valid(&mut self, layout: LayoutId, base: Slot, state: &mut State) {
        let was = self.truth(state, base);
        let not = self.terms.not(was);
        let bytes = self.header_bytes(layout, base, state, false);
        self.grow(state, not, bytes);
        let n = self.program.layouts[layout as usize].words;
        for slot in base + 1..base + n {
            let value = self.code.undefined.words(slot, 1)[0];
            self.store_if(state, not, slot, value);
        }
        let one = self.terms.number(1, 1);
        self.set(state, base, one);
    }

    fn set_invalid(&mut self, layout: LayoutId, base: Slot, state: &mut State) {
        let was = self.truth(state, base);
        let bytes = self.header_bytes(layout, base, state, true);
        let minus = self.negative(bytes);
        self.grow(state, was, minus);
        let n = self.program.layouts[layout as usize].words;
        self.undefine(state, base, n);
    }

    fn shift_stack(&mut self, stack: u32, by: i32, state: &mut State) {
        let stack = self.program.stacks[stack as usize].clone();
        let n = by.unsigned_abs().min(stack.count);
        let (all, moved) = (stack.count * stack.stride, n * stack.stride);
        let first = (stack.next + 1) as usize;
        let (all, moved) = (all as usize, moved as usize);
        let next = self.get(state, stack.next, 32);
        let step = self.terms.number(n.into(), 32);
        let (value, gap) = if by >= 0 {
            state
                .frame
                .copy_within(first..first + all - moved, first + moved);
            let sum = self.terms.binary(Binary::Add, next, step);
            let count = self.terms.number(stack.count.into(), 32);
            let over = self.terms.less(count, sum);
            (self.terms.choose(over, count, sum), first)
        } else {
            state.frame.copy_within(first + moved..first + all, first);
            let under = self.terms.less(next, step);
            let rest = self.terms.binary(Binary::Sub, next, step);
            let zero = self.terms.number(0, 32);
            (self.terms.choose(under, zero, rest), first + all - moved)
        };
        self.undefine(state, gap as u32, moved as u32);
        self.set(state, stack.next, value);
    }
}
