//! Reading.

use super::{entries, values, write, Scope, ALL_PIPES, PIPES};
use crate::messages::{
    DataField, Entity, EntityKind, EntryName, Exact, KeyField, KeyValue, TableData, TableEntry,
    TableKey, TableUsage,
};
use crate::schema::{fields, Kind, Table};
use num_bigint::BigUint;
use p4_arch::tna::Switch;
use p4_runtime::{Code, Refusal};
use p4_state::Target;

/// What a client asks for, one entity for each entry.
pub fn read(switch: &Switch, scope: Scope<'_>, asked: &Entity) -> Result<Vec<Entity>, Refusal> {
    let table = |id: u32| {
        let found = scope.schema.table(id);
        found.ok_or_else(|| Refusal::new(Code::NotFound, format!("there is no table {id}")))
    };
    match &asked.kind {
        Some(EntityKind::Entry(entry)) => {
            let found = read_entries(switch, scope, table(entry.table_id)?, entry)?;
            let found = found.into_iter().map(EntityKind::Entry);
            Ok(found.map(|kind| Entity { kind: Some(kind) }).collect())
        }
        Some(EntityKind::Usage(usage)) => {
            let own = table(usage.table_id)?;
            let used = usage_of(switch, own)?;
            let kind = EntityKind::Usage(TableUsage {
                table_id: own.id,
                usage: u32::try_from(used).unwrap_or(u32::MAX),
            });
            Ok(vec![Entity { kind: Some(kind) }])
        }
        _ => Err(Refusal::invalid("entries and usage of tables can be read")),
    }
}

fn usage_of(switch: &Switch, table: &Table) -> Result<usize, Refusal> {
    match table.kind {
        Kind::Action => Ok(switch.state().members(table.source())?.len()),
        Kind::MatchActionDirect | Kind::MatchActionIndirect | Kind::MatchActionIndirectSelector => {
            Ok(switch.state().entries(table.source())?.len())
        }
        _ => Ok(usize::try_from(table.size).unwrap_or(0)),
    }
}

fn read_entries(
    switch: &Switch,
    scope: Scope<'_>,
    table: &Table,
    asked: &TableEntry,
) -> Result<Vec<TableEntry>, Refusal> {
    let key_only = asked.table_flags.is_some_and(|flags| flags.key_only);
    let state = switch.state();
    let named = matches!(&asked.name, Some(EntryName::Key(key)) if !key.fields.is_empty());
    match table.kind {
        Kind::MatchActionDirect | Kind::MatchActionIndirect | Kind::MatchActionIndirectSelector => {
            if asked.is_default_entry {
                let target = state.default_target(table.source())?;
                return Ok(vec![TableEntry {
                    table_id: table.id,
                    data: Some(entries::target(table, &target)),
                    is_default_entry: true,
                    ..TableEntry::default()
                }]);
            }
            if let (true, Some(EntryName::Key(key))) = (named, &asked.name) {
                let own = state.entry(&entries::key(table, key)?)?;
                return Ok(vec![entries::shown(table, &own, key_only)]);
            }
            let all = state.entries(table.source())?;
            let all = all.iter().map(|own| entries::shown(table, own, key_only));
            Ok(all.collect())
        }
        Kind::Action => {
            let wanted = named.then(|| write::index(table, asked)).transpose()?;
            let members = state.members(table.source())?.into_iter();
            let members = members.filter(|(id, _)| wanted.is_none_or(|wanted| wanted == *id));
            let found: Vec<TableEntry> = members
                .map(|(id, action)| {
                    let data = entries::target(table, &Target::Action(action));
                    cell(table, u64::from(id), data)
                })
                .collect();
            match wanted {
                Some(id) if found.is_empty() => {
                    let message = format!("{} has no member {id}", table.name);
                    Err(Refusal::new(Code::NotFound, message))
                }
                _ => Ok(found),
            }
        }
        Kind::Register | Kind::Counter | Kind::Meter => {
            let all = 0..table.size.unsigned_abs();
            let wanted = match named {
                true => {
                    let at = u64::from(write::index(table, asked)?);
                    at..at + 1
                }
                false => all.clone(),
            };
            if wanted.end > all.end {
                let (name, size, at) = (&table.name, all.end, wanted.start);
                let message = format!("{name} has {size} entries, so none {at}");
                return Err(Refusal::new(Code::InvalidArgument, message));
            }
            let cells = wanted.map(|at| {
                let data = cell_of(switch, scope, table, at)?;
                Ok(cell(table, at, data))
            });
            cells.collect()
        }
        _ => {
            let message = format!("{} cannot be read", table.name);
            Err(Refusal::new(Code::Unimplemented, message))
        }
    }
}

/// An entry whose key is one number.
fn cell(table: &Table, at: u64, data: TableData) -> TableEntry {
    let fields = table.key.first().map(|field| KeyField {
        field_id: field.id,
        value: Some(KeyValue::Exact(Exact {
            value: values::bytes(&BigUint::from(at), values::width(&field.field_type)),
        })),
    });
    TableEntry {
        table_id: table.id,
        name: Some(EntryName::Key(TableKey {
            fields: fields.into_iter().collect(),
        })),
        data: Some(data),
        ..TableEntry::default()
    }
}

fn cell_of(
    switch: &Switch,
    scope: Scope<'_>,
    table: &Table,
    at: u64,
) -> Result<TableData, Refusal> {
    let (state, name) = (switch.state(), table.source());
    let all = table.data.iter().flat_map(|data| &data.one_of);
    let mut out: Vec<DataField> = Vec::new();
    match table.kind {
        Kind::Counter => {
            let (packets, bytes) = state.counter(name, at)?;
            for field in all {
                let value = match field.id {
                    fields::COUNTER_BYTES => bytes,
                    _ => packets,
                };
                let value = BigUint::from(value);
                out.push(values::field(field.id, &field.field_type, &value));
            }
        }
        Kind::Meter => {
            let config = state.meter_config(name, at)?;
            for field in all {
                let rate = entries::rate(field.id);
                let value = rate.map_or(0, |(at, unit)| entries::rate_of(config, at, unit));
                let value = BigUint::from(value);
                out.push(values::field(field.id, &field.field_type, &value));
            }
        }
        _ => {
            let pipes = match scope.pipe {
                ALL_PIPES => 0..PIPES,
                pipe => pipe..pipe + 1,
            };
            let mut shift: u64 = all.clone().map(|own| values::width(&own.field_type)).sum();
            for field in all {
                let width = values::width(&field.field_type);
                shift -= width;
                for pipe in pipes.clone() {
                    let cell = switch.read_register(name, at, pipe as u8)?;
                    let mask = (BigUint::from(1u8) << width) - 1u8;
                    let value = (cell >> shift) & mask;
                    out.push(values::field(field.id, &field.field_type, &value));
                }
            }
        }
    }
    Ok(TableData {
        action_id: 0,
        fields: out,
    })
}
