//! One switch: what a packet meets from the moment it arrives until nothing of it is left.

use super::externs::Externs;
use super::image::Image;
use super::queue::{Queues, Waiting};
use super::stats::{Drop, Stats};
use super::tree::{Follow, Nothing, Trace, Tree};
use crate::error::ArchError;
use crate::{Port, Sink};
use p4_ir::interp::Machine;
use p4_ir::ir::CallId;
use p4_state::{State, Update, WriteError};
use p4_time::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// The port that stands for dropping.
pub const DROP_PORT: u64 = 511;

/// Digests kept until somebody takes them.
const MAX_DIGESTS: usize = 4096;

/// What is chosen for a switch once and for all.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Of the switch's own random numbers
    pub seed: u64,
    /// Do as simple_switch does where v1model.p4 says otherwise: `ingress_port` reads 0 in resubmitted,
    /// recirculated and cloned packets, `select` without a match is no parser error, and a
    /// `priority` other than 0 drops, since simple_switch has one queue per port by default.
    pub bmv2_compat: bool,
    /// How often a packet may be resubmitted or recirculated
    pub max_passes: u32,
    /// How many packets one arriving packet may become
    pub max_packets: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            seed: 0,
            bmv2_compat: false,
            max_passes: 1024,
            max_packets: 16_384,
        }
    }
}

/// A message to the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The call that made it: index into [`p4_ir::ir::Program::calls`]
    pub call: CallId,
    /// The words of each field
    pub fields: Vec<Vec<u64>>,
}

/// A v1model switch.
pub struct Switch {
    pub(super) image: Arc<Image>,
    pub(super) config: Config,
    pub(super) externs: Externs,
    pub(super) machine: Machine,
    pub(super) queues: Queues,
    pub(super) digests: VecDeque<Digest>,
    pub(super) now: Time,
    /// Packets that the arriving packet has become so far
    pub(super) packets: u32,
}

impl Switch {
    /// A switch that runs `image`, its tables as the program sets them.
    pub fn new(image: Arc<Image>, config: Config) -> Result<Switch, ArchError> {
        let state = State::new(image.prepared.share(), &image.resources)?;
        Ok(Switch {
            machine: Machine::new(&image.prepared),
            externs: Externs::new(&image, state, config.seed),
            image,
            config,
            queues: Queues::default(),
            digests: VecDeque::new(),
            now: Time::ZERO,
            packets: 0,
        })
    }

    pub fn image(&self) -> &Arc<Image> {
        &self.image
    }

    /// What the control plane can read.
    pub fn state(&self) -> &State {
        &self.externs.state
    }

    /// What the switch has counted about itself.
    pub fn stats(&self) -> Stats {
        self.externs.stats
    }

    /// Applies all updates between two packets, or none of them.
    pub fn write(&mut self, batch: &[Update]) -> Result<(), WriteError> {
        self.externs.state.write(batch)
    }

    /// Digests since the last call, oldest first.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        self.digests.drain(..).collect()
    }

    /// Takes a packet in and runs it to completion; what leaves goes to `out`.
    pub fn process(&mut self, now: Time, port: Port, data: &[u8], out: &mut impl Sink) {
        self.run(now, port, data, out, &mut Nothing::default());
    }

    /// The same, and everything that happened on the way.
    pub fn process_traced(
        &mut self,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut impl Sink,
    ) -> Trace {
        let mut tree = Tree::new(Arc::clone(&self.image));
        self.run(now, port, data, out, &mut tree);
        tree.finish()
    }

    fn run<F: Follow>(
        &mut self,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        self.now = now;
        self.packets = 1;
        let stats = &mut self.externs.stats;
        stats.received += 1;
        stats.received_bytes += data.len() as u64;
        self.arrive(port, data, out, follow);
        // Copies on their way out go first, as simple_switch's egress threads do not wait.
        while let Some(waiting) = self.queues.next() {
            match waiting {
                Waiting::Egress(copy) => self.egress_of(copy, out, follow),
                Waiting::Ingress(again) => self.ingress_of(again, out, follow),
            }
        }
    }

    /// Counts one packet more.
    pub(super) fn are_too_many(&mut self) -> bool {
        self.packets += 1;
        self.packets > self.config.max_packets
    }

    /// Counts one copy more; false, said and counted, if they are too many.
    pub(super) fn may_become_more<F: Follow>(&mut self, follow: &mut F) -> bool {
        if self.are_too_many() {
            self.externs.stats.count_drop(Drop::TooManyPackets);
            follow.note(Drop::TooManyPackets.to_string());
            return false;
        }
        true
    }

    pub(super) fn keep_digest(&mut self) {
        let Some(call) = self.externs.requests.digest else {
            return;
        };
        if self.digests.len() >= MAX_DIGESTS {
            self.externs.stats.lost_digests += 1;
            return;
        }
        self.digests.push_back(Digest {
            call,
            fields: self.externs.digest.clone(),
        });
    }
}
