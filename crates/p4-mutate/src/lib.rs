//! Wrong programs out of a right one: every small mistake that the syntax of a program offers.
//!
//! A mutation is one edit of one file: an operator of [`Operator`] applied at one place. Whether the
//! result compiles, and whether it is wrong at all, is for others to find out; here only the tree and
//! the types are asked, so that few edits are refused. The order is that of the text, and the same
//! program gives the same mutations.
//!
//! What people get wrong in these labs chose the operators: a field copied from its neighbour, a bound
//! off by one, a header never made invalid, a test for another header, statements in the wrong order.
#![forbid(unsafe_code)]

mod edits;
mod expressions;
mod names;
mod parsers;
mod statements;
mod tables;
mod walk;

pub use edits::{Mutation, Operator};
use p4_syntax::{Diagnostic, FileProvider, Options, Severity, SourceMap};

/// A program that does not compile has no mutations.
#[derive(Debug)]
pub struct Refused {
    pub diagnostics: Vec<Diagnostic>,
    pub sources: SourceMap,
}

/// All mutations of the program in `main_file` inside the files `only`, which it may include.
pub fn mutations(
    main_file: &str,
    files: &dyn FileProvider,
    options: &Options,
    only: &[String],
) -> Result<Vec<Mutation>, Refused> {
    let parsed = p4_syntax::parse(main_file, files, options);
    let checked = p4_check::check(&parsed.program);
    let is_error = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error;
    let all = parsed.diagnostics.iter().chain(&checked.diagnostics);
    let errors: Vec<Diagnostic> = all.filter(is_error).cloned().collect();
    if !errors.is_empty() {
        return Err(Refused {
            diagnostics: errors,
            sources: parsed.sources,
        });
    }
    let mut walk = walk::Walk::new(&checked, &parsed.sources, only);
    walk.program();
    Ok(walk.edits.finish())
}
