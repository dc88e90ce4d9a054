//! Rules in the order of their priority, for keys that are more general than a prefix.

use crate::matcher::{Order, Pattern, Place};
use crate::named::{Name, Named};
use crate::tuples::{tuple_of, Tuples};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::sync::Arc;

/// Rules in the order in which they are tried, apart for each value of the exact keys.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    groups: Vec<(Box<[u64]>, Group)>,
    /// The group of the last key, since packets of one flow, and mostly all, ask for the same:
    /// [`NO_GROUP`] if it is not known
    last: usize,
    /// The words of a key that have bits of exact keys, and what these are in the last group
    near: Box<[Near]>,
    seldom: Box<Seldom>,
}

#[derive(Clone, Copy, Debug)]
struct Near {
    word: usize,
    mask: u64,
    value: u64,
}

/// What is not needed as long as keys are of the same group.
#[derive(Clone, Debug, Default)]
struct Seldom {
    /// The bits of the exact keys; no words if there are none
    exact: Box<[u64]>,
    /// Where in `groups` the group is, by the exact bits of the words that have some
    index: FxHashMap<Box<[u64]>, usize>,
    /// Place and age of each rule
    places: FxHashMap<Name, (Place, u64)>,
    masked: Vec<u64>,
}

const NO_GROUP: usize = usize::MAX;

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
    /// Made when a key is looked up in a long list, forgotten when the list changes
    bits: Option<Bits>,
}

/// From so many rules on a list asks for an index of its bits.
const LONG: usize = 16;

/// Which rules say no more than that one bit of the key is set, as the rows of a BIFT do: they are
/// found by the bits of the key, not one after the other.
#[derive(Clone, Debug)]
struct Bits {
    asked: Vec<Asked>,
    /// A lower bit's rule is always tried before a higher bit's.
    in_order: bool,
    /// Indices of all other rules
    others: Vec<u32>,
}

/// A word of a key that such rules look at.
#[derive(Clone, Debug)]
struct Asked {
    word: usize,
    /// The bits that they ask for
    mask: u64,
    /// For each bit the index of the first rule that asks for it, and its place
    first: [(u32, Place); 64],
}

const NO_RULE: (u32, Place) = (u32::MAX, 0);

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
    pub pattern: Arc<Pattern>,
    pub place: Place,
    pub order: Order,
}

impl Rules {
    /// No rules yet; `exact` has the bits of all exact keys set.
    pub fn new(exact: Vec<u64>) -> Rules {
        let words = exact.iter().enumerate().filter(|(_, mask)| **mask != 0);
        let near: Box<[Near]> = words
            .map(|(word, mask)| Near {
                word,
                mask: *mask,
                value: 0,
            })
            .collect();
        let exact = match near.is_empty() {
            true => Box::default(),
            false => exact.into(),
        };
        Rules {
            groups: Vec::new(),
            last: NO_GROUP,
            near,
            seldom: Box::new(Seldom {
                exact,
                ..Seldom::default()
            }),
        }
    }

    #[inline]
    pub fn find(&mut self, key: &[u64]) -> Option<Place> {
        let is_last = |near: &Near| key[near.word] & near.mask == near.value;
        if self.last >= self.groups.len() || !self.near.iter().all(is_last) {
            self.turn_to(key)?;
        }
        match &mut self.groups.get_mut(self.last)?.1 {
            Group::List(list) => list.find_by_bits(key),
            Group::Tuples(tuples) => tuples.find(key, &mut self.seldom.masked),
        }
    }

    /// Makes the group of `key` the last one, if there is one.
    fn turn_to(&mut self, key: &[u64]) -> Option<()> {
        let masked = &mut self.seldom.masked;
        masked.clear();
        masked.extend(self.near.iter().map(|near| key[near.word] & near.mask));
        self.last = *self.seldom.index.get(masked.as_slice())?;
        for (near, value) in self.near.iter_mut().zip(masked) {
            near.value = *value;
        }
        Some(())
    }

    pub fn get(&self, pattern: &Pattern, priority: u32) -> Option<Place> {
        let name: &dyn Named = &(pattern, priority);
        let found = self.seldom.places.get(name);
        found.map(|(place, _)| *place)
    }

    fn group_of(&self, pattern: &Pattern) -> Box<[u64]> {
        let words = self.near.iter();
        words
            .map(|near| pattern.value[near.word] & near.mask)
            .collect()
    }

    pub fn insert(&mut self, pattern: &Arc<Pattern>, priority: u32, age: u64, place: Place) {
        let rule = Rule {
            pattern: Arc::clone(pattern),
            place,
            order: (Reverse(priority), age),
        };
        let key = self.group_of(pattern);
        let seldom = &mut *self.seldom;
        let at = match seldom.index.get(&key) {
            Some(at) => *at,
            None => {
                seldom.index.insert(key.clone(), self.groups.len());
                self.groups.push((key, Group::default()));
                self.groups.len() - 1
            }
        };
        self.groups[at].1.insert(rule, &seldom.exact);
        let name = Name(Arc::clone(pattern), priority);
        seldom.places.insert(name, (place, age));
    }

