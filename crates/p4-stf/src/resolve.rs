//! From what a script writes to what a program has: names by exact match or unique dotted suffix,
//! values by the match kind of their key.

use crate::judge::Mode;
use crate::script::{ActionUse, Add, KeyUse, MatchText, Number};
use crate::target::{ActionSchema, Entry, KeySchema, Match, MatchKind, Schema, TableSchema};
use num_bigint::BigUint;

/// The index of `name`: the one exact match, else the only one that ends in `.name`.
pub fn find<'a>(
    what: &str,
    name: &str,
    all: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, String> {
    if let Some(index) = all.clone().position(|candidate| candidate == name) {
        return Ok(index);
    }
    let ends = |candidate: &str| {
        candidate
            .strip_suffix(name)
            .is_some_and(|before| before.ends_with('.'))
    };
    let found: Vec<_> = all
        .clone()
        .enumerate()
        .filter(|(_, candidate)| ends(candidate))
        .collect();
    match found[..] {
        [(index, _)] => Ok(index),
        [] => Err(format!("there is no {what} `{name}`; {}", known(what, all))),
        _ => {
            let names: Vec<_> = found.iter().map(|(_, candidate)| *candidate).collect();
            Err(format!(
                "`{name}` could be any {what} of {}; write more of the name",
                names.join(", ")
            ))
        }
    }
}

fn known<'a>(what: &str, all: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = all.take(12).collect();
    match names.is_empty() {
        true => format!("there is none of that kind ({what})"),
        false => format!("known: {}", names.join(", ")),
    }
}

pub fn find_table(schema: &Schema, name: &str) -> Result<usize, String> {
    find(
        "table",
        name,
        schema.tables.iter().map(|table| table.name.as_str()),
    )
}

/// The action's index in its table and its arguments in order.
pub fn action(table: &TableSchema, used: &ActionUse) -> Result<(usize, Vec<BigUint>), String> {
    let names = table.actions.iter().map(|action| action.name.as_str());
    let index = find(
        &format!("action of table {}", table.name),
        &used.name,
        names,
    )?;
    Ok((index, arguments(&table.actions[index], used)?))
}

fn arguments(action: &ActionSchema, used: &ActionUse) -> Result<Vec<BigUint>, String> {
    let named = |name: &str| action.params.iter().any(|(param, _)| param == name);
    if let Some((name, _)) = used.args.iter().find(|(name, _)| !named(name)) {
        let params: Vec<_> = action
            .params
            .iter()
            .map(|(param, _)| param.as_str())
            .collect();
        return Err(format!(
            "action {} has no argument `{name}`; it has ({})",
            action.name,
            params.join(", ")
        ));
    }
    let argument = |(param, width): &(String, u32)| {
        let mut given = used.args.iter().filter(|(name, _)| name == param);
        match (given.next(), given.next()) {
            (Some((_, value)), None) => {
                fits(value, *width, &format!("argument {param}"))?;
                Ok(value.clone())
            }
            (None, _) => Err(format!("action {} needs the argument {param}", action.name)),
            (Some(_), Some(_)) => Err(format!("argument {param} is given twice")),
        }
    };
    action.params.iter().map(argument).collect()
}

/// The entry that an `add` describes. Keys that it leaves out match anything, exact ones zero.
pub fn entry(schema: &Schema, add: &Add, mode: Mode) -> Result<Entry, String> {
    let index = find_table(schema, &add.table)?;
    let table = &schema.tables[index];
    let mut keys: Vec<Option<Match>> = vec![None; table.keys.len()];
    for used in &add.keys {
        let at = find_key(table, used)?;
        if keys[at].is_some() {
            return Err(format!("key {} is given twice", table.keys[at].name));
        }
        keys[at] = Some(value(&table.keys[at], used, mode)?);
    }
    let filled = keys
        .into_iter()
        .zip(&table.keys)
        .map(|(given, key)| given.unwrap_or_else(|| any(key)));
    let keys = filled.collect();
    let (action, args) = action(table, &add.action)?;
    let priority = match (table.has_priorities(), add.priority) {
        // p4c passes a priority on only where the table has some; one more, as 0 means none.
        (true, priority) => priority.unwrap_or(0) + 1,
        (false, _) => 0,
    };
    Ok(Entry {
        table: index,
        keys,
        priority,
        action,
        args,
    })
}

/// `h.$valid$` and `h.valid` are older names of `h.isValid()`.
fn find_key(table: &TableSchema, used: &KeyUse) -> Result<usize, String> {
    let names = table.keys.iter().map(|key| key.name.as_str());
    let what = format!("key of table {}", table.name);
    let found = find(&what, &used.field, names.clone());
    let older = used
        .field
        .strip_suffix(".$valid$")
        .or_else(|| used.field.strip_suffix(".valid"));
    match older {
        Some(header) if found.is_err() => {
            find(&what, &format!("{header}.isValid()"), names).or(found)
        }
        _ => found,
    }
}

