//! Architectures: which blocks a switch runs, what the externs do, and what happens to packets
//! between the blocks.
//!
//! There are two: [`v1model`] and [`tna`]. [`Image`] and [`Switch`] are a program and a switch of
//! whichever the program is made for; what both need (traces, statistics, hashes, the arguments of
//! externs, values in frames) is here, beside them.
//!
//! A [`v1model::Switch`] is v1model as bmv2's simple_switch runs it: parser, checksum
//! check, ingress, replication, egress, checksum update, deparser. A packet is run to completion,
//! its clones, copies, resubmissions and recirculations included; where several packets wait, they
//! go in the order in which simple_switch would queue them. Time is an argument, randomness comes
//! from a seed, so the same packets in the same order give the same results bit for bit.
#![forbid(unsafe_code)]

mod arguments;
mod either;
mod engine;
mod error;
mod frame;
mod hash;
mod native;
mod random;
mod segments;
mod stats;
pub mod tna;
mod tree;
pub mod v1model;

pub use either::{AnyArchitecture, Image, Switch};
pub use error::ArchError;
pub use native::{Argument, NativeExtern, NativeExterns, Value};
use p4_ir::ir::CallId;
pub use p4_time::{Clock, Time};
pub use stats::{Drop, Stats, Stop};
pub use tree::{Fate, Kind, PacketTrace, Trace};
pub use v1model::Workspace;

/// Number of a switch port.
pub type Port = u16;

/// Takes the packets that a switch sends.
pub trait Sink {
    fn transmit(&mut self, port: Port, data: &[u8]);

    /// The same with the packet's priority, for those whose ports have queues: what the program wrote to
    /// `standard_metadata.priority` (v1model) or `qid` (TNA). The larger goes first.
    fn transmit_with_priority(&mut self, port: Port, _priority: u8, data: &[u8]) {
        self.transmit(port, data);
    }
}

impl<F: FnMut(Port, &[u8])> Sink for F {
    fn transmit(&mut self, port: Port, data: &[u8]) {
        self(port, data);
    }
}

/// A message to the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The call that made it: index into [`p4_ir::ir::Program::calls`]
    pub call: CallId,
    /// The words of each field
    pub fields: Vec<Vec<u64>>,
    /// The pipe of a TNA switch that sent it
    pub pipe: u8,
}
