//! Diagnostics as data. Rendering happens at the edge (`render`), so a terminal, a notebook and a
//! test read the same thing.
//!
//! Codes are stable. This crate gives E00xx (characters and preprocessor) and E01xx (grammar);
//! E0200 and up belong to the passes above; E07xx is what only P4Info finds (`p4-info`).
//!
//! | code | what |
//! |---|---|
//! | E0001 | a character P4 has no use for |
//! | E0002, E0003 | a comment or string that does not end |
//! | E0004 | a malformed number |
//! | E0006 | the main file cannot be read |
//! | E0010 to E0013 | `#include`: not found, too many, malformed, unreadable |
//! | E0014 | an unknown directive |
//! | E0015, W0019, E0029 | `#define`: malformed, repeated, `#` before no parameter |
//! | E0016, E0017, E0018 | using a macro: number of arguments, no end, too long a text |
//! | E0020 to E0023 | `#if`: out of place, no end, malformed, division by zero |
//! | E0024, W0025 | `#error`, `#warning` |
//! | E0026 | macros that grow without bound |
//! | E0028 | a malformed `#line` |
//! | E0100 | something else was expected here |
//! | E0101 | a missing `;` |
//! | E0102, E0103 | `{` without `}`, `}` without `{` |
//! | E0104, E0115 | no declaration, no table property |
//! | E0105, E0106, E0107 | a value, a type or a name was expected |
//! | E0108 | nested too deeply |
//! | E0109 | a misspelled or foreign keyword |
//! | E0110 | a declaration or statement out of place |
//! | E0111 | a missing `:` and what belongs behind it |
//! | E0112 | a statement that does nothing or assigns to no variable |
//! | E0113, E0114 | a parser without a state, a control without one `apply` |
//! | E0116 | a malformed annotation |
//! | E0117 | a field with a value |
//! | E0118 | `else` without `if` |
//! | E0119, E0120 | in a parser state: a foreign statement, `transition` not last |
//! | E0121 | a `;` that ends nothing |

use crate::source::{Location, SourceMap};
use crate::span::Span;

/// A step that has this much to say keeps silent about the rest.
pub(crate) const MAX_DIAGNOSTICS: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
    Note,
}

/// One thing to tell the author of a program: a stable code (`E0103`), one plain sentence, the
/// place, further labelled places, and a hint that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: &'static str,
    pub message: String,
    pub span: Span,
    pub labels: Vec<(Span, String)>,
    pub hint: Option<String>,
}

impl Diagnostic {
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, span, message)
    }

    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, span, message)
    }

    fn new(
        severity: Severity,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            severity,
            code,
            message: message.into(),
            span,
            labels: Vec::new(),
            hint: None,
        }
    }

    /// Where to look: its own place first, then those of its labels, as far as they are in a file.
    pub fn places(&self, sources: &SourceMap) -> Vec<Location> {
        let labels = self.labels.iter().map(|(span, _)| *span);
        std::iter::once(self.span)
            .chain(labels)
            .filter_map(|span| sources.locate(span.lo))
            .collect()
    }

    /// Adds a second place with its own words, such as where a name was declared first.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push((span, text.into()));
        self
    }

    /// Says what the author can do about it.
    pub fn hint(mut self, text: impl Into<String>) -> Diagnostic {
        self.hint = Some(text.into());
        self
    }
}
