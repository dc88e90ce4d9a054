//! From names and numbers to what the tables hold.

use crate::error::UpdateError;
use crate::matcher::{Pattern, Range};
use crate::names::find;
use crate::state::State;
use crate::table::{KeyInfo, Kind, Table};
use crate::update::{ActionSpec, Args, EntryKey, Match};
use crate::value::{less, ones, to_words};
use num_bigint::BigUint;

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
    let mut given = vec![None; table.keys.len()];
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
    let mut parts = Parts {
        any_mask,
        value: vec![0; words],
        mask: vec![0; words],
        ranges: Vec::new(),
        prefix: 0,
    };
    for (key, given) in table.keys.iter().zip(given) {
        match given {
            Some(given) => parts.add(key, given)?,
            None if key.kind == Kind::Exact => {
                let (table, key) = (table.name.to_string(), key.name.to_string());
                return Err(UpdateError::MissingKey { table, key });
            }
            None => {}
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
    let mut parts = Parts {
        any_mask: false,
        value: vec![0; words],
        mask: vec![0; words],
        ranges: Vec::new(),
        prefix: 0,
    };
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

struct Parts {
    /// Optional keys take any mask, as p4c makes them ternary for bmv2.
    any_mask: bool,
    value: Vec<u64>,
    mask: Vec<u64>,
    ranges: Vec<Range>,
    prefix: u32,
}

impl Parts {
    fn add(&mut self, key: &KeyInfo, given: &Match) -> Result<(), UpdateError> {
        let number = |value: &BigUint| checked(&key.name, value, key.width);
        let wrong = || {
            let (key, kind) = (key.name.to_string(), key.kind.name().to_string());
            Err(UpdateError::WrongKind { key, kind })
        };
        let (mut value, mut mask) = match (key.kind, given) {
            (Kind::Selector, _) => return Ok(()),
            (Kind::Exact, Match::Any) => return wrong(),
            (_, Match::Any) => return Ok(()),
            (Kind::Exact | Kind::Optional, Match::Exact(value) | Match::Optional(value)) => {
                (number(value)?, ones(0, key.width, key.words))
            }
            (Kind::Ternary, Match::Exact(value)) => (number(value)?, ones(0, key.width, key.words)),
            (Kind::Lpm, Match::Lpm { value, length }) => {
                let (length, width) = (*length, key.width);
                if length > width {
                    let key = key.name.to_string();
                    return Err(UpdateError::PrefixTooLong { key, length, width });
                }
                self.prefix += length;
                (number(value)?, ones(width - length, width, key.words))
            }
            (Kind::Lpm, Match::Exact(value)) => {
                self.prefix += key.width;
                (number(value)?, ones(0, key.width, key.words))
            }
            (Kind::Ternary, Match::Ternary { value, mask }) => (number(value)?, number(mask)?),
            (Kind::Optional, Match::Ternary { value, mask }) if self.any_mask => {
                (number(value)?, number(mask)?)
            }
            (Kind::Range, Match::Range { low, high }) => {
                return self.add_range(key, number(low)?, number(high)?)
            }
            (Kind::Range, Match::Exact(value)) => {
                return self.add_range(key, number(value)?, number(value)?)
            }
            _ => return wrong(),
        };
        if value
            .iter()
            .zip(&mask)
            .any(|(value, mask)| value & !mask != 0)
        {
            return Err(UpdateError::BitsOutsideMask {
                key: key.name.to_string(),
            });
        }
        key.as_compared(&mut value, &mut mask);
        let own = key.at..key.at + key.words;
        self.value[own.clone()].copy_from_slice(&value);
        self.mask[own].copy_from_slice(&mask);
        Ok(())
    }

    fn add_range(
        &mut self,
        key: &KeyInfo,
        mut low: Vec<u64>,
        high: Vec<u64>,
    ) -> Result<(), UpdateError> {
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
    to_words(value, width).ok_or_else(|| UpdateError::TooWide {
        name: name.to_string(),
        width,
        bits: value.bits(),
    })
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
    let (name, table) = (action.name.to_string(), table.name.to_string());
    if used_for == Use::Entry && action.default_only {
        return Err(UpdateError::DefaultOnly {
            action: name,
            table,
        });
    }
    if used_for == Use::Default && action.table_only {
        return Err(UpdateError::TableOnly {
            action: name,
            table,
        });
    }
    let args = match &spec.args {
        Args::InOrder(args) => {
            let (given, wanted) = (args.len(), action.params.len());
            if given != wanted {
                return Err(UpdateError::WrongArgumentCount {
                    action: name,
                    given,
                    wanted,
                });
            }
            args.iter().map(Some).collect()
        }
        Args::Named(args) => {
            let mut ordered = vec![None; action.params.len()];
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
    let mut data = Vec::new();
    for ((param, width), value) in action.params.iter().zip(args) {
        let Some(value) = value else {
            return Err(UpdateError::MissingArgument {
                action: name,
                name: param.to_string(),
            });
        };
        data.extend(checked(param, value, *width)?);
    }
    Ok((index as u32, data.into()))
}
