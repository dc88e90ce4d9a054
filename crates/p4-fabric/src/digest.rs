//! A whole fabric as one number: fabrics with the same number go on in the same way.
//!
//! Times count from now. Frames, copies and cells are named by when they are first met, not by their
//! numbers, so that two histories which have led to the same place are the same. What a random draw
//! would change is left out: [`Fabric::explore`] refuses parameters that draw.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::fabric::{Event, Fabric};
use crate::slab::{List, NONE};
use crate::state::{Link, Voq};

/// What has been met so far.
struct Names {
    hasher: DefaultHasher,
    frames: Vec<u32>,
    headers: Vec<u32>,
    met: u32,
}

impl Fabric {
    pub(crate) fn digest(&self) -> u64 {
        let mut names = Names {
            hasher: DefaultHasher::new(),
            frames: vec![NONE; self.frames.size()],
            headers: vec![NONE; self.headers.size()],
            met: 0,
        };
        for voq in &self.voqs {
            self.take_voq(voq, &mut names);
        }
        self.deficits.hash(&mut names.hasher);
        self.take_ports(&mut names);
        self.take_leaves(&mut names);
        self.take_spines(&mut names);
        for adapter in &self.adapters {
            let turn = adapter.turn.checked_rem(adapter.flows.len());
            let busy = adapter.busy.saturating_sub(self.now);
            (turn, busy, adapter.paused).hash(&mut names.hasher);
        }
        self.take_events(&mut names);
        self.measures.totals.evicted.hash(&mut names.hasher);
        names.hasher.finish()
    }

    /// A copy: all of it when it is met first, then its name.
    fn take_header(&self, header: u32, names: &mut Names) {
        if header == NONE || names.headers[header as usize] != NONE {
            let name = names.headers.get(header as usize).copied();
            return name.unwrap_or(NONE).hash(&mut names.hasher);
        }
        names.headers[header as usize] = names.met;
        names.met += 1;
        let own = &self.headers[header];
        self.take_frame(own.frame, names);
        (own.voq, own.target, own.place, own.sent, own.arrived).hash(&mut names.hasher);
        (own.granted, own.done, own.acknowledged, own.left).hash(&mut names.hasher);
    }

    fn take_frame(&self, frame: u32, names: &mut Names) {
        let name = names.frames[frame as usize];
        name.hash(&mut names.hasher);
        if name != NONE {
            return;
        }
        names.frames[frame as usize] = names.met;
        names.met += 1;
        let own = &self.frames[frame];
        (own.flow, own.node, own.ready.saturating_sub(self.now)).hash(&mut names.hasher);
        (own.begun, own.made, own.unsent, own.unacked).hash(&mut names.hasher);
        let first = frame as usize * self.stride;
        for row in &self.rows[first..first + own.units as usize] {
            row.left.hash(&mut names.hasher);
        }
    }

    fn take_headers(&self, list: &List, names: &mut Names) {
        let all = list.each(&self.headers);
        all.len().hash(&mut names.hasher);
        for header in all {
            self.take_header(header, names);
        }
    }

    fn take_voq(&self, own: &Voq, names: &mut Names) {
        self.take_headers(&own.list, names);
        self.take_headers(&own.flight, names);
        for header in [own.last_granted, own.first_open, own.next_ask] {
            self.take_header(header, names);
        }
        (own.asked, own.waiting, own.void, own.in_ring).hash(&mut names.hasher);
        (own.granted, own.suspended, own.place).hash(&mut names.hasher);
    }

    fn take_ports(&self, names: &mut Names) {
        let mut turns = vec![1u32; self.ports.len()]; // after so many a port's turns repeat
        let mut count = vec![0u32; self.ports.len()];
        for voq in &self.voqs {
            let port = voq.from as usize;
            count[port] += 1;
            turns[port] = common_multiple(turns[port], count[port]);
        }
        for (port, turns) in self.ports.iter().zip(turns) {
            (&port.sendable, port.turn % turns).hash(&mut names.hasher);
            for entry in port.cam.entries() {
                (entry.voq, entry.cells).hash(&mut names.hasher);
            }
            (port.lossy, port.line_turn).hash(&mut names.hasher);
            self.take_header(port.line, names);
            for pool in &port.pools {
                (pool.payload, pool.headers, pool.stopping).hash(&mut names.hasher);
            }
            for egress in &port.egress {
                (egress.free, egress.stopped).hash(&mut names.hasher);
                egress.arbiter.hash(&mut names.hasher);
                self.take_headers(&egress.queue, names);
            }
        }
    }

