//! What happens to packets between blocks: clones, copies of groups, drops, rounds, departures. When each
//! happens is in `stages.rs`. A packet on a fast path meets the same events as any other.

use super::externs::{Externs, Running};
use super::fast::Ending;
use super::image::Image;
use super::queue::{save, Copy, Forked, Instance, Origin, Queues};
use super::stages::{block, given, told, Event, Stages};
use super::switch::Config;
use crate::frame::Field;
use crate::segments::{length, Architecture, Asked, Carrier, Code, Open, Travel};
use crate::stats::{Drop, Stop};
use crate::tree::{Fate, Follow, Kind};
use crate::{Digest, Port, Sink};
use p4_ir::glue;
use p4_ir::interp::{errors, Halt, Machine, Outcome};
use p4_ir::ir::CallId;
use p4_ir::paths::Fork;
use p4_ir::trace::Tracer;
use p4_state::{CloneSession, Replica};
use p4_syntax::span::Span;
use p4_time::Time;
use std::collections::VecDeque;
use std::sync::Arc;

use super::egress_queues::EgressQueues;

/// Digests kept until somebody takes them.
const MAX_DIGESTS: usize = 4096;

/// Session ids have 15 bits in simple_switch.
const SESSIONS: u64 = 0x7fff;

/// What the packets of a switch share, whatever carries them. What all of them need comes first.
#[repr(C, align(64))]
pub(crate) struct Core {
    pub now: Time,
    /// Packets that the arriving packet has become so far
    pub packets: u32,
    pub image: Arc<Image>,
    pub stopped: Option<Box<Stop>>,
    pub held: EgressQueues,
    pub queues: Queues,
    pub externs: Externs,
    pub config: Config,
    pub digests: VecDeque<Digest>,
    /// Fields kept for a packet made from the one under way
    pub kept: Vec<u64>,
}

/// A packet to which something happens.
pub(super) struct At<'a> {
    pub packet: Instance,
    pub told: &'a [u64],
    /// Bytes it is cut to when sent
    pub truncate: Option<u32>,
    /// As its last parser saw it
    pub bytes: &'a [u8],
    /// As its deparser has made it, with its payload
    pub output: &'a [u8],
    /// The request for what happens, if it takes one, and the fields of its list
    pub asked: Asked,
    pub kept: &'a [u64],
    /// Its headers and metadata; unknown on a fast path
    pub machine: Option<&'a Machine>,
    /// On a fast path, where others go on from here
    pub fork: Option<(&'a Arc<Code<Ending>>, &'a Arc<Fork>)>,
}

impl Architecture for Core {
    type Packet = Instance;
    type Host<'a> = Running<'a>;

    #[inline]
    fn open(&mut self, segment: usize) -> Open<'_, Running<'_>> {
        let (image, externs) = (&*self.image, &mut self.externs);
        Open {
            prepared: &image.prepared,
            stage: image.stages(self.config.bmv2_compat).stage(segment),
            host: Running::new(image, externs),
        }
    }

    /// Or queues hold packets back.
    #[inline]
    fn is_busy(&self) -> bool {
        !self.queues.nothing_leaves() || self.held.limited
    }

    /// simple_switch has something to look for after each block.
    fn runs_one_by_one(&self) -> bool {
        self.config.bmv2_compat
    }

    #[inline]
    fn begin(&mut self, packet: &Instance) {
        self.externs.begin(self.now.picos(), packet.bytes);
    }

