//! Write batches from the classes of `p4lab.model.entries` and `p4lab.model.state`, whose fields are
//! read as they are, and matches and updates as objects of these classes.

use crate::classes::{class_of, field, made, make, misplaced, Class};
use num_bigint::BigUint;
use p4_state::{
    ActionSpec, Args, CloneSession, Entry, EntryKey, Match, MeterConfig, Replica, Target, Update,
};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PySequence, PyTuple};

type Object<'a, 'py> = &'a Bound<'py, PyAny>;

/// Converts a batch; errors name the index of the update and the field.
pub fn batch(updates: &Bound<'_, PySequence>) -> PyResult<Vec<Update>> {
    let convert = |(index, item): (usize, PyResult<Bound<'_, PyAny>>)| {
        item.and_then(|item| update(&item)).map_err(|error| {
            let message = error.value(updates.py());
            PyValueError::new_err(format!("update {}: {message}", index + 1))
        })
    };
    updates.try_iter()?.enumerate().map(convert).collect()
}

fn update(item: Object<'_, '_>) -> PyResult<Update> {
    Ok(match class_of(item)? {
        Some(Class::Update) => {
            let kind = made!(item, kind, kind);
            written(&item.getattr(intern!(item.py(), "entity"))?, kind)?
        }
        Some(Class::IndirectUpdate) => {
            let kind = made!(item, kind, kind);
            indirect(&item.getattr(intern!(item.py(), "entry"))?, kind)?
        }
        Some(Class::SetIndirectDefault) => Update::SetDefaultTarget {
            table: field!(item, table),
            target: made!(item, target, target),
        },
        Some(Class::Clear) => Update::Clear {
            table: field!(item, table),
        },
        Some(Class::ResetDefault) => Update::SetDefault {
            table: field!(item, table),
            action: None,
        },
        Some(Class::SetMember) => Update::SetMember {
            profile: field!(item, profile),
            member: field!(item, number),
            action: match field!(item, action) {
                Some(name) => Some(ActionSpec {
                    name,
                    args: made!(item, params, args),
                }),
                None => None,
            },
        },
        Some(Class::SetMemberGroup) => Update::SetMemberGroup {
            profile: field!(item, profile),
            group: field!(item, number),
            members: field!(item, members),
        },
        Some(Class::SetGroupSession) => Update::SetSession {
            session: field!(item, session_id),
            to: Some(CloneSession {
                group: Some(field!(item, group_id)),
                port: field!(item, port),
                truncate: truncated(field!(item, truncate)),
            }),
        },
        Some(Class::SetCounter) => Update::SetCounter {
            counter: field!(item, counter),
            index: field!(item, index),
            packets: field!(item, packets),
            bytes: field!(item, bytes),
        },
        Some(Class::FillRegister) => Update::SetRegister {
            register: field!(item, register),
            index: None,
            value: made!(item, value, number),
        },
        Some(Class::FillMeter) => Update::SetMeter {
            meter: field!(item, meter),
            index: None,
            config: made!(item, rates, rates),
        },
        Some(Class::SetEntryCounter) => Update::SetDirectCounter {
            key: entry_key(item)?,
            packets: field!(item, packets),
            bytes: field!(item, bytes),
        },
        Some(Class::SetEntryMeter) => Update::SetDirectMeter {
            key: entry_key(item)?,
            config: made!(item, rates, rates),
        },
        Some(Class::SetIdleTimeout) => Update::SetIdleTimeout {
            key: entry_key(item)?,
            ttl: field!(item, picoseconds),
        },
        Some(Class::SetValueSet) => Update::SetValueSet {
            set: field!(item, value_set),
            members: made!(item, members, |given| list(given, |member| list(
                member, match_of
            ))),
        },
        _ => return Err(misplaced(item, "an update")),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Insert,
    Modify,
    Delete,
}

fn kind(given: Object<'_, '_>) -> PyResult<Kind> {
    match given.extract()? {
        "insert" => Ok(Kind::Insert),
        "modify" => Ok(Kind::Modify),
        "delete" => Ok(Kind::Delete),
        other => Err(PyValueError::new_err(format!(
            "there is no update called {other:?}"
        ))),
    }
}

/// What writes an entity, or removes it.
fn written(entity: Object<'_, '_>, kind: Kind) -> PyResult<Update> {
    let stays = kind != Kind::Delete;
    Ok(match class_of(entity)? {
        Some(Class::TableEntry) => {
            let key = entry_key(entity)?;
            let target = || -> PyResult<Target> { Ok(Target::Action(action(entity)?)) };
            in_table(key, kind, target)?
        }
        Some(Class::DefaultAction) => Update::SetDefault {
            table: field!(entity, table),
            action: stays.then(|| action(entity)).transpose()?,
        },
        Some(Class::MulticastGroup) => Update::SetGroup {
            group: field!(entity, group_id),
            replicas: stays.then(|| replicas(entity)).transpose()?,
        },
        Some(Class::CloneSession) => Update::SetSession {
            session: field!(entity, session_id),
            to: stays.then(|| session(entity)).transpose()?,
        },
        Some(Class::RegisterCell) => Update::SetRegister {
            register: field!(entity, register),
            index: Some(field!(entity, index)),
            value: match stays {
                true => made!(entity, value, number),
                false => BigUint::ZERO,
            },
        },
        Some(Class::MeterCell) => Update::SetMeter {
            meter: field!(entity, meter),
            index: Some(field!(entity, index)),
            config: stays.then(|| cell_rates(entity)).transpose()?,
        },
        _ => return Err(misplaced(entity, "an entity")),
    })
}

/// What writes an entry that leads to a member or a group, or removes it.
fn indirect(entry: Object<'_, '_>, kind: Kind) -> PyResult<Update> {
    if class_of(entry)? != Some(Class::IndirectEntry) {
        return Err(misplaced(entry, "an indirect entry"));
    }
    let leads_to = || -> PyResult<Target> { Ok(made!(entry, target, target)) };
    in_table(entry_key(entry)?, kind, leads_to)
}

fn in_table(
    key: EntryKey,
    kind: Kind,
    target: impl FnOnce() -> PyResult<Target>,
) -> PyResult<Update> {
    Ok(match kind {
        Kind::Insert => Update::Insert(Entry {
            key,
            target: target()?,
        }),
        Kind::Modify => Update::Modify(Entry {
            key,
            target: target()?,
        }),
        Kind::Delete => Update::Delete(key),
    })
}

fn target(given: Object<'_, '_>) -> PyResult<Target> {
    Ok(match class_of(given)? {
        Some(Class::Member) => Target::Member(field!(given, number)),
        Some(Class::Group) => Target::Group(field!(given, number)),
        _ => return Err(misplaced(given, "a member or a group")),
    })
}

fn action(object: Object<'_, '_>) -> PyResult<ActionSpec> {
    Ok(ActionSpec {
        name: field!(object, action),
        args: made!(object, params, args),
    })
}

fn args(params: Object<'_, '_>) -> PyResult<Args> {
    list(params, |pair| named(pair, number)).map(Args::Named)
}

fn entry_key(object: Object<'_, '_>) -> PyResult<EntryKey> {
    Ok(EntryKey {
        table: field!(object, table),
        matches: made!(object, match, matches),
        priority: field!(object, priority),
    })
}

/// The key of an entry: its matches as pairs of a key's name and a match.
pub fn key(table: String, given: Object<'_, '_>, priority: u32) -> PyResult<EntryKey> {
    Ok(EntryKey {
        table,
        matches: matches(given)?,
        priority,
    })
}

fn matches(given: Object<'_, '_>) -> PyResult<Vec<(String, Match)>> {
    list(given, |pair| named(pair, match_of))
}

fn replicas(group: Object<'_, '_>) -> PyResult<Vec<Replica>> {
    let pairs: Vec<(u16, u16)> = field!(group, replicas);
    let replica = |(port, rid)| Replica { port, rid };
    Ok(pairs.into_iter().map(replica).collect())
}

fn session(session: Object<'_, '_>) -> PyResult<CloneSession> {
    let replicas = replicas(session)?;
    let [Replica { port, .. }] = replicas[..] else {
        let number: u32 = field!(session, session_id);
        return Err(PyValueError::new_err(format!(
            "clone session {number} has {} replicas; the engine's sessions have one port, or \
             those of a multicast group (SetGroupSession)",
            replicas.len()
        )));
    };
    Ok(CloneSession {
        group: None,
        port: Some(port),
        truncate: truncated(field!(session, truncate)),
    })
}

fn truncated(bytes: u32) -> Option<u32> {
    (bytes > 0).then_some(bytes)
}

fn cell_rates(cell: Object<'_, '_>) -> PyResult<MeterConfig> {
    Ok(MeterConfig {
        committed_rate: field!(cell, committed_rate),
        committed_burst: field!(cell, committed_burst),
        peak_rate: field!(cell, peak_rate),
        peak_burst: field!(cell, peak_burst),
    })
}

/// Rates, which are a named tuple, or none.
fn rates(given: Object<'_, '_>) -> PyResult<Option<MeterConfig>> {
    let rates: Option<(u64, u64, u64, u64)> = given.extract()?;
    Ok(rates.map(
        |(committed_rate, committed_burst, peak_rate, peak_burst)| MeterConfig {
            committed_rate,
            committed_burst,
            peak_rate,
            peak_burst,
        },
    ))
}

fn match_of(given: Object<'_, '_>) -> PyResult<Match> {
    Ok(match class_of(given)? {
        Some(Class::Exact) => Match::Exact(made!(given, value, number)),
        Some(Class::Lpm) => Match::Lpm {
            value: made!(given, value, number),
            length: field!(given, prefix_len),
        },
        Some(Class::Ternary) => Match::Ternary {
            value: made!(given, value, number),
            mask: made!(given, mask, number),
        },
        Some(Class::Range) => Match::Range {
            low: made!(given, low, number),
            high: made!(given, high, number),
        },
        Some(Class::Optional) => Match::Optional(made!(given, value, number)),
        Some(Class::DontCare) => Match::Any,
        _ => return Err(misplaced(given, "a match")),
    })
}

/// A match as an object.
pub fn match_object<'py>(py: Python<'py>, value: &Match) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Match::Exact(value) => make(py, Class::Exact, (value,)),
        Match::Lpm { value, length } => make(py, Class::Lpm, (value, length)),
        Match::Ternary { value, mask } => make(py, Class::Ternary, (value, mask)),
        Match::Range { low, high } => make(py, Class::Range, (low, high)),
        Match::Optional(value) => make(py, Class::Optional, (value,)),
        Match::Any => make(py, Class::DontCare, PyTuple::empty(py)),
    }
}

