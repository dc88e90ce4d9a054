//! Packets on their segments: blocks are run, and the glue between them (`stages.rs`) is executed.
//!
//! The interpreter runs one block after the other. Native code runs as many as it can in one go, with the
//! glue in between, until something happens to the packet or a block ends otherwise than well. Which of
//! the two runs makes no other difference.

use super::events::At;
use super::externs::{Requests, Running};
use super::parts::{Next, Ready, Words};
use super::queue::{restore, Again, Copy, Instance, Origin, Wait};
use super::stages::{block, given, told, Event, Stage, Start};
use super::switch::Switch;
use crate::frame::Field;
use crate::stats::{Drop, Stop};
use crate::tree::{Follow, Kind};
use crate::{Port, Sink};
use p4_ir::glue::{self, Test};
use p4_ir::interp::{errors, Halt, Machine, Outcome};
use p4_ir::ir::Pc;
use p4_ir::trace::Tracer;
use p4_syntax::span::Span;
use p4_time::Time;

/// A packet under way, besides its frame and its bytes.
#[derive(Debug)]
pub(crate) struct Travel {
    /// Index of its segment
    segment: usize,
    pub packet: Instance,
    /// What was asked for up to the last [`Glue::Take`](glue::Glue)
    asked: Requests,
    /// Bytes that it is cut to when sent
    truncate: Option<u32>,
    /// What is next of the glue
    next: Next,
}

/// What glue in the midst of a native run needs.
#[derive(Debug)]
pub(crate) struct Between<'a> {
    stage: &'a Stage,
    /// Blocks of it that were over before the run
    before: usize,
    travel: &'a mut Travel,
    given: &'a mut [u64],
    is_busy: bool,
}

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

