//! What will happen when: one heap, keyed by time and then by the order of arrangement.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use p4_time::Time;

use crate::pool::FrameId;

/// Something that happens at a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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
#[derive(Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(Time, u64, Happening)>>,
    arranged: u64,
}

impl Agenda {
    pub(crate) fn arrange(&mut self, time: Time, what: Happening) {
        self.heap.push(Reverse((time, self.arranged, what)));
        self.arranged += 1;
    }

    pub(crate) fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((time, _, _))| *time)
    }

    pub(crate) fn pop(&mut self) -> Option<(Time, Happening)> {
        self.heap.pop().map(|Reverse((time, _, what))| (time, what))
    }
}
