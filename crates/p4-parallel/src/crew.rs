//! Threads that carry out rounds together.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use p4_net::partition::Rounds;

use crate::gate::Gate;
use crate::shares::{better, in_turn};

/// Rounds after which shares are looked at again
const SPELL: u64 = 64;

pub(crate) struct Crew<'a> {
    rounds: &'a dyn Rounds,
    gate: Gate,
    /// Changed only between rounds
    shares: RwLock<Vec<Vec<u32>>>,
    /// How far each share was begun in this round
    begun: Vec<AtomicUsize>,
    /// Events of each partition, lately
    work: Vec<AtomicU64>,
    round: AtomicU64,
}

/// Lets the others go if this thread panics.
struct Alarm<'a>(&'a Gate);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up();
        }
    }
}

impl<'a> Crew<'a> {
    pub(crate) fn new(rounds: &'a dyn Rounds, threads: usize) -> Crew<'a> {
        let partitions = rounds.partitions();
        Crew {
            rounds,
            gate: Gate::new(threads),
            shares: RwLock::new(in_turn(partitions, threads)),
            begun: (0..threads).map(|_| AtomicUsize::new(0)).collect(),
            work: (0..partitions).map(|_| AtomicU64::new(0)).collect(),
            round: AtomicU64::new(0),
        }
    }

    pub(crate) fn run(&self) {
        std::thread::scope(|scope| {
            for thread in 1..self.begun.len() {
                scope.spawn(move || self.work_as(thread));
            }
            self.work_as(0);
        });
    }

    fn work_as(&self, thread: usize) {
        let _alarm = Alarm(&self.gate);
        while self.gate.pass(|| self.begin()) {
            let shares = self.shares.read().unwrap_or_else(PoisonError::into_inner);
            for step in 0..shares.len() {
                let whose = (thread + step) % shares.len();
                self.carry_out(&shares[whose], &self.begun[whose]);
            }
        }
    }

    /// What nobody else has begun of a share.
    fn carry_out(&self, share: &[u32], begun: &AtomicUsize) {
        while let Some(partition) = share.get(begun.fetch_add(1, Ordering::AcqRel)) {
            let partition = *partition as usize;
            let events = self.rounds.carry_out(partition);
            self.work[partition].fetch_add(events, Ordering::Relaxed);
        }
    }

    /// Between rounds, by one thread.
    fn begin(&self) -> bool {
        for begun in &self.begun {
            begun.store(0, Ordering::Release);
        }
        let round = self.round.fetch_add(1, Ordering::Relaxed) + 1;
        if round.is_multiple_of(SPELL) {
            self.share_out();
        }
        self.rounds.begin()
    }

    /// By the work of this spell, and half of that before.
    fn share_out(&self) {
        let read = |one: &AtomicU64| {
            let work = one.load(Ordering::Relaxed);
            one.store(work / 2, Ordering::Relaxed);
            work
        };
        let work: Vec<u64> = self.work.iter().map(read).collect();
        let mut shares = self.shares.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = better(&work, &shares) {
            *shares = found;
        }
    }
}
