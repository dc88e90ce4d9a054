//! The switch's own random numbers.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014): one word
/// of state, and the same numbers on every machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An index below `count`, which is not 0.
    pub fn index(&mut self, count: usize) -> usize {
        self.between(0, count.saturating_sub(1) as u64).unwrap_or(0) as usize
    }

    /// A number from `low` to `high`, both included; `None` if there is none.
    pub fn between(&mut self, low: u64, high: u64) -> Option<u64> {
        let span = high.checked_sub(low)?;
        let random = self.next();
        // The product's upper half is even enough: its bias is below 2^-64 times the span.
        let scaled = (u128::from(random) * (u128::from(span) + 1)) >> 64;
        Some(low + scaled as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails, random(lo, hi) leaves its bounds or never reaches them.
    #[test]
    fn keeps_to_its_bounds() {
        let mut random = Random::new(1);
        let all: Vec<u64> = (0..300).filter_map(|_| random.between(5, 9)).collect();
        assert_eq!(all.iter().min(), Some(&5));
        assert_eq!(all.iter().max(), Some(&9));
        assert_eq!(random.between(4, 4), Some(4));
        assert_eq!(random.between(5, 4), None);
        assert!(random.between(0, u64::MAX).is_some());
    }
}
