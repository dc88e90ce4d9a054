//! A packet on fast paths, and what is made from it as well.
//!
//! What happens to a packet on a path happens when it has come to its end: counters count, a clone
//! leaves, the packet does. As these do not see each other, nobody can tell that they happen a little later
//! than they otherwise would. Registers and meters change at once, and are taken back if the packet leaves
//! its path (`undo.rs`). A packet without a path is the switch's as ever.

use super::events::{At, Core};
use super::externs::Running;
use super::paths::{known, Buffers, Ending, FastPaths, Known, Of, Rooms, Walked};
use super::queue::{Again, Copy, Instance, Origin};
use super::recording::Recording;
use super::stages::{told, Event, Stages};
use super::switch::Switch;
use crate::tree::Nothing;
use crate::{Port, Sink};
use p4_ir::paths::Request;
use p4_ir::trace::NoTrace;
use p4_time::Time;

/// What becomes of a packet after one pass.
struct Pass<'a> {
    ending: &'a Ending,
    length: usize,
    /// Copies for the group that ingress named, and their paths
    copies: Option<(usize, &'a Known)>,
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
        if self.core.held.limited || self.core.stopped.is_some() {
            return false;
        }
        // Lent for as long as the packet is under way
        let Some(mut fast) = self.fast.take() else {
            return false;
        };
        let mut taken = !fast.due && self.arrives(&mut fast, now, port, data, out);
        if !taken && (fast.due || fast.missed()) {
            fast.due = false;
            let mut recording = Recording::default();
            self.process_with(now, port, data, out, &mut recording);
            recording.collect();
            fast.learn(&self.core.image, &recording);
            taken = true;
        }
        self.fast = Some(fast);
        taken
    }

    /// A packet from outside.
    #[inline]
    fn arrives(
        &mut self,
        fast: &mut FastPaths,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut impl Sink,
    ) -> bool {
        let (all, rooms) = (&fast.all, &mut fast.rooms);
        let packet = Instance {
            id: 0,
            ingress_port: port,
            passes: 0,
            bytes: data.len() as u64,
        };
        rooms.own.give(port, now, &[]);
        let Some(pass) = self.pass(all, Stages::ARRIVAL, rooms, data, now) else {
            return false;
        };
        fast.taken += 1;
        self.core.receive(now, data.len());
        if pass.ending.is_sent {
            self.core.count(pass.ending, &rooms.own, packet);
            let at = at_end(packet, &[], &rooms.own, pass.length, None);
            self.core.transmit(&at, out, &mut nobody());
            return true;
        }
        let mut all_known = self.finish(all, rooms, packet, data, &pass, out);
        while let Some(again) = self.core.queues.next_again() {
            let gone = match all_known {
                true => self.comes_again(all, rooms, &again, out),
                false => None,
            };
            let Some(clones_known) = gone else {
                all_known = false;
                self.core.queues.put_back(again);
                break;
            };
            all_known = clones_known;
            self.core.queues.done_again(again);
        }
        if !all_known {
            fast.due |= fast.missed();
            self.settle(out, &mut nobody());
        }
        true
    }

    /// A packet that was sent back: what [`Switch::finish`] says, `None` if it has no path.
    fn comes_again(
        &mut self,
        all: &[Known],
        rooms: &mut Rooms,
        again: &Again,
        out: &mut impl Sink,
    ) -> Option<bool> {
        let mut packet = again.instance;
        packet.bytes = again.bytes.len() as u64;
        let index = self.core.stages().index(again.start());
        let (port, now) = (packet.ingress_port, self.core.now);
        rooms.own.give(port, now, &again.kept.words);
        let pass = self.pass(all, index, rooms, &again.bytes, now)?;
        Some(self.finish(all, rooms, packet, &again.bytes, &pass, out))
    }

    /// One pass through the switch, copies of a group included. But for cells, nothing has been done yet.
    #[inline]
    fn pass<'a>(
        &mut self,
        all: &'a [Known],
        index: usize,
        rooms: &mut Rooms,
        data: &[u8],
        now: Time,
    ) -> Option<Pass<'a>> {
        let paths = known(all, Of::Segment(index))?;
        self.core.externs.try_path(now.picos(), data.len() as u64);
        let pass = self.pass_on(all, paths, index, rooms, data);
        match pass.is_some() {
            true => self.core.externs.keep(),
            false => self.core.externs.take_back(),
        }
        pass
    }

    #[inline]
    fn pass_on<'a>(
        &mut self,
        all: &'a [Known],
        paths: &'a Known,
        index: usize,
        rooms: &mut Rooms,
        data: &[u8],
    ) -> Option<Pass<'a>> {
        let Rooms { own, replicas, .. } = rooms;
        let walked = self.run_path(paths, own, data)?;
        let ending = paths.endings.get(walked.end)?;
        let mut pass = Pass {
            ending,
            length: walked.length,
            copies: None,
        };
        if !ending.is_sent
            && ending
                .events
                .last()
                .is_some_and(|own| own.0 == Event::Multicast)
        {
            let group = own.told[told::GROUP] as u32;
            let n = self.core.group(group).len();
            if n > 0 {
                let paths = known(all, Of::Copies(index))?;
                self.copies_ahead(paths, own, replicas, n, data)?;
                pass.copies = Some((n, paths));
            }
        }
        Some(pass)
    }

    /// Takes the copies for a group along their paths.
    fn copies_ahead(
        &mut self,
        paths: &Known,
        own: &Buffers,
        replicas: &mut Vec<(Buffers, Walked)>,
        n: usize,
        data: &[u8],
    ) -> Option<()> {
        let group = own.told[told::GROUP] as u32;
        if replicas.len() < n {
            replicas.resize_with(n, Default::default);
        }
        for (index, (buffers, walked)) in replicas[..n].iter_mut().enumerate() {
            let replica = *self.core.group(group).get(index)?;
            buffers.give_as(own, replica.port, replica.rid);
            *walked = self.run_path(paths, buffers, data)?;
            buffers.told[told::PORT] = replica.port.into();
        }
        Some(())
    }

    /// Runs the code of the paths; `None` if the packet takes none.
    #[inline]
    fn run_path(&mut self, known: &Known, buffers: &mut Buffers, data: &[u8]) -> Option<Walked> {
        let mut host = Running {
            image: &self.core.image,
            externs: &mut self.core.externs,
            between: None,
        };
        let machine = &mut self.machine;
        let Buffers {
            given,
            told,
            output,
        } = buffers;
        // What a path does not tell is zero.
        if let Some(told) = told.first_chunk_mut::<{ told::ALL }>() {
            *told = [0; told::ALL];
        }
        let (end, length) = known
            .code
            .run(data, given, output, told, machine, &mut host)?;
        Some(Walked { end, length })
    }

    /// All that happens to a packet; `false` if a clone took a path that is not known.
    fn finish(
        &mut self,
        all: &[Known],
        rooms: &mut Rooms,
        packet: Instance,
        data: &[u8],
        pass: &Pass<'_>,
        out: &mut impl Sink,
    ) -> bool {
        let Rooms {
            own,
            copy,
            replicas,
        } = rooms;
        self.core.count(pass.ending, own, packet);
        let mut all_known = true;
        for (event, request) in &pass.ending.events {
            let at = at_end(packet, data, own, pass.length, *request);
            match (event, pass.copies) {
                (Event::Queue, _) => all_known &= self.first_leave(all, copy, out),
                (Event::Multicast, Some((n, paths))) => {
                    let mut made = 0;
                    self.core.copies(&at, &mut nobody(), |_, _, _| made += 1);
                    all_known &= self.first_leave(all, copy, out);
                    for (buffers, walked) in &replicas[..made.min(n)] {
                        self.ends(&paths.endings, *walked, buffers, packet, None, out);
                    }
                }
                _ => self.core.happens(*event, &at, out, &mut nobody()),
            }
        }
        all_known & self.first_leave(all, copy, out)
    }

    /// What happens to a packet behind ingress at the end of its path.
    fn ends(
        &mut self,
        endings: &[Ending],
        walked: Walked,
        buffers: &Buffers,
        packet: Instance,
        truncate: Option<u32>,
        out: &mut impl Sink,
    ) {
        let Some(ending) = endings.get(walked.end) else {
            return;
        };
        self.core.count(ending, buffers, packet);
        for (event, request) in &ending.events {
            let mut at = at_end(packet, &[], buffers, walked.length, *request);
            at.truncate = truncate;
            self.core.happens(*event, &at, out, &mut nobody());
        }
    }

    /// Clones leave before the packet that they were made from; `false` if one had no path.
    fn first_leave(&mut self, all: &[Known], room: &mut Buffers, out: &mut impl Sink) -> bool {
        let mut all_known = true;
        while let Some(copy) = self.core.queues.next_copy() {
            match self.clone_on_path(all, room, &copy, out) {
                true => self.core.queues.done_copy(copy),
                false => {
                    all_known = false;
                    self.egress_of(copy, out, &mut nobody());
                }
            }
        }
        all_known
    }

    /// `false` if the clone has no path.
    fn clone_on_path(
        &mut self,
        all: &[Known],
        room: &mut Buffers,
        copy: &Copy,
        out: &mut impl Sink,
    ) -> bool {
        let index = self.core.stages().index(copy.start());
        let paths = known(all, Of::Segment(index));
        let Some(paths) = paths.filter(|_| copy.origin == Origin::IngressClone) else {
            return false;
        };
        let (now, packet) = (self.core.now, copy.instance);
        let given = copy.given(now, false);
        given.write(&copy.kept.words, &mut room.given);
        self.core.externs.try_path(now.picos(), packet.bytes);
        let Some(walked) = self.run_path(paths, room, &copy.bytes) else {
            self.core.externs.take_back();
            return false;
        };
        self.core.externs.keep();
        room.told[told::PORT] = copy.port.into();
        room.told[told::PRIORITY] = copy.priority.into();
        self.ends(&paths.endings, walked, room, packet, copy.truncate, out);
        true
    }
}

/// A packet at the end of its path.
#[inline]
fn at_end<'a>(
    packet: Instance,
    data: &'a [u8],
    buffers: &'a Buffers,
    length: usize,
    request: Option<Request>,
) -> At<'a> {
    let (asked, kept) = buffers.asked(request);
    At {
        packet,
        told: &buffers.told,
        truncate: None,
        bytes: data,
        output: &buffers.output[..length],
        asked,
        kept,
        machine: None,
    }
}

impl Core {
    #[inline]
    fn count(&mut self, ending: &Ending, buffers: &Buffers, packet: Instance) {
        for (counter, word) in &ending.counts {
            let index = buffers.told[*word];
            self.externs.count(*counter, index, packet.bytes);
        }
    }
}
