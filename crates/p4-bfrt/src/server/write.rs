//! Writing.

use super::chip::{self, Chip};
use super::entries::{self, Given};
use super::{attributes, direct, key_of, no_entry, values, Scope, ALL_PIPES, PIPES};
use crate::messages::{
    Atomicity, EntityKind, EntryName, TableData, TableEntry, TableKey, TableOperation, Update,
    UpdateType, WriteRequest,
};
use crate::schema::{fields, Kind, Table};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use p4_arch::tna::Switch;
use p4_runtime::{Code, Refusal};
use p4_state as state;
use p4_state::{Entry, EntryKey, State, Target};
use std::collections::HashMap;

/// What has become of an update that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    AsAsked,
    /// There was an entry already, which [`UpdateType::InsertOrModify`] has modified.
    Modified,
    /// There was no entry to delete, and the client does not mind.
    Absent,
}

/// Carries a request out between two packets: every update for itself, or, if the client wants it,
/// all of them or none. One result for each update. `lenient`: to delete what is not there is no
/// mistake.
pub fn write(
    switch: &mut Switch,
    chip: &mut Chip,
    scope: Scope<'_>,
    request: &WriteRequest,
    lenient: bool,
) -> Vec<Result<Done, Refusal>> {
    let own = switch.program_mut(chip.program);
    let results = match request.atomicity == Atomicity::ContinueOnError as i32 {
        true => write_each(own, chip, scope, &request.updates, lenient),
        false => write_together(own, chip, scope, &request.updates, lenient),
    };
    chip.settle(switch, scope.schema, scope.now);
    results
}

fn write_each(
    switch: &mut Switch,
    chip: &mut Chip,
    scope: Scope<'_>,
    updates: &[Update],
    lenient: bool,
) -> Vec<Result<Done, Refusal>> {
    let results = updates.iter().map(|update| {
        let mark = chip.mark();
        let translated = translate(switch, chip, scope, update, None);
        let done = translated.and_then(|own| match switch.write(&own) {
            Ok(()) => {
                chip.own.fetched.follow(switch, &own);
                Ok(outcome(update, &own))
            }
            Err(wrong) => match wrong.errors.into_iter().next() {
                Some((_, error)) => Err(error.into()),
                None => Ok(Done::AsAsked),
            },
        });
        match done.is_err() {
            true => chip.roll_back(mark),
            false => direct::apply(switch, chip),
        }
        forgiven(update, done, lenient)
    });
    results.collect()
}

/// What an update came to whose changes these are.
fn outcome(update: &Update, changes: &[state::Update]) -> Done {
    let either = update.update_type == UpdateType::InsertOrModify as i32;
    let is_new = |own: &state::Update| matches!(own, state::Update::Insert(_));
    match either && !changes.is_empty() && !changes.iter().any(is_new) {
        true => Done::Modified,
        false => Done::AsAsked,
    }
}

/// Takes it for no mistake that there was nothing to delete, if the client is so lenient.
fn forgiven(update: &Update, done: Result<Done, Refusal>, lenient: bool) -> Result<Done, Refusal> {
    match done {
        Err(refusal)
            if lenient
                && refusal.code == Code::NotFound
                && update.update_type == UpdateType::Delete as i32 =>
        {
            Ok(Done::Absent)
        }
        done => done,
    }
}

fn write_together(
    switch: &mut Switch,
    chip: &mut Chip,
    scope: Scope<'_>,
    updates: &[Update],
    lenient: bool,
) -> Vec<Result<Done, Refusal>> {
    let (mut all, mut owners) = (Vec::new(), Vec::new());
    let mut staged = Staged::default();
    let mark = chip.mark();
    let updates = updates.iter().enumerate();
    let mut results: Vec<Result<Done, Refusal>> = updates
        .map(|(index, update)| {
            let own = translate(switch, chip, scope, update, Some(&mut staged));
            let done = own.map(|own| {
                let done = outcome(update, &own);
                owners.extend(own.iter().map(|_| index));
                all.extend(own);
                done
            });
            forgiven(update, done, lenient)
        })
        .collect();
    if results.iter().all(Result::is_ok) {
        match switch.write(&all) {
            Ok(()) => chip.own.fetched.follow(switch, &all),
            Err(wrong) => {
                for (at, error) in wrong.errors {
                    let owner = owners.get(at).copied().unwrap_or(0);
                    results[owner] = Err(error.into());
                }
            }
        }
    }
    if results.iter().all(Result::is_ok) {
        direct::apply(switch, chip);
    } else {
        chip.roll_back(mark);
        // Nothing is tried after the first that fails.
        let first = results.iter().position(Result::is_err).unwrap_or(0);
        results[first + 1..].fill(Ok(Done::AsAsked));
    }
    results
}

