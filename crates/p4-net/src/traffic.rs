//! Traffic sources: when the next frame leaves, and which.

use p4_time::Time;

use crate::error::NetError;
use crate::host::Flow;
use crate::link::End;
use crate::probe::MIN_FRAME;
use crate::replay::Recording;
use crate::rng::Rng;

const SECOND: u64 = 1_000_000_000_000;

/// Phases that may pass between two frames of on-off traffic on average; with more, a run would do
/// little but count phases.
const MOST_PHASES: u64 = 1000;

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The time on the wire: each frame with its overhead (preamble, gap, and what else the link
    /// counts, see [`crate::LinkConfig::overhead`]).
    One,
    /// The bytes of the frames alone.
    Two,
}

/// How frames follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Each when the bits before it have passed at the rate, to the picosecond and without drift.
    Constant,
    /// Exponentially distributed gaps, independent of the frames' lengths.
    Poisson,
    /// Constant at the rate while on, nothing while off. The two take turns, on first, for `on` and
    /// `off` on average. What is left of a gap when a phase ends is waited for in the next, so that
    /// over long times exactly on / (on + off) of the rate is sent.
    OnOff { on: Time, off: Time, spread: Spread },
}

/// How long the phases of on-off traffic are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    Fixed,
    Exponential,
}

/// Probes of one flow at a rate.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Frames to send, each with its weight in the mix; at least 64 bytes, as for a
    /// [`crate::Stream`].
    pub frames: Vec<(Vec<u8>, u32)>,
    pub flow: Flow,
    pub pattern: Pattern,
    /// Bits per second of `layer`
    pub rate: u64,
    pub layer: Layer,
    /// Bytes that each frame takes on the wire besides its own; `None` is as the link at the place
    /// where it starts, or Ethernet's without one.
    pub overhead: Option<u32>,
    /// When the first frame may leave, and from when on none does.
    pub start: Time,
    pub stop: Time,
    /// Most frames in all
    pub count: u64,
    /// Of its frames at a host's port
    pub priority: u8,
    /// `None` follows from the network's seed.
    pub seed: Option<u64>,
}

/// What a traffic source has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Generated {
    pub frames: u64,
    /// Bytes of the frames themselves
    pub bytes: u64,
    /// The same with the overhead on the wire
    pub wire_bytes: u64,
    /// Nothing more will be sent.
    pub done: bool,
}

impl Traffic {
    pub(crate) fn check(&self) -> Result<(), NetError> {
        if self.frames.iter().all(|(_, weight)| *weight == 0) {
            return Err(NetError::NoFrames);
        }
        if let Some((frame, _)) = self.frames.iter().find(|(f, _)| f.len() < MIN_FRAME) {
            return Err(NetError::ShortProbe(frame.len()));
        }
        if self.rate == 0 {
            return Err(NetError::ZeroRate);
        }
        let Pattern::OnOff { on, .. } = self.pattern else {
            return Ok(());
        };
        let longest = self.frames.iter().map(|(frame, _)| frame.len()).max();
        let bits = bits_of(longest.unwrap_or(0), self.overhead.unwrap_or(0));
        let gap = u128::from(bits) * u128::from(SECOND) / u128::from(self.rate);
        if u128::from(on.picos()) * u128::from(MOST_PHASES) < gap {
            return Err(NetError::ShortPhase { on });
        }
        Ok(())
    }
}

pub(crate) fn bits_of(length: usize, overhead: u32) -> u64 {
    (length as u64 + u64::from(overhead)) * 8
}

/// When frames leave.
#[derive(Clone, Debug)]
pub(crate) enum Schedule {
    /// At equal intervals
    Every(Time),
    Rate(Pace),
    Poisson {
        mean: f64,
    },
    OnOff {
        pace: Pace,
        on: Time,
        off: Time,
        spread: Spread,
        /// When the present on phase ends
        until: Time,
    },
    Replay {
        recording: Recording,
        next: usize,
    },
}

/// Bits at a rate as times whose errors do not add up: what division leaves over is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    rate: u64,
    rest: u64,
}

impl Pace {
    pub(crate) fn new(rate: u64) -> Pace {
        Pace { rate, rest: 0 }
    }

    fn pass(&mut self, bits: u64) -> Time {
        let wide = u128::from(bits) * u128::from(SECOND) + u128::from(self.rest);
        let (picos, rest) = match u64::try_from(wide) {
            Ok(narrow) => (narrow / self.rate, narrow % self.rate),
            Err(_) => {
                let rate = u128::from(self.rate);
                let picos = u64::try_from(wide / rate).unwrap_or(u64::MAX);
                (picos, (wide % rate) as u64)
            }
        };
        self.rest = rest;
        Time::from_picos(picos)
    }
}

/// A source at work.
pub(crate) struct Source {
    pub(crate) at: End,
    /// Number of the flow whose probes it sends; `None` sends the frames as they are.
    pub(crate) flow: Option<u32>,
    pub(crate) priority: u8,
    pub(crate) overhead: u32,
    /// Overhead that the rate counts
    counted: u32,
    frames: Vec<Vec<u8>>,
    /// Sums of the weights up to each frame
    weights: Vec<u64>,
    schedule: Schedule,
    stop: Time,
    left: u64,
    rng: Rng,
    pub(crate) sent: Generated,
}