impl Travel {
    /// Executes glue from the next operation on, up to an event that happens; that is the next one then.
    #[inline]
    fn glue(
        &mut self,
        glue: &Ready,
        given: &mut [u64],
        (length, is_busy): (u64, bool),
        requests: &mut Requests,
        frame: &mut [u64],
    ) -> Option<glue::Event> {
        let mut words = Words {
            given,
            requests,
            asked: &mut self.asked,
            truncate: &mut self.truncate,
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
        let happens = self.travel.glue(glue, self.given, around, requests, frame);
        happens.is_none()
    }
}

/// Bytes of the packet, with what `setValid` and `setInvalid` have added and removed.
pub(super) fn length(machine: &Machine) -> u64 {
    let length = machine.packet.length() as i64 + machine.length_delta;
    length.max(0) as u64
}

impl Switch {
    /// A packet from outside.
    pub(super) fn arrive<F: Follow>(
        &mut self,
        port: Port,
        data: &[u8],
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        self.load::<F>(data);
        for (slot, n) in &self.core.image.user_metadata {
            self.machine.undefine(&self.core.image.prepared, *slot, *n);
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
        out: &mut impl Sink,
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
        mut copy: Box<Copy>,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        follow.resume(copy.instance.id);
        let fork = copy.fork.take();
        if let Some(forked) = fork.as_ref().filter(|_| !F::Tracer::ON) {
            if self.goes_on(forked, &copy, out) {
                return self.core.queues.done_copy(copy);
            }
        }
        self.load::<F>(&copy.bytes);
        if let Some(forked) = fork {
            forked.fork.restore(&copy.carried, &mut self.machine);
        } else if copy.origin != Origin::IngressClone {
            let machine = &mut self.machine;
            machine.packet.set_cursor(copy.cursor);
            restore(&self.core.image.carried, &copy.carried, &mut machine.frame);
            machine.put_undefined(&copy.unset);
            machine.length_delta = copy.length as i64 - machine.packet.length() as i64;
        }
        let given = copy.given(self.core.now, self.core.held.limited);
        given.write(&copy.kept.words, &mut self.given);
        self.given[given::TOLD + told::PORT] = copy.port.into();
        self.given[given::TOLD + told::PRIORITY] = copy.priority.into();
        let mut travel = self.travel(copy.start(), copy.instance);
        travel.truncate = copy.truncate;
        self.core.queues.done_copy(copy);
        self.carry(travel, out, follow);
    }

    /// Frame and packet as nobody has touched them yet.
    fn load<F: Follow>(&mut self, data: &[u8]) {
        let prepared = &self.core.image.prepared;
        self.engine.reset::<F::Tracer>(prepared, &mut self.machine);
        self.machine.packet.load(data);
    }

    fn give(&mut self, packet: Instance, kept: &[u64]) {
        let given = Given {
            ingress_port: packet.ingress_port,
            now: self.core.now,
            ..Given::default()
        };
        let given = given.at_once();
        given.write(kept, &mut self.given);
    }

    fn travel(&self, start: Start, packet: Instance) -> Travel {
        Travel {
            segment: self.core.stages().index(start),
            packet,
            asked: Requests::default(),
            truncate: None,
            next: Next::default(),
        }
    }

    fn walk<F: Follow>(
        &mut self,
        start: Start,
        packet: Instance,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        let travel = self.travel(start, packet);
        self.carry(travel, out, follow);
    }

    /// Carries a packet along its segment until it ends there.
    fn carry<F: Follow>(&mut self, mut travel: Travel, out: &mut impl Sink, follow: &mut F) {
        follow.begins(travel.segment);
        let (now, bytes) = (self.core.now.picos(), travel.packet.bytes);
        self.core.externs.begin(now, bytes);
        let n = self.stage(&travel).blocks.len();
        let mut done = 0;
        while self.does_glue(done, &mut travel, out, follow) && done < n {
            let (last, outcome) = self.run(done, &mut travel, follow);
            if let Err(reason) = self.ended(last, outcome, &travel) {
                return self.core.dropped(reason, follow);
            }
            done = last + 1;
        }
    }

    fn stage(&self, travel: &Travel) -> &Stage {
        self.core.stages().stage(travel.segment)
    }

    /// The glue after so many blocks, with all that happens to the packet; `false` if it ends here.
    fn does_glue<F: Follow>(
        &mut self,
        done: usize,
        travel: &mut Travel,
        out: &mut impl Sink,
        follow: &mut F,
    ) -> bool {
        loop {
            let is_busy = self.core.is_busy();
            let Switch {
                core,
                machine,
                given,
                ..
            } = self;
            let stages = core.image.stages(core.config.bmv2_compat);
            let glue = &stages.stage(travel.segment).glue[done];
            if glue.is_empty() {
                return true;
            }
            let around = (length(machine), is_busy);
            let requests = &mut core.externs.requests;
            let Some(event) = travel.glue(glue, given, around, requests, &mut machine.frame) else {
                // No packet is shorter than nothing.
                machine.length_delta = machine.length_delta.max(-(machine.packet.length() as i64));
                return true;
            };
            travel.next.happened();
            self.happens(event, travel, out, follow);
            if event.ends {
                return false;
            }
        }
    }

    fn happens<F: Follow>(
        &mut self,
        event: glue::Event,
        travel: &Travel,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        let asked = |test: &Test| match test {
            Test::Asked(kind) => travel.asked.of(*kind),
            _ => None,
        };
        let asked = event.tests.iter().find_map(asked).unwrap_or_default();
        let frame = &self.machine.frame;
        self.core.image.save_list(asked.list, frame, &mut self.kept);
        let event = Event::numbered(event.id);
        if event.is_of_deparsed() {
            self.machine.packet.append_payload();
        }
        let at = At {
            packet: travel.packet,
            told: &self.given[given::TOLD..given::KEPT],
            truncate: travel.truncate,
            bytes: self.machine.packet.bytes(),
            output: self.machine.packet.output(),
            asked,
            kept: &self.kept,
            machine: Some(&self.machine),
            fork: None,
        };
        self.core.happens(event, &at, out, follow);
    }

    /// Runs the block after so many, and with native code perhaps more: how many were over before the last
    /// that ran, and how that ended.
    fn run<F: Follow>(
        &mut self,
        done: usize,
        travel: &mut Travel,
        follow: &mut F,
    ) -> (usize, Outcome) {
        // simple_switch has something to look for after each block.
        let is_one_by_one = self.core.config.bmv2_compat;
        if is_one_by_one || !self.engine.is_native::<F::Tracer>() {
            let stage = self.stage(travel);
            let (entry, block) = (stage.segment.blocks[done], stage.blocks[done]);
            return (done, self.run_block(entry, follow.tracer(block)));
        }
        let is_busy = self.core.is_busy();
        let core = &mut self.core;
        let stage = core.image.stages(false).stage(travel.segment);
        let mut host = Running {
            image: &core.image,
            externs: &mut core.externs,
            between: Some(Between {
                stage,
                before: done,
                travel,
                given: &mut self.given,
                is_busy,
            }),
        };
        let blocks = &stage.segment.blocks[done..];
        let (last, outcome) = self.engine.run_all(blocks, &mut self.machine, &mut host);
        (done + last, outcome)
    }

    /// Apart from all else, as the interpreter becomes part of it.
    #[inline(never)]
    fn run_block<T: Tracer>(&mut self, entry: Pc, tracer: &mut T) -> Outcome {
        let mut host = Running {
            image: &self.core.image,
            externs: &mut self.core.externs,
            between: None,
        };
        let prepared = &self.core.image.prepared;
        let machine = &mut self.machine;
        self.engine.run(prepared, entry, machine, &mut host, tracer)
    }

    /// Notes how a block ended; why the packet is lost, if it is. An error ends the parser, and the
    /// packet goes on.
    #[inline]
    fn ended(&mut self, last: usize, outcome: Outcome, travel: &Travel) -> Result<(), Drop> {
        let is_plain = !self.core.config.bmv2_compat && self.core.externs.stop.is_none();
        if is_plain && outcome == Outcome::Done {
            return Ok(());
        }
        if self.stage(travel).blocks[last] == block::PARSER {
            let error = match outcome {
                Outcome::Done | Outcome::Halted(_) => errors::NO_ERROR.into(),
                Outcome::Rejected { error } if error == errors::UNMATCHED => {
                    let field = self.core.image.standard.parser_error;
                    Field::get(field, &self.machine.frame)
                }
                Outcome::Rejected { error } => error.into(),
                Outcome::OutOfFuel => errors::PARSER_TIMEOUT.into(),
            };
            self.given[given::ERROR] = error;
            return Ok(());
        }
        let core = &mut self.core;
        if core.config.bmv2_compat && self.machine.out_of_stack {
            let span = Span::NONE;
            core.externs.stop = Some(Stop::OutOfRange { span });
        }
        if core.externs.stop.is_some() {
            return Err(core.halted());
        }
        match outcome {
            Outcome::Done | Outcome::Rejected { .. } => Ok(()),
            Outcome::OutOfFuel => Err(Drop::OutOfFuel),
            Outcome::Halted(Halt::Call(_)) => Err(core.halted()),
            Outcome::Halted(Halt::Trap(_)) => Err(Drop::IllFormed),
        }
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
