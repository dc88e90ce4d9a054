//! Places in the frame that v1model itself reads and writes.

use crate::frame::Field;
use p4_ir::ir::Program;

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

/// How a packet came to where it is; the numbers are simple_switch's.
pub(crate) mod instance {
    pub const NORMAL: u64 = 0;
    pub const INGRESS_CLONE: u64 = 1;
    pub const EGRESS_CLONE: u64 = 2;
    pub const RECIRCULATED: u64 = 4;
    pub const REPLICA: u64 = 5;
    pub const RESUBMITTED: u64 = 6;
}