    /// An error ends the parser, and the packet goes on.
    #[inline]
    fn ended<F: Follow>(
        &mut self,
        carrier: &mut Carrier,
        _: &Instance,
        block: u32,
        outcome: Outcome,
        _: &mut F,
    ) -> Result<(), Drop> {
        let is_plain = !self.config.bmv2_compat && self.externs.stop.is_none();
        if is_plain && outcome == Outcome::Done {
            return Ok(());
        }
        if block == block::PARSER {
            let error = match outcome {
                Outcome::Done | Outcome::Halted(_) => errors::NO_ERROR.into(),
                Outcome::Rejected { error } if error == errors::UNMATCHED => {
                    let field = self.image.standard.parser_error;
                    Field::get(field, &carrier.machine.frame)
                }
                Outcome::Rejected { error } => error.into(),
                Outcome::OutOfFuel => errors::PARSER_TIMEOUT.into(),
            };
            carrier.given[given::ERROR] = error;
            return Ok(());
        }
        if self.config.bmv2_compat && carrier.machine.out_of_stack {
            let span = Span::NONE;
            self.externs.stop = Some(Stop::OutOfRange { span });
        }
        if self.externs.stop.is_some() {
            return Err(self.halted());
        }
        match outcome {
            Outcome::Done | Outcome::Rejected { .. } => Ok(()),
            Outcome::OutOfFuel => Err(Drop::OutOfFuel),
            Outcome::Halted(Halt::Call(_)) => Err(self.halted()),
            Outcome::Halted(Halt::Trap(_)) => Err(Drop::IllFormed),
        }
    }

    fn happens<F: Follow>(
        &mut self,
        event: glue::Event,
        carrier: &mut Carrier,
        travel: &Travel<Instance>,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        let asked = travel.request(&event);
        let Carrier { machine, given, .. } = carrier;
        // Lent for as long as it happens
        let mut kept = std::mem::take(&mut self.kept);
        self.image.save_list(asked.list, &machine.frame, &mut kept);
        let event = Event::numbered(event.id);
        if event.is_of_deparsed() {
            machine.packet.append_payload();
        }
        let at = At {
            packet: travel.packet,
            told: &given[given::TOLD..given::KEPT],
            truncate: travel.truncate,
            bytes: machine.packet.bytes(),
            output: machine.packet.output(),
            asked,
            kept: &kept,
            machine: Some(machine),
            fork: None,
        };
        self.happen(event, &at, out, follow);
        self.kept = kept;
    }

    fn dropped<F: Follow>(&mut self, reason: Drop, follow: &mut F) {
        self.externs.stats.count_drop(reason);
        follow.dropped(reason);
    }
}

impl Core {
    #[inline]
    pub fn stages(&self) -> &Stages {
        self.image.stages(self.config.bmv2_compat)
    }

