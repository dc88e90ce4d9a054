//! What an editor gets from a program with a mistake in it. If these fail, hover and "go to
//! definition" stop working everywhere as soon as a word is misspelled anywhere.

use p4_check::{check, Checked, Def};
use p4_syntax::{parse_text, Parsed, Severity};
use std::collections::BTreeSet;

const ROUTER: &str = include_str!("../../../p4-syntax/tests/data/router.p4");

fn parsed(text: &str) -> Parsed {
    parse_text("router.p4", text)
}

fn errors(checked: &Checked<'_>) -> usize {
    let said = checked.diagnostics.iter();
    said.filter(|d| d.severity == Severity::Error).count()
}

/// Start and text of every word of the program that is not a comment, directive or keyword alone.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default();
        let mut start = None;
        for (i, c) in code.char_indices().chain([(code.len(), ' ')]) {
            let part = c.is_alphanumeric() || c == '_';
            match start {
                None if part => start = Some(i),
                Some(from) if !part => {
                    found.push((at + from, &code[from..i]));
                    start = None;
                }
                _ => {}
            }
        }
        if line.trim_start().starts_with('#') {
            found.retain(|(place, _)| *place < at);
        }
        at += line.len();
    }
    found.retain(|(_, word)| word.starts_with(|c: char| c.is_alphabetic()));
    found
}

/// Misspells each word of a program in turn. Where that is one use of a name, all other uses must
/// still lead to their declarations.
#[test]
fn one_misspelled_use_leaves_all_others() {
    let right = parsed(ROUTER);
    let whole = check(&right.program);
    let before = errors(&whole);
    let base = right
        .sources
        .files()
        .position(|(name, _)| name == "router.p4");
    assert_eq!(base, Some(0), "the main file comes first, at position 1");
    let declared: BTreeSet<u32> = whole
        .decls
        .values()
        .map(|decl| decl.name.span.lo)
        .chain(whole.defs.values().map(|def| def.span().lo))
        .collect();
    let mut tried = 0;
    for (at, word) in words(ROUTER) {
        let line = ROUTER[..at].rfind('\n').map_or(0, |end| end + 1);
        if declared.contains(&(at as u32 + 1)) || ROUTER[line..at].contains("IS_V4(") {
            continue; // a declaration, or a macro's argument, which is used several times
        }
        let mut text = ROUTER.to_string();
        text.replace_range(at..at + word.len(), &"q".repeat(word.len()));
        let wrong = parsed(&text);
        if !wrong.diagnostics.is_empty() {
            continue; // it was a keyword
        }
        let checked = check(&wrong.program);
        let lost = whole.defs.len().saturating_sub(checked.defs.len());
        assert!(
            lost <= 1,
            "`{word}` at byte {at}: {lost} names lead nowhere"
        );
        tried += usize::from(errors(&checked) > before);
    }
    assert!(tried > 100, "only {tried} misspellings were mistakes");
}

/// Types and definitions around mistakes of every kind, by name.
#[test]
fn mistakes_do_not_blind_what_is_around_them() {
    let program = parsed(
        "#include <core.p4>
        header h_t { bit<8> ttl; nothing_t gone; }
        struct headers_t { h_t h; }
        control c(inout headers_t hdr) {
            action up(bit<8> by) { hdr.h.ttl = hdr.h.ttl + by; }
            table t { key = { hdr.h.nowhere : exact; } actions = { up; missing; NoAction; } }
            apply {
                bit<8> kept = unknown(hdr.h.ttl, hdr.h.tll);
                kept = hdr.h.ttl + true;
                if (kept) { kept = 300 / kept; }
                switch (t.apply().action_run) { up: { kept = 1; } other: { kept = 2; } }
                hdr.h.setValid(kept);
            }
        }",
    );
    assert_eq!(program.diagnostics, []);
    let checked = check(&program.program);
    assert!(errors(&checked) >= 8, "{:?}", checked.diagnostics);
    let uses = |wanted: &str| {
        let names = checked.defs.values().filter(|def| match def {
            Def::Param(param) => &*param.name.name == wanted,
            Def::Var(decl) | Def::Table(decl) | Def::Action(decl) => &*decl.name.name == wanted,
            _ => false,
        });
        names.count()
    };
    let found = ["hdr", "kept", "t", "by", "up"].map(|name| (name, uses(name)));
    assert_eq!(
        found,
        [("hdr", 7), ("kept", 7), ("t", 1), ("by", 1), ("up", 1)]
    );
    let actions: BTreeSet<&str> = checked
        .action_refs
        .values()
        .map(|decl| &*decl.name.name)
        .collect();
    assert_eq!(actions, ["NoAction", "up"].into());
}
