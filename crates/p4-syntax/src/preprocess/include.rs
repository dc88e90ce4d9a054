//! `#include`: which file is meant, and opening it.

use super::{OpenFile, Preprocessor};
use crate::diag::Diagnostic;
use crate::lexer::Lexer;
use crate::span::Span;
use crate::token::{Token, TokenKind};

/// Files that come with the compiler. Programs rely on their exact names and signatures, so no
/// file of a program can take their place.
const BUILT_IN: &[(&str, &str)] = &[
    ("core.p4", include_str!("../../include/core.p4")),
    ("v1model.p4", include_str!("../../include/v1model.p4")),
    ("tofino.p4", include_str!("../../include/tofino.p4")),
    ("tna.p4", include_str!("../../include/tna.p4")),
    ("t2na.p4", include_str!("../../include/t2na.p4")),
];

/// How many bytes of an included file, or of a text that a macro builds, count as much as one token.
pub(super) const BYTES_PER_TOKEN: usize = 32;

fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN
        .iter()
        .find(|(built_in, _)| *built_in == name)
        .map(|(_, text)| *text)
}

/// The built-in file whose name has a letter or two otherwise.
fn similar_built_in(path: &str) -> Option<&'static str> {
    const LETTERS_FOR_EACH: usize = 3;
    let names = BUILT_IN.iter().map(|(name, _)| *name);
    let distance = |name: &str| crate::edit_distance(name, path);
    let near = names.min_by_key(|name| distance(name))?;
    let stem = near.len() - ".p4".len();
    (distance(near) * LETTERS_FOR_EACH <= stem).then_some(near)
}

/// What stood between the quotes or angle brackets.
pub(super) struct Target {
    path: String,
    /// `"path"`: search beside the including file first.
    beside: bool,
}