    pub fn happen<F: Follow>(
        &mut self,
        event: Event,
        at: &At<'_>,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        match event {
            Event::IngressClone => self.clone(at, Origin::IngressClone, follow),
            Event::EgressClone => self.clone(at, Origin::EgressClone, follow),
            Event::Digest => self.keep_digest(at.asked.word as CallId),
            Event::Resubmit | Event::Recirculate => self.send_back(event, at, follow),
            Event::IngressDrop => self.dropped(Drop::IngressDrop, follow),
            Event::NoQueue => self.dropped(Drop::NoQueue, follow),
            Event::Multicast => self.replicate(at, follow),
            Event::Queue => {
                let port = at.told[told::PORT] as Port;
                let mut copy = self.copy(at, Origin::Unicast, (port, 0));
                copy.truncate = at.truncate;
                self.queues.queue_for_egress(copy);
            }
            Event::EgressDrop => self.dropped(Drop::EgressDrop, follow),
            Event::Transmit => self.transmit(at, out, follow),
        }
    }

    /// An extern has refused to go on.
    pub fn halted(&mut self) -> Drop {
        match self.externs.stop.take() {
            Some(stop) => {
                self.stopped = Some(Box::new(stop));
                Drop::Stopped
            }
            None => Drop::AssertionFailed,
        }
    }

    /// A packet has arrived.
    #[inline]
    pub fn receive(&mut self, now: Time, bytes: usize) {
        self.now = now;
        self.packets = 1;
        let stats = &mut self.externs.stats;
        stats.received += 1;
        stats.received_bytes += bytes as u64;
    }

    /// Counts one packet more.
    fn are_too_many(&mut self) -> bool {
        self.packets += 1;
        self.packets > self.config.max_packets
    }

    /// Counts one copy more; false, said and counted, if they are too many.
    fn may_become_more<F: Follow>(&mut self, follow: &mut F) -> bool {
        if self.are_too_many() {
            self.externs.stats.count_drop(Drop::TooManyPackets);
            follow.note(Drop::TooManyPackets.to_string());
            return false;
        }
        true
    }

    fn keep_digest(&mut self, call: CallId) {
        if self.digests.len() >= MAX_DIGESTS {
            self.externs.stats.lost_digests += 1;
            return;
        }
        self.digests.push_back(Digest {
            call,
            fields: self.externs.digest.clone(),
            pipe: 0,
        });
    }

    /// A packet for a queue: as its last parser saw it, with what it was given since, if `origin` keeps
    /// that.
    pub fn copy(&mut self, at: &At<'_>, origin: Origin, (port, rid): (Port, u16)) -> Box<Copy> {
        let mut copy = self.queues.blank_copy();
        copy.instance = at.packet;
        copy.origin = origin;
        (copy.port, copy.rid) = (port, rid);
        copy.bytes.extend_from_slice(at.bytes);
        (copy.cursor, copy.length, copy.truncate) = (0, 0, None);
        if let Some((code, fork)) = at.fork {
            let (code, fork) = (Arc::clone(code), Arc::clone(fork));
            let kept = &at.told[fork.kept.0..][..fork.kept.1];
            copy.carried.extend_from_slice(kept);
            copy.fork = Some(Forked { code, fork });
        }
        copy.priority = match origin {
            Origin::IngressClone | Origin::EgressClone => 0,
            Origin::Replica | Origin::Unicast => at.told[told::PRIORITY] as u8,
        };
        if let Some(machine) = at.machine.filter(|_| origin != Origin::IngressClone) {
            let carried = &self.image.carried;
            copy.cursor = machine.packet.cursor();
            copy.length = length(machine);
            save(carried, &machine.frame, &mut copy.carried);
            if machine.shows_undefined() {
                for (slot, n) in carried {
                    machine.list_undefined(*slot, *n, &mut copy.unset);
                }
            }
        }
        copy
    }

    /// Copies for all ports of a session. From ingress it is the packet as it arrived in this pass, from
    /// egress as that has left it, and both without metadata but the fields of a list.
    fn clone<F: Follow>(&mut self, at: &At<'_>, origin: Origin, follow: &mut F) {
        self.clones(at, origin, follow, |core, session, target, id| {
            let mut copy = core.clone_of(at, origin, session, target);
            copy.instance.id = id;
            core.queues.queue_for_egress(copy);
        });
    }

    /// A clone for the queue.
    pub fn clone_of(
        &mut self,
        at: &At<'_>,
        origin: Origin,
        session: CloneSession,
        target: (Port, u16),
    ) -> Box<Copy> {
        let mut copy = self.copy(at, origin, target);
        copy.truncate = session.truncate;
        copy.kept.list = at.asked.list;
        copy.kept.words.extend_from_slice(at.kept);
        copy
    }

    /// Has `make` make each clone for the session that was asked for, which it gives back, as far as there may
    /// be more packets.
    pub fn clones<F: Follow>(
        &mut self,
        at: &At<'_>,
        origin: Origin,
        follow: &mut F,
        mut make: impl FnMut(&mut Core, CloneSession, (Port, u16), u32),
    ) -> Option<CloneSession> {
        let number = (at.asked.word & SESSIONS) as u32;
        let Some(session) = self.externs.state.session(number) else {
            self.externs.stats.unknown_session += 1;
            follow.note(format!("no clone: there is no clone session {number}"));
            return None;
        };
        let kind = match origin {
            Origin::EgressClone => Kind::EgressClone,
            _ => Kind::IngressClone,
        };
        for index in 0.. {
            let Some(target) = self.clone_target(session, index) else {
                break;
            };
            if !self.may_become_more(follow) {
                break;
            }
            self.externs.stats.clones += 1;
            let id = follow.born(Some(at.packet.id), kind, at.packet.passes, None);
            make(self, session, target, id);
        }
        Some(session)
    }

    /// Port and replication id of a copy: those of the session's group come first, then its port.
    pub fn clone_target(&self, session: CloneSession, index: usize) -> Option<(Port, u16)> {
        let group = session.group.map_or(&[][..], |group| self.group(group));
        match group.get(index) {
            Some(replica) => Some((replica.port, replica.rid)),
            None if index == group.len() => session.port.map(|port| (port, 0)),
            None => None,
        }
    }

    pub fn group(&self, group: u32) -> &[Replica] {
        self.externs.state.group(group).unwrap_or_default()
    }

    /// Queues a packet for another pass, unless it had too many.
    fn send_back<F: Follow>(&mut self, event: Event, at: &At<'_>, follow: &mut F) {
        let packet = at.packet;
        let passes = packet.passes + 1;
        if passes > self.config.max_passes {
            return self.dropped(Drop::TooManyPasses, follow);
        }
        if self.are_too_many() {
            return self.dropped(Drop::TooManyPackets, follow);
        }
        let mut again = self.queues.blank_again();
        again.recirculated = event == Event::Recirculate;
        let stats = &mut self.externs.stats;
        let (kind, bytes) = match again.recirculated {
            true => {
                stats.recirculated += 1;
                (Kind::Recirculated, at.output)
            }
            false => {
                stats.resubmitted += 1;
                (Kind::Resubmitted, at.bytes)
            }
        };
        let id = follow.born(Some(packet.id), kind, passes, Some(packet.ingress_port));
        follow.fate(|| Fate::Again { id });
        again.instance = Instance {
            id,
            passes,
            ..packet
        };
        again.bytes.extend_from_slice(bytes);
        again.kept.list = at.asked.list;
        again.kept.words.extend_from_slice(at.kept);
        self.queues.queue_for_ingress(again);
    }

    fn replicate<F: Follow>(&mut self, at: &At<'_>, follow: &mut F) {
        let group = at.told[told::GROUP] as u32;
        let mut ids = Vec::new();
        let made = self.copies(at, follow, |core, index, id| {
            let Some(replica) = core.group(group).get(index).copied() else {
                return;
            };
            let mut copy = core.copy(at, Origin::Replica, (replica.port, replica.rid));
            copy.instance.id = id;
            core.queues.queue_for_egress(copy);
            if F::Tracer::ON {
                ids.push(id);
            }
        });
        if made {
            follow.fate(|| Fate::Replicated { group, ids });
        }
    }

    /// Has `make` make each copy for the packet's group, by its place there, as far as there may be more
    /// packets; `false` if there is no group.
    pub fn copies<F: Follow>(
        &mut self,
        at: &At<'_>,
        follow: &mut F,
        mut make: impl FnMut(&mut Core, usize, u32),
    ) -> bool {
        let group = at.told[told::GROUP] as u32;
        let n = self.group(group).len();
        if n == 0 {
            self.dropped(Drop::NoGroup { group }, follow);
            return false;
        }
        for index in 0..n {
            if !self.may_become_more(follow) {
                break;
            }
            self.externs.stats.replicas += 1;
            let packet = at.packet;
            let id = follow.born(Some(packet.id), Kind::Replica, packet.passes, None);
            make(self, index, id);
        }
        true
    }

    #[inline]
    pub fn transmit<F: Follow>(&mut self, at: &At<'_>, out: &mut dyn Sink, follow: &mut F) {
        let length = at.output.len();
        let length = at.truncate.map_or(length, |n| length.min(n as usize));
        let (port, priority) = (at.told[told::PORT] as Port, at.told[told::PRIORITY] as u8);
        let data = &at.output[..length];
        self.externs.stats.sent += 1;
        self.externs.stats.sent_bytes += length as u64;
        follow.fate(|| Fate::Sent {
            port,
            data: data.to_vec(),
        });
        out.transmit_with_priority(port, priority, data);
    }
}
