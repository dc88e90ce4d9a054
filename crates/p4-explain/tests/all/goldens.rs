//! What a student reads after each mistake, word for word: the rendered diagnostics of the wrong
//! program of every page, in `goldens/CODE.txt`. Without these a change of the compiler could make a
//! message point to the wrong place, or say less, and nobody would notice.
//!
//! After a wanted change write them again with `P4_BLESS=1 cargo test -p p4-explain goldens`
//! and read the difference.

use crate::support;

use p4_explain::{blocks, pages};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use support::{compile, render};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens")
}

#[test]
fn messages_are_as_they_were_read_and_approved() {
    let bless = std::env::var_os("P4_BLESS").is_some();
    let mut changed = Vec::new();
    let mut expected = BTreeSet::new();
    for page in pages() {
        let program = blocks(page.wrong, "p4").concat();
        let text = render(&compile(page.code, &program));
        let path = folder().join(format!("{}.txt", page.code));
        expected.insert(path.clone());
        if bless {
            std::fs::write(&path, &text).expect("a writable golden");
        } else if std::fs::read_to_string(&path).unwrap_or_default() != text {
            changed.push(format!("{}:\n{text}", page.code));
        }
    }
    assert!(changed.is_empty(), "{}", changed.join("\n"));
    for entry in std::fs::read_dir(folder()).expect("the goldens") {
        let path = entry.expect("a readable folder").path();
        assert!(expected.contains(&path), "{} has no page", path.display());
    }
    assert!(expected.len() >= 80, "only {} goldens", expected.len());
}

/// Each message is a sentence, and each mistake comes with something to do.
#[test]
fn each_message_is_a_sentence_with_advice() {
    // Their text is the program's own, or the operating system's.
    const TEXT_OF_OTHERS: [&str; 5] = ["E0006", "E0013", "E0024", "W0025", "E0901"];
    let mut missing = Vec::new();
    for page in pages() {
        let program = blocks(page.wrong, "p4").concat();
        for diagnostic in compile(page.code, &program).diagnostics {
            if TEXT_OF_OTHERS.contains(&diagnostic.code) {
                continue;
            }
            let sentence = diagnostic.message.ends_with(['.', '?', '!']);
            // What was expected, or how many there should be, says what to do.
            let advised = diagnostic.hint.is_some()
                || diagnostic.message.starts_with("I expected")
                || diagnostic.message.contains(" takes ");
            if !sentence || !advised {
                missing.push(format!("{}: {}", diagnostic.code, diagnostic.message));
            }
        }
    }
    missing.dedup();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
