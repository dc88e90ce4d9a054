//! Direct registers and filters: what entries have beside what the engine's tables keep.
//!
//! A request's entries get theirs once the switch has taken all of the request.

use super::chip::{self, Chip};
use super::values;
use crate::messages::DataField;
use crate::schema::fields::{LPF_SPEC, WRED_SPEC};
use crate::schema::{Field, Table};
use num_bigint::BigUint;
use p4_arch::tna::Switch;
use p4_runtime::Refusal;
use p4_state::{EntryKey, EntryView};

/// Fields of a filter's configuration
const SPEC: u32 = 4;

/// What becomes of an entry's resources.
pub enum Change {
    Set {
        /// As the switch calls it
        table: String,
        key: EntryKey,
        pipes: Vec<u32>,
        /// Fields of the register by their places
        register: Vec<(usize, BigUint)>,
        filter: Option<chip::Row>,
    },
    /// The entry is gone.
    Forget {
        table: String,
        part: String,
        entry: u64,
    },
}

fn is_of(first: u32, id: u32) -> bool {
    (first..first + SPEC).contains(&id)
}

fn is_filter(field: &Field) -> bool {
    is_of(LPF_SPEC, field.id) || is_of(WRED_SPEC, field.id)
}

/// Whether a field of an entry is of its register or filter.
pub fn is_direct(table: &Table, field: &Field) -> bool {
    table.is_matched() && (field.is_register() || is_filter(field))
}

/// A table's fields of this sort.
fn own(table: &Table, wanted: fn(&Field) -> bool) -> impl Iterator<Item = &Field> {
    let fields = table.data.iter().flat_map(|data| &data.one_of);
    let fields = fields.filter(|field| is_direct(table, field));
    fields.filter(move |field| wanted(field))
}

fn has_any(table: &Table) -> bool {
    own(table, |_| true).next().is_some()
}

/// What an entry is to have. A filter is set as a whole, fields of a register one by one.
pub fn change(
    table: &Table,
    key: EntryKey,
    pipes: Vec<u32>,
    given: &[DataField],
) -> Result<Change, Refusal> {
    let mut register = Vec::new();
    let mut row = chip::Row::default();
    let value_of = |id: u32| given.iter().find(|own| own.field_id == id);
    for (at, field) in own(table, Field::is_register).enumerate() {
        if let Some(value) = value_of(field.id) {
            let value = values::given(value, &field.field_type, &field.name)?;
            register.push((at, value));
        }
    }
    for field in own(table, is_filter) {
        if let Some(value) = value_of(field.id).and_then(|own| own.value.as_ref()) {
            let value = chip::checked(table, field, value)?;
            row.fields.insert(field.id, value);
        }
    }
    let filter = (!row.fields.is_empty()).then_some(row);
    if let Some(row) = &filter {
        if let Some(field) = own(table, is_filter).find(|own| !row.fields.contains_key(&own.id)) {
            let message = format!("{} needs {}", table.name, field.name);
            return Err(Refusal::invalid(message));
        }
        if row.fields.contains_key(&WRED_SPEC) {
            chip::check_wred(table, row)?;
        }
    }
    Ok(Change::Set {
        table: table.source().to_string(),
        key,
        pipes,
        register,
        filter,
    })
}

/// What is to be forgotten when entries go: the one with this key, or all of a table's part.
pub fn gone(switch: &Switch, table: &Table, part: &str, key: Option<&EntryKey>) -> Vec<Change> {
    if !has_any(table) {
        return Vec::new();
    }
    let found = match key {
        Some(key) => switch.state().entry(key).map(|own| vec![own]),
        None => switch.state().entries(part),
    };
    let forget = |own: EntryView| Change::Forget {
        table: table.source().to_string(),
        part: part.to_string(),
        entry: own.handle,
    };
    // Without an entry the switch refuses the request itself.
    found.unwrap_or_default().into_iter().map(forget).collect()
}

/// Gives entries what a request wants, which the switch has taken.
pub fn apply(switch: &mut Switch, chip: &mut Chip) {
    for change in std::mem::take(&mut chip.direct) {
        match change {
            Change::Forget { table, part, entry } => {
                switch.forget_direct(&table, entry);
                chip.own.filters.remove(&(part, entry));
            }
            Change::Set {
                table,
                key,
                pipes,
                register,
                filter,
            } => {
                // It may be gone again by the same request.
                let Ok(entry) = switch.state().entry(&key).map(|own| own.handle) else {
                    continue;
                };
                for pipe in pipes {
                    let done = set_register(switch, &table, entry, pipe as u8, &register);
                    debug_assert!(done.is_ok(), "{done:?}");
                    if let Some(row) = &filter {
                        let done = set_filter(switch, &table, entry, pipe as u8, row);
                        debug_assert!(done.is_ok(), "{done:?}");
                    }
                }
                if let Some(row) = filter {
                    chip.own.filters.insert((key.table, entry), row);
                }
            }
        }
    }
}

fn set_register(
    switch: &mut Switch,
    table: &str,
    entry: u64,
    pipe: u8,
    given: &[(usize, BigUint)],
) -> Result<(), p4_arch::ArchError> {
    if given.is_empty() {
        return Ok(());
    }
    let mut fields = switch.direct_register(table, entry, pipe)?;
    for (at, value) in given {
        if let Some(field) = fields.get_mut(*at) {
            field.clone_from(value);
        }
    }
    switch.set_direct_register(table, entry, pipe, &fields)
}

fn set_filter(
    switch: &mut Switch,
    table: &str,
    entry: u64,
    pipe: u8,
    row: &chip::Row,
) -> Result<(), p4_arch::ArchError> {
    match row.fields.contains_key(&LPF_SPEC) {
        true => switch.set_direct_lpf(table, entry, pipe, Some(chip::lpf_of(row))),
        false => switch.set_direct_wred(table, entry, pipe, Some(chip::wred_of(row))),
    }
}

/// What an entry has, as clients see it: a register's fields are there once for each pipe.
pub fn shown(
    switch: &Switch,
    chip: &Chip,
    table: &Table,
    part: &str,
    entry: u64,
    pipes: &[u32],
) -> Vec<DataField> {
    let mut out = Vec::new();
    if !has_any(table) {
        return out;
    }
    let cells = pipes.iter().map(|pipe| {
        let cell = switch.direct_register(table.source(), entry, *pipe as u8);
        cell.unwrap_or_default()
    });
    let registers: Vec<&Field> = own(table, Field::is_register).collect();
    let cells: Vec<Vec<BigUint>> = match registers.is_empty() {
        true => Vec::new(),
        false => cells.collect(),
    };
    for (at, field) in registers.into_iter().enumerate() {
        let values = cells.iter().filter_map(|cell| cell.get(at));
        out.extend(values.map(|value| values::field(field.id, &field.field_type, value)));
    }
    let row = chip.own.filters.get(&(part.to_string(), entry));
    out.extend(own(table, is_filter).map(|field| {
        let set = row.and_then(|row| row.fields.get(&field.id).cloned());
        DataField {
            field_id: field.id,
            value: Some(set.unwrap_or_else(|| chip::untouched(field))),
        }
    }));
    out
}
