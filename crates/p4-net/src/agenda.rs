//! What will happen when: a radix heap, keyed by time and then by the order of arrangement.
//!
//! Time never goes back, so what is to come can be sorted by the highest bit in which its moment differs
//! from the present one (Ahuja, Mehlhorn, Orlin and Tarjan, JACM 1990). An entry moves to a lower
//! bucket a few times before its moment comes, each time beside its neighbours in memory; a binary heap of
//! thousands of entries would miss the cache at each of its levels.

use std::collections::VecDeque;

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
}

/// Two happenings at the same picosecond come in the order in which they were arranged; this is what
/// makes a run repeatable.
pub(crate) struct Agenda {
    present: u64,
    /// What happens at `present`
    due: VecDeque<Happening>,
    /// What happens later, by the highest bit in which its moment differs from `present`
    later: [Vec<(u64, Happening)>; 64],
    /// A bit for each bucket that is not empty
    used: u64,
    /// The first moment of all that is later
    soonest: Option<u64>,
}

impl Default for Agenda {
    fn default() -> Agenda {
        Agenda {
            present: 0,
            due: VecDeque::new(),
            later: std::array::from_fn(|_| Vec::new()),
            used: 0,
            soonest: None,
        }
    }
}

impl Agenda {
    /// What is arranged for a moment before the last one that was popped happens at that one.
    pub(crate) fn arrange(&mut self, time: Time, what: Happening) {
        let time = time.picos();
        if time <= self.present {
            return self.due.push_back(what);
        }
        self.put(time, what);
        self.soonest = Some(self.soonest.map_or(time, |soonest| soonest.min(time)));
    }

    fn put(&mut self, time: u64, what: Happening) {
        let bucket = (time ^ self.present).ilog2();
        self.later[bucket as usize].push((time, what));
        self.used |= 1 << bucket;
    }

    pub(crate) fn next_time(&self) -> Option<Time> {
        let next = match self.due.is_empty() {
            true => self.soonest,
            false => Some(self.present),
        };
        next.map(Time::from_picos)
    }

    /// What happens next, if it does until `end`.
    pub(crate) fn pop(&mut self, end: Time) -> Option<(Time, Happening)> {
        if self.due.is_empty() {
            let soonest = self.soonest.filter(|time| *time <= end.picos())?;
            self.advance(soonest);
        }
        let time = Time::from_picos(self.present);
        if time > end {
            return None;
        }
        Some((time, self.due.pop_front()?))
    }

    /// Makes the first moment of the lowest bucket the present one. Entries keep their order: all of one
    /// moment are in one bucket at any time.
    fn advance(&mut self, soonest: u64) {
        let lowest = self.used.trailing_zeros() as usize;
        self.present = soonest;
        self.used &= !(1 << lowest);
        let mut bucket = std::mem::take(&mut self.later[lowest]);
        let mut first = None;
        for (time, what) in bucket.drain(..) {
            if time == soonest {
                self.due.push_back(what);
            } else {
                self.put(time, what);
                first = Some(first.map_or(time, |first: u64| first.min(time)));
            }
        }
        self.later[lowest] = bucket;
        self.soonest = first.or_else(|| {
            let bucket = self.later.get(self.used.trailing_zeros() as usize)?;
            bucket.iter().map(|(time, _)| *time).min()
        });
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
                // Many at the same moments, some very far away
                let time = now.saturating_add((distance >> (14 + shift)) & !3);
                let source = number as u32;
                agenda.arrange(Time::from_picos(time), Happening::Emission { source });
                heap.push(Reverse((time, source)));
                prop_assert_eq!(
                    agenda.next_time().map(Time::picos),
                    heap.peek().map(|Reverse((time, _))| *time)
                );
                let end = now.saturating_add(distance >> 34);
                for _ in 0..pops {
                    let expected = heap.peek().filter(|Reverse((time, _))| *time <= end).copied();
                    let popped = agenda.pop(Time::from_picos(end));
                    let expected = expected.map(|Reverse((time, source))| {
                        heap.pop();
                        now = time;
                        (Time::from_picos(time), Happening::Emission { source })
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
