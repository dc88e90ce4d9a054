//! Low-pass filters and random early detection.

use super::{rows::index_of, Row, RowKey};
use crate::schema::fields::{LPF_SPEC, WRED_SPEC};
use crate::schema::{Kind, Table};
use p4_arch::tna::{LpfConfig, Mode, Switch, WredConfig};
use p4_runtime::Refusal;

/// A probability of 1, in the switch's units
const CERTAIN: f32 = 65536.0;

/// What the switch would refuse.
pub fn check(table: &Table, row: Option<&Row>) -> Result<(), Refusal> {
    match row.filter(|_| table.kind == Kind::Wred) {
        Some(row) => check_wred(table, row),
        None => Ok(()),
    }
}

pub fn check_wred(table: &Table, row: &Row) -> Result<(), Refusal> {
    let config = wred_of(row);
    if config.least < config.most {
        return Ok(());
    }
    let message = format!(
        "{}: the lower threshold must be below the upper one",
        table.name
    );
    Err(Refusal::invalid(message))
}

/// `check` has seen to it that the switch takes it, and the schema knows the name from it.
pub fn lpf(switch: &mut Switch, table: &Table, key: &RowKey, row: Option<&Row>) {
    let config = row.map(lpf_of);
    let done = switch.set_lpf(table.source(), Some(index_of(key)), config);
    debug_assert!(done.is_ok(), "{done:?}");
}

pub fn wred(switch: &mut Switch, table: &Table, key: &RowKey, row: Option<&Row>) {
    let config = row.map(wred_of);
    let done = switch.set_wred(table.source(), Some(index_of(key)), config);
    debug_assert!(done.is_ok(), "{done:?}");
}

pub fn lpf_of(row: &Row) -> LpfConfig {
    let nanos = |id| row.float(id).map_or(0, |own| own.max(0.0) as u64);
    LpfConfig {
        mode: match row.text(LPF_SPEC) {
            Some("SAMPLE") => Mode::Sample,
            _ => Mode::Rate,
        },
        rise: nanos(LPF_SPEC + 1),
        fall: nanos(LPF_SPEC + 2),
        scale_down: row.number(LPF_SPEC + 3).unwrap_or(0).min(31) as u8,
    }
}

pub fn wred_of(row: &Row) -> WredConfig {
    let cells = |id| row.number(id).unwrap_or(0) as u32;
    let share = row.float(WRED_SPEC + 3).unwrap_or(0.0).clamp(0.0, 1.0);
    WredConfig {
        time_constant: row.float(WRED_SPEC).map_or(0, |own| own.max(0.0) as u64),
        least: cells(WRED_SPEC + 1),
        most: cells(WRED_SPEC + 2),
        probability: (share * CERTAIN) as u32,
    }
}
