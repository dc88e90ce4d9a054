//! A whole fabric as one number: fabrics with the same number go on in the same way.
//!
//! Times count from now. Frames, copies and cells are named by when they are first met, not by their
//! numbers, so that two histories which have led to the same place are the same. What a random draw
//! would change is left out: [`Fabric::explore`] refuses parameters that draw.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::fabric::Fabric;
use crate::leaf::{Event, Leaf, Mail, Note};
use crate::slab::{List, NONE};
use crate::spine::Spine;
use crate::state::{leaf_of, place_of, Arrival, Cell, Link, Voq};

/// What has been met so far, in all leaves or in one.
struct Names<'a> {
    fabric: &'a Fabric,
    hasher: DefaultHasher,
    /// By leaf
    frames: Vec<Vec<u32>>,
    headers: Vec<Vec<u32>>,
    met: u32,
}

impl Fabric {
    pub(crate) fn digest(&self) -> u64 {
        let blank = |size: usize| vec![NONE; size];
        let leaves = || self.leaves.iter();
        let mut names = Names {
            fabric: self,
            hasher: DefaultHasher::new(),
            frames: leaves().map(|leaf| blank(leaf.frames.size())).collect(),
            headers: leaves().map(|leaf| blank(leaf.headers.size())).collect(),
            met: 0,
        };
        for leaf in &self.leaves {
            for voq in &leaf.voqs {
                names.voq(leaf, voq);
            }
        }
        for leaf in &self.leaves {
            names.ends(leaf);
            names.ports(leaf);
            names.crossbar(leaf);
            names.adapters(leaf);
            names.events(leaf);
        }
        self.spines.iter().for_each(|spine| names.spine(spine));
        for (to, time, mail) in self.mail() {
            (to, time.picos() - self.now).hash(&mut names.hasher);
            match mail {
                Mail::Note(note) => names.note(to, note),
                Mail::Cell(cell) => names.cell(&cell),
            }
        }
        self.totals().evicted.hash(&mut names.hasher);
        names.hasher.finish()
    }
}

