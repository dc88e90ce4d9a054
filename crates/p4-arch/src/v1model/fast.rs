//! A packet on fast paths, and what is made from it as well.
//!
//! What happens to a packet on a path happens when it has come to its end: counters count, a clone
//! leaves, the packet does. As these do not see each other, nobody can tell that they happen a little later
//! than they otherwise would. Registers and meters change at once, and are taken back if the packet leaves
//! its path (`undo.rs`). A packet without a path is the switch's as ever.

use super::calls::{slots, Call};
use super::events::{At, Core};
use super::externs::Running;
use super::paths::{known, Buffers, Code, Ending, FastPaths, Known, Walked};
use super::queue::{Again, Copy, Forked, Instance, Origin};
use super::recording::Recording;
use super::stages::{told, Event, Stages};
use super::switch::Switch;
use crate::tree::Nothing;
use crate::{Port, Sink};
use p4_ir::paths::{Fired, Request, Start};
use p4_ir::trace::NoTrace;
use p4_time::Time;
use std::sync::Arc;

/// A packet that has come to the end of a path.
struct Passed<'a> {
    packet: Instance,
    /// As its last parser saw it
    data: &'a [u8],
    code: &'a Arc<Code>,
    walked: Walked,
    /// Bytes that it is cut to when sent
    truncate: Option<u32>,
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
        if self.core.stopped.is_some() {
            return false;
        }
        let are_limited = self.core.held.limited;
        if are_limited {
            self.advance(now, out);
        }
        // Lent for as long as the packet is under way
        let Some(mut fast) = self.fast.take() else {
            return false;
        };
        fast.limit(are_limited);
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
        let (all, own) = (&fast.all, &mut fast.own);
        let packet = Instance {
            id: 0,
            ingress_port: port,
            passes: 0,
            bytes: data.len() as u64,
        };
        own.give(port, now, &[]);
        let Some(passed) = self.pass(all, Stages::ARRIVAL, own, (packet, data), now) else {
            return false;
        };
        fast.taken += 1;
        self.core.receive(now, data.len());
        let ending = passed.ending();
        if ending.is_sent {
            self.core.count(ending, own, packet);
            self.core
                .transmit(&passed.at(own, None), out, &mut nobody());
            return true;
        }
        let mut all_known = self.finish(all, own, &passed, out);
        while let Some(again) = self.core.queues.next_again() {
            let gone = match all_known {
                true => self.comes_again(all, own, &again, out),
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
        own: &mut Buffers,
        again: &Again,
        out: &mut impl Sink,
    ) -> Option<bool> {
        let mut packet = again.instance;
        packet.bytes = again.bytes.len() as u64;
        let index = self.core.stages().index(again.start());
        let now = self.core.now;
        own.give(packet.ingress_port, now, &again.kept.words);
        let passed = self.pass(all, index, own, (packet, &again.bytes), now)?;
        Some(self.finish(all, own, &passed, out))
    }

    /// One pass through the switch. But for cells, nothing has been done yet.
    #[inline]
    fn pass<'a>(
        &mut self,
        all: &'a [Known],
        index: usize,
        own: &mut Buffers,
        (packet, data): (Instance, &'a [u8]),
        now: Time,
    ) -> Option<Passed<'a>> {
        let code = &known(all, index)?.code;
        let walked = self.run_path(code, 0, own, data, (packet.bytes, now))?;
        let truncate = code.endings.get(walked.end)?.cut(own);
        Some(Passed {
            packet,
            data,
            code,
            walked,
            truncate,
        })
    }

    /// Runs the code of the paths from a fork on; `None` if the packet takes none.
    #[inline]
    fn run_path(
        &mut self,
        code: &Code,
        fork: usize,
        buffers: &mut Buffers,
        data: &[u8],
        (bytes, now): (u64, Time),
    ) -> Option<Walked> {
        if code.changes_cells {
            self.core.externs.try_path(now.picos(), bytes);
        }
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
        let start = Start { fork, given };
        let walked = code
            .paths
            .run(data, start, output, told, machine, &mut host);
        if code.changes_cells {
            match walked.is_some() {
                true => self.core.externs.keep(),
                false => self.core.externs.take_back(),
            }
        }
        let (end, length) = walked?;
        Some(Walked { end, length })
    }

    /// All that happens to a packet; `false` if one that was made from it took a path that is not known.
    fn finish(
        &mut self,
        all: &[Known],
        own: &Buffers,
        passed: &Passed<'_>,
        out: &mut impl Sink,
    ) -> bool {
        let ending = passed.ending();
        self.core.count(ending, own, passed.packet);
        let mut all_known = true;
        for fired in &ending.events {
            let waits = Event::numbered(fired.event) == Event::Queue;
            match waits && !self.core.held.limited {
                true => all_known &= self.others_leave(all, out),
                false => self.core.fire(fired, passed, own, out),
            }
        }
        all_known & self.others_leave(all, out)
    }

    /// What waits leaves; `false` if one of them had no path.
    fn others_leave(&mut self, all: &[Known], out: &mut impl Sink) -> bool {
        let mut all_known = true;
        while let Some(copy) = self.core.queues.next_copy() {
            if self.core.held.limited {
                self.queue_up(copy, out, &mut nobody());
            } else if copy.origin == Origin::IngressClone && self.clone_leaves(all, &copy, out) {
                self.core.queues.done_copy(copy);
            } else {
                all_known &= copy.fork.is_some();
                self.egress_of(copy, out, &mut nobody());
            }
        }
        all_known & !std::mem::take(&mut self.strays)
    }

    /// `false` if the clone has no path.
    fn clone_leaves(&mut self, all: &[Known], copy: &Copy, out: &mut impl Sink) -> bool {
        let index = self.core.stages().index(copy.start());
        known(all, index).is_some_and(|known| self.leaves(&known.code, 0, copy, out))
    }

    /// A packet goes on from where it was made on a path; `false` if it has none from there.
    pub(super) fn goes_on(&mut self, forked: &Forked, copy: &Copy, out: &mut impl Sink) -> bool {
        let Forked { code, fork } = forked;
        let goes_on = fork.number > 0 && self.leaves(code, fork.number, copy, out);
        self.strays |= !goes_on;
        goes_on
    }

    /// A packet behind ingress, on its path from a fork; `false` if it has none.
    fn leaves(&mut self, code: &Arc<Code>, fork: usize, copy: &Copy, out: &mut impl Sink) -> bool {
        let now = self.core.now;
        let mut room = std::mem::take(&mut self.room);
        let given = copy.given(now, self.core.held.limited);
        given.write(&copy.kept.words, &mut room.given);
        room.given.extend_from_slice(&copy.carried);
        let bytes = copy.instance.bytes;
        let walked = self.run_path(code, fork, &mut room, &copy.bytes, (bytes, now));
        if let Some(walked) = walked {
            room.told[told::PORT] = copy.port.into();
            room.told[told::PRIORITY] = copy.priority.into();
            let mut passed = Passed {
                packet: copy.instance,
                data: &copy.bytes,
                code,
                walked,
                truncate: None,
            };
            let ending = passed.ending();
            let cuts = [copy.truncate, ending.cut(&room)];
            passed.truncate = cuts.into_iter().flatten().min();
            self.core.count(ending, &room, copy.instance);
            for fired in &ending.events {
                self.core.fire(fired, &passed, &room, out);
            }
        }
        self.room = room;
        walked.is_some()
    }
}

