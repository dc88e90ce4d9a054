//! The tests of this crate, in one program: it is built and linked once.

mod depth;
mod diagnostics;
mod limits;
mod lints;
mod lints_tna;
mod mutations;
mod side_tables;
#[path = "../support/mod.rs"]
mod support;
