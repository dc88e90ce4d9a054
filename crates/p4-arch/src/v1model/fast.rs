//! A packet on fast paths, and what is made from it as well.
//!
//! What happens to a packet on a path happens when it has come to its end: counters count, a clone
//! leaves, the packet does. As these do not see each other, nobody can tell that they happen a little later
//! than they otherwise would. Registers and meters change at once, and are taken back if the packet leaves
//! its path (`undo.rs`). A packet without a path is the switch's as ever.

use super::calls::{slots, Call};
use super::events::{At, Core};
use super::externs::Running;
use super::image::Image;
use super::queue::{Again, Instance};
use super::stages::{given, Event, Stages};
use super::switch::Switch;
use crate::segments::{asked, known, Code, FastPaths, Known, Learner, Recording};
use crate::tree::Nothing;
use crate::{Port, Sink};
use p4_ir::glue::Segment;
use p4_ir::interp::{Machine, Prepared};
use p4_ir::ir::InstanceId;
use p4_ir::native::Native;
use p4_ir::paths::{Buffers, End, Fired, Request, Walked};
use p4_ir::trace::NoTrace;
use p4_time::Time;
use std::sync::Arc;

/// The paths of a switch, and room for the packet on them.
#[derive(Debug)]
pub(super) struct Fast {
    pub paths: FastPaths<Ending>,
    /// They end at egress queues, which hold packets back.
    are_limited: bool,
    own: Buffers,
}

/// What the switches of a network share that take packets one after the other: fast paths with their
/// buffers, by program and by whether queues hold packets back. A thousand switches then touch no more of
/// them than one does.
#[derive(Debug, Default)]
pub struct Workspace {
    all: Vec<Option<Box<Fast>>>,
}

impl Workspace {
    /// The paths of all such switches that run `native`
    #[inline]
    pub(super) fn of(
        &mut self,
        native: &Arc<dyn Native>,
        are_limited: bool,
    ) -> Option<&mut Option<Box<Fast>>> {
        let is_own = |fast: &Fast| fast.are_limited == are_limited && fast.paths.are_of(native);
        let mut known = self.all.iter();
        let at = known.position(|fast| fast.as_deref().is_some_and(is_own));
        let at = at.unwrap_or_else(|| {
            let mut fast = Fast::of(native);
            fast.are_limited = are_limited;
            let is_left = |fast: &Fast| fast.paths.are_left();
            self.all
                .retain(|fast| !fast.as_deref().is_some_and(is_left));
            self.all.push(Some(Box::new(fast)));
            self.all.len() - 1
        });
        self.all.get_mut(at)
    }
}

/// What becomes of a packet at the end of a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    /// Counters, and where their indices are in what is told
    counts: Vec<(InstanceId, usize)>,
    pub(super) events: Vec<Fired>,
    /// Where in what is told the bytes are that it is cut to
    cut: Option<usize>,
    /// It leaves, and nothing else is made of it.
    pub(super) is_sent: bool,
}

/// What paths are made from, and whether they end at egress queues.
struct Rules<'a>(&'a Image, bool);

impl Learner for Rules<'_> {
    type Ending = Ending;

    fn segment(&self, index: usize) -> Segment {
        let Rules(image, are_limited) = *self;
        image.stages(false).with_copies(index, image, are_limited)
    }

    fn ending(&self, end: &End) -> Ending {
        let count = |request: &Request| match &self.0.calls[request.call as usize] {
            Call::Count { counter, .. } => Some((*counter, request.words)),
            _ => None,
        };
        let events = end.events.iter();
        let is_sent = events
            .map(|fired| Event::numbered(fired.event))
            .eq([Event::Queue, Event::Transmit]);
        Ending {
            counts: end.calls.iter().filter_map(count).collect(),
            cut: end.cut,
            is_sent,
            events: end.events.clone(),
        }
    }

    fn is_whole(&self, end: &End) -> bool {
        let goes_on = |fired: &Fired| match Event::numbered(fired.event) {
            Event::Multicast | Event::EgressClone => true,
            Event::Queue => self.1,
            _ => false,
        };
        let mut events = end.events.iter();
        events.all(|fired| fired.fork.is_some() || !goes_on(fired))
    }

    fn prepared(&self) -> &Prepared {
        &self.0.prepared
    }
}

impl Fast {
    /// No paths yet; `None` if the metadata of the program is not v1model's.
    pub fn new(image: &Image, native: &Arc<dyn Native>) -> Option<Fast> {
        let standard = &image.standard;
        standard.egress_spec.and(standard.mcast_grp)?;
        standard.priority?;
        Some(Fast::of(native))
    }

    fn of(native: &Arc<dyn Native>) -> Fast {
        Fast {
            paths: FastPaths::new(native),
            are_limited: false,
            own: Buffers::default(),
        }
    }

    /// Paths end at egress queues from now on, or no longer.
    fn limit(&mut self, are_limited: bool) {
        if self.are_limited != are_limited {
            self.are_limited = are_limited;
            self.paths.forget();
        }
    }

    /// Adds the paths of a packet that was recorded.
    fn learn(&mut self, image: &Image, recording: &Recording) {
        let rules = Rules(image, self.are_limited);
        for (segment, path) in recording.paths(image, self.are_limited) {
            self.paths.learn(&rules, segment, path);
        }
    }
}

/// Sets the words that a packet comes with; for buffers that only such packets use.
#[inline]
fn give(buffers: &mut Buffers, ingress_port: Port, now: Time, kept: &[u64]) {
    let (now, words) = (now.micros(), &mut buffers.given);
    words.resize(given::KEPT, 0);
    words[given::INGRESS_PORT] = ingress_port.into();
    words[given::NOW] = now;
    words[given::ENQUEUED] = now;
    words.extend_from_slice(kept);
}

