//! P4_16 source text to syntax tree.
//!
//! The front end does no I/O but through a [`FileProvider`], and parsing never fails: it returns a
//! tree and diagnostics.
#![forbid(unsafe_code)]

pub mod ast;
pub mod diag;
pub mod span;
