//! Packets on their segments: blocks are run, and the glue between them is executed.
//!
//! The interpreter runs one block after the other. Native code runs as many as it can in one go, with the
//! glue in between, until something happens to the packet or a block ends otherwise than well. Which of
//! the two runs makes no other difference.

use super::ready::{Next, Ready, Words};
use super::{Architecture, Asked, Open, Requests, SegmentHost, Stage};
use crate::engine::Engine;
use crate::tree::Follow;
use crate::Sink;
use p4_ir::glue::{self, Test};
use p4_ir::interp::{Machine, Outcome, Prepared};
use p4_ir::ir::Pc;
use p4_ir::trace::Tracer;

/// What carries packets: their frame and bytes, what runs blocks, and the words given with a packet.
#[derive(Debug)]
#[repr(C)] // what a packet on a fast path looks at comes first
pub(crate) struct Carrier {
    pub engine: Engine,
    pub machine: Machine,
    pub given: Vec<u64>,
}

/// A packet under way, besides its frame and its bytes.
#[derive(Debug)]
pub(crate) struct Travel<P> {
    pub packet: P,
    /// Bytes that it is cut to when sent
    pub truncate: Option<u32>,
    progress: Progress,
}

/// How far a packet is.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Index of its segment
    segment: usize,
    /// What was asked for up to the last [`Glue::Take`](glue::Glue)
    asked: Requests,
    /// What is next of the glue
    next: Next,
}

/// What glue in the midst of a native run needs.
#[derive(Debug)]
pub(crate) struct Between<'a> {
    stage: &'a Stage,
    /// Blocks of it that were over before the run
    before: usize,
    progress: &'a mut Progress,
    truncate: &'a mut Option<u32>,
    given: &'a mut [u64],
    is_busy: bool,
}

impl<P> Travel<P> {
    pub fn new(segment: usize, packet: P) -> Travel<P> {
        let progress = Progress {
            segment,
            asked: Requests::default(),
            next: Next::default(),
        };
        Travel {
            packet,
            truncate: None,
            progress,
        }
    }

    /// The request that an event takes.
    pub fn request(&self, event: &glue::Event) -> Asked {
        let asked = |test: &Test| match test {
            Test::Asked(kind) => self.progress.asked.of(*kind),
            _ => None,
        };
        event.tests.iter().find_map(asked).unwrap_or_default()
    }
}

impl Progress {
    /// Executes glue from the next operation on, up to an event that happens; that is the next one then.
    #[inline]
    fn glue(
        &mut self,
        glue: &Ready,
        words: (&mut [u64], &mut [u64]),
        (length, is_busy): (u64, bool),
        requests: &mut Requests,
        truncate: &mut Option<u32>,
    ) -> Option<glue::Event> {
        let (given, frame) = words;
        let mut words = Words {
            given,
            requests,
            asked: &mut self.asked,
            truncate,
        };
        words.renew(length, is_busy);
        glue.run(&mut self.next, &mut words, frame)
    }
}

impl Between<'_> {
    /// Glue after block `last` of a native run, which has ended well; `false` if something happens.
    #[inline]
    pub fn goes_on(
        &mut self,
        last: usize,
        frame: &mut [u64],
        length: i64,
        requests: &mut Requests,
    ) -> bool {
        let Ok(length) = u64::try_from(length) else {
            return false;
        };
        let glue = &self.stage.glue[self.before + last + 1];
        let around = (length, self.is_busy);
        let words = (&mut *self.given, frame);
        let happens = self
            .progress
            .glue(glue, words, around, requests, self.truncate);
        happens.is_none()
    }
}

/// Bytes of the packet, with what `setValid` and `setInvalid` have added and removed.
pub(crate) fn length(machine: &Machine) -> u64 {
    let length = machine.packet.length() as i64 + machine.length_delta;
    length.max(0) as u64
}

impl Carrier {
    pub fn new(prepared: &Prepared) -> Carrier {
        Carrier {
            machine: Machine::new(prepared),
            engine: Engine::default(),
            given: Vec::new(),
        }
    }

