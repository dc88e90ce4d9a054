//! Reading.

use super::chip::{self, Chip};
use super::entries::{self, Age};
use super::{attributes, direct, key_of, names, no_entry, values, write, Scope, ALL_PIPES, PIPES};
use crate::messages::{
    DataField, Entity, EntityKind, EntryName, Exact, HandleId, HandleName, KeyField, KeyValue,
    ObjectId, TableData, TableEntry, TableKey, TableUsage, TargetDevice,
};
use crate::schema::{fields, is_fixed, Kind, Table};
use num_bigint::BigUint;
use p4_arch::tna::Switch;
use p4_runtime::{Code, Refusal};
use p4_state::{EntryView, State, Target};

/// Where in a handle the scope begins that its entry is of
const HANDLE_SCOPE: u32 = 28;
/// The handle of the default entry; those of others follow.
const DEFAULT_HANDLE: u32 = 1;
const FIRST_HANDLE: u32 = 2;
/// Both directions, all parsers
const ALL: u32 = 0xff;

/// What a client asks for, one entity for each entry.
pub fn read(
    switch: &Switch,
    chip: &Chip,
    scope: Scope<'_>,
    asked: &Entity,
) -> Result<Vec<Entity>, Refusal> {
    let one = |kind: EntityKind| vec![Entity { kind: Some(kind) }];
    let (whole, switch) = (switch, switch.program(chip.program));
    match &asked.kind {
        Some(EntityKind::Entry(entry)) => {
            let (table, scope) = (scope.table(entry.table_id)?, scope.of(entry));
            let found = match is_fixed(table.id) {
                true => chip::read(whole, chip, scope, table, entry)?,
                false => read_entries(switch, chip, scope, table, entry)?,
            };
            let wanted = entry.data.as_ref();
            let found = found.into_iter().filter(|own| is_meant(entry, own));
            let found = found.map(|own| picked(table, own, wanted));
            let found: Result<Vec<TableEntry>, Refusal> = found.collect();
            let found = found?.into_iter().map(EntityKind::Entry);
            Ok(found.map(|kind| Entity { kind: Some(kind) }).collect())
        }
        Some(EntityKind::Usage(usage)) => {
            let own = scope.table(usage.table_id)?;
            let used = usage_of(switch, chip, scope, own)?;
            Ok(one(EntityKind::Usage(TableUsage {
                table_id: own.id,
                usage: u32::try_from(used).unwrap_or(u32::MAX),
            })))
        }
        Some(EntityKind::Attribute(own)) => {
            let own = attributes::read(chip, scope, own)?;
            Ok(one(EntityKind::Attribute(own)))
        }
        Some(EntityKind::Handle(own)) => {
            let handle = handle(switch, chip, scope, own)?;
            Ok(one(EntityKind::Handle(handle)))
        }
        Some(EntityKind::Object(own)) => {
            let id = names::id_of(scope.schema, own)?;
            Ok(one(EntityKind::Object(ObjectId {
                id,
                ..ObjectId::default()
            })))
        }
        _ => Err(Refusal::invalid(
            "entries, usage, attributes, handles and ids can be read",
        )),
    }
}

/// Whether an entry is among those that a client asks for: without a key, those with the action that
/// it names.
fn is_meant(asked: &TableEntry, own: &TableEntry) -> bool {
    let action = |entry: &TableEntry| entry.data.as_ref().map_or(0, |data| data.action_id);
    let is_one = asked.is_default_entry
        || key_of(asked).is_some()
        || matches!(asked.name, Some(EntryName::Handle(_)));
    is_one || [0, action(own)].contains(&action(asked)) || own.data.is_none()
}

/// An entry with the data that a client wants; without a list it is all.
fn picked(
    table: &Table,
    mut entry: TableEntry,
    wanted: Option<&TableData>,
) -> Result<TableEntry, Refusal> {
    let (Some(wanted), Some(data)) = (wanted, &mut entry.data) else {
        return Ok(entry);
    };
    if wanted.action_id != 0 && wanted.action_id != data.action_id {
        let message = format!("{}: the entry has another action", table.name);
        return Err(Refusal::invalid(message));
    }
    if let Some(odd) = wanted
        .fields
        .iter()
        .find(|own| table.field(data.action_id, own.field_id).is_none())
    {
        let message = format!("{} has no data field {}", table.name, odd.field_id);
        return Err(Refusal::invalid(message));
    }
    if !wanted.fields.is_empty() {
        let is_wanted = |id: u32| wanted.fields.iter().any(|own| own.field_id == id);
        data.fields.retain(|own| is_wanted(own.field_id));
    }
    Ok(entry)
}

