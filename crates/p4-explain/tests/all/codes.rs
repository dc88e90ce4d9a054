//! Every code that the sources can emit has a page, and every page a code. Without this a student
//! asks for an explanation and gets none.

use std::collections::BTreeSet;
use std::path::Path;

/// Codes in string literals of the crates' sources (tests aside).
fn emitted(folder: &Path, codes: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            emitted(&path, codes);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).expect("a readable source");
            codes.extend(quoted_codes(&text));
        }
    }
}

fn quoted_codes(text: &str) -> impl Iterator<Item = String> + '_ {
    let is_code = |word: &&[u8]| {
        word[0] == b'"'
            && matches!(word[1], b'E' | b'W')
            && word[2..6].iter().all(u8::is_ascii_digit)
            && word[6] == b'"'
    };
    text.as_bytes()
        .windows(7)
        .filter(is_code)
        .map(|word| String::from_utf8_lossy(&word[1..6]).into_owned())
}

#[test]
fn codes_and_pages_belong_together() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut codes = BTreeSet::new();
    for entry in std::fs::read_dir(crates).expect("the crates") {
        let sources = entry.expect("a readable folder").path().join("src");
        if sources.is_dir() {
            emitted(&sources, &mut codes);
        }
    }
    let pages: BTreeSet<String> = p4_explain::pages().map(|page| page.code.into()).collect();
    let without_page: Vec<_> = codes.difference(&pages).collect();
    let without_code: Vec<_> = pages.difference(&codes).collect();
    assert!(
        without_page.is_empty(),
        "write docs/errors/CODE.md for {without_page:?}"
    );
    assert!(without_code.is_empty(), "no source emits {without_code:?}");
    assert!(pages.len() > 150, "only {} pages", pages.len());
}
