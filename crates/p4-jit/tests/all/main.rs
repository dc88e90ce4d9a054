//! The tests of this crate, in one program: it is built and linked once. Among them those of what runs
//! programs, which are p4-arch's, on native code.

mod between;
mod effects;
#[path = "../support/engine.rs"]
mod engine;
#[path = "../../../p4-arch/tests/all/externs.rs"]
mod externs;
#[path = "../support/pair.rs"]
mod pair;
mod paths;
#[path = "../../../p4-arch/tests/support/priorities.rs"]
mod priorities;
#[path = "../support/random.rs"]
mod random;
mod random_programs;
mod scripts;
mod stages;
#[path = "../../../p4-arch/tests/support/subject.rs"]
#[allow(dead_code)] // what benches need
mod subject;
#[path = "../../../p4-arch/tests/support/tna.rs"]
#[allow(dead_code)] // what tests of p4-arch need
mod tna;
mod tna_stages;
mod tna_sums;
#[path = "../../../p4-arch/tests/all/v1model.rs"]
mod v1model;