fn usage_of(
    switch: &Switch,
    chip: &Chip,
    scope: Scope<'_>,
    table: &Table,
) -> Result<usize, Refusal> {
    match table.kind {
        Kind::Action => match scope.holders(table).first() {
            Some(profile) => Ok(switch.state().members(profile)?.len()),
            None => Ok(0),
        },
        _ if table.is_matched() => {
            let mut used = 0;
            for part in chip.parts(table, scope.pipe)? {
                used += switch.state().entry_count(&part)?;
            }
            Ok(used)
        }
        Kind::Register | Kind::Counter | Kind::Meter => {
            Ok(usize::try_from(table.size).unwrap_or(0))
        }
        _ => Ok(chip::usage(chip, table)),
    }
}

/// The number of an entry with this key.
fn handle(
    switch: &Switch,
    chip: &Chip,
    scope: Scope<'_>,
    asked: &HandleId,
) -> Result<HandleId, Refusal> {
    let table = scope.table(asked.table_id)?;
    let Some(HandleName::Key(key)) = &asked.name else {
        let message = format!("{}: a handle is asked for with a key", table.name);
        return Err(Refusal::invalid(message));
    };
    for part in chip.scopes_of(table, scope.pipe)? {
        let name = State::scoped_name(table.source(), part);
        if let Ok(own) = switch.state().entry(&entries::key(table, name, key)?) {
            let number = u32::from(part) << HANDLE_SCOPE | (own.handle as u32 + FIRST_HANDLE);
            return Ok(HandleId {
                table_id: table.id,
                name: Some(HandleName::Handle(number)),
            });
        }
    }
    Err(no_entry(table))
}

fn read_entries(
    switch: &Switch,
    chip: &Chip,
    scope: Scope<'_>,
    table: &Table,
    asked: &TableEntry,
) -> Result<Vec<TableEntry>, Refusal> {
    match table.kind {
        _ if table.is_matched() => matched(switch, chip, scope, table, asked),
        Kind::Action => members(switch, scope, table, asked),
        Kind::Register | Kind::Counter | Kind::Meter => cells(switch, chip, scope, table, asked),
        _ => chip::read(switch, chip, scope, table, asked),
    }
}

/// Entries of a match-action table. What is read from the chip can be read from every pipe; what the
/// drivers know is asked for with the pipe that it was written with.
fn matched(
    switch: &Switch,
    chip: &Chip,
    scope: Scope<'_>,
    table: &Table,
    asked: &TableEntry,
) -> Result<Vec<TableEntry>, Refusal> {
    let from_chip = from_chip(asked);
    let absent = |code| {
        let message = format!("{} has no such entry for this target", table.name);
        Err(Refusal::new(code, message))
    };
    let is_first = chip.stands_for_its_scope(table, scope.pipe);
    let one = |part: u8| matched_in(switch, chip, scope, table, part, asked);
    match &asked.name {
        _ if asked.is_default_entry => match chip.scope_of(table, scope.pipe) {
            Some(part) => one(part),
            None => Err(Refusal::invalid(format!(
                "{}: pipes have default entries of their own; name one",
                table.name
            ))),
        },
        Some(EntryName::Key(key)) if !key.fields.is_empty() => {
            match chip.scope_of(table, scope.pipe) {
                Some(part) if from_chip || is_first => one(part),
                _ => absent(Code::NotFound),
            }
        }
        Some(EntryName::Handle(handle)) => {
            let part = (handle >> HANDLE_SCOPE) as u8;
            let is_there = scope.pipe == ALL_PIPES || {
                let own = chip.scope_of(table, scope.pipe);
                own == Some(part)
            };
            match (is_there, from_chip) {
                (true, true) => one(part),
                (true, false) if is_first => one(part),
                (false, true) => absent(Code::InvalidArgument),
                _ => absent(Code::NotFound),
            }
        }
        _ => {
            let mut found = Vec::new();
            for part in chip.scopes_of(table, scope.pipe)? {
                found.extend(one(part)?);
            }
            Ok(found)
        }
    }
}

