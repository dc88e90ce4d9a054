//! TNA: a pipe of Tofino 1, with the traffic manager and the replication engine around it.
//!
//! A packet goes through ingress parser, ingress and ingress deparser, then through the traffic
//! manager, then through egress parser, egress and egress deparser. Bytes are all that goes from
//! ingress to egress. What the open compiler and the open model of the chip were seen to do is done
//! here; where the language leaves a choice (fields of invalid headers, short packets), the chip's
//! way is taken. What the compiler makes of a program against the language's rules is not imitated:
//! `p4-check`'s lints for Tofino point at it.
//!
//! Packets carry the four bytes of their Ethernet checksum, as zeros, from the port to the port: the
//! parser, the counters and `pkt_length` see them.

mod adjusted;
mod arbitration;
mod binding;
mod calls;
mod coalescing;
mod direct;
mod dynamic;
mod egress;
mod events;
mod externs;
mod fast;
mod filters;
mod generator;
mod hash;
mod image;
mod ingress;
mod math;
mod metadata;
mod mirror;
mod parsing;
mod pipes;
mod ports;
mod pre;
mod programs;
mod queue;
mod selectors;
mod stages;
mod switch;
mod traffic;

pub use arbitration::Arbitration;
pub use binding::Tna;
pub(crate) use binding::{EGRESS_FOR_DEPARSER, FOR_TM, INGRESS_FOR_DEPARSER};
pub use calls::{Apply, Call, Step, Sum};
pub use coalescing::Coalescing;
pub use dynamic::{HashAlgorithm, HashChange, HashSlice};
pub use filters::{LpfConfig, Mode, WredConfig};
pub use generator::{App, AppCounts, Trigger};
pub use image::Image;
pub use mirror::{Direction, MirrorSession};
pub use ports::{local_port, pipe, recirculation_ports, LoopConfig, LoopStats};
pub use pre::{Lag, Node, Pruning};
pub use switch::{Config, Switch};
