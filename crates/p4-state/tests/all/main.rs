//! The tests of this crate, in one program: it is built and linked once.

mod scale;
mod state;
#[path = "../support/mod.rs"]
mod support;
