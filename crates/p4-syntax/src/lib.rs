//! P4_16 source text to syntax tree.
//!
//! The front end does no I/O but through a [`FileProvider`], and parsing never fails: it returns a
//! tree and diagnostics. A file passes through three steps: [`preprocess`] (which drives [`lexer`])
//! turns text into one list of tokens, [`parser`] turns tokens into a [`Program`](ast::Program),
//! and [`render`] turns diagnostics into text for a terminal. Whatever the input, every step ends:
//! file size, number of tokens, depth of inclusion and depth of nesting are bounded by [`Limits`].
#![forbid(unsafe_code)]

pub mod ast;
mod class;
pub mod diag;
mod hash;
mod lexer;
mod options;
mod parser;
mod preprocess;
mod render;
mod similar;
mod source;
pub mod span;
mod token;

pub use class::class;
pub use diag::{Diagnostic, Severity};
pub use hash::{HashMap, HashSet};
pub use lexer::string_goes_on;
pub use options::{FileProvider, Limits, MemoryFiles, Options};
pub use render::render;
pub use similar::edit_distance;
pub use source::{Location, SourceMap};
pub use span::Span;

/// What came of a file: a tree (of what could be read), the files, and what there is to say.
#[derive(Debug)]
pub struct Parsed {
    pub program: ast::Program,
    pub sources: SourceMap,
    /// In the order of their discovery: preprocessing first, then parsing.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error)
    }
}

/// Reads `main_file` and what it includes through `provider`, and parses it.
pub fn parse(main_file: &str, provider: &dyn FileProvider, options: &Options) -> Parsed {
    let preprocessed = preprocess::preprocess(main_file, provider, options);
    let mut diagnostics = preprocessed.diagnostics;
    let sources = preprocessed.sources;
    let tokens = parser::prepare(preprocessed.tokens, preprocessed.end, &mut diagnostics);
    let (program, mut mistakes) = parser::parse(tokens, options.limits.max_nesting);
    drop_consequences(&mut mistakes, &diagnostics, &sources);
    diagnostics.append(&mut mistakes);
    Parsed {
        program,
        sources,
        diagnostics,
    }
}

/// Where characters were dropped or a macro was misused, the line lacks something; that the parser
/// misses it too is not a second mistake.
fn drop_consequences(mistakes: &mut Vec<Diagnostic>, causes: &[Diagnostic], sources: &SourceMap) {
    let line = |diagnostic: &Diagnostic| {
        let place = sources.locate(diagnostic.span.lo)?;
        Some((place.source_index, place.source_line))
    };
    let spoils =
        |d: &&Diagnostic| matches!(d.code, "E0001" | "E0003" | "E0016" | "E0017" | "E0018");
    let spoiled: HashSet<_> = causes.iter().filter(spoils).filter_map(line).collect();
    if !spoiled.is_empty() {
        mistakes.retain(|mistake| line(mistake).is_none_or(|line| !spoiled.contains(&line)));
    }
}

/// Parses a text that can include nothing but the built-in files.
pub fn parse_text(name: &str, text: &str) -> Parsed {
    let files = MemoryFiles([(name.to_string(), text.to_string())].into());
    parse(name, &files, &Options::default())
}
