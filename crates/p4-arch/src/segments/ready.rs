//! Glue made ready to be executed: operations of one kind that follow each other become one loop, in
//! which every word is found by one number, so that hardly a branch depends on the rules.

use super::{given, Requests};
use p4_ir::glue::{Event, Glue, Source, Test};
use p4_ir::ir::Slot;

/// Where a word is: an index into the words given with a packet, or a slot of the frame.
#[derive(Clone, Copy, Debug)]
struct Word(u32);

const OF_FRAME: u32 = 1 << 31;

#[derive(Clone, Copy, Debug)]
struct Move {
    to: Slot,
    from: Word,
    /// Added by `or`; all else of a number is zero.
    number: u64,
    mask: u64,
}

/// Holds if the bits of the word are the value, or if they are not.
#[derive(Clone, Copy, Debug)]
struct Check {
    word: Word,
    mask: u64,
    value: u64,
    holds_if: bool,
}

#[derive(Clone, Debug)]
enum Part {
    Moves(Vec<Move>),
    Clear(Slot, u32),
    /// The words, and their indices among those given
    Tells(Vec<(Word, usize)>),
    Take,
    Events(Vec<([Check; 3], Event)>),
}

/// Glue between two blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Ready(Vec<Part>);

/// The next thing to be done of some glue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Next {
    part: usize,
    /// Of a part that is events
    event: usize,
}

/// What glue reads and writes besides the frame.
pub(super) struct Words<'a> {
    /// By the indices of [`given`]
    pub given: &'a mut [u64],
    pub requests: &'a mut Requests,
    pub asked: &'a mut Requests,
    /// Bytes that the packet is cut to when sent
    pub truncate: &'a mut Option<u32>,
}

impl Word {
    #[inline]
    fn get(self, given: &[u64], frame: &[u64]) -> u64 {
        match self.0 & OF_FRAME {
            0 => given[self.0 as usize],
            _ => frame[(self.0 & !OF_FRAME) as usize],
        }
    }
}

impl Check {
    #[inline]
    fn holds(&self, given: &[u64], frame: &[u64]) -> bool {
        (self.word.get(given, frame) & self.mask == self.value) == self.holds_if
    }
}

impl Ready {
    /// Told words are from index `told` of those given on.
    pub fn new(glue: &[Glue], told: usize) -> Ready {
        let mut parts = Vec::new();
        for operation in glue {
            match (*operation, parts.last_mut()) {
                (Glue::Set { slot, mask, source }, Some(Part::Moves(moves))) => {
                    moves.push(moved(slot, mask, source, told));
                }
                (Glue::Set { slot, mask, source }, _) => {
                    parts.push(Part::Moves(vec![moved(slot, mask, source, told)]));
                }
                (Glue::Tell { index, slot }, Some(Part::Tells(tells))) => {
                    tells.push((Word(slot | OF_FRAME), told + index));
                }
                (Glue::Tell { index, slot }, _) => {
                    parts.push(Part::Tells(vec![(Word(slot | OF_FRAME), told + index)]));
                }
                (Glue::Event(event), Some(Part::Events(events))) => {
                    events.push((event.tests.map(check), event));
                }
                (Glue::Event(event), _) => {
                    parts.push(Part::Events(vec![(event.tests.map(check), event)]));
                }
                (Glue::Clear { slot, n }, _) => parts.push(Part::Clear(slot, n)),
                (Glue::Take, _) => parts.push(Part::Take),
                // Whoever is here has not left before.
                (Glue::Guard(_), _) => {}
            }
        }
        Ready(parts)
    }

    /// There is nothing to do.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does all up to an event that happens, which is next then. The lists of `words` are as long as the
    /// rules take them to be.
    #[inline]
    pub fn run(&self, next: &mut Next, words: &mut Words<'_>, frame: &mut [u64]) -> Option<Event> {
        while let Some(part) = self.0.get(next.part) {
            match part {
                Part::Moves(moves) => {
                    for own in moves {
                        let word = own.from.get(words.given, frame) | own.number;
                        frame[own.to as usize] = word & own.mask;
                    }
                }
                Part::Clear(slot, n) => frame[*slot as usize..][..*n as usize].fill(0),
                Part::Tells(tells) => {
                    for (from, index) in tells {
                        words.given[*index] = from.get(words.given, frame);
                    }
                }
                Part::Take => words.take(),
                Part::Events(events) => {
                    for (index, (checks, event)) in events.iter().enumerate().skip(next.event) {
                        let given = &*words.given;
                        if checks.iter().all(|check| check.holds(given, frame)) {
                            next.event = index;
                            return Some(*event);
                        }
                    }
                    next.event = 0;
                }
            }
            next.part += 1;
        }
        *next = Next::default();
        None
    }
}

impl Next {
    /// The event that is next has happened.
    pub fn happened(&mut self) {
        self.event += 1;
    }
}

impl Words<'_> {
    #[inline]
    fn take(&mut self) {
        self.asked.take(self.requests);
        let limits = self.truncate.iter().chain(&self.asked.truncate);
        *self.truncate = limits.min().copied();
        let busy = self.given[given::FLAGS] & BUSY;
        self.given[given::FLAGS] = busy | u64::from(self.asked.made());
    }

    /// Sets what changes from block to block.
    #[inline]
    pub fn renew(&mut self, length: u64, is_busy: bool) {
        self.given[given::LENGTH] = length;
        let made = u64::from(self.asked.made());
        self.given[given::FLAGS] = made | if is_busy { BUSY } else { 0 };
    }
}

/// Of [`given::FLAGS`], above a bit for each kind of request
const BUSY: u64 = 1 << 8;

fn moved(to: Slot, mask: u64, source: Source, told: usize) -> Move {
    let (from, number) = match source {
        Source::Number(number) => (given::ZERO as u32, number),
        Source::Given(index) => (index as u32, 0),
        Source::Told(index) => ((told + index) as u32, 0),
        Source::Length => (given::LENGTH as u32, 0),
        Source::Error => (given::ERROR as u32, 0),
    };
    Move {
        to,
        from: Word(from),
        number,
        mask,
    }
}

fn check(test: Test) -> Check {
    let (word, mask, value, holds_if) = match test {
        Test::Always => (given::ZERO as u32, 0, 0, true),
        Test::Is { slot, mask, value } => (slot | OF_FRAME, mask, value, true),
        Test::Not { slot, mask, value } => (slot | OF_FRAME, mask, value, false),
        Test::Asked(kind) => (given::FLAGS as u32, 1 << kind, 0, false),
        Test::Unasked(kind) => (given::FLAGS as u32, 1 << kind, 0, true),
        Test::Busy => (given::FLAGS as u32, BUSY, 0, false),
    };
    Check {
        word: Word(word),
        mask,
        value,
        holds_if,
    }
}
