//! Broken programs of every kind. Parsing them must end with a tree and diagnostics, all of which
//! can be shown. If these fail, a typo takes the tool down instead of being explained.
//!
//! A failing case prints its input; proptest keeps it in `proptest-regressions`.

use p4_syntax::{parse_text, render, Parsed, Severity, Span};
use proptest::prelude::*;

const SAMPLES: [&str; 2] = [
    include_str!("../data/router.p4"),
    include_str!("../data/everything.p4"),
];

/// What holds for every result: diagnostics that point into the text, one code each, and text for
/// the terminal.
fn check(parsed: &Parsed) {
    for diagnostic in &parsed.diagnostics {
        let Span { lo, hi } = diagnostic.span;
        assert!(
            lo <= hi && parsed.sources.locate(lo).is_some(),
            "{diagnostic:?}"
        );
        assert!(
            diagnostic.message.ends_with(['.', '?']) || diagnostic.code == "E0024",
            "{diagnostic:?}"
        );
    }
    let shown = render(&parsed.diagnostics, &parsed.sources, false);
    assert_eq!(shown.is_empty(), parsed.diagnostics.is_empty());
}

/// The text cut into words, blanks and single characters.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let kind = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '_' => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    let mut last = 0;
    for (at, c) in text.char_indices() {
        if at > start && (kind(c) != last || kind(c) == 0) {
            pieces.push(&text[start..at]);
            start = at;
        }
        last = kind(c);
    }
    pieces.push(&text[start..]);
    pieces
}

#[derive(Clone, Debug)]
enum Change {
    Delete(prop::sample::Index),
    Duplicate(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Replace(prop::sample::Index, prop::sample::Index),
    Insert(prop::sample::Index, &'static str),
}

const SPLICES: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    ";",
    ",",
    "\"",
    "/*",
    "//",
    "\\",
    "\n#if 1\n",
    "\n#endif\n",
    "\n#else\n",
    "\n#define x x x\n",
    "\n#define f(x, y...) x ## y # x __VA_OPT__(y, ## y) __COUNTER__\n",
    "f(",
    "__VA_OPT__(",
    "##",
    "\n#if __has_include(<core.p4>) && 'a' / 1u\n",
    "\n#include \"router.p4\"\n",
    "@",
    "@a(",
    "@pragma ",
    "...",
    "8w",
    "0x",
    "#",
    "\u{e9}",
    "state s {",
    "table t {",
    "apply {",
    "if (",
    "for (",
    "switch (",
    "(bit<(",
    "a<b<",
    "{#",
    "\0",
    "=",
    ":",
    ">>=",
];

fn change() -> impl Strategy<Value = Change> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        index().prop_map(Change::Delete),
        index().prop_map(Change::Duplicate),
        (index(), index()).prop_map(|(a, b)| Change::Swap(a, b)),
        (index(), index()).prop_map(|(a, b)| Change::Replace(a, b)),
        (index(), prop::sample::select(SPLICES)).prop_map(|(a, text)| Change::Insert(a, text)),
    ]
}

fn apply(pieces: &mut Vec<&str>, change: &Change) {
    if pieces.is_empty() {
        return;
    }
    let length = pieces.len();
    match change {
        Change::Delete(at) => {
            pieces.remove(at.index(length));
        }
        Change::Duplicate(at) => pieces.insert(at.index(length), pieces[at.index(length)]),
        Change::Swap(a, b) => pieces.swap(a.index(length), b.index(length)),
        Change::Replace(a, b) => pieces[a.index(length)] = pieces[b.index(length)],
        Change::Insert(at, text) => pieces.insert(at.index(length), text),
    }
}

proptest! {
    #[test]
    fn changed_tokens(sample in 0usize..2, changes in prop::collection::vec(change(), 1..12)) {
        let mut text = pieces(SAMPLES[sample]);
        for change in &changes {
            apply(&mut text, change);
        }
        check(&parse_text("router.p4", &text.concat()));
    }

    #[test]
    fn changed_bytes(sample in 0usize..2, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let mut bytes = SAMPLES[sample].as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check(&parse_text("a.p4", &String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn cut_off_anywhere(sample in 0usize..2, from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let text = SAMPLES[sample];
        let (a, b) = (from.index(text.len()), to.index(text.len()));
        check(&parse_text("a.p4", &text[a.min(b)..a.max(b)]));
        check(&parse_text("a.p4", &text[..b]));
    }

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&parse_text("a.p4", &String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn random_words(words in prop::collection::vec(prop::sample::select(words()), 0..200)) {
        check(&parse_text("a.p4", &words.concat()));
    }

    /// Deleting one `;` at the end of a line is one mistake, and is found where it was made.
    #[test]
    fn one_missing_semicolon_is_one_error_there(which in any::<prop::sample::Index>()) {
        let text = SAMPLES[0];
        let ends: Vec<usize> = text.match_indices(";\n").map(|(at, _)| at).collect();
        let at = ends[which.index(ends.len())];
        let broken = format!("{}{}", &text[..at], &text[at + 1..]);
        let parsed = parse_text("a.p4", &broken);
        prop_assert_eq!(parsed.diagnostics.len(), 1);
        prop_assert_eq!(parsed.diagnostics[0].code, "E0101");
        let line = text[..at].matches('\n').count() as u32 + 1;
        let place = parsed.sources.locate(parsed.diagnostics[0].span.lo).unwrap();
        prop_assert_eq!((place.line, parsed.diagnostics[0].severity), (line, Severity::Error));
    }
}

/// Everything that stands in the samples, and what may break it.
fn words() -> Vec<&'static str> {
    let mut all: Vec<&str> = SAMPLES.iter().flat_map(|text| pieces(text)).collect();
    all.extend(SPLICES);
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn the_samples_have_no_mistakes() {
    for text in SAMPLES {
        let parsed = parse_text("a.p4", text);
        assert!(
            parsed.diagnostics.is_empty(),
            "{}",
            render(&parsed.diagnostics, &parsed.sources, false)
        );
    }
}
