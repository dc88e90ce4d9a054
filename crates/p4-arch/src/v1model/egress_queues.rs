//! Egress queues with rates: packets that leave later than they came.
//!
//! As in simple_switch, each port has one queue for each priority, a queue holds a number of
//! packets and lets so many out per second, and the largest priority whose turn has come goes first.
//! A queue without a rate never holds anything, as nothing takes time in the switch itself.

use super::queue::{Copy, Wait};
use crate::Port;
use p4_time::Time;
use std::collections::{BTreeMap, VecDeque};

/// Priorities of `standard_metadata.priority`, which has three bits
pub(super) const PRIORITIES: u8 = 8;

/// Packets that a queue holds unless it is told otherwise, as in simple_switch
const DEFAULT_DEPTH: u64 = 64;

/// Picoseconds in a second
const SECOND: u64 = 1_000_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    /// Packets
    depth: u64,
    /// Packets per second; 0 for no limit
    rate: u64,
}

#[derive(Debug, Default)]
struct Queue {
    /// With the moment at which each may leave
    packets: VecDeque<(Time, Box<Copy>)>,
    /// When the last packet that came leaves
    last: Option<Time>,
}

/// What becomes of a packet that is to be queued
pub(super) enum Queued {
    MayLeave(Box<Copy>),
    Waits,
    Full(Box<Copy>),
}

#[derive(Debug)]
#[repr(C)] // what every packet looks at comes first
pub(super) struct EgressQueues {
    /// Some queue has a rate.
    pub limited: bool,
    queues: BTreeMap<(Port, u8), Queue>,
    all: Limits,
    /// Of single queues
    own: BTreeMap<(Port, u8), Limits>,
}

impl Default for EgressQueues {
    fn default() -> EgressQueues {
        let all = Limits {
            depth: DEFAULT_DEPTH,
            rate: 0,
        };
        EgressQueues {
            all,
            own: BTreeMap::new(),
            queues: BTreeMap::new(),
            limited: false,
        }
    }
}

impl EgressQueues {
    fn limits(&self, port: Port, priority: u8) -> Limits {
        self.own.get(&(port, priority)).copied().unwrap_or(self.all)
    }

    fn change(&mut self, port: Option<Port>, priority: Option<u8>, set: impl Fn(&mut Limits)) {
        match port {
            None => {
                set(&mut self.all);
                self.own.values_mut().for_each(set);
            }
            Some(port) => {
                let all = self.all;
                let priorities = priority.map_or(0..PRIORITIES, |p| p..p + 1);
                for priority in priorities {
                    set(self.own.entry((port, priority)).or_insert(all));
                }
            }
        }
        let own = self.own.values().any(|limits| limits.rate > 0);
        self.limited = own || self.all.rate > 0;
    }

    /// Packets that queues may hold.
    pub fn set_depth(&mut self, port: Option<Port>, priority: Option<u8>, depth: u64) {
        self.change(port, priority, |limits| limits.depth = depth);
    }

    /// Packets per second that queues let out; 0 for no limit.
    pub fn set_rate(&mut self, port: Option<Port>, priority: Option<u8>, rate: u64) {
        self.change(port, priority, |limits| limits.rate = rate);
    }

    /// The limits of `old`, but not its packets.
    pub fn keep_limits(&mut self, old: &EgressQueues) {
        self.all = old.all;
        self.own = old.own.clone();
        self.limited = old.limited;
    }

    /// Packets that wait at a port
    fn depth(&self, port: Port) -> u64 {
        let queues = self.queues.range((port, 0)..=(port, u8::MAX));
        queues.map(|(_, queue)| queue.packets.len() as u64).sum()
    }

    /// Takes a packet in, unless it may leave at once or its queue is full.
    pub fn enqueue(&mut self, now: Time, mut copy: Box<Copy>) -> Queued {
        let (port, priority) = (copy.port, copy.priority);
        let limits = self.limits(port, priority);
        copy.wait = Wait {
            enqueued: now,
            depth_before: self.depth(port),
            depth_after: 0,
        };
        let queue = self.queues.entry((port, priority)).or_default();
        if queue.packets.len() as u64 >= limits.depth {
            return Queued::Full(copy);
        }
        let turn = match (SECOND.checked_div(limits.rate), queue.last) {
            (Some(gap), Some(last)) => now.max(Time::from_picos(last.picos().saturating_add(gap))),
            _ => now,
        };
        queue.last = Some(turn);
        if turn <= now && queue.packets.is_empty() {
            copy.wait.depth_after = copy.wait.depth_before;
            return Queued::MayLeave(copy);
        }
        queue.packets.push_back((turn, copy));
        Queued::Waits
    }

    /// The packet whose turn is next, not after `until`, and the moment of it.
    pub fn leave(&mut self, until: Time) -> Option<(Time, Box<Copy>)> {
        let (time, key) = self.next()?;
        if time > until {
            return None;
        }
        let (_, mut copy) = self.queues.get_mut(&key)?.packets.pop_front()?;
        copy.wait.depth_after = self.depth(key.0);
        Some((time, copy))
    }

    /// When a packet leaves next
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        self.next().map(|(time, _)| time)
    }

    #[inline]
    fn next(&self) -> Option<(Time, (Port, u8))> {
        // Of most switches no packet ever waits.
        if self.queues.is_empty() {
            return None;
        }
        let first = |(key, queue): (&(Port, u8), &Queue)| {
            let (time, _) = queue.packets.front()?;
            Some((*time, *key))
        };
        let firsts = self.queues.iter().filter_map(first);
        firsts.min_by_key(|(time, (port, priority))| (*time, *port, u8::MAX - priority))
    }
}
