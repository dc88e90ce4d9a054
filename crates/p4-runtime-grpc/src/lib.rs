//! The P4Runtime server on a socket: gRPC, on HTTP/2 by h2, in threads of its own.
//!
//! What calls mean is [`p4_runtime`]'s; here they arrive, wait for their turn and are answered. Of
//! gRPC there is what its servers must have ("gRPC over HTTP2"); a framework would have more, and
//! made a call a third more work.
#![forbid(unsafe_code)]

mod call;
mod caller;
mod connection;
mod listener;
mod service;
mod stream;

pub use call::{Answers, Call, Requests};
pub use caller::one_by_one;
pub use connection::{serve, Service};
pub use listener::Listener;
pub use service::{aside, unary, unknown, Api};
