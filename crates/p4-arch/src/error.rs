//! Why a program cannot run on an architecture.

use p4_syntax::span::Span;
use std::fmt;

/// One sentence, and where in the source it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchError {
    pub message: String,
    pub span: Span,
}

impl ArchError {
    pub(crate) fn new(message: impl Into<String>, span: Span) -> ArchError {
        ArchError {
            message: message.into(),
            span,
        }
    }
}

impl fmt::Display for ArchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ArchError {}

impl From<p4_state::BuildError> for ArchError {
    fn from(error: p4_state::BuildError) -> ArchError {
        ArchError {
            message: error.message,
            span: error.span,
        }
    }
}

impl From<p4_ir::interp::Malformed> for ArchError {
    fn from(error: p4_ir::interp::Malformed) -> ArchError {
        ArchError::new(error.to_string(), Span::NONE)
    }
}
