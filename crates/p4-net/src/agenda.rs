//! What will happen when: a radix heap, keyed by time and then by the order of arrangement.
//!
//! Time never goes back, so what is to come can be sorted by the highest digit in which its moment
//! differs from the present one (Ahuja, Mehlhorn, Orlin and Tarjan, JACM 1990), and by the value of
//! that digit. An entry moves to a lower digit a few times before its moment comes; a binary heap of
//! thousands of entries would miss the cache at each of its levels. Buckets are lists through one
//! array, so that what is used again and again is as small as the number of entries.

use p4_time::Time;

use crate::pool::FrameId;

/// Something that happens at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Happening {
    /// The wire has become free for the next queued frame. Void if the wire's epoch has moved on.
    Free { wire: u32, epoch: u32 },
    /// The oldest frame in flight reaches the far end. Void if the wire's epoch has moved on.
    Arrival { wire: u32, epoch: u32 },
    /// A traffic source sends its next frame.
    Emission { source: u32 },
    /// A frame that waited in a switch leaves.
    Departure { node: u32 },
    /// A link goes down or comes up.
    Link { link: u32, up: bool },
    /// A host sends one prepared frame.
    Single { node: u32, frame: FrameId },
    /// An end of a transfer runs by itself. Void unless this is when it last wanted to.
    Alarm { node: u32, endpoint: u32 },
    /// A host's card can take the next segment.
    Card { node: u32 },
}

/// What an event queue holds.
pub trait Ranked {
    /// Of the events of one moment those of a lower rank come first, and those of one rank in the order
    /// in which they were arranged.
    #[inline]
    fn rank(&self) -> u32 {
        0
    }
}

/// The only place that says what comes first at a moment: links that go down or up, then frames that
/// arrive, by the number of their wire, then what nodes do by themselves, in the order in which that
/// was arranged. So what a node sees
/// depends on the node and its cables alone, not on what the rest of the network did in between.
impl Ranked for Happening {
    #[inline]
    fn rank(&self) -> u32 {
        match self {
            Happening::Link { .. } => 0,
            Happening::Arrival { wire, .. } => *wire + 1,
            _ => u32::MAX,
        }
    }
}

/// Bits of a digit: as many slots as a word has bits, to find the first used one at once.
const DIGIT: u32 = 6;
const SLOTS: usize = 1 << DIGIT;
const DIGITS: usize = u64::BITS.div_ceil(DIGIT) as usize;

/// Not an index of an entry
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry<T> {
    time: u64,
    what: T,
    next: u32,
}

/// Entries one after the other, by their indices.
#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: List = List {
        first: NONE,
        last: NONE,
    };

    #[inline]
    fn append<T>(&mut self, id: u32, entries: &mut [Entry<T>]) {
        match self.first {
            NONE => self.first = id,
            _ => entries[self.last as usize].next = id,
        }
        self.last = id;
    }
}

/// The network's own queue
pub(crate) type Agenda = EventQueue<Happening>;

/// Two events at the same picosecond come by their ranks ([`Ranked`]), and in the order in which they
/// were arranged; this is what makes a run repeatable.
#[derive(Clone)]
pub struct EventQueue<T> {
    present: u64,
    /// What happens at `present`, in its order
    due: List,
    /// What happens later, by the highest digit in which its moment differs from `present`, and by the
    /// value of that digit
    later: Box<[[List; SLOTS]; DIGITS]>,
    /// A bit for each slot that is not empty
    slots: [u64; DIGITS],
    /// A bit for each digit with such a slot
    digits: u32,
    /// The first moment of all that is later, once somebody has looked
    soonest: Option<u64>,
    entries: Vec<Entry<T>>,
    /// Entries that may be used again
    free: u32,
    /// Entries of one moment and their ranks, while they are sorted
    sorting: Vec<(u32, u32)>,
}

impl<T> Default for EventQueue<T> {
    fn default() -> EventQueue<T> {
        EventQueue {
            present: 0,
            due: List::EMPTY,
            later: Box::new([[List::EMPTY; SLOTS]; DIGITS]),
            slots: [0; DIGITS],
            digits: 0,
            soonest: None,
            entries: Vec::new(),
            free: NONE,
            sorting: Vec::new(),
        }
    }
}

