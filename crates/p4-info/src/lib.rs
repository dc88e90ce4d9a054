//! P4Info: what a P4_16 program shows to its control plane (P4Runtime specification 1.5, section 6),
//! with the ids, names and order that p4c gives.
//!
//! [`p4info`] starts at the package: it goes through every parser and control in it, puts what
//! their sub-blocks contain in the places of the instances, and leaves out what cannot be reached.
//! Then it names things, gives them ids ([`symbols`]) and describes them. The result is plain data
//! ([`model`]), which [`P4Info::text`] and [`P4Info::json`] write down.
//!
//! | code | what |
//! |---|---|
//! | E0701 | an `@id` that is given twice |
//! | E0702 | a malformed `@id`, or one with the first byte of another sort of object |
//! | E0703 | a type that P4Info cannot describe, or on which the control plane cannot match |
//! | E0704 | two objects of a sort with the same name |
//! | E0705 | an extern in a table property that has no name |
//! | E0706 | a number in an annotation that does not fit in 64 bits |
//! | E0707 | a parameter of an action whose type the control plane cannot give |
//! | E0708 | an unknown `@selector_size_semantics` |
//! | E0709 | a `@controller_header` without a name |
//! | E0710 | an action that is both `@tableonly` and `@defaultonly` |
//! | E0711 | an argument of a default action that P4Info cannot carry |
#![forbid(unsafe_code)]

mod arch;
mod build;
mod encode;
mod externs;
mod hashes;
mod keys;
mod message;
pub mod model;
mod notes;
mod program;
mod symbols;
mod tables;
mod types;
mod usage;

pub use model::P4Info;
use p4_check::Checked;
use p4_syntax::{Diagnostic, SourceMap};
pub use symbols::free_id;

/// P4Info of a checked program without errors, or what stands in the way (E07xx).
/// `sources` are those of the program: keys without a name are named after how they are written.
pub fn p4info(checked: &Checked<'_>, sources: &SourceMap) -> Result<P4Info, Vec<Diagnostic>> {
    build::build(checked, sources)
}

impl P4Info {
    /// In protobuf's text format, as p4c writes it.
    pub fn text(&self) -> String {
        format!(
            "# proto-file: p4/config/v1/p4info.proto\n\
             # proto-message: p4.config.v1.P4Info\n\n{}",
            self.message().to_text()
        )
    }

    /// In protobuf's JSON format.
    pub fn json(&self) -> String {
        self.message().to_json()
    }
}
