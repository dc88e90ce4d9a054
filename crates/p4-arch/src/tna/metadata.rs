//! Intrinsic metadata: what the program asks for, and what it is told.

use super::binding::{
    EGRESS_FOR_DEPARSER, EGRESS_FROM_PARSER, FOR_TM, INGRESS_FOR_DEPARSER, INGRESS_FROM_PARSER,
    NOTED,
};
use crate::frame::Field;
use crate::Port;
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
mod drop_ctl {
    pub const PACKET: u64 = 1;
    pub const COPY_TO_CPU: u64 = 2;
    pub const MIRROR: u64 = 4;
}

/// Where the intrinsic metadata are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metadata {
    /// First of the words that say which of [`NOTED`] were written
    written: Option<Slot>,
    noted: [Option<Field>; 7],
    bypass_egress: Option<Field>,
    copy_to_cpu: Option<Field>,
    qid: Option<Field>,
    level1_mcast_hash: Option<Field>,
    level2_mcast_hash: Option<Field>,
    level1_exclusion_id: Option<Field>,
    level2_exclusion_id: Option<Field>,
    rid: Option<Field>,
    ingress_drop_ctl: Option<Field>,
    egress_drop_ctl: Option<Field>,
    coalesce_length: Option<Field>,
    ingress_error: Option<Field>,
    ingress_time: Option<Field>,
    egress_error: Option<Field>,
    egress_time: Option<Field>,
    /// Ingress looks at `parser_err`, so that packets with errors reach it.
    pub reads_parser_error: bool,
}

/// What ingress asks the traffic manager for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    pub unicast: Option<Port>,
    pub groups: [Option<u16>; 2],
    pub copy_to_cpu: bool,
    pub bypass_egress: bool,
    /// Queue of the egress port
    pub queue: u8,
    /// Picks a member of each LAG
    pub hash: u16,
    /// Picks a node of each ECMP
    pub hash1: u16,
    pub exclusion1: u16,
    pub exclusion2: u16,
    pub rid: u16,
}

/// What a deparser is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Order {
    pub drop: bool,
    pub no_copy_to_cpu: bool,
    pub mirror: bool,
    pub resubmit: bool,
    pub digest: bool,
    /// Bytes of a mirror that a session which coalesces takes, unless the session says how many
    pub sample: u16,
}

impl Metadata {
    /// Those of the pipeline whose storages begin with `key`; `part` counts the pipelines.
    pub fn new(program: &Program, key: &str, part: usize) -> Metadata {
        let named = |storage: &str, name| Field::named(program, &format!("{key}{storage}"), name);
        let tm = |name| named(FOR_TM, name);
        let ingress_error = named(INGRESS_FROM_PARSER, "parser_err");
        let first = (part * NOTED.len()) as Slot;
        Metadata {
            written: program.storage(WRITTEN).map(|storage| storage.base + first),
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

    /// The value of a field of [`NOTED`], if somebody wrote it.
    fn noted(&self, index: usize, frame: &[u64]) -> Option<u64> {
        let note = self.written? + index as Slot;
        let was_written = frame[note as usize] != 0;
        let field = self.noted[index].filter(|_| was_written)?;
        Some(Field::get(Some(field), frame))
    }

    /// What ingress has written for the traffic manager.
    pub fn wish(&self, frame: &[u64]) -> Wish {
        let get = |field| Field::get(field, frame);
        Wish {
            unicast: self.noted(0, frame).map(|port| port as Port),
            groups: [1, 2].map(|i| self.noted(i, frame).map(|group| group as u16)),
            copy_to_cpu: get(self.copy_to_cpu) != 0,
            bypass_egress: get(self.bypass_egress) != 0,
            queue: get(self.qid) as u8,
            hash: get(self.level2_mcast_hash) as u16,
            hash1: get(self.level1_mcast_hash) as u16,
            exclusion1: get(self.level1_exclusion_id) as u16,
            exclusion2: get(self.level2_exclusion_id) as u16,
            rid: get(self.rid) as u16,
        }
    }

    /// What ingress has written for its deparser.
    pub fn ingress_order(&self, frame: &[u64]) -> Order {
        let drop_ctl = Field::get(self.ingress_drop_ctl, frame);
        Order {
            drop: drop_ctl & drop_ctl::PACKET != 0,
            no_copy_to_cpu: drop_ctl & drop_ctl::COPY_TO_CPU != 0,
            mirror: self.noted(5, frame).is_some() && drop_ctl & drop_ctl::MIRROR == 0,
            resubmit: self.noted(4, frame).is_some() && drop_ctl & drop_ctl::PACKET == 0,
            digest: self.noted(3, frame).is_some(),
            sample: 0,
        }
    }

    /// What egress has written for its deparser.
    pub fn egress_order(&self, frame: &[u64]) -> Order {
        let drop_ctl = Field::get(self.egress_drop_ctl, frame);
        Order {
            drop: drop_ctl & drop_ctl::PACKET != 0,
            mirror: self.noted(6, frame).is_some() && drop_ctl & drop_ctl::MIRROR == 0,
            sample: Field::get(self.coalesce_length, frame) as u16 * 4,
            ..Order::default()
        }
    }

    /// Tells ingress how parsing went, and when.
    pub fn parsed_at_ingress(&self, frame: &mut [u64], error: u16, nanos: u64) {
        Field::set(self.ingress_error, frame, error.into());
        Field::set(self.ingress_time, frame, nanos);
    }

    pub fn parsed_at_egress(&self, frame: &mut [u64], error: u16, nanos: u64) {
        Field::set(self.egress_error, frame, error.into());
        Field::set(self.egress_time, frame, nanos);
    }
}
