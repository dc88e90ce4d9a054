//! What native code is to whoever runs a program, whoever made it.
//!
//! An architecture that has been given a [`Native`] runs its blocks with [`Native::run`] instead of
//! [`run`](crate::interp::run); everything else about a switch stays the same. Native code neither
//! traces nor shows what is undefined: for that there is the interpreter.

use crate::glue::Segment;
use crate::interp::{Halt, Host, Lookup, Machine, Outcome, Plain};
use crate::ir::{mask, CallId, InstanceId, Pc, Place, Program, Slot, TableId, ValueKind};
use crate::paths::{Later, Path, Paths};
use crate::trace::NoTrace;
use std::fmt::Debug;
use std::sync::Arc;

/// A [`Host`] without a tracer, so that code compiled once serves every host.
pub trait NativeHost {
    fn lookup_plain(&mut self, table: TableId, key: &[u64]) -> Option<Plain<'_>>;

    fn between(&mut self, last: usize, frame: &mut [u64], length: i64) -> bool;

    fn lookup(&mut self, table: TableId, key: &[u64]) -> Lookup<'_>;

    fn call(&mut self, call: CallId, machine: &mut Machine) -> Result<(), Halt>;

    fn in_value_set(&mut self, set: u32, key: &[u64]) -> bool;

    fn cell(&mut self, call: CallId, index: u64) -> Option<&[u64]>;

    fn put_cell(&mut self, call: CallId, index: u64, words: &[u64]);
}

impl<H: Host> NativeHost for H {
    #[inline]
    fn lookup_plain(&mut self, table: TableId, key: &[u64]) -> Option<Plain<'_>> {
        Host::lookup_plain(self, table, key)
    }

    #[inline]
    fn between(&mut self, last: usize, frame: &mut [u64], length: i64) -> bool {
        Host::between(self, last, frame, length)
    }

    fn lookup(&mut self, table: TableId, key: &[u64]) -> Lookup<'_> {
        Host::lookup(self, table, key)
    }

    fn call(&mut self, call: CallId, machine: &mut Machine) -> Result<(), Halt> {
        Host::call(self, call, machine, &mut NoTrace)
    }

    fn in_value_set(&mut self, set: u32, key: &[u64]) -> bool {
        Host::in_value_set(self, set, key)
    }

    fn cell(&mut self, call: CallId, index: u64) -> Option<&[u64]> {
        Host::cell(self, call, index)
    }

    fn put_cell(&mut self, call: CallId, index: u64, words: &[u64]) {
        Host::put_cell(self, call, index, words);
    }
}

/// A program as machine code.
pub trait Native: Debug + Send + Sync {
    /// The program that it was made from. It runs on machines of this very program only.
    fn program(&self) -> &Arc<Program>;

    /// Runs the block that starts at `entry` on the packet and frame of `machine`: the same outcome
    /// as the interpreter's, the same packet, and the same words in all storages.
    fn run(&self, entry: Pc, machine: &mut Machine, host: &mut dyn NativeHost) -> Outcome {
        self.run_all(&[entry], machine, host).1
    }

    /// Runs blocks one after the other, as long as they end with [`Outcome::Done`] and the host goes
    /// on: which was the last to run (an index in `entries`), and how it ended. Without entries that
    /// is 0 and done.
    fn run_all(
        &self,
        entries: &[Pc],
        machine: &mut Machine,
        host: &mut dyn NativeHost,
    ) -> (usize, Outcome);

    /// What [`Machine::reset`] does, but that words which no block reads before it writes them may
    /// stay as they are. Traces show such words, so the interpreter needs the whole reset.
    fn reset(&self, machine: &mut Machine);

    /// Code for packets that take one of `paths` of a segment; `None` if some of them cannot be had so.
    fn paths(&self, segment: &Segment, paths: &[Path]) -> Option<Arc<dyn Paths>>;
}

/// What a call of the host comes to, if it is so little that native code can do it by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inline {
    /// Puts numbers into slots.
    Store(Vec<(Slot, u64)>),
    /// Nothing as long as this word is zero; else the host is called.
    Unless(Slot),
    /// The host is called; it does not look at the packet, and of the frame it writes no more than
    /// the call's `out` arguments and result.
    ByArguments,
    /// The same, and the call does nothing but compute what it writes from what it reads.
    Pure,
    /// The same as [`Inline::ByArguments`], and whoever runs a path can take back what the call has
    /// changed besides.
    Undoable,
    /// The same as [`Inline::ByArguments`], and on a path the call may be put off.
    Later(Later),
    /// The same, and all that it asks for is that the packet be cut to so many bytes when it is sent, of
    /// which the low 32 bits count, or to fewer if others ask for fewer.
    Cut(Slot),
    Checksum(InternetChecksum),
    /// The same as [`Inline::Pure`], and on a path, what is done to a sum that is zero when the path begins
    Sum(InstanceId, SumStep),
    /// On a path, what is done to a cell
    Cell(CellCall),
    /// On a path, fields that follow in the packet
    Unpack(Unpack),
}

