//! Tuple space search: many rules with few masks.
//!
//! Rules with the same mask are in one hash map, keyed by the masked value, so a key is found with
//! one look per mask instead of one per rule (Srinivasan, Suri and Varghese, "Packet Classification
//! using Tuple Space Search", SIGCOMM 1999). Masks are looked at in the order of their best rules;
//! once a rule is found that comes before all that is left, the search is over.
//!
//! A range counts as a mask too: the bits that its two ends have in common. Among ranges that do
//! not overlap no two share both these bits and their values (only one of them can hold the middle
//! of what the bits leave open), so looking for a key in them takes one comparison per mask as
//! well. Ranges that overlap in the middle are compared one after the other.

use crate::matcher::{Order, Pattern, Place};
use crate::rules::Rule;
use crate::value::ones;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default)]
pub(crate) struct Tuples {
    /// By the order of their best rules
    tuples: Vec<Tuple>,
    len: usize,
}

#[derive(Clone, Debug)]
struct Tuple {
    mask: Box<[u64]>,
    /// Rules by the masked value, in their order
    rules: FxHashMap<Box<[u64]>, Vec<Rule>>,
    orders: BTreeSet<Order>,
    best: Order,
}

impl Tuples {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Number of masks.
    pub fn masks(&self) -> usize {
        self.tuples.len()
    }

    /// The first rule that takes `key`; `masked` is room to work in.
    pub fn find(&self, key: &[u64], masked: &mut Vec<u64>) -> Option<Place> {
        let mut found: Option<(Order, Place)> = None;
        for tuple in &self.tuples {
            if found.is_some_and(|(order, _)| order < tuple.best) {
                break;
            }
            masked.clear();
            masked.extend(key.iter().zip(&tuple.mask).map(|(key, mask)| key & mask));
            let Some(rules) = tuple.rules.get(masked.as_slice()) else {
                continue;
            };
            // The masked value decides all but ranges.
            let takes = |rule: &&Rule| rule.pattern.ranges.is_empty() || rule.pattern.matches(key);
            let Some(rule) = rules.iter().find(takes) else {
                continue;
            };
            if found.is_none_or(|(order, _)| rule.order < order) {
                found = Some((rule.order, rule.place));
            }
        }
        found.map(|(_, place)| place)
    }

    /// All rules, in no order.
    pub fn into_rules(self) -> Vec<Rule> {
        let tuples = self.tuples.into_iter();
        tuples
            .flat_map(|tuple| tuple.rules.into_values().flatten())
            .collect()
    }

    pub fn insert(&mut self, rule: Rule) {
        let order = rule.order;
        let (mask, value) = tuple_of(&rule.pattern);
        let mut tuple = match self.tuples.iter().position(|tuple| tuple.mask == mask) {
            Some(index) => self.tuples.remove(index),
            None => Tuple {
                mask,
                rules: FxHashMap::default(),
                orders: BTreeSet::new(),
                best: order,
            },
        };
        let rules = tuple.rules.entry(value).or_default();
        let at = rules.partition_point(|rule| rule.order < order);
        rules.insert(at, rule);
        tuple.orders.insert(order);
        tuple.best = tuple.best.min(order);
        self.file(tuple);
        self.len += 1;
    }

    pub fn remove(&mut self, pattern: &Pattern, order: Order) {
        let (mask, value) = tuple_of(pattern);
        let Some(index) = self.tuples.iter().position(|tuple| tuple.mask == mask) else {
            return;
        };
        let mut tuple = self.tuples.remove(index);
        if let Some(rules) = tuple.rules.get_mut(&value) {
            if let Ok(at) = rules.binary_search_by_key(&order, |rule| rule.order) {
                rules.remove(at);
                self.len -= 1;
            }
            if rules.is_empty() {
                tuple.rules.remove(&value);
            }
        }
        tuple.orders.remove(&order);
        if let Some(best) = tuple.orders.first() {
            tuple.best = *best;
            self.file(tuple);
        }
    }

    /// Puts a tuple where it belongs by its best rule.
    fn file(&mut self, tuple: Tuple) {
        let at = self.tuples.partition_point(|other| other.best < tuple.best);
        self.tuples.insert(at, tuple);
    }
}

/// The mask of a pattern with what its ranges decide, and the value under it.
pub(crate) fn tuple_of(pattern: &Pattern) -> (Box<[u64]>, Box<[u64]>) {
    let (mut mask, mut value) = (pattern.mask.clone(), pattern.value.clone());
    for range in &pattern.ranges {
        let at = range.at as usize;
        let common = common_bits(&range.low, &range.high);
        for (i, bits) in common.iter().enumerate() {
            mask[at + i] |= bits;
            value[at + i] |= range.low[i] & bits;
        }
    }
    (mask, value)
}

/// A mask of the bits above the highest one in which `low` and `high` differ.
fn common_bits(low: &[u64], high: &[u64]) -> Vec<u64> {
    let words = low.len();
    let differ = low.iter().zip(high).rposition(|(a, b)| a != b);
    let bits = match differ {
        Some(word) => word as u32 * 64 + 64 - (low[word] ^ high[word]).leading_zeros(),
        None => 0,
    };
    ones(bits, words as u32 * 64, words)
}