/// A packet that has come to the end of a path.
pub(super) struct Passed<'a> {
    pub packet: Instance,
    /// As its last parser saw it
    pub data: &'a [u8],
    pub code: &'a Arc<Code<Ending>>,
    pub walked: Walked,
    /// Bytes that it is cut to when sent
    pub truncate: Option<u32>,
}

pub(super) fn nobody() -> Nothing<NoTrace> {
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
        out: &mut dyn Sink,
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
        let mut taken = !fast.paths.due && self.arrives(&mut fast, now, port, data, out);
        if !taken && (fast.paths.due || fast.paths.missed()) {
            fast.paths.due = false;
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
        fast: &mut Fast,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut dyn Sink,
    ) -> bool {
        let (all, own) = (&fast.paths.all, &mut fast.own);
        let packet = Instance {
            id: 0,
            ingress_port: port,
            passes: 0,
            bytes: data.len() as u64,
        };
        give(own, port, now, &[]);
        let Some(passed) = self.pass(all, Stages::ARRIVAL, own, (packet, data), now) else {
            return false;
        };
        self.on_paths += 1;
        self.core.receive(now, data.len());
        let mut all_known = self.finish(all, own, &passed, out);
        if passed.ending().is_sent {
            // Nothing else waits either.
            return true;
        }
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
            fast.paths.due |= fast.paths.missed();
            self.settle(out, &mut nobody());
        }
        true
    }

    /// A packet that was sent back: what [`Switch::finish`] says, `None` if it has no path.
    fn comes_again(
        &mut self,
        all: &[Known<Ending>],
        own: &mut Buffers,
        again: &Again,
        out: &mut dyn Sink,
    ) -> Option<bool> {
        let mut packet = again.instance;
        packet.bytes = again.bytes.len() as u64;
        let index = self.core.stages().index(again.start());
        let now = self.core.now;
        give(own, packet.ingress_port, now, &again.kept.words);
        let passed = self.pass(all, index, own, (packet, &again.bytes), now)?;
        Some(self.finish(all, own, &passed, out))
    }

    /// One pass through the switch. But for cells, nothing has been done yet.
    #[inline]
    fn pass<'a>(
        &mut self,
        all: &'a [Known<Ending>],
        index: usize,
        own: &mut Buffers,
        (packet, data): (Instance, &'a [u8]),
        now: Time,
    ) -> Option<Passed<'a>> {
        let code = &known(all, index)?.code;
        let machine = &mut self.carrier.machine;
        let taken = (data, packet.bytes, now);
        let walked = self.core.run_path(code, 0, own, taken, machine)?;
        let truncate = code.endings.get(walked.end as usize)?.cut(own);
        Some(Passed {
            packet,
            data,
            code,
            walked,
            truncate,
        })
    }
}

impl Ending {
    /// Bytes that the packet is cut to when sent
    #[inline]
    pub(super) fn cut(&self, buffers: &Buffers) -> Option<u32> {
        let cut = buffers.told.get(self.cut?)?;
        Some(*cut as u32)
    }
}

impl<'a> Passed<'a> {
    #[inline]
    pub fn ending(&self) -> &'a Ending {
        &self.code.endings[self.walked.end as usize]
    }

    /// The packet when something happens to it.
    #[inline]
    pub fn at<'b>(&'b self, buffers: &'b Buffers, fired: Option<&'b Fired>) -> At<'b> {
        let (asked, kept) = asked(buffers, fired.and_then(|fired| fired.request));
        let fork = fired.and_then(|fired| fired.fork.as_ref());
        At {
            packet: self.packet,
            told: &buffers.told,
            truncate: self.truncate,
            bytes: self.data,
            output: &buffers.output[..self.walked.length as usize],
            asked,
            kept,
            machine: None,
            fork: fork.map(|fork| (self.code, fork)),
        }
    }
}

impl Core {
    /// Runs the code of the paths from a fork on, for a packet with its bytes at the start of its pass; `None` if
    /// it takes none.
    #[inline]
    pub(super) fn run_path(
        &mut self,
        code: &Code<Ending>,
        fork: usize,
        buffers: &mut Buffers,
        (data, bytes, now): (&[u8], u64, Time),
        machine: &mut Machine,
    ) -> Option<Walked> {
        if code.changes_cells {
            self.externs.try_path(now.picos(), bytes);
        }
        let mut host = Running::new(&self.image, &mut self.externs);
        let walked = code.paths.run(data, fork, buffers, machine, &mut host);
        if code.changes_cells {
            match walked {
                Some(_) => self.externs.keep(),
                None => self.externs.take_back(),
            }
        }
        walked
    }

    #[inline]
    pub(super) fn count(&mut self, ending: &Ending, buffers: &Buffers, packet: Instance) {
        for (counter, word) in &ending.counts {
            let index = buffers.told[*word];
            self.externs.count(*counter, index, packet.bytes);
        }
    }

    /// Something happens to a packet at the end of its path.
    pub(super) fn fire(
        &mut self,
        fired: &Fired,
        passed: &Passed<'_>,
        buffers: &Buffers,
        out: &mut dyn Sink,
    ) {
        let mut at = passed.at(buffers, Some(fired));
        let event = Event::numbered(fired.event);
        if let (Event::Digest, Some(request)) = (event, fired.request) {
            at.asked.word = request.call.into();
            self.take_digest(request, &buffers.told);
        }
        self.happen(event, &at, out, &mut nobody());
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
