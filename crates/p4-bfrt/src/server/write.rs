//! Writing.

use super::entries::{self, Given};
use super::{values, Scope, ALL_PIPES};
use crate::messages::{
    Atomicity, EntityKind, EntryName, TableData, TableEntry, TableKey, Update, UpdateType,
    WriteRequest,
};
use crate::schema::{fields, Kind, Table};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use p4_arch::tna::Switch;
use p4_runtime::{Code, Refusal};
use p4_state as state;
use p4_state::{Entry, Target};

/// Carries a request out between two packets: every update for itself, or, if the client wants it,
/// all of them or none. One result for each update.
pub fn write(
    switch: &mut Switch,
    scope: Scope<'_>,
    request: &WriteRequest,
) -> Vec<Result<(), Refusal>> {
    if request.atomicity != Atomicity::ContinueOnError as i32 {
        return write_together(switch, scope, request);
    }
    let updates = request.updates.iter();
    let results = updates.map(|update| {
        let own = translate(switch, scope, update)?;
        let done = switch.write(&own);
        match done.err().and_then(|all| all.errors.into_iter().next()) {
            Some((_, error)) => Err(error.into()),
            None => Ok(()),
        }
    });
    results.collect()
}

fn write_together(
    switch: &mut Switch,
    scope: Scope<'_>,
    request: &WriteRequest,
) -> Vec<Result<(), Refusal>> {
    let (mut all, mut owners) = (Vec::new(), Vec::new());
    let updates = request.updates.iter().enumerate();
    let mut results: Vec<Result<(), Refusal>> = updates
        .map(|(index, update)| {
            let own = translate(switch, scope, update)?;
            owners.extend(own.iter().map(|_| index));
            all.extend(own);
            Ok(())
        })
        .collect();
    if results.iter().all(Result::is_ok) {
        if let Err(wrong) = switch.write(&all) {
            for (at, error) in wrong.errors {
                let owner = owners.get(at).copied().unwrap_or(0);
                results[owner] = Err(error.into());
            }
        }
    }
    results
}

/// An update in the engine's terms.
fn translate(
    switch: &Switch,
    scope: Scope<'_>,
    update: &Update,
) -> Result<Vec<state::Update>, Refusal> {
    let kind = UpdateType::try_from(update.update_type).unwrap_or(UpdateType::Unspecified);
    let entity = update.entity.as_ref().and_then(|own| own.kind.as_ref());
    match entity {
        Some(EntityKind::Entry(entry)) => {
            let table = scope.schema.table(entry.table_id).ok_or_else(|| {
                let message = format!("there is no table {}", entry.table_id);
                Refusal::new(Code::NotFound, message)
            })?;
            match table.kind {
                Kind::MatchActionDirect
                | Kind::MatchActionIndirect
                | Kind::MatchActionIndirectSelector => match_action(switch, table, kind, entry),
                Kind::Action => member(table, kind, entry),
                Kind::Register => register(table, scope.pipe, kind, entry),
                Kind::Counter => counter(table, kind, entry),
                Kind::Meter => meter(table, kind, entry),
                _ => Err(Refusal::new(
                    Code::Unimplemented,
                    format!("{} cannot be written", table.name),
                )),
            }
        }
        // What is read is always what the switch has.
        Some(EntityKind::Operation(_)) => Ok(Vec::new()),
        _ => Err(Refusal::invalid("an update needs a table entry")),
    }
}

