//! The queues of a port: strict priorities, tail drop in bytes, token buckets.

use std::collections::VecDeque;

use p4_time::Time;

use crate::error::NetError;
use crate::link::Count;
use crate::pool::FrameId;

/// Bits times picoseconds per second: in this unit buckets fill without rounding.
const SECOND: u128 = 1_000_000_000_000;

/// Most queues of a port, one for each value of a priority.
pub const MOST_QUEUES: usize = 256;

/// A token bucket: `rate` bits per second on average, `burst` bytes at once. It counts the bytes of the
/// frames alone (layer 2) and is full at first. A frame larger than the burst leaves when the bucket is
/// full, and the debt is waited for afterwards, so that the rate holds whatever the frames are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    pub rate: u64,
    pub burst: u64,
}

/// One queue of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Bytes that may wait; a frame that does not fit is dropped (tail drop).
    pub size: u64,
    pub shaper: Option<Shaper>,
}

/// How a port sends. Of the queues that may send by their shapers the last has precedence; a frame
/// of priority n waits in queue n, or in the last if there are fewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortConfig {
    pub queues: Vec<QueueConfig>,
    /// Of all queues together
    pub shaper: Option<Shaper>,
}

impl PortConfig {
    pub(crate) fn check(&self) -> Result<(), NetError> {
        if self.queues.is_empty() || self.queues.len() > MOST_QUEUES {
            return Err(NetError::QueueCount(self.queues.len()));
        }
        let shapers = self.queues.iter().filter_map(|queue| queue.shaper);
        for shaper in shapers.chain(self.shaper) {
            if shaper.rate == 0 {
                return Err(NetError::ZeroRate);
            }
            if shaper.burst == 0 {
                return Err(NetError::ZeroBurst);
            }
        }
        Ok(())
    }
}

/// What has happened in one queue of a port. At any moment `offered = sent + dropped + waiting`, in
/// frames and in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    pub offered: u64,
    pub offered_bytes: u64,
    /// Left for the wire, be it at once
    pub sent: u64,
    pub sent_bytes: u64,
    /// Did not fit, or were there when the link failed or later
    pub dropped: u64,
    pub dropped_bytes: u64,
    pub waiting: u64,
    pub waiting_bytes: u64,
    /// Most bytes that ever waited
    pub peak_bytes: u64,
    /// Bytes that waited, summed over time in picoseconds: divided by a time it is the mean
    pub byte_time: u128,
    /// Sum of the times that sent frames have waited, and the longest
    pub wait_sum: u128,
    pub wait_max: Time,
}

impl QueueStats {
    /// Frames came and left without waiting.
    fn pass(&mut self, passed: Count) {
        self.offered += passed.frames;
        self.offered_bytes += passed.bytes;
        self.sent += passed.frames;
        self.sent_bytes += passed.bytes;
    }
}

/// Tokens of a [`Shaper`], in bits times [`SECOND`].
#[derive(Clone, Copy, Debug)]
struct Bucket {
    shaper: Shaper,
    tokens: i128,
    filled: Time,
}

impl Bucket {
    fn new(shaper: Shaper, now: Time) -> Bucket {
        Bucket {
            shaper,
            tokens: capacity(shaper),
            filled: now,
        }
    }

    fn fill(&mut self, now: Time) {
        let new = u128::from(self.shaper.rate) * u128::from((now - self.filled).picos());
        let most = capacity(self.shaper);
        // More than fits is as good as what fits: a debt is one frame at most.
        let room = (most - self.tokens).max(0) as u128;
        self.tokens += new.min(room) as i128;
        self.filled = now;
    }

