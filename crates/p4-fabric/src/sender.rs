//! Servers' network adapters: sources of frames, PAUSE, and QCN's rate limiters.

use p4_net::Time;

use crate::fabric::{Event, Fabric};
use crate::scenario::{Class, PortId, Spacing};

impl Fabric {
    /// Arranges that an adapter looks for a frame to send, unless it does so before.
    pub(crate) fn look_at(&mut self, port: PortId, time: u64) {
        let adapter = &mut self.adapters[port as usize];
        if adapter.wake <= self.now || time < adapter.wake {
            adapter.wake = time;
            self.queue
                .arrange(Time::from_picos(time), Event::Look { port });
        }
    }

    /// Sends the next frame of the flow whose turn it is, or looks again when there is one.
    pub(crate) fn look(&mut self, port: PortId) {
        let adapter = &self.adapters[port as usize];
        if adapter.wake != self.now {
            return;
        }
        if adapter.busy > self.now {
            let busy = adapter.busy;
            return self.look_again(port, busy);
        }
        let (count, turn, paused) = (adapter.flows.len(), adapter.turn, adapter.paused);
        let mut first = u64::MAX;
        for step in 0..count {
            let place = (turn + step) % count;
            let flow = self.adapters[port as usize].flows[place];
            let source = &self.sources[flow as usize];
            if paused && source.flow.class == Class::Lossless {
                continue;
            }
            let due = source.next.max(source.allowed);
            if due >= source.flow.stop.picos() {
                continue;
            }
            if due <= self.now {
                self.adapters[port as usize].turn = place + 1;
                return self.emit(port, flow);
            }
            first = first.min(due);
        }
        if first < u64::MAX {
            self.look_again(port, first);
        }
    }

    fn look_again(&mut self, port: PortId, time: u64) {
        self.adapters[port as usize].wake = 0;
        self.look_at(port, time);
    }

    pub(crate) fn emit(&mut self, port: PortId, flow: u32) {
        let parameters = &self.parameters;
        let source = &mut self.sources[flow as usize];
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
        let (root, number) = (source.root, source.number);
        source.number += 1;
        self.measures.totals.emitted += 1;
        self.moved = self.now;
        let busy = self.now + parameters.on_line(bytes);
        self.adapters[port as usize].busy = busy;
        self.look_again(port, busy);
        self.frame_in(root, flow, number, self.now);
    }

    /// STOP or GO has come to a server.
    pub(crate) fn paused(&mut self, port: PortId, stop: bool) {
        self.adapters[port as usize].paused = stop;
        if !stop {
            let time = self.adapters[port as usize].busy.max(self.now);
            self.look_again(port, time);
        }
    }

    /// A congestion notification has come to the sender of a flow.
    pub(crate) fn notified(&mut self, flow: u32, feedback: u8) {
        let limiter = &mut self.sources[flow as usize].limiter;
        limiter.notified(feedback, &self.parameters);
        let epoch = limiter.epoch;
        self.measures.totals.notifications += 1;
        self.after(self.parameters.time_reset, Event::Timer { flow, epoch });
    }

    pub(crate) fn timer(&mut self, flow: u32, epoch: u32) {
        let limiter = &mut self.sources[flow as usize].limiter;
        if limiter.epoch != epoch || !limiter.on {
            return;
        }
        if let Some(period) = limiter.timer(&self.parameters) {
            self.after(period, Event::Timer { flow, epoch });
        }
    }
}
