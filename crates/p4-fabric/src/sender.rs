//! Servers' network adapters: sources of frames, PAUSE, and QCN's rate limiters.

use p4_net::Time;

use crate::leaf::{Event, Leaf};
use crate::scenario::{Class, Spacing};

impl Leaf {
    /// Arranges that an adapter looks for a frame to send, unless it does so before.
    pub(crate) fn look_at(&mut self, place: usize, time: u64) {
        let adapter = &mut self.adapters[place];
        if adapter.wake <= self.now || time < adapter.wake {
            adapter.wake = time;
            let place = place as u8;
            self.queue
                .arrange(Time::from_picos(time), Event::Look { place });
        }
    }

    /// Sends the next frame of the flow whose turn it is, or looks again when there is one.
    pub(crate) fn look(&mut self, place: usize) {
        let adapter = &self.adapters[place];
        if adapter.wake != self.now {
            return;
        }
        if adapter.busy > self.now {
            let busy = adapter.busy;
            return self.look_again(place, busy);
        }
        let (count, turn, paused) = (adapter.sources.len(), adapter.turn, adapter.paused);
        let mut first = u64::MAX;
        for step in 0..count {
            let at = (turn + step) % count;
            let number = self.adapters[place].sources[at];
            let source = &self.sources[number as usize];
            if paused && source.flow.class == Class::Lossless {
                continue;
            }
            let due = source.next.max(source.allowed);
            if due >= source.flow.stop.picos() {
                continue;
            }
            if due <= self.now {
                self.adapters[place].turn = at + 1;
                return self.emit(place, number);
            }
            first = first.min(due);
        }
        if first < u64::MAX {
            self.look_again(place, first);
        }
    }

    fn look_again(&mut self, place: usize, time: u64) {
        self.adapters[place].wake = 0;
        self.look_at(place, time);
    }

    /// The server at a place sends a frame of one of its flows.
    pub(crate) fn emit(&mut self, place: usize, source: u32) {
        let parameters = &self.parameters;
        let source = &mut self.sources[source as usize];
        let bytes = source.flow.bytes;
        let interval = bytes * 8_000_000 / source.flow.mbps;
        source.next += match source.flow.spacing {
            Spacing::Even => interval,
            Spacing::Poisson => source.rng.exponential(interval as f64),
        };
        if source.limiter.on {
            source.limiter.sent(bytes, parameters);
            source.allowed = self.now + bytes * 8_000_000_000 / source.limiter.current;
        }
        let (root, number) = (source.root, source.sent);
        source.sent += 1;
        self.measures.totals.emitted += 1;
        self.moved = self.now;
        let busy = self.now + parameters.on_line(bytes);
        self.adapters[place].busy = busy;
        self.look_again(place, busy);
        self.frame_in(root, number, self.now);
    }

    /// STOP or GO has come to a server.
    pub(crate) fn paused(&mut self, place: usize, stop: bool) {
        self.adapters[place].paused = stop;
        if !stop {
            let time = self.adapters[place].busy.max(self.now);
            self.look_again(place, time);
        }
    }

    /// A congestion notification has come to the sender of a flow.
    pub(crate) fn notified(&mut self, source: u32, feedback: u8) {
        let limiter = &mut self.sources[source as usize].limiter;
        limiter.notified(feedback, &self.parameters);
        let epoch = limiter.epoch;
        self.measures.totals.notifications += 1;
        self.after(self.parameters.time_reset, Event::Timer { source, epoch });
    }

    pub(crate) fn timer(&mut self, source: u32, epoch: u32) {
        let limiter = &mut self.sources[source as usize].limiter;
        if limiter.epoch != epoch || !limiter.on {
            return;
        }
        if let Some(period) = limiter.timer(&self.parameters) {
            self.after(period, Event::Timer { source, epoch });
        }
    }
}
