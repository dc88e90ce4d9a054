//! The server-rack fabric of Chrysos et al. (ANCS 2014): up to 640 ports of 100 Gb/s, packet by packet,
//! in virtual time.
//!
//! A [`Fabric`] is leaves and spines. A frame comes from a server's adapter ([`Flow`]) to its port,
//! which stores it once and makes a *header* for every copy (`ingress.rs`). Each header waits in the VOQ
//! of its port and lane, asks the far end for credits (`egress.rs`), and then crosses cell by cell:
//! over the leaf's crossbar, in slots of eight cycles (`crossbar.rs`), and for other leaves over links and
//! a spine (`spine.rs`). The far end acknowledges whole frames, puts them in order, and sends them to a
//! server or, at a surrogate, loops them back as new frames.
//!
//! - Payloads that several copies need are in the cache in front of the crossbar (`cache.rs`); VOQs
//!   that are too far ahead of their siblings wait (`cam.rs`, `voq.rs`).
//! - Lossy classes drop, lossless ones PAUSE, and QCN (`qcn.rs`) slows senders down.
//! - Time is that of [`p4_time`], events are those of `p4-net`'s queue. A slot moves all cells that
//!   cross in it, so that a cell within a leaf needs no event of its own, and one between leaves two.
//! - Leaves and spines share nothing: what one tells another takes at least the time of a cable
//!   ([`Fabric::lookahead`]). So each is a partition (`p4_net::partition`), and threads above this
//!   crate may carry them out ([`Fabric::run_by`]).
//! - Every number is a parameter, in `parameters.toml`, with its source. [`Fabric::audit`] counts
//!   packets, cells and credits; [`Outcome::Deadlock`] is not a slow run.
//! - No thread, file, socket or clock of its own.
#![forbid(unsafe_code)]

mod arbiter;
mod audit;
mod cache;
mod cam;
mod crossbar;
mod digest;
mod egress;
mod explore;
mod fabric;
mod ingress;
mod leaf;
mod measure;
mod parameters;
mod plan;
mod policies;
mod qcn;
mod requests;
mod rules;
mod run;
mod scenario;
mod sender;
mod settings;
mod slab;
mod snapshot;
mod spine;
mod state;
mod voq;
mod waits;

pub use arbiter::{Drr, Islip, Mask};
pub use audit::Imbalance;
pub use explore::{Explored, Reach};
pub use fabric::{Fabric, Setup};
pub use measure::{Measures, Sink, Totals};
pub use p4_time::Time;
pub use parameters::{
    CongestionPoints, HeaderOrder, Marking, Parameters, Spray, VoqDrop, VoqOrder, DEFAULTS,
};
pub use policies::{Policies, AHEAD, BACKLOG, SHARES};
pub use run::Outcome;
pub use scenario::{
    Class, Flow, PortId, Refused, Spacing, MOST_COPIES, MOST_LEAVES, MOST_LEVELS, PORTS, SURROGATE,
    TERMINALS,
};
pub use settings::Fault;
pub use snapshot::{LeafLoad, LeafState, PortState, VoqState};
pub use waits::{circle, Place, Wait};
