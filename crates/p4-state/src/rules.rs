//! Rules in the order of their priority, for keys that are more general than a prefix.

use crate::matcher::{Order, Pattern, Place};
use crate::tuples::{tuple_of, Tuples};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// Rules in the order in which they are tried, apart for each value of the exact keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    /// The bits of the exact keys; no words if there are none
    exact: Box<[u64]>,
    groups: FxHashMap<Box<[u64]>, Group>,
    /// Place and age of each rule
    places: FxHashMap<(Pattern, u32), (Place, u64)>,
    masked: Vec<u64>,
}

/// From so many rules on a group asks whether tuples serve it better. Below, going through all of
/// them costs as much as a few looks into hash maps.
const MANY: usize = 256;
/// Comparing so many rules costs about as much as one look into a hash map.
const RULES_PER_MASK: usize = 8;

/// Rules with the same exact keys.
#[derive(Clone, Debug)]
enum Group {
    List(List),
    Tuples(Tuples),
}

#[derive(Clone, Debug, Default)]
struct List {
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
pub(crate) struct Rule {
    pub pattern: Pattern,
    pub place: Place,
    pub order: Order,
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
    pub fn find(&mut self, key: &[u64]) -> Option<Place> {
        let Rules {
            exact,
            groups,
            masked,
            ..
        } = self;
        masked.clear();
        masked.extend(key.iter().zip(&**exact).map(|(key, mask)| key & mask));
        match groups.get(masked.as_slice())? {
            Group::List(list) => list.find(key),
            Group::Tuples(tuples) => tuples.find(key, masked),
        }
    }

    pub fn get(&self, pattern: &Pattern, priority: u32) -> Option<Place> {
        let found = self.places.get(&(pattern.clone(), priority));
        found.map(|(place, _)| *place)
    }

    fn group_of(&self, pattern: &Pattern) -> Box<[u64]> {
        let words = pattern.value.iter().zip(&self.exact);
        words.map(|(value, mask)| value & mask).collect()
    }

    pub fn insert(&mut self, pattern: &Pattern, priority: u32, age: u64, place: Place) {
        let rule = Rule {
            pattern: pattern.clone(),
            place,
            order: (Reverse(priority), age),
        };
        let group = self.groups.entry(self.group_of(pattern)).or_default();
        group.insert(rule, &self.exact);
        self.places
            .insert((pattern.clone(), priority), (place, age));
    }

    pub fn remove(&mut self, pattern: &Pattern, priority: u32) {
        let Some((_, age)) = self.places.remove(&(pattern.clone(), priority)) else {
            return;
        };
        let key = self.group_of(pattern);
        let Some(group) = self.groups.get_mut(&key) else {
            return;
        };
        if group.remove(pattern, (Reverse(priority), age), &self.exact) == 0 {
            self.groups.remove(&key);
        }
    }
}

impl Default for Group {
    fn default() -> Group {
        Group::List(List::default())
    }
}

impl Group {
    fn insert(&mut self, rule: Rule, exact: &[u64]) {
        // Counting the masks of a list takes a look at every rule, so it is done now and then.
        match self {
            Group::List(list) => {
                list.insert(rule, exact);
                let count = list.rules.len();
                let asks = count >= MANY && count.is_power_of_two();
                if asks && list.masks() * RULES_PER_MASK <= count {
                    *self = Group::Tuples(std::mem::take(list).into_tuples());
                }
            }
            Group::Tuples(tuples) => {
                tuples.insert(rule);
                let count = tuples.len();
                if count.is_power_of_two() && tuples.masks() * RULES_PER_MASK > count {
                    *self = Group::List(List::of(std::mem::take(tuples), exact));
                }
            }
        }
    }

    /// Takes a rule out; how many are left.
    fn remove(&mut self, pattern: &Pattern, order: Order, exact: &[u64]) -> usize {
        match self {
            Group::List(list) => {
                list.remove(order);
                list.rules.len()
            }
            Group::Tuples(tuples) => {
                tuples.remove(pattern, order);
                let count = tuples.len();
                if count < MANY / 4 {
                    *self = Group::List(List::of(std::mem::take(tuples), exact));
                }
                count
            }
        }
    }
}

impl List {
    /// The rules of `tuples`, in their order.
    fn of(tuples: Tuples, exact: &[u64]) -> List {
        let mut rules = tuples.into_rules();
        rules.sort_unstable_by_key(|rule| rule.order);
        let test = |rule: &Rule| Test::new(&rule.pattern, exact);
        List {
            tests: rules.iter().map(test).collect(),
            rules,
        }
    }

    fn into_tuples(self) -> Tuples {
        let mut tuples = Tuples::default();
        for rule in self.rules {
            tuples.insert(rule);
        }
        tuples
    }

    fn masks(&self) -> usize {
        let masks = self.rules.iter().map(|rule| tuple_of(&rule.pattern).0);
        masks.collect::<FxHashSet<_>>().len()
    }

    fn insert(&mut self, rule: Rule, exact: &[u64]) {
        let index = self.rules.partition_point(|other| other.order < rule.order);
        self.tests.insert(index, Test::new(&rule.pattern, exact));
        self.rules.insert(index, rule);
    }

    fn remove(&mut self, order: Order) {
        if let Ok(index) = self.rules.binary_search_by_key(&order, |rule| rule.order) {
            self.rules.remove(index);
            self.tests.remove(index);
        }
    }

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
