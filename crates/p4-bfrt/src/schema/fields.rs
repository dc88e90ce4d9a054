//! Fields that every program's tables share, with the ids that bf-p4c gives them.
//!
//! Names begin with `$` so that they collide with none of a program's own.

use super::{Annotation, Data, Field, FieldType, KeyField, Match};
use p4_info::model::Unit;

pub const MATCH_PRIORITY: u32 = 65537;
pub const ACTION_MEMBER_ID: u32 = 65539;
pub const SELECTOR_GROUP_ID: u32 = 65540;
pub const ENTRY_TTL: u32 = 65543;
pub const ENTRY_HIT_STATE: u32 = 65544;
pub const METER_BYTES: u32 = 65545;
pub const METER_PACKETS: u32 = 65549;
pub const COUNTER_BYTES: u32 = 65553;
pub const COUNTER_PACKETS: u32 = 65554;
pub const METER_INDEX: u32 = 65555;
pub const COUNTER_INDEX: u32 = 65556;
pub const REGISTER_INDEX: u32 = 65557;
pub const LPF_INDEX: u32 = 65560;
pub const WRED_INDEX: u32 = 65561;
pub const GET_MEMBER_ID: u32 = 65562;
pub const GET_GROUP_ID: u32 = 65563;
pub const MEMBER_STATUS: u32 = 65564;
pub const MAX_GROUP_SIZE: u32 = 65565;
pub const LPF_SPEC: u32 = 65566;
pub const WRED_SPEC: u32 = 65570;
pub const PORT_METADATA_PORT: u32 = 65574;
pub const PORT_METADATA_DEFAULT: u32 = 65575;
pub const HASH_SEED: u32 = 65576;
pub const HASH_MSB: u32 = 65577;
pub const HASH_EXTEND: u32 = 65578;
pub const HASH_PRE_DEFINED: u32 = 65579;
pub const HASH_USER_DEFINED: u32 = 65580;
pub const HASH_VALUE: u32 = 65581;
pub const HASH_START_BIT: u32 = 65582;
pub const HASH_LENGTH: u32 = 65583;
pub const HASH_ORDER: u32 = 65584;
/// Came after the others, whose ids are those of the SDE's recorded files.
pub const HASH_ROTATE: u32 = 65585;
pub const DEBUG_TABLE: u32 = 65624;
pub const DEBUG_TYPE: u32 = 65625;
pub const DEBUG_VALUE: u32 = 65626;

pub fn field(id: u32, name: &str, field_type: FieldType) -> Field {
    Field {
        id,
        name: name.to_string(),
        repeated: false,
        annotations: Vec::new(),
        field_type,
    }
}

pub fn list(id: u32, name: &str, field_type: FieldType) -> Field {
    Field {
        repeated: true,
        ..field(id, name, field_type)
    }
}

/// The same for a register, whose values clients are given pipe by pipe.
pub fn register_data(mut field: Field) -> Data {
    field.annotations.push(Annotation {
        name: "$bfrt_field_class".to_string(),
        value: Some("register_data".to_string()),
    });
    mandatory(vec![field])
}

/// A field that an entry may go without.
pub fn optional(field: Field) -> Data {
    Data {
        mandatory: false,
        read_only: false,
        one_of: vec![field],
    }
}

pub fn mandatory(one_of: Vec<Field>) -> Data {
    Data {
        mandatory: true,
        read_only: false,
        one_of,
    }
}

/// A key that is a number.
pub fn key(id: u32, name: &str, bits: u32) -> KeyField {
    KeyField {
        id,
        name: name.to_string(),
        source: name.to_string(),
        annotations: Vec::new(),
        mandatory: true,
        match_type: Match::Exact,
        field_type: FieldType::uint(bits),
    }
}

pub fn counter(unit: Unit) -> Vec<Data> {
    let count = |id, name| {
        let zero = FieldType::Uint {
            bits: 64,
            default: Some(0),
        };
        optional(field(id, name, zero))
    };
    let bytes = count(COUNTER_BYTES, "$COUNTER_SPEC_BYTES");
    let packets = count(COUNTER_PACKETS, "$COUNTER_SPEC_PKTS");
    match unit {
        Unit::Bytes => vec![bytes],
        Unit::Packets => vec![packets],
        Unit::Both => vec![bytes, packets],
        Unit::Unspecified => Vec::new(),
    }
}

/// Rates and bursts, without which everything is green.
pub fn meter(unit: Unit) -> Vec<Data> {
    let (first, names) = match unit {
        Unit::Bytes => (
            METER_BYTES,
            [
                "$METER_SPEC_CIR_KBPS",
                "$METER_SPEC_PIR_KBPS",
                "$METER_SPEC_CBS_KBITS",
                "$METER_SPEC_PBS_KBITS",
            ],
        ),
        _ => (
            METER_PACKETS,
            [
                "$METER_SPEC_CIR_PPS",
                "$METER_SPEC_PIR_PPS",
                "$METER_SPEC_CBS_PKTS",
                "$METER_SPEC_PBS_PKTS",
            ],
        ),
    };
    let endless = FieldType::Uint {
        bits: 64,
        default: Some(u64::MAX),
    };
    let fields = (first..).zip(names);
    fields
        .map(|(id, name)| optional(field(id, name, endless.clone())))
        .collect()
}

pub fn lpf() -> Vec<Data> {
    let kind = FieldType::Text {
        choices: &["RATE", "SAMPLE"],
        default: None,
    };
    let types = [
        ("$LPF_SPEC_TYPE", kind),
        ("$LPF_SPEC_GAIN_TIME_CONSTANT_NS", FieldType::Float),
        ("$LPF_SPEC_DECAY_TIME_CONSTANT_NS", FieldType::Float),
        ("$LPF_SPEC_OUT_SCALE_DOWN_FACTOR", FieldType::uint(32)),
    ];
    all_needed(LPF_SPEC, types)
}

pub fn wred() -> Vec<Data> {
    let types = [
        ("$WRED_SPEC_TIME_CONSTANT_NS", FieldType::Float),
        ("$WRED_SPEC_MIN_THRESH_CELLS", FieldType::uint(32)),
        ("$WRED_SPEC_MAX_THRESH_CELLS", FieldType::uint(32)),
        ("$WRED_SPEC_MAX_PROBABILITY", FieldType::Float),
    ];
    all_needed(WRED_SPEC, types)
}

fn all_needed(first: u32, fields: [(&str, FieldType); 4]) -> Vec<Data> {
    let fields = (first..).zip(fields);
    fields
        .map(|(id, (name, kind))| mandatory(vec![field(id, name, kind)]))
        .collect()
}
