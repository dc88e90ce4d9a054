//! Parser, checksum check and ingress, and what simple_switch does when ingress ends, in its order:
//! clone, digest, then one of resubmit, multicast, drop, unicast.

use super::externs::Running;
use super::fields::instance;
use super::queue::{clear, restore, save, Again, Instance, Origin};
use super::switch::{Switch, DROP_PORT};
use crate::frame::Field;
use crate::stats::{Drop, Stop};
use crate::tree::{Fate, Follow, Kind};
use crate::{Port, Sink};
use p4_ir::interp::{errors, Halt, Outcome};
use p4_state::CloneSession;
use p4_syntax::span::Span;

impl Switch {
    /// A packet from outside.
    pub(super) fn arrive<F: Follow>(
        &mut self,
        port: Port,
        data: &[u8],
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        self.reset::<F>();
        for (slot, n) in &self.image.user_metadata {
            self.machine.undefine(&self.image.prepared, *slot, *n);
        }
        self.machine.packet.load(data);
        let id = follow.born(None, Kind::Original, 0, Some(port));
        let bytes = data.len() as u64;
        let packet = Instance {
            id,
            ingress_port: port,
            passes: 0,
            bytes,
        };
        self.pass(packet, instance::NORMAL, port, out, follow);
    }

    /// A packet that was resubmitted or recirculated.
    pub(super) fn ingress_of<F: Follow>(
        &mut self,
        again: Again,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        self.reset::<F>();
        self.machine.packet.load(&again.bytes);
        let mut packet = again.instance;
        packet.bytes = again.bytes.len() as u64;
        follow.resume(packet.id);
        self.put_back(again.kept.list, &again.kept.words);
        let kind = if again.recirculated {
            instance::RECIRCULATED
        } else {
            instance::RESUBMITTED
        };
        self.queues.done_again(again);
        let port = if self.config.bmv2_compat {
            0
        } else {
            packet.ingress_port
        };
        self.pass(packet, kind, port, out, follow);
    }

    /// Restores the fields of a field list into metadata.
    pub(super) fn put_back(&mut self, list: Option<u32>, words: &[u64]) {
        if let Some(regions) = list.and_then(|list| self.image.lists.get(&list)) {
            restore(regions, words, &mut self.machine.frame);
        }
    }

    /// One pass through parser and ingress; the packet is loaded and kept fields are in place.
    fn pass<F: Follow>(
        &mut self,
        packet: Instance,
        kind: u64,
        ingress_port: Port,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        let standard = &self.image.standard;
        let frame = self.machine.frame.as_mut_slice();
        Field::set(standard.ingress_port, frame, ingress_port.into());
        Field::set(standard.instance_type, frame, kind);
        Field::set(standard.packet_length, frame, packet.bytes);
        Field::set(standard.ingress_global_timestamp, frame, self.now.micros());
        self.externs.begin(self.now.picos(), packet.bytes);
        if self.has_usual_way::<F>() {
            return self.usual_way(packet, out, follow);
        }
        self.parse(follow, true);
        for block in [self.image.blocks.verify, self.image.blocks.ingress] {
            if let Err(reason) = self.control(block, follow) {
                return self.dropped(reason, follow);
            }
        }
        self.end_of_ingress(packet, out, follow);
    }

    /// Frame and packet as nobody has touched them yet.
    pub(super) fn reset<F: Follow>(&mut self) {
        let prepared = &self.image.prepared;
        self.engine.reset::<F::Tracer>(prepared, &mut self.machine);
    }

    /// Runs the parser. An error ends it and is noted in `parser_error`; the packet goes on.
    pub(super) fn parse<F: Follow>(&mut self, follow: &mut F, note_error: bool) {
        let outcome = self.run_block(self.image.blocks.parser, follow);
        self.parsed(outcome, note_error);
    }

    /// Notes how the parser ended.
    pub(super) fn parsed(&mut self, outcome: Outcome, note_error: bool) {
        let error = match outcome {
            Outcome::Done | Outcome::Halted(_) => errors::NO_ERROR,
            Outcome::Rejected { error } => error,
            Outcome::OutOfFuel => errors::PARSER_TIMEOUT,
        };
        if note_error && error != errors::UNMATCHED {
            Field::set(
                self.image.standard.parser_error,
                &mut self.machine.frame,
                error.into(),
            );
        }
    }

