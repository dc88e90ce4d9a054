//! Intrinsic metadata: what the program asks for, and what it is told.

use super::binding::{
    EGRESS_FOR_DEPARSER, EGRESS_FROM_PARSER, FOR_TM, INGRESS_FOR_DEPARSER, INGRESS_FROM_PARSER,
    NOTED,
};
use crate::frame::Field;
use p4_ir::glue::Test;
use p4_ir::ir::{Program, Slot};
use p4_ir::written::{reads, WRITTEN};

/// Bytes of `ingress_intrinsic_metadata_t` in front of a packet.
pub(super) const INGRESS_BYTES: usize = 8;
/// Bytes of port metadata, or of the data of a resubmission, behind them.
pub(super) const PORT_BYTES: usize = 8;
/// Bytes of `egress_intrinsic_metadata_t`.
pub(super) const EGRESS_BYTES: usize = 27;
/// Bytes of a packet's Ethernet checksum.
pub(super) const FCS_BYTES: usize = 4;

/// Bits of `parser_err`.
pub(super) mod parser_error {
    pub const NO_MATCH: u16 = 0x0001;
    /// The packet ends inside a header: PARTIAL_HDR and SRC_EXT, as the chip reports it
    pub const TOO_SHORT: u16 = 0x0022;
    pub const TIMEOUT: u16 = 0x0008;
}

/// Bits of `drop_ctl`.
pub(super) mod drop_ctl {
    pub const PACKET: u64 = 1;
    pub const COPY_TO_CPU: u64 = 2;
    pub const MIRROR: u64 = 4;
}

/// The places of fields in [`NOTED`].
pub(super) mod noted {
    pub const UNICAST: usize = 0;
    pub const GROUP_A: usize = 1;
    pub const GROUP_B: usize = 2;
    pub const DIGEST: usize = 3;
    pub const RESUBMIT: usize = 4;
    pub const INGRESS_MIRROR: usize = 5;
    pub const EGRESS_MIRROR: usize = 6;
}

/// Where the intrinsic metadata are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metadata {
    /// First of the words that say which of [`NOTED`] were written
    notes: Option<Slot>,
    pub noted: [Option<Field>; 7],
    pub bypass_egress: Option<Field>,
    pub copy_to_cpu: Option<Field>,
    pub qid: Option<Field>,
    pub level1_mcast_hash: Option<Field>,
    pub level2_mcast_hash: Option<Field>,
    pub level1_exclusion_id: Option<Field>,
    pub level2_exclusion_id: Option<Field>,
    pub rid: Option<Field>,
    pub ingress_drop_ctl: Option<Field>,
    pub egress_drop_ctl: Option<Field>,
    pub coalesce_length: Option<Field>,
    pub ingress_error: Option<Field>,
    pub ingress_time: Option<Field>,
    pub egress_error: Option<Field>,
    pub egress_time: Option<Field>,
    /// Ingress looks at `parser_err`, so that packets with errors reach it.
    pub reads_parser_error: bool,
}

impl Metadata {
    /// Those of the pipeline whose storages begin with `key`; `part` counts the pipelines.
    pub fn new(program: &Program, key: &str, part: usize) -> Metadata {
        let named = |storage: &str, name| Field::named(program, &format!("{key}{storage}"), name);
        let tm = |name| named(FOR_TM, name);
        let ingress_error = named(INGRESS_FROM_PARSER, "parser_err");
        let first = (part * NOTED.len()) as Slot;
        Metadata {
            notes: program.storage(WRITTEN).map(|storage| storage.base + first),
            noted: std::array::from_fn(|i| {
                let (storage, name) = NOTED.get(i)?;
                named(storage, name)
            }),
            bypass_egress: tm("bypass_egress"),
            copy_to_cpu: tm("copy_to_cpu"),
            qid: tm("qid"),
            level1_mcast_hash: tm("level1_mcast_hash"),
            level2_mcast_hash: tm("level2_mcast_hash"),
            level1_exclusion_id: tm("level1_exclusion_id"),
            level2_exclusion_id: tm("level2_exclusion_id"),
            rid: tm("rid"),
            ingress_drop_ctl: named(INGRESS_FOR_DEPARSER, "drop_ctl"),
            egress_drop_ctl: named(EGRESS_FOR_DEPARSER, "drop_ctl"),
            coalesce_length: named(EGRESS_FOR_DEPARSER, "coalesce_length"),
            ingress_error,
            ingress_time: named(INGRESS_FROM_PARSER, "global_tstamp"),
            egress_error: named(EGRESS_FROM_PARSER, "parser_err"),
            egress_time: named(EGRESS_FROM_PARSER, "global_tstamp"),
            reads_parser_error: ingress_error.is_some_and(|field| reads(program, field.slot())),
        }
    }

    /// Somebody wrote the field of this place in [`NOTED`]; `None` if nobody can.
    pub fn written(&self, index: usize) -> Option<Test> {
        self.noted[index]?;
        let (slot, mask) = (self.notes? + index as Slot, u64::MAX);
        let value = 0;
        Some(Test::Not { slot, mask, value })
    }
}
