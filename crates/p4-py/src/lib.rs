//! The engine as a Python module, `p4lab._engine`: values in, values out, and no packet crosses the
//! border on a hot path.
#![forbid(unsafe_code)]

mod bench_tables;
#[cfg(target_os = "linux")]
mod bfrt;
mod classes;
mod compile;
mod conformance;
mod engine;
mod explain;
mod fabric;
mod files;
mod fit;
#[cfg(target_os = "linux")]
mod io;
mod lsp;
mod mutate;
mod net;
mod net_tcp;
mod net_traffic;
mod net_values;
#[cfg(target_os = "linux")]
mod p4runtime;
mod program;
mod prove;
#[cfg(target_os = "linux")]
mod runtime;
mod stf;
mod switch;
mod tna;
mod trace;
mod update;

use pyo3::prelude::*;

/// The p4lab engine: P4 compiler, switch and networks.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::bench_tables::bench_table;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::bfrt::{bench_calls, BfrtServer, EmptyServer};
    #[pymodule_export]
    use super::compile::{compile, compile_text, Compilation};
    #[pymodule_export]
    use super::conformance::conformance;
    #[pymodule_export]
    use super::explain::{explain, explanations, nearest_codes};
    #[pymodule_export]
    use super::fabric::{fabric_parameters, Fabric};
    #[pymodule_export]
    use super::fit::{stage_graph, stage_graph_of_text};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::io::{bench_forwarder, Forwarder, Inbox};
    #[pymodule_export]
    use super::lsp::{format_text, serve_lsp};
    #[pymodule_export]
    use super::mutate::mutations;
    #[pymodule_export]
    use super::net::Network;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::p4runtime::P4RuntimeServer;
    #[pymodule_export]
    use super::program::Program;
    #[pymodule_export]
    use super::prove::{cover, follow, prove, sample};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::runtime::Runtime;
    #[pymodule_export]
    use super::stf::stf;
    #[pymodule_export]
    use super::switch::Switch;
    #[pymodule_export]
    use super::trace::{LazyArrival, LazyStep};
}