    /// When there are enough tokens for a frame, `now` at the earliest.
    fn ready(&mut self, now: Time, length: u64) -> Time {
        self.fill(now);
        let missing = cost(length).min(capacity(self.shaper)) - self.tokens;
        let Ok(missing) = u128::try_from(missing) else {
            return now;
        };
        let wait = missing.div_ceil(u128::from(self.shaper.rate));
        now + Time::from_picos(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    fn take(&mut self, length: u64) {
        self.tokens -= cost(length);
    }
}

fn cost(bytes: u64) -> i128 {
    (u128::from(bytes) * 8 * SECOND) as i128
}

fn capacity(shaper: Shaper) -> i128 {
    cost(shaper.burst)
}

struct Queue {
    size: u64,
    bucket: Option<Bucket>,
    frames: VecDeque<Waiting>,
    /// When `byte_time` was last brought up to date
    counted: Time,
    stats: QueueStats,
}

#[derive(Clone, Copy)]
struct Waiting {
    frame: FrameId,
    length: u64,
    since: Time,
}

impl Queue {
    fn new(config: QueueConfig, now: Time) -> Queue {
        Queue {
            size: config.size,
            bucket: config.shaper.map(|shaper| Bucket::new(shaper, now)),
            frames: VecDeque::new(),
            counted: now,
            stats: QueueStats::default(),
        }
    }

    fn stats(&self, now: Time) -> QueueStats {
        let since = u128::from((now - self.counted).picos());
        QueueStats {
            byte_time: self.stats.byte_time + since * u128::from(self.stats.waiting_bytes),
            ..self.stats
        }
    }

    fn count(&mut self, now: Time) {
        self.stats = self.stats(now);
        self.counted = now;
    }

    fn ready(&mut self, now: Time, length: u64) -> Time {
        let bucket = self.bucket.as_mut();
        bucket.map_or(now, |bucket| bucket.ready(now, length))
    }

    fn leave(&mut self, length: u64, waited: Time) {
        self.stats.sent += 1;
        self.stats.sent_bytes += length;
        self.stats.wait_sum += u128::from(waited.picos());
        self.stats.wait_max = self.stats.wait_max.max(waited);
        if let Some(bucket) = &mut self.bucket {
            bucket.take(length);
        }
    }
}

/// What becomes of a frame that is given to a port.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It leaves at once.
    Send,
    Waits,
    Full,
}

/// What a port may do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Send(FrameId),
    /// Nothing before this moment, if nothing comes
    Wait(Time),
    Empty,
}

/// All queues of one port.
pub(crate) struct Queues {
    queues: Vec<Queue>,
    bucket: Option<Bucket>,
    /// Frames and bytes in all queues, and most bytes ever
    waiting: u64,
    bytes: u64,
    peak: u64,
    /// The one queue holds what the link's `queue` says.
    plain: bool,
}

impl Queues {
    /// One queue without a shaper.
    pub(crate) fn plain(size: u64) -> Queues {
        let queue = QueueConfig { size, shaper: None };
        Queues {
            queues: vec![Queue::new(queue, Time::ZERO)],
            bucket: None,
            waiting: 0,
            bytes: 0,
            peak: 0,
            plain: true,
        }
    }

    /// Sets the size of a queue that nothing else was said about.
    pub(crate) fn set_plain_size(&mut self, size: u64) {
        if self.plain {
            self.queues[0].size = size;
        }
    }

    /// New properties; statistics of queues that stay go on. False, and nothing done, if frames wait and
    /// the number of queues would change.
    pub(crate) fn configure(&mut self, config: &PortConfig, now: Time) -> bool {
        if self.waiting > 0 && config.queues.len() != self.queues.len() {
            return false;
        }
        self.plain = false;
        self.bucket = config.shaper.map(|shaper| Bucket::new(shaper, now));
        self.queues.truncate(config.queues.len());
        for (index, &config) in config.queues.iter().enumerate() {
            let new = Queue::new(config, now);
            match self.queues.get_mut(index) {
                Some(known) => (known.size, known.bucket) = (new.size, new.bucket),
                None => self.queues.push(new),
            }
        }
        true
    }

    /// Of each queue, with those that `passed` the first and only one.
    pub(crate) fn stats(&self, now: Time, passed: Count) -> Vec<QueueStats> {
        let mut stats: Vec<QueueStats> = self.queues.iter().map(|queue| queue.stats(now)).collect();
        stats[0].pass(passed);
        stats
    }

    /// Counts frames that passed the first queue.
    pub(crate) fn passed(&mut self, passed: Count) {
        self.queues[0].stats.pass(passed);
    }

    /// Frames that find the port idle and nothing waiting leave at once.
    pub(crate) fn is_one_without_shaper(&self) -> bool {
        self.queues.len() == 1 && self.queues[0].bucket.is_none() && self.bucket.is_none()
    }

