//! What clients write and read, in the engine's terms.
//!
//! An update of BF Runtime becomes updates of [`p4_state`], which checks and applies them; what it
//! refuses is answered with the codes of the SDE.

mod entries;
mod read;
mod service;

mod values;
mod write;

pub use read::read;
pub use service::{Job, Plant, Server, Sink, Stream};

pub use write::write;

use crate::schema::Schema;

/// Pipes of a chip; each has registers and meters of its own.
pub const PIPES: u32 = 4;
/// In place of a pipe's number: all of them
pub const ALL_PIPES: u32 = 0xffff;

/// What requests are about: a program's schema, and which pipes.
#[derive(Clone, Copy)]
pub struct Scope<'s> {
    pub schema: &'s Schema,
    pub pipe: u32,
}
