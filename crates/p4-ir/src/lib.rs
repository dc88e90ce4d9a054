//! The flat, architecture-free IR: lowering and the reference interpreter with traces.
#![forbid(unsafe_code)]

pub mod ir;
