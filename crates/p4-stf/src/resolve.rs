//! From what a script writes to what a switch takes: what a value means depends on the match kind
//! of its key, so tables and keys are looked up here, by exact name or unique dotted suffix.

use crate::judge::Mode;
use crate::script::{ActionUse, Add, KeyUse, MatchText, Number};
use crate::target::{KeySchema, MatchKind, TableSchema};
use num_bigint::BigUint;
use p4_state::{ActionSpec, Args, Entry, EntryKey, Match, Target};

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

pub fn find_table<'a>(schema: &'a [TableSchema], name: &str) -> Result<&'a TableSchema, String> {
    let names = schema.iter().map(|table| table.name.as_str());
    Ok(&schema[find("table", name, names)?])
}

pub fn action(used: &ActionUse) -> ActionSpec {
    ActionSpec {
        name: used.name.clone(),
        args: Args::Named(used.args.clone()),
    }
}

/// The entry that an `add` describes. Keys that it leaves out match anything, exact ones zero.
pub fn entry(schema: &[TableSchema], add: &Add, mode: Mode) -> Result<Entry, String> {
    let table = find_table(schema, &add.table)?;
    let mut matches = Vec::new();
    for used in &add.keys {
        let key = find_key(table, used)?;
        if let Some(value) = value(key, used, mode)? {
            matches.push((key.name.clone(), value));
        }
    }
    for key in &table.keys {
        let given = matches.iter().any(|(name, _)| *name == key.name);
        if key.kind == MatchKind::Exact && !given {
            matches.push((key.name.clone(), Match::Exact(BigUint::default())));
        }
    }
    let priority = match (table.has_priorities(), add.priority) {
        // p4c passes a priority on only where the table has some; one more, as 0 means none.
        (true, priority) => priority.unwrap_or(0) + 1,
        (false, _) => 0,
    };
    Ok(Entry {
        key: EntryKey {
            table: table.name.clone(),
            matches,
            priority,
        },
        target: Target::Action(action(&add.action)),
    })
}

/// `h.$valid$`, `h.valid` and just `h` are older names of `h.isValid()`.
fn find_key<'a>(table: &'a TableSchema, used: &KeyUse) -> Result<&'a KeySchema, String> {
    let names = table.keys.iter().map(|key| key.name.as_str());
    let what = format!("key of table {}", table.name);
    // P4Info names `f & 0xf0` as it is written, which is how p4testgen has it.
    let found = find(&what, &used.field, names.clone())
        .or_else(|missing| find(&what, &in_decimal(&used.field), names.clone()).or(Err(missing)));
    let header = used
        .field
        .strip_suffix(".$valid$")
        .or_else(|| used.field.strip_suffix(".valid"))
        .unwrap_or(&used.field);
    let validity = |suffix| find(&what, &format!("{header}.{suffix}"), names.clone());
    let index = match found {
        Ok(index) => Ok(index),
        missing => validity("isValid()")
            .or_else(|_| validity("$valid$"))
            .or(missing),
    };
    Ok(&table.keys[index?])
}

/// The name with its numbers in decimal, as the program's tables have them.
fn in_decimal(name: &str) -> String {
    let digits = |word: &str| {
        let radix = match word.get(..2)? {
            "0x" => 16,
            "0o" => 8,
            "0b" => 2,
            _ => return None,
        };
        BigUint::parse_bytes(&word.as_bytes()[2..], radix).map(|value| value.to_string())
    };
    let words = name.split(' ');
    let words: Vec<_> = words
        .map(|word| digits(word).unwrap_or(word.into()))
        .collect();
    words.join(" ")
}

/// What an entry asks of a key; `None` if it asks for nothing.
fn value(key: &KeySchema, used: &KeyUse, mode: Mode) -> Result<Option<Match>, String> {
    match (key.kind, &used.value) {
        (MatchKind::Optional, MatchText::Number(number)) if number.is_any() => Ok(None),
        _ => asked(key, used, mode).map(Some),
    }
}

fn asked(key: &KeySchema, used: &KeyUse, mode: Mode) -> Result<Match, String> {
    let what = &format!("key {}", key.name);
    let refuse = |kind: &str, write: &str| Err(format!("{what} is matched {kind}; write {write}"));
    match (key.kind, &used.value) {
        (MatchKind::Ternary, MatchText::Masked { value, mask }) => {
            let mask = plain(mask, what)?;
            Ok(Match::Ternary {
                value: plain(value, what)? & &mask,
                mask,
            })
        }
        (MatchKind::Ternary, MatchText::Prefix { value, length }) => Ok(Match::Ternary {
            value: prefix(&plain(value, what)?, *length, key.width),
            mask: ones(key.width) ^ ones(key.width.saturating_sub(*length)),
        }),
        (MatchKind::Ternary, MatchText::Number(number)) => ternary(number, key.width, what, mode),
        (MatchKind::Lpm, MatchText::Prefix { value, length }) => Ok(Match::Lpm {
            value: prefix(&plain(value, what)?, *length, key.width),
            length: *length,
        }),
        (MatchKind::Lpm, MatchText::Number(number)) => lpm(number, key.width, what),
        (MatchKind::Range, MatchText::Range { low, high }) => Ok(Match::Range {
            low: plain(low, what)?,
            high: plain(high, what)?,
        }),
        (MatchKind::Range, MatchText::Number(number)) => {
            let low = plain(number, what)?;
            Ok(Match::Range {
                high: low.clone(),
                low,
            })
        }
        (MatchKind::Optional, MatchText::Number(number)) => {
            Ok(Match::Optional(plain(number, what)?))
        }
        (MatchKind::Exact, MatchText::Number(number)) => Ok(Match::Exact(plain(number, what)?)),
        (MatchKind::Exact, _) => refuse("exactly", "one number"),
        (MatchKind::Lpm, _) => refuse(
            "by longest prefix",
            "VALUE/LENGTH, or * for the last digits",
        ),
        (MatchKind::Ternary, _) => {
            refuse("by mask", "VALUE&&&MASK, or * for digits that may be any")
        }
        (MatchKind::Range, _) => refuse("by range", "LOW..HIGH"),
        (MatchKind::Optional, _) => refuse("exactly or not at all", "one number, or 0b*"),
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
    let written = number.written.as_ref();
    if written.is_some_and(|written| *written != ones(number.digit_bits) ^ ones(wild)) {
        return Err(format!(
            "{what} is matched by longest prefix; only the last digits may be *"
        ));
    }
    Ok(Match::Lpm {
        value: number.value.clone(),
        length: width.saturating_sub(wild),
    })
}

fn plain(number: &Number, what: &str) -> Result<BigUint, String> {
    if number.has_wildcards() {
        return Err(format!("{what} takes a whole number here, without *"));
    }
    Ok(number.value.clone())
}

/// The first bits of a value, the others being zero; bits that are too many stay, to be refused.
fn prefix(value: &BigUint, length: u32, width: u32) -> BigUint {
    let others = width.saturating_sub(length);
    (value >> others) << others
}

fn ones(width: u32) -> BigUint {
    (BigUint::from(1u8) << width) - 1u8
}
