//! From names and numbers to what the tables hold.

use crate::error::UpdateError;
use crate::matcher::{Pattern, Range};
use crate::names::find;
use crate::state::State;
use crate::table::{KeyInfo, Kind, Table};
use crate::update::{ActionSpec, Args, EntryKey, Match};
use crate::value::{less, push_ones, push_words, to_words};
use num_bigint::BigUint;
use p4_ir::ir::words;

impl State {
    pub(crate) fn table_named(&self, name: &str) -> Result<usize, UpdateError> {
        find("table", name, self.tables.iter().map(|table| &*table.name))
    }

    pub(crate) fn instance_named(
        &self,
        what: &'static str,
        name: &str,
        fits: impl Fn(usize) -> bool + Clone,
    ) -> Result<usize, UpdateError> {
        let named = self
            .program
            .instances
            .iter()
            .enumerate()
            .filter(|(id, _)| fits(*id));
        let index = find(
            what,
            name,
            named.clone().map(|(_, instance)| &*instance.name),
        )?;
        Ok(named.map(|(id, _)| id).nth(index).unwrap_or_default())
    }

    /// Table, pattern and priority that `key` names.
    pub(crate) fn entry_key(&self, key: &EntryKey) -> Result<(usize, Pattern, u32), UpdateError> {
        let index = self.table_named(&key.table)?;
        let table = &self.tables[index];
        if table.keys.is_empty() {
            return Err(UpdateError::NoKey {
                table: table.name.to_string(),
            });
        }
        let mut pattern = pattern(table, &key.matches, self.bmv2_compat)?;
        if let Some(mask) = &table.key_mask {
            for (value, mask) in pattern.value.iter_mut().zip(mask) {
                *value &= mask;
            }
        }
        match (table.priorities, key.priority) {
            (true, 0) => Err(UpdateError::PriorityNeeded {
                table: table.name.to_string(),
            }),
            (false, 1..) => Err(UpdateError::PriorityNotAllowed {
                table: table.name.to_string(),
            }),
            _ => Ok((index, pattern, key.priority)),
        }
    }
}

/// The pattern of an entry of `table`.
fn pattern(
    table: &Table,
    matches: &[(String, Match)],
    any_mask: bool,
) -> Result<Pattern, UpdateError> {
    let mut given: Vec<Option<&Match>> = nothing_for(&table.keys);
    for (name, one) in matches {
        let first = find("key", name, table.keys.iter().map(|key| &*key.name))?;
        // A field may be a key more than once; its matches come in the order of the keys.
        let same = |at: &usize| table.keys[*at].name == table.keys[first].name;
        let index = (first..table.keys.len())
            .filter(same)
            .find(|at| given[*at].is_none())
            .unwrap_or(first);
        if given[index].replace(one).is_some() {
            return Err(UpdateError::TwiceGiven {
                what: "key",
                name: name.clone(),
            });
        }
    }
    let words = table.key_words();
    let mut parts = Parts::of(words, any_mask);
    for (key, given) in table.keys.iter().zip(given) {
        match given {
            Some(given) => parts.add(key, given)?,
            None if key.kind == Kind::Exact => {
                let (table, key) = (table.name.to_string(), key.name.to_string());
                return Err(UpdateError::MissingKey { table, key });
            }
            None => parts.pass(key),
        }
    }
    let Parts {
        value,
        mask,
        ranges,
        prefix,
        ..
    } = parts;
    Ok(Pattern {
        value: value.into(),
        mask: mask.into(),
        ranges: ranges.into(),
        prefix,
    })
}

/// The members of a value set have patterns as entries have.
pub(crate) fn set_pattern(keys: &[KeyInfo], matches: &[Match]) -> Result<Pattern, UpdateError> {
    let words = keys.iter().map(|key| key.words).sum();
    let mut parts = Parts::of(words, false);
    for (index, key) in keys.iter().enumerate() {
        match matches.get(index) {
            // A parser compares by masks whatever a set is said to be matched by.
            Some(given @ Match::Ternary { .. }) if key.kind == Kind::Exact => {
                let masked = KeyInfo {
                    kind: Kind::Ternary,
                    ..key.clone()
                };
                parts.add(&masked, given)?;
            }
            Some(given) => parts.add(key, given)?,
            None => {
                let (table, key) = ("the value set".to_string(), key.name.to_string());
                return Err(UpdateError::MissingKey { table, key });
            }
        }
    }
    let Parts {
        value,
        mask,
        ranges,
        ..
    } = parts;
    Ok(Pattern {
        value: value.into(),
        mask: mask.into(),
        ranges: ranges.into(),
        prefix: 0,
    })
}

/// A place for what each key or parameter is given. Not a vector of zeros, which takes the allocator's
/// slow way.
fn nothing_for<T, V>(all: &[T]) -> Vec<Option<V>> {
    all.iter().map(|_| None).collect()
}

/// A pattern, key after key in the order of their words.
struct Parts {
    /// Optional keys take any mask, as p4c makes them ternary for bmv2.
    any_mask: bool,
    value: Vec<u64>,
    mask: Vec<u64>,
    ranges: Vec<Range>,
    prefix: u32,
}

impl Parts {
    /// Of keys that have so many words together.
    fn of(words: usize, any_mask: bool) -> Parts {
        Parts {
            any_mask,
            value: Vec::with_capacity(words),
            mask: Vec::with_capacity(words),
            ranges: Vec::new(),
            prefix: 0,
        }
    }

    /// A key whose bits do not matter
    fn pass(&mut self, key: &KeyInfo) {
        self.value.resize(key.at + key.words, 0);
        self.mask.resize(key.at + key.words, 0);
    }