fn match_action(
    switch: &Switch,
    table: &Table,
    kind: UpdateType,
    entry: &TableEntry,
) -> Result<Vec<state::Update>, Refusal> {
    if entry.is_default_entry {
        return default_entry(table, kind, entry.data.as_ref());
    }
    let Some(own) = key_of(entry)? else {
        return match kind {
            UpdateType::Delete => Ok(vec![state::Update::Clear {
                table: table.source().to_string(),
            }]),
            _ => Err(no_key(table)),
        };
    };
    let key = entries::key(table, own)?;
    if kind == UpdateType::Delete {
        return Ok(vec![state::Update::Delete(key)]);
    }
    let given = entries::given(table, entry.data.as_ref())?;
    let is_new = match kind {
        UpdateType::Insert => true,
        UpdateType::InsertOrModify => switch.state().entry(&key).is_err(),
        UpdateType::Modify => false,
        _ => return Err(odd(table)),
    };
    let mut out = Vec::new();
    match (given.target, is_new) {
        (Some(target), true) => out.push(state::Update::Insert(Entry {
            key: key.clone(),
            target,
        })),
        (Some(target), false) => out.push(state::Update::Modify(Entry {
            key: key.clone(),
            target,
        })),
        (None, true) => {
            let message = format!("{}: an entry needs an action", table.name);
            return Err(Refusal::invalid(message));
        }
        (None, false) => out.push(state::Update::Find(key.clone())),
    }
    if given.packets.is_some() || given.bytes.is_some() {
        let before = switch.state().entry(&key).ok();
        let before = before.map_or((0, 0), |own| (own.packets, own.bytes));
        out.push(state::Update::SetDirectCounter {
            key: key.clone(),
            packets: given.packets.unwrap_or(before.0),
            bytes: given.bytes.unwrap_or(before.1),
        });
    }
    if given.meter.is_some() {
        out.push(state::Update::SetDirectMeter {
            key: key.clone(),
            config: given.meter,
        });
    }
    if let Some(ttl) = given.ttl {
        let ttl = Some(ttl).filter(|ttl| *ttl > 0);
        out.push(state::Update::SetIdleTimeout { key, ttl });
    }
    Ok(out)
}

fn default_entry(
    table: &Table,
    kind: UpdateType,
    data: Option<&TableData>,
) -> Result<Vec<state::Update>, Refusal> {
    let name = table.source().to_string();
    if is_reset(kind) {
        let action = None;
        return Ok(vec![state::Update::SetDefault {
            table: name,
            action,
        }]);
    }
    let update = match entries::given(table, data)?.target {
        Some(Target::Action(action)) => state::Update::SetDefault {
            table: name,
            action: Some(action),
        },
        Some(target) => state::Update::SetDefaultTarget {
            table: name,
            target,
        },
        None => {
            let message = format!("{}: the default entry needs an action", table.name);
            return Err(Refusal::invalid(message));
        }
    };
    Ok(vec![update])
}

/// A member of an action profile.
fn member(
    table: &Table,
    kind: UpdateType,
    entry: &TableEntry,
) -> Result<Vec<state::Update>, Refusal> {
    let member = index(table, entry)?;
    let action = match kind {
        UpdateType::Delete => None,
        UpdateType::Insert | UpdateType::Modify | UpdateType::InsertOrModify => {
            match entries::given(table, entry.data.as_ref())?.target {
                Some(Target::Action(action)) => Some(action),
                _ => {
                    let message = format!("{}: a member needs an action", table.name);
                    return Err(Refusal::invalid(message));
                }
            }
        }
        _ => return Err(odd(table)),
    };
    Ok(vec![state::Update::SetMember {
        profile: table.source().to_string(),
        member,
        action,
    }])
}

/// A cell, in one pipe or in all. Fields that are left out are 0.
fn register(
    table: &Table,
    pipe: u32,
    kind: UpdateType,
    entry: &TableEntry,
) -> Result<Vec<state::Update>, Refusal> {
    let whole = is_reset(kind);
    let mut joined = BigUint::ZERO;
    let given = entry.data.as_ref().map_or(&[][..], |data| &data.fields);
    for field in table.data.iter().flat_map(|data| &data.one_of) {
        let own = given.iter().find(|own| own.field_id == field.id);
        let own = own.map(|own| values::given(own, &field.field_type, &field.name));
        joined =
            (joined << values::width(&field.field_type)) | own.transpose()?.unwrap_or_default();
    }
    let index = match (whole, key_of(entry)?) {
        (true, None) => None,
        _ => {
            let at = u64::from(index(table, entry)?);
            if at >= table.size.unsigned_abs() {
                return Err(beyond(table, at));
            }
            let first = match pipe {
                ALL_PIPES => 0,
                pipe => u64::from(pipe) * table.size.unsigned_abs(),
            };
            Some(first + at)
        }
    };
    Ok(vec![state::Update::SetRegister {
        register: table.source().to_string(),
        index,
        value: joined,
    }])
}

