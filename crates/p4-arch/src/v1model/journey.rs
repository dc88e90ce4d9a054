//! A packet on paths that are known, and what is made from it as well.
//!
//! What a path asks of the switch is done when the packet has come to its end: counters count, a clone
//! goes its own way, the packet leaves. As these do not see each other, nobody can tell that they happen
//! a little later than they otherwise would. A packet without a path is the switch's as ever.

use super::externs::Running;
use super::paths::{
    known, told, Asked, Beaten, Buffers, Ending, Known, Leg, Recording, Rooms, Start, Walked,
};
use super::queue::{Again, Instance, Origin};
use super::switch::Switch;
use crate::stats::Drop;
use crate::tree::Nothing;
use crate::{Port, Sink};
use p4_ir::trace::NoTrace;
use p4_state::CloneSession;
use p4_time::Time;

/// Session ids have 15 bits in simple_switch.
const SESSIONS: u64 = 0x7fff;

/// What becomes of a packet after one pass.
struct Goes<'a> {
    ending: &'a Ending,
    /// How long it is, unless ingress named a group
    alone: Option<usize>,
    /// Copies of the group
    replicas: usize,
    paths_of_replicas: Option<&'a Known>,
}

fn nobody() -> Nothing<NoTrace> {
    Nothing::default()
}

impl Switch {
    /// Takes the packet in if it has a path or is to be recorded; otherwise nothing has happened.
    #[inline]
    pub(super) fn take_path(
        &mut self,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut impl Sink,
    ) -> bool {
        if self.held.limited || self.stopped.is_some() {
            return false;
        }
        // Lent for as long as the packet is under way
        let Some(mut beaten) = self.beaten.take() else {
            return false;
        };
        let mut taken = !beaten.due && self.arrives(&mut beaten, now, port, data, out);
        if !taken && (beaten.due || beaten.missed()) {
            beaten.due = false;
            let mut recording = Recording::default();
            self.run(now, port, data, out, &mut recording);
            recording.collect();
            beaten.learn(&self.image, recording);
            taken = true;
        }
        self.beaten = Some(beaten);
        taken
    }

    /// A packet from outside.
    #[inline]
    fn arrives(
        &mut self,
        beaten: &mut Beaten,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut impl Sink,
    ) -> bool {
        let (all, rooms) = (&beaten.all, &mut beaten.rooms);
        rooms.own.give(port, now, &[], None);
        let Some(goes) = self.pass_along(all, Start::Arrival, rooms, data) else {
            return false;
        };
        let packet = Instance {
            id: 0,
            ingress_port: port,
            passes: 0,
            bytes: data.len() as u64,
        };
        self.now = now;
        self.packets = 1;
        beaten.taken += 1;
        let stats = &mut self.externs.stats;
        stats.received += 1;
        stats.received_bytes += packet.bytes;
        if let Some(length) = goes.alone.filter(|_| goes.ending.is_sent_alone()) {
            self.count(&goes.ending.counts, &rooms.own.told, packet.bytes);
            self.transmit(&rooms.own, length, out);
            return true;
        }
        let mut all_known = self.finish(all, rooms, packet, data, &goes, out);
        while let Some(again) = self.queues.next_again() {
            let gone = match all_known {
                true => self.comes_again(all, rooms, &again, out),
                false => None,
            };
            let Some(clones_known) = gone else {
                all_known = false;
                self.queues.put_back(again);
                break;
            };
            all_known = clones_known;
            self.queues.done_again(again);
        }
        if !all_known {
            beaten.due |= beaten.missed();
            self.settle(out, &mut nobody());
        }
        true
    }

    /// A packet that was recirculated: what [`Switch::finish`] says, `None` if it has no path.
    fn comes_again(
        &mut self,
        all: &[Known],
        rooms: &mut Rooms,
        again: &Again,
        out: &mut impl Sink,
    ) -> Option<bool> {
        let list = again.kept.list.filter(|_| again.recirculated);
        let mut packet = again.instance;
        packet.bytes = again.bytes.len() as u64;
        let (port, kept) = (packet.ingress_port, &again.kept.words);
        rooms.own.give(port, self.now, kept, None);
        let goes = self.pass_along(all, Start::Again(list?), rooms, &again.bytes)?;
        Some(self.finish(all, rooms, packet, &again.bytes, &goes, out))
    }

