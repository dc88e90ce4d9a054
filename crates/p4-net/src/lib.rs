//! Virtual time: events, links, ports, hosts and generators.
//!
//! A network is switches and hosts joined by links that have a rate, a delay, jitter, loss, and can
//! fail. Time does not pass by itself: the caller lets it pass with [`Network::run_until`], which
//! comes back at the asked-for moment or when a switch talks to its CPU port. A controller outside
//! then acts and goes on; timers are the controller's own matter.
//!
//! - A port has queues ([`PortConfig`]), a host sends at a rate ([`Traffic`]) and measures what it gets
//!   ([`Measured`]); docs/virtual-time.md tells what all of it means.
//! - One queue of events keyed by (time, rank, order of arrangement) makes a run repeatable bit for
//!   bit; ranks are in one place (`agenda.rs`).
//! - The network knows nothing of P4: a switch is a [`Device`]. What hosts count are [`probe`] trailers,
//!   whatever headers a program has put in front of them.
//! - A host may have a real TCP ([`TcpConfig`], [`Transfer`]), that of the crate smoltcp, polled by
//!   events; nothing else here knows of IP.
//! - No thread, file, socket or clock: captures are bytes for the caller to write.
//!
//! ```
//! use p4_net::{Device, End, Event, Flow, LinkConfig, Network, Out, Stream};
//! use p4_time::Time;
//!
//! struct Wire; // what comes in on port 1 goes out on port 2
//! impl Device for Wire {
//!     fn receive(&mut self, _: Time, _: u16, data: &[u8], out: &mut Out) {
//!         out(2, 0, data);
//!     }
//! }
//!
//! let mut network = Network::new(1);
//! let switch = network.add_switch("s1", Wire, None);
//! let [a, b] = [("h1", 1), ("h2", 2)].map(|(name, n)| network.add_host(name, [2, 0, 0, 0, 0, n]));
//! let link = LinkConfig { delay: Time::from_micros(500), ..LinkConfig::default() };
//! for (host, port) in [(a, 1), (b, 2)] {
//!     network.connect(End { node: host, port: 0 }, End { node: switch, port }, link.clone())?;
//! }
//! let mut template = vec![0; 100];
//! template[..6].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
//! let flow = Flow { flow: 7, sender: 1 };
//! let (start, interval) = (Time::ZERO, Time::from_millis(1));
//! network.start_stream(a, Stream { template, flow, start, interval, count: 10 })?;
//! assert_eq!(network.run_until(Time::from_secs(1)), Event::Reached);
//! assert_eq!(network.report(b)?[0].received, 10);
//! assert_eq!(network.report(b)?[0].first, Some(Time::from_millis(1)));
//! # Ok::<(), p4_net::NetError>(())
//! ```
#![forbid(unsafe_code)]

mod agenda;
mod delay_line;
mod error;
mod failures;
mod fingerprint;
mod flows;
mod histogram;
mod host;
mod link;
mod network;
pub mod partition;
pub mod pcapng;
mod pool;
pub mod probe;
mod queue;
mod reading;
mod replay;
mod rng;
mod sequences;
mod sink;
mod tcp;
mod traffic;

pub use agenda::{EventQueue, Ranked};
pub use delay_line::DelayLine;
pub use error::NetError;
pub use failures::RandomFailures;
pub use histogram::{Histogram, PERCENTILE_ERROR};
pub use host::{Flow, FlowReport, Mac};
pub use link::{
    Count, Drops, End, LinkConfig, LinkId, WireStats, DEFAULT_QUEUE, ETHERNET_OVERHEAD,
};
pub use network::{
    Device, Event, Exhausted, Limits, Network, NodeId, NodeStats, Out, Stream, Whole, Workspace,
};
pub use p4_time::{Clock, Time};
pub use probe::Probe;
pub use queue::{PortConfig, QueueConfig, QueueStats, Shaper, MOST_QUEUES};
pub use reading::{Reads, Unreadable};
pub use replay::{BadCapture, Recording};
pub use rng::Rng;
pub use sink::{FlowMeasures, Measured, Series, Window, MOST_WINDOWS};
pub use tcp::{Address, Congestion, TcpConfig, Transfer, Transferred, BUFFERS, MTUS};
pub use traffic::{Generated, Layer, Pattern, Spread, Traffic};
