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
    /// The words of a key that have such bits
    exact_words: Box<[usize]>,
    groups: Vec<(Box<[u64]>, Group)>,
    /// Where in `groups` the group is, by the exact bits of these words
    index: FxHashMap<Box<[u64]>, usize>,
    /// The group of the last key: packets of one flow, and mostly all, ask for the same.
    last: usize,
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
    /// Made when a key is looked up in a long list, forgotten when the list changes
    bits: Option<Bits>,
}

/// From so many rules on a list asks for an index of its bits.
const LONG: usize = 16;

/// Which rules say no more than that one bit of the key is set, as the rows of a BIFT do: they are
/// found by the bits of the key, not one after the other.
#[derive(Clone, Debug)]
struct Bits {
    /// The words of a key that such rules look at, and the bits that they ask for
    asked: Vec<(usize, u64)>,
    /// For each bit of these words the index of the first rule that asks for it
    first: Vec<u32>,
    /// A lower bit's rule is always tried before a higher bit's.
    in_order: bool,
    /// Indices of all other rules
    others: Vec<u32>,
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
        let words: Box<[usize]> = (0..exact.len()).filter(|i| exact[*i] != 0).collect();
        Rules {
            exact: match words.is_empty() {
                true => Box::default(),
                false => exact.into(),
            },
            exact_words: words,
            ..Rules::default()
        }
    }

    #[inline]
    pub fn find(&mut self, key: &[u64]) -> Option<Place> {
        let Rules {
            exact,
            exact_words,
            groups,
            index,
            last,
            masked,
            ..
        } = self;
        let is_last = groups.get(*last).is_some_and(|(own, _)| {
            let words = exact_words.iter().zip(own);
            words
                .into_iter()
                .all(|(i, own)| key[*i] & exact[*i] == *own)
        });
        if !is_last {
            masked.clear();
            masked.extend(exact_words.iter().map(|i| key[*i] & exact[*i]));
            *last = *index.get(masked.as_slice())?;
        }
        match &mut groups.get_mut(*last)?.1 {
            Group::List(list) => list.find_by_bits(key),
            Group::Tuples(tuples) => tuples.find(key, masked),
        }
    }

    pub fn get(&self, pattern: &Pattern, priority: u32) -> Option<Place> {
        let found = self.places.get(&(pattern.clone(), priority));
        found.map(|(place, _)| *place)
    }

    fn group_of(&self, pattern: &Pattern) -> Box<[u64]> {
        let words = self.exact_words.iter();
        words.map(|i| pattern.value[*i] & self.exact[*i]).collect()
    }

    pub fn insert(&mut self, pattern: &Pattern, priority: u32, age: u64, place: Place) {
        let rule = Rule {
            pattern: pattern.clone(),
            place,
            order: (Reverse(priority), age),
        };
        let key = self.group_of(pattern);
        let at = match self.index.get(&key) {
            Some(at) => *at,
            None => {
                self.index.insert(key.clone(), self.groups.len());
                self.groups.push((key, Group::default()));
                self.groups.len() - 1
            }
        };
        self.groups[at].1.insert(rule, &self.exact);
        self.places
            .insert((pattern.clone(), priority), (place, age));
    }

    pub fn remove(&mut self, pattern: &Pattern, priority: u32) {
        let Some((_, age)) = self.places.remove(&(pattern.clone(), priority)) else {
            return;
        };
        let key = self.group_of(pattern);
        let Some(at) = self.index.get(&key).copied() else {
            return;
        };
        let order = (Reverse(priority), age);
        if self.groups[at].1.remove(pattern, order, &self.exact) > 0 {
            return;
        }
        self.index.remove(&key);
        self.groups.swap_remove(at);
        if let Some((moved, _)) = self.groups.get(at) {
            self.index.insert(moved.clone(), at);
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
            None => self.bits.insert(Bits::new(&self.tests, key.len())),
        };
        let by_bit = bits.find(key);
        for index in &bits.others {
            if by_bit.is_some_and(|found| found < *index) {
                break;
            }
            let (test, rule) = (&self.tests[*index as usize], &self.rules[*index as usize]);
            let word = key.get(test.word as usize).copied().unwrap_or(0);
            if word & test.mask == test.value && (!test.more || rule.pattern.matches(key)) {
                return Some(rule.place);
            }
        }
        by_bit.map(|index| self.rules[index as usize].place)
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
    /// The index of `tests`, for keys of so many words.
    fn new(tests: &[Test], words: usize) -> Bits {
        let mut bits = Bits {
            asked: (0..words).map(|word| (word, 0)).collect(),
            first: vec![u32::MAX; words * 64],
            in_order: true,
            others: Vec::new(),
        };
        for (index, test) in tests.iter().enumerate() {
            let index = index as u32;
            let is_bit = test.mask.is_power_of_two() && test.value == test.mask && !test.more;
            let Some(asked) = bits.asked.get_mut(test.word as usize).filter(|_| is_bit) else {
                bits.others.push(index);
                continue;
            };
            asked.1 |= test.mask;
            let bit = test.word as usize * 64 + test.mask.trailing_zeros() as usize;
            bits.first[bit] = bits.first[bit].min(index);
        }
        bits.asked.retain(|(_, asked)| *asked != 0);
        let asked = bits.first.iter().filter(|index| **index != u32::MAX);
        bits.in_order = asked.is_sorted();
        bits
    }

    /// The least index of a rule that asks for a bit of `key`.
    #[inline]
    fn find(&self, key: &[u64]) -> Option<u32> {
        let mut least = u32::MAX;
        for (word, asked) in &self.asked {
            let mut left = key.get(*word).copied().unwrap_or(0) & asked;
            while left != 0 {
                let bit = word * 64 + left.trailing_zeros() as usize;
                least = least.min(self.first[bit]);
                if self.in_order {
                    return Some(least);
                }
                left &= left - 1;
            }
        }
        (least != u32::MAX).then_some(least)
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