impl Source {
    pub(crate) fn every(
        at: End,
        flow: u32,
        template: Vec<u8>,
        interval: Time,
        count: u64,
    ) -> Source {
        Source {
            at,
            flow: Some(flow),
            priority: 0,
            overhead: 0,
            counted: 0,
            frames: vec![template],
            weights: vec![1],
            schedule: Schedule::Every(interval),
            stop: Time::MAX,
            left: count,
            rng: Rng::new(0, 0),
            sent: Generated::default(),
        }
    }

    /// `overhead` is that of the place; `number` sets its draws apart from those of other sources.
    pub(crate) fn of(traffic: Traffic, at: End, flow: u32, overhead: u32, mut rng: Rng) -> Source {
        let counted = match traffic.layer {
            Layer::One => overhead,
            Layer::Two => 0,
        };
        let total: u64 = traffic
            .frames
            .iter()
            .map(|(_, weight)| u64::from(*weight))
            .sum();
        let bits = |(frame, weight): &(Vec<u8>, u32)| {
            bits_of(frame.len(), counted) as f64 * f64::from(*weight)
        };
        let mean_bits = traffic.frames.iter().map(bits).sum::<f64>() / total as f64;
        let pace = Pace::new(traffic.rate);
        let schedule = match traffic.pattern {
            Pattern::Constant => Schedule::Rate(pace),
            Pattern::Poisson => Schedule::Poisson {
                mean: mean_bits * SECOND as f64 / traffic.rate as f64,
            },
            Pattern::OnOff { on, off, spread } => Schedule::OnOff {
                pace,
                on,
                off,
                spread,
                until: traffic.start + phase(on, spread, &mut rng),
            },
        };
        let mut sum = 0;
        let weights = traffic.frames.iter().map(|(_, weight)| {
            sum += u64::from(*weight);
            sum
        });
        Source {
            at,
            flow: Some(flow),
            priority: traffic.priority,
            overhead,
            counted,
            weights: weights.collect(),
            frames: traffic.frames.into_iter().map(|(frame, _)| frame).collect(),
            schedule,
            stop: traffic.stop,
            left: traffic.count,
            rng,
            sent: Generated::default(),
        }
    }

    /// Sends the frames of a recording as they are, or numbered if there is a flow.
    pub(crate) fn replay(
        recording: Recording,
        at: End,
        flow: Option<u32>,
        overhead: u32,
    ) -> Source {
        Source {
            at,
            flow,
            priority: 0,
            overhead,
            counted: 0,
            frames: vec![Vec::new()],
            weights: vec![1],
            left: recording.len() as u64,
            schedule: Schedule::Replay { recording, next: 0 },
            stop: Time::MAX,
            rng: Rng::new(0, 0),
            sent: Generated::default(),
        }
    }

    /// When the first frame leaves, at `start` at the earliest; `None` if there is none.
    pub(crate) fn first(&mut self, start: Time) -> Option<Time> {
        let first = match &self.schedule {
            Schedule::Poisson { mean } => start + Time::from_picos(self.rng.exponential(*mean)),
            _ => start,
        };
        self.unless_over(first)
    }

    /// The frame that leaves now, to be numbered and given back, with its index.
    pub(crate) fn take_frame(&mut self) -> (usize, Vec<u8>) {
        let index = match &mut self.schedule {
            Schedule::Replay { recording, next } => {
                self.frames[0].clear();
                self.frames[0].extend_from_slice(recording.frame(*next));
                0
            }
            _ if self.frames.len() == 1 => 0,
            _ => {
                let total = self.weights.last().copied().unwrap_or(0);
                let draw = self.rng.up_to(total.saturating_sub(1));
                self.weights.partition_point(|sum| *sum <= draw)
            }
        };
        let frame = std::mem::take(&mut self.frames[index]);
        self.left -= 1;
        self.sent.frames += 1;
        self.sent.bytes += frame.len() as u64;
        self.sent.wire_bytes += frame.len() as u64 + u64::from(self.overhead);
        (index, frame)
    }

    pub(crate) fn give_back(&mut self, index: usize, frame: Vec<u8>) {
        self.frames[index] = frame;
    }

    /// When the frame after one of `length` bytes that leaves `now` does.
    pub(crate) fn next(&mut self, now: Time, length: usize) -> Option<Time> {
        let bits = bits_of(length, self.counted);
        let time = match &mut self.schedule {
            Schedule::Every(interval) => now + *interval,
            Schedule::Rate(pace) => now + pace.pass(bits),
            Schedule::Poisson { mean } => now + Time::from_picos(self.rng.exponential(*mean)),
            Schedule::OnOff {
                pace,
                on,
                off,
                spread,
                until,
            } => {
                let (mut gap, mut time) = (pace.pass(bits), now);
                while time + gap >= *until && *until < self.stop {
                    gap = gap - (*until - time);
                    time = *until + phase(*off, *spread, &mut self.rng);
                    *until = time + phase(*on, *spread, &mut self.rng);
                }
                time + gap
            }
            Schedule::Replay { recording, next } => {
                *next += 1;
                let since = |index| recording.time(index);
                now + (since(*next) - since(*next - 1))
            }
        };
        self.unless_over(time)
    }

    fn unless_over(&mut self, time: Time) -> Option<Time> {
        let over = self.left == 0 || time >= self.stop || time == Time::MAX;
        self.sent.done = over;
        (!over).then_some(time)
    }
}

fn phase(mean: Time, spread: Spread, rng: &mut Rng) -> Time {
    match spread {
        Spread::Fixed => mean,
        Spread::Exponential => Time::from_picos(rng.exponential(mean.picos() as f64)),
    }
}
