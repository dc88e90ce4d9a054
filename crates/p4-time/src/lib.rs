//! Time as the whole project counts it, and the only trait that tells it.
//!
//! A 64-byte frame lasts 5.12 ns on a 100 Gb/s port, so nanoseconds are too coarse to add up without
//! drift. Picoseconds in 64 bits are exact for every Ethernet rate in use and last 213 days.
#![forbid(unsafe_code)]

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A moment since the start of a run, or the distance between two moments, in picoseconds.
///
/// Arithmetic saturates: a sum past 213 days stays at [`Time::MAX`], a difference below zero is zero.
/// A simulation can therefore not be made to overflow by a delay that a student typed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Time(u64);

impl Time {
    pub const ZERO: Time = Time(0);
    pub const MAX: Time = Time(u64::MAX);

    pub const fn from_picos(picos: u64) -> Time {
        Time(picos)
    }

    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos.saturating_mul(1_000))
    }

    pub const fn from_micros(micros: u64) -> Time {
        Time(micros.saturating_mul(1_000_000))
    }

    pub const fn from_millis(millis: u64) -> Time {
        Time(millis.saturating_mul(1_000_000_000))
    }

    pub const fn from_secs(secs: u64) -> Time {
        Time(secs.saturating_mul(1_000_000_000_000))
    }

    pub const fn picos(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down (what pcapng files carry).
    pub const fn nanos(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole microseconds, rounded down (what v1model's `ingress_global_timestamp` carries).
    pub const fn micros(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds for people and plots; not for comparing moments.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Time {
    /// `12.345678 ms`: the largest unit that leaves a whole part, up to picosecond digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, usize, &str); 4] = [
            (1_000_000_000_000, 12, "s"),
            (1_000_000_000, 9, "ms"),
            (1_000_000, 6, "us"),
            (1_000, 3, "ns"),
        ];
        for (unit, digits, name) in UNITS {
            if self.0 >= unit {
                let fraction = format!("{:0digits$}", self.0 % unit);
                let fraction = fraction.trim_end_matches('0');
                let dot = if fraction.is_empty() { "" } else { "." };
                return write!(f, "{}{dot}{fraction} {name}", self.0 / unit);
            }
        }
        write!(f, "{} ps", self.0)
    }
}

/// Who knows what time it is: the event simulation, or the machine's monotonic clock.
pub trait Clock {
    /// Time since the run began. Never goes back.
    fn now(&self) -> Time;
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails a student reads a wrong time in every table and trace.
    #[test]
    fn shows_exact_values_in_the_largest_fitting_unit() {
        assert_eq!(Time::from_picos(7).to_string(), "7 ps");
        assert_eq!(Time::from_picos(5_120).to_string(), "5.12 ns");
        assert_eq!(Time::from_micros(500).to_string(), "500 us");
        assert_eq!(
            Time::from_picos(1_000_000_000_001).to_string(),
            "1.000000000001 s"
        );
    }

    // If this fails an absurd delay in a topology file panics or turns into a tiny one.
    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Time::from_secs(u64::MAX), Time::MAX);
        assert_eq!(Time::MAX + Time::from_picos(1), Time::MAX);
        assert_eq!(Time::ZERO - Time::from_picos(1), Time::ZERO);
    }
}
