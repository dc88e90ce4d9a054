//! The network's own randomness: SplitMix64, one generator per directed link and per traffic source.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Small, seedable, the same on every machine.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator of its own for each `stream`, so that what happens on one link does not shift the
    /// draws of another.
    pub fn new(seed: u64, stream: u64) -> Rng {
        let mut rng = Rng(seed ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        rng.next();
        rng
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait)] // there is no end to iterate to
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// True with the given probability (0 never, 1 always). Draws only if the outcome is open.
    pub fn chance(&mut self, probability: f64) -> bool {
        if probability <= 0.0 {
            return false;
        }
        // 53 bits are what a double holds exactly.
        ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// Uniform in `0..=limit`. Draws only if the outcome is open.
    pub fn up_to(&mut self, limit: u64) -> u64 {
        if limit == 0 {
            return 0;
        }
        let wide = u128::from(self.next()) * (u128::from(limit) + 1);
        (wide >> 64) as u64
    }

    /// Exponentially distributed with mean `mean`, rounded to a picosecond.
    pub fn exponential(&mut self, mean: f64) -> u64 {
        // In (0, 1]: of 53 bits, moved up by one, so that the logarithm is finite.
        let uniform = ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        // A cast of what is too large saturates.
        (-natural_logarithm(uniform) * mean + 0.5) as u64
    }
}

/// ln of a positive normal number by additions, multiplications and divisions alone, which every
/// machine does alike to the last bit; the logarithms of C libraries differ.
fn natural_logarithm(value: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    const ONE: u64 = 1023 << 52;
    let bits = value.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits(bits & FRACTION | ONE);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh s, and |s| < 0.172: eleven terms are below the last bit.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = (0..11)
        .rev()
        .fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 1));
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * s * series
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

    // If this fails Poisson traffic is not Poisson, and differs from machine to machine.
    #[test]
    fn exponential_has_its_mean_its_spread_and_a_right_logarithm() {
        let mut rng = Rng::new(5, 6);
        let draws: Vec<f64> = (0..200_000).map(|_| rng.exponential(1e6) as f64).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let square = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>();
        let deviation = (square / draws.len() as f64).sqrt();
        assert!((0.99e6..1.01e6).contains(&mean), "mean {mean} of 1e6");
        assert!(
            (0.98e6..1.02e6).contains(&deviation),
            "deviation {deviation} of 1e6"
        );
        for value in [1.0, 0.5, 1e-16, 0.7, 1.5, 0.9999999, 1e-300] {
            let error = (natural_logarithm(value) - value.ln()).abs();
            assert!(error <= 1e-14 * value.ln().abs().max(1e-2), "ln {value}");
        }
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
