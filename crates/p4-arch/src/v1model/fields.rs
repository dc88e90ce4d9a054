//! Places in the frame that v1model itself reads and writes.

use p4_ir::ir::{mask, Place, Program, Slot, ValueKind};

/// A field of `standard_metadata` of at most 64 bits; absent if the program's version of the
/// struct lacks it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    slot: Slot,
    mask: u64,
}

impl Field {
    pub fn set(field: Option<Field>, frame: &mut [u64], value: u64) {
        if let Some(field) = field {
            frame[field.slot as usize] = value & field.mask;
        }
    }

    pub fn get(field: Option<Field>, frame: &[u64]) -> u64 {
        field.map_or(0, |field| frame[field.slot as usize])
    }
}

/// The fields of `standard_metadata`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standard {
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
        let field = |name: &str| {
            let var = program.storage("standard_metadata")?.leaf(name)?;
            let place = program.vars[var as usize].place;
            (place.width <= 64).then(|| Field {
                slot: place.slot,
                mask: value_mask(&place),
            })
        };
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

/// Errors and enums are indices, whatever width they are said to have.
fn value_mask(place: &Place) -> u64 {
    match place.kind {
        ValueKind::Bit | ValueKind::Int | ValueKind::SerEnum(_) => mask(place.width),
        _ => u64::MAX,
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
