//! Write batches from plain Python tuples, so that the engine needs to know no Python class:
//!
//! ```text
//! ("insert" | "modify", "entry", table, [(key, match)], priority, action, [(param, value)])
//! ("delete", "entry", table, [(key, match)], priority)
//! ("clear", table)                                   all entries but those of the program
//! ("default", table, action, [(param, value)])       action None: back to the program's
//! ("default", table, ("member" | "group", id), [])   of a table with an action profile
//! ("group", id, [(port, instance)])                  None removes the group
//! ("session", id, port | None, group | None, truncate)   no port and no group removes it
//! ("register", name, index, value)
//! ("counter", name, index, packets, bytes)
//! ("value_set", name, [[match]])                     all members of a parser's value set
//! ("meter", name, index | None, rates | None)        of all cells without an index
//! ("direct_meter", table, [(key, match)], priority, rates | None)
//! ("direct_counter", table, [(key, match)], priority, packets, bytes)
//! ("idle_timeout", table, [(key, match)], priority, picoseconds | None)
//! ("member", profile, id, action | None, [(param, value)])
//! ("member_group", profile, id, [member] | None)
//! ```
//!
//! In the place of an entry's action stands `("member", id)` or `("group", id)` if its table has an
//! action profile. Rates are (committed rate, committed burst, peak rate, peak burst) in bytes or
//! packets, per second; without them everything is green.
//!
//! A match is `("exact", v)`, `("lpm", v, length)`, `("ternary", v, mask)`, `("range", low, high)`,
//! `("optional", v)` or `("any",)`. Numbers are of any size.

use num_bigint::BigUint;
use p4_state::{
    ActionSpec, Args, CloneSession, Entry, EntryKey, Match, MeterConfig, Replica, Target, Update,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PySequence, PyTuple};

/// Converts a batch; errors name the index of the update.
pub fn batch(updates: &Bound<'_, PySequence>) -> PyResult<Vec<Update>> {
    let convert = |(index, item): (usize, PyResult<Bound<'_, PyAny>>)| {
        update(&item?.cast_into::<PyTuple>()?)
            .map_err(|error| PyValueError::new_err(format!("update {}: {error}", index + 1)))
    };
    updates.try_iter()?.enumerate().map(convert).collect()
}

fn update(tuple: &Bound<'_, PyTuple>) -> PyResult<Update> {
    let kind: String = tuple.get_item(0)?.extract()?;
    Ok(match kind.as_str() {
        "insert" => Update::Insert(entry(tuple)?),
        "modify" => Update::Modify(entry(tuple)?),
        "delete" => Update::Delete(entry_key(tuple)?),
        "clear" => Update::Clear {
            table: tuple.get_item(1)?.extract()?,
        },
        "default" => default(tuple)?,
        "group" => Update::SetGroup {
            group: tuple.get_item(1)?.extract()?,
            replicas: tuple
                .get_item(2)?
                .extract::<Option<Vec<(u16, u16)>>>()?
                .map(|pairs| {
                    pairs
                        .into_iter()
                        .map(|(port, rid)| Replica { port, rid })
                        .collect()
                }),
        },
        "session" => Update::SetSession {
            session: tuple.get_item(1)?.extract()?,
            to: session(tuple)?,
        },
        "register" => Update::SetRegister {
            register: tuple.get_item(1)?.extract()?,
            index: tuple.get_item(2)?.extract()?,
            value: tuple.get_item(3)?.extract()?,
        },
        "counter" => Update::SetCounter {
            counter: tuple.get_item(1)?.extract()?,
            index: tuple.get_item(2)?.extract()?,
            packets: tuple.get_item(3)?.extract()?,
            bytes: tuple.get_item(4)?.extract()?,
        },
        "value_set" => Update::SetValueSet {
            set: tuple.get_item(1)?.extract()?,
            members: members(&tuple.get_item(2)?)?,
        },
        "meter" => Update::SetMeter {
            meter: tuple.get_item(1)?.extract()?,
            index: tuple.get_item(2)?.extract()?,
            config: rates(&tuple.get_item(3)?)?,
        },
        "direct_counter" => Update::SetDirectCounter {
            key: place(tuple)?,
            packets: tuple.get_item(4)?.extract()?,
            bytes: tuple.get_item(5)?.extract()?,
        },
        "idle_timeout" => Update::SetIdleTimeout {
            key: place(tuple)?,
            ttl: tuple.get_item(4)?.extract()?,
        },
        "direct_meter" => Update::SetDirectMeter {
            key: place(tuple)?,
            config: rates(&tuple.get_item(4)?)?,
        },
        "member" => Update::SetMember {
            profile: tuple.get_item(1)?.extract()?,
            member: tuple.get_item(2)?.extract()?,
            action: match tuple.get_item(3)?.extract::<Option<String>>()? {
                Some(name) => Some(ActionSpec {
                    name,
                    args: named(&tuple.get_item(4)?)?,
                }),
                None => None,
            },
        },
        "member_group" => Update::SetMemberGroup {
            profile: tuple.get_item(1)?.extract()?,
            group: tuple.get_item(2)?.extract()?,
            members: tuple.get_item(3)?.extract()?,
        },
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no update called {kind:?}"
            )))
        }
    })
}

