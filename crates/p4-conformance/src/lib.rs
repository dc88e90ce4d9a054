//! How much of p4c's test data the engine agrees with.
//!
//! [`run`] takes a checkout of p4c, which is never part of this repository, and judges every program
//! of its `testdata` on several [`Board`]s: accepted, rejected, STF and so on. A program is a
//! [`Case`] on each board that it belongs to. What does not pass must be a line of a
//! [`Manifest`] with the same stage and code; what passes must not be one. A program that no board
//! can judge is counted with the reason, so that the totals add up to the files on the disk.
//!
//! Programs are judged in parallel. A panic is caught and is a failure like others; loops are
//! bounded by the engine's own step limits, never by a clock, so that a slow machine sees the same
//! scores.
#![forbid(unsafe_code)]

mod compile;
mod golden;
mod judge;
mod manifest;
mod pattern;
mod pool;
pub mod textproto;
mod tree;
mod verdict;

pub use manifest::{Line, Manifest};
pub use pattern::matches;
pub use verdict::{Board, Case, Excluded, Failure, Result as CaseResult, Stage};

use std::path::Path;

pub use judge::{run, Progress, Scoreboard, Tally};
pub use tree::{Checkout, Version};

/// The exceptions that this repository knows of.
pub const MANIFEST: &str = include_str!("../manifest.txt");

/// Opens the checkout in the folder `dir`; the error is one sentence.
pub fn open(dir: &Path) -> Result<Checkout, String> {
    Checkout::open(dir)
}
