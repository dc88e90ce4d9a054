//! Packets as they begin on their segments: from outside, from a queue, or once more.

use super::queue::{restore, Again, Copy, Instance, Origin, Wait};
use super::stages::{given, told, Start};
use super::switch::Switch;
use crate::segments::Travel;
use crate::tree::{Follow, Kind};
use crate::{Port, Sink};
use p4_ir::interp::errors;
use p4_ir::trace::Tracer;
use p4_time::Time;

/// Words given with a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given {
    pub ingress_port: Port,
    pub now: Time,
    pub port: Port,
    pub rid: u16,
    pub wait: Wait,
}

impl Given {
    /// In the order of [`given`].
    #[inline]
    pub fn write(&self, kept: &[u64], words: &mut Vec<u64>) {
        let now = self.now.micros();
        let enqueued = match self.wait.enqueued == self.now {
            true => now,
            false => self.wait.enqueued.micros(),
        };
        words.resize(given::KEPT, 0);
        let own = words.as_mut_slice();
        own[given::INGRESS_PORT] = self.ingress_port.into();
        own[given::NOW] = now;
        own[given::PORT] = self.port.into();
        own[given::RID] = self.rid.into();
        own[given::ENQUEUED] = enqueued;
        own[given::WAITED] = now.saturating_sub(enqueued);
        own[given::DEPTH_BEFORE] = self.wait.depth_before;
        own[given::DEPTH_AFTER] = self.wait.depth_after;
        own[given::ERROR] = errors::NO_ERROR.into();
        own[given::TOLD..].fill(0);
        words.extend_from_slice(kept);
    }
}

impl Switch {
    /// A packet from outside.
    pub(super) fn arrive<F: Follow>(
        &mut self,
        port: Port,
        data: &[u8],
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        self.load::<F>(data);
        for (slot, n) in &self.core.image.user_metadata {
            let prepared = &self.core.image.prepared;
            self.carrier.machine.undefine(prepared, *slot, *n);
        }
        let id = follow.born(None, Kind::Original, 0, Some(port));
        let packet = Instance {
            id,
            ingress_port: port,
            passes: 0,
            bytes: data.len() as u64,
        };
        self.give(packet, &[]);
        self.walk(Start::Arrival, packet, out, follow);
    }

    /// A packet that was resubmitted or recirculated.
    pub(super) fn ingress_of<F: Follow>(
        &mut self,
        again: Box<Again>,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        follow.resume(again.instance.id);
        self.load::<F>(&again.bytes);
        let mut packet = again.instance;
        packet.bytes = again.bytes.len() as u64;
        self.give(packet, &again.kept.words);
        let start = again.start();
        self.core.queues.done_again(again);
        self.walk(start, packet, out, follow);
    }

    /// A packet on its way out, from a queue.
    pub(super) fn egress_of<F: Follow>(
        &mut self,
        copy: Box<Copy>,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        follow.resume(copy.instance.id);
        if let Some(forked) = copy.fork.as_ref().filter(|_| !F::Tracer::ON) {
            if self.goes_on(forked, &copy, out) {
                return self.core.queues.done_copy(copy);
            }
        }
        self.egress_by_blocks(copy, out, follow);
    }

    /// The same for a packet that has no path.
    pub(super) fn egress_by_blocks<F: Follow>(
        &mut self,
        mut copy: Box<Copy>,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        self.load::<F>(&copy.bytes);
        if let Some(forked) = copy.fork.take() {
            forked
                .fork
                .restore(&copy.carried, &mut self.carrier.machine);
        } else if copy.origin != Origin::IngressClone {
            let machine = &mut self.carrier.machine;
            machine.packet.set_cursor(copy.cursor);
            restore(&self.core.image.carried, &copy.carried, &mut machine.frame);
            machine.put_undefined(&copy.unset);
            machine.length_delta = copy.length as i64 - machine.packet.length() as i64;
        }
        let given = copy.given(self.core.now, self.core.held.limited);
        let words = &mut self.carrier.given;
        given.write(&copy.kept.words, words);
        words[given::TOLD + told::PORT] = copy.port.into();
        words[given::TOLD + told::PRIORITY] = copy.priority.into();
        let mut travel = self.travel(copy.start(), copy.instance);
        travel.truncate = copy.truncate;
        self.core.queues.done_copy(copy);
        self.carrier.carry(&mut self.core, travel, out, follow);
    }

    fn load<F: Follow>(&mut self, data: &[u8]) {
        let prepared = &self.core.image.prepared;
        self.carrier.load::<F>(prepared, data);
    }

    fn give(&mut self, packet: Instance, kept: &[u64]) {
        let given = Given {
            ingress_port: packet.ingress_port,
            now: self.core.now,
            ..Given::default()
        };
        let given = given.at_once();
        given.write(kept, &mut self.carrier.given);
    }

    fn travel(&self, start: Start, packet: Instance) -> Travel<Instance> {
        Travel::new(self.core.stages().index(start), packet)
    }

    fn walk<F: Follow>(
        &mut self,
        start: Start,
        packet: Instance,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        let travel = self.travel(start, packet);
        self.carrier.carry(&mut self.core, travel, out, follow);
    }
}

impl Given {
    /// For a packet that has waited nowhere.
    #[inline]
    pub fn at_once(mut self) -> Given {
        self.wait = Wait {
            enqueued: self.now,
            ..Wait::default()
        };
        self
    }
}

impl Copy {
    /// What is given with it; `limited` says that queues hold packets back.
    pub fn given(&self, now: Time, limited: bool) -> Given {
        let given = Given {
            ingress_port: self.instance.ingress_port,
            now,
            port: self.port,
            rid: self.rid,
            wait: self.wait,
        };
        match limited {
            true => given,
            false => given.at_once(),
        }
    }
}
