//! What a leaf looks like at a moment, for pictures of it.

use crate::fabric::Fabric;
use crate::scenario::{PortId, PORTS};
use crate::slab::NONE;
use crate::state::VLS;

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
    /// Cells that have passed a spine and not yet this crossbar
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
        let here = |port: PortId| port as usize / PORTS == leaf;
        let voqs = self
            .voqs
            .iter()
            .enumerate()
            .filter(|(_, voq)| here(voq.from));
        let voqs = voqs.map(|(number, voq)| {
            let cam = &self.ports[voq.from as usize].cam;
            let entry = cam.entries().iter().find(|one| one.voq as usize == number);
            let first = self.first_of(voq.list.first);
            VoqState {
                number: number as u32,
                from: voq.from,
                to: voq.to,
                lane: voq.vl,
                queued: voq.queued,
                backlog: voq.backlog,
                asked: voq.asked,
                granted: voq.granted,
                first: first.map(|(flow, number, _)| (flow, number)),
                sent: first.map_or(0, |(_, _, sent)| sent),
                cached: voq.cached,
                direct: voq.direct,
                suspended: voq.suspended,
                ahead: entry.map(|one| one.cells),
            }
        });
        let ports = self.ports[leaf * PORTS..][..PORTS]
            .iter()
            .map(|port| PortState {
                payload: port.pools.iter().map(|pool| pool.payload).sum(),
                headers: port.pools.iter().map(|pool| pool.headers).sum(),
                egress_free: (0..VLS).map(|vl| port.egress[vl].free).min().unwrap_or(0),
                stopping: port.pools.iter().any(|pool| pool.stopping),
                busy: port.line != NONE,
                cam: port.cam.entries().iter().map(|one| one.voq).collect(),
            });
        let cache = own.cache.rows().map(|row| {
            let (frame, cell) = (row as usize / self.stride, row as usize % self.stride);
            let frame = &self.frames[frame as u32];
            let left = self.rows[row as usize].left;
            (frame.flow, frame.port, frame.number, cell as u32, left)
        });
        let waits = |cell: &&crate::state::Cell| cell.down && usize::from(cell.to) == leaf;
        Some(LeafState {
            voqs: voqs
                .filter(|voq| voq.queued > 0 || voq.ahead.is_some() || voq.cached + voq.direct > 0)
                .collect(),
            ports: ports.collect(),
            cache: cache.collect(),
            evicted: own.load.evicted,
            waiting: self
                .cells
                .iter()
                .map(|(_, cell)| cell)
                .filter(waits)
                .count(),
        })
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
