//! The P4Runtime server on a socket: gRPC, by tonic, in threads of its own.
//!
//! What calls mean is [`p4_runtime`]'s; here they arrive, wait for their turn and are answered. The
//! service is put together by hand from tonic's parts: six methods need no generated code.
#![forbid(unsafe_code)]

mod caller;
mod codec;
mod listener;
mod service;
mod stream;

pub use caller::one_by_one;
pub use codec::Protobuf;
pub use listener::Listener;
pub use service::{aside, grpc, status, unary, Answer, Api};
