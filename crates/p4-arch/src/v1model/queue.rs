//! Packets that wait inside the switch, and their reused memory.

use super::fast::Ending;
use super::stages::Start;
use crate::frame::Region;
use crate::segments::Code;
use crate::Port;
use p4_ir::ir::Slot;
use p4_ir::paths::Fork;
use p4_time::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// Buffers kept for reuse; one burst of copies must not hold its memory for ever.
const MAX_FREE: usize = 64;

/// How a packet on its way out came to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Origin {
    IngressClone,
    EgressClone,
    Replica,
    #[default]
    Unicast,
}

/// A packet on its way out: the result of ingress, or a clone.
#[derive(Debug, Default)]
pub(super) struct Copy {
    pub instance: Instance,
    pub origin: Origin,
    pub port: Port,
    pub rid: u16,
    /// Bytes as the last parse saw them
    pub bytes: Vec<u8>,
    /// Bits of them that the parser consumed
    pub cursor: usize,
    /// Headers and metadata; an ingress clone has none and is parsed again.
    pub carried: Vec<u64>,
    /// Where it goes on if it was made on a path; then `carried` are the words kept there.
    pub fork: Option<Forked>,
    /// The words of them without a value, if the switch shows what is undefined
    pub unset: Vec<Slot>,
    pub kept: Kept,
    /// Value of `packet_length` in egress
    pub length: u64,
    pub truncate: Option<u32>,
    /// Of the queues at its port; the larger goes first.
    pub priority: u8,
    pub wait: Wait,
}

/// A place on a path from which a packet goes on.
#[derive(Clone, Debug)]
pub(super) struct Forked {
    pub code: Arc<Code<Ending>>,
    pub fork: Arc<Fork>,
}

/// How long a packet waited in an egress queue, and with how many others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wait {
    pub enqueued: Time,
    /// Packets at the port before it came
    pub depth_before: u64,
    /// Packets at the port after it left
    pub depth_after: u64,
}

/// A packet on its way back to the parser.
#[derive(Debug, Default)]
pub(super) struct Again {
    pub instance: Instance,
    pub recirculated: bool,
    pub bytes: Vec<u8>,
    pub kept: Kept,
}

/// What stays with a packet through all its passes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Instance {
    /// Number in the trace
    pub id: u32,
    /// Where the packet arrived
    pub ingress_port: Port,
    /// How often it has been resubmitted or recirculated
    pub passes: u32,
    /// Bytes of the packet at the start of the pass, which counters and meters count
    pub bytes: u64,
}

/// The fields of a field list.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub list: Option<u32>,
    pub words: Vec<u64>,
}

pub(super) enum Waiting {
    Egress(Box<Copy>),
    Ingress(Box<Again>),
}

#[derive(Debug, Default)]
#[repr(C, align(64))] // whether there are any is in one line of the cache
pub(super) struct Queues {
    egress: VecDeque<Box<Copy>>,
    ingress: VecDeque<Box<Again>>,
    // They are large to be moved about.
    #[allow(clippy::vec_box)]
    free_copies: Vec<Box<Copy>>,
    #[allow(clippy::vec_box)]
    free_again: Vec<Box<Again>>,
}

impl Copy {
    pub fn start(&self) -> Start {
        let list = self.kept.list;
        match self.origin {
            Origin::IngressClone => Start::IngressClone(list),
            Origin::EgressClone => Start::EgressClone(list),
            Origin::Replica => Start::Replica,
            Origin::Unicast => Start::Unicast,
        }
    }
}

impl Again {
    pub fn start(&self) -> Start {
        match self.recirculated {
            true => Start::Recirculated(self.kept.list),
            false => Start::Resubmitted(self.kept.list),
        }
    }
}

impl Queues {
    pub fn next(&mut self) -> Option<Waiting> {
        let copy = self.egress.pop_front().map(Waiting::Egress);
        copy.or_else(|| self.ingress.pop_front().map(Waiting::Ingress))
    }

    /// Nothing waits to leave.
    pub fn nothing_leaves(&self) -> bool {
        self.egress.is_empty()
    }

    /// The next packet on its way out
    pub fn next_copy(&mut self) -> Option<Box<Copy>> {
        self.egress.pop_front()
    }

    /// The next packet on its way back, if none leaves before it.
    pub fn next_again(&mut self) -> Option<Box<Again>> {
        match self.egress.is_empty() {
            true => self.ingress.pop_front(),
            false => None,
        }
    }

    /// Puts back what [`Queues::next_again`] gave.
    pub fn put_back(&mut self, again: Box<Again>) {
        self.ingress.push_front(again);
    }

    /// A copy to be filled; its buffers are empty.
    pub fn blank_copy(&mut self) -> Box<Copy> {
        self.free_copies.pop().unwrap_or_default()
    }

    pub fn blank_again(&mut self) -> Box<Again> {
        self.free_again.pop().unwrap_or_default()
    }

    pub fn queue_for_egress(&mut self, copy: Box<Copy>) {
        self.egress.push_back(copy);
    }

    pub fn queue_for_ingress(&mut self, again: Box<Again>) {
        self.ingress.push_back(again);
    }

    pub fn done_copy(&mut self, mut copy: Box<Copy>) {
        copy.bytes.clear();
        copy.carried.clear();
        copy.unset.clear();
        copy.fork = None;
        copy.kept.clear();
        if self.free_copies.len() < MAX_FREE {
            self.free_copies.push(copy);
        }
    }

    pub fn done_again(&mut self, mut again: Box<Again>) {
        again.bytes.clear();
        again.kept.clear();
        if self.free_again.len() < MAX_FREE {
            self.free_again.push(again);
        }
    }
}

impl Kept {
    fn clear(&mut self) {
        self.list = None;
        self.words.clear();
    }
}

/// Appends the words of the regions.
pub(super) fn save(regions: &[Region], frame: &[u64], words: &mut Vec<u64>) {
    for (start, n) in regions {
        words.extend_from_slice(&frame[*start as usize..][..*n as usize]);
    }
}

/// Puts back what [`save`] took.
pub(super) fn restore(regions: &[Region], words: &[u64], frame: &mut [u64]) {
    let mut rest = words;
    for (start, n) in regions {
        let (own, after) = rest.split_at((*n as usize).min(rest.len()));
        frame[*start as usize..][..own.len()].copy_from_slice(own);
        rest = after;
    }
}
