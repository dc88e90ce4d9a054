//! The tests of this crate, in one program: it is built and linked once.

mod arbiters;
#[path = "../common/mod.rs"]
mod common;
mod deadlocks;
mod figures;
mod oracles;
