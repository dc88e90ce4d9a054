//! What a request asks of the switch, and what the switch says.

use crate::entry::{key, matches, no_color_counts};
use crate::messages::{Entity, EntityKind, Index, RegisterEntry, TableActionKind, TableEntry};
use crate::plan::{cell_index, no_externs};
use crate::schema::{Array, Schema, Table};
use crate::status::Refusal;
use num_bigint::BigUint;
use p4_arch::v1model::Switch;
use p4_state::{EntryKey, EntryView, State, UpdateError};

/// What one request asks of the switch.
#[derive(Clone, Debug)]
pub enum Question {
    /// What is remembered answers it.
    Nothing,
    /// One entry, or all of a table
    Entries(Vec<(u32, String, Option<EntryKey>)>),
    Defaults(Vec<(u32, String)>),
    Counters(Vec<Cells>),
    IndexedMeters(Vec<Cells>),
    Registers(Vec<Cells>),
}

/// A stretch of an array.
#[derive(Clone, Debug)]
pub struct Cells {
    id: u32,
    name: String,
    first: u64,
    count: u64,
}

/// What the switch says.
#[derive(Debug)]
pub enum Answer {
    Nothing,
    Entries(Vec<(u32, Vec<EntryView>)>),
    Defaults(Vec<(u32, p4_state::ActionSpec)>),
    Counters(Vec<(u32, u64, (u64, u64))>),
    IndexedMeters(Vec<(u32, u64, Option<p4_state::MeterConfig>)>),
    Registers(Vec<(u32, u64, BigUint)>),
}

/// Understands a request.
pub fn question(schema: &Schema, request: &Entity) -> Result<Question, Refusal> {
    let kind = request.entity.as_ref();
    let kind = kind.ok_or_else(|| Refusal::invalid("the request names no kind of entity"))?;
    Ok(match kind {
        EntityKind::Table(entry) => return entries(schema, entry),
        EntityKind::DirectCounter(entry) => {
            let (tables, key) = direct(schema, &entry.table_entry, |t| t.direct_counter)?;
            Question::Entries(each(tables, &key))
        }
        EntityKind::DirectMeter(entry) => {
            no_color_counts(entry.counter_data.is_some())?;
            let (tables, key) = direct(schema, &entry.table_entry, |t| t.direct_meter)?;
            Question::Entries(each(tables, &key))
        }
        EntityKind::Counter(entry) => {
            let all = schema.counters.values();
            Question::Counters(match entry.counter_id {
                0 => all.filter(|c| c.table.is_none()).map(whole).collect(),
                id => vec![cells(schema.counter(id)?, &entry.index)?],
            })
        }
        EntityKind::Meter(entry) => {
            no_color_counts(entry.counter_data.is_some())?;
            let all = schema.meters.values();
            Question::IndexedMeters(match entry.meter_id {
                0 => all.filter(|m| m.table.is_none()).map(whole).collect(),
                id => vec![cells(schema.meter(id)?, &entry.index)?],
            })
        }
        EntityKind::Register(entry) => registers(schema, entry)?,
        EntityKind::Extern(_) => return Err(no_externs()),
        EntityKind::Member(_)
        | EntityKind::Group(_)
        | EntityKind::Replication(_)
        | EntityKind::ValueSet(_)
        | EntityKind::Digest(_) => Question::Nothing,
    })
}

fn in_order<T>(mut items: Vec<T>, id: impl Fn(&T) -> u32) -> Vec<T> {
    items.sort_by_key(id);
    items
}

fn entries(schema: &Schema, entry: &TableEntry) -> Result<Question, Refusal> {
    no_color_counts(entry.meter_counter_data.is_some())?;
    let tables = match entry.table_id {
        0 if !entry.r#match.is_empty() || entry.priority != 0 || entry.action.is_some() => {
            let message = "a read of all tables takes no match, priority or action";
            return Err(Refusal::invalid(message));
        }
        0 => in_order(schema.tables.values().collect(), |table: &&Table| table.id),
        id => vec![schema.table(id)?],
    };
    if entry.is_default_action {
        if !entry.r#match.is_empty() || entry.priority != 0 {
            let message = "a default entry takes no match and no priority";
            return Err(Refusal::invalid(message));
        }
        let named = tables.iter().map(|table| (table.id, table.name.clone()));
        return Ok(Question::Defaults(named.collect()));
    }
    if let [table] = tables[..] {
        check_filter(schema, table, entry)?;
    }
    let key = match tables[..] {
        // A match of a table with priorities may be there with several of them.
        [table] if !entry.r#match.is_empty() && !table.has_priorities => Some(key(table, entry)?),
        [table] if !entry.r#match.is_empty() && entry.priority > 0 => Some(key(table, entry)?),
        [table] if !entry.r#match.is_empty() => {
            matches(&table.name, &table.fields, &entry.r#match)?;
            None
        }
        _ => None,
    };
    Ok(Question::Entries(each(tables, &key)))
}

