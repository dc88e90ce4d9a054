//! The packet generator: its applications, and the buffer that their packets come from.

use super::{rows::index_of, the_table, Chip, Row, RowKey};
use crate::messages::DataValue;
use crate::schema::{Field, Kind, Schema, Table};
use crate::server::{values, ALL_PIPES, PIPES};
use num_bigint::BigUint;
use p4_arch::tna::{App, AppCounts, Switch, Trigger};
use p4_time::Time;

/// The port of each pipe whose packets the generator makes
const GENERATOR_PORT: u32 = 68;
const APPS: u8 = 8;

/// Fields of `pktgen.app_cfg`
mod field {
    pub const NANOS: u32 = 1;
    pub const PATTERN: u32 = 4;
    pub const MASK: u32 = 5;
    pub const ENABLE: u32 = 12;
    pub const LENGTH: u32 = 13;
    pub const OFFSET: u32 = 14;
    pub const SOURCE: u32 = 15;
    pub const NEXT_SOURCE: u32 = 16;
    pub const BATCHES: u32 = 17;
    pub const PACKETS: u32 = 18;
    pub const BATCH_GAP: u32 = 19;
    pub const BATCH_JITTER: u32 = 20;
    pub const PACKET_GAP: u32 = 21;
    pub const PACKET_JITTER: u32 = 22;
    pub const BATCH_COUNT: u32 = 23;
    pub const PACKET_COUNT: u32 = 24;
    pub const TRIGGER_COUNT: u32 = 25;
}

/// An application as it runs, and what earlier ones of its number have counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    running: Option<App>,
    before: AppCounts,
}

/// Sets an application up as its row says, or takes it away.
pub fn app(switch: &mut Switch, chip: &mut Chip, schema: &Schema, now: Time, key: &RowKey) {
    let (pipe, id) = (key.pipe as u8, index_of(key) as u8);
    let table = the_table(schema, Kind::PktgenAppCfg).map_or(0, |own| own.id);
    let row = chip.row(table, key).cloned();
    let wanted = row
        .as_ref()
        .and_then(|row| made(chip, schema, pipe, id, row));
    let switch = switch.in_pipe_mut(pipe);
    let counts = switch.generator_counts(pipe, id).unwrap_or_default();
    let set = chip.take_counts_set(table, key);
    let own = chip.counted.entry((pipe, id)).or_default();
    if own.running != wanted {
        if own.running.is_some() {
            own.before = sum(own.before, counts);
            switch.remove_generator(pipe, id);
        }
        own.running = wanted.clone();
        if let Some(app) = wanted {
            switch.set_generator(now, app);
        }
    }
    if row.is_none() {
        own.before = AppCounts::default();
    }
    let counts = switch.generator_counts(pipe, id).unwrap_or_default();
    let since = |set: Option<u64>, count: u64, before: &mut u64| {
        if let Some(value) = set {
            *before = value.wrapping_sub(count);
        }
    };
    let [triggers, batches, packets] = set;
    since(triggers, counts.triggers, &mut own.before.triggers);
    since(batches, counts.batches, &mut own.before.batches);
    since(packets, counts.packets, &mut own.before.packets);
}

impl Chip {
    /// What a client sets the counters of an application to: triggers, batches, packets.
    fn take_counts_set(&mut self, table: u32, key: &RowKey) -> [Option<u64>; 3] {
        let rows = self.all_rows_mut(table).get_mut(&table);
        let Some(row) = rows.and_then(|rows| rows.get_mut(key)) else {
            return [None; 3];
        };
        [
            field::TRIGGER_COUNT,
            field::BATCH_COUNT,
            field::PACKET_COUNT,
        ]
        .map(|id| {
            let value = row.number(id);
            row.fields.remove(&id);
            value
        })
    }
}

/// After a change to what all applications depend on.
pub fn all(switch: &mut Switch, chip: &mut Chip, schema: &Schema, now: Time) {
    for pipe in 0..PIPES {
        for id in 0..APPS {
            let parts = vec![(u32::from(id).to_be_bytes().to_vec(), Vec::new())];
            app(switch, chip, schema, now, &RowKey { pipe, parts });
        }
    }
}

