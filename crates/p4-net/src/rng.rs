//! The network's own randomness: SplitMix64, one generator per directed link.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Small, seedable, the same on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// A generator of its own for each `stream`, so that what happens on one link does not shift the
    /// draws of another.
    pub(crate) fn new(seed: u64, stream: u64) -> Rng {
        let mut rng = Rng(seed ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        rng.next();
        rng
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// True with the given probability (0 never, 1 always). Draws only if the outcome is open.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        if probability <= 0.0 {
            return false;
        }
        // 53 bits are what a double holds exactly.
        ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// Uniform in `0..=limit`. Draws only if the outcome is open.
    pub(crate) fn up_to(&mut self, limit: u64) -> u64 {
        if limit == 0 {
            return 0;
        }
        let wide = u128::from(self.next()) * (u128::from(limit) + 1);
        (wide >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails a link with 10 % loss loses something else, or a lossless one loses frames.
    #[test]
    fn chance_meets_its_probability() {
        let mut rng = Rng::new(1, 2);
        let hits = (0..100_000).filter(|_| rng.chance(0.1)).count();
        assert!((9_600..10_400).contains(&hits), "{hits} of 100000 at 10 %");
        assert!((0..1000).all(|_| !rng.chance(0.0)));
        assert!((0..1000).all(|_| rng.chance(1.0)));
    }

    #[test]
    fn up_to_reaches_both_ends_and_no_further() {
        let mut rng = Rng::new(3, 4);
        let draws: Vec<u64> = (0..1000).map(|_| rng.up_to(3)).collect();
        for value in 0..=3 {
            assert!(draws.contains(&value));
        }
        assert!(draws.iter().all(|&value| value <= 3));
    }
}
