//! The language, construct by construct, in programs of our own. Where the specification refuses
//! a line, the line says so: `//~ E0302` stands for exactly one kind of error there, and there must
//! be no other. If these fail, a right program is refused or a wrong one runs.

mod blocks;
mod numbers;
mod statements;
mod tables;
mod types;

use p4_syntax::Severity;
use std::collections::BTreeSet;

/// Lines and codes of the errors in `text`, which is read behind `#include <core.p4>`.
fn errors(text: &str) -> BTreeSet<(u32, String)> {
    let text = format!("#include <core.p4>\n{text}");
    let parsed = p4_syntax::parse_text("program.p4", &text);
    let checked = p4_check::check(&parsed.program);
    let said = parsed.diagnostics.iter().chain(&checked.diagnostics);
    said.filter(|d| d.severity == Severity::Error)
        .map(|d| {
            let place = parsed.sources.locate(d.span.lo);
            (place.map_or(0, |p| p.source_line), d.code.to_string())
        })
        .collect()
}

/// Lines and codes that the comments in `text` announce.
fn announced(text: &str) -> BTreeSet<(u32, String)> {
    let lines = (2..).zip(text.lines());
    lines
        .filter_map(|(number, line)| Some((number, line.split_once("//~")?.1)))
        .flat_map(|(number, codes)| {
            codes
                .split_whitespace()
                .map(move |c| (number, c.to_string()))
        })
        .collect()
}

/// Holds a program to what its comments announce; nothing announced is a right program.
#[track_caller]
fn check(text: &str) {
    let numbered = || -> String {
        let lines = (2..).zip(text.lines());
        lines.map(|(n, line)| format!("{n:3} {line}\n")).collect()
    };
    let (said, announced) = (errors(text), announced(text));
    assert!(
        said == announced,
        "in\n{}said: {said:?}\nannounced: {announced:?}",
        numbered()
    );
}

/// A program that announces errors must announce some: a test that cannot fail tests nothing.
#[test]
fn announcements_are_read() {
    let text = "control c(inout bit<8> x) {\n    apply { x = true; } //~ E0302\n}";
    assert_eq!(announced(text), [(3, "E0302".to_string())].into());
    check(text);
}