fn entry(tuple: &Bound<'_, PyTuple>) -> PyResult<Entry> {
    Ok(Entry {
        key: entry_key(tuple)?,
        target: target(tuple, 5)?,
    })
}

/// What stands at `at`, and the arguments of an action behind it.
fn target(tuple: &Bound<'_, PyTuple>, at: usize) -> PyResult<Target> {
    let leads_to = tuple.get_item(at)?;
    Ok(match leads_to.extract::<(String, u32)>() {
        Ok((kind, member)) if kind == "member" => Target::Member(member),
        Ok((kind, group)) if kind == "group" => Target::Group(group),
        _ => Target::Action(ActionSpec {
            name: leads_to.extract()?,
            args: named(&tuple.get_item(at + 1)?)?,
        }),
    })
}

fn default(tuple: &Bound<'_, PyTuple>) -> PyResult<Update> {
    let table = tuple.get_item(1)?.extract()?;
    if tuple.get_item(2)?.is_none() {
        let action = None;
        return Ok(Update::SetDefault { table, action });
    }
    Ok(match target(tuple, 2)? {
        Target::Action(action) => Update::SetDefault {
            table,
            action: Some(action),
        },
        target => Update::SetDefaultTarget { table, target },
    })
}

fn entry_key(tuple: &Bound<'_, PyTuple>) -> PyResult<EntryKey> {
    key_at(tuple, 2)
}

/// The key of an update that is about what belongs to an entry.
fn place(tuple: &Bound<'_, PyTuple>) -> PyResult<EntryKey> {
    key_at(tuple, 1)
}

fn key_at(tuple: &Bound<'_, PyTuple>, at: usize) -> PyResult<EntryKey> {
    key(
        tuple.get_item(at)?.extract()?,
        &tuple.get_item(at + 1)?,
        tuple.get_item(at + 2)?.extract()?,
    )
}

/// The key of an entry: its matches as pairs of a key's name and a match.
pub fn key(table: String, matches: &Bound<'_, PyAny>, priority: u32) -> PyResult<EntryKey> {
    let pair = |pair: PyResult<Bound<'_, PyAny>>| {
        let (field, value): (String, Bound<'_, PyTuple>) = pair?.extract()?;
        Ok::<_, PyErr>((field, match_of(&value)?))
    };
    Ok(EntryKey {
        table,
        matches: matches.try_iter()?.map(pair).collect::<PyResult<_>>()?,
        priority,
    })
}

fn members(given: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<Match>>> {
    let member = |member: PyResult<Bound<'_, PyAny>>| {
        let fields = member?;
        let each = |field: PyResult<Bound<'_, PyAny>>| match_of(&field?.cast_into::<PyTuple>()?);
        fields.try_iter()?.map(each).collect::<PyResult<_>>()
    };
    given.try_iter()?.map(member).collect()
}

fn rates(given: &Bound<'_, PyAny>) -> PyResult<Option<MeterConfig>> {
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

fn match_of(tuple: &Bound<'_, PyTuple>) -> PyResult<Match> {
    let number = |index: usize| number(&tuple.get_item(index)?);
    let kind: String = tuple.get_item(0)?.extract()?;
    Ok(match kind.as_str() {
        "exact" => Match::Exact(number(1)?),
        "lpm" => Match::Lpm {
            value: number(1)?,
            length: tuple.get_item(2)?.extract()?,
        },
        "ternary" => Match::Ternary {
            value: number(1)?,
            mask: number(2)?,
        },
        "range" => Match::Range {
            low: number(1)?,
            high: number(2)?,
        },
        "optional" => Match::Optional(number(1)?),
        "any" => Match::Any,
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no match called {kind:?}"
            )))
        }
    })
}

fn named(params: &Bound<'_, PyAny>) -> PyResult<Args> {
    let pair = |pair: PyResult<Bound<'_, PyAny>>| {
        let (name, value): (String, Bound<'_, PyAny>) = pair?.extract()?;
        Ok::<_, PyErr>((name, number(&value)?))
    };
    Ok(Args::Named(
        params.try_iter()?.map(pair).collect::<PyResult<_>>()?,
    ))
}

/// A number of any size. Most are small, and a large one costs a call of a method in Python.
fn number(value: &Bound<'_, PyAny>) -> PyResult<BigUint> {
    match value.extract::<u64>() {
        Ok(small) => Ok(BigUint::from(small)),
        Err(_) => value.extract(),
    }
}

fn session(tuple: &Bound<'_, PyTuple>) -> PyResult<Option<CloneSession>> {
    let port: Option<u16> = tuple.get_item(2)?.extract()?;
    let group: Option<u32> = tuple.get_item(3)?.extract()?;
    let truncate: u32 = tuple.get_item(4)?.extract()?;
    let to = CloneSession {
        group,
        port,
        truncate: (truncate > 0).then_some(truncate),
    };
    Ok((port.is_some() || group.is_some()).then_some(to))
}
