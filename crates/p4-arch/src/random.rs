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

    /// An exponentially distributed number with this mean, cut to a whole one. John von Neumann's
    /// way (Various techniques used in connection with random digits, 1951): comparisons alone, so
    /// that all machines find the same.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        if mean == 0 {
            return 0;
        }
        let mut whole = 0u64;
        loop {
            let first = self.next();
            let (mut least, mut falling) = (first, 1u32);
            loop {
                let number = self.next();
                if number >= least {
                    break;
                }
                (least, falling) = (number, falling + 1);
            }
            if falling % 2 == 1 {
                let part = (u128::from(first) * u128::from(mean)) >> 64;
                return whole.saturating_mul(mean).saturating_add(part as u64);
            }
            whole += 1;
        }
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

    // If this fails, what shall come at random moments comes too early or too late on average, or
    // in too regular gaps: half of the numbers are below mean * ln 2, and the standard deviation is
    // the mean.
    #[test]
    fn exponential_numbers() {
        let mut random = Random::new(7);
        let all: Vec<f64> = (0..40_000)
            .map(|_| random.exponential(1000) as f64)
            .collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let square = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / all.len() as f64;
        let below = all.iter().filter(|x| **x < 1000.0 * 2f64.ln()).count() as f64;
        assert!((mean - 999.5).abs() < 25.0, "mean {mean}");
        assert!(
            (square.sqrt() - 1000.0).abs() < 40.0,
            "deviation {}",
            square.sqrt()
        );
        assert!(
            (below / all.len() as f64 - 0.5).abs() < 0.01,
            "{below} below the median"
        );
        assert_eq!(random.exponential(0), 0);
    }
}
