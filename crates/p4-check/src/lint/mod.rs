//! What is allowed and yet deserves a word: constructs that other targets refuse (on request), and
//! reads of values that nobody has written.

use crate::Checked;
use p4_syntax::diag::Diagnostic;

/// A back end that refuses some of what the language allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// p4c's bmv2 back end for simple_switch
    Bmv2,
    /// Intel's Tofino
    Tofino,
}

impl Target {
    pub const ALL: [Target; 2] = [Target::Bmv2, Target::Tofino];

    pub fn name(self) -> &'static str {
        match self {
            Target::Bmv2 => "bmv2",
            Target::Tofino => "tofino",
        }
    }

    pub fn from_name(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }
}

/// Warnings about what `targets` would refuse in a program without errors, in source order.
pub fn lint(checked: &Checked<'_>, targets: &[Target]) -> Vec<Diagnostic> {
    let _ = (checked, targets);
    Vec::new()
}
