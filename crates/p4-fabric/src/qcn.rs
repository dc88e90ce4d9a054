//! IEEE 802.1Qau (QCN): the congestion point beside a queue, the reaction point at a sender.

use p4_net::Rng;

use crate::parameters::Parameters;

/// Feedback has six bits
const MOST_FEEDBACK: i64 = 63;

/// Samples a queue and says how bad it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    equilibrium: i64,
    weight: i64,
    /// Queue at the last sample, in bytes
    old: i64,
    /// Bytes until the next one
    left: i64,
}

impl Point {
    pub(crate) fn new(equilibrium: u64, parameters: &Parameters) -> Point {
        Point {
            equilibrium: equilibrium as i64,
            weight: parameters.qcn_weight as i64,
            old: 0,
            left: parameters.qcn_sample as i64,
        }
    }

    /// A frame has made the queue `queue` bytes long: the feedback to send, from 1 to 63, if any.
    pub(crate) fn arrival(
        &mut self,
        bytes: u64,
        queue: u64,
        sample: u64,
        rng: &mut Rng,
    ) -> Option<u8> {
        self.left -= bytes as i64;
        if self.left > 0 {
            return None;
        }
        let queue = queue as i64;
        let feedback = -((queue - self.equilibrium) + self.weight * (queue - self.old));
        self.old = queue;
        let most = self.equilibrium * (2 * self.weight + 1);
        let quantised = ((-feedback).clamp(0, most) * MOST_FEEDBACK / most) as u8;
        // The next sample: 150, 75, 50, 37.5, 30, 25, 21.5, 18.5 kB of 150, by eighths of the feedback
        const PERMILLE: [u64; 8] = [1000, 500, 333, 250, 200, 167, 143, 123];
        let period = sample * PERMILLE[usize::from(quantised / 8)] / 1000;
        self.left = (period * (85 + rng.up_to(30)) / 100) as i64;
        (quantised > 0).then_some(quantised)
    }
}

/// The rate of one flow at its sender, in kb/s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limiter {
    pub(crate) current: u64,
    target: u64,
    byte_stage: u64,
    time_stage: u64,
    bytes_left: i64,
    fast: bool,
    /// Without a notification since it was last at the full rate it limits nothing
    pub(crate) on: bool,
    /// Of the timer: one that is older than the last restart is void
    pub(crate) epoch: u32,
}

impl Limiter {
    pub(crate) fn new(parameters: &Parameters) -> Limiter {
        let full = parameters.line_gbps * 1_000_000;
        Limiter {
            current: full,
            target: full,
            byte_stage: 0,
            time_stage: 0,
            bytes_left: parameters.byte_reset as i64,
            fast: false,
            on: false,
            epoch: 0,
        }
    }

    /// A notification came; the timer is to be started again.
    pub(crate) fn notified(&mut self, feedback: u8, parameters: &Parameters) {
        if self.byte_stage != 0 || !self.on {
            self.target = self.current;
            self.bytes_left = parameters.byte_reset as i64;
        }
        (self.byte_stage, self.time_stage) = (0, 0);
        // Gd = 1/128, and never below a half.
        let kept = self.current * (128 - u64::from(feedback).min(64)) / 128;
        self.current = kept.max(parameters.least_mbps * 1000);
        (self.fast, self.on) = (true, true);
        self.epoch += 1;
    }

    /// The flow has sent so many bytes.
    pub(crate) fn sent(&mut self, bytes: u64, parameters: &Parameters) {
        if !self.on {
            return;
        }
        self.bytes_left -= bytes as i64;
        if self.bytes_left <= 0 {
            self.byte_stage += 1;
            self.recover(parameters);
            self.bytes_left += (parameters.byte_reset / if self.fast { 1 } else { 2 }) as i64;
        }
    }

    /// The timer is over: picoseconds until the next one, if the rate is still limited.
    pub(crate) fn timer(&mut self, parameters: &Parameters) -> Option<u64> {
        self.time_stage += 1;
        self.recover(parameters);
        let period = parameters.time_reset / if self.fast { 1 } else { 2 };
        self.on.then_some(period)
    }

    fn recover(&mut self, parameters: &Parameters) {
        let (bytes, times, most) = (self.byte_stage, self.time_stage, parameters.stages);
        self.fast = self.fast && bytes < most && times < most;
        let step = if self.fast {
            0
        } else if bytes < most || times < most {
            parameters.active_mbps * 1000
        } else {
            parameters.hyper_mbps * 1000 * (bytes.min(times) - most + 1)
        };
        let full = parameters.line_gbps * 1_000_000;
        if (bytes == 1 || times == 1) && self.target > 10 * self.current {
            self.target /= 8;
        } else {
            self.target = (self.target + step).min(full);
        }
        self.current = ((self.current + self.target) / 2).min(full);
        if self.current + 1000 >= full {
            (self.current, self.on) = (full, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails QCN is another algorithm than 802.1Qau's: values computed by hand.
    #[test]
    fn feedback_and_recovery_are_those_of_the_standard() {
        let parameters = Parameters::default();
        let mut rng = Rng::new(1, 1);
        let mut point = Point::new(26_000, &parameters);
        assert_eq!(point.arrival(149_999, 99_000, 150_000, &mut rng), None);
        // Fb = -(26000 + 2 * 52000) = -130000, which is the most.
        assert_eq!(point.arrival(1, 52_000, 150_000, &mut rng), Some(63));
        // Fb = -(0 + 2 * -26000) > 0: it gets better.
        assert_eq!(point.arrival(150_000, 26_000, 150_000, &mut rng), None);

        let mut limiter = Limiter::new(&parameters);
        limiter.notified(63, &parameters);
        assert_eq!(limiter.current, 100_000_000 * 65 / 128);
        for _ in 0..5 {
            limiter.sent(150_000, &parameters);
        }
        // Five halves of the way back to 100 Gb/s; the fifth event ends fast recovery.
        let gap = 100_000_000 - 100_000_000 * 65 / 128;
        let missing = 100_000_000 - limiter.current;
        assert!(missing.abs_diff(gap / 32) < 30_000, "{missing} of {gap}");
    }
}
