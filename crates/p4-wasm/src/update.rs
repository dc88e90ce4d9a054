//! Entries in JSON, in the form of `_engine.Update` (src/p4lab/_engine.pyi): what control planes
//! write. Numbers that JSON cannot hold are texts of decimal digits.

use num_bigint::BigUint;
use p4_state::{
    ActionSpec, Args, CloneSession, Entry, EntryKey, Match, MeterConfig, Replica, Target, Update,
};
use serde::Deserialize;
use serde_json::Value;

/// Converts a batch; errors name the place of the update.
pub fn batch(updates: &[Value]) -> Result<Vec<Update>, String> {
    let convert = |(index, update): (usize, &Value)| {
        read(update).map_err(|error| format!("update {}: {error}", index + 1))
    };
    updates.iter().enumerate().map(convert).collect()
}

fn read(update: &Value) -> Result<Update, String> {
    Ok(match update[0].as_str().unwrap_or_default() {
        "insert" => Update::Insert(entry(update)?),
        "modify" => Update::Modify(entry(update)?),
        "delete" => Update::Delete(entry_key(update)?),
        "default" => Update::SetDefault {
            table: part(update, 1)?,
            action: match part::<Option<String>>(update, 2)? {
                Some(name) => Some(action(name, &update[3])?),
                None => None,
            },
        },
        "group" => Update::SetGroup {
            group: part(update, 1)?,
            replicas: part::<Option<Vec<(u16, u16)>>>(update, 2)?.map(|pairs| {
                let replica = |(port, rid)| Replica { port, rid };
                pairs.into_iter().map(replica).collect()
            }),
        },
        "session" => Update::SetSession {
            session: part(update, 1)?,
            to: session(update)?,
        },
        "register" => Update::SetRegister {
            register: part(update, 1)?,
            index: part(update, 2)?,
            value: number(&update[3])?,
        },
        "meter" => Update::SetMeter {
            meter: part(update, 1)?,
            index: part(update, 2)?,
            config: part::<Option<[u64; 4]>>(update, 3)?.map(rates),
        },
        kind => return Err(format!("no control plane of ours writes {kind:?}")),
    })
}

fn entry(update: &Value) -> Result<Entry, String> {
    Ok(Entry {
        key: entry_key(update)?,
        target: Target::Action(action(part(update, 5)?, &update[6])?),
    })
}

fn entry_key(update: &Value) -> Result<EntryKey, String> {
    let pairs: Vec<(String, Value)> = part(update, 3)?;
    let pair = |(name, given): (String, Value)| Ok((name, match_of(&given)?));
    Ok(EntryKey {
        table: part(update, 2)?,
        matches: pairs.into_iter().map(pair).collect::<Result<_, String>>()?,
        priority: part(update, 4)?,
    })
}

fn match_of(given: &Value) -> Result<Match, String> {
    Ok(match given[0].as_str().unwrap_or_default() {
        "exact" => Match::Exact(number(&given[1])?),
        "lpm" => Match::Lpm {
            value: number(&given[1])?,
            length: part(given, 2)?,
        },
        "ternary" => Match::Ternary {
            value: number(&given[1])?,
            mask: number(&given[2])?,
        },
        "range" => Match::Range {
            low: number(&given[1])?,
            high: number(&given[2])?,
        },
        "optional" => Match::Optional(number(&given[1])?),
        "any" => Match::Any,
        kind => return Err(format!("there is no match called {kind:?}")),
    })
}

fn action(name: String, args: &Value) -> Result<ActionSpec, String> {
    let pairs = Vec::<(String, Value)>::deserialize(args).map_err(|error| error.to_string())?;
    let pair = |(name, value): (String, Value)| Ok((name, number(&value)?));
    let args = pairs.into_iter().map(pair).collect::<Result<_, String>>()?;
    Ok(ActionSpec {
        name,
        args: Args::Named(args),
    })
}

fn session(update: &Value) -> Result<Option<CloneSession>, String> {
    let port: Option<u16> = part(update, 2)?;
    let group: Option<u32> = part(update, 3)?;
    let truncate: u32 = part(update, 4)?;
    let to = CloneSession {
        group,
        port,
        truncate: (truncate > 0).then_some(truncate),
    };
    Ok((port.is_some() || group.is_some()).then_some(to))
}

fn rates([committed_rate, committed_burst, peak_rate, peak_burst]: [u64; 4]) -> MeterConfig {
    MeterConfig {
        committed_rate,
        committed_burst,
        peak_rate,
        peak_burst,
    }
}

/// What stands at a place of an update.
fn part<T: serde::de::DeserializeOwned>(update: &Value, at: usize) -> Result<T, String> {
    T::deserialize(&update[at]).map_err(|error| format!("at place {at}: {error}"))
}

/// A number of any size.
fn number(given: &Value) -> Result<BigUint, String> {
    let text = match given {
        Value::String(text) => text.clone(),
        given => given.to_string(),
    };
    text.parse()
        .map_err(|_| format!("{given} is no number from 0 on"))
}