fn counter(
    table: &Table,
    kind: UpdateType,
    entry: &TableEntry,
) -> Result<Vec<state::Update>, Refusal> {
    let (index, given) = cell(table, kind, entry)?;
    Ok(vec![state::Update::SetCounter {
        counter: table.source().to_string(),
        index,
        packets: given.packets.unwrap_or(0),
        bytes: given.bytes.unwrap_or(0),
    }])
}

fn meter(
    table: &Table,
    kind: UpdateType,
    entry: &TableEntry,
) -> Result<Vec<state::Update>, Refusal> {
    let (index, given) = cell(table, kind, entry)?;
    Ok(vec![state::Update::SetMeter {
        meter: table.source().to_string(),
        index,
        config: given.meter,
    }])
}

/// Which cell an update is for, `None` for all of them, and what it is to hold.
fn cell(
    table: &Table,
    kind: UpdateType,
    entry: &TableEntry,
) -> Result<(Option<u64>, Given), Refusal> {
    let whole = is_reset(kind);
    let index = match (whole, key_of(entry)?) {
        (true, None) => None,
        _ => Some(u64::from(index(table, entry)?)),
    };
    let given = entries::given(table, entry.data.as_ref().filter(|_| !whole))?;
    Ok((index, given))
}

/// Whether an update brings back what the program begins with.
fn is_reset(kind: UpdateType) -> bool {
    matches!(kind, UpdateType::Delete | UpdateType::Reset)
}

fn key_of(entry: &TableEntry) -> Result<Option<&TableKey>, Refusal> {
    match &entry.name {
        Some(EntryName::Key(key)) => Ok(Some(key).filter(|key| !key.fields.is_empty())),
        Some(EntryName::Handle(_)) => Err(Refusal::new(
            Code::Unimplemented,
            "entries are written by their keys, not by handles",
        )),
        None => Ok(None),
    }
}

/// The number that is the whole key of a table's entries.
pub(super) fn index(table: &Table, entry: &TableEntry) -> Result<u32, Refusal> {
    let key = key_of(entry)?.ok_or_else(|| no_key(table))?;
    let field = table.key.first().ok_or_else(|| no_key(table))?;
    let mut given = key.fields.iter();
    let own = given.find(|own| own.field_id == field.id);
    let value = own.and_then(|own| own.value.as_ref());
    match values::matches(field, value.ok_or_else(|| no_key(table))?)? {
        state::Match::Exact(value) => value.to_u32().ok_or_else(|| no_key(table)),
        _ => Err(no_key(table)),
    }
}

fn beyond(table: &Table, index: u64) -> Refusal {
    let message = format!("{} has {} entries, so none {index}", table.name, table.size);
    Refusal::invalid(message)
}

fn no_key(table: &Table) -> Refusal {
    let names: Vec<&str> = table.key.iter().map(|field| field.name.as_str()).collect();
    let fields: u32 = fields::MATCH_PRIORITY;
    let names: Vec<&str> = match table.key.last() {
        Some(last) if last.id == fields => names[..names.len() - 1].to_vec(),
        _ => names,
    };
    Refusal::invalid(format!("{} needs a key: {}", table.name, names.join(", ")))
}

fn odd(table: &Table) -> Refusal {
    let message = format!("{} does not take updates of this type", table.name);
    Refusal::new(Code::Unimplemented, message)
}
