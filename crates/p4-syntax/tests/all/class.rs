//! Classes and places of diagnostics. If these fail, a comparison with another compiler drops or
//! misjudges errors in silence.

use p4_syntax::class;
use std::collections::BTreeSet;
use std::path::Path;

/// The quoted codes in the sources of every crate beside this one.
fn codes() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the folder of all crates");
    let mut folders: Vec<_> = [
        "p4-syntax",
        "p4-check",
        "p4-ir",
        "p4-arch",
        "p4-info",
        "p4-driver",
        "p4-py",
    ]
    .iter()
    .map(|name| crates.join(name).join("src"))
    .collect();
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is part of the repository") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("class.rs") {
                let text = std::fs::read_to_string(&path).expect("a readable source");
                let quoted = text.split('"').filter(|part| is_code(part));
                found.extend(quoted.map(str::to_string));
            }
        }
    }
    found
}

fn is_code(text: &str) -> bool {
    text.len() == 5
        && text.starts_with(['E', 'W'])
        && text[1..].bytes().all(|byte| byte.is_ascii_digit())
}

#[test]
fn every_code_has_a_class() {
    let codes = codes();
    assert!(codes.len() > 150, "only {} codes found", codes.len());
    let missing: Vec<_> = codes.iter().filter(|code| class(code).is_empty()).collect();
    assert!(missing.is_empty(), "no class for {missing:?}");
}

#[test]
fn the_table_names_each_code_once_and_no_other() {
    let table = include_str!("../../src/class.rs");
    let listed: Vec<&str> = table.split('"').filter(|part| is_code(part)).collect();
    let once: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(listed.len(), once.len(), "a code is in two classes");
    let codes = codes();
    let stale: Vec<_> = once.iter().filter(|code| !codes.contains(**code)).collect();
    assert!(stale.is_empty(), "no source reports {stale:?}");
}

#[test]
fn other_texts_have_none() {
    for text in ["", "E", "E9999", "e0100", "type-error"] {
        assert_eq!(class(text), "");
    }
    assert_eq!(class("W9999"), "warning");
}

/// The places of a duplicate are where it is and where the first one is.
#[test]
fn places_are_those_of_the_labels_too() {
    let parsed = p4_syntax::parse_text("twice.p4", "#define A 1\n\n#define A 2\n");
    let lines: Vec<u32> = parsed.diagnostics[0]
        .places(&parsed.sources)
        .iter()
        .map(|place| place.line)
        .collect();
    assert_eq!(lines, [3, 1]);
}
