//! Places in the frame that v1model itself reads and writes.

use crate::frame::Field;
use crate::Port;
use p4_ir::ir::Program;
use p4_time::Time;

/// The fields of `standard_metadata`.
#[derive(Clone, Copy, Debug)]
pub struct Standard {
    pub ingress_port: Option<Field>,
    pub egress_spec: Option<Field>,
    pub egress_port: Option<Field>,
    pub instance_type: Option<Field>,
    pub packet_length: Option<Field>,
    pub enq_timestamp: Option<Field>,
    pub enq_qdepth: Option<Field>,
    pub deq_timedelta: Option<Field>,
    pub deq_qdepth: Option<Field>,
    pub ingress_global_timestamp: Option<Field>,
    pub egress_global_timestamp: Option<Field>,
    pub mcast_grp: Option<Field>,
    pub egress_rid: Option<Field>,
    pub checksum_error: Option<Field>,
    pub parser_error: Option<Field>,
    pub priority: Option<Field>,
}

impl Standard {
    pub fn new(program: &Program) -> Standard {
        let field = |name: &str| Field::named(program, "standard_metadata", name);
        Standard {
            ingress_port: field("ingress_port"),
            egress_spec: field("egress_spec"),
            egress_port: field("egress_port"),
            instance_type: field("instance_type"),
            packet_length: field("packet_length"),
            enq_timestamp: field("enq_timestamp"),
            enq_qdepth: field("enq_qdepth"),
            deq_timedelta: field("deq_timedelta"),
            deq_qdepth: field("deq_qdepth"),
            ingress_global_timestamp: field("ingress_global_timestamp"),
            egress_global_timestamp: field("egress_global_timestamp"),
            mcast_grp: field("mcast_grp"),
            egress_rid: field("egress_rid"),
            checksum_error: field("checksum_error"),
            parser_error: field("parser_error"),
            priority: field("priority"),
        }
    }
}

/// What egress is told of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub kind: u64,
    pub port: Port,
    /// `None` for a packet that ingress sent on: it keeps what ingress wrote.
    pub rid: Option<u16>,
    /// Value of `packet_length`
    pub length: u64,
    pub now: Time,
    pub enqueued: Time,
    /// Packets at the port before it came and after it left
    pub depths: (u64, u64),
}

impl Standard {
    /// Metadata as egress finds it.
    #[inline]
    pub(super) fn leave(&self, leaving: &Leaving, frame: &mut [u64]) {
        let (now, enqueued) = (leaving.now.micros(), leaving.enqueued.micros());
        Field::set(self.instance_type, frame, leaving.kind);
        Field::set(self.egress_port, frame, leaving.port.into());
        if let Some(rid) = leaving.rid {
            Field::set(self.egress_rid, frame, rid.into());
        }
        Field::set(self.egress_spec, frame, 0);
        Field::set(self.packet_length, frame, leaving.length);
        Field::set(self.enq_timestamp, frame, enqueued);
        Field::set(self.enq_qdepth, frame, leaving.depths.0);
        Field::set(self.deq_timedelta, frame, now.saturating_sub(enqueued));
        Field::set(self.deq_qdepth, frame, leaving.depths.1);
        Field::set(self.egress_global_timestamp, frame, now);
    }
}

/// How a packet came to where it is; the numbers are simple_switch's.
pub(crate) mod instance {
    pub const NORMAL: u64 = 0;
    pub const INGRESS_CLONE: u64 = 1;
    pub const EGRESS_CLONE: u64 = 2;
    pub const RECIRCULATED: u64 = 4;
    pub const REPLICA: u64 = 5;
    pub const RESUBMITTED: u64 = 6;
}
