//! One switch: what a packet meets from the moment it arrives until nothing of it is left.

use super::egress_queues::{EgressQueues, Queued};
use super::events::Core;
use super::externs::Externs;
use super::fast::{Fast, Workspace};
use super::image::Image;
use super::queue::{Copy, Queues, Waiting};
use crate::error::ArchError;
use crate::hash::CrcParameters;
use crate::segments::{Architecture, Carrier};
use crate::stats::{Drop, Stats, Stop};
use crate::tree::{Follow, Nothing, Trace, Tree};
use crate::{Digest, Port, Sink};
use p4_ir::native::Native;
use p4_ir::paths::Buffers;
use p4_ir::trace::{NoTrace, Silent};
use p4_state::{IdleEntry, State, Update, WriteError};
use p4_syntax::span::Span;
use p4_time::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// The port that stands for dropping.
pub const DROP_PORT: u64 = 511;

/// What is chosen for a switch once and for all.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Of the switch's own random numbers
    pub seed: u64,
    /// Fill what P4 leaves undefined with noise from this seed, and mark its reads in traces: also
    /// the program's metadata, which v1model.p4 does not promise to be zero. Costs speed.
    pub undefined: Option<u64>,
    /// Do as simple_switch does where v1model.p4 says otherwise; docs/bmv2.md lists all of it. The
    /// program should have been lowered with [`AsBmv2`](super::AsBmv2) too.
    pub bmv2_compat: bool,
    pub assertions: Assertions,
    /// How often a packet may be resubmitted or recirculated
    pub max_passes: u32,
    /// How many packets one arriving packet may become
    pub max_packets: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            seed: 0,
            undefined: None,
            bmv2_compat: false,
            assertions: Assertions::default(),
            max_passes: 1024,
            max_packets: 16_384,
        }
    }
}

/// What `assert` or `assume` of something false does, besides being counted and told in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assertions {
    /// The packet is dropped.
    #[default]
    Drop,
    /// The switch takes no more packets, as simple_switch does (and always with
    /// [`Config::bmv2_compat`]).
    Stop,
}

/// A v1model switch. The switches of a large network do not fit into the cache, so what a packet on a fast
/// path needs is in three lines of it (the first one here, the first one of `core`, and that in which its
/// statistics end) and in one of its state for each table and array, which is at most a page away. What only
/// leaves looks at no queue.
#[repr(C, align(64))]
pub struct Switch {
    /// Paths that many packets take, if there is native code
    pub(super) fast: Option<Box<Fast>>,
    /// Arrived packets that took a path
    pub(super) on_paths: u64,
    pub(super) carrier: Carrier,
    pub(super) core: Core,
    /// For packets on paths that have waited
    pub(super) room: Buffers,
    /// One of them has lost its path.
    pub(super) strays: bool,
}

impl Switch {
    /// A switch that runs `image`, its tables as the program sets them.
    pub fn new(image: Arc<Image>, config: Config) -> Result<Switch, ArchError> {
        let state = State::new(image.prepared.share(), &image.resources)?
            .with_bmv2_compat(config.bmv2_compat);
        if let (true, Some(span)) = (config.bmv2_compat, image.random_hash) {
            let message = "simple_switch has no HashAlgorithm.random; use crc32 or another";
            return Err(ArchError::new(message, span));
        }
        let mut carrier = Carrier::new(&image.prepared);
        if let Some(seed) = config.undefined {
            carrier.machine.show_undefined(&image.prepared, seed);
        }
        let core = Core {
            externs: Externs::new(&image, state, &config),
            image,
            config,
            queues: Queues::default(),
            digests: VecDeque::new(),
            now: Time::ZERO,
            packets: 0,
            held: EgressQueues::default(),
            stopped: None,
            kept: Vec::new(),
        };
        Ok(Switch {
            core,
            carrier,
            fast: None,
            on_paths: 0,
            room: Buffers::default(),
            strays: false,
        })
    }

