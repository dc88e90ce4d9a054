//! What the fuzzers share: programs to run, a reader of choices, and a mutator of tokens.
//!
//! `run` (beside `Cargo.toml`) builds and starts them; docs/fuzzing.md says what they found.
#![forbid(unsafe_code)]

mod choices;
mod programs;
mod tokens;

pub use choices::Choices;
pub use programs::{alone, compile, programs, Compiled, Named};
pub use tokens::{cross, mutate};
