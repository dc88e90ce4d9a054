//! The engine as a Python module, `p4lab._engine`: values in, values out, and no packet crosses the
//! border on a hot path.
#![forbid(unsafe_code)]

mod bench_tables;
#[cfg(all(target_os = "linux", feature = "whole"))]
mod bfrt;
mod classes;
mod compile;
#[cfg(feature = "whole")]
mod conformance;
mod engine;
mod explain;
#[cfg(feature = "fabric")]
mod fabric;
mod files;
mod fit;
#[cfg(all(target_os = "linux", feature = "whole"))]
mod io;
mod lsp;
#[cfg(feature = "whole")]
mod mutate;
mod net;
mod net_tcp;
mod net_traffic;
mod net_values;
#[cfg(all(target_os = "linux", feature = "whole"))]
mod p4runtime;
mod program;
#[cfg(feature = "whole")]
mod prove;
#[cfg(all(target_os = "linux", feature = "whole"))]
mod runtime;
mod same;
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
    #[cfg(all(target_os = "linux", feature = "whole"))]
    #[pymodule_export]
    use super::bfrt::{bench_calls, BfrtServer, EmptyServer};
    #[pymodule_export]
    use super::compile::{compile, compile_text, Compilation};
    #[cfg(feature = "whole")]
    #[pymodule_export]
    use super::conformance::conformance;
    #[cfg(not(feature = "whole"))]
    #[pymodule_export]
    use super::engine::missing;
    #[pymodule_export]
    use super::explain::{explain, explanations, nearest_codes};
    #[cfg(feature = "fabric")]
    #[pymodule_export]
    use super::fabric::{fabric_parameters, Fabric};
    #[pymodule_export]
    use super::fit::{stage_graph, stage_graph_of_text};
    #[cfg(all(target_os = "linux", feature = "whole"))]
    #[pymodule_export]
    use super::io::{bench_forwarder, Forwarder, Inbox};
    #[pymodule_export]
    use super::lsp::{format_text, serve_lsp};
    #[cfg(feature = "whole")]
    #[pymodule_export]
    use super::mutate::mutations;
    #[pymodule_export]
    use super::net::Network;
    #[cfg(all(target_os = "linux", feature = "whole"))]
    #[pymodule_export]
    use super::p4runtime::P4RuntimeServer;
    #[pymodule_export]
    use super::program::Program;
    #[cfg(feature = "whole")]
    #[pymodule_export]
    use super::prove::{cover, follow, prove, sample};
    #[cfg(all(target_os = "linux", feature = "whole"))]
    #[pymodule_export]
    use super::runtime::Runtime;
    #[pymodule_export]
    use super::stf::stf;
    #[pymodule_export]
    use super::switch::Switch;
    #[pymodule_export]
    use super::trace::{LazyArrival, LazyStep};
}
