//! Which sequence numbers have been seen: intervals, so that a long stream costs nothing.

use std::collections::BTreeMap;

/// A set of sequence numbers as disjoint, non-adjacent intervals (first to last, both included).
///
/// Memory follows the number of gaps, never the numbers themselves, so a forged number cannot make it
/// grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sequences {
    intervals: BTreeMap<u64, u64>,
    count: u64,
}

impl Sequences {
    /// Adds `number`; false if it was there already.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        let before = self
            .intervals
            .range(..=number)
            .next_back()
            .map(|(&first, &last)| (first, last));
        if before.is_some_and(|(_, last)| number <= last) {
            return false;
        }
        self.count += 1;
        let first = match before {
            // `last < number` here, so the sum cannot overflow.
            Some((first, last)) if last + 1 == number => first,
            _ => number,
        };
        let follower = number
            .checked_add(1)
            .and_then(|next| self.intervals.remove(&next));
        self.intervals.insert(first, follower.unwrap_or(number));
        true
    }

    /// How many different numbers were seen.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// How many of `0..end` were seen.
    pub(crate) fn count_below(&self, end: u64) -> u64 {
        self.intervals
            .range(..end)
            .map(|(&first, &last)| last.min(end - 1) - first + 1)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        // If this fails "missing" and "duplicates" in the result table are wrong.
        #[test]
        fn agrees_with_a_plain_set(numbers in prop::collection::vec(0u64..40, 0..80), end in 0u64..45) {
            let mut plain = BTreeSet::new();
            let mut set = Sequences::default();
            for number in numbers {
                prop_assert_eq!(set.insert(number), plain.insert(number));
            }
            prop_assert_eq!(set.count(), plain.len() as u64);
            prop_assert_eq!(set.count_below(end), plain.range(..end).count() as u64);
            for (&first, &last) in &set.intervals {
                prop_assert!(first <= last && !plain.contains(&(last + 1)));
            }
        }
    }

    #[test]
    fn takes_the_largest_number() {
        let mut set = Sequences::default();
        assert!(set.insert(u64::MAX) && set.insert(u64::MAX - 1) && !set.insert(u64::MAX));
        assert_eq!(set.intervals.len(), 1);
    }
}
