//! Programs from the texts of a page, and what the compiler says of them.

use p4_check::lint::Target;
use p4_driver::{build, has_error, Built};
use p4_syntax::{Diagnostic, MemoryFiles, Options, Severity, SourceMap, Span};
use serde::Deserialize;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// A program: its main file, and the texts of all files by path.
#[derive(Deserialize)]
pub struct Source {
    main: String,
    files: BTreeMap<String, String>,
    #[serde(default)]
    defines: Vec<(String, String)>,
    /// The targets whose refusals are warned of, by name
    #[serde(default)]
    lints: Vec<String>,
    /// Whether what only the control plane would stumble over is an error, too
    #[serde(default)]
    p4info: bool,
}

/// Compiles a program.
pub fn built(source: &Source) -> Built {
    let options = Options {
        defines: source.defines.clone(),
        ..Options::default()
    };
    let files = MemoryFiles(source.files.clone());
    let names = source.lints.iter();
    let lints: Vec<Target> = names.filter_map(|name| Target::from_name(name)).collect();
    let mut built = build(&source.main, &files, &options, false, &lints);
    if source.p4info {
        if let Some(Err(errors)) = built.p4info.take() {
            built.diagnostics.extend(errors);
        }
    }
    built
}

/// `ok`, `diagnostics` as `_engine.Compilation` has them, and `text`, all of them for a reader.
pub fn compile(source: &Source) -> Value {
    let built = built(source);
    let one = |diagnostic| in_json(diagnostic, &built.sources);
    json!({
        "ok": !has_error(&built.diagnostics),
        "diagnostics": built.diagnostics.iter().map(one).collect::<Vec<_>>(),
        "text": rendered(&built),
    })
}

/// The diagnostics with the lines that they point at.
pub fn rendered(built: &Built) -> String {
    p4_syntax::render(&built.diagnostics, &built.sources, false)
}

fn in_json(diagnostic: &Diagnostic, sources: &SourceMap) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut found = place(diagnostic.span, sources);
    found.insert("severity".into(), severity.into());
    found.insert("code".into(), diagnostic.code.into());
    found.insert("message".into(), diagnostic.message.clone().into());
    found.insert("hint".into(), diagnostic.hint.clone().into());
    found.into()
}

/// `file`, `line`, `column`, `end_line`, `end_column` of a span (1-based, the end is exclusive), or
/// nothing where the compiler made the thing up itself.
pub fn place(span: Span, sources: &SourceMap) -> Map<String, Value> {
    let mut found = Map::new();
    if span == Span::NONE {
        return found;
    }
    if let Some(start) = sources.locate(span.lo) {
        found.insert("file".into(), (*start.file).into());
        found.insert("line".into(), start.line.into());
        found.insert("column".into(), start.column.into());
    }
    if let Some(end) = sources.locate(span.hi) {
        found.insert("end_line".into(), end.line.into());
        found.insert("end_column".into(), end.column.into());
    }
    found
}
