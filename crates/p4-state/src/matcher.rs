//! Finding the entry for a key.
//!
//! Two structures serve every table. [`Levels`] holds one hash map per mask, tried from the most
//! specific on: one level for exact keys, one per prefix length for a single lpm key. [`Rules`]
//! tries rules in the order of their priority; each rule first tests the one word of the key that
//! says most, so a rule on one bit of a wide bit string costs one comparison. Tuple space search
//! for large ternary tables would be `Levels` with priorities.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;

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
            Matcher::Rules(rules) => rules.places.get(&(pattern.clone(), priority)).copied(),
        }
    }

    /// Adds an entry that is not there yet. `age` orders entries of the same priority.
    pub fn insert(&mut self, pattern: &Pattern, priority: u32, age: u64, place: Place) {
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
    mask: Box<[u64]>,
    map: KeyMap,
}

/// Keys of one word get a map of their own.
#[derive(Clone, Debug)]
enum KeyMap {
    One(FxHashMap<u64, Place>),
    Many(FxHashMap<Box<[u64]>, Place>),
}

impl Levels {
    #[inline]
    fn find(&mut self, key: &[u64]) -> Option<Place> {
        let masked = &mut self.masked;
        self.levels.iter().find_map(|level| match &level.map {
            KeyMap::One(map) => map.get(&(key[0] & level.mask[0])).copied(),
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
                mask: pattern.mask.clone(),
                map,
            };
            self.levels.insert(index, level);
            index
        });
        match &mut self.levels[index].map {
            KeyMap::One(map) => map.insert(pattern.value[0], place),
            KeyMap::Many(map) => map.insert(pattern.value.clone(), place),
        };
    }

    fn remove(&mut self, pattern: &Pattern) {
        let Some(index) = self.level(pattern) else {
            return;
        };
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

/// Rules in the order in which they are tried, apart for each value of the exact keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    /// The bits of the exact keys; no words if there are none
    exact: Box<[u64]>,
    groups: FxHashMap<Box<[u64]>, Group>,
    places: FxHashMap<(Pattern, u32), Place>,
    masked: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    tests: Vec<Test>,
    /// For each test what its rule says in full and when it is tried
    rules: Vec<Rule>,
}

/// The first thing to look at.
#[derive(Clone, Copy, Debug)]
struct Test {
    mask: u64,
    value: u64,
    word: u32,
    /// There is more to compare.
    more: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    pattern: Pattern,
    place: Place,
    order: (Reverse<u32>, u64),
}

impl Rules {
    /// No rules yet; `exact` has the bits of all exact keys set.
    pub fn new(exact: Vec<u64>) -> Rules {
        let any = exact.iter().any(|mask| *mask != 0);
        Rules {
            exact: if any { exact.into() } else { Box::default() },
            ..Rules::default()
        }
    }

    #[inline]
    fn find(&mut self, key: &[u64]) -> Option<Place> {
        let Rules {
            exact,
            groups,
            masked,
            ..
        } = self;
        masked.clear();
        masked.extend(key.iter().zip(&**exact).map(|(key, mask)| key & mask));
        groups.get(masked.as_slice())?.find(key)
    }

    fn group_of(&self, pattern: &Pattern) -> Box<[u64]> {
        let words = pattern.value.iter().zip(&self.exact);
        words.map(|(value, mask)| value & mask).collect()
    }

    fn insert(&mut self, pattern: &Pattern, priority: u32, age: u64, place: Place) {
        let order = (Reverse(priority), age);
        let test = Test::new(pattern, &self.exact);
        let group = self.groups.entry(self.group_of(pattern)).or_default();
        let index = group.rules.partition_point(|rule| rule.order < order);
        group.tests.insert(index, test);
        let pattern = pattern.clone();
        self.places.insert((pattern.clone(), priority), place);
        group.rules.insert(
            index,
            Rule {
                pattern,
                place,
                order,
            },
        );
    }

    fn remove(&mut self, pattern: &Pattern, priority: u32) {
        let Some(place) = self.places.remove(&(pattern.clone(), priority)) else {
            return;
        };
        let key = self.group_of(pattern);
        let Some(group) = self.groups.get_mut(&key) else {
            return;
        };
        if let Some(index) = group.rules.iter().position(|rule| rule.place == place) {
            group.rules.remove(index);
            group.tests.remove(index);
        }
        if group.rules.is_empty() {
            self.groups.remove(&key);
        }
    }
}

impl Test {
    /// Looks at the word in which the rule says most beyond its exact keys.
    fn new(pattern: &Pattern, exact: &[u64]) -> Test {
        let beyond = |i: usize| pattern.mask[i] & !exact.get(i).copied().unwrap_or(0);
        let words = 0..pattern.mask.len();
        let word = words
            .clone()
            .max_by_key(|i| (beyond(*i).count_ones(), Reverse(*i)))
            .unwrap_or(0);
        let others = words.into_iter().any(|i| i != word && beyond(i) != 0);
        let mask = pattern.mask.get(word).copied().unwrap_or(0);
        Test {
            mask,
            value: pattern.value.get(word).copied().unwrap_or(0),
            word: word as u32,
            more: others || !pattern.ranges.is_empty(),
        }
    }
}

impl Group {
    #[inline]
    fn find(&self, key: &[u64]) -> Option<Place> {
        let fits = |(index, test): (usize, &Test)| {
            let word = key.get(test.word as usize)?;
            if word & test.mask != test.value {
                return None;
            }
            let rule = &self.rules[index];
            (!test.more || rule.pattern.matches(key)).then_some(rule.place)
        };
        self.tests.iter().enumerate().find_map(fits)
    }
}
