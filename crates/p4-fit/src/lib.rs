//! What the match-action stages of a chip have to do for a program, as data: tables, conditions and
//! statements in their order, what each of them reads and writes, on which branch it stands, and
//! which memories hang on it.
//!
//! [`graph`] walks the ingress and egress controls of a checked program and puts sub-controls,
//! actions and functions in the places where they are used. A parameter is just another name for its
//! argument, as it is for the chip's compiler after inlining. The result knows no chip: the
//! dependencies, the placement and the memories are computed from it in Python
//! (`src/p4lab/fit`). It is exact in what it reads and writes, bit ranges included; of what compilers
//! do it does one thing: a local variable is read as the expression it was computed from.
#![forbid(unsafe_code)]

mod actions;
mod blocks;
mod conditions;
mod copies;
mod externs;
mod json;
pub mod model;
mod places;
mod reads;
mod tables;
mod walk;

pub use model::Graph;
use p4_check::Checked;
use p4_syntax::SourceMap;

/// The graph of a checked program without errors. An error is one sentence: the program is for no
/// package that is known here (`Switch` of TNA, `V1Switch` of v1model), or it is too large.
pub fn graph(checked: &Checked<'_>) -> Result<Graph, String> {
    blocks::graph(checked)
}

impl Graph {
    /// As JSON, with files and lines in the place of spans; `src/p4lab/fit/graph.py` reads it.
    pub fn json(&self, sources: &SourceMap) -> String {
        json::graph(self, sources).to_string()
    }
}
