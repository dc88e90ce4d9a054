//! Broken programs made from whole ones: words deleted, doubled, exchanged and replaced.

use p4_syntax::{FileProvider, Options};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A program with the files that it includes; `main` is the file to mutate.
#[derive(Clone, Debug)]
pub struct Sample {
    pub main: String,
    pub files: BTreeMap<String, String>,
    pub defines: Vec<(String, String)>,
}

impl Sample {
    pub fn options(&self) -> Options {
        Options {
            defines: self.defines.clone(),
            ..Options::default()
        }
    }

    /// The program with another text in place of its main file.
    pub fn with(&self, text: String) -> Files {
        let mut files = self.files.clone();
        files.insert(self.main.clone(), text);
        Files(files)
    }

    pub fn text(&self) -> &str {
        &self.files[&self.main]
    }
}

/// Files in memory, found through `..` as on a disk.
pub struct Files(BTreeMap<String, String>);

impl FileProvider for Files {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/') {
            match part {
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        self.0.get(&parts.join("/")).cloned().map(Ok)
    }
}

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn p4_files(folder: &Path, into: &mut BTreeMap<String, String>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            p4_files(&path, into);
        } else if path.extension().is_some_and(|e| e == "p4") {
            if let Ok(text) = std::fs::read_to_string(&path) {
                into.insert(name_of(&path), text);
            }
        }
    }
}

/// The path from the repository's root, as `#include` joins it.
fn name_of(path: &Path) -> String {
    let relative = path.strip_prefix(root()).unwrap_or(path);
    relative.to_string_lossy().into_owned()
}

/// The lab's own programs, the checker's mistakes, and programs of tests.
pub fn samples() -> Vec<Sample> {
    let mut lab = BTreeMap::new();
    p4_files(&root().join("p4"), &mut lab);
    let mut samples = Vec::new();
    for main in lab.keys().filter(|name| name.contains("v1model")) {
        for width in ["64", "256"] {
            samples.push(Sample {
                main: main.clone(),
                files: lab.clone(),
                defines: vec![("BSL".into(), width.into())],
            });
        }
    }
    for folder in [
        "crates/p4-check/tests/mistakes",
        "crates/p4-syntax/tests/data",
        "crates/p4-ir/tests/lowering/programs",
    ] {
        let mut files = BTreeMap::new();
        p4_files(&root().join(folder), &mut files);
        samples.extend(files.into_iter().map(|(main, text)| Sample {
            main: main.clone(),
            files: [(main, text)].into(),
            defines: Vec::new(),
        }));
    }
    assert!(samples.len() > 90, "only {} samples", samples.len());
    samples
}

#[derive(Clone, Debug)]
pub enum Change {
    Delete(Index),
    Double(Index),
    Exchange(Index, Index),
    /// Puts a word of the program in place of another.
    Replace(Index, Index),
}

pub fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    prop_oneof![
        index().prop_map(Change::Delete),
        index().prop_map(Change::Double),
        (index(), index()).prop_map(|(a, b)| Change::Exchange(a, b)),
        (index(), index()).prop_map(|(a, b)| Change::Replace(a, b)),
    ]
}

/// `text` after the changes, each of one word.
pub fn changed(text: &str, changes: &[Change]) -> String {
    let mut pieces: Vec<&str> = pieces(text);
    for change in changes {
        let words: Vec<usize> = (0..pieces.len())
            .filter(|i| !pieces[*i].trim().is_empty())
            .collect();
        if words.is_empty() {
            break;
        }
        let word = |index: &Index| words[index.index(words.len())];
        match change {
            Change::Delete(at) => {
                pieces.remove(word(at));
            }
            Change::Double(at) => {
                let at = word(at);
                pieces.insert(at, " ");
                pieces.insert(at, pieces[at + 1]);
            }
            Change::Exchange(a, b) => pieces.swap(word(a), word(b)),
            Change::Replace(a, b) => pieces[word(a)] = pieces[word(b)],
        }
    }
    pieces.concat()
}

/// The text cut into words, blanks and single characters.
fn pieces(text: &str) -> Vec<&str> {
    let sort = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '_' => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    let mut pieces = Vec::new();
    let (mut start, mut last) = (0, 3);
    for (at, c) in text.char_indices() {
        if at > start && (sort(c) != last || sort(c) == 0) {
            pieces.push(&text[start..at]);
            start = at;
        }
        last = sort(c);
    }
    pieces.push(&text[start..]);
    pieces
}