    fn add(&mut self, key: &KeyInfo, given: &Match) -> Result<(), UpdateError> {
        let number = |value: &BigUint| checked(&key.name, value, key.width);
        let (value, mask) = (&mut self.value, &mut self.mask);
        let push = |given: &BigUint, limbs: &mut Vec<u64>| {
            push_checked(&key.name, given, key.width, limbs)
        };
        let wrong = || {
            let (key, kind) = (key.name.to_string(), key.kind.name().to_string());
            Err(UpdateError::WrongKind { key, kind })
        };
        match (key.kind, given) {
            (Kind::Exact, Match::Any) => return wrong(),
            (Kind::Selector, _) | (_, Match::Any) => {
                self.pass(key);
                return Ok(());
            }
            (Kind::Exact | Kind::Optional, Match::Exact(given) | Match::Optional(given))
            | (Kind::Ternary, Match::Exact(given)) => {
                push(given, value)?;
                push_ones(0, key.width, key.words, mask);
            }
            (
                Kind::Lpm,
                Match::Lpm {
                    value: given,
                    length,
                },
            ) => {
                let (length, width) = (*length, key.width);
                if length > width {
                    let key = key.name.to_string();
                    return Err(UpdateError::PrefixTooLong { key, length, width });
                }
                self.prefix += length;
                push(given, value)?;
                push_ones(width - length, width, key.words, mask);
            }
            (Kind::Lpm, Match::Exact(given)) => {
                self.prefix += key.width;
                push(given, value)?;
                push_ones(0, key.width, key.words, mask);
            }
            (
                kind @ (Kind::Ternary | Kind::Optional),
                Match::Ternary {
                    value: given,
                    mask: own,
                },
            ) if kind == Kind::Ternary || self.any_mask => {
                push(given, value)?;
                push(own, mask)?;
            }
            (Kind::Range, Match::Range { low, high }) => {
                return self.add_range(key, number(low)?, number(high)?)
            }
            (Kind::Range, Match::Exact(value)) => {
                return self.add_range(key, number(value)?, number(value)?)
            }
            _ => return wrong(),
        }
        let (value, mask) = (&mut value[key.at..], &mut mask[key.at..]);
        if value
            .iter()
            .zip(mask.iter())
            .any(|(value, mask)| value & !mask != 0)
        {
            return Err(UpdateError::BitsOutsideMask {
                key: key.name.to_string(),
            });
        }
        key.as_compared(value, mask);
        Ok(())
    }

    fn add_range(
        &mut self,
        key: &KeyInfo,
        mut low: Vec<u64>,
        high: Vec<u64>,
    ) -> Result<(), UpdateError> {
        self.pass(key);
        if less(&high, &low) {
            return Err(UpdateError::EmptyRange {
                key: key.name.to_string(),
            });
        }
        key.start_as_compared(&mut low);
        self.ranges.push(Range {
            at: key.at as u32,
            low: low.into(),
            high: high.into(),
        });
        Ok(())
    }
}

/// The words of `value`, if it fits `width` bits.
pub(crate) fn checked(name: &str, value: &BigUint, width: u32) -> Result<Vec<u64>, UpdateError> {
    to_words(value, width).ok_or_else(|| too_wide(name, value, width))
}

/// Puts the words of `value` behind `limbs`, if it fits.
fn push_checked(
    name: &str,
    value: &BigUint,
    width: u32,
    limbs: &mut Vec<u64>,
) -> Result<(), UpdateError> {
    match push_words(value, width, limbs) {
        true => Ok(()),
        false => Err(too_wide(name, value, width)),
    }
}

fn too_wide(name: &str, value: &BigUint, width: u32) -> UpdateError {
    UpdateError::TooWide {
        name: name.to_string(),
        width,
        bits: value.bits(),
    }
}

/// Where an action is to be used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Entry,
    Default,
}

/// Index of the action in the table's list and the words of its parameters.
pub(crate) fn action(
    table: &Table,
    spec: &ActionSpec,
    used_for: Use,
) -> Result<(u32, Box<[u64]>), UpdateError> {
    let index = find(
        "action",
        &spec.name,
        table.actions.iter().map(|action| &*action.name),
    )?;
    let action = &table.actions[index];
    let name = || action.name.to_string();
    let table = || table.name.to_string();
    if used_for == Use::Entry && action.default_only {
        return Err(UpdateError::DefaultOnly {
            action: name(),
            table: table(),
        });
    }
    if used_for == Use::Default && action.table_only {
        return Err(UpdateError::TableOnly {
            action: name(),
            table: table(),
        });
    }
    let args: Vec<_> = match &spec.args {
        Args::InOrder(args) => {
            let (given, wanted) = (args.len(), action.params.len());
            if given != wanted {
                return Err(UpdateError::WrongArgumentCount {
                    action: name(),
                    given,
                    wanted,
                });
            }
            args.iter().map(Some).collect()
        }
        Args::Named(args) => {
            let mut ordered = nothing_for(&action.params);
            for (param, value) in args {
                let index = find(
                    "parameter",
                    param,
                    action.params.iter().map(|(name, _)| &**name),
                )?;
                if ordered[index].replace(value).is_some() {
                    return Err(UpdateError::TwiceGiven {
                        what: "parameter",
                        name: param.clone(),
                    });
                }
            }
            ordered
        }
    };
    let lengths = action
        .params
        .iter()
        .map(|(_, width)| words(*width) as usize);
    let mut data = Vec::with_capacity(lengths.sum());
    for ((param, width), value) in action.params.iter().zip(args) {
        let Some(value) = value else {
            return Err(UpdateError::MissingArgument {
                action: name(),
                name: param.to_string(),
            });
        };
        push_checked(param, value, *width, &mut data)?;
    }
    Ok((index as u32, data.into()))
}
