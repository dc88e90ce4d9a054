//! Links: two wires, one for each direction, each with its port's queues, a transmitter and a delay.

use p4_time::Time;

use crate::agenda::{Agenda, Happening};
use crate::error::NetError;
use crate::network::NodeId;
use crate::pool::{carry_over, FrameId, Line, Pool};
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
    #[inline]
    pub fn add(&mut self, frame: &[u8]) {
        self.frames += 1;
        self.bytes += frame.len() as u64;
        self.probes += u64::from(Probe::is_at_end_of(frame));
    }

    fn and(self, other: Count) -> Count {
        Count {
            frames: self.frames + other.frames,
            bytes: self.bytes + other.bytes,
            probes: self.probes + other.probes,
        }
    }

    fn without(self, other: Count) -> Count {
        Count {
            frames: self.frames - other.frames,
            bytes: self.bytes - other.bytes,
            probes: self.probes - other.probes,
        }
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

/// One direction of a link. What every frame needs is within two cache lines, since a network of a
/// thousand switches does not fit into the cache.
#[repr(C, align(128))] // lines are brought in pairs
pub(crate) struct Wire {
    pub(crate) to: End,
    /// No frame waits, and none is to be looked at: a link that is up, without loss and jitter, and
    /// a port with one queue and no shaper.
    is_plain: bool,
    /// It leads to another part of the network, where a ghost delivers its frames.
    is_away: bool,
    epoch: u32,
    in_flight: Line,
    index: u32,
    busy_until: Time,
    last_arrival: Time,
    /// Frames that found the transmitter free and a port without ado: no statistics of the wire or
    /// its queue have them.
    passed: Count,
    delay: Time,
    /// Length and transmission time of the last frame, as the next is often as long
    last: (usize, Time),
    rest: Box<Rest>,
}

/// What fewer frames need.
struct Rest {
    from: End,
    /// In the whole network
    number: u32,
    /// Frames on their way to another part, which does not have them yet, and when they arrive
    leaving: Vec<(Time, FrameId)>,
    config: LinkConfig,
    up: bool,
    queues: Queues,
    /// When the queues are looked at next
    wake: Option<Time>,
    rng: Rng,
    offered: Count,
    sent: Count,
    drops: Drops,
    /// Frames that were sent and then lost at random or when the link went down
    lost: Count,
}

impl Wire {
    pub(crate) fn new(index: u32, from: End, to: End, config: LinkConfig, seed: u64) -> Wire {
        let rest = Rest {
            from,
            number: index,
            leaving: Vec::new(),
            up: true,
            queues: Queues::plain(config.queue),
            wake: None,
            config: config.clone(),
            rng: Rng::new(seed, u64::from(index)),
            offered: Count::default(),
            sent: Count::default(),
            drops: Drops::default(),
            lost: Count::default(),
        };
        let mut wire = Wire {
            to,
            in_flight: Line::EMPTY,
            // Moves on whenever the wire is cut, which voids what had been arranged for it.
            epoch: 0,
            index,
            busy_until: Time::ZERO,
            last_arrival: Time::ZERO,
            passed: Count::default(),
            delay: Time::ZERO,
            last: (0, Time::ZERO),
            is_plain: false,
            is_away: false,
            rest: Box::new(rest),
        };
        wire.configure(config);
        wire
    }

    pub(crate) fn from(&self) -> End {
        self.rest.from
    }

    /// In the whole network.
    pub(crate) fn number(&self) -> u32 {
        self.rest.number
    }

    pub(crate) fn delay(&self) -> Time {
        self.delay
    }

    #[inline]
    pub(crate) fn is_away(&self) -> bool {
        self.is_away
    }

    /// Frames in flight, the oldest first.
    pub(crate) fn frames<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = &'a [u8]> {
        self.in_flight.frames(pool)
    }

    /// What delivers this wire's frames in another part, as wire `index` there.
    pub(crate) fn ghost(&self, index: u32, to: End) -> Wire {
        let rest = &self.rest;
        let mut ghost = Wire::new(index, rest.from, to, rest.config.clone(), 0);
        ghost.epoch = self.epoch;
        ghost.rest.number = rest.number;
        ghost
    }

    /// Gives a wire another number and another name for its far end.
    pub(crate) fn settle(&mut self, index: u32, to: End, is_away: bool) {
        (self.index, self.to, self.is_away) = (index, to, is_away);
    }

    /// Moves all frames of a wire, in flight and waiting, to another pool.
    pub(crate) fn carry_over(&mut self, from: &mut Pool, to: &mut Pool) {
        let mut moved = Line::EMPTY;
        while let Some(frame) = self.in_flight.pop(from) {
            moved.push(carry_over(frame, from, to), to);
        }
        self.in_flight = moved;
        for frame in self.rest.queues.frames() {
            *frame = carry_over(*frame, from, to);
        }
    }

    /// Hands over what has left for another part since the last call.
    pub(crate) fn ship(&mut self, mut hand: impl FnMut(Time, FrameId)) {
        let leaving = self.rest.leaving.drain(..);
        leaving.for_each(|(time, frame)| hand(time, frame));
    }

    /// A frame that has left in another part arrives at `time`.
    pub(crate) fn expect(&mut self, time: Time, data: &[u8], pool: &mut Pool, agenda: &mut Agenda) {
        let frame = pool.insert(data);
        self.in_flight.push(frame, pool);
        self.announce(time, agenda);
    }

    pub(crate) fn overhead(&self) -> u32 {
        self.rest.config.overhead
    }

    pub(crate) fn transmission(&self, length: usize) -> Time {
        self.rest.config.transmission(length)
    }

    pub(crate) fn is_up(&self) -> bool {
        self.rest.up
    }

    #[inline]
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// `pool` has the frames that are in flight.
    pub(crate) fn stats(&self, pool: &Pool) -> WireStats {
        let rest = &self.rest;
        let mut in_flight = Count::default();
        self.in_flight.frames(pool).for_each(|f| in_flight.add(f));
        let sent = rest.sent.and(self.passed);
        WireStats {
            offered: rest.offered.and(self.passed),
            sent,
            // What was sent has arrived, is lost, or is in flight.
            delivered: sent.without(rest.lost).without(in_flight),
            drops: rest.drops,
            queued: rest.queues.waiting(),
            in_flight: in_flight.frames,
            peak_queue: rest.queues.peak(),
        }
    }

    pub(crate) fn queue_stats(&self, now: Time) -> Vec<QueueStats> {
        self.rest.queues.stats(now, self.passed)
    }

    pub(crate) fn configure(&mut self, config: LinkConfig) {
        self.rest.queues.set_plain_size(config.queue);
        self.delay = config.delay;
        self.last = (0, config.transmission(0));
        self.rest.config = config;
        self.look_at_port();
    }

    /// False, and nothing done, if frames wait and the number of queues would change.
    pub(crate) fn set_port(&mut self, now: Time, config: &PortConfig, agenda: &mut Agenda) -> bool {
        // Those that passed so far were in the first queue.
        let passed = std::mem::take(&mut self.passed);
        let rest = &mut *self.rest;
        rest.offered = rest.offered.and(passed);
        rest.sent = rest.sent.and(passed);
        rest.queues.passed(passed);
        let done = rest.queues.configure(config, now);
        if rest.queues.waiting() > 0 {
            self.look_again(now.max(self.busy_until), agenda);
        }
        self.look_at_port();
        done
    }

    /// Sees whether the next frame may pass without ado.
    fn look_at_port(&mut self) {
        let Rest {
            config, up, queues, ..
        } = &*self.rest;
        let wire = config.loss <= 0.0 && config.jitter == Time::ZERO;
        self.is_plain = *up && wire && queues.waiting() == 0 && queues.is_one_without_shaper();
    }

    /// A port wants to transmit a frame.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        now: Time,
        data: &[u8],
        priority: u8,
        pool: &mut Pool,
        agenda: &mut Agenda,
    ) {
        if self.is_plain && self.busy_until <= now {
            self.passed.add(data);
            self.occupy(now, data.len());
            let frame = pool.insert(data);
            return self.fly(frame, Time::ZERO, pool, agenda);
        }
        self.ask_port(now, data, priority, pool, agenda);
    }

    /// A frame that may have to wait, or may not go at all.
    #[inline(never)]
    fn ask_port(
        &mut self,
        now: Time,
        data: &[u8],
        priority: u8,
        pool: &mut Pool,
        agenda: &mut Agenda,
    ) {
        let length = data.len() as u64;
        let idle = self.busy_until <= now;
        let rest = &mut *self.rest;
        rest.offered.add(data);
        if !rest.up {
            rest.drops.link_down += 1;
            return rest.queues.refuse(length, priority);
        }
        match rest.queues.admit(now, idle, length, priority) {
            Admission::Send => {
                let frame = pool.insert(data);
                self.start(now, frame, pool, agenda);
                // What waits for tokens may have been told an earlier moment.
                if self.rest.queues.waiting() > 0 {
                    self.look_again(self.busy_until, agenda);
                }
            }
            Admission::Waits => {
                rest.queues.add(now, pool.insert(data), length, priority);
                self.is_plain = false;
                // Its own turn may come before that of what waits for tokens.
                if idle && self.rest.wake != Some(now) {
                    self.transmit_next(now, pool, agenda);
                } else {
                    self.look_again(self.busy_until, agenda);
                }
            }
            Admission::Full => rest.drops.queue_full += 1,
        }
    }

    /// Looks at the queues and sends what may be sent, if the transmitter is free.
    pub(crate) fn transmit_next(&mut self, now: Time, pool: &mut Pool, agenda: &mut Agenda) {
        let rest = &mut *self.rest;
        if rest.wake.is_some_and(|wake| wake <= now) {
            rest.wake = None;
        }
        if self.busy_until > now {
            if rest.queues.waiting() > 0 {
                self.look_again(self.busy_until, agenda);
            }
            return;
        }
        match rest.queues.next(now) {
            Turn::Send(frame) => {
                self.start(now, frame, pool, agenda);
                if self.rest.queues.waiting() > 0 {
                    self.look_again(self.busy_until, agenda);
                } else {
                    self.look_at_port();
                }
            }
            Turn::Wait(time) => self.look_again(time, agenda),
            Turn::Empty => {}
        }
    }

    /// Arranges to look at the queues at `time`, unless that will be done before.
    fn look_again(&mut self, time: Time, agenda: &mut Agenda) {
        if self.rest.wake.is_none_or(|wake| time < wake) {
            self.rest.wake = Some(time);
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
    #[inline]
    pub(crate) fn arrive(&mut self, pool: &mut Pool) -> Option<FrameId> {
        self.in_flight.pop(pool)
    }

    /// Puts the link up or down. What waits or flies when it goes down is lost, and counted.
    pub(crate) fn set_up(&mut self, now: Time, up: bool, pool: &mut Pool) {
        let rest = &mut *self.rest;
        if up == rest.up {
            return;
        }
        rest.up = up;
        self.epoch = self.epoch.wrapping_add(1);
        rest.drops.link_down += rest.queues.waiting();
        rest.queues.clear(now, |frame| pool.free(frame));
        while let Some(frame) = self.in_flight.pop(pool) {
            rest.drops.cut += 1;
            rest.lost.add(pool.get(frame));
            pool.free(frame);
        }
        rest.wake = None;
        self.busy_until = now;
        self.last_arrival = now;
        self.look_at_port();
    }

    /// A frame of one of the queues leaves, or is lost.
    fn start(&mut self, now: Time, frame: FrameId, pool: &mut Pool, agenda: &mut Agenda) {
        let data = pool.get(frame);
        self.occupy(now, data.len());
        let rest = &mut *self.rest;
        rest.sent.add(data);
        if rest.rng.chance(rest.config.loss) {
            rest.drops.loss += 1;
            rest.lost.add(data);
            return pool.free(frame);
        }
        let jitter = Time::from_picos(rest.rng.up_to(rest.config.jitter.picos()));
        self.fly(frame, jitter, pool, agenda);
    }

    /// The transmitter is busy with a frame of so many bytes from now on.
    #[inline]
    fn occupy(&mut self, now: Time, length: usize) {
        if self.last.0 != length {
            self.last = (length, self.rest.config.transmission(length));
        }
        self.busy_until = now + self.last.1;
    }

    /// A frame leaves as soon as the transmitter is through with it, and does not overtake others.
    #[inline]
    fn fly(&mut self, frame: FrameId, jitter: Time, pool: &mut Pool, agenda: &mut Agenda) {
        let arrival = (self.busy_until + self.delay + jitter).max(self.last_arrival);
        self.last_arrival = arrival;
        self.in_flight.push(frame, pool);
        if self.is_away {
            self.rest.leaving.push((arrival, frame));
        }
        self.announce(arrival, agenda);
    }

    #[inline]
    fn announce(&self, arrival: Time, agenda: &mut Agenda) {
        let (wire, epoch) = (self.index, self.epoch);
        agenda.arrange(arrival, Happening::Arrival { wire, epoch });
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
