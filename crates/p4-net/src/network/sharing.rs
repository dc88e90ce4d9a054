//! Whether several threads pay, moment by moment.
//!
//! Between two windows threads wait for each other, which takes them some microseconds. So a network is
//! run in parts only while windows hold enough to do, and as a whole before and after that. Events of a
//! window tell; clocks do not, so that the same run always goes the same way.

use p4_time::Time;

use crate::partition::Rounds;

use super::domains::Cut;
use super::{Device, Event, Exhausted, Network};

/// Events per window, on average, from which several threads are worth using: some 10 us of work
const WORTH: u64 = 96;
/// Events per window below which they are given up again
const TOO_FEW: u64 = WORTH / 2;
/// Windows in one look at how much happens; after so many events a look ends sooner
const LOOK: u64 = 64;
const LOOK_EVENTS: u64 = 4096;
/// The pause between two looks, in looks
const REST: u64 = 16;
/// Nodes of a part at least, unless there are fewer for each thread: what crosses from one part to
/// another is copied, and happens in both.
const PART: usize = 64;
/// Parts for each thread at most: who is done with its own helps the others.
const PARTS_PER_THREAD: usize = 8;

impl<D: Device + Send> Network<D> {
    /// As [`Network::run_until`], by so many threads, which `crew` brings, while that pays. What happens
    /// is the same; see [`Network::run_by`].
    pub fn run_shared(&mut self, end: Time, threads: usize, crew: impl Fn(&dyn Rounds)) -> Event {
        let each = self.nodes.len() / PART / threads.max(1);
        let parts = each.clamp(1, PARTS_PER_THREAD).saturating_mul(threads);
        let Some(cut) = self.cut(end, parts) else {
            return self.run_until(end);
        };
        loop {
            let event = self
                .run_while_thin(end, &cut)
                .or_else(|| self.run_cut(&cut, end, TOO_FEW, &crew));
            if let Some(event) = event {
                return event;
            }
        }
    }

    /// Runs it as a whole until windows hold so much that parts pay, which gives none.
    fn run_while_thin(&mut self, end: Time, cut: &Cut) -> Option<Event> {
        let span = |windows: u64| {
            let span = cut.lookahead.picos().saturating_mul(windows);
            move |from: Time| Time::from_picos(from.picos().saturating_add(span)).min(end)
        };
        let (window, rest) = (span(1), span(LOOK * REST));
        loop {
            let (mut windows, mut events) = (0, 0);
            while windows < LOOK && events < LOOK_EVENTS {
                let next = self.agenda.next_time().unwrap_or(end);
                let last = window(next);
                let before = self.limits.events;
                let event = self.run_some(last, LOOK_EVENTS - events);
                match event {
                    Some(Event::Reached) if last < end => {}
                    Some(event) => return Some(event),
                    None => {}
                }
                windows += 1;
                events += before - self.limits.events;
            }
            if events >= WORTH * windows {
                return None;
            }
            let until = rest(self.now);
            match self.run_until(until) {
                Event::Reached if until < end => {}
                event => return Some(event),
            }
        }
    }

    /// As [`Network::run_until`], but none after so many events.
    fn run_some(&mut self, end: Time, events: u64) -> Option<Event> {
        let others = self.limits.events.saturating_sub(events);
        self.limits.events -= others;
        let event = self.run_until(end);
        self.limits.events += others;
        let enough = event == Event::Exhausted(Exhausted::Events) && others > 0;
        (!enough).then_some(event)
    }
}