    pub(crate) fn waiting(&self) -> u64 {
        self.waiting
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    fn of(&self, priority: u8) -> usize {
        usize::from(priority).min(self.queues.len() - 1)
    }

    /// Says whether a frame is dropped, waits (then [`Queues::add`] takes it), or may leave since the port
    /// is `idle`.
    pub(crate) fn admit(&mut self, now: Time, idle: bool, length: u64, priority: u8) -> Admission {
        let index = self.of(priority);
        let passes =
            idle && self.queues[index].frames.is_empty() && self.goes_first(now, index, length);
        let queue = &mut self.queues[index];
        queue.stats.offered += 1;
        queue.stats.offered_bytes += length;
        if passes {
            queue.leave(length, Time::ZERO);
            if let Some(bucket) = &mut self.bucket {
                bucket.take(length);
            }
            return Admission::Send;
        }
        if queue.stats.waiting_bytes + length > queue.size {
            queue.stats.dropped += 1;
            queue.stats.dropped_bytes += length;
            return Admission::Full;
        }
        Admission::Waits
    }

    /// Takes in a frame that waits.
    pub(crate) fn add(&mut self, now: Time, frame: FrameId, length: u64, priority: u8) {
        let index = self.of(priority);
        let queue = &mut self.queues[index];
        queue.count(now);
        queue.stats.waiting += 1;
        queue.stats.waiting_bytes += length;
        queue.stats.peak_bytes = queue.stats.peak_bytes.max(queue.stats.waiting_bytes);
        queue.frames.push_back(Waiting {
            frame,
            length,
            since: now,
        });
        self.waiting += 1;
        self.bytes += length;
        self.peak = self.peak.max(self.bytes);
    }

    /// Whether a frame that comes to an empty queue may leave before all that wait.
    fn goes_first(&mut self, now: Time, index: usize, length: u64) -> bool {
        if self.waiting > 0 {
            for queue in &mut self.queues[index + 1..] {
                let Some(head) = queue.frames.front() else {
                    continue;
                };
                let length = head.length;
                if queue.ready(now, length) <= now {
                    return false;
                }
            }
        }
        self.queues[index].ready(now, length) <= now && self.port_ready(now, length) <= now
    }

    fn port_ready(&mut self, now: Time, length: u64) -> Time {
        let bucket = self.bucket.as_mut();
        bucket.map_or(now, |bucket| bucket.ready(now, length))
    }

    /// The port is free: the frame that leaves now, or when to ask again.
    pub(crate) fn next(&mut self, now: Time) -> Turn {
        let mut soonest = None;
        for index in (0..self.queues.len()).rev() {
            let queue = &mut self.queues[index];
            let Some(&Waiting {
                frame,
                length,
                since,
            }) = queue.frames.front()
            else {
                continue;
            };
            let ready = queue.ready(now, length);
            if ready > now {
                soonest = Some(soonest.map_or(ready, |other: Time| other.min(ready)));
                continue;
            }
            let ready = self.port_ready(now, length);
            if ready > now {
                return Turn::Wait(ready);
            }
            let queue = &mut self.queues[index];
            queue.count(now);
            queue.frames.pop_front();
            queue.stats.waiting -= 1;
            queue.stats.waiting_bytes -= length;
            queue.leave(length, now - since);
            if let Some(bucket) = &mut self.bucket {
                bucket.take(length);
            }
            self.waiting -= 1;
            self.bytes -= length;
            return Turn::Send(frame);
        }
        soonest.map_or(Turn::Empty, Turn::Wait)
    }

    /// Counts a frame that came while the link was down.
    pub(crate) fn refuse(&mut self, length: u64, priority: u8) {
        let index = self.of(priority);
        let stats = &mut self.queues[index].stats;
        stats.offered += 1;
        stats.offered_bytes += length;
        stats.dropped += 1;
        stats.dropped_bytes += length;
    }

    /// All that wait.
    pub(crate) fn frames(&mut self) -> impl Iterator<Item = &mut FrameId> {
        let queues = self.queues.iter_mut();
        let all = queues.flat_map(|queue| &mut queue.frames);
        all.map(|waiting| &mut waiting.frame)
    }

    /// Drops all that wait.
    pub(crate) fn clear(&mut self, now: Time, mut drop: impl FnMut(FrameId)) {
        for queue in &mut self.queues {
            queue.count(now);
            queue.stats.dropped += queue.stats.waiting;
            queue.stats.dropped_bytes += queue.stats.waiting_bytes;
            (queue.stats.waiting, queue.stats.waiting_bytes) = (0, 0);
            queue
                .frames
                .drain(..)
                .for_each(|waiting| drop(waiting.frame));
        }
        (self.waiting, self.bytes) = (0, 0);
    }
}
