//! BF Runtime, the control plane's interface to a Tofino: which tables a TNA program has there.
//!
//! A client learns of the tables from a file in JSON, `bf-rt.json`, which bf-p4c writes beside the
//! binary. [`Schema::of`] makes the same of our compiler's P4Info; names, ids and fields are
//! bf-p4c's, so programs written for an SDE find what they look for.
//!
//! No thread, file, socket or clock here.
#![forbid(unsafe_code)]

pub mod messages;
pub mod schema;
pub mod server;

pub use schema::Schema;
