//! The table of demands in docs/p4runtime.md names every test here, and no other.

use std::collections::BTreeSet;

const SOURCES: [&str; 8] = [
    include_str!("arbitration.rs"),
    include_str!("tables.rs"),
    include_str!("resources.rs"),
    include_str!("profiles.rs"),
    include_str!("replication.rs"),
    include_str!("batches.rs"),
    include_str!("pipeline.rs"),
    include_str!("streams.rs"),
];

const DOCUMENT: &str = include_str!("../../../../docs/p4runtime.md");

#[test]
fn the_document_lists_the_tests() {
    let mut tests = BTreeSet::new();
    for source in SOURCES {
        for piece in source.split("#[test]\nfn ").skip(1) {
            tests.insert(piece.split('(').next().expect("a name").to_string());
        }
    }
    let rows = DOCUMENT.lines().filter(|line| line.starts_with("| "));
    let named: BTreeSet<String> = rows
        .filter_map(|row| row.trim_end_matches(" |").rsplit("| `").next())
        .filter_map(|cell| cell.strip_suffix('`'))
        .filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
        .map(str::to_string)
        .collect();
    let missing: Vec<_> = tests.difference(&named).collect();
    assert!(missing.is_empty(), "not in docs/p4runtime.md: {missing:#?}");
    let gone: Vec<_> = named.difference(&tests).collect();
    assert!(
        gone.is_empty(),
        "docs/p4runtime.md names what is not a test: {gone:#?}"
    );
}