impl Preprocessor<'_> {
    pub(super) fn open_main(&mut self, path: &str) {
        let text = match self.provider.read(path) {
            Some(Ok(text)) => text,
            Some(Err(reason)) => {
                self.no_main(path, format!("I cannot read `{path}`: {reason}."));
                return;
            }
            None => {
                self.no_main(path, format!("There is no file `{path}`."));
                return;
            }
        };
        if text.len() > self.options.limits.max_file_bytes {
            let message = self.too_large(path);
            self.no_main(path, message);
            return;
        }
        self.add_source(path, &text, None);
        self.open(0, Span::NONE);
    }

    fn no_main(&mut self, path: &str, message: String) {
        self.sources.add_file(path, "");
        self.report(Diagnostic::error("E0006", Span::NONE, message));
    }

    fn too_large(&self, path: &str) -> String {
        let limit = self.options.limits.max_file_bytes;
        format!("`{path}` is larger than {limit} bytes, which is more than I read.")
    }

    fn add_source(&mut self, path: &str, text: &str, included_from: Option<Span>) -> usize {
        self.sources.add(path, text, included_from);
        let source = self.sources.last_index();
        self.known_files.insert(path.to_string(), source);
        source
    }

    fn open(&mut self, source: usize, place: Span) {
        let lexer = Lexer::new(self.sources.text(source), self.sources.base(source));
        self.files.push(OpenFile {
            source,
            place,
            lexer,
            conditions: Vec::new(),
        });
    }

    pub(super) fn include(&mut self, directive: Span, line: Vec<Token>, raw: Span) {
        let Some(target) = self.include_target(line, raw) else {
            let error = Diagnostic::error(
                "E0012",
                directive.to(raw),
                "I expected a file name after `#include`.",
            );
            self.report(error.hint("Write `#include <core.p4>` or `#include \"headers.p4\"`."));
            return;
        };
        let place = directive.to(self.trimmed(raw));
        self.count_include(place);
        if self.stopped {
            return;
        }
        if let Some(source) = self.find(&target, place) {
            if !self.once.contains(&source) {
                // Reading is work too, even where all of it is comments.
                self.count(self.sources.text(source).len() / BYTES_PER_TOKEN, place);
                self.open(source, place);
                if self.files.len() > self.options.limits.max_include_depth {
                    self.too_deep(place);
                }
            }
        }
    }

    /// Whether an `#include` of the file would read it.
    pub(super) fn has_include(&mut self, target: &Target, place: Span) -> bool {
        self.count_include(place);
        if self.stopped || built_in(&target.path).is_some() {
            return !self.stopped;
        }
        let mut candidates = self.candidates(target).into_iter();
        let found = candidates.find_map(|path| match self.known_files.get(&path) {
            Some(_) => Some(true),
            None => self.provider.read(&path).map(|text| text.is_ok()),
        });
        found.unwrap_or(false)
    }

    fn count_include(&mut self, place: Span) {
        self.includes += 1;
        let limit = self.options.limits.max_includes;
        if self.includes > limit {
            let message = format!("This program includes more than {limit} files.");
            self.stop(Diagnostic::error("E0011", place, message).hint("Put the text of files that are included often between `#ifndef NAME`, `#define NAME` and `#endif`."));
        }
    }

    /// Too many files are open: one that is open again within itself is probably why.
    fn too_deep(&mut self, place: Span) {
        let levels = self.options.limits.max_include_depth;
        let sources = || self.files.iter().map(|file| file.source);
        let most = sources()
            .rev() // of several as often, the outermost
            .max_by_key(|source| sources().filter(|other| other == source).count());
        let mut times_open = self.files.iter().filter(|file| Some(file.source) == most);
        let error = match times_open.nth(1) {
            Some(again) => {
                let name = self.sources.name(again.source);
                let message = format!(
                    "This includes `{name}` within itself, and so on, {levels} levels deep."
                );
                Diagnostic::error("E0011", again.place, message).hint(format!(
                    "Remove it, or put the text of `{name}` between `#ifndef NAME`, `#define NAME` and `#endif`."
                ))
            }
            None => {
                let message = format!("Files include each other {levels} levels deep here.");
                Diagnostic::error("E0011", place, message)
                    .hint("Let one file include the others, one after the other.")
            }
        };
        self.stop(error);
    }

    /// Source index of the file meant; reports when there is none.
    fn find(&mut self, target: &Target, place: Span) -> Option<usize> {
        if let Some(text) = built_in(&target.path) {
            return Some(match self.known_files.get(&built_in_name(&target.path)) {
                Some(&source) => source,
                None => self.add_source(&built_in_name(&target.path), text, Some(place)),
            });
        }
        let candidates = self.candidates(target);
        for path in &candidates {
            if let Some(&source) = self.known_files.get(path) {
                return Some(source);
            }
            match self.provider.read(path) {
                None => {}
                Some(Err(reason)) => {
                    let message = format!("I cannot read `{path}`: {reason}.");
                    self.report(Diagnostic::error("E0013", place, message));
                    return None;
                }
                Some(Ok(text)) if text.len() > self.options.limits.max_file_bytes => {
                    let message = self.too_large(path);
                    self.report(Diagnostic::error("E0013", place, message));
                    return None;
                }
                Some(Ok(text)) => return Some(self.add_source(path, &text, Some(place))),
            }
        }
        self.not_found(target, &candidates, place);
        None
    }

    fn candidates(&self, target: &Target) -> Vec<String> {
        if target.path.starts_with('/') {
            return vec![target.path.clone()];
        }
        let mut directories = Vec::new();
        if target.beside {
            if let Some(file) = self.files.last() {
                let name = self.sources.name(file.source);
                directories.push(
                    name.rfind('/')
                        .map_or(String::new(), |end| name[..=end].to_string()),
                );
            }
        }
        directories.extend(self.options.include_dirs.iter().cloned());
        directories
            .iter()
            .map(|directory| join(directory, &target.path))
            .collect()
    }

    fn not_found(&mut self, target: &Target, candidates: &[String], place: Span) {
        let message = format!("I cannot find the file `{}`.", target.path);
        let hint = if let Some(name) = similar_built_in(&target.path) {
            format!("Did you mean `#include <{name}>`?")
        } else if candidates.is_empty() {
            "There are no include directories; name one with `-I DIR`, or write \"...\" for a file next to this one."
                .to_string()
        } else {
            let list: Vec<String> = candidates.iter().map(|path| format!("`{path}`")).collect();
            format!(
                "I looked for {}; add a directory with `-I DIR`.",
                list.join(", ")
            )
        };
        self.report(Diagnostic::error("E0010", place, message).hint(hint));
    }

    /// Reads `"path"` or `<path>`, also when a macro stands for it.
    pub(super) fn include_target(&mut self, line: Vec<Token>, raw: Span) -> Option<Target> {
        let text = self.sources.snippet(raw).trim().to_string();
        if let Some(rest) = text.strip_prefix('<') {
            let path = rest[..rest.find('>')?].to_string();
            return target(path, false);
        }
        let line = match line.first()?.kind {
            TokenKind::Str => line,
            _ => self.expand_list(line),
        };
        let first = line.first()?;
        if first.kind == TokenKind::Str {
            return target(first.text.to_string(), true);
        }
        let end = line.iter().position(|token| token.kind == TokenKind::Gt)?;
        if first.kind != TokenKind::Lt {
            return None;
        }
        target(line[1..end].iter().map(Token::spelling).collect(), false)
    }
}

fn target(path: String, beside: bool) -> Option<Target> {
    (!path.is_empty()).then_some(Target { path, beside })
}

/// Built-in files are named in diagnostics as one would include them.
fn built_in_name(path: &str) -> String {
    format!("<{path}>")
}

fn join(directory: &str, path: &str) -> String {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    match directory {
        "" | "." | "./" => path.to_string(),
        _ if directory.ends_with('/') => format!("{directory}{path}"),
        _ => format!("{directory}/{path}"),
    }
}
