//! P4Runtime 1.5 in front of a v1model switch, as a state machine: messages in, messages out, and no
//! socket, thread or clock of its own.
//!
//! A [`Server`] has devices. Each has a [`Plant`], through which it reaches its switch between two
//! packets, and gives a [`Tap`], by which the switch reaches the clients. The messages
//! ([`messages`]) are the specification's; [`Schema`](schema::Schema) says once for a program what
//! their ids mean in the engine, [`plan`] turns one update into the engine's updates and into what
//! is to be remembered of it ([`store`]), `write` and `read` do batches, `device` keeps all of it
//! together. What the specification demands and which test holds it: docs/p4runtime.md.
#![forbid(unsafe_code)]

mod arbitration;
mod bytes;
mod compare;
mod data;
mod describe;
mod device;
mod entry;
mod learning;
pub mod messages;
mod packet;
mod pipeline;
mod place;
mod plan;
mod plant;
mod read;
mod schema;
mod server;
mod status;
mod store;
mod tap;
mod write;

pub use plant::{Compiler, DeviceConfig, Gone, Host, Job, Pipeline, Plant};
pub use server::{Server, Sink, Stream, WallClock, VERSION};
pub use status::{Code, Refusal, Status};
pub use tap::Tap;
