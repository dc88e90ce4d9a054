//! What a fabric consists of, as plain data that refers to each other by number.

use p4_net::Rng;
use std::collections::VecDeque;

use crate::arbiter::{Drr, Islip, Mask};
use crate::cache::Cache;
use crate::cam::Cam;
use crate::parameters::Parameters;
use crate::qcn::{Limiter, Point};
use crate::scenario::{Class, Flow, PortId, MOST_LEVELS, PORTS};
use crate::slab::{Linked, List, NONE};
use crate::snapshot::LeafLoad;

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
    pub(crate) bytes: u64,
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
    /// Copies that still refer to this
    pub(crate) uses: u8,
}

/// A multicast header: one copy of a frame, to one port.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) frame: u32,
    pub(crate) voq: u32,
    pub(crate) next: u32,
    /// The receiver's sink, or the node of a surrogate
    pub(crate) target: u32,
    /// Place in its node
    pub(crate) place: u8,
    pub(crate) sent: u32,
    pub(crate) arrived: u32,
    /// The credits were taken from the egress buffer
    pub(crate) granted: bool,
    /// All cells are there, and right
    pub(crate) done: bool,
    /// Both must have happened before the number is free: its sender knows, and it has left the far end
    pub(crate) acknowledged: bool,
    pub(crate) left: bool,
}

impl Linked for Header {
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }

    fn after(&self) -> u32 {
        self.next
    }
}

/// A cell between two leaves.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) copy: u32,
    pub(crate) next: u32,
    pub(crate) from: u16,
    pub(crate) to: u16,
    pub(crate) link: u8,
    /// Past the spine's crossbar
    pub(crate) down: bool,
}

impl Linked for Cell {
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }

    fn after(&self) -> u32 {
        self.next
    }
}

/// Copies of a port for one port and virtual lane, in order.
#[derive(Clone, Debug)]
pub(crate) struct Voq {
    pub(crate) from: PortId,
    pub(crate) to: PortId,
    pub(crate) vl: u8,
    pub(crate) remote: bool,
    /// Not sent yet
    pub(crate) list: List,
    pub(crate) queued: u32,
    pub(crate) backlog: u32,
    /// The last copy whose credits are taken, and the first whose are not
    pub(crate) last_granted: u32,
    pub(crate) first_open: u32,
    /// Copies not sent for which a request was made, their buffer units, and the first of the others
    pub(crate) asked: u32,
    pub(crate) asked_units: u32,
    pub(crate) next_ask: u32,
    /// Requests at the arbiter; requests on the way that no longer count
    pub(crate) waiting: u32,
    pub(crate) void: u32,
    pub(crate) in_ring: bool,
    /// Grants that are here
    pub(crate) granted: u32,
    /// Sent, and not yet passed on in order at the far end
    pub(crate) flight: List,
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
    pub(crate) fn new(from: PortId, to: PortId, vl: u8) -> Voq {
        Voq {
            from,
            to,
            vl,
            remote: from as usize / PORTS != to as usize / PORTS,
            list: List::EMPTY,
            queued: 0,
            backlog: 0,
            last_granted: NONE,
            first_open: NONE,
            asked: 0,
            asked_units: 0,
            next_ask: NONE,
            waiting: 0,
            void: 0,
            in_ring: false,
            granted: 0,
            flight: List::EMPTY,
            suspended: false,
            epoch: 0,
            place: NONE,
            cached: 0,
            direct: 0,
        }
    }
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
    pub(crate) queue: List,
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
    /// The copy on the line, if any
    pub(crate) line: u32,
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
            queue: List::EMPTY,
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
            line: NONE,
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

/// A leaf's crossbar and its links up.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) cache: Cache,
    pub(crate) islip: Islip,
    pub(crate) up: Vec<Link>,
    /// Cells from the spines, by lane of the crossbar and port
    pub(crate) came: [[List; PORTS]; PORTS],
    /// Lanes with cells for a port
    pub(crate) lanes: [Mask; PORTS],
    pub(crate) turn: u32,
    pub(crate) next_link: usize,
    /// A slot is in the event queue
    pub(crate) awake: bool,
    /// When the last slot began
    pub(crate) last: u64,
    pub(crate) rng: Rng,
    pub(crate) load: LeafLoad,
}

/// An input-queued cell switch; its ports are leaves.
#[derive(Clone, Debug)]
pub(crate) struct Spine {
    pub(crate) islip: Islip,
    /// By input x leaves + output
    pub(crate) queues: Vec<List>,
    pub(crate) wants: Vec<Mask>,
    /// Outputs that some input wants
    pub(crate) active: Mask,
    pub(crate) down: Vec<Link>,
    pub(crate) awake: bool,
    pub(crate) last: u64,
    /// Cells that have crossed so far
    pub(crate) crossed: u64,
}

/// A port that makes copies of a flow's frames (an entry of its MCBC), with where they go.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) port: PortId,
    pub(crate) vl: u8,
    pub(crate) voqs: Vec<u32>,
    pub(crate) targets: Vec<u32>,
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) flow: Flow,
    pub(crate) root: u32,
    /// When its next frame is there, by its load, and by its limiter
    pub(crate) next: u64,
    pub(crate) allowed: u64,
    pub(crate) number: u64,
    pub(crate) limiter: Limiter,
    pub(crate) rng: Rng,
}

/// The network adapter of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Adapter {
    pub(crate) flows: Vec<u32>,
    pub(crate) turn: usize,
    pub(crate) busy: u64,
    /// The lossless class is paused
    pub(crate) paused: bool,
    /// When it looks again; a look at another moment is void
    pub(crate) wake: u64,
}
