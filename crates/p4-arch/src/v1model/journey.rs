//! A packet on paths that are known, and what is made from it as well.
//!
//! What a path asks of the switch is done when the packet has come to its end: counters count, a clone
//! goes its own way, the packet leaves. As these do not see each other, nobody can tell that they happen
//! a little later than they otherwise would. A packet without a path is the switch's as ever.

use super::externs::Running;
use super::paths::{known, told, Asked, Beaten, Buffers, Ending, Known, Recording, Rooms, Start};
use super::queue::{Again, Instance, Origin};
use super::switch::Switch;
use crate::tree::Nothing;
use crate::{Port, Sink};
use p4_ir::trace::NoTrace;
use p4_state::CloneSession;
use p4_time::Time;

/// Session ids have 15 bits in simple_switch.
const SESSIONS: u64 = 0x7fff;

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
        let Some(paths) = known(all, Start::Arrival) else {
            return false;
        };
        let buffers = &mut rooms.own;
        buffers.give(port, now, &[], None);
        let Some((ending, length)) = self.walk_along(paths, buffers, data) else {
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
        if ending.is_sent_alone() {
            self.count(&ending.counts, &buffers.told, packet.bytes);
            self.transmit(buffers, length, out);
            return true;
        }
        let mut all_known = self.finish(all, rooms, packet, data, (ending, length), out);
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
        let paths = known(all, Start::Again(list?))?;
        let buffers = &mut rooms.own;
        let mut packet = again.instance;
        packet.bytes = again.bytes.len() as u64;
        buffers.give(packet.ingress_port, self.now, &again.kept.words, None);
        let end = self.walk_along(paths, buffers, &again.bytes)?;
        Some(self.finish(all, rooms, packet, &again.bytes, end, out))
    }

    /// Runs the code of the paths; `None` if the packet takes none, or asks for copies of many kinds.
    #[inline]
    fn walk_along<'a>(
        &mut self,
        known: &'a Known,
        buffers: &mut Buffers,
        data: &[u8],
    ) -> Option<(&'a Ending, usize)> {
        let mut host = Running {
            image: &self.image,
            externs: &mut self.externs,
            way: None,
        };
        let Buffers {
            given,
            told,
            output,
        } = buffers;
        let (index, length) = known.code.run(data, given, output, told, &mut host)?;
        let ending = known.endings.get(index)?;
        let is_plain = |asked: &Asked| match self.session(asked, told) {
            Some(session) => {
                session.group.is_none() && session.truncate.is_none() && session.port.is_some()
            }
            None => true,
        };
        let clones = ending.clone.as_ref();
        clones.is_none_or(is_plain).then_some((ending, length))
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
        (ending, length): (&Ending, usize),
        out: &mut impl Sink,
    ) -> bool {
        self.count(&ending.counts, &rooms.own.told, packet.bytes);
        let mut all_known = true;
        if let Some(asked) = ending.clone {
            match self.session(&asked, &rooms.own.told) {
                Some(session) => {
                    all_known = self.clone_along(all, rooms, packet, data, (asked, session), out);
                }
                None => self.externs.stats.unknown_session += 1,
            }
        }
        match &ending.recirculate {
            Some(asked) => self.send_around(packet, asked, &rooms.own, length),
            None => self.transmit(&rooms.own, length, out),
        }
        all_known
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
        if let Some(paths) = known(all, Start::Clone(asked.list)) {
            let buffers = &mut rooms.copy;
            buffers.give(packet.ingress_port, self.now, kept, Some(port));
            if let Some((ending, length)) = self.walk_along(paths, buffers, data) {
                self.count(&ending.counts, &buffers.told, packet.bytes);
                match &ending.recirculate {
                    Some(asked) => self.send_around(packet, asked, buffers, length),
                    None => {
                        buffers.told[told::PORT] = port.into();
                        buffers.told[told::PRIORITY] = 0;
                        self.transmit(buffers, length, out);
                    }
                }
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
