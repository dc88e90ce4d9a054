//! The flat, architecture-free IR: lowering and the reference interpreter with traces.
#![forbid(unsafe_code)]

mod as_bmv2;
mod aside;
pub mod glue;
pub mod interp;
mod interp_access;
mod interp_alu;
mod interp_headers;
mod interp_prepare;
pub mod ir;
pub mod lower;
pub mod native;
pub mod packet;
pub mod packet_plan;
pub mod paths;
pub mod trace;
pub mod trace_text;
mod undefined;
mod verify;
mod wide;
pub mod written;

pub use aside::execute_aside;
pub use interp_access::{accesses, Access, Bad};
pub use interp_alu::alu;
pub use interp_prepare::place_words;
pub use undefined::Why;
pub use verify::verify;