impl<T: Copy + Ranked> EventQueue<T> {
    /// What is arranged for a moment before the last one that was popped happens at that one.
    #[inline]
    pub fn arrange(&mut self, time: Time, what: T) {
        let time = time.picos();
        let id = self.keep(Entry {
            time,
            what,
            next: NONE,
        });
        if time <= self.present {
            return self.put_due(id);
        }
        self.put(time, id);
        if let Some(soonest) = &mut self.soonest {
            *soonest = time.min(*soonest);
        }
    }

    /// At its place among those that are due, which is behind its equals.
    fn put_due(&mut self, id: u32) {
        let rank = self.rank(id);
        if self.due.first == NONE || self.rank(self.due.last) <= rank {
            return self.due.append(id, &mut self.entries);
        }
        let (mut before, mut after) = (NONE, self.due.first);
        while self.rank(after) <= rank {
            before = after;
            after = self.entries[after as usize].next;
        }
        self.entries[id as usize].next = after;
        match before {
            NONE => self.due.first = id,
            _ => self.entries[before as usize].next = id,
        }
    }

    #[inline]
    fn rank(&self, id: u32) -> u32 {
        self.entries[id as usize].what.rank()
    }

    #[inline]
    fn keep(&mut self, entry: Entry<T>) -> u32 {
        let id = self.free;
        match self.entries.get_mut(id as usize) {
            Some(own) => {
                self.free = own.next;
                *own = entry;
                id
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        }
    }

    /// `time` is after the present.
    #[inline]
    fn put(&mut self, time: u64, id: u32) {
        let digit = (time ^ self.present).ilog2() / DIGIT;
        let slot = (time >> (digit * DIGIT)) as usize % SLOTS;
        self.later[digit as usize][slot].append(id, &mut self.entries);
        self.slots[digit as usize] |= 1 << slot;
        self.digits |= 1 << digit;
    }

    /// The slot in which the first of all that is later is.
    #[inline]
    fn lowest(&self) -> Option<(usize, usize)> {
        let digit = self.digits.trailing_zeros() as usize;
        let slots = self.slots.get(digit)?;
        Some((digit, slots.trailing_zeros() as usize))
    }

    fn first_moment(&self) -> Option<u64> {
        if self.soonest.is_some() {
            return self.soonest;
        }
        let (digit, slot) = self.lowest()?;
        let mut id = self.later[digit][slot].first;
        let mut first = u64::MAX;
        while let Some(entry) = self.entries.get(id as usize) {
            first = first.min(entry.time);
            id = entry.next;
        }
        Some(first)
    }

    /// When the next event is.
    pub fn next_time(&self) -> Option<Time> {
        let next = match self.due.first {
            NONE => self.first_moment(),
            _ => Some(self.present),
        };
        next.map(Time::from_picos)
    }

    /// All that is arranged, in the order in which it will happen.
    pub fn pending(&self) -> Vec<(Time, T)> {
        let mut found = Vec::new();
        for list in std::iter::once(&self.due).chain(self.later.iter().flatten()) {
            let mut id = list.first;
            while let Some(entry) = self.entries.get(id as usize) {
                found.push((Time::from_picos(entry.time.max(self.present)), entry.what));
                id = entry.next;
            }
        }
        // A stable sort: all of one moment are in one list.
        found.sort_by_key(|(time, what)| (*time, what.rank()));
        found
    }

    /// What happens next, if it does until `end`.
    #[inline]
    pub fn pop(&mut self, end: Time) -> Option<(Time, T)> {
        if self.due.first == NONE {
            self.advance(end.picos())?;
        } else if self.present > end.picos() {
            return None;
        }
        let id = self.due.first;
        let entry = self.entries.get_mut(id as usize)?;
        self.due.first = entry.next;
        entry.next = self.free;
        self.free = id;
        Some((Time::from_picos(self.present), entry.what))
    }

    /// Makes the first moment of all that is later the present one, if it is not after `end`. Entries
    /// keep their order: all of one moment are in one slot at any time.
    fn advance(&mut self, end: u64) -> Option<()> {
        self.soonest = self.first_moment();
        let soonest = self.soonest.filter(|soonest| *soonest <= end)?;
        let (digit, slot) = self.lowest()?;
        let list = std::mem::replace(&mut self.later[digit][slot], List::EMPTY);
        self.slots[digit] &= !(1 << slot);
        if self.slots[digit] == 0 {
            self.digits &= !(1 << digit);
        }
        self.present = soonest;
        self.soonest = None;
        let mut id = list.first;
        while let Some(entry) = self.entries.get_mut(id as usize) {
            let (time, next) = (entry.time, entry.next);
            entry.next = NONE;
            match time == soonest {
                true => self.due.append(id, &mut self.entries),
                false => self.put(time, id),
            }
            id = next;
        }
        self.sort_due();
        Some(())
    }

    /// By rank; entries of one rank keep their order.
    #[inline]
    fn sort_due(&mut self) {
        if self.due.first == self.due.last {
            return;
        }
        let mut sorting = std::mem::take(&mut self.sorting);
        let mut id = self.due.first;
        while let Some(entry) = self.entries.get(id as usize) {
            sorting.push((entry.what.rank(), id));
            id = entry.next;
        }
        if !sorting.is_sorted_by_key(|one| one.0) {
            sorting.sort_by_key(|one| one.0);
            self.due = List::EMPTY;
            for &(_, id) in &sorting {
                self.entries[id as usize].next = NONE;
                self.due.append(id, &mut self.entries);
            }
        }
        sorting.clear();
        self.sorting = sorting;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    proptest! {
        // If this fails things happen at wrong times, or in another order from run to run.
        #[test]
        fn agrees_with_a_heap(steps in prop::collection::vec((0u32..50, any::<u64>(), 0usize..4), 1..300)) {
            let mut agenda = Agenda::default();
            let mut heap = BinaryHeap::new();
            let mut now = 0u64;
            for (number, (shift, distance, pops)) in steps.into_iter().enumerate() {
                // Many at the same moments, some very far away; arrivals at a few wires, and the rest
                let time = now.saturating_add((distance >> (14 + shift)) & !3);
                let epoch = number as u32;
                let (what, rank) = match distance % 3 {
                    0 => (Happening::Emission { source: epoch }, u32::MAX),
                    _ => {
                        let wire = (distance / 3 % 4) as u32;
                        (Happening::Arrival { wire, epoch }, wire + 1)
                    }
                };
                agenda.arrange(Time::from_picos(time), what);
                heap.push(Reverse((time, rank, epoch)));
                prop_assert_eq!(
                    agenda.next_time().map(Time::picos),
                    heap.peek().map(|Reverse(first)| first.0)
                );
                let mut all: Vec<_> = heap.iter().map(|Reverse(one)| *one).collect();
                all.sort_unstable();
                let pending = agenda.pending();
                let pending = pending.iter().map(|(time, what)| (time.picos(), what.rank()));
                prop_assert!(pending.eq(all.iter().map(|one| (one.0, one.1))));
                let end = now.saturating_add(distance >> 34);
                for _ in 0..pops {
                    let expected = heap.peek().filter(|Reverse(first)| first.0 <= end).copied();
                    let popped = agenda.pop(Time::from_picos(end));
                    let expected = expected.map(|Reverse((time, rank, epoch))| {
                        heap.pop();
                        now = time;
                        let what = match rank {
                            u32::MAX => Happening::Emission { source: epoch },
                            rank => Happening::Arrival {
                                wire: rank - 1,
                                epoch,
                            },
                        };
                        (Time::from_picos(time), what)
                    });
                    prop_assert_eq!(popped, expected);
                }
            }
        }
    }

    #[test]
    fn the_last_moment_comes() {
        let mut agenda = Agenda::default();
        agenda.arrange(Time::MAX, Happening::Emission { source: 1 });
        agenda.arrange(Time::ZERO, Happening::Emission { source: 2 });
        let all: Vec<_> = std::iter::from_fn(|| agenda.pop(Time::MAX)).collect();
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].0, all[1].0), (Time::ZERO, Time::MAX));
        assert_eq!(agenda.next_time(), None);
    }
}
