//! What a host measures of the frames that its card takes.

use std::collections::BTreeMap;

use p4_time::Time;

use crate::histogram::Histogram;
use crate::host::{Arrival, Flow};
use crate::probe::Probe;

/// Windows that are kept; what comes later counts in the sums alone.
pub const MOST_WINDOWS: u64 = 1 << 20;

/// Frames and their bytes within one window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    pub frames: u64,
    /// Of the frames themselves, without preamble and gap
    pub bytes: u64,
}

impl Window {
    fn add(&mut self, length: usize) {
        self.frames += 1;
        self.bytes += length as u64;
    }
}

/// Sums, and the same by windows up to the last one in which a frame came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    pub all: Window,
    pub windows: Vec<Window>,
}

impl Series {
    fn add(&mut self, window: Option<u64>, length: usize) {
        self.all.add(length);
        let Some(index) = window.filter(|index| *index < MOST_WINDOWS) else {
            return;
        };
        let index = index as usize;
        if self.windows.len() <= index {
            self.windows.resize(index + 1, Window::default());
        }
        self.windows[index].add(length);
    }
}

/// What one host has measured of one flow.
#[derive(Clone, Debug, Default)]
pub struct FlowMeasures {
    /// All copies; windows only if this network sends the flow
    pub arrivals: Series,
    /// First copies
    pub received: u64,
    /// Further copies of frames already received
    pub duplicates: u64,
    /// First copies that came after a higher number (RFC 4737)
    pub reordered: u64,
    /// Numbers between the least and the greatest received that did not come
    pub lost: u64,
    pub first: Time,
    pub last: Time,
    /// From the source to here, of first copies whose time of sending is known
    pub latency: Histogram,
    /// Mean absolute difference between the latencies of frames that come one after the other
    /// (RFC 3393), in picoseconds
    pub variation: Option<f64>,
    /// The smoothed jitter of RTP (RFC 3550, 6.4.1), in picoseconds
    pub jitter: f64,
}

#[derive(Clone, Debug, Default)]
struct FlowSink {
    measures: FlowMeasures,
    least: u64,
    greatest: u64,
    previous: Option<Time>,
    differences: u64,
    difference_sum: u128,
}

impl FlowSink {
    fn first_copy(&mut self, sequence: u64, late: bool, latency: Option<Time>) {
        let measures = &mut self.measures;
        if measures.received == 0 {
            (self.least, self.greatest) = (sequence, sequence);
        }
        self.least = self.least.min(sequence);
        self.greatest = self.greatest.max(sequence);
        measures.received += 1;
        measures.reordered += u64::from(late);
        let Some(latency) = latency else { return };
        measures.latency.add(latency);
        if let Some(previous) = self.previous.replace(latency) {
            let difference = latency.picos().abs_diff(previous.picos());
            self.differences += 1;
            self.difference_sum += u128::from(difference);
            measures.jitter += (difference as f64 - measures.jitter) / 16.0;
        }
    }

    fn result(&self) -> FlowMeasures {
        // A forged number may make the range as large as numbers go.
        let range = u128::from(self.greatest - self.least) + 1;
        let lost = range.saturating_sub(self.measures.received.into());
        let mut result = self.measures.clone();
        if result.received > 0 {
            result.lost = u64::try_from(lost).unwrap_or(u64::MAX);
        }
        if self.differences > 0 {
            result.variation = Some(self.difference_sum as f64 / self.differences as f64);
        }
        result
    }
}

/// What a host has measured since [`crate::Network::measure`].
#[derive(Clone, Debug)]
pub struct Measured {
    pub since: Time,
    /// Zero for no windows
    pub window: Time,
    /// Bytes on the wire per frame besides its own, of the host's link
    pub overhead: u32,
    /// All frames that its card took, probes or not
    pub total: Series,
    pub flows: Vec<(Flow, FlowMeasures)>,
}

/// A host's instrument.
#[derive(Clone, Debug)]
pub(crate) struct Sink {
    since: Time,
    window: Time,
    total: Series,
    flows: BTreeMap<Flow, FlowSink>,
}

impl Sink {
    pub(crate) fn new(since: Time, window: Time) -> Sink {
        Sink {
            since,
            window,
            total: Series::default(),
            flows: BTreeMap::new(),
        }
    }

    fn window(&self, now: Time) -> Option<u64> {
        (now - self.since).picos().checked_div(self.window.picos())
    }

    /// A frame that is not a probe.
    pub(crate) fn other(&mut self, now: Time, length: usize) {
        self.total.add(self.window(now), length);
    }

    /// A probe that the card took. Of flows that nobody sends only sums are kept, since a program
    /// that garbles numbers makes thousands of them; `latency` if it is known when it was sent.
    pub(crate) fn probe(
        &mut self,
        now: Time,
        length: usize,
        probe: Probe,
        arrival: Arrival,
        is_known: bool,
        latency: Option<Time>,
    ) {
        let window = self.window(now);
        self.total.add(window, length);
        let window = window.filter(|_| is_known);
        let flow = self.flows.entry(probe.into()).or_default();
        if flow.measures.arrivals.all.frames == 0 {
            flow.measures.first = now;
        }
        flow.measures.last = now;
        flow.measures.arrivals.add(window, length);
        match arrival {
            Arrival::Duplicate => flow.measures.duplicates += 1,
            Arrival::InOrder => flow.first_copy(probe.sequence, false, latency),
            Arrival::Late => flow.first_copy(probe.sequence, true, latency),
        }
    }

    pub(crate) fn result(&self, overhead: u32) -> Measured {
        Measured {
            since: self.since,
            window: self.window,
            overhead,
            total: self.total.clone(),
            flows: self
                .flows
                .iter()
                .map(|(flow, sink)| (*flow, sink.result()))
                .collect(),
        }
    }
}