    /// One pass through the switch, copies of a group included; nothing has been done yet.
    #[inline]
    fn pass_along<'a>(
        &mut self,
        all: &'a [Known],
        start: Start,
        rooms: &mut Rooms,
        data: &[u8],
    ) -> Option<Goes<'a>> {
        if let Some(paths) = known(all, start, Leg::Whole) {
            if let Some(walked) = self.walk_along(paths, &mut rooms.own, data) {
                return Some(Goes {
                    ending: &paths.endings[walked.end],
                    alone: Some(walked.length),
                    replicas: 0,
                    paths_of_replicas: None,
                });
            }
        }
        let paths = known(all, start, Leg::Group)?;
        let walked = self.walk_along(paths, &mut rooms.own, data)?;
        let Rooms { own, replicas, .. } = rooms;
        let group = own.told[told::PORT] as u32;
        let n = self.externs.state.group(group).map_or(0, <[_]>::len);
        if replicas.len() < n {
            replicas.resize_with(n, Default::default);
        }
        let paths_of_replicas = known(all, start, Leg::Replica);
        for (index, (buffers, end)) in replicas[..n].iter_mut().enumerate() {
            let replica = *self.externs.state.group(group)?.get(index)?;
            buffers.give_as(own, replica.port, replica.rid);
            *end = self.walk_along(paths_of_replicas?, buffers, data)?;
            buffers.told[told::PORT] = replica.port.into();
        }
        Some(Goes {
            ending: &paths.endings[walked.end],
            alone: None,
            replicas: n,
            paths_of_replicas,
        })
    }

    /// Runs the code of the paths; `None` if the packet takes none, or asks for copies of many kinds.
    #[inline]
    fn walk_along(&mut self, known: &Known, buffers: &mut Buffers, data: &[u8]) -> Option<Walked> {
        let mut host = Running {
            image: &self.image,
            externs: &mut self.externs,
            way: None,
        };
        let machine = &mut self.machine;
        let Buffers {
            given,
            told,
            output,
        } = buffers;
        let (end, length) = known
            .code
            .run(data, given, output, told, machine, &mut host)?;
        let ending = known.endings.get(end)?;
        let is_plain = |asked: &Asked| match self.session(asked, told) {
            Some(session) => {
                session.group.is_none() && session.truncate.is_none() && session.port.is_some()
            }
            None => true,
        };
        let clones = ending.clone.as_ref();
        clones
            .is_none_or(is_plain)
            .then_some(Walked { end, length })
    }

    fn session(&self, asked: &Asked, told: &[u64]) -> Option<CloneSession> {
        self.externs
            .state
            .session((told[asked.word] & SESSIONS) as u32)
    }

    fn count(&mut self, counts: &[(u32, usize)], told: &[u64], bytes: u64) {
        for (counter, word) in counts {
            if !self.externs.state.count(*counter, told[*word], bytes) {
                self.externs.stats.out_of_range += 1;
            }
        }
    }

    #[inline]
    fn transmit(&mut self, buffers: &Buffers, length: usize, out: &mut impl Sink) {
        let stats = &mut self.externs.stats;
        stats.sent += 1;
        stats.sent_bytes += length as u64;
        let (port, priority) = (buffers.told[told::PORT], buffers.told[told::PRIORITY]);
        let data = &buffers.output[..length];
        out.transmit_with_priority(port as Port, priority as u8, data);
    }

    /// What a path's end asks for; `false` if a clone took a way that is not known.
    fn finish(
        &mut self,
        all: &[Known],
        rooms: &mut Rooms,
        packet: Instance,
        data: &[u8],
        goes: &Goes<'_>,
        out: &mut impl Sink,
    ) -> bool {
        self.count(&goes.ending.counts, &rooms.own.told, packet.bytes);
        let mut all_known = true;
        if let Some(asked) = goes.ending.clone {
            match self.session(&asked, &rooms.own.told) {
                Some(session) => {
                    all_known = self.clone_along(all, rooms, packet, data, (asked, session), out);
                }
                None => self.externs.stats.unknown_session += 1,
            }
        }
        match goes.alone {
            Some(length) => {
                self.depart_with(&goes.ending.recirculate, packet, &rooms.own, length, out)
            }
            None => self.replicas(rooms, packet, goes, out),
        }
        all_known
    }

    fn depart_with(
        &mut self,
        recirculate: &Option<Asked>,
        packet: Instance,
        buffers: &Buffers,
        length: usize,
        out: &mut impl Sink,
    ) {
        match recirculate {
            Some(asked) => self.send_around(packet, asked, buffers, length),
            None => self.transmit(buffers, length, out),
        }
    }

    /// The copies of a group, which are ready.
    fn replicas(
        &mut self,
        rooms: &mut Rooms,
        packet: Instance,
        goes: &Goes<'_>,
        out: &mut impl Sink,
    ) {
        let group = rooms.own.told[told::PORT] as u32;
        let Some(paths) = goes.paths_of_replicas.filter(|_| goes.replicas > 0) else {
            self.externs.stats.count_drop(Drop::NoGroup { group });
            return;
        };
        let mut made = 0;
        while made < goes.replicas && self.may_become_more(&mut nobody()) {
            self.externs.stats.replicas += 1;
            made += 1;
        }
        for (buffers, walked) in &rooms.replicas[..made] {
            let ending = &paths.endings[walked.end];
            self.count(&ending.counts, &buffers.told, packet.bytes);
            self.depart_with(&ending.recirculate, packet, buffers, walked.length, out);
        }
    }

    fn send_around(&mut self, packet: Instance, asked: &Asked, buffers: &Buffers, length: usize) {
        let mut again = self.queues.blank_again();
        again.bytes.extend_from_slice(&buffers.output[..length]);
        again.kept.list = asked.list;
        again
            .kept
            .words
            .extend_from_slice(asked.words(&buffers.told));
        again.recirculated = true;
        self.send_back(packet, again, &mut nobody());
    }

    /// The packet as ingress got it, with the fields of a list, on its way out.
    fn clone_along(
        &mut self,
        all: &[Known],
        rooms: &mut Rooms,
        packet: Instance,
        data: &[u8],
        (asked, session): (Asked, CloneSession),
        out: &mut impl Sink,
    ) -> bool {
        let Some(port) = session.port else {
            return true;
        };
        if !self.may_become_more(&mut nobody()) {
            return true;
        }
        self.externs.stats.clones += 1;
        let kept = asked.words(&rooms.own.told);
        if let Some(paths) = known(all, Start::Clone(asked.list), Leg::Whole) {
            let buffers = &mut rooms.copy;
            buffers.give(packet.ingress_port, self.now, kept, Some(port));
            if let Some(walked) = self.walk_along(paths, buffers, data) {
                let ending = &paths.endings[walked.end];
                self.count(&ending.counts, &buffers.told, packet.bytes);
                buffers.told[told::PORT] = port.into();
                buffers.told[told::PRIORITY] = 0;
                self.depart_with(&ending.recirculate, packet, buffers, walked.length, out);
                return true;
            }
        }
        let mut copy = self.queues.blank_copy();
        copy.instance = packet;
        copy.origin = Some(Origin::IngressClone);
        (copy.port, copy.rid) = (port, 0);
        copy.bytes.extend_from_slice(data);
        copy.cursor = 0;
        copy.priority = 0;
        copy.truncate = None;
        copy.kept.list = asked.list;
        copy.kept.words.extend_from_slice(kept);
        self.egress_of(copy, out, &mut nobody());
        false
    }
}
