//! Low-pass filters and random early detection: what depends on the time since the last packet.
//! Exponentials are computed with integers, so that every machine gets the same bits.

use std::collections::BTreeMap;

/// What a filter makes of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Their sum per time constant: V' = V e^(-t/T) + x
    Rate,
    /// Their mean: V' = V + (x - V)(1 - e^(-t/T))
    Sample,
}

/// A low-pass filter's configuration. Without one it gives what it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LpfConfig {
    pub mode: Mode,
    /// Nanoseconds: T while values rise, and while they fall (`Sample`; `Rate` has the first only)
    pub rise: u64,
    pub fall: u64,
    /// The result is divided by 2 to this power.
    pub scale_down: u8,
}

/// Random early detection's configuration. Without one nothing is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WredConfig {
    /// Nanoseconds, of the mean that is looked at
    pub time_constant: u64,
    /// Up to this mean nothing is dropped.
    pub least: u32,
    /// Above this mean everything is.
    pub most: u32,
    /// Of 65536 packets so many are dropped at `most`; in between in proportion.
    pub probability: u32,
}

/// The configurations of one instance: for single cells, and for all others.
#[derive(Clone, Debug)]
pub(super) struct Configs<C> {
    pub all: Option<C>,
    pub own: BTreeMap<u64, C>,
}

impl<C> Default for Configs<C> {
    fn default() -> Configs<C> {
        Configs {
            all: None,
            own: BTreeMap::new(),
        }
    }
}

impl<C: Copy> Configs<C> {
    pub fn of(&self, cell: u64) -> Option<C> {
        self.own.get(&cell).copied().or(self.all)
    }

    /// For a cell, or for all of them; `None` takes the configuration away.
    pub fn set(&mut self, cell: Option<u64>, config: Option<C>) {
        match (cell, config) {
            (Some(cell), Some(config)) => {
                self.own.insert(cell, config);
            }
            (Some(cell), None) => {
                self.own.remove(&cell);
            }
            (None, config) => {
                self.own.clear();
                self.all = config;
            }
        }
    }
}

/// What a cell remembers: its value in 2^-32, and when it was asked last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    value: u64,
    last: Option<u64>,
}

const ONE: u64 = 1 << 32;

impl Cell {
    /// The filter's answer to a value at `now` in picoseconds.
    pub fn filter(&mut self, config: &LpfConfig, input: u32, now: u64) -> u32 {
        let (old, input) = (self.value, u64::from(input) << 32);
        let elapsed = now.saturating_sub(self.last.unwrap_or(now));
        let rises = input > old || config.mode == Mode::Rate;
        let constant = if rises { config.rise } else { config.fall };
        let kept = decay(elapsed, constant.saturating_mul(1000));
        let share = |value: u64, of: u64| ((u128::from(value) * u128::from(of)) >> 32) as u64;
        let first = self.last.is_none();
        self.last = Some(now.max(self.last.unwrap_or(now)));
        self.value = match config.mode {
            Mode::Rate => share(old, kept).saturating_add(input),
            Mode::Sample if first => input,
            Mode::Sample => share(old, kept) + share(input, ONE - kept),
        };
        ((self.value >> 32) >> config.scale_down.min(31)) as u32
    }

    /// Whether a packet is to be dropped, where the mean of what was seen is the larger the worse;
    /// `random` is any number.
    pub fn drops(&mut self, config: &WredConfig, input: u32, now: u64, random: u64) -> bool {
        let mean = self.filter(
            &LpfConfig {
                mode: Mode::Sample,
                rise: config.time_constant,
                fall: config.time_constant,
                scale_down: 0,
            },
            input,
            now,
        );
        if mean <= config.least {
            return false;
        }
        if mean > config.most {
            return true;
        }
        let span = u64::from(config.most - config.least);
        let above = u64::from(mean - config.least);
        let chance = u64::from(config.probability.min(1 << 16)) * above / span;
        (random >> 48) < chance
    }
}

/// e^(-elapsed/constant) in 2^-32; both are in the same unit.
fn decay(elapsed: u64, constant: u64) -> u64 {
    const LN2: u128 = 2_977_044_472;
    const DEEPEST: u128 = 48;
    if elapsed == 0 {
        return ONE;
    }
    if constant == 0 || u128::from(elapsed) > DEEPEST * u128::from(constant) {
        return 0;
    }
    let x = (u128::from(elapsed) << 32) / u128::from(constant);
    let (halvings, rest) = (x / LN2, x % LN2);
    // e^-rest by its series: rest is below ln 2, so that twelve terms are exact to 2^-32.
    let (mut sum, mut term) = (i128::from(ONE), i128::from(ONE));
    for n in 1..=12i128 {
        term = -(term * rest as i128) / (n << 32);
        sum += term;
    }
    (sum.max(0) as u64) >> (halvings as u32).min(63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// If this fails, rates and means in programs age too fast or too slowly.
        #[test]
        fn decays_as_the_exponential(elapsed in 0u64..1_000_000_000, constant in 1u64..1_000_000_000) {
            let expected = (-(elapsed as f64) / constant as f64).exp();
            let got = decay(elapsed, constant) as f64 / ONE as f64;
            prop_assert!((got - expected).abs() < 1e-8, "{got} {expected}");
        }
    }

    // If this fails, a program that measures a rate measures another one: a constant stream of x every
    // t leaves x / (1 - e^(-t/T)), a mean of one value is that value.
    #[test]
    fn settles_where_it_should() {
        let mut config = LpfConfig {
            mode: Mode::Rate,
            rise: 1_000,
            fall: 1_000,
            scale_down: 0,
        };
        let mut cell = Cell::default();
        let last = (0..2_000u64)
            .map(|i| cell.filter(&config, 100, i * 100_000))
            .last();
        let expected = 100.0 / (1.0 - (-0.1f64).exp());
        assert!(
            (f64::from(last.unwrap_or(0)) - expected).abs() < 2.0,
            "{last:?} {expected}"
        );
        config.mode = Mode::Sample;
        config.fall = 100;
        let mut cell = Cell::default();
        assert_eq!(cell.filter(&config, 500, 0), 500);
        // One time constant later it has gone 1 - 1/e of the way up, or down, each with its own.
        assert_eq!(cell.filter(&config, 1_500, 1_000_000), 1_132);
        assert_eq!(cell.filter(&config, 132, 1_100_000), 499);
    }

    // If this fails, early detection drops from an empty queue, or nothing from a full one.
    #[test]
    fn drops_in_proportion() {
        let config = WredConfig {
            time_constant: 1,
            least: 100,
            most: 200,
            probability: 1 << 15,
        };
        let share = |input: u32| {
            let mut random = crate::random::Random::new(7);
            let mut cell = Cell::default();
            let times = 20_000u64;
            let dropped = (0..times)
                .filter(|i| cell.drops(&config, input, i * 1_000_000, random.next()))
                .count();
            dropped as f64 / times as f64
        };
        assert_eq!(share(100), 0.0);
        assert!((share(150) - 0.25).abs() < 0.02);
        assert!((share(200) - 0.5).abs() < 0.02);
        assert_eq!(share(201), 1.0);
    }
}
