//! A simulation in partitions: conservative time windows, without any thread.
//!
//! Each [`Partition`] has its own events. What it sends to another one arrives later by at least the
//! *lookahead*, the shortest delay between two partitions. So from the first event of all on, all
//! partitions can go on by one lookahead without hearing of each other: a *window* ([`TimeWindows`]).
//! Messages are handed over between windows. Windows are those of YAWNS (Nicol, J. ACM 1993); that
//! partitions are small, many more than threads, and share nothing is from UNISON for ns-3 (Bai et
//! al., EuroSys 2024).
//!
//! A run does not depend on who carries out which partition, nor on where windows begin: messages
//! come before a partition's own events of the same picosecond, ordered by who sent them and when
//! ([`Inbox`]), and its own events come in the order in which they were arranged.
//!
//! Whoever carries partitions out sees [`Rounds`]: [`one_by_one`] here, threads in `p4-parallel`.

mod inbox;
mod outbox;
mod windows;

pub use inbox::Inbox;
pub use outbox::{Letter, Outbox};
pub use windows::TimeWindows;

use p4_time::Time;

/// A part of a simulation that shares nothing with the others.
pub trait Partition: Send {
    /// What partitions send to each other
    type Message: Send;

    /// When something happens next, as far as it knows.
    fn next_time(&self) -> Option<Time>;

    /// Takes a message in; its moment is after all that was carried out. Messages of different
    /// senders come here in any order, those of one sender in the order in which it sent them.
    fn receive(&mut self, letter: Letter<Self::Message>);

    /// Carries out all that happens until `last`, which is included, or what it can of it where it
    /// stops at a bound of its own; the number of events.
    fn run(&mut self, last: Time, out: &mut Outbox<Self::Message>) -> u64;
}

/// Work in rounds. In each, all partitions are carried out, in any order and by any thread, each
/// once.
pub trait Rounds: Sync {
    fn partitions(&self) -> usize;

    /// Begins a round, when nobody carries out a partition. False if there is none.
    fn begin(&self) -> bool;

    /// Carries out one partition; how much work it was, in events.
    fn carry_out(&self, partition: usize) -> u64;
}

/// All rounds, without threads.
pub fn one_by_one(rounds: &dyn Rounds) {
    while rounds.begin() {
        for partition in 0..rounds.partitions() {
            rounds.carry_out(partition);
        }
    }
}
