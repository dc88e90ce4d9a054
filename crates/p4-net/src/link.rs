//! Links: two wires, one for each direction, each with its port's queues, a transmitter and a delay.

use std::collections::VecDeque;

use p4_time::Time;

use crate::agenda::{Agenda, Happening};
use crate::error::NetError;
use crate::network::NodeId;
use crate::pool::{FrameId, Pool};
use crate::probe::Probe;
use crate::queue::{Admission, PortConfig, QueueStats, Queues, Turn};
use crate::rng::Rng;

/// Preamble, start delimiter and inter-frame gap: 20 bytes of time that every Ethernet frame takes
/// besides its own (IEEE 802.3 clause 4). With it, 64-byte frames on 100 Gb/s are 148.8 M per second.
pub const ETHERNET_OVERHEAD: u32 = 20;

/// Bytes that a port's queue holds unless the topology says otherwise.
pub const DEFAULT_QUEUE: u64 = 16 << 20;

/// Number of a link, in order of creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub(crate) u32);

impl LinkId {
    pub fn from_index(index: u32) -> LinkId {
        LinkId(index)
    }

    pub fn index(self) -> u32 {
        self.0
    }

    /// Its two wires: away from the first end given to `connect`, and back.
    pub(crate) fn wires(self) -> [u32; 2] {
        [self.0 * 2, self.0 * 2 + 1]
    }
}

/// One end of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct End {
    pub node: NodeId,
    pub port: u16,
}

/// The properties of a link; both directions have them alike.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Bits per second; `None` transmits in no time.
    pub rate: Option<u64>,
    /// Propagation delay of every frame.
    pub delay: Time,
    /// Largest extra delay of a frame, drawn uniformly from zero to this. Frames never overtake.
    pub jitter: Time,
    /// Probability from 0 to 1 that a frame is lost on the wire.
    pub loss: f64,
    /// Bytes that may wait for the transmitter, unless [`crate::Network::set_port`] says otherwise;
    /// a frame that does not fit is dropped (tail drop).
    pub queue: u64,
    /// Bytes of time that each frame takes besides its own.
    pub overhead: u32,
}

impl Default for LinkConfig {
    fn default() -> LinkConfig {
        LinkConfig {
            rate: None,
            delay: Time::ZERO,
            jitter: Time::ZERO,
            loss: 0.0,
            queue: DEFAULT_QUEUE,
            overhead: ETHERNET_OVERHEAD,
        }
    }
}

impl LinkConfig {
    pub(crate) fn check(&self) -> Result<(), NetError> {
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(NetError::Loss(self.loss));
        }
        if self.rate == Some(0) {
            return Err(NetError::ZeroRate);
        }
        Ok(())
    }

    /// How long the transmitter is busy with a frame of `length` bytes, rounded up to a picosecond.
    pub fn transmission(&self, length: usize) -> Time {
        let Some(rate) = self.rate else {
            return Time::ZERO;
        };
        let small = u32::try_from(length).ok().and_then(|length| {
            let bits = (u64::from(length) + u64::from(self.overhead)) * 8;
            bits.checked_mul(1_000_000_000_000)
        });
        if let Some(picos) = small {
            return Time::from_picos(picos.div_ceil(rate));
        }
        // Frames of more than a megabyte: a division of 128 bits takes as long as all else here.
        let bits = (length as u128 + u128::from(self.overhead)) * 8;
        let picos = (bits * 1_000_000_000_000).div_ceil(u128::from(rate));
        Time::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
    }
}

/// A number of frames, what they weigh, and how many of them are probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub frames: u64,
    /// Bytes of the frames themselves, without preamble and gap.
    pub bytes: u64,
    pub probes: u64,
}

impl Count {
    pub fn add(&mut self, frame: &[u8]) {
        self.frames += 1;
        self.bytes += frame.len() as u64;
        self.probes += u64::from(Probe::is_at_end_of(frame));
    }
}