fn any(key: &KeySchema) -> Match {
    let zero = BigUint::default;
    match key.kind {
        MatchKind::Exact | MatchKind::Other => Match::Exact(zero()),
        MatchKind::Lpm => Match::Lpm {
            value: zero(),
            length: 0,
        },
        MatchKind::Ternary => Match::Ternary {
            value: zero(),
            mask: zero(),
        },
        MatchKind::Range => Match::Range {
            low: zero(),
            high: ones(key.width),
        },
        MatchKind::Optional => Match::Optional(None),
    }
}

fn value(key: &KeySchema, used: &KeyUse, mode: Mode) -> Result<Match, String> {
    let what = &format!("key {}", key.name);
    let refuse = |kind: &str, write: &str| Err(format!("{what} is matched {kind}; write {write}"));
    match (key.kind, &used.value) {
        (MatchKind::Ternary, MatchText::Masked { value, mask }) => {
            let mask = plain(mask, key.width, what)?;
            Ok(Match::Ternary {
                value: plain(value, key.width, what)? & &mask,
                mask,
            })
        }
        (MatchKind::Ternary, MatchText::Prefix { value, length }) => {
            let mask = prefix_mask(*length, key.width, what)?;
            Ok(Match::Ternary {
                value: plain(value, key.width, what)? & &mask,
                mask,
            })
        }
        (MatchKind::Ternary, MatchText::Number(number)) => ternary(number, key.width, what, mode),
        (MatchKind::Lpm, MatchText::Prefix { value, length }) => {
            let mask = prefix_mask(*length, key.width, what)?;
            Ok(Match::Lpm {
                value: plain(value, key.width, what)? & mask,
                length: *length,
            })
        }
        (MatchKind::Lpm, MatchText::Number(number)) => lpm(number, key.width, what),
        (MatchKind::Range, MatchText::Range { low, high }) => Ok(Match::Range {
            low: plain(low, key.width, what)?,
            high: plain(high, key.width, what)?,
        }),
        (MatchKind::Range, MatchText::Number(number)) => {
            let low = plain(number, key.width, what)?;
            Ok(Match::Range {
                high: low.clone(),
                low,
            })
        }
        (MatchKind::Optional, MatchText::Number(number)) => {
            Ok(Match::Optional(Some(plain(number, key.width, what)?)))
        }
        (MatchKind::Exact, MatchText::Number(number)) => {
            Ok(Match::Exact(plain(number, key.width, what)?))
        }
        (MatchKind::Exact, _) => refuse("exactly", "one number"),
        (MatchKind::Lpm, _) => refuse(
            "by longest prefix",
            "VALUE/LENGTH, or * for the last digits",
        ),
        (MatchKind::Ternary, _) => {
            refuse("by mask", "VALUE&&&MASK, or * for digits that may be any")
        }
        (MatchKind::Range, _) => refuse("by range", "LOW..HIGH"),
        (MatchKind::Optional, _) => refuse("exactly or not at all", "one number, or leave it out"),
        (MatchKind::Other, _) => Err(format!("{what} takes no value in an entry; leave it out")),
    }
}

/// `*` digits are masked out. Digits that are not written are zero and compared; p4c's runner
/// does not compare them.
fn ternary(number: &Number, width: u32, what: &str, mode: Mode) -> Result<Match, String> {
    let Some(written) = &number.written else {
        return Err(format!(
            "{what} is matched by mask; write its value in hexadecimal or binary"
        ));
    };
    fits(&number.value, width, what)?;
    let wild = &ones(number.digit_bits) ^ written;
    let mask = match mode {
        Mode::Lax => written & ones(width),
        Mode::Strict => ones(width) ^ (wild & ones(width)),
    };
    Ok(Match::Ternary {
        value: number.value.clone(),
        mask,
    })
}

fn lpm(number: &Number, width: u32, what: &str) -> Result<Match, String> {
    let wild = number.trailing_wild_bits;
    let middle = number
        .written
        .as_ref()
        .is_some_and(|w| *w != ones(number.digit_bits) ^ ones(wild));
    if middle {
        return Err(format!(
            "{what} is matched by longest prefix; only the last digits may be *"
        ));
    }
    fits(&number.value, width, what)?;
    Ok(Match::Lpm {
        value: number.value.clone(),
        length: width.saturating_sub(wild),
    })
}

fn plain(number: &Number, width: u32, what: &str) -> Result<BigUint, String> {
    if number.has_wildcards() {
        return Err(format!("{what} takes a whole number here, without *"));
    }
    fits(&number.value, width, what)?;
    Ok(number.value.clone())
}

fn prefix_mask(length: u32, width: u32, what: &str) -> Result<BigUint, String> {
    if length > width {
        return Err(format!(
            "{what} has {width} bits, so /{length} is too long a prefix"
        ));
    }
    Ok(ones(width) ^ ones(width - length))
}

fn fits(value: &BigUint, width: u32, what: &str) -> Result<(), String> {
    if value.bits() > u64::from(width) {
        return Err(format!(
            "{what} has {width} bits; {value:#x} needs {}",
            value.bits()
        ));
    }
    Ok(())
}

fn ones(width: u32) -> BigUint {
    (BigUint::from(1u8) << width) - 1u8
}
