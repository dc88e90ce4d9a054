//! What happens to a packet at the end of its path, and packets that leave on paths because of it.
//!
//! Copies and clones wait for their turn in a queue, with their bytes. Where nothing waits before them, and
//! nothing else happens until they leave, they leave from where the packet is instead: nobody can tell.

use super::events::At;
use super::fast::{nobody, Ending, Passed};
use super::queue::{Copy, Forked, Instance, Origin};
use super::stages::{told, Event, Start};
use super::switch::Switch;
use super::walk::Given;
use crate::segments::{known, Code, Known};
use crate::{Port, Sink};
use p4_ir::paths::Buffers;
use std::sync::Arc;

/// A packet behind ingress.
struct Leaving<'a> {
    instance: Instance,
    /// As its last parser saw it
    data: &'a [u8],
    given: Given,
    /// Of the queues at its port
    priority: u8,
    /// The fields of its list, and the words kept where it goes on
    kept: &'a [u64],
    carried: &'a [u64],
    /// Bytes that it is cut to when sent
    truncate: Option<u32>,
}

impl Switch {
    /// All that happens to a packet; `false` if one that was made from it took a path that is not known.
    #[inline]
    pub(super) fn finish(
        &mut self,
        all: &[Known<Ending>],
        own: &Buffers,
        passed: &Passed<'_>,
        out: &mut dyn Sink,
    ) -> bool {
        let ending = passed.ending();
        self.core.count(ending, own, passed.packet);
        if ending.is_sent {
            let at = passed.at(own, None);
            self.core.transmit(&at, out, &mut nobody());
            return true;
        }
        self.all_happens(all, own, passed, out)
    }

    /// The same. Apart, so that a packet that only leaves does so within its caller.
    fn all_happens(
        &mut self,
        all: &[Known<Ending>],
        own: &Buffers,
        passed: &Passed<'_>,
        out: &mut dyn Sink,
    ) -> bool {
        let mut all_known = true;
        let mut events = passed.ending().events.iter().peekable();
        while let Some(fired) = events.next() {
            let at_once = !self.core.held.limited && self.core.queues.nothing_leaves();
            let next = events.peek().map(|next| Event::numbered(next.event));
            let at = || passed.at(own, Some(fired));
            all_known &= match Event::numbered(fired.event) {
                Event::Queue if !self.core.held.limited => self.others_leave(all, out),
                Event::Multicast if at_once => {
                    self.copies_leave(&at(), out);
                    true
                }
                Event::IngressClone if at_once && next == Some(Event::Queue) => {
                    self.clones_leave(all, &at(), out)
                }
                _ => {
                    self.core.fire(fired, passed, own, out);
                    true
                }
            };
        }
        all_known & self.others_leave(all, out)
    }