/// Frames that a wire did not deliver, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Did not fit into the queue.
    pub queue_full: u64,
    /// Given to a link that was down, or waiting in its queue when it went down.
    pub link_down: u64,
    /// On the wire when the link went down.
    pub cut: u64,
    /// Lost at random.
    pub loss: u64,
}

impl Drops {
    pub fn total(&self) -> u64 {
        self.queue_full + self.link_down + self.cut + self.loss
    }
}

/// What has happened on one direction of a link.
///
/// At any moment: `offered = delivered + drops + queued + in_flight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireStats {
    /// Given to the port.
    pub offered: Count,
    /// Put on the wire: this is what a link carries.
    pub sent: Count,
    /// Reached the far end.
    pub delivered: Count,
    pub drops: Drops,
    /// Waiting now.
    pub queued: u64,
    /// Being transmitted or propagating now.
    pub in_flight: u64,
    /// Most bytes that ever waited at once.
    pub peak_queue: u64,
}

/// One direction of a link.
pub(crate) struct Wire {
    index: u32,
    pub(crate) from: End,
    pub(crate) to: End,
    pub(crate) config: LinkConfig,
    up: bool,
    /// Moves on whenever the wire is cut, which voids what had been arranged for it.
    epoch: u32,
    queues: Queues,
    /// When the queues are looked at next
    wake: Option<Time>,
    in_flight: VecDeque<FrameId>,
    busy_until: Time,
    last_arrival: Time,
    rng: Rng,
    stats: WireStats,
}

