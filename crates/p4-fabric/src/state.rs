//! What a fabric consists of, as plain data that refers to each other by number.

use p4_net::Rng;
use std::collections::VecDeque;

use crate::arbiter::Drr;
use crate::cam::Cam;
use crate::parameters::Parameters;
use crate::qcn::{Limiter, Point};
use crate::scenario::{Class, Flow, PortId, MOST_LEVELS, PORTS};
use crate::slab::{Linked, List, NONE};

/// Virtual lanes of a class: the sender's, and one for each level of surrogates
pub(crate) const LANES: usize = MOST_LEVELS + 1;
/// Virtual lanes of a port: those of the lossy class first
pub(crate) const VLS: usize = 2 * LANES;

pub(crate) fn vl_of(class: Class, level: usize) -> u8 {
    let first = match class {
        Class::Lossy => 0,
        Class::Lossless => LANES,
    };
    (first + level) as u8
}

pub(crate) fn is_lossless(vl: u8) -> bool {
    usize::from(vl) >= LANES
}

/// Where a port is in its leaf.
#[inline]
pub(crate) fn place_of(port: PortId) -> usize {
    port as usize % PORTS
}

/// The leaf of a port.
#[inline]
pub(crate) fn leaf_of(port: PortId) -> usize {
    port as usize / PORTS
}

/// A frame at a port that makes copies of it.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) flow: u32,
    pub(crate) node: u32,
    /// In its flow
    pub(crate) number: u64,
    /// When its sender began to send it, in ps
    pub(crate) born: u64,
    /// When the whole of it is at the port
    pub(crate) ready: u64,
    pub(crate) bytes: u32,
    pub(crate) units: u32,
    pub(crate) vl: u8,
    pub(crate) port: PortId,
    /// Copies that have begun to be sent, as bits by their place in the node
    pub(crate) begun: u8,
    /// Copies that were made and not dropped
    pub(crate) made: u8,
    /// Copies that have not begun to be sent
    pub(crate) unsent: u8,
    /// Copies that hold on to the payload
    pub(crate) unacked: u8,
}

/// A multicast header: one copy of a frame, to one port, until it is acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) frame: u32,
    pub(crate) voq: u32,
    pub(crate) next: u32,
    /// Place in its node
    pub(crate) place: u8,
    pub(crate) sent: u32,
    /// In its VOQ, once it has begun to be sent
    pub(crate) sequence: u32,
}

impl Linked for Header {
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }

    fn after(&self) -> u32 {
        self.next
    }
}

/// A cell that crosses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) next: u32,
    /// The far end of its VOQ, and the number of the copy there
    pub(crate) end: u32,
    pub(crate) sequence: u32,
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) link: u8,
}

/// What the far end has to know of a copy, once for all of its cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    pub(crate) end: u32,
    pub(crate) sequence: u32,
    pub(crate) arrival: Arrival,
}

impl Linked for Cell {
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }

    fn after(&self) -> u32 {
        self.next
    }
}

/// Copies of a port for one port and virtual lane, in order: the near end.
#[derive(Clone, Debug)]
pub(crate) struct Voq {
    /// In the whole fabric
    pub(crate) number: u32,
    /// The far end, in its leaf
    pub(crate) end: u32,
    pub(crate) from: PortId,
    pub(crate) to: PortId,
    pub(crate) vl: u8,
    pub(crate) remote: bool,
    /// Not sent yet
    pub(crate) list: List,
    pub(crate) queued: u32,
    pub(crate) backlog: u32,
    /// Copies not sent that have credits or will have them, their buffer units, and the first of the
    /// others
    pub(crate) covered: u32,
    pub(crate) covered_units: u32,
    pub(crate) next_ask: u32,
    /// Buffer units at the far end: granted, asked for, and those of both that a dropped copy has left
    pub(crate) credits: u32,
    pub(crate) asked: u32,
    pub(crate) spare: u32,
    /// Of the next copy that begins to be sent
    pub(crate) sequence: u32,
    pub(crate) suspended: bool,
    /// Of the suspension, for its timeout
    pub(crate) epoch: u32,
    /// Place in `Port::sendable`
    pub(crate) place: u32,
    /// Cells that have crossed so far: out of the cache, and from the port's payload interface
    pub(crate) cached: u64,
    pub(crate) direct: u64,
}

impl Voq {
    pub(crate) fn new(number: u32, end: u32, (from, to, vl): (PortId, PortId, u8)) -> Voq {
        Voq {
            number,
            end,
            from,
            to,
            vl,
            remote: leaf_of(from) != leaf_of(to),
            list: List::EMPTY,
            queued: 0,
            backlog: 0,
            covered: 0,
            covered_units: 0,
            next_ask: NONE,
            credits: 0,
            asked: 0,
            spare: 0,
            sequence: 0,
            suspended: false,
            epoch: 0,
            place: NONE,
            cached: 0,
            direct: 0,
        }
    }
}

/// The far end of a VOQ: at its port's arbiter, and where its copies are put in order.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// The leaf and the number there of the near end
    pub(crate) leaf: u16,
    pub(crate) voq: u32,
    pub(crate) to: PortId,
    pub(crate) vl: u8,
    pub(crate) remote: bool,
    /// What was asked for and not granted: buffer units and bytes
    pub(crate) requests: VecDeque<(u32, u32)>,
    pub(crate) in_ring: bool,
    /// The number of the first copy that was not passed on, and that and later ones, as far as
    /// announced
    pub(crate) first: u32,
    pub(crate) coming: VecDeque<Arrival>,
}

