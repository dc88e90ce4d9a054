//! Two programs of one contract, for v1model or for TNA (`tna`), compared for all packets within
//! bounds.
//!
//! Both are executed on terms over the same unknowns: the bytes of a packet, its port and length, the
//! entries of the tables, clone sessions, a multicast group, the cells of registers (`World`). A
//! packet is followed through its whole journey (`journey`), so programs may keep different notes
//! between passes. Controls are executed once with all their branches; a path forks only where bytes
//! are laid out differently or the architecture does something else (`flow`). On each path the
//! second program meets the decisions of the first, and mostly the same terms; only where what they
//! send is not the same term a solver is asked, which the caller brings along ([`Solver`]).
//!
//! It is Rust and not Python because hundreds of programs are compared in a grading run, each on
//! hundreds of paths of thousands of instructions.
#![forbid(unsafe_code)]

mod alike;
mod assume;
mod branches;
mod calls;
mod compare;
mod concrete;
mod cover;
mod differ;
pub mod evaluate;
mod explore;
mod find;
mod flow;
mod journey;
mod packet;
mod path;
mod run;
mod setting;
mod tables;
pub mod term;
mod tna;
mod undefined;
mod wire;
mod witness;
mod world;

pub use assume::{Assumption, Expression};
pub use branches::{Branch, Fate, Site};
pub use compare::{compare, Counterexample, Coverage, Verdict};
pub use cover::{cover, Covered, Visit};
pub use evaluate::Model;
pub use journey::Leg;
pub use path::{Answer, Solver};
pub use run::Target;
pub use tables::{Derived, Fixed};
pub use tna::Wiring;
pub use witness::{samples, witnesses};
pub use world::{Bounds, Entry, Match};
