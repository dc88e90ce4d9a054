//! Parser value sets: the engine takes all members of a set at once.

use super::{Chip, RowKey};
use crate::schema::{Match as Kind, Table};
use num_bigint::BigUint;
use p4_state::{Match, Update};

/// A set with all its members. Parsers share them, whichever pipe they were written for.
pub fn members(chip: &Chip, table: &Table) -> Update {
    let member = |key: &RowKey| {
        let fields = table.key.iter().zip(&key.parts);
        let fields = fields.map(|(field, (first, second))| {
            let (first, second) = (
                BigUint::from_bytes_be(first),
                BigUint::from_bytes_be(second),
            );
            match field.match_type {
                Kind::Range => Match::Range {
                    low: first,
                    high: second,
                },
                _ => Match::Ternary {
                    value: first,
                    mask: second,
                },
            }
        });
        fields.collect::<Vec<Match>>()
    };
    Update::SetValueSet {
        set: table.source().to_string(),
        members: chip.rows_of(table.id).map(|(key, _)| member(key)).collect(),
    }
}