impl Ending {
    /// Bytes that the packet is cut to when sent
    #[inline]
    fn cut(&self, buffers: &Buffers) -> Option<u32> {
        let cut = buffers.told.get(self.cut?)?;
        Some(*cut as u32)
    }
}

impl<'a> Passed<'a> {
    #[inline]
    fn ending(&self) -> &'a Ending {
        &self.code.endings[self.walked.end]
    }

    /// The packet when something happens to it.
    #[inline]
    fn at<'b>(&'b self, buffers: &'b Buffers, fired: Option<&'b Fired>) -> At<'b> {
        let (asked, kept) = buffers.asked(fired.and_then(|fired| fired.request));
        let fork = fired.and_then(|fired| fired.fork.as_ref());
        At {
            packet: self.packet,
            told: &buffers.told,
            truncate: self.truncate,
            bytes: self.data,
            output: &buffers.output[..self.walked.length],
            asked,
            kept,
            machine: None,
            fork: fork.map(|fork| (self.code, fork)),
        }
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

    /// Something happens to a packet at the end of its path.
    fn fire(&mut self, fired: &Fired, passed: &Passed<'_>, buffers: &Buffers, out: &mut impl Sink) {
        let mut at = passed.at(buffers, Some(fired));
        let event = Event::numbered(fired.event);
        if let (Event::Digest, Some(request)) = (event, fired.request) {
            at.asked.word = request.call.into();
            self.take_digest(request, &buffers.told);
        }
        self.happens(event, &at, out, &mut nobody());
    }

    /// The values of a digest, from what has been told for it.
    fn take_digest(&mut self, request: Request, told: &[u64]) {
        let Call::Digest { data } = &self.image.calls[request.call as usize] else {
            return;
        };
        let mut rest = &told[request.words..];
        let values = data.iter().map(|place| {
            let (own, after) = rest.split_at(slots(place).len());
            rest = after;
            own.to_vec()
        });
        self.externs.digest = values.collect();
    }
}