/// A call that puts a register's cell into the frame, runs a method of the program's, and puts the cell
/// back. On a path the method is part of it. Whoever runs a path can take back what is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellCall {
    /// The word with the cell's index
    pub index: Slot,
    /// The cell's words while the method runs
    pub value: Vec<Slot>,
    /// Words that are zero when it begins, and where they are put when it has ended
    pub results: Vec<(Slot, Slot)>,
}

/// Fields of at most 64 bits each, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpack {
    /// A word that is 1 then
    pub valid: Option<Slot>,
    pub fields: Vec<(Slot, u32)>,
    /// By so many bits the packet's cursor goes on.
    pub bits: u32,
}

/// An Internet checksum (RFC 1071) of some values, stored or compared with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InternetChecksum {
    /// Nothing is done if this word is zero; `None` if it is always done.
    pub condition: Option<Slot>,
    /// If a varbit among them is not empty, the host is called.
    pub data: Summands,
    /// At most 64 bits
    pub value: Slot,
    pub mask: u64,
    pub then: Then,
}

/// What becomes of a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The value becomes it.
    Store,
    /// If the value is another, 1 is put into this slot, if there is one.
    Compare(Option<Slot>),
}

/// A word that is part of a sum of 16-bit words: its bits begin so many bits above a boundary of
/// such words. 2^16 is 1 in ones' complement arithmetic, so it is added as it is, moved up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    pub slot: Slot,
    /// 0 to 15
    pub up: u8,
}

impl InternetChecksum {
    /// The checksum of `data`, joined from the left; `None` if `value` is wider than 64 bits.
    pub fn new(
        condition: Option<Slot>,
        data: &[Place],
        value: &Place,
        then: Then,
    ) -> Option<InternetChecksum> {
        if value.width > 64 {
            return None;
        }
        Some(InternetChecksum {
            condition,
            data: Summands::new(data.to_vec()),
            value: value.slot,
            mask: mask(value.width),
            then,
        })
    }
}

/// Values joined from the left, whose ones' complement sum of 16-bit words (RFC 1071) is wanted; zero bits
/// fill up the last word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summands {
    data: Vec<Place>,
    varbits: Vec<Slot>,
    /// As long as all varbits are empty
    terms: Vec<Term>,
}

/// What is done with a ones' complement sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SumStep {
    Add(Summands),
    Subtract(Summands),
    /// The word becomes 1 if the sum is not all ones, or else 0.
    Verify(Slot),
    /// The value becomes the sum.
    Get(Place),
}

impl Summands {
    pub fn new(data: Vec<Place>) -> Summands {
        let varbits = data.iter().filter(|place| place.kind == ValueKind::Varbit);
        Summands {
            varbits: varbits.map(|place| place.slot).collect(),
            terms: terms(&data, |_| 0),
            data,
        }
    }

    pub fn places(&self) -> &[Place] {
        &self.data
    }

    /// Words with the lengths of varbits among the values
    pub fn varbits(&self) -> &[Slot] {
        &self.varbits
    }

    /// What is to be summed up as long as all varbits are empty.
    pub fn fixed(&self) -> &[Term] {
        &self.terms
    }

    /// What is to be summed up if the varbits are so long.
    pub fn terms(&self, length: impl Fn(Slot) -> u32) -> Vec<Term> {
        terms(&self.data, length)
    }

    pub fn sum(&self, frame: &[u64]) -> u16 {
        let length = |slot: Slot| frame[slot as usize] as u32;
        match self.varbits.iter().all(|slot| length(*slot) == 0) {
            true => sum_up(&self.terms, frame),
            false => sum_up(&terms(&self.data, length), frame),
        }
    }
}

fn sum_up(terms: &[Term], frame: &[u64]) -> u16 {
    // 2^64 is 1 too, so what runs over comes in again from below.
    let mut all = 0u64;
    for term in terms {
        let word = frame[term.slot as usize].rotate_left(term.up.into());
        let (sum, carry) = all.overflowing_add(word);
        all = sum + u64::from(carry);
    }
    // 64 bits to 33, to 18, to 17, to 16: each fold leaves the carry of the one before.
    for bits in [32, 16, 16, 16] {
        all = (all & ((1 << bits) - 1)) + (all >> bits);
    }
    all as u16
}

fn terms(data: &[Place], length: impl Fn(Slot) -> u32) -> Vec<Term> {
    let (mut terms, mut bits) = (Vec::new(), 0);
    for place in data {
        let (first, width) = match place.kind {
            ValueKind::Varbit => (place.slot + 1, length(place.slot).min(place.width)),
            _ => (place.slot, place.width),
        };
        bits += width;
        let up = (16 - bits % 16) as u8 % 16;
        // Limbs are multiples of 16 bits apart.
        let limbs = first..first + width.div_ceil(64);
        terms.extend(limbs.map(|slot| Term { slot, up }));
    }
    terms
}
