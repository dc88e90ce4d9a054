//! Architectures: which blocks a switch runs, what the externs do, and what happens to packets
//! between the blocks.
//!
//! A [`Switch`](v1model::Switch) is v1model as bmv2's simple_switch runs it: parser, checksum
//! check, ingress, replication, egress, checksum update, deparser. A packet is run to completion,
//! its clones, copies, resubmissions and recirculations included; where several packets wait, they
//! go in the order in which simple_switch would queue them. Time is an argument, randomness comes
//! from a seed, so the same packets in the same order give the same results bit for bit.
#![forbid(unsafe_code)]

mod error;
mod hash;
mod native;
mod random;
pub mod v1model;

pub use error::ArchError;
pub use native::{Argument, NativeExtern, NativeExterns, Value};
pub use p4_time::{Clock, Time};

/// Number of a switch port.
pub type Port = u16;

/// Takes the packets that a switch sends.
pub trait Sink {
    fn transmit(&mut self, port: Port, data: &[u8]);
}

impl<F: FnMut(Port, &[u8])> Sink for F {
    fn transmit(&mut self, port: Port, data: &[u8]) {
        self(port, data);
    }
}
