//! Links that fail at random, drawn before they do.

use p4_time::Time;

use crate::error::NetError;
use crate::rng::Rng;

/// Most changes of one link
const MOST: usize = 1_000_000;

/// Draws of failures, apart from those of wires and sources with the same seed
const FAILURES: u64 = 1 << 48;

/// For how long a link works and fails on average, and within what time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomFailures {
    pub up: Time,
    pub down: Time,
    pub start: Time,
    pub stop: Time,
    pub seed: u64,
}

impl RandomFailures {
    /// Down, up, down, up: always in pairs, the last not after `stop`.
    pub(crate) fn moments(&self, now: Time) -> Result<Vec<Time>, NetError> {
        if self.start < now {
            return Err(NetError::Past);
        }
        let mut rng = Rng::new(self.seed, FAILURES);
        let mut draw = |mean: Time| Time::from_picos(rng.exponential(mean.picos() as f64).max(1));
        let mut moments = Vec::new();
        let mut time = self.start + draw(self.up);
        while time < self.stop {
            if moments.len() >= MOST {
                return Err(NetError::TooManyFailures(MOST));
            }
            let repaired = (time + draw(self.down)).min(self.stop);
            moments.extend([time, repaired]);
            time = repaired + draw(self.up);
        }
        Ok(moments)
    }
}