    /// Runs the blocks with `native` from now on, or with the interpreter if it is `None`. Packets
    /// that are traced, and switches that show what is undefined, are always interpreted. Nothing
    /// else about the switch changes. An error if the code was made from another program.
    pub fn set_native(&mut self, native: Option<Arc<dyn Native>>) -> Result<(), ArchError> {
        let engine = &mut self.carrier.engine;
        engine.set(&self.core.image.prepared, native)?;
        let is_plain = !self.core.config.bmv2_compat && !self.carrier.machine.shows_undefined();
        let native = self.carrier.engine.native().filter(|_| is_plain);
        let fast = native.and_then(|native| Fast::new(&self.core.image, native));
        self.fast = fast.map(Box::new);
        Ok(())
    }

    /// With native code: after how many packets that take none of the paths known so far a packet's own
    /// path is made code of (twice as many after one that taught nothing, and so on). Nothing else
    /// depends on it.
    pub fn set_patience(&mut self, packets: u64) {
        if let Some(fast) = &mut self.fast {
            fast.paths.set_patience(packets);
        }
    }

    /// Arrived packets that took a path known before.
    pub fn packets_on_paths(&self) -> u64 {
        self.on_paths
    }

    pub fn image(&self) -> &Arc<Image> {
        &self.core.image
    }

    pub fn config(&self) -> &Config {
        &self.core.config
    }

    /// Why the switch takes no more packets, if it does not.
    pub fn stopped(&self) -> Option<&Stop> {
        self.core.stopped.as_deref()
    }

    /// What the control plane can read.
    pub fn state(&self) -> &State {
        &self.core.externs.state
    }

    /// What the switch has counted about itself.
    pub fn stats(&self) -> Stats {
        self.core.externs.stats
    }

    /// Applies all updates between two packets, or none of them.
    pub fn write(&mut self, batch: &[Update]) -> Result<(), WriteError> {
        self.core.externs.state.write(batch)
    }

