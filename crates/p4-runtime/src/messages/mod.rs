//! The messages of P4Runtime 1.5, field by field with the numbers of the specification.
//!
//! Only what the server reads or writes has a field; prost skips the others. Deprecated fields are
//! there where an old client's use of them has to be refused.

mod config;
mod data;
mod entity;
pub mod p4info;
pub mod p4types;
mod profile;
mod replication;
mod rpc;
mod stream;
mod table;

pub use config::*;
pub use data::*;
pub use entity::*;
pub use profile::*;
pub use replication::*;
pub use rpc::*;
pub use stream::*;
pub use table::*;
