//! Updates in JSON, in the form of `p4lab.model.entries_json`: what control planes write. Numbers that
//! not every reader of JSON holds exactly are texts of decimal digits.

use num_bigint::BigUint;
use p4_state::{ActionSpec, Args, CloneSession, Entry, EntryKey, MeterConfig, Replica, Target};
use serde::de::{Deserializer, Error};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Converts a batch; errors name the place of the update.
pub fn batch(updates: &[Value]) -> Result<Vec<p4_state::Update>, String> {
    let convert = |(index, update): (usize, &Value)| {
        let read = Update::deserialize(update).map_err(|error| error.to_string());
        read.and_then(Update::converted)
            .map_err(|error| format!("update {}: {error}", index + 1))
    };
    updates.iter().enumerate().map(convert).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Update {
    Insert(Entity),
    Modify(Entity),
    Delete(Entity),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Entity {
    TableEntry {
        table: String,
        r#match: BTreeMap<String, Match>,
        action: String,
        params: BTreeMap<String, Number>,
        priority: u32,
    },
    DefaultAction {
        table: String,
        action: String,
        params: BTreeMap<String, Number>,
    },
    MulticastGroup {
        group_id: u32,
        replicas: Vec<(u16, u16)>,
    },
    CloneSession {
        session_id: u32,
        replicas: Vec<(u16, u16)>,
        truncate: u32,
    },
    RegisterCell {
        register: String,
        index: u64,
        value: Number,
    },
    MeterCell {
        meter: String,
        index: u64,
        committed_rate: Rate,
        committed_burst: Rate,
        peak_rate: Rate,
        peak_burst: Rate,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Match {
    Exact(Number),
    Lpm(Number, u32),
    Ternary(Number, Number),
    Range(Number, Number),
    Optional(Number),
    DontCare([Number; 0]),
}

/// A number of any size.
struct Number(BigUint);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Number, D::Error> {
        let text = match Value::deserialize(given)? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let number = text.parse().map(Number);
        number.map_err(|_| D::Error::custom(format!("{text} is not a number from 0 on")))
    }
}

/// A rate or burst of a meter.
struct Rate(u64);

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Rate, D::Error> {
        let Number(number) = Number::deserialize(given)?;
        let rate = u64::try_from(&number).map(Rate);
        rate.map_err(|_| D::Error::custom(format!("{number} has more than 64 bits")))
    }
}

impl Update {
    fn converted(self) -> Result<p4_state::Update, String> {
        use p4_state::Update as To;
        let (entity, stays, is_new) = match self {
            Update::Insert(entity) => (entity, true, true),
            Update::Modify(entity) => (entity, true, false),
            Update::Delete(entity) => (entity, false, false),
        };
        Ok(match entity {
            Entity::TableEntry {
                table,
                r#match,
                action,
                params,
                priority,
            } => {
                let key = key(table, r#match, priority);
                let target = Target::Action(spec(action, params));
                match (stays, is_new) {
                    (false, _) => To::Delete(key),
                    (true, true) => To::Insert(Entry { key, target }),
                    (true, false) => To::Modify(Entry { key, target }),
                }
            }
            Entity::DefaultAction {
                table,
                action,
                params,
            } => To::SetDefault {
                table,
                action: stays.then(|| spec(action, params)),
            },
            Entity::MulticastGroup { group_id, replicas } => To::SetGroup {
                group: group_id,
                replicas: stays.then(|| copies(replicas)),
            },
            Entity::CloneSession {
                session_id,
                replicas,
                truncate,
            } => To::SetSession {
                session: session_id,
                to: stays.then(|| session(&replicas, truncate)).transpose()?,
            },
            Entity::RegisterCell {
                register,
                index,
                value,
            } => To::SetRegister {
                register,
                index: Some(index),
                value: if stays { value.0 } else { BigUint::ZERO },
            },
            Entity::MeterCell {
                meter,
                index,
                committed_rate,
                committed_burst,
                peak_rate,
                peak_burst,
            } => To::SetMeter {
                meter,
                index: Some(index),
                config: stays.then_some(MeterConfig {
                    committed_rate: committed_rate.0,
                    committed_burst: committed_burst.0,
                    peak_rate: peak_rate.0,
                    peak_burst: peak_burst.0,
                }),
            },
        })
    }
}

fn key(table: String, matches: BTreeMap<String, Match>, priority: u32) -> EntryKey {
    let pair = |(name, given): (String, Match)| (name, given.converted());
    EntryKey {
        table,
        matches: matches.into_iter().map(pair).collect(),
        priority,
    }
}

impl Match {
    fn converted(self) -> p4_state::Match {
        use p4_state::Match as To;
        match self {
            Match::Exact(value) => To::Exact(value.0),
            Match::Lpm(value, length) => To::Lpm {
                value: value.0,
                length,
            },
            Match::Ternary(value, mask) => To::Ternary {
                value: value.0,
                mask: mask.0,
            },
            Match::Range(low, high) => To::Range {
                low: low.0,
                high: high.0,
            },
            Match::Optional(value) => To::Optional(value.0),
            Match::DontCare([]) => To::Any,
        }
    }
}

fn spec(name: String, params: BTreeMap<String, Number>) -> ActionSpec {
    let pair = |(name, value): (String, Number)| (name, value.0);
    ActionSpec {
        name,
        args: Args::Named(params.into_iter().map(pair).collect()),
    }
}

fn copies(replicas: Vec<(u16, u16)>) -> Vec<Replica> {
    let replica = |(port, rid)| Replica { port, rid };
    replicas.into_iter().map(replica).collect()
}

fn session(replicas: &[(u16, u16)], truncate: u32) -> Result<CloneSession, String> {
    let [(port, _)] = replicas[..] else {
        return Err(format!(
            "a clone session has one port here, not {}",
            replicas.len()
        ));
    };
    Ok(CloneSession {
        group: None,
        port: Some(port),
        truncate: (truncate > 0).then_some(truncate),
    })
}
