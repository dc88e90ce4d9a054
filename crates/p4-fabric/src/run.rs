//! Letting a fabric's time pass: leaves and spines are partitions that go on window by window.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use p4_net::partition::{one_by_one, Letter, Outbox, Partition, Rounds, TimeWindows};
use p4_net::Time;

use crate::fabric::Fabric;
use crate::leaf::{Leaf, Message};
use crate::spine::Spine;

/// Why time stopped passing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is the moment that was asked for.
    Reached,
    /// So many events were carried out; going on is possible.
    Paused,
    /// Frames wait, and nothing has moved for longer than any round trip.
    Deadlock,
}

impl Fabric {
    /// Lets time pass until `end`, or until so many events were carried out and those of their window,
    /// too.
    pub fn run_until(&mut self, end: Time, events: u64) -> Outcome {
        self.run_by(end, events, one_by_one)
    }

    /// The same, with leaves and spines carried out by `crew`, which may have threads. What comes out
    /// does not depend on it.
    pub fn run_by(&mut self, end: Time, events: u64, crew: impl FnOnce(&dyn Rounds)) -> Outcome {
        let lookahead = self.lookahead();
        let moved = AtomicU64::new(0);
        let leaves = self.leaves.iter_mut().map(|leaf| Part::Leaf(leaf, &moved));
        let parts = leaves.chain(self.spines.iter_mut().map(Part::Spine));
        let run = Run {
            windows: TimeWindows::new(parts, lookahead),
            moved: &moved,
            end,
            events,
            quiet: self.quiet,
            state: Mutex::new(State {
                now: self.now,
                since: self.since,
                outcome: Outcome::Reached,
            }),
        };
        crew(&run);
        run.windows.close();
        let state = run.state.into_inner();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        (self.now, self.since) = (state.now, state.since);
        for leaf in &mut self.leaves {
            leaf.now = state.now;
        }
        state.outcome
    }

    /// Hands over what a leaf has sent outside of a run.
    pub(crate) fn post(&mut self, leaf: usize) {
        let mut out = std::mem::take(&mut self.leaves[leaf].out);
        let first = self.leaves.len();
        out.empty(|to, letters| {
            for letter in letters.drain(..) {
                match to.checked_sub(first) {
                    None => self.leaves[to].receive(letter),
                    Some(spine) => self.spines[spine].receive(letter),
                }
            }
        });
        self.leaves[leaf].out = out;
    }
}

/// A leaf, with when something last moved anywhere; or a spine.
enum Part<'a> {
    Leaf(&'a mut Leaf, &'a AtomicU64),
    Spine(&'a mut Spine),
}

impl Partition for Part<'_> {
    type Message = Message;

    fn next_time(&self) -> Option<Time> {
        match self {
            Part::Leaf(leaf, _) => leaf.next_time(),
            Part::Spine(spine) => spine.next_time(),
        }
    }

    fn receive(&mut self, letter: Letter<Message>) {
        match self {
            Part::Leaf(leaf, _) => leaf.receive(letter),
            Part::Spine(spine) => spine.receive(letter),
        }
    }

    fn run(&mut self, last: Time, out: &mut Outbox<Message>) -> u64 {
        let own = match self {
            Part::Leaf(leaf, _) => &mut leaf.out,
            Part::Spine(spine) => &mut spine.out,
        };
        std::mem::swap(own, out);
        let (own, events) = match self {
            Part::Leaf(leaf, moved) => {
                let events = leaf.run(last);
                moved.fetch_max(leaf.moved, Ordering::AcqRel);
                (&mut leaf.out, events)
            }
            Part::Spine(spine) => {
                let events = spine.run(last);
                (&mut spine.out, events)
            }
        };
        std::mem::swap(own, out);
        events
    }
}

/// A call of `run_by`.
struct Run<'a> {
    windows: TimeWindows<Part<'a>>,
    moved: &'a AtomicU64,
    end: Time,
    events: u64,
    quiet: u64,
    state: Mutex<State>,
}

struct State {
    now: u64,
    /// Nothing has moved since then
    since: u64,
    outcome: Outcome,
}

impl Rounds for Run<'_> {
    fn partitions(&self) -> usize {
        self.windows.partitions()
    }

    /// A window ends where the watchdog would have to look, so that what it finds does not depend on
    /// windows.
    fn begin(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, end) = (self.windows.next().picos(), self.end.picos());
        state.since = state.since.max(self.moved.load(Ordering::Acquire));
        while next > state.since.saturating_add(self.quiet) {
            let limit = state.since.saturating_add(self.quiet);
            if limit > end {
                break;
            }
            if self.windows.any(Part::waits) {
                (state.now, state.outcome) = (limit, Outcome::Deadlock);
                return false;
            }
            state.since = next.min(end);
        }
        if next > end {
            (state.now, state.outcome) = (end.max(state.now), Outcome::Reached);
            return false;
        }
        if self.windows.events() >= self.events {
            let now = state.now.max(self.windows.last().picos());
            (state.now, state.outcome) = (now, Outcome::Paused);
            return false;
        }
        let most = state.since.saturating_add(self.quiet).min(end);
        self.windows.open(Time::from_picos(most));
        true
    }

    fn carry_out(&self, partition: usize) -> u64 {
        self.windows.carry_out(partition)
    }
}

impl Part<'_> {
    /// Whether copies here are not acknowledged.
    fn waits(&self) -> bool {
        match self {
            Part::Leaf(leaf, _) => leaf.headers.live() > 0,
            Part::Spine(_) => false,
        }
    }
}