    pub fn remove(&mut self, pattern: &Pattern, priority: u32) {
        let key = self.group_of(pattern);
        let seldom = &mut *self.seldom;
        let name: &dyn Named = &(pattern, priority);
        let Some((_, age)) = seldom.places.remove(name) else {
            return;
        };
        let Some(at) = seldom.index.get(&key).copied() else {
            return;
        };
        let order = (Reverse(priority), age);
        if self.groups[at].1.remove(pattern, order, &seldom.exact) > 0 {
            return;
        }
        seldom.index.remove(&key);
        self.groups.swap_remove(at);
        self.last = NO_GROUP;
        if let Some((moved, _)) = self.groups.get(at) {
            seldom.index.insert(moved.clone(), at);
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
            bits: None,
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
        self.bits = None;
    }

    fn remove(&mut self, order: Order) {
        if let Ok(index) = self.rules.binary_search_by_key(&order, |rule| rule.order) {
            self.rules.remove(index);
            self.tests.remove(index);
            self.bits = None;
        }
    }

    #[inline]
    fn find_by_bits(&mut self, key: &[u64]) -> Option<Place> {
        if self.tests.len() < LONG {
            return self.find(key);
        }
        let bits = match &self.bits {
            Some(bits) => bits,
            None => self
                .bits
                .insert(Bits::new(&self.tests, &self.rules, key.len())),
        };
        let by_bit = bits.find(key);
        for index in &bits.others {
            if by_bit.0 < *index {
                break;
            }
            let (test, rule) = (&self.tests[*index as usize], &self.rules[*index as usize]);
            let word = key.get(test.word as usize).copied().unwrap_or(0);
            if word & test.mask == test.value && (!test.more || rule.pattern.matches(key)) {
                return Some(rule.place);
            }
        }
        (by_bit != NO_RULE).then_some(by_bit.1)
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

impl Bits {
    /// The index of `tests` of `rules`, for keys of so many words.
    fn new(tests: &[Test], rules: &[Rule], words: usize) -> Bits {
        let mut bits = Bits {
            asked: Vec::new(),
            in_order: true,
            others: Vec::new(),
        };
        let is_bit =
            |test: &Test| test.mask.is_power_of_two() && test.value == test.mask && !test.more;
        for word in 0..words {
            let mut asked = Asked {
                word,
                mask: 0,
                first: [NO_RULE; 64],
            };
            let of_word = tests.iter().zip(rules).enumerate();
            for (index, (test, rule)) in of_word.filter(|(_, (test, _))| is_bit(test)) {
                if test.word as usize == word {
                    asked.mask |= test.mask;
                    let first = &mut asked.first[test.mask.trailing_zeros() as usize];
                    *first = (*first).min((index as u32, rule.place));
                }
            }
            if asked.mask != 0 {
                bits.asked.push(asked);
            }
        }
        let has_word = |test: &Test| (test.word as usize) < words;
        let others = tests.iter().enumerate();
        let others = others.filter(|(_, test)| !is_bit(test) || !has_word(test));
        bits.others = others.map(|(index, _)| index as u32).collect();
        bits.asked.shrink_to_fit();
        let first = bits.asked.iter().flat_map(|asked| &asked.first);
        let first = first.filter(|first| **first != NO_RULE);
        bits.in_order = first.is_sorted_by_key(|(index, _)| *index);
        bits
    }

    /// The first rule that asks for a bit of `key`: its index and its place.
    #[inline]
    fn find(&self, key: &[u64]) -> (u32, Place) {
        let mut least = NO_RULE;
        for asked in &self.asked {
            let mut left = key.get(asked.word).copied().unwrap_or(0) & asked.mask;
            while left != 0 {
                least = least.min(asked.first[left.trailing_zeros() as usize]);
                if self.in_order {
                    return least;
                }
                left &= left - 1;
            }
        }
        least
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A pattern over three words; most ask for one bit, as the rows of a BIFT do.
    fn pattern() -> impl Strategy<Value = Pattern> {
        let bit = (0usize..192).prop_map(|bit| {
            let mut words = [0; 3];
            words[bit / 64] = 1 << (bit % 64);
            (words, words)
        });
        let any = (any::<[u64; 3]>(), any::<[u64; 3]>()).prop_map(|(value, mask)| {
            let few = [mask[0] & 0x81, mask[1] & 1, mask[2] & (3 << 40)];
            (
                few,
                [value[0] & few[0], value[1] & few[1], value[2] & few[2]],
            )
        });
        prop_oneof![4 => bit, 1 => any].prop_map(|(mask, value)| Pattern {
            value: value.into(),
            mask: mask.into(),
            ranges: Box::default(),
            prefix: 0,
        })
    }

    proptest! {
        // If this fails, a BIER packet is sent to the wrong neighbour: the index of bits must find
        // what going through all rules finds, also after rules have come and gone.
        #[test]
        fn index_of_bits_agrees_with_all_rules(
            patterns in prop::collection::vec((pattern(), 0u32..400), 1..120),
            in_order in any::<bool>(),
            gone in prop::collection::vec(0usize..120, 0..10),
            keys in prop::collection::vec(any::<[(u64, u64, u64); 3]>(), 1..40),
        ) {
            let mut list = List::default();
            let mut orders = Vec::new();
            for (place, (pattern, priority)) in patterns.into_iter().enumerate() {
                let place = place as Place;
                let lowest = pattern.mask.iter().position(|word| *word != 0).unwrap_or(0);
                let bit = lowest as u32 * 64 + pattern.mask[lowest].trailing_zeros();
                let priority = if in_order { 400 - bit.min(200) } else { priority };
                let order = (Reverse(priority), u64::from(place));
                orders.push(order);
                let pattern = Arc::new(pattern);
                list.insert(Rule { pattern, place, order }, &[]);
            }
            for keys in keys.chunks(10) {
                for key in keys {
                    // Few bits, so that some rules do not hit
                    let key = key.map(|(a, b, c)| a & b & c);
                    prop_assert_eq!(list.find_by_bits(&key), list.find(&key));
                }
                for index in &gone {
                    if let Some(order) = orders.get(*index) {
                        list.remove(*order);
                    }
                }
            }
        }
    }
}