impl End {
    /// A copy that was announced and not passed on.
    pub(crate) fn copy(&mut self, sequence: u32) -> Option<&mut Arrival> {
        let at = sequence.wrapping_sub(self.first);
        self.coming.get_mut(at as usize)
    }

    /// Takes the next copy in order out, if all of it is there.
    pub(crate) fn next_whole(&mut self) -> Option<Arrival> {
        let first = *self.coming.front().filter(|first| first.done)?;
        self.coming.pop_front();
        self.first = self.first.wrapping_add(1);
        Some(first)
    }
}

/// A copy at its far end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    /// At the near end
    pub(crate) header: u32,
    /// The receiver's sink, or the node of a surrogate
    pub(crate) target: u32,
    pub(crate) bytes: u32,
    pub(crate) units: u32,
    /// Cells that are there
    pub(crate) arrived: u32,
    /// All of them are, and right
    pub(crate) done: bool,
    pub(crate) number: u64,
    pub(crate) born: u64,
}

/// A cell's payload in a port's memory: the cache line it is in, and copies that have yet to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) line: u32,
    pub(crate) left: u8,
}

/// The egress buffer of a port for a virtual lane.
#[derive(Clone, Debug)]
pub(crate) struct Egress {
    pub(crate) free: u32,
    pub(crate) arbiter: Drr,
    /// Frames that are whole and in order
    pub(crate) queue: VecDeque<Arrival>,
    /// Bytes of them, which QCN looks at
    pub(crate) bytes: u64,
    pub(crate) point: Point,
    /// The ingress side of a surrogate says STOP
    pub(crate) stopped: bool,
}

/// The ingress pool of a port for a virtual lane.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) payload: u32,
    pub(crate) headers: u32,
    /// STOP has been sent
    pub(crate) stopping: bool,
    pub(crate) point: Point,
}

/// A main port of a leaf, both directions.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    /// VOQs that have a granted frame and are not suspended
    pub(crate) sendable: Vec<u32>,
    pub(crate) turn: u32,
    /// Copies to be sent again
    pub(crate) resend: VecDeque<u32>,
    pub(crate) cam: Cam,
    pub(crate) pools: [Pool; VLS],
    /// Payload of the lossy lanes together
    pub(crate) lossy: u32,
    pub(crate) egress: [Egress; VLS],
    /// The copy on the line, if any, and its virtual lane
    pub(crate) line: Option<(Arrival, u8)>,
    pub(crate) line_turn: u8,
    /// Buffer units by flow, for occupancy sampling
    pub(crate) held: Vec<(u32, u32)>,
    pub(crate) most_payload: u32,
}

impl Port {
    pub(crate) fn new(parameters: &Parameters) -> Port {
        let egress = Egress {
            free: parameters.egress_buffer as u32,
            arbiter: Drr::default(),
            queue: VecDeque::new(),
            bytes: 0,
            point: Point::new(parameters.equilibrium_out, parameters),
            stopped: false,
        };
        let pool = Pool {
            payload: 0,
            headers: 0,
            stopping: false,
            point: Point::new(parameters.equilibrium_in, parameters),
        };
        Port {
            sendable: Vec::new(),
            turn: 0,
            resend: VecDeque::new(),
            cam: Cam::new(parameters.sync_entries),
            pools: std::array::from_fn(|_| pool.clone()),
            lossy: 0,
            egress: std::array::from_fn(|_| egress.clone()),
            line: None,
            line_turn: 0,
            held: Vec::new(),
            most_payload: 0,
        }
    }
}

/// One direction of a link between a leaf and a spine, at its sending end.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) busy: u64,
    pub(crate) credits: u32,
    /// When credits that were given back arrive
    pub(crate) returns: VecDeque<u64>,
}

impl Link {
    pub(crate) fn new(credits: u64) -> Link {
        Link {
            busy: 0,
            credits: credits as u32,
            returns: VecDeque::with_capacity(credits as usize),
        }
    }

    /// Whether there is a credit now.
    #[inline]
    pub(crate) fn has_credit(&mut self, now: u64) -> bool {
        while self.returns.front().is_some_and(|at| *at <= now) {
            self.returns.pop_front();
            self.credits += 1;
        }
        self.credits > 0
    }

    /// Sends a cell: when its last bit has left.
    #[inline]
    pub(crate) fn send(&mut self, now: u64, length: u64) -> u64 {
        self.credits -= 1;
        self.busy = self.busy.max(now) + length;
        self.busy
    }
}

/// A port that makes copies of a flow's frames (an entry of its MCBC), with where they go.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) flow: u32,
    pub(crate) bytes: u32,
    pub(crate) port: PortId,
    pub(crate) vl: u8,
    pub(crate) voqs: Vec<u32>,
    /// Sinks, or nodes of surrogates, in their leaves
    pub(crate) targets: Vec<u32>,
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// In the whole fabric
    pub(crate) number: u32,
    pub(crate) flow: Flow,
    pub(crate) root: u32,
    /// When its next frame is there, by its load, and by its limiter
    pub(crate) next: u64,
    pub(crate) allowed: u64,
    /// Frames so far
    pub(crate) sent: u64,
    pub(crate) limiter: Limiter,
    pub(crate) rng: Rng,
}

/// The network adapter of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Adapter {
    pub(crate) sources: Vec<u32>,
    pub(crate) turn: usize,
    pub(crate) busy: u64,
    /// The lossless class is paused
    pub(crate) paused: bool,
    /// When it looks again; a look at another moment is void
    pub(crate) wake: u64,
}
