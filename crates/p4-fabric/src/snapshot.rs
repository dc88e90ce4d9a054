//! What a leaf looks like at a moment, for pictures of it.

use crate::fabric::Fabric;
use crate::scenario::{PortId, PORTS};
use crate::slab::NONE;
use crate::state::VLS;

/// A VOQ of a leaf with something in it, or ahead of its siblings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoqState {
    pub from: PortId,
    pub to: PortId,
    pub lane: u8,
    /// Copies that wait; buffer units of them; grants that are here
    pub queued: u32,
    pub backlog: u32,
    pub granted: u32,
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
}

/// One leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafState {
    pub voqs: Vec<VoqState>,
    pub ports: Vec<PortState>,
    /// For each cell in the cache: the flow, the port, the frame's number, the cell, copies to come
    pub cache: Vec<(u32, PortId, u64, u32, u8)>,
    /// Cells that wait for the crossbar after a spine
    pub waiting: usize,
}

impl Fabric {
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
            VoqState {
                from: voq.from,
                to: voq.to,
                lane: voq.vl,
                queued: voq.queued,
                backlog: voq.backlog,
                granted: voq.granted,
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
                .filter(|voq| voq.queued > 0 || voq.ahead.is_some())
                .collect(),
            ports: ports.collect(),
            cache: cache.collect(),
            waiting: self
                .cells
                .iter()
                .map(|(_, cell)| cell)
                .filter(waits)
                .count(),
        })
    }
}