    pub(super) fn run_block<F: Follow>(&mut self, block: u32, follow: &mut F) -> Outcome {
        let entry = self.image.program().blocks[block as usize].entry;
        let mut host = Running {
            image: &self.image,
            externs: &mut self.externs,
            way: None,
        };
        let prepared = &self.image.prepared;
        let tracer = follow.tracer(block);
        self.engine
            .run(prepared, entry, &mut self.machine, &mut host, tracer)
    }

    /// Runs a control; says why the packet is lost if it did not end.
    pub(super) fn control<F: Follow>(&mut self, block: u32, follow: &mut F) -> Result<(), Drop> {
        let outcome = self.run_block(block, follow);
        if self.config.bmv2_compat && self.machine.out_of_stack {
            let span = Span::NONE;
            self.externs.stop = Some(Stop::OutOfRange { span });
        }
        self.ended(outcome)
    }

    /// Why the packet is lost, if a control ended like this.
    pub(super) fn ended(&mut self, outcome: Outcome) -> Result<(), Drop> {
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

    /// An extern has refused to go on.
    fn halted(&mut self) -> Drop {
        match self.externs.stop.take() {
            Some(stop) => {
                self.stopped = Some(stop);
                Drop::Stopped
            }
            None => Drop::AssertionFailed,
        }
    }

    pub(super) fn dropped<F: Follow>(&mut self, reason: Drop, follow: &mut F) {
        self.externs.stats.count_drop(reason);
        follow.dropped(reason);
    }

    pub(super) fn end_of_ingress<F: Follow>(
        &mut self,
        packet: Instance,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        let requests = self.externs.requests;
        if let Some(request) = requests.clone {
            match self.externs.state.session(request.session) {
                Some(session) => self.clone_at_ingress(packet, session, request.list, follow),
                None => self.no_session(request.session, follow),
            }
        }
        self.keep_digest();
        if let Some(list) = requests.resubmit {
            return self.resubmit(packet, list, follow);
        }
        let standard = &self.image.standard;
        let group = Field::get(standard.mcast_grp, &self.machine.frame) as u32;
        if group != 0 {
            return self.replicate(packet, group, follow);
        }
        let port = Field::get(standard.egress_spec, &self.machine.frame);
        if port == DROP_PORT {
            return self.dropped(Drop::IngressDrop, follow);
        }
        if self.has_no_queue() {
            return self.dropped(Drop::NoQueue, follow);
        }
        if self.queues.nothing_leaves() && !self.held.limited {
            // Nothing waits in front of it, so it needs no place in the queue.
            return self.unicast(packet, port as Port, out, follow);
        }
        let mut copy = self.copy_of_ingress(packet, port as Port);
        copy.origin = Some(Origin::Unicast);
        copy.truncate = requests.truncate;
        self.queues.queue_for_egress(copy);
    }

    /// The queue that the packet is for: 0 to 7.
    pub(super) fn priority(&self) -> u8 {
        Field::get(self.image.standard.priority, &self.machine.frame) as u8
    }

    /// simple_switch has one queue per port, for priority 0, unless it is told otherwise.
    fn has_no_queue(&self) -> bool {
        self.priority() >= self.priorities()
    }

    pub(super) fn no_session<F: Follow>(&mut self, session: u32, follow: &mut F) {
        self.externs.stats.unknown_session += 1;
        follow.note(format!("no clone: there is no clone session {session}"));
    }

    /// Ports and replication ids of a session: the copies of its group first, then its port.
    pub(super) fn clone_targets(&self, session: CloneSession) -> Vec<(Port, u16)> {
        let group = session
            .group
            .and_then(|group| self.externs.state.group(group));
        let copies = group
            .unwrap_or_default()
            .iter()
            .map(|replica| (replica.port, replica.rid));
        copies.chain(session.port.map(|port| (port, 0))).collect()
    }

    /// The packet as it arrived in this pass, to be parsed again.
    fn clone_at_ingress<F: Follow>(
        &mut self,
        packet: Instance,
        session: CloneSession,
        list: Option<u32>,
        follow: &mut F,
    ) {
        for (port, rid) in self.clone_targets(session) {
            if !self.may_become_more(follow) {
                return;
            }
            self.externs.stats.clones += 1;
            let mut copy = self.queues.blank_copy();
            copy.instance = packet;
            copy.instance.id =
                follow.born(Some(packet.id), Kind::IngressClone, packet.passes, None);
            copy.origin = Some(Origin::IngressClone);
            (copy.port, copy.rid) = (port, rid);
            copy.bytes.extend_from_slice(self.machine.packet.bytes());
            copy.cursor = 0;
            copy.priority = 0;
            copy.truncate = session.truncate;
            self.keep(list, &mut copy.kept);
            self.queues.queue_for_egress(copy);
        }
    }

    /// Saves the fields of a field list.
    pub(super) fn keep(&self, list: Option<u32>, kept: &mut super::queue::Kept) {
        kept.list = list;
        kept.words.clear();
        if let Some(regions) = list.and_then(|list| self.image.lists.get(&list)) {
            save(regions, &self.machine.frame, &mut kept.words);
        }
    }

    fn resubmit<F: Follow>(&mut self, packet: Instance, list: u32, follow: &mut F) {
        let mut again = self.queues.blank_again();
        again.bytes.extend_from_slice(self.machine.packet.bytes());
        self.keep(Some(list), &mut again.kept);
        again.recirculated = false;
        self.send_back(packet, again, follow);
    }

    /// Queues a packet for another pass, unless it had too many.
    pub(super) fn send_back<F: Follow>(
        &mut self,
        packet: Instance,
        mut again: Again,
        follow: &mut F,
    ) {
        let passes = packet.passes + 1;
        if passes > self.config.max_passes {
            self.queues.done_again(again);
            return self.dropped(Drop::TooManyPasses, follow);
        }
        if self.are_too_many() {
            self.queues.done_again(again);
            return self.dropped(Drop::TooManyPackets, follow);
        }
        let stats = &mut self.externs.stats;
        let kind = if again.recirculated {
            stats.recirculated += 1;
            Kind::Recirculated
        } else {
            stats.resubmitted += 1;
            Kind::Resubmitted
        };
        let id = follow.born(Some(packet.id), kind, passes, Some(packet.ingress_port));
        follow.fate(|| Fate::Again { id });
        again.instance = Instance {
            id,
            passes,
            ..packet
        };
        self.queues.queue_for_ingress(again);
    }

    fn replicate<F: Follow>(&mut self, packet: Instance, group: u32, follow: &mut F) {
        if self.has_no_queue() {
            return self.dropped(Drop::NoQueue, follow);
        }
        let replicas = self.externs.state.group(group).unwrap_or_default().to_vec();
        if replicas.is_empty() {
            return self.dropped(Drop::NoGroup { group }, follow);
        }
        let mut ids = Vec::new();
        for replica in replicas {
            if !self.may_become_more(follow) {
                break;
            }
            self.externs.stats.replicas += 1;
            let id = follow.born(Some(packet.id), Kind::Replica, packet.passes, None);
            let mut copy = self.copy_of_ingress(Instance { id, ..packet }, replica.port);
            copy.origin = Some(Origin::Replica);
            copy.rid = replica.rid;
            copy.truncate = None;
            self.queues.queue_for_egress(copy);
            ids.push(id);
        }
        follow.fate(|| Fate::Replicated { group, ids });
    }

    pub(super) fn save_carried(&self, copy: &mut super::queue::Copy) {
        let carried = &self.image.carried;
        save(carried, &self.machine.frame, &mut copy.carried);
        if self.machine.shows_undefined() {
            for (slot, n) in carried {
                self.machine.list_undefined(*slot, *n, &mut copy.unset);
            }
        }
    }

    /// The packet as ingress left it.
    fn copy_of_ingress(&mut self, packet: Instance, port: Port) -> super::queue::Copy {
        let mut copy = self.queues.blank_copy();
        copy.instance = packet;
        (copy.port, copy.rid) = (port, 0);
        copy.bytes.extend_from_slice(self.machine.packet.bytes());
        copy.cursor = self.machine.packet.cursor();
        self.save_carried(&mut copy);
        copy.length = self.length();
        copy.priority = self.priority();
        copy
    }

    /// Bytes of the packet, with what `setValid` and `setInvalid` have added and removed.
    pub(super) fn length(&self) -> u64 {
        let length = self.machine.packet.length() as i64 + self.machine.length_delta;
        length.max(0) as u64
    }

    /// Metadata as at the start of everything.
    pub(super) fn forget_metadata(&mut self) {
        clear(&self.image.metadata, &mut self.machine.frame);
    }
}
