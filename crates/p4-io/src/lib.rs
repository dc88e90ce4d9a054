//! Linux interfaces: sockets that carry packets between the kernel and a switch.
//!
//! A [`Forwarder`] is one switch in one thread. It needs nothing of a switch but
//! [`p4_net::Device`], so the same program runs here in real time and there in virtual time, and its
//! counters count the same probes.
//!
//! There are three ways to an interface ([`Backend`]); the fastest that works is taken, and all hand
//! over the same frames. Batches matter little on veth (the cost is per packet, in the kernel), but a
//! system call per packet would still be a tenth of it; frames are received and sent up to 64 at a
//! time, and none costs an allocation.
//!
//! On other systems the crate is empty.
#![cfg(target_os = "linux")]

mod backend;
pub mod bench;
mod bpf;
mod clock;
mod error;
mod forwarder;
mod layers;
mod link;
pub mod namespace;
mod netlink;
mod offload;
mod packet;
mod ring;
mod segment;
mod share;
mod stats;
mod sys;
mod worker;
mod xdp;

pub use backend::{Backend, PortBackend};
pub use clock::MonotonicClock;
pub use error::IoError;
pub use forwarder::{Config, Forwarder, Handle, PacketIn, Patch};
pub use stats::{PortDrops, PortStats, Stats};
