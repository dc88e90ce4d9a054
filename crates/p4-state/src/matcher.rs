//! Finding the entry for a key.
//!
//! Two structures serve every table. [`Levels`] holds one hash map per mask, tried from the most
//! specific on: one level for exact keys, one per prefix length for a single lpm key. [`Rules`]
//! tries rules in the order of their priority; each rule first tests the one word of the key that
//! says most, so a rule on one bit of a wide bit string costs one comparison. Many rules with few
//! masks are kept as [`crate::tuples::Tuples`] instead.

use crate::rules::Rules;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::sync::Arc;

/// What keys an entry takes: `key & mask == value` in every word, and within every range.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pattern {
    pub value: Box<[u64]>,
    pub mask: Box<[u64]>,
    pub ranges: Box<[Range]>,
    /// Length of the prefix of the lpm key, for tables that have one and nothing more general
    pub prefix: u32,
}

/// A range over the words `at..at + low.len()` of the key, both ends included.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Range {
    pub at: u32,
    pub low: Box<[u64]>,
    pub high: Box<[u64]>,
}

impl Pattern {
    pub fn matches(&self, key: &[u64]) -> bool {
        let masked = self.value.iter().zip(&self.mask).zip(key);
        masked
            .into_iter()
            .all(|((value, mask), key)| key & mask == *value)
            && self.ranges.iter().all(|range| range.holds(key))
    }
}

impl Range {
    fn holds(&self, key: &[u64]) -> bool {
        let at = self.at as usize;
        let Some(key) = key.get(at..at + self.low.len()) else {
            return false;
        };
        !crate::value::less(key, &self.low) && !crate::value::less(&self.high, key)
    }
}

/// Where an entry is kept: its index in the table's slab.
pub(crate) type Place = u32;

/// When a rule is tried: by priority, then by age. No two rules of a table agree in it.
pub(crate) type Order = (Reverse<u32>, u64);

#[derive(Clone, Debug)]
pub(crate) enum Matcher {
    Levels(Levels),
    Rules(Rules),
}

impl Matcher {
    /// The place of the entry for `key`.
    #[inline]
    pub fn find(&mut self, key: &[u64]) -> Option<Place> {
        match self {
            Matcher::Levels(levels) => levels.find(key),
            Matcher::Rules(rules) => rules.find(key),
        }
    }

    /// The place of the entry with exactly this pattern and priority.
    pub fn get(&self, pattern: &Pattern, priority: u32) -> Option<Place> {
        match self {
            Matcher::Levels(levels) => levels.get(pattern),
            Matcher::Rules(rules) => rules.get(pattern, priority),
        }
    }

    /// Adds an entry that is not there yet. `age` orders entries of the same priority.
    pub fn insert(&mut self, pattern: &Arc<Pattern>, priority: u32, age: u64, place: Place) {
        match self {
            Matcher::Levels(levels) => levels.insert(pattern, place),
            Matcher::Rules(rules) => rules.insert(pattern, priority, age, place),
        }
    }

    pub fn remove(&mut self, pattern: &Pattern, priority: u32) {
        match self {
            Matcher::Levels(levels) => levels.remove(pattern),
            Matcher::Rules(rules) => rules.remove(pattern, priority),
        }
    }
}

/// One hash map per mask, most specific first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    levels: Vec<Level>,
    masked: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Level {
    prefix: u32,
    /// The first word of `mask`, which is all of it for keys of one word
    first: u64,
    mask: Box<[u64]>,
    map: KeyMap,
    /// Places by value for keys of one word with small values, such as ports, up to the largest that
    /// was ever there; [`NOWHERE`] for those that are not there. Values beyond its end are in `map`
    /// only.
    small: Vec<Place>,
}

/// Values below this are found without hashing.
const SMALL: u64 = 1024;
/// Room for small values from the first on: a cache line
const LEAST: usize = 16;
const NOWHERE: Place = Place::MAX;

/// Keys of one word get a map of their own.
#[derive(Clone, Debug)]
enum KeyMap {
    One(FxHashMap<u64, Place>),
    Many(FxHashMap<Box<[u64]>, Place>),
}

impl Level {
    /// Notes where a small value is, or that it is no more.
    fn set_small(&mut self, pattern: &Pattern, place: Place) {
        let [value @ 0..SMALL] = *pattern.value else {
            return;
        };
        let value = value as usize;
        if let KeyMap::One(_) = &self.map {
            if self.small.len() <= value {
                let size = (value + 1).next_power_of_two().max(LEAST);
                self.small.resize(size, NOWHERE);
            }
            self.small[value] = place;
        }
    }
}

impl Levels {
    #[inline]
    fn find(&mut self, key: &[u64]) -> Option<Place> {
        let masked = &mut self.masked;
        self.levels.iter().find_map(|level| match &level.map {
            KeyMap::One(map) => {
                let value = key[0] & level.first;
                match level.small.get(value as usize) {
                    Some(place) => (*place != NOWHERE).then_some(*place),
                    None => map.get(&value).copied(),
                }
            }
            KeyMap::Many(map) => {
                masked.clear();
                masked.extend(key.iter().zip(&level.mask).map(|(key, mask)| key & mask));
                map.get(masked.as_slice()).copied()
            }
        })
    }

    fn level(&self, pattern: &Pattern) -> Option<usize> {
        self.levels
            .iter()
            .position(|level| level.prefix == pattern.prefix)
    }

    fn get(&self, pattern: &Pattern) -> Option<Place> {
        match &self.levels[self.level(pattern)?].map {
            KeyMap::One(map) => map.get(&pattern.value[0]).copied(),
            KeyMap::Many(map) => map.get(&pattern.value).copied(),
        }
    }

    fn insert(&mut self, pattern: &Pattern, place: Place) {
        let index = self.level(pattern).unwrap_or_else(|| {
            let index = self
                .levels
                .partition_point(|level| level.prefix > pattern.prefix);
            let map = match pattern.value.len() {
                1 => KeyMap::One(FxHashMap::default()),
                _ => KeyMap::Many(FxHashMap::default()),
            };
            let level = Level {
                prefix: pattern.prefix,
                first: pattern.mask.first().copied().unwrap_or(0),
                mask: pattern.mask.clone(),
                map,
                small: Vec::new(),
            };
            self.levels.insert(index, level);
            index
        });
        let level = &mut self.levels[index];
        level.set_small(pattern, place);
        match &mut level.map {
            KeyMap::One(map) => map.insert(pattern.value[0], place),
            KeyMap::Many(map) => map.insert(pattern.value.clone(), place),
        };
    }

    fn remove(&mut self, pattern: &Pattern) {
        let Some(index) = self.level(pattern) else {
            return;
        };
        self.levels[index].set_small(pattern, NOWHERE);
        let empty = match &mut self.levels[index].map {
            KeyMap::One(map) => {
                map.remove(&pattern.value[0]);
                map.is_empty()
            }
            KeyMap::Many(map) => {
                map.remove(&pattern.value);
                map.is_empty()
            }
        };
        if empty {
            self.levels.remove(index);
        }
    }
}