/// Entries that earlier updates of a batch put in or take away, which the switch does not know yet;
/// members of action profiles are keys without matches, with their number in place of a priority.
#[derive(Default)]
struct Staged(HashMap<EntryKey, bool>);

/// Whether there is an entry, in the switch or by the batch so far.
fn is_there(switch: &Switch, key: &EntryKey, staged: Option<&Staged>) -> bool {
    let own = staged.and_then(|staged| staged.0.get(key).copied());
    own.unwrap_or_else(|| switch.state().entry(key).is_ok())
}

/// An update in the engine's terms. What is kept beside the program's tables has changed then.
fn translate(
    switch: &mut Switch,
    chip: &mut Chip,
    scope: Scope<'_>,
    update: &Update,
    mut staged: Option<&mut Staged>,
) -> Result<Vec<state::Update>, Refusal> {
    let kind = UpdateType::try_from(update.update_type).unwrap_or(UpdateType::Unspecified);
    match update.entity.as_ref().and_then(|own| own.kind.as_ref()) {
        Some(EntityKind::Entry(entry)) => {
            let table = scope.table(entry.table_id)?;
            let scope = scope.of(entry);
            match table.kind {
                _ if table.is_matched() => {
                    let mut out = Vec::new();
                    for part in chip.scopes_of(table, scope.pipe)? {
                        let staged = staged.as_deref_mut();
                        out.extend(match_action(
                            switch, chip, table, part, kind, entry, staged,
                        )?);
                    }
                    Ok(out)
                }
                Kind::Action => member(switch, scope, table, kind, entry, staged),
                Kind::Register => register(switch, chip, table, scope.pipe, kind, entry),
                Kind::Counter => counter(table, kind, entry),
                Kind::Meter => meter(table, kind, entry),
                _ => chip::write(chip, scope, table, kind, entry),
            }
        }
        Some(EntityKind::Operation(own)) => {
            operation(switch, chip, scope, own)?;
            Ok(Vec::new())
        }
        Some(EntityKind::Attribute(own)) => {
            attributes::write(switch, chip, scope, own)?;
            Ok(Vec::new())
        }
        _ => Err(Refusal::invalid(
            "an update needs a table entry, an attribute or an operation",
        )),
    }
}

/// Takes over what the switch has counted and hit; all else that is read is what it has.
fn operation(
    switch: &mut Switch,
    chip: &mut Chip,
    scope: Scope<'_>,
    own: &TableOperation,
) -> Result<(), Refusal> {
    let table = scope.table(own.table_id)?;
    if !table.operations.contains(&own.operation.as_str()) {
        let message = format!("{} has no operation {}", table.name, own.operation);
        return Err(Refusal::new(Code::Unimplemented, message));
    }
    match (own.operation.as_str(), table.kind) {
        // The driver does this for the whole device, whatever the target.
        ("UpdateHitState", _) => {
            for part in chip.parts(table, ALL_PIPES)? {
                chip.own.hits.fetch(switch, &part)?;
            }
        }
        ("SyncCounters", _) => {
            for part in chip.parts(table, scope.pipe)? {
                chip.own.fetched.fetch_entries(switch, &part)?;
            }
        }
        ("Sync", Kind::Counter) => chip.own.fetched.fetch_cells(switch, table.source())?,
        _ => {}
    }
    Ok(())
}

