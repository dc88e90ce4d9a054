//! The tests of this crate, in one program: it is built and linked once.

mod arbitration;
#[path = "../support/engine.rs"]
mod engine;
mod externs;
#[path = "../support/priorities.rs"]
mod priorities;
#[path = "../support/tna.rs"]
mod support;
mod tna;
mod tna_coalescing;
mod tna_externs;
mod tna_generator;
mod tna_parsing;
mod tna_pipes;
mod tna_programs;
mod tna_stateful;
mod tofino2;
mod v1model;