    /// Digests since the last call, oldest first.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        self.core.digests.drain(..).collect()
    }

    /// Entries that nothing has hit for their time, each told once per timeout; for tables with
    /// `support_timeout = true`.
    pub fn idle_entries(&mut self, now: Time) -> Vec<IdleEntry> {
        self.core.externs.state.idle_entries(now.picos())
    }

    /// Gives the CRC of a call with `crc16_custom` or `crc32_custom` other parameters. Calls are
    /// named as p4c names them for bmv2: `calc`, then `calc_0`, `calc_1`, counted over all calls of
    /// `hash` in ingress and egress, then the checksums to update, then those to verify.
    pub fn set_crc(&mut self, name: &str, parameters: CrcParameters) -> Result<(), ArchError> {
        let known = &self.core.image.customs;
        let named = known.iter().position(|custom| custom.name == name);
        let fits = named.filter(|index| known[*index].width == parameters.width);
        let Some(index) = fits else {
            let names: Vec<_> = known.iter().map(|custom| custom.name.as_str()).collect();
            let message = format!(
                "there is no crc{}_custom calculation {name}; those with custom CRCs: {}",
                parameters.width,
                match names.is_empty() {
                    true => "none".to_string(),
                    false => names.join(", "),
                }
            );
            return Err(ArchError::new(message, Span::NONE));
        };
        self.core.externs.set_custom(index, parameters);
        Ok(())
    }

    /// Sets how many packets an egress queue holds: of one port or all, of one priority or all.
    /// Without a rate nothing waits, so the depth matters only with [`Switch::set_queue_rate`].
    pub fn set_queue_depth(
        &mut self,
        port: Option<Port>,
        priority: Option<u8>,
        packets: u64,
    ) -> Result<(), ArchError> {
        self.check_priority(priority)?;
        self.core.held.set_depth(port, priority, packets);
        Ok(())
    }

    /// Sets how many packets per second leave an egress queue, 0 for no limit. A caller that sets
    /// a rate must call [`Switch::advance`] at [`Switch::next_departure`].
    pub fn set_queue_rate(
        &mut self,
        port: Option<Port>,
        priority: Option<u8>,
        packets_per_second: u64,
    ) -> Result<(), ArchError> {
        self.check_priority(priority)?;
        self.core.held.set_rate(port, priority, packets_per_second);
        Ok(())
    }

    /// Takes over depths and rates of queues, which are the switch's and no program's.
    pub fn keep_queue_limits(&mut self, old: &Switch) {
        self.core.held.keep_limits(&old.core.held);
    }

    fn check_priority(&self, priority: Option<u8>) -> Result<(), ArchError> {
        let queues = self.priorities();
        match priority {
            Some(priority) if priority >= queues => {
                let message = format!("priority {priority} is not within 0 to {}", queues - 1);
                Err(ArchError::new(message, Span::NONE))
            }
            _ => Ok(()),
        }
    }

    /// Queues at each port; simple_switch has one unless it is started with more.
    pub(super) fn priorities(&self) -> u8 {
        match self.core.config.bmv2_compat {
            true => 1,
            false => super::egress_queues::PRIORITIES,
        }
    }

    /// When a waiting packet's turn comes next, if one waits.
    #[inline]
    pub fn next_departure(&self) -> Option<Time> {
        self.core
            .held
            .next_time()
            .filter(|_| self.core.stopped.is_none())
    }

    /// Lets the packets leave whose turn comes until `now`.
    pub fn advance(&mut self, now: Time, out: &mut dyn Sink) {
        if self.carrier.machine.shows_undefined() {
            self.depart(now, out, &mut Nothing::<Silent>::default());
        } else {
            self.depart(now, out, &mut Nothing::<NoTrace>::default());
        }
    }

    fn depart<F: Follow>(&mut self, now: Time, out: &mut dyn Sink, follow: &mut F) {
        while self.core.stopped.is_none() {
            let Some((time, copy)) = self.core.held.leave(now) else {
                break;
            };
            self.core.now = time;
            self.core.packets = 1;
            self.egress_of(copy, out, follow);
            self.settle(out, follow);
        }
    }

    /// Takes a packet in and runs it to completion; what leaves goes to `out`.
    pub fn process(&mut self, now: Time, port: Port, data: &[u8], out: &mut dyn Sink) {
        if self.carrier.machine.shows_undefined() {
            self.process_with(now, port, data, out, &mut Nothing::<Silent>::default());
        } else if !self.take_path(now, port, data, out) {
            self.process_with(now, port, data, out, &mut Nothing::<NoTrace>::default());
        }
    }

    /// The same with fast paths that the switch shares with others of its network.
    pub fn process_in(
        &mut self,
        workspace: &mut Workspace,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut dyn Sink,
    ) {
        let are_limited = self.core.held.limited;
        let native = self.carrier.engine.native();
        let native = native.filter(|_| self.fast.is_some());
        let Some(shared) = native.and_then(|native| workspace.of(native, are_limited)) else {
            return self.process(now, port, data, out);
        };
        std::mem::swap(&mut self.fast, shared);
        self.process(now, port, data, out);
        std::mem::swap(&mut self.fast, shared);
    }

    /// The same, and everything that happened on the way.
    pub fn process_traced(
        &mut self,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut dyn Sink,
    ) -> Trace {
        let mut tree = Tree::new(self.core.image.prepared.share());
        self.process_with(now, port, data, out, &mut tree);
        tree.finish()
    }

    pub(super) fn process_with<F: Follow>(
        &mut self,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        if self.core.held.limited {
            self.advance(now, out);
        }
        self.core.receive(now, data.len());
        if self.core.stopped.is_some() {
            self.core.externs.stats.count_drop(Drop::Stopped);
            return;
        }
        self.arrive(port, data, out, follow);
        self.settle(out, follow);
    }

    /// Carries on until nothing of the packet is under way but what waits for its turn.
    pub(super) fn settle<F: Follow>(&mut self, out: &mut dyn Sink, follow: &mut F) {
        // Copies on their way out go first, as simple_switch's egress threads do not wait.
        while let Some(waiting) = self.core.queues.next() {
            match waiting {
                Waiting::Egress(copy) if self.core.held.limited => self.queue_up(copy, out, follow),
                Waiting::Egress(copy) => self.egress_of(copy, out, follow),
                Waiting::Ingress(again) => self.ingress_of(again, out, follow),
            }
        }
    }

    pub(super) fn queue_up<F: Follow>(
        &mut self,
        copy: Box<Copy>,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        follow.resume(copy.instance.id);
        match self.core.held.enqueue(self.core.now, copy) {
            Queued::MayLeave(copy) => self.egress_of(copy, out, follow),
            Queued::Waits => follow.note("it waits in the queue of its port".to_string()),
            Queued::Full(copy) => {
                self.core.queues.done_copy(copy);
                self.core.dropped(Drop::QueueFull, follow);
            }
        }
    }
}