fn match_action(
    switch: &Switch,
    chip: &mut Chip,
    table: &Table,
    scope: u8,
    kind: UpdateType,
    entry: &TableEntry,
    staged: Option<&mut Staged>,
) -> Result<Vec<state::Update>, Refusal> {
    let part = State::scoped_name(table.source(), scope);
    if entry.is_default_entry {
        return default_entry(table, part, kind, entry.data.as_ref());
    }
    let Some(own) = written_key(entry)? else {
        if kind != UpdateType::Delete {
            return Err(no_key(table));
        }
        let gone = direct::gone(switch, table, &part, None);
        chip.direct.extend(gone);
        return Ok(vec![state::Update::Clear { table: part }]);
    };
    let key = entries::key(table, part, own)?;
    if kind == UpdateType::Delete {
        let gone = direct::gone(switch, table, &key.table, Some(&key));
        chip.direct.extend(gone);
        if let Some(staged) = staged {
            if !is_there(switch, &key, Some(staged)) {
                return Err(no_entry(table));
            }
            staged.0.insert(key.clone(), false);
        }
        return Ok(vec![state::Update::Delete(key)]);
    }
    let before = match kind {
        UpdateType::Modify => switch.state().entry(&key).ok(),
        _ => None,
    };
    let target = before.as_ref().map(|own| &own.target);
    let mut given = entries::given(table, entry.data.as_ref(), target)?;
    let is_new = match kind {
        UpdateType::Insert => true,
        UpdateType::InsertOrModify => !is_there(switch, &key, staged.as_deref()),
        UpdateType::Modify => false,
        _ => return Err(odd(table)),
    };
    if let (Some(staged), true) = (staged, is_new) {
        staged.0.insert(key.clone(), true);
    }
    if let Some(active) = given.active {
        chip.own.hits.set(switch, &key, active);
    }
    let flags = entry.table_flags.unwrap_or_default();
    if !is_new && flags.reset_stats && table.counts() {
        given.packets = given.packets.or(Some(0));
        given.bytes = given.bytes.or(Some(0));
    }
    if !is_new && flags.reset_ttl && table.ages() && given.ttl.is_none() {
        let before = switch.state().entry(&key).ok();
        given.ttl = before.map(|own| own.idle_timeout.unwrap_or(0));
    }
    if !given.direct.is_empty() {
        let pipes = chip.pipes_in(table, scope);
        let change = direct::change(table, key.clone(), pipes, &given.direct)?;
        chip.direct.push(change);
    }
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
    name: String,
    kind: UpdateType,
    data: Option<&TableData>,
) -> Result<Vec<state::Update>, Refusal> {
    if is_reset(kind) && table.const_default == Some(true) {
        // It is what it was.
        return Ok(Vec::new());
    }
    if is_reset(kind) {
        let action = None;
        return Ok(vec![state::Update::SetDefault {
            table: name,
            action,
        }]);
    }
    let given = entries::given(table, data, None)?;
    if !given.direct.is_empty() {
        let message = format!(
            "{}: the default entry has no direct register or filter",
            table.name
        );
        return Err(Refusal::new(Code::Unimplemented, message));
    }
    let update = match given.target {
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

/// A member of an action profile; all of them when they are deleted without a key.
fn member(
    switch: &Switch,
    scope: Scope<'_>,
    table: &Table,
    kind: UpdateType,
    entry: &TableEntry,
    staged: Option<&mut Staged>,
) -> Result<Vec<state::Update>, Refusal> {
    let holders = scope.holders(table);
    let change = |profile: &str, member, action| state::Update::SetMember {
        profile: profile.to_string(),
        member,
        action,
    };
    let mut out = Vec::new();
    if kind == UpdateType::Delete && written_key(entry)?.is_none() {
        for profile in holders {
            let members = switch.state().members(profile)?.into_iter();
            out.extend(members.map(|(member, _)| change(profile, member, None)));
        }
        return Ok(out);
    }
    let member = index(table, entry)?;
    let key = EntryKey {
        table: table.name.clone(),
        priority: member,
        ..EntryKey::default()
    };
    let known = staged.as_deref().and_then(|own| own.0.get(&key).copied());
    let is_there = match (known, holders.first()) {
        (Some(known), _) => known,
        (None, Some(profile)) => switch.state().has_member(profile, member)?,
        (None, None) => false,
    };
    let action = match kind {
        UpdateType::Insert if is_there => {
            let message = format!("{} already has a member {member}", table.name);
            return Err(Refusal::new(Code::AlreadyExists, message));
        }
        UpdateType::Modify | UpdateType::Delete if !is_there => {
            let message = format!("{} has no member {member}", table.name);
            return Err(Refusal::new(Code::NotFound, message));
        }
        UpdateType::Delete => None,
        UpdateType::Insert | UpdateType::Modify | UpdateType::InsertOrModify => {
            match entries::given(table, entry.data.as_ref(), None)?.target {
                Some(Target::Action(action)) => Some(action),
                _ => {
                    let message = format!("{}: a member needs an action", table.name);
                    return Err(Refusal::invalid(message));
                }
            }
        }
        _ => return Err(odd(table)),
    };
    if let Some(staged) = staged {
        staged.0.insert(key, action.is_some());
    }
    let changes = holders.into_iter();
    out.extend(changes.map(|profile| change(profile, member, action.clone())));
    Ok(out)
}

/// A cell, in the pipes that the target means. Fields that are left out are 0.
fn register(
    switch: &Switch,
    chip: &Chip,
    table: &Table,
    pipe: u32,
    kind: UpdateType,
    entry: &TableEntry,
) -> Result<Vec<state::Update>, Refusal> {
    let name = table.source();
    let mut joined = BigUint::ZERO;
    let given = entry.data.as_ref().map_or(&[][..], |data| &data.fields);
    for field in table.data.iter().flat_map(|data| &data.one_of) {
        let own = given.iter().find(|own| own.field_id == field.id);
        let own = own.map(|own| values::given(own, &field.field_type, &field.name));
        joined =
            (joined << values::width(&field.field_type)) | own.transpose()?.unwrap_or_default();
    }
    if is_reset(kind) {
        joined = switch.initial_value(name)?;
    }
    let set = |index: Option<u64>, value: BigUint| state::Update::SetRegister {
        register: name.to_string(),
        index,
        value,
    };
    if is_reset(kind) && written_key(entry)?.is_none() {
        return Ok(vec![set(None, joined)]);
    }
    let (at, size) = (u64::from(index(table, entry)?), table.size.unsigned_abs());
    if at >= size {
        return Err(beyond(table, at));
    }
    // A pipe has as many cells as the index can name, which may be more than the table has.
    let of_pipe = switch.state().register_size(name)? / u64::from(PIPES);
    // The engine takes a cell of pipe 0 to be that of all pipes, so the others follow it.
    let meant = chip.pipes_of(table, pipe)?;
    let cells = (0..PIPES).map(|own| {
        let value = match meant.contains(&own) {
            true => joined.clone(),
            false => switch.read_register(name, at, own as u8)?,
        };
        Ok(set(Some(u64::from(own) * of_pipe + at), value))
    });
    match meant.len() == PIPES as usize {
        true => Ok(vec![set(Some(at), joined)]),
        false => cells.collect(),
    }
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
    let index = match (whole, written_key(entry)?) {
        (true, None) => None,
        _ => Some(u64::from(index(table, entry)?)),
    };
    let given = entries::given(table, entry.data.as_ref().filter(|_| !whole), None)?;
    Ok((index, given))
}

/// Whether an update brings back what the program begins with.
fn is_reset(kind: UpdateType) -> bool {
    matches!(kind, UpdateType::Delete | UpdateType::Reset)
}

fn written_key(entry: &TableEntry) -> Result<Option<&TableKey>, Refusal> {
    match &entry.name {
        Some(EntryName::Handle(_)) => Err(Refusal::new(
            Code::Unimplemented,
            "entries are written by their keys, not by handles",
        )),
        _ => Ok(key_of(entry)),
    }
}

/// The number that is the whole key of a table's entries.
pub(super) fn index(table: &Table, entry: &TableEntry) -> Result<u32, Refusal> {
    let key = written_key(entry)?.ok_or_else(|| no_key(table))?;
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