    /// Frame and packet as nobody has touched them yet.
    #[inline]
    pub fn load<F: Follow>(&mut self, prepared: &Prepared, data: &[u8]) {
        self.engine.reset::<F::Tracer>(prepared, &mut self.machine);
        self.machine.packet.load(data);
    }

    /// Carries a packet along its segment until it ends there.
    pub fn carry<A: Architecture, F: Follow>(
        &mut self,
        core: &mut A,
        mut travel: Travel<A::Packet>,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        follow.begins(travel.progress.segment);
        core.begin(&travel.packet);
        let n = core.open(travel.progress.segment).stage.blocks.len();
        let mut done = 0;
        while self.goes_on(core, done, &mut travel, out, follow) && done < n {
            let (last, outcome) = self.run(core, done, &mut travel, follow);
            let block = core.open(travel.progress.segment).stage.blocks[last];
            if let Err(reason) = core.ended(self, &travel.packet, block, outcome, follow) {
                return core.dropped(reason, follow);
            }
            done = last + 1;
        }
    }

    /// The glue after so many blocks, with all that happens to the packet; `false` if it ends here.
    fn goes_on<A: Architecture, F: Follow>(
        &mut self,
        core: &mut A,
        done: usize,
        travel: &mut Travel<A::Packet>,
        out: &mut dyn Sink,
        follow: &mut F,
    ) -> bool {
        while let Some(event) = self.next_event(core, done, travel) {
            travel.progress.next.happened();
            follow.event(&event);
            core.happens(event, self, travel, out, follow);
            if event.ends {
                return false;
            }
        }
        true
    }

    /// Executes the glue after so many blocks up to the next event.
    #[inline]
    fn next_event<A: Architecture>(
        &mut self,
        core: &mut A,
        done: usize,
        travel: &mut Travel<A::Packet>,
    ) -> Option<glue::Event> {
        let is_busy = core.is_busy();
        let Open {
            stage, mut host, ..
        } = core.open(travel.progress.segment);
        let glue = &stage.glue[done];
        if glue.is_empty() {
            return None;
        }
        let machine = &mut self.machine;
        let around = (length(machine), is_busy);
        let words = (self.given.as_mut_slice(), machine.frame.as_mut_slice());
        let Travel {
            progress, truncate, ..
        } = travel;
        let event = progress.glue(glue, words, around, host.requests(), truncate);
        if event.is_none() {
            // No packet is shorter than nothing.
            machine.length_delta = machine.length_delta.max(-(machine.packet.length() as i64));
        }
        event
    }

    /// Runs the block after so many, and with native code perhaps more: how many were over before the last
    /// that ran, and how that ended.
    fn run<A: Architecture, F: Follow>(
        &mut self,
        core: &mut A,
        done: usize,
        travel: &mut Travel<A::Packet>,
        follow: &mut F,
    ) -> (usize, Outcome) {
        if core.runs_one_by_one() || !self.engine.is_native::<F::Tracer>() {
            let stage = core.open(travel.progress.segment).stage;
            let (entry, block) = (stage.segment.blocks[done], stage.blocks[done]);
            return (done, self.run_block(core, entry, follow.tracer(block)));
        }
        let is_busy = core.is_busy();
        let Open {
            stage, mut host, ..
        } = core.open(travel.progress.segment);
        host.be_between(Between {
            stage,
            before: done,
            progress: &mut travel.progress,
            truncate: &mut travel.truncate,
            given: &mut self.given,
            is_busy,
        });
        let blocks = &stage.segment.blocks[done..];
        let (last, outcome) = self.engine.run_all(blocks, &mut self.machine, &mut host);
        (done + last, outcome)
    }

    /// Apart from all else, as the interpreter becomes part of it.
    #[inline(never)]
    pub fn run_block<A: Architecture, T: Tracer>(
        &mut self,
        core: &mut A,
        entry: Pc,
        tracer: &mut T,
    ) -> Outcome {
        let Open {
            prepared, mut host, ..
        } = core.open(0);
        let machine = &mut self.machine;
        self.engine.run(prepared, entry, machine, &mut host, tracer)
    }
}