impl Wire {
    pub(crate) fn new(index: u32, from: End, to: End, config: LinkConfig, seed: u64) -> Wire {
        Wire {
            index,
            from,
            to,
            up: true,
            epoch: 0,
            queues: Queues::plain(config.queue),
            wake: None,
            config,
            in_flight: VecDeque::new(),
            busy_until: Time::ZERO,
            last_arrival: Time::ZERO,
            rng: Rng::new(seed, u64::from(index)),
            stats: WireStats::default(),
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.up
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(crate) fn stats(&self) -> WireStats {
        WireStats {
            queued: self.queues.waiting(),
            peak_queue: self.queues.peak(),
            in_flight: self.in_flight.len() as u64,
            ..self.stats
        }
    }

    pub(crate) fn queue_stats(&self, now: Time) -> Vec<QueueStats> {
        self.queues.stats(now)
    }

    pub(crate) fn configure(&mut self, config: LinkConfig) {
        self.queues.set_plain_size(config.queue);
        self.config = config;
    }

    /// False, and nothing done, if frames wait and the number of queues would change.
    pub(crate) fn set_port(&mut self, now: Time, config: &PortConfig, agenda: &mut Agenda) -> bool {
        let done = self.queues.configure(config, now);
        if self.queues.waiting() > 0 {
            self.look_again(now.max(self.busy_until), agenda);
        }
        done
    }

    /// A port wants to transmit `frame`.
    pub(crate) fn offer(
        &mut self,
        now: Time,
        frame: FrameId,
        priority: u8,
        pool: &mut Pool,
        agenda: &mut Agenda,
    ) {
        let data = pool.get(frame);
        let length = data.len() as u64;
        self.stats.offered.add(data);
        if !self.up {
            self.stats.drops.link_down += 1;
            self.queues.refuse(length, priority);
            return pool.free(frame);
        }
        let idle = self.busy_until <= now;
        match self.queues.offer(now, idle, frame, length, priority) {
            Admission::Send => {
                self.start(now, frame, pool, agenda);
                // What waits for tokens may have been told an earlier moment.
                if self.queues.waiting() > 0 {
                    self.look_again(self.busy_until, agenda);
                }
            }
            // Its own turn may come before that of what waits for tokens.
            Admission::Waits if idle && self.wake != Some(now) => {
                self.transmit_next(now, pool, agenda);
            }
            Admission::Waits => self.look_again(self.busy_until, agenda),
            Admission::Full => {
                self.stats.drops.queue_full += 1;
                pool.free(frame);
            }
        }
    }

    /// Looks at the queues and sends what may be sent, if the transmitter is free.
    pub(crate) fn transmit_next(&mut self, now: Time, pool: &mut Pool, agenda: &mut Agenda) {
        if self.wake.is_some_and(|wake| wake <= now) {
            self.wake = None;
        }
        if self.busy_until > now {
            if self.queues.waiting() > 0 {
                self.look_again(self.busy_until, agenda);
            }
            return;
        }
        match self.queues.next(now) {
            Turn::Send(frame) => {
                self.start(now, frame, pool, agenda);
                if self.queues.waiting() > 0 {
                    self.look_again(self.busy_until, agenda);
                }
            }
            Turn::Wait(time) => self.look_again(time, agenda),
            Turn::Empty => {}
        }
    }

    /// Arranges to look at the queues at `time`, unless that will be done before.
    fn look_again(&mut self, time: Time, agenda: &mut Agenda) {
        if self.wake.is_none_or(|wake| time < wake) {
            self.wake = Some(time);
            agenda.arrange(
                time,
                Happening::Free {
                    wire: self.index,
                    epoch: self.epoch,
                },
            );
        }
    }

    /// The oldest frame in flight has arrived.
    pub(crate) fn arrive(&mut self, pool: &Pool) -> Option<FrameId> {
        let frame = self.in_flight.pop_front()?;
        self.stats.delivered.add(pool.get(frame));
        Some(frame)
    }

    /// Puts the link up or down. What waits or flies when it goes down is lost, and counted.
    pub(crate) fn set_up(&mut self, now: Time, up: bool, pool: &mut Pool) {
        if up == self.up {
            return;
        }
        self.up = up;
        self.epoch = self.epoch.wrapping_add(1);
        self.stats.drops.link_down += self.queues.waiting();
        self.stats.drops.cut += self.in_flight.len() as u64;
        self.queues.clear(now, |frame| pool.free(frame));
        self.in_flight.drain(..).for_each(|frame| pool.free(frame));
        self.wake = None;
        self.busy_until = now;
        self.last_arrival = now;
    }

    fn start(&mut self, now: Time, frame: FrameId, pool: &mut Pool, agenda: &mut Agenda) {
        let data = pool.get(frame);
        self.busy_until = now + self.config.transmission(data.len());
        self.stats.sent.add(data);
        if self.rng.chance(self.config.loss) {
            self.stats.drops.loss += 1;
            pool.free(frame);
            return;
        }
        let jitter = Time::from_picos(self.rng.up_to(self.config.jitter.picos()));
        let arrival = (self.busy_until + self.config.delay + jitter).max(self.last_arrival);
        self.last_arrival = arrival;
        self.in_flight.push_back(frame);
        agenda.arrange(
            arrival,
            Happening::Arrival {
                wire: self.index,
                epoch: self.epoch,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails every throughput figure is off.
    #[test]
    fn transmission_times_are_those_of_ethernet() {
        let link = |rate| LinkConfig {
            rate: Some(rate),
            ..LinkConfig::default()
        };
        assert_eq!(
            link(100_000_000_000).transmission(64),
            Time::from_picos(6_720)
        );
        assert_eq!(
            link(10_000_000_000).transmission(1500),
            Time::from_picos(1_216_000)
        );
        assert_eq!(
            link(3).transmission(0),
            Time::from_picos(53_333_333_333_334)
        );
        assert_eq!(LinkConfig::default().transmission(1500), Time::ZERO);
        let silly = LinkConfig {
            rate: Some(1),
            overhead: u32::MAX,
            ..LinkConfig::default()
        };
        assert_eq!(silly.transmission(usize::MAX), Time::MAX);
    }
}
