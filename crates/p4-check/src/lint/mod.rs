//! What is allowed and yet deserves a word: constructs that other targets refuse (on request), and
//! reads of values that nobody has written.

mod bmv2;
mod facts;
mod paths;
mod program;
mod tna;
mod tna_headers;
mod tna_more;
mod tna_parde;
mod tna_registers;
mod tna_values;
mod tofino;
mod tofino_actions;
mod undefined;
mod walk;

use crate::value::Value;
use crate::{hints, sentence, Checked};
use p4_syntax::ast::Expr;
use p4_syntax::diag::{Diagnostic, Severity};
use p4_syntax::span::Span;
use program::Blocks;

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

/// Each lint says so much about one program; the rest would say the same.
const MAX_WARNINGS: usize = 100;

/// Warnings about what `targets` would refuse, in source order; none for a program with errors.
pub fn lint(checked: &Checked<'_>, targets: &[Target]) -> Vec<Diagnostic> {
    if has_error(checked) {
        return Vec::new();
    }
    let blocks = Blocks::of(checked);
    let mut found = Findings::default();
    for target in targets {
        match target {
            Target::Bmv2 => bmv2::lint(checked, &blocks, &mut found),
            Target::Tofino => {
                tofino::lint(checked, &blocks, &mut found);
                if blocks.tna {
                    tna::lint(checked, &blocks, &mut found);
                    tna_more::lint(checked, &blocks, &mut found);
                    tna_headers::lint(checked, &blocks, &mut found);
                    tna_values::lint(checked, &blocks, &mut found);
                    tna_parde::lint(checked, &blocks, &mut found);
                }
            }
        }
    }
    let mut diagnostics = found.diagnostics;
    diagnostics.sort_by_key(|d| (d.span.lo, d.span.hi));
    diagnostics.dedup_by(|a, b| (a.code, a.span) == (b.code, b.span));
    diagnostics
}

/// Warnings about reads of values that nobody has written (W0511 to W0514), in source order; none
/// for a program with errors.
pub fn undefined(checked: &Checked<'_>) -> Vec<Diagnostic> {
    let mut found = Findings::default();
    if !has_error(checked) {
        undefined::lint(checked, &mut found);
    }
    found.diagnostics
}

fn has_error(checked: &Checked<'_>) -> bool {
    checked
        .diagnostics
        .iter()
        .any(|d| d.severity == Severity::Error)
}

/// The value of an expression that is known at compile time.
fn constant(checked: &Checked<'_>, expr: &Expr) -> Option<Value> {
    checked.eval(expr, &|_| None)
}

#[derive(Default)]
struct Findings {
    diagnostics: Vec<Diagnostic>,
}

impl Findings {
    fn warn(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl AsRef<str>,
        hint: impl Into<String>,
    ) {
        self.push(Diagnostic::warning(code, span, message.as_ref()).hint(hint));
    }

    fn push(&mut self, mut diagnostic: Diagnostic) {
        if self.diagnostics.len() >= MAX_WARNINGS {
            return;
        }
        diagnostic.message = sentence(&diagnostic.message);
        let hint = diagnostic.hint.as_deref();
        diagnostic.hint = hint.or(hints::usual(diagnostic.code)).map(sentence);
        self.diagnostics.push(diagnostic);
    }
}
