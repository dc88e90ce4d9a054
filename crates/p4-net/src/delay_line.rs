//! One direction of a link outside of a simulation, for frames that move in real time.

use p4_time::Time;

use crate::agenda::{Agenda, Happening};
use crate::error::NetError;
use crate::link::{End, LinkConfig, Wire, WireStats};
use crate::network::NodeId;
use crate::pool::Pool;

/// A wire with the rate, queue, delay, jitter and loss that a [`crate::Network`] would give it.
///
/// Time is whatever the caller says it is, and must not go back. A caller that comes late does not
/// stretch the wire: what was due is reckoned from when it was due.
pub struct DelayLine {
    wire: Wire,
    pool: Pool,
    agenda: Agenda,
}

impl DelayLine {
    /// Draws for loss and jitter follow from `seed`.
    pub fn new(config: LinkConfig, seed: u64) -> Result<DelayLine, NetError> {
        config.check()?;
        let nowhere = End {
            node: NodeId::from_index(0),
            port: 0,
        };
        let wire = Wire::new(0, nowhere, nowhere, config, seed);
        Ok(DelayLine {
            wire,
            pool: Pool::default(),
            agenda: Agenda::default(),
        })
    }

    /// Takes a frame at the near end. Call [`DelayLine::advance`] up to `now` first.
    pub fn offer(&mut self, now: Time, frame: &[u8]) {
        self.wire
            .offer(now, frame, 0, &mut self.pool, &mut self.agenda);
    }

    /// Hands over, in order, all that reaches the far end up to `now`.
    pub fn advance(&mut self, now: Time, mut deliver: impl FnMut(&[u8])) {
        while let Some((due, what)) = self.agenda.pop(now) {
            match what {
                Happening::Free { .. } => {
                    self.wire
                        .transmit_next(due, &mut self.pool, &mut self.agenda);
                }
                Happening::Arrival { .. } => {
                    if let Some(frame) = self.wire.arrive(&mut self.pool) {
                        deliver(self.pool.get(frame));
                        self.pool.free(frame);
                    }
                }
                _ => {}
            }
        }
    }

    /// Cuts the wire, which loses and counts what is on it, or repairs it.
    pub fn set_up(&mut self, now: Time, up: bool) {
        self.wire.set_up(now, up, &mut self.pool);
        if !up {
            // What was arranged was for the frames that are gone.
            self.agenda = Agenda::default();
        }
    }

    /// When [`DelayLine::advance`] has something to do next.
    pub fn next_due(&self) -> Option<Time> {
        self.agenda.next_time()
    }

    pub fn stats(&self) -> WireStats {
        self.wire.stats(&self.pool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails a link in Mininet is faster, slower or shorter than the topology says.
    #[test]
    fn frames_come_when_rate_and_delay_say_however_late_one_looks() {
        // 105 + 20 bytes at 1 Gb/s take 1 us.
        let config = LinkConfig {
            rate: Some(1_000_000_000),
            delay: Time::from_micros(10),
            queue: 2 * 105,
            ..LinkConfig::default()
        };
        let mut line = DelayLine::new(config, 0).unwrap();
        for number in 0..4 {
            line.offer(Time::ZERO, &[number; 105]);
        }
        let mut seen = Vec::new();
        line.advance(Time::from_picos(10_999_999), |_| panic!("too early"));
        line.advance(Time::from_micros(12), |frame| seen.push(frame[0]));
        assert_eq!(seen, [0, 1], "due at 11 and 12 us");
        assert_eq!(line.next_due(), Some(Time::from_micros(13)));
        line.advance(Time::from_secs(1), |frame| seen.push(frame[0]));
        assert_eq!(seen, [0, 1, 2]);
        assert_eq!(line.stats().drops.queue_full, 1);
        assert_eq!((line.next_due(), line.pool.live()), (None, 0));
    }

    #[test]
    fn a_cut_loses_what_is_on_the_wire() {
        let config = LinkConfig {
            delay: Time::from_micros(10),
            ..LinkConfig::default()
        };
        let mut line = DelayLine::new(config, 0).unwrap();
        line.offer(Time::ZERO, &[1; 64]);
        line.set_up(Time::from_micros(1), false);
        line.offer(Time::from_micros(2), &[2; 64]);
        line.set_up(Time::from_micros(3), true);
        line.offer(Time::from_micros(4), &[3; 64]);
        let mut seen = Vec::new();
        line.advance(Time::from_secs(1), |frame| seen.push(frame[0]));
        assert_eq!(seen, [3]);
        assert_eq!(
            (line.stats().drops.cut, line.stats().drops.link_down),
            (1, 1)
        );
    }

    #[test]
    fn a_nonsensical_wire_is_refused() {
        let config = LinkConfig {
            loss: 2.0,
            ..LinkConfig::default()
        };
        assert!(DelayLine::new(config, 0).is_err());
    }
}
