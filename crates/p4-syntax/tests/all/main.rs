//! The tests of this crate, in one program: it is built and linked once.

mod class;
mod diagnostics;
mod fuzz;
mod grammar;
mod limits;
mod preprocessor;
#[path = "../support/mod.rs"]
mod support;