    fn take_link(&self, link: &Link, names: &mut Names) {
        let busy = link.busy.saturating_sub(self.now);
        let there = link.returns.iter().filter(|at| **at <= self.now).count() as u32;
        (busy, link.credits + there).hash(&mut names.hasher);
        for at in link.returns.iter().filter(|at| **at > self.now) {
            (at - self.now).hash(&mut names.hasher);
        }
    }

    fn take_cells(&self, list: &List, names: &mut Names) {
        for cell in list.each(&self.cells) {
            self.take_cell(cell, names);
        }
        NONE.hash(&mut names.hasher);
    }

    fn take_cell(&self, cell: u32, names: &mut Names) {
        let own = &self.cells[cell];
        self.take_header(own.copy, names);
        (own.from, own.to, own.link, own.down).hash(&mut names.hasher);
    }

    fn take_leaves(&self, names: &mut Names) {
        for leaf in &self.leaves {
            for row in leaf.cache.rows() {
                let (frame, cell) = (row as usize / self.stride, row as usize % self.stride);
                self.take_frame(frame as u32, names);
                cell.hash(&mut names.hasher);
            }
            leaf.islip.hash(&mut names.hasher);
            for link in &leaf.up {
                self.take_link(link, names);
            }
            for list in leaf.came.iter().flatten() {
                self.take_cells(list, names);
            }
            (leaf.turn, leaf.next_link, leaf.awake).hash(&mut names.hasher);
            let next = (leaf.last + self.parameters.slot).saturating_sub(self.now);
            next.hash(&mut names.hasher);
        }
    }

    fn take_spines(&self, names: &mut Names) {
        for spine in &self.spines {
            spine.islip.hash(&mut names.hasher);
            for list in &spine.queues {
                self.take_cells(list, names);
            }
            for link in &spine.down {
                self.take_link(link, names);
            }
            let next = (spine.last + self.parameters.on_link()).saturating_sub(self.now);
            (spine.awake, next).hash(&mut names.hasher);
        }
    }

    /// All that is on its way. Looks of adapters are void here: frames are offered.
    fn take_events(&self, names: &mut Names) {
        for (time, event) in self.queue.pending() {
            if matches!(event, Event::Sample | Event::Look { .. }) {
                continue;
            }
            (time.picos() - self.now).hash(&mut names.hasher);
            std::mem::discriminant(&event).hash(&mut names.hasher);
            match event {
                Event::Request { voq } | Event::Grant { voq } => voq.hash(&mut names.hasher),
                Event::Timeout { voq, epoch } => {
                    let own = &self.voqs[voq as usize];
                    (voq, own.suspended && own.epoch == epoch).hash(&mut names.hasher);
                }
                Event::Acknowledge { header } | Event::Retransmit { header } => {
                    self.take_header(header, names);
                }
                Event::AtSpine { cell } | Event::AtLeaf { cell } => self.take_cell(cell, names),
                Event::Pause { port, stop } => (port, stop).hash(&mut names.hasher),
                Event::LineFree { port } | Event::Look { port } => port.hash(&mut names.hasher),
                Event::Notify { flow, feedback } => (flow, feedback).hash(&mut names.hasher),
                Event::Timer { flow, epoch } => (flow, epoch).hash(&mut names.hasher),
                Event::Slot { leaf } => leaf.hash(&mut names.hasher),
                Event::SpineSlot { spine } => spine.hash(&mut names.hasher),
                Event::Sample => {}
            }
        }
    }
}

fn common_multiple(a: u32, b: u32) -> u32 {
    let (mut larger, mut smaller) = (a, b);
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    a / larger * b
}
