//! What an architecture does between its blocks, as data.
//!
//! A [`Segment`] is what a packet meets from one queue or parser to where it ends or waits: blocks, and glue
//! operations before the first and after each of them. An architecture says its rules in them once. It
//! executes them itself, between blocks that are interpreted or native, and a native back end compiles
//! them into fast paths ([`crate::paths`]), so there is no second copy of a rule.
//!
//! A glue operation moves words, or says when something happens to the packet: an [`Event`]. What an event
//! is (a copy, a drop, a departure) only the architecture knows.

use crate::ir::{Pc, Slot};

/// Blocks that packets meet one after the other, and what is done around them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Segment {
    /// First instructions of the blocks
    pub blocks: Vec<Pc>,
    /// What is done before the first block
    pub before: Vec<Glue>,
    /// What is done after each block
    pub after: Vec<Vec<Glue>>,
    /// Words that are told of each packet
    pub told: usize,
    /// The words that go with a request that names one of these numbers
    pub lists: Vec<(u64, Vec<(Slot, u32)>)>,
    /// Of segments for fast paths alone: what packets meet that are made from one on this segment
    pub copies: Vec<Copies>,
}

/// Packets that go on from an event as the packet on the segment is then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Copies {
    pub event: u8,
    /// The number that the request for the event names
    pub list: Option<u64>,
    /// The words that they keep
    pub regions: Vec<(Slot, u32)>,
    /// Words that are given with them besides
    pub given: usize,
    pub segment: Segment,
}

/// An operation between blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Glue {
    /// Puts a value, cut by `mask`, into a slot.
    Set {
        slot: Slot,
        mask: u64,
        source: Source,
    },
    /// Makes words zero.
    Clear {
        slot: Slot,
        n: u32,
    },
    /// Tells the word as the given one of a packet's told words.
    Tell {
        index: usize,
        slot: Slot,
    },
    /// Tests see what the blocks up to here have asked for since the last time; what is asked for
    /// later, they see after the next.
    Take,
    Event(Event),
    /// Of segments for fast paths alone: packets for which not all hold have left before.
    Guard(Tests),
}

/// All of them must hold.
pub type Tests = [Test; 3];

/// Something happens to the packet if all tests hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The architecture's number of it
    pub id: u8,
    pub tests: Tests,
    /// The packet goes no further on its segment.
    pub ends: bool,
}

/// Whether something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    Always,
    /// These bits of the word are the value.
    Is {
        slot: Slot,
        mask: u64,
        value: u64,
    },
    /// They are not.
    Not {
        slot: Slot,
        mask: u64,
        value: u64,
    },
    /// The program has asked for something of this kind.
    Asked(u8),
    /// It has not.
    Unasked(u8),
    /// Others are to go first. On a fast path they do, and the packet goes on.
    Busy,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    Number(u64),
    /// One of the words given with the packet
    Given(usize),
    /// One of the told words; zero if it has not been told
    Told(usize),
    /// The packet's length in bytes with what `setValid` and `setInvalid` have changed
    Length,
    /// The error that ended the parser; nothing is put if it found no state to go on with.
    Error,
}

impl Segment {
    /// What is done after so many blocks.
    #[inline]
    pub fn glue(&self, blocks: usize) -> &[Glue] {
        match blocks.checked_sub(1) {
            None => &self.before,
            Some(last) => self.after.get(last).map_or(&[], Vec::as_slice),
        }
    }
}
