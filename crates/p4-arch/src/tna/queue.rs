//! Packets between ingress and egress, and back.

use crate::Port;
use p4_time::Time;

/// What stays with a packet through all its passes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    /// Number in the trace
    pub id: u32,
    /// How often it has been resubmitted or come back through a looped port
    pub passes: u32,
    /// It has come back through a port with an arbitration of its own.
    pub looped: bool,
}

/// A packet for egress.
#[derive(Clone, Debug, Default)]
pub(super) struct Copy {
    pub origin: Origin,
    pub port: Port,
    /// As the ingress deparser or a mirror made it, checksum included
    pub bytes: Vec<u8>,
    /// Bytes of the packet as received, checksum included
    pub length: u16,
    pub rid: u16,
    pub rid_first: bool,
    /// Of the port's queues
    pub queue: u8,
    /// It leaves as it is.
    pub bypass_egress: bool,
    /// When it came to the queue, and how many bytes were there before it
    pub enqueued: Time,
    pub depth: u64,
}

/// A packet for ingress, without its checksum.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrival {
    pub origin: Origin,
    pub port: Port,
    pub bytes: Vec<u8>,
    /// The data of a resubmission
    pub resubmitted: Option<Vec<u8>>,
}
