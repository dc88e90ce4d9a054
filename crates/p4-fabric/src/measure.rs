//! What receivers see, and what was dropped where.

use p4_net::{Histogram, Time};

use crate::scenario::{PortId, MOST_LEVELS};

/// What one receiver got of one flow.
#[derive(Clone, Debug)]
pub struct Sink {
    pub flow: u32,
    pub port: PortId,
    /// Surrogates between it and the sender
    pub level: u8,
    /// Since the warm-up was over
    pub frames: u64,
    pub bytes: u64,
    /// Sum of the delays of these frames, from the first bit sent to the last one received, in ps
    pub delays: u128,
    /// Bytes in each interval of the series, from the start of the run
    pub series: Vec<u64>,
    /// Frames since the start of the run; gaps in their numbers; numbers out of order
    pub all: u64,
    pub missing: u64,
    pub disordered: u64,
    pub(crate) next: u64,
    /// The sender: its leaf, and the number of the source there
    pub(crate) sender: (u16, u32),
}

impl Sink {
    pub(crate) fn new(flow: u32, port: PortId, level: u8, sender: (u16, u32)) -> Sink {
        Sink {
            flow,
            port,
            level,
            frames: 0,
            bytes: 0,
            delays: 0,
            series: Vec::new(),
            all: 0,
            missing: 0,
            disordered: 0,
            next: 0,
            sender,
        }
    }

    pub(crate) fn take(&mut self, number: u64, bytes: u64, bin: usize) {
        if number < self.next {
            self.disordered += 1;
        } else {
            self.missing += number - self.next;
            self.next = number + 1;
        }
        self.all += 1;
        if self.series.len() <= bin {
            self.series.resize(bin + 1, 0);
        }
        self.series[bin] += bytes;
    }
}

/// Defines the counters of a run, which are also listed by name.
macro_rules! totals {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Numbers of a whole run.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Totals { $($(#[$doc])* pub $name: u64,)* }

        impl Totals {
            /// All of them, by name.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }

            pub(crate) fn add(&mut self, other: &Totals) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

totals! {
    emitted,
    looped,
    frames_in,
    /// Frames refused: no payload buffers
    no_payload,
    /// Headers made, and why others were not, or were taken back
    headers,
    no_header,
    tail_dropped,
    head_dropped,
    acknowledged,
    delivered,
    /// Lossless frames without a buffer: the head-room was too small
    overrun,
    requests,
    grants,
    /// Times that a VOQ gave back what a dropped copy had asked for
    returned,
    notifications,
    pauses,
    retransmitted,
    /// Cells over crossbars: within a leaf, into links, out of links
    cells_local,
    cells_up,
    cells_down,
    /// Payloads that ports sent to their crossbar, and those of them that the cache had lost
    payloads,
    rewritten,
    evicted,
    suspended,
    timeouts,
    entries_evicted,
    events,
}

/// All that is measured.
#[derive(Clone, Debug)]
pub struct Measures {
    pub sinks: Vec<Sink>,
    pub totals: Totals,
    /// Delays of frames by the surrogates they have passed, after the warm-up
    pub delays: Vec<Histogram>,
    /// Lines in use of the watched leaf's cache, once for each interval of the series
    pub cache: Vec<u32>,
    pub(crate) warm: u64,
    pub(crate) interval: u64,
    pub(crate) fingerprint: u64,
}

impl Measures {
    pub(crate) fn new(warm: Time, interval: Time) -> Measures {
        Measures {
            sinks: Vec::new(),
            totals: Totals::default(),
            delays: vec![Histogram::default(); MOST_LEVELS + 1],
            cache: Vec::new(),
            warm: warm.picos(),
            interval: interval.picos().max(1),
            fingerprint: 0xCBF2_9CE4_8422_2325,
        }
    }

    /// Takes the numbers of a leaf in, but not its sinks.
    pub(crate) fn add(&mut self, leaf: &Measures) {
        self.totals.add(&leaf.totals);
        for (own, more) in self.delays.iter_mut().zip(&leaf.delays) {
            own.merge(more);
        }
        self.cache.extend(&leaf.cache); // of which only one leaf has any
        self.mix(leaf.fingerprint);
    }

    fn mix(&mut self, word: u64) {
        self.fingerprint = (self.fingerprint ^ word).wrapping_mul(0x0000_0100_0000_01B3);
    }

    /// A receiver has the last bit of a frame.
    pub(crate) fn deliver(&mut self, sink: u32, number: u64, bytes: u64, born: u64, now: u64) {
        self.totals.delivered += 1;
        for word in [now, u64::from(sink), number] {
            self.mix(word);
        }
        let sink = &mut self.sinks[sink as usize];
        sink.take(number, bytes, (now / self.interval) as usize);
        if now >= self.warm {
            sink.frames += 1;
            sink.bytes += bytes;
            sink.delays += u128::from(now - born);
            self.delays[usize::from(sink.level)].add(Time::from_picos(now - born));
        }
    }

    /// Gb/s of one receiver's frames from the end of the warm-up to `now`.
    pub fn gbps(&self, sink: usize, now: Time) -> f64 {
        let length = now.picos().saturating_sub(self.warm).max(1);
        self.sinks[sink].bytes as f64 * 8_000.0 / length as f64
    }
}