    /// What waits leaves; `false` if one of them had no path.
    fn others_leave(&mut self, all: &[Known<Ending>], out: &mut dyn Sink) -> bool {
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

    /// Copies for all ports of a group leave at once. One without a path is a stray.
    fn copies_leave(&mut self, at: &At<'_>, out: &mut dyn Sink) {
        let (group, mut n) = (at.told[told::GROUP] as u32, 0);
        self.core.copies(at, &mut nobody(), |_, _, _| n += 1);
        for index in 0..n {
            let Some(replica) = self.core.group(group).get(index).copied() else {
                break;
            };
            let target = (replica.port, replica.rid);
            let has_left = at.fork.is_some_and(|(code, fork)| {
                let leaving = Leaving {
                    carried: &at.told[fork.kept.0..][..fork.kept.1],
                    priority: at.told[told::PRIORITY] as u8,
                    ..self.leaving(at, target)
                };
                fork.number > 0 && self.leaves(code, fork.number, &leaving, out)
            });
            if !has_left {
                let copy = self.core.copy(at, Origin::Replica, target);
                self.strays |= copy.fork.is_some();
                self.egress_by_blocks(copy, out, &mut nobody());
            }
        }
    }

    /// The same for clones from ingress, for all ports of a session; `false` if one of them had no path.
    fn clones_leave(&mut self, all: &[Known<Ending>], at: &At<'_>, out: &mut dyn Sink) -> bool {
        let (origin, mut n) = (Origin::IngressClone, 0);
        let session = self
            .core
            .clones(at, origin, &mut nobody(), |_, _, _, _| n += 1);
        let Some(session) = session else {
            return true;
        };
        let index = self.core.stages().index(Start::IngressClone(at.asked.list));
        let mut all_known = true;
        for clone in 0..n {
            let Some(target) = self.core.clone_target(session, clone) else {
                break;
            };
            let leaving = Leaving {
                kept: at.kept,
                truncate: session.truncate,
                ..self.leaving(at, target)
            };
            let has_left =
                known(all, index).is_some_and(|known| self.leaves(&known.code, 0, &leaving, out));
            if !has_left {
                let clone = self.core.clone_of(at, origin, session, target);
                self.egress_by_blocks(clone, out, &mut nobody());
            }
            all_known &= has_left;
        }
        all_known
    }

    fn leaving<'a>(&self, at: &At<'a>, (port, rid): (Port, u16)) -> Leaving<'a> {
        let given = Given {
            ingress_port: at.packet.ingress_port,
            now: self.core.now,
            port,
            rid,
            ..Given::default()
        };
        Leaving {
            instance: at.packet,
            data: at.bytes,
            given: given.at_once(),
            priority: 0,
            kept: &[],
            carried: &[],
            truncate: None,
        }
    }

    /// `false` if the clone has no path.
    fn clone_leaves(&mut self, all: &[Known<Ending>], copy: &Copy, out: &mut dyn Sink) -> bool {
        let index = self.core.stages().index(copy.start());
        known(all, index).is_some_and(|known| self.copy_leaves(&known.code, 0, copy, out))
    }

    /// A packet goes on from where it was made on a path; `false` if it has none from there.
    pub(super) fn goes_on(&mut self, forked: &Forked, copy: &Copy, out: &mut dyn Sink) -> bool {
        let Forked { code, fork } = forked;
        let goes_on = fork.number > 0 && self.copy_leaves(code, fork.number, copy, out);
        self.strays |= !goes_on;
        goes_on
    }

    fn copy_leaves(
        &mut self,
        code: &Arc<Code<Ending>>,
        fork: usize,
        copy: &Copy,
        out: &mut dyn Sink,
    ) -> bool {
        let leaving = Leaving {
            instance: copy.instance,
            data: &copy.bytes,
            given: copy.given(self.core.now, self.core.held.limited),
            priority: copy.priority,
            kept: &copy.kept.words,
            carried: &copy.carried,
            truncate: copy.truncate,
        };
        self.leaves(code, fork, &leaving, out)
    }

    /// A packet behind ingress, on its path from a fork; `false` if it has none.
    fn leaves(
        &mut self,
        code: &Arc<Code<Ending>>,
        fork: usize,
        leaving: &Leaving<'_>,
        out: &mut dyn Sink,
    ) -> bool {
        let Switch {
            core,
            carrier,
            room,
            ..
        } = self;
        let (packet, data) = (leaving.instance, leaving.data);
        leaving.given.write(leaving.kept, &mut room.given);
        room.given.extend_from_slice(leaving.carried);
        let taken = (data, packet.bytes, core.now);
        let walked = core.run_path(code, fork, room, taken, &mut carrier.machine);
        let Some(walked) = walked else {
            return false;
        };
        room.told[told::PORT] = leaving.given.port.into();
        room.told[told::PRIORITY] = leaving.priority.into();
        let mut passed = Passed {
            packet,
            data,
            code,
            walked,
            truncate: None,
        };
        let ending = passed.ending();
        let cuts = [leaving.truncate, ending.cut(room)];
        passed.truncate = cuts.into_iter().flatten().min();
        core.count(ending, room, packet);
        for fired in &ending.events {
            core.fire(fired, &passed, room, out);
        }
        true
    }
}
