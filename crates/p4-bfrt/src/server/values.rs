//! Numbers on the wire, and numbers of the engine.

use crate::messages::{DataField, DataValue, KeyField as WireKey, KeyValue};
use crate::messages::{Exact, Lpm, Optional, Range, Ternary};
use crate::schema::{FieldType, KeyField, Match as Kind};
use num_bigint::BigUint;
use p4_runtime::Refusal;
use p4_state::Match;

/// A number of at most `width` bits; most significant byte first.
pub fn number(bytes: &[u8], width: u64, what: &str) -> Result<BigUint, Refusal> {
    let value = BigUint::from_bytes_be(bytes);
    match value.bits() <= width {
        true => Ok(value),
        false => Err(Refusal::invalid(format!(
            "{what} has {width} bits; {value:#x} does not fit"
        ))),
    }
}

/// The bytes of a number that has `width` bits.
pub fn bytes(value: &BigUint, width: u64) -> Vec<u8> {
    let size = width.div_ceil(8) as usize;
    let own = match value.bits() {
        0 => Vec::new(),
        _ => value.to_bytes_be(),
    };
    let mut out = vec![0; size.saturating_sub(own.len())];
    out.extend(own);
    out
}

pub fn width(field: &FieldType) -> u64 {
    field.width()
}

/// What a client gives a field, as a number.
pub fn given(field: &DataField, kind: &FieldType, name: &str) -> Result<BigUint, Refusal> {
    match &field.value {
        Some(DataValue::Stream(bytes)) => number(bytes, width(kind), name),
        Some(DataValue::Bool(value)) => Ok(BigUint::from(u8::from(*value))),
        _ => Err(Refusal::invalid(format!("{name} needs a number"))),
    }
}

/// A number as the field of an entry.
pub fn field(id: u32, kind: &FieldType, value: &BigUint) -> DataField {
    let value = match kind {
        FieldType::Bool { .. } => DataValue::Bool(value.bits() > 0),
        _ => DataValue::Stream(bytes(value, width(kind))),
    };
    DataField {
        field_id: id,
        value: Some(value),
    }
}

/// What a client gives for a part of a key.
pub fn matches(field: &KeyField, given: &KeyValue) -> Result<Match, Refusal> {
    let width = width(&field.field_type);
    let number = |bytes: &[u8]| number(bytes, width, &field.name);
    let of = |wanted: &str| {
        let (name, kind) = (&field.name, field.match_type.name());
        Refusal::invalid(format!("{name} is a key of type {kind}, not {wanted}"))
    };
    Ok(match (field.match_type, given) {
        (Kind::Exact | Kind::Atcam, KeyValue::Exact(own)) => Match::Exact(number(&own.value)?),
        (Kind::Lpm, KeyValue::Lpm(own)) => {
            let length = u32::try_from(own.prefix_len).unwrap_or(u32::MAX);
            if u64::from(length) > width {
                let (name, length) = (&field.name, own.prefix_len);
                let message = format!("{name} has {width} bits, so no prefix of {length}");
                return Err(Refusal::invalid(message));
            }
            let mask = mask(width) ^ self::mask(width - u64::from(length));
            let value = number(&own.value)? & mask;
            Match::Lpm { value, length }
        }
        (Kind::Ternary, KeyValue::Ternary(own)) => {
            let (value, mask) = (number(&own.value)?, number(&own.mask)?);
            Match::Ternary {
                value: value & &mask,
                mask,
            }
        }
        (Kind::Range, KeyValue::Range(own)) => Match::Range {
            low: number(&own.low)?,
            high: number(&own.high)?,
        },
        (Kind::Optional, KeyValue::Optional(own)) if own.is_valid => {
            Match::Optional(number(&own.value)?)
        }
        (Kind::Optional, KeyValue::Optional(_)) => Match::Any,
        (_, KeyValue::Exact(_)) => return Err(of("Exact")),
        (_, KeyValue::Lpm(_)) => return Err(of("LPM")),
        (_, KeyValue::Ternary(_)) => return Err(of("Ternary")),
        (_, KeyValue::Range(_)) => return Err(of("Range")),
        (_, KeyValue::Optional(_)) => return Err(of("Optional")),
    })
}

/// A part of a key that a client leaves out: 0 where it is exact, else anything.
pub fn left_out(kind: Kind) -> Match {
    match kind {
        Kind::Exact | Kind::Atcam => Match::Exact(BigUint::ZERO),
        _ => Match::Any,
    }
}

fn mask(bits: u64) -> BigUint {
    (BigUint::from(1u8) << bits) - 1u8
}

/// A part of an entry's key for a client.
pub fn shown(field: &KeyField, own: &Match) -> WireKey {
    let width = width(&field.field_type);
    let bytes = |value: &BigUint| bytes(value, width);
    let zero = || bytes(&BigUint::ZERO);
    let value = match (field.match_type, own) {
        (Kind::Lpm, Match::Lpm { value, length }) => KeyValue::Lpm(Lpm {
            value: bytes(value),
            prefix_len: i32::try_from(*length).unwrap_or(i32::MAX),
        }),
        (Kind::Lpm, _) => KeyValue::Lpm(Lpm {
            value: zero(),
            prefix_len: 0,
        }),
        (Kind::Ternary, Match::Ternary { value, mask }) => KeyValue::Ternary(Ternary {
            value: bytes(value),
            mask: bytes(mask),
        }),
        (Kind::Ternary, Match::Exact(value)) => KeyValue::Ternary(Ternary {
            value: bytes(value),
            mask: bytes(&mask(width)),
        }),
        (Kind::Ternary, _) => KeyValue::Ternary(Ternary {
            value: zero(),
            mask: zero(),
        }),
        (Kind::Range, Match::Range { low, high }) => KeyValue::Range(Range {
            low: bytes(low),
            high: bytes(high),
        }),
        (Kind::Range, _) => KeyValue::Range(Range {
            low: zero(),
            high: bytes(&mask(width)),
        }),
        (Kind::Optional, Match::Optional(value)) => KeyValue::Optional(Optional {
            value: bytes(value),
            is_valid: true,
        }),
        (Kind::Optional, _) => KeyValue::Optional(Optional {
            value: zero(),
            is_valid: false,
        }),
        (Kind::Exact | Kind::Atcam, Match::Exact(value)) => KeyValue::Exact(Exact {
            value: bytes(value),
        }),
        (Kind::Exact | Kind::Atcam, _) => KeyValue::Exact(Exact { value: zero() }),
    };
    WireKey {
        field_id: field.id,
        value: Some(value),
    }
}
