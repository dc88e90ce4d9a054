//! `$mirror.cfg`: where copies go.

use super::{rows::index_of, Row, RowKey};
use crate::messages::DataValue;
use crate::schema::{Kind, Table};
use p4_arch::tna::{Coalescing, Direction, MirrorSession, Switch};
use p4_runtime::Refusal;

const COALESCING: u32 = 1;

/// Fields of `$mirror.cfg`
mod field {
    pub const HEADER: u32 = 1;
    /// In words of four bytes
    pub const HEADER_LENGTH: u32 = 2;
    pub const TIMEOUT: u32 = 3;
    pub const EXTRACTED: u32 = 4;
    pub const ENABLE: u32 = 5;
    pub const DIRECTION: u32 = 6;
    pub const PORT: u32 = 7;
    pub const PORT_VALID: u32 = 8;
    pub const QUEUE: u32 = 9;
    pub const HASHES: [u32; 2] = [12, 13];
    pub const GROUPS: [u32; 2] = [14, 16];
    pub const GROUPS_VALID: [u32; 2] = [15, 17];
    pub const EXCLUSIONS: [u32; 2] = [18, 19];
    pub const RID: u32 = 20;
    pub const TO_CPU: u32 = 22;
    pub const LENGTH: u32 = 23;
}

/// Whether the chip can have such a session.
pub fn check(table: &Table, key: &RowKey, row: Option<&Row>) -> Result<(), Refusal> {
    match row {
        Some(row) if table.kind == Kind::MirrorCfg => made(row)
            .check(index_of(key) as u16)
            .map_err(Refusal::invalid),
        _ => Ok(()),
    }
}

pub fn session(switch: &mut Switch, key: &RowKey, row: Option<&Row>) {
    let id = index_of(key) as u16;
    switch.set_mirror(id, row.map(made));
}

fn made(row: &Row) -> MirrorSession {
    let number = |id| row.number(id).map(|own| own as u16);
    let valid = |id, flag| number(id).filter(|_| row.flag(flag));
    let pair = |[one, two]: [u32; 2]| [number(one).unwrap_or(0), number(two).unwrap_or(0)];
    let ([group_a, group_b], [valid_a, valid_b]) = (field::GROUPS, field::GROUPS_VALID);
    MirrorSession {
        enabled: row.flag(field::ENABLE),
        direction: match row.text(field::DIRECTION) {
            Some("EGRESS") => Direction::Egress,
            Some("BOTH") => Direction::Both,
            _ => Direction::Ingress,
        },
        port: valid(field::PORT, field::PORT_VALID),
        queue: row.number(field::QUEUE).unwrap_or(0) as u8,
        groups: [valid(group_a, valid_a), valid(group_b, valid_b)],
        hashes: pair(field::HASHES),
        exclusions: pair(field::EXCLUSIONS),
        rid: number(field::RID).unwrap_or(0),
        copy_to_cpu: row.flag(field::TO_CPU),
        max_length: row
            .number(field::LENGTH)
            .filter(|own| *own > 0)
            .map(|own| own as u32),
        coalescing: (row.action == COALESCING).then(|| coalescing(row)),
    }
}

/// A number that is too large stays so, and is refused.
fn coalescing(row: &Row) -> Coalescing {
    let number = |id| row.number(id).unwrap_or(0);
    let words = number(field::HEADER_LENGTH);
    let own = Coalescing {
        header_length: u8::try_from(words.saturating_mul(4)).unwrap_or(u8::MAX),
        timeout: u32::try_from(number(field::TIMEOUT)).unwrap_or(u32::MAX),
        extracted: u16::try_from(number(field::EXTRACTED)).unwrap_or(u16::MAX),
        ..Coalescing::default()
    };
    Coalescing {
        header: header(row, own.header_length.into()),
        ..own
    }
}

/// The last `length` bytes of the field, as the driver takes them.
fn header(row: &Row, length: usize) -> [u8; 16] {
    let mut header = [0; 16];
    if let Some(DataValue::Stream(bytes)) = row.fields.get(&field::HEADER) {
        let own = &mut header[..length.min(16)];
        for (to, from) in own.iter_mut().rev().zip(bytes.iter().rev()) {
            *to = *from;
        }
    }
    header
}
