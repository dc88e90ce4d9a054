//! What a leaf looks like at a moment, for pictures of it.

use crate::fabric::Fabric;
use crate::leaf::{Leaf, Mail};
use crate::scenario::PortId;
use crate::slab::NONE;
use crate::state::{place_of, Port, Voq, VLS};

/// A VOQ of a leaf that has something in it, or has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoqState {
    /// In the whole fabric, as in [`crate::Wait`]
    pub number: u32,
    pub from: PortId,
    pub to: PortId,
    pub lane: u8,
    /// Copies that wait; buffer units of them; copies that were asked for; grants that are here
    pub queued: u32,
    pub backlog: u32,
    pub asked: u32,
    pub granted: u32,
    /// Flow and number of the first copy
    pub first: Option<(u32, u64)>,
    /// Cells of it that have crossed, and all cells of the VOQ so far: out of the cache, and from the
    /// port's payload interface
    pub sent: u32,
    pub cached: u64,
    pub direct: u64,
    pub suspended: bool,
    /// What the sync CAM has for it, if it is there
    pub ahead: Option<u32>,
}

/// A main port of a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortState {
    /// Buffer units in use at its ingress side, headers, and units free at its egress side
    pub payload: u32,
    pub headers: u32,
    pub egress_free: u32,
    /// It has told its server to stop
    pub stopping: bool,
    /// A frame is on its line
    pub busy: bool,
    /// VOQs in its sync CAM, the least recently used first
    pub cam: Vec<u32>,
}

/// One leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafState {
    pub voqs: Vec<VoqState>,
    pub ports: Vec<PortState>,
    /// For each cell in the cache: the flow, the port, the frame's number, the cell, copies to come
    pub cache: Vec<(u32, PortId, u64, u32, u8)>,
    /// Cells that have passed a spine's crossbar and not yet this one
    pub waiting: usize,
    /// Lines that the cache has evicted so far
    pub evicted: u64,
}

/// What a leaf has carried since the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeafLoad {
    /// Cells over its crossbar: within it, into links, out of links
    pub local: u64,
    pub up: u64,
    pub down: u64,
    /// Bytes of frames: to servers, and back into surrogates
    pub delivered: u64,
    pub looped: u64,
    /// Lines that the cache has evicted
    pub evicted: u64,
}

impl Fabric {
    /// What each leaf has carried, and the cells that have crossed each spine.
    pub fn loads(&self) -> (Vec<LeafLoad>, Vec<u64>) {
        let leaves = self.leaves.iter().map(|leaf| leaf.load);
        let spines = self.spines.iter().map(|spine| spine.crossed);
        (leaves.collect(), spines.collect())
    }

    /// The state of a leaf; nothing of one that there is not.
    pub fn snapshot(&self, leaf: usize) -> Option<LeafState> {
        let own = self.leaves.get(leaf)?;
        let voqs = own.voqs.iter().enumerate();
        let voqs = voqs.map(|(at, voq)| own.voq_state(at as u32, voq));
        let coming = self.mail();
        let coming = coming.filter(|(to, _, mail)| *to == leaf && matches!(mail, Mail::Cell(_)));
        Some(LeafState {
            voqs: voqs
                .filter(|voq| voq.queued > 0 || voq.ahead.is_some() || voq.cached + voq.direct > 0)
                .collect(),
            ports: own.ports.iter().map(|port| own.port_state(port)).collect(),
            cache: own.cached(),
            evicted: own.load.evicted,
            waiting: own.cells.live() + coming.count(),
        })
    }
}

impl Leaf {
    fn voq_state(&self, at: u32, voq: &Voq) -> VoqState {
        let entries = self.ports[place_of(voq.from)].cam.entries();
        let entry = entries.iter().find(|one| one.voq == at);
        let first = self.first_of(voq.list.first);
        VoqState {
            number: voq.number,
            from: voq.from,
            to: voq.to,
            lane: voq.vl,
            queued: voq.queued,
            backlog: voq.backlog,
            asked: voq.covered,
            granted: self.credited(voq).len() as u32,
            first: first.map(|(flow, number, _)| (flow, number)),
            sent: first.map_or(0, |(_, _, sent)| sent),
            cached: voq.cached,
            direct: voq.direct,
            suspended: voq.suspended,
            ahead: entry.map(|one| one.cells),
        }
    }

    fn port_state(&self, port: &Port) -> PortState {
        let entries = port.cam.entries().iter();
        PortState {
            payload: port.pools.iter().map(|pool| pool.payload).sum(),
            headers: port.pools.iter().map(|pool| pool.headers).sum(),
            egress_free: (0..VLS).map(|vl| port.egress[vl].free).min().unwrap_or(0),
            stopping: port.pools.iter().any(|pool| pool.stopping),
            busy: port.line.is_some(),
            cam: entries
                .map(|one| self.voqs[one.voq as usize].number)
                .collect(),
        }
    }

    /// What is in the cache: flow, port, number of the frame, cell, copies to come.
    fn cached(&self) -> Vec<(u32, PortId, u64, u32, u8)> {
        let rows = self.cache.rows().map(|row| {
            let (frame, cell) = (row as usize / self.stride, row as usize % self.stride);
            let frame = &self.frames[frame as u32];
            let left = self.rows[row as usize].left;
            (frame.flow, frame.port, frame.number, cell as u32, left)
        });
        rows.collect()
    }

    /// Copies of a VOQ whose credits are here, in order.
    pub(crate) fn credited(&self, voq: &Voq) -> Vec<u32> {
        let mut left = voq.credits;
        let mut found = Vec::new();
        for header in voq.list.each(&self.headers) {
            let units = self.frames[self.headers[header].frame].units;
            if units > left || found.len() == voq.covered as usize {
                break;
            }
            left -= units;
            found.push(header);
        }
        found
    }

    /// Flow and number of a copy's frame, and its cells that have crossed.
    fn first_of(&self, header: u32) -> Option<(u32, u64, u32)> {
        if header == NONE {
            return None;
        }
        let own = &self.headers[header];
        let frame = &self.frames[own.frame];
        Some((frame.flow, frame.number, own.sent))
    }
}