/// What an entry leads to as an object; none for an action.
#[cfg(all(target_os = "linux", feature = "whole"))]
pub fn target_object<'py>(py: Python<'py>, target: &Target) -> PyResult<Option<Bound<'py, PyAny>>> {
    match target {
        Target::Action(_) => Ok(None),
        Target::Member(member) => make(py, Class::Member, (member,)).map(Some),
        Target::Group(group) => make(py, Class::Group, (group,)).map(Some),
    }
}

/// An object that inserts an entity.
#[cfg(feature = "whole")]
pub fn insert_object<'py>(
    py: Python<'py>,
    entity: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    make(py, Class::Update, ("insert", entity))
}

/// A name and what belongs to it.
fn named<T>(
    pair: Object<'_, '_>,
    value: impl Fn(Object<'_, '_>) -> PyResult<T>,
) -> PyResult<(String, T)> {
    let (name, given): (String, Bound<'_, PyAny>) = pair.extract()?;
    let value = value(&given)
        .map_err(|error| PyValueError::new_err(format!("{name}: {}", error.value(pair.py()))))?;
    Ok((name, value))
}

fn list<T>(
    given: Object<'_, '_>,
    each: impl Fn(Object<'_, '_>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    given.try_iter()?.map(|item| each(&item?)).collect()
}

/// A number of any size. Most are small, and a large one costs a call of a method in Python.
fn number(value: Object<'_, '_>) -> PyResult<BigUint> {
    match value.extract::<u64>() {
        Ok(small) => Ok(BigUint::from(small)),
        Err(_) => value.extract(),
    }
}
