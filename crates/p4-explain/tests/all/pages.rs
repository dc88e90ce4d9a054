//! A page that is wrong teaches what is wrong. Every program of every page is compiled: the wrong
//! one must give its code, and nothing else, at the marked line; the right one must be accepted.

use crate::support;

use p4_explain::{blocks, page, pages, Page};
use p4_syntax::{Diagnostic, Severity};
use support::{compile, render, Compiled};

/// The one program of a part.
fn program(page: &Page, part: &'static str, name: &str) -> &'static str {
    match blocks(part, "p4")[..] {
        [only] => only,
        ref found => panic!("{}: {} programs in {name}", page.code, found.len()),
    }
}

/// Codes and lines; of a program with errors the errors only.
fn found(compiled: &Compiled) -> Vec<(&'static str, Option<u32>)> {
    let is_error = |d: &Diagnostic| d.severity == Severity::Error;
    let broken = compiled.diagnostics.iter().any(is_error);
    let line = |d: &Diagnostic| {
        let place = compiled.sources.locate(d.span.lo);
        place
            .filter(|_| d.span != p4_syntax::Span::NONE)
            .map(|p| p.source_line)
    };
    let counting = compiled
        .diagnostics
        .iter()
        .filter(|d| !broken || is_error(d));
    counting.map(|d| (d.code, line(d))).collect()
}

#[test]
fn each_page_has_the_form() {
    assert_eq!(p4_explain::malformed(), Vec::<&str>::new());
    for page in pages() {
        let sentences = page
            .why
            .split(['.', '?', ':'])
            .filter(|s| s.len() > 9)
            .count();
        assert!(sentences >= 3, "{}: its reason is too short", page.code);
        assert!(
            page.title.len() < 64,
            "{}: its title is too long",
            page.code
        );
        assert!(
            !page.title.ends_with('.'),
            "{}: a title has no full stop",
            page.code
        );
        assert!(
            page.see.contains("pecification")
                || page.see.contains("engine")
                || page.see.contains("bmv2")
                || page.see.contains("Tofino"),
            "{}",
            page.code
        );
    }
}

#[test]
fn the_wrong_program_gives_the_code_at_the_marked_line() {
    let mut problems = Vec::new();
    for page in pages() {
        let text = program(&page, page.wrong, "Wrong");
        let marker = format!("// <-- {}", page.code);
        let marked: Vec<u32> = (1..)
            .zip(text.lines())
            .filter(|(_, line)| line.contains(&marker))
            .map(|(number, _)| number)
            .collect();
        let compiled = compile(page.code, text);
        let found = found(&compiled);
        let only = found.iter().all(|(code, _)| *code == page.code);
        let at: Vec<u32> = found.iter().filter_map(|(_, line)| *line).collect();
        // What is said of a file that cannot be read has no line.
        let placed = at == marked || (marked.len() == 1 && at.first() == marked.first());
        if !only || found.is_empty() || !placed {
            problems.push(format!(
                "{}: marked {marked:?}, found {found:?}\n{}",
                page.code,
                render(&compiled)
            ));
        }
    }
    assert!(
        problems.is_empty(),
        "{} pages\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn the_right_program_and_what_the_reason_quotes_are_accepted() {
    let mut problems = Vec::new();
    for page in pages() {
        let right = program(&page, page.right, "Right");
        for text in blocks(page.why, "p4").into_iter().chain([right]) {
            let compiled = compile(page.code, text);
            let bad = compiled
                .diagnostics
                .iter()
                .any(|d| d.code == page.code || d.severity == Severity::Error);
            if bad {
                problems.push(format!("{}\n{}", page.code, render(&compiled)));
            }
        }
    }
    assert!(
        problems.is_empty(),
        "{} programs\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn the_severity_is_the_codes_first_letter() {
    for page in pages() {
        let compiled = compile(page.code, program(&page, page.wrong, "Wrong"));
        let error = compiled
            .diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error);
        let expected = page.code.starts_with('E');
        assert_eq!(error, expected, "{}", page.code);
    }
}

#[test]
fn a_code_is_found_however_it_is_written() {
    let first = pages().next().expect("there are pages");
    assert_eq!(page(&first.code.to_lowercase()), Some(first));
    assert_eq!(page(&format!(" {} ", first.code)), Some(first));
    assert_eq!(page("E9999"), None);
    assert_eq!(page(""), None);
    assert_eq!(p4_explain::nearest("e0306")[0], "E0306");
    assert_eq!(p4_explain::nearest("E0399").len(), 5);
    assert_eq!(p4_explain::nearest("größe 🦀").len(), 5);
}