fn sum(one: AppCounts, two: AppCounts) -> AppCounts {
    AppCounts {
        triggers: one.triggers.wrapping_add(two.triggers),
        batches: one.batches.wrapping_add(two.batches),
        packets: one.packets.wrapping_add(two.packets),
    }
}

/// The application of a row; `None` if it does not run.
fn made(chip: &Chip, schema: &Schema, pipe: u8, id: u8, row: &Row) -> Option<App> {
    let number = |id| row.number(id).unwrap_or(0);
    let pattern = |id| number(id) as u32;
    let trigger = match row.action {
        1 => Trigger::Once(number(field::NANOS)),
        2 => Trigger::Periodic(number(field::NANOS)),
        3 => Trigger::PortDown,
        4 => Trigger::Recirculation {
            pattern: pattern(field::PATTERN),
            mask: pattern(field::MASK),
        },
        _ => return None,
    };
    if !row.flag(field::ENABLE) || !is_on(chip, schema, pipe) {
        return None;
    }
    let (offset, length) = (number(field::OFFSET), number(field::LENGTH));
    Some(App {
        pipe,
        id,
        trigger,
        packet: packet(chip, schema, pipe, offset as usize, length as usize),
        source: row
            .number(field::SOURCE)
            .map_or(GENERATOR_PORT as u16, |own| own as u16),
        next_source: row.flag(field::NEXT_SOURCE),
        batches: (number(field::BATCHES) as u16).saturating_add(1),
        packets_per_batch: (number(field::PACKETS) as u16).saturating_add(1),
        batch_gap: number(field::BATCH_GAP),
        packet_gap: number(field::PACKET_GAP),
        batch_jitter: number(field::BATCH_JITTER),
        packet_jitter: number(field::PACKET_JITTER),
    })
}

/// Whether a pipe's port is the generator's.
fn is_on(chip: &Chip, schema: &Schema, pipe: u8) -> bool {
    let table = the_table(schema, Kind::PktgenPortCfg).map_or(0, |own| own.id);
    let port = u32::from(pipe) << 7 | GENERATOR_PORT;
    let key = RowKey {
        pipe: ALL_PIPES,
        parts: vec![(port.to_be_bytes().to_vec(), Vec::new())],
    };
    chip.row(table, &key).is_some_and(|row| row.flag(2))
}

/// Bytes of a pipe's buffer. Rows may overlap; what nobody has written is 0.
fn packet(chip: &Chip, schema: &Schema, pipe: u8, offset: usize, length: usize) -> Vec<u8> {
    let table = the_table(schema, Kind::PktgenPktBuffer).map_or(0, |own| own.id);
    let mut out = vec![0; length];
    for (key, row) in chip
        .rows_of(table)
        .filter(|own| own.0.pipe == u32::from(pipe))
    {
        let begins = index_of(key) as usize;
        for (at, byte) in (begins..).zip(row.numbers(1)) {
            if let Some(own) = at.checked_sub(offset).and_then(|at| out.get_mut(at)) {
                *own = *byte as u8;
            }
        }
    }
    out
}

/// What an application has counted in these pipes since its counters were set.
pub fn fact(
    switch: &Switch,
    chip: &Chip,
    table: &Table,
    pipes: &[u32],
    key: &RowKey,
    field: &Field,
) -> Option<DataValue> {
    if table.kind != Kind::PktgenAppCfg {
        return None;
    }
    let id = index_of(key) as u8;
    let counts = pipes.iter().map(|pipe| {
        let own = chip.counted.get(&(*pipe as u8, id));
        let running = switch.in_pipe(*pipe as u8);
        let running = running.generator_counts(*pipe as u8, id);
        sum(
            own.map(|own| own.before).unwrap_or_default(),
            running.unwrap_or_default(),
        )
    });
    let counts = counts.fold(AppCounts::default(), sum);
    let count = match field.id {
        field::BATCH_COUNT => counts.batches,
        field::PACKET_COUNT => counts.packets,
        field::TRIGGER_COUNT => counts.triggers,
        _ => return None,
    };
    let width = values::width(&field.field_type);
    Some(DataValue::Stream(values::bytes(
        &BigUint::from(count),
        width,
    )))
}
