//! Virtual time on several cores.
//!
//! A simulation in partitions ([`p4_net::partition`]) offers [`Rounds`]: in each, every partition can be
//! carried out by any thread. [`carry_out`] does so with a fixed number of threads, which wait for
//! each other between rounds. What comes out is the same for any number, since partitions share
//! nothing within a round; this crate decides only who does what.
//!
//! - Each thread has a share of the partitions, so that their data stay in its core's cache. Who is
//!   done helps the others (`crew.rs`).
//! - Shares are made by the work that partitions had lately, largest first (Graham, SIAM J. Appl.
//!   Math. 1969); UNISON for ns-3 (Bai et al., EuroSys 2024) schedules partitions by their last
//!   rounds, too (`shares.rs`).
//! - It is a crate of its own so that simulators, which are below, have no threads.
#![forbid(unsafe_code)]

mod crew;
mod gate;
mod shares;

use std::num::NonZeroUsize;

use p4_net::partition::{one_by_one, Rounds};

/// Carries out all rounds with so many threads, the caller's among them; no more than partitions.
/// Panics if a partition does.
pub fn carry_out(rounds: &dyn Rounds, threads: NonZeroUsize) {
    match threads.get().min(rounds.partitions()) {
        0 | 1 => one_by_one(rounds),
        threads => crew::Crew::new(rounds, threads).run(),
    }
}
