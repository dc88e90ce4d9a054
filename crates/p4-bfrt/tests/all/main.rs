//! The tests of this crate, in one program: it is built and linked once.

mod ages;
mod chip;
mod direct;
mod hashes;
mod schema;
mod sdk;
mod server;
#[path = "../support/mod.rs"]
mod support;
