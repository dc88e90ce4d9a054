//! The engine as a Python module, `p4lab._engine`: values in, values out, no packet on a hot path.
#![forbid(unsafe_code)]

use pyo3::prelude::*;

#[pymodule]
mod _engine {
    #[pymodule_export]
    const __VERSION__: &str = env!("CARGO_PKG_VERSION");
}