impl Names<'_> {
    /// A copy: all of it when it is met first, then its name.
    fn header(&mut self, leaf: &Leaf, header: u32) {
        let names = &mut self.headers[usize::from(leaf.number)];
        let name = names.get(header as usize).copied();
        if header == NONE || name != Some(NONE) {
            return name.unwrap_or(NONE).hash(&mut self.hasher);
        }
        names[header as usize] = self.met;
        self.met += 1;
        let own = &leaf.headers[header];
        self.frame(leaf, own.frame);
        (own.voq, own.place, own.sent).hash(&mut self.hasher);
        if own.sent > 0 {
            let voq = &leaf.voqs[own.voq as usize];
            let end = &self.fabric.leaves[leaf_of(voq.to)].ends[voq.end as usize];
            own.sequence.wrapping_sub(end.first).hash(&mut self.hasher);
        }
    }

    fn frame(&mut self, leaf: &Leaf, frame: u32) {
        let names = &mut self.frames[usize::from(leaf.number)];
        let name = names[frame as usize];
        name.hash(&mut self.hasher);
        if name != NONE {
            return;
        }
        names[frame as usize] = self.met;
        self.met += 1;
        let own = &leaf.frames[frame];
        let ready = own.ready.saturating_sub(self.fabric.now);
        (own.flow, own.node, ready).hash(&mut self.hasher);
        (own.begun, own.made, own.unsent, own.unacked).hash(&mut self.hasher);
        let first = frame as usize * leaf.stride;
        for row in &leaf.rows[first..first + own.units as usize] {
            row.left.hash(&mut self.hasher);
        }
    }

    fn voq(&mut self, leaf: &Leaf, own: &Voq) {
        let all = own.list.each(&leaf.headers);
        all.len().hash(&mut self.hasher);
        for header in all {
            self.header(leaf, header);
        }
        self.header(leaf, own.next_ask);
        (own.covered, own.credits, own.asked, own.spare).hash(&mut self.hasher);
        (own.suspended, own.place).hash(&mut self.hasher);
    }

    fn ends(&mut self, leaf: &Leaf) {
        for end in &leaf.ends {
            (&end.requests, end.in_ring, end.coming.len()).hash(&mut self.hasher);
            for arrival in &end.coming {
                self.arrival(arrival);
            }
            let near = &self.fabric.leaves[usize::from(end.leaf)].voqs[end.voq as usize];
            let open = near.sequence.wrapping_sub(end.first);
            open.hash(&mut self.hasher);
        }
        leaf.deficits.hash(&mut self.hasher);
    }

    fn arrival(&mut self, own: &Arrival) {
        (own.target, own.units, own.arrived, own.done).hash(&mut self.hasher);
    }

    fn ports(&mut self, leaf: &Leaf) {
        let mut turns = vec![1u32; leaf.ports.len()]; // after so many a port's turns repeat
        let mut count = vec![0u32; leaf.ports.len()];
        for voq in &leaf.voqs {
            let port = place_of(voq.from);
            count[port] += 1;
            turns[port] = common_multiple(turns[port], count[port]);
        }
        for (port, turns) in leaf.ports.iter().zip(turns) {
            (&port.sendable, port.turn % turns).hash(&mut self.hasher);
            for entry in port.cam.entries() {
                (entry.voq, entry.cells).hash(&mut self.hasher);
            }
            (port.lossy, port.line_turn).hash(&mut self.hasher);
            port.line.is_some().hash(&mut self.hasher);
            if let Some((arrival, vl)) = &port.line {
                vl.hash(&mut self.hasher);
                self.arrival(arrival);
            }
            for pool in &port.pools {
                (pool.payload, pool.headers, pool.stopping).hash(&mut self.hasher);
            }
            for egress in &port.egress {
                (egress.free, egress.stopped).hash(&mut self.hasher);
                egress.arbiter.hash(&mut self.hasher);
                egress.queue.len().hash(&mut self.hasher);
                for arrival in &egress.queue {
                    self.arrival(arrival);
                }
            }
        }
    }

    fn link(&mut self, link: &Link) {
        let now = self.fabric.now;
        let busy = link.busy.saturating_sub(now);
        let there = link.returns.iter().filter(|at| **at <= now).count() as u32;
        (busy, link.credits + there).hash(&mut self.hasher);
        for at in link.returns.iter().filter(|at| **at > now) {
            (at - now).hash(&mut self.hasher);
        }
    }

    fn cells(&mut self, list: &List, slab: &crate::slab::Slab<Cell>) {
        for cell in list.each(slab) {
            self.cell(&slab[cell]);
        }
        NONE.hash(&mut self.hasher);
    }

    /// Its copy is not whole at the far end, so that its header is there.
    fn cell(&mut self, own: &Cell) {
        let far = &self.fabric.leaves[usize::from(own.to)].ends[own.end as usize];
        let at = own.sequence.wrapping_sub(far.first);
        if let Some(arrival) = far.coming.get(at as usize) {
            let near = &self.fabric.leaves[usize::from(own.from)];
            self.header(near, arrival.header);
        }
        (own.from, own.to, own.link).hash(&mut self.hasher);
    }

    fn crossbar(&mut self, leaf: &Leaf) {
        for row in leaf.cache.rows() {
            let (frame, cell) = (row as usize / leaf.stride, row as usize % leaf.stride);
            self.frame(leaf, frame as u32);
            cell.hash(&mut self.hasher);
        }
        leaf.islip.hash(&mut self.hasher);
        for link in &leaf.up {
            self.link(link);
        }
        for list in leaf.came.iter().flatten() {
            self.cells(list, &leaf.cells);
        }
        (leaf.turn, leaf.next_link, leaf.awake).hash(&mut self.hasher);
        let next = (leaf.last + leaf.parameters.slot).saturating_sub(self.fabric.now);
        next.hash(&mut self.hasher);
    }

    fn spine(&mut self, spine: &Spine) {
        spine.islip.hash(&mut self.hasher);
        for list in &spine.queues {
            self.cells(list, &spine.cells);
        }
        for link in &spine.down {
            self.link(link);
        }
        let next = (spine.last + spine.period()).saturating_sub(self.fabric.now);
        let slot = spine.slot.map(|slot| slot.picos() - self.fabric.now);
        (slot, next).hash(&mut self.hasher);
    }

    fn adapters(&mut self, leaf: &Leaf) {
        for adapter in &leaf.adapters {
            let turn = adapter.turn.checked_rem(adapter.sources.len());
            let busy = adapter.busy.saturating_sub(self.fabric.now);
            (turn, busy, adapter.paused).hash(&mut self.hasher);
        }
    }

    /// All that is to happen at a leaf. Looks of adapters are void here: frames are offered.
    fn events(&mut self, leaf: &Leaf) {
        for (time, event) in leaf.queue.pending() {
            if matches!(event, Event::Sample | Event::Look { .. }) {
                continue;
            }
            (time.picos() - self.fabric.now).hash(&mut self.hasher);
            std::mem::discriminant(&event).hash(&mut self.hasher);
            match event {
                Event::Told(note) => self.note(usize::from(leaf.number), note),
                Event::Timeout { voq, epoch } => {
                    let own = &leaf.voqs[voq as usize];
                    (voq, own.suspended && own.epoch == epoch).hash(&mut self.hasher);
                }
                Event::Pause { place, stop } => (place, stop).hash(&mut self.hasher),
                Event::LineFree { place } => place.hash(&mut self.hasher),
                Event::Timer { source, epoch } => (source, epoch).hash(&mut self.hasher),
                Event::Look { .. } | Event::Slot | Event::Sample => {}
            }
        }
    }

    /// A note for a leaf.
    fn note(&mut self, leaf: usize, note: Note) {
        std::mem::discriminant(&note).hash(&mut self.hasher);
        match note {
            Note::Request { end, units, .. } | Note::Return { end, units } => {
                (end, units).hash(&mut self.hasher);
            }
            Note::Grant { voq, units } => (voq, units).hash(&mut self.hasher),
            Note::Acknowledge { header } | Note::Retransmit { header } => {
                self.header(&self.fabric.leaves[leaf], header);
            }
            Note::Notify { source, feedback } => (source, feedback).hash(&mut self.hasher),
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