fn matched_in(
    switch: &Switch,
    chip: &Chip,
    scope: Scope<'_>,
    table: &Table,
    scope_number: u8,
    asked: &TableEntry,
) -> Result<Vec<TableEntry>, Refusal> {
    let state = switch.state();
    let part = State::scoped_name(table.source(), scope_number);
    let key_only = asked.table_flags.is_some_and(|flags| flags.key_only);
    let sweep = chip.sweep(table.id, scope.now);
    let target = TargetDevice {
        device_id: 0,
        pipe_id: chip.pipe_of(table, scope_number),
        direction: ALL,
        prsr_id: ALL,
    };
    let mut pipes = chip.pipes_in(table, scope_number);
    pipes.retain(|own| [ALL_PIPES, *own].contains(&scope.pipe));
    let show = |own: &EntryView| {
        let known = (table.counts() && !from_chip(asked)).then(|| {
            let (packets, bytes) = chip.own.fetched.of(&part, own.handle);
            EntryView {
                packets,
                bytes,
                ..own.clone()
            }
        });
        let own = known.as_ref().unwrap_or(own);
        let age = match sweep {
            Some(sweep) => Age::told(own, sweep),
            None => Age::asked(own, chip.own.hits.contains(&part, own.handle)),
        };
        let mut entry = entries::shown(table, own, age, key_only);
        if let Some(data) = &mut entry.data {
            let more = direct::shown(switch, chip, table, &part, own.handle, &pipes);
            data.fields.extend(more);
        }
        entry.entry_tgt = (key_only || asked.entry_tgt.is_some()).then_some(target);
        entry
    };
    if asked.is_default_entry {
        return default_entry(switch, table, &part, true);
    }
    match &asked.name {
        Some(EntryName::Key(key)) if !key.fields.is_empty() => {
            let own = state.entry(&entries::key(table, part.clone(), key)?)?;
            Ok(vec![show(&own)])
        }
        Some(EntryName::Handle(handle)) => {
            let number = handle & ((1 << HANDLE_SCOPE) - 1);
            if number == DEFAULT_HANDLE {
                return default_entry(switch, table, &part, false);
            }
            let Some(number) = number.checked_sub(FIRST_HANDLE) else {
                let message = format!("{} has no handle {number}", table.name);
                return Err(Refusal::new(Code::NotFound, message));
            };
            let own = state.entry_numbered(&part, u64::from(number))?;
            Ok(vec![show(&own)])
        }
        _ => Ok(state.entries(&part)?.iter().map(show).collect()),
    }
}

/// The default entry, `named` as such for clients that ask for it so, not by its handle.
fn default_entry(
    switch: &Switch,
    table: &Table,
    part: &str,
    named: bool,
) -> Result<Vec<TableEntry>, Refusal> {
    let target = switch.state().default_target(part)?;
    Ok(vec![TableEntry {
        table_id: table.id,
        data: Some(entries::target(table, &target)),
        is_default_entry: named,
        ..TableEntry::default()
    }])
}

/// Whether a client wants what the chip has, not what the drivers know.
fn from_chip(asked: &TableEntry) -> bool {
    asked.table_flags.is_some_and(|flags| flags.from_hw)
}

/// Members of an action profile.
fn members(
    switch: &Switch,
    scope: Scope<'_>,
    table: &Table,
    asked: &TableEntry,
) -> Result<Vec<TableEntry>, Refusal> {
    let wanted = match key_of(asked).is_some() {
        true => Some(write::index(table, asked)?),
        false => None,
    };
    let members = match scope.holders(table).first() {
        Some(profile) => switch.state().members(profile)?,
        None => Vec::new(),
    };
    let members = members.into_iter();
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

/// Cells of a register, a counter or a meter.
fn cells(
    switch: &Switch,
    chip: &Chip,
    scope: Scope<'_>,
    table: &Table,
    asked: &TableEntry,
) -> Result<Vec<TableEntry>, Refusal> {
    let all = 0..table.size.unsigned_abs();
    let wanted = match key_of(asked).is_some() {
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
        let data = match (table.kind, from_chip(asked)) {
            (Kind::Counter, true) => counted(table, switch.state().counter(table.source(), at)?),
            (Kind::Counter, false) => counted(table, chip.own.fetched.of(table.source(), at)),
            _ => cell_of(switch, scope, table, at)?,
        };
        Ok(cell(table, at, data))
    });
    cells.collect()
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

/// A counter's cell.
fn counted(table: &Table, (packets, bytes): (u64, u64)) -> TableData {
    let all = table.data.iter().flat_map(|data| &data.one_of);
    let fields = all.map(|field| {
        let value = match field.id {
            fields::COUNTER_BYTES => bytes,
            _ => packets,
        };
        values::field(field.id, &field.field_type, &BigUint::from(value))
    });
    TableData {
        action_id: 0,
        fields: fields.collect(),
    }
}

/// A cell of a meter or register.
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
