//! The language server for P4_16: what an editor asks, answered.
#![forbid(unsafe_code)]