fn check_filter(schema: &Schema, table: &Table, entry: &TableEntry) -> Result<(), Refusal> {
    let name = &table.name;
    if entry.time_since_last_hit.is_some() && !table.notifies_timeouts {
        let message = format!("{name} keeps no idle timeouts; give it `support_timeout = true`");
        return Err(Refusal::invalid(message));
    }
    if entry.priority != 0 && !table.has_priorities || entry.priority < 0 {
        let message = format!("no entry of {name} has priority {}", entry.priority);
        return Err(Refusal::invalid(message));
    }
    match entry
        .action
        .as_ref()
        .and_then(|action| action.r#type.as_ref())
    {
        None => Ok(()),
        Some(TableActionKind::Action(action)) if table.profile.is_none() => {
            schema.action(action.action_id).map(|_| ())
        }
        Some(_) => Err(Refusal::unimplemented(
            "entries can be filtered by the id of an action only",
        )),
    }
}

/// The tables that a request for direct resources means, and the entry if it names one.
fn direct<'a>(
    schema: &'a Schema,
    entry: &Option<TableEntry>,
    resource: impl Fn(&Table) -> Option<u32>,
) -> Result<(Vec<&'a Table>, Option<EntryKey>), Refusal> {
    let message = "a direct resource needs the table entry to which it belongs";
    let entry = entry.as_ref().ok_or_else(|| Refusal::invalid(message))?;
    if entry.is_default_action {
        return Err(Refusal::unimplemented(
            "this switch counts and meters hits only, so a default entry has no direct resources",
        ));
    }
    if entry.table_id == 0 {
        let own = schema
            .tables
            .values()
            .filter(|table| resource(table).is_some());
        return Ok((in_order(own.collect(), |table| table.id), None));
    }
    let table = schema.table(entry.table_id)?;
    if resource(table).is_none() {
        let message = format!("{} has no such direct resource", table.name);
        return Err(Refusal::invalid(message));
    }
    let key = match entry.r#match.is_empty() && entry.priority == 0 {
        true => None,
        false => Some(key(table, entry)?),
    };
    Ok((vec![table], key))
}

fn each(tables: Vec<&Table>, key: &Option<EntryKey>) -> Vec<(u32, String, Option<EntryKey>)> {
    let one = |table: &Table| (table.id, table.name.clone(), key.clone());
    tables.into_iter().map(one).collect()
}

fn whole(array: &Array) -> Cells {
    Cells {
        id: array.id,
        name: array.name.clone(),
        first: 0,
        count: array.size,
    }
}

fn cells(array: &Array, index: &Option<Index>) -> Result<Cells, Refusal> {
    if array.table.is_some() {
        let message = format!(
            "{} is direct: name the table entry, not an index",
            array.name
        );
        return Err(Refusal::invalid(message));
    }
    Ok(match cell_index(index, &array.name, array.size)? {
        None => whole(array),
        Some(first) => Cells {
            first,
            count: 1,
            ..whole(array)
        },
    })
}

fn registers(schema: &Schema, entry: &RegisterEntry) -> Result<Question, Refusal> {
    let whole = |register: &crate::schema::Register| Cells {
        id: register.id,
        name: register.name.clone(),
        first: 0,
        count: register.size,
    };
    if entry.register_id == 0 {
        let all = schema.registers.values().map(whole).collect();
        return Ok(Question::Registers(in_order(all, |cells| cells.id)));
    }
    let register = schema.register(entry.register_id)?;
    Ok(Question::Registers(vec![
        match cell_index(&entry.index, &register.name, register.size)? {
            None => whole(register),
            Some(first) => Cells {
                first,
                count: 1,
                ..whole(register)
            },
        },
    ]))
}

/// Asks the switch.
pub fn answer(question: &Question, switch: &Switch) -> Result<Answer, UpdateError> {
    let state = switch.state();
    Ok(match question {
        Question::Nothing => Answer::Nothing,
        Question::Entries(tables) => {
            let found = tables.iter().map(|(id, name, key)| {
                let views = views(state, name, key)?;
                Ok((*id, views))
            });
            Answer::Entries(found.collect::<Result<_, UpdateError>>()?)
        }
        Question::Defaults(tables) => {
            let found = tables
                .iter()
                .map(|(id, name)| Ok((*id, state.default_action(name)?)));
            Answer::Defaults(found.collect::<Result<_, UpdateError>>()?)
        }
        Question::Counters(arrays) => {
            Answer::Counters(each_cell(arrays, |name, index| state.counter(name, index))?)
        }
        Question::IndexedMeters(arrays) => {
            Answer::IndexedMeters(each_cell(arrays, |name, index| {
                state.meter_config(name, index)
            })?)
        }
        Question::Registers(arrays) => Answer::Registers(each_cell(arrays, |name, index| {
            state.read_register(name, index)
        })?),
    })
}

fn views(
    state: &State,
    table: &str,
    key: &Option<EntryKey>,
) -> Result<Vec<EntryView>, UpdateError> {
    match key {
        None => state.entries(table),
        Some(key) => match state.entry(key) {
            Ok(view) => Ok(vec![view]),
            Err(UpdateError::NotFound { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        },
    }
}

fn each_cell<T>(
    arrays: &[Cells],
    read: impl Fn(&str, u64) -> Result<T, UpdateError>,
) -> Result<Vec<(u32, u64, T)>, UpdateError> {
    let mut found = Vec::new();
    for array in arrays {
        for index in array.first..array.first + array.count {
            found.push((array.id, index, read(&array.name, index)?));
        }
    }
    Ok(found)
}
