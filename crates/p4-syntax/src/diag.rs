//! Diagnostics as data. Rendering happens at the edge (`render`), so a terminal, a notebook and a
//! test read the same thing.

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
