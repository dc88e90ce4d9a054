//! Write batches from plain Python tuples, so that the engine needs to know no Python class:
//!
//! ```text
//! ("insert" | "modify", "entry", table, [(key, match)], priority, action, [(param, value)])
//! ("delete", "entry", table, [(key, match)], priority)
//! ("clear", table)                                   all entries but those of the program
//! ("default", table, action, [(param, value)])       action None: back to the program's
//! ("group", id, [(port, instance)])                  None removes the group
//! ("session", id, port | None, group | None, truncate)   no port and no group removes it
//! ("register", name, index, value)
//! ("counter", name, index, packets, bytes)
//! ```
//!
//! A match is `("exact", v)`, `("lpm", v, length)`, `("ternary", v, mask)`, `("range", low, high)`,
//! `("optional", v)` or `("any",)`. Numbers are of any size.

use num_bigint::BigUint;
use p4_state::{ActionSpec, Args, CloneSession, Entry, EntryKey, Match, Replica, Target, Update};
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
        "default" => Update::SetDefault {
            table: tuple.get_item(1)?.extract()?,
            action: match tuple.get_item(2)?.extract::<Option<String>>()? {
                Some(name) => Some(ActionSpec {
                    name,
                    args: named(&tuple.get_item(3)?)?,
                }),
                None => None,
            },
        },
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
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no update called {kind:?}"
            )))
        }
    })
}

fn entry(tuple: &Bound<'_, PyTuple>) -> PyResult<Entry> {
    let action = ActionSpec {
        name: tuple.get_item(5)?.extract()?,
        args: named(&tuple.get_item(6)?)?,
    };
    Ok(Entry {
        key: entry_key(tuple)?,
        target: Target::Action(action),
    })
}

fn entry_key(tuple: &Bound<'_, PyTuple>) -> PyResult<EntryKey> {
    let mut matches = Vec::new();
    for pair in tuple.get_item(3)?.try_iter()? {
        let (field, value): (String, Bound<'_, PyTuple>) = pair?.extract()?;
        matches.push((field, match_of(&value)?));
    }
    let table = tuple.get_item(2)?.extract()?;
    Ok(EntryKey {
        table,
        matches,
        priority: tuple.get_item(4)?.extract()?,
    })
}

fn match_of(tuple: &Bound<'_, PyTuple>) -> PyResult<Match> {
    let number = |index: usize| -> PyResult<BigUint> { tuple.get_item(index)?.extract() };
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
    Ok(Args::Named(
        params
            .try_iter()?
            .map(|pair| pair?.extract())
            .collect::<PyResult<_>>()?,
    ))
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
