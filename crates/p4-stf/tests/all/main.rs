//! The tests of this crate, in one program: it is built and linked once.

mod command_line;
#[path = "../common/mod.rs"]
mod common;
mod language;
mod programs;
mod runner;
mod tofino;
