//! What a control plane can change in a switch: table entries and default actions, value sets,
//! counters, meters, registers, multicast groups and clone sessions.
//!
//! Everything is changed by [`State::write`], which takes a batch of [`Update`]s, applies them in
//! order, and takes all of them back if one fails: a packet sees either none or all of a batch.
//! The data plane's side ([`State::lookup`], [`State::count`], ...) knows tables and instances by
//! the numbers of the IR and does no name work.
//!
//! Names are full control-plane names (`MyIngress.ipv4_lpm`) or any unique dotted suffix of one
//! (`ipv4_lpm`).
#![forbid(unsafe_code)]

mod apply;
mod build;
mod cells;
mod error;
mod idle;
mod journal;
mod matcher;
mod named;
mod names;
mod near;
mod profile;
mod read;
mod recent;
mod replication;
mod resolve;
mod rules;
mod scopes;
mod state;
mod table;
mod tuples;
mod update;
mod value;

pub use cells::{Color, MeterConfig, MeterUnit};
pub use error::{UpdateError, WriteError};
pub use idle::IdleEntry;
pub use profile::Member;
pub use read::EntryView;
pub use replication::{CloneSession, Replica};
pub use state::{BuildError, Found, Resource, State};
pub use table::Direct;
pub use update::{ActionSpec, Args, Entry, EntryKey, Match, Target, Update};
