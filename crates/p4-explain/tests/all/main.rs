//! The tests of this crate, in one program: it is built and linked once.

mod codes;
mod goldens;
mod pages;
#[path = "../support/mod.rs"]
mod support;
