//! A program as the editor has it: parsed, and where its files are.

use crate::text::Lines;
use crate::uri;
use p4_syntax::{Parsed, Span};
use serde_json::{json, Value};
use std::ops::Range;

/// A parsed program. What the checker finds out about it borrows from it.
pub(crate) struct Analysis {
    pub parsed: Parsed,
    lines: Vec<Lines>,
}

/// A file of a program, by its number in the source map.
#[derive(Clone, Copy)]
pub(crate) struct File<'a> {
    pub index: usize,
    pub name: &'a str,
    pub text: &'a str,
    pub lines: &'a Lines,
}

impl Analysis {
    pub(crate) fn new(parsed: Parsed) -> Analysis {
        let lines = parsed.sources.files().map(|(_, text)| Lines::new(text));
        Analysis {
            lines: lines.collect(),
            parsed,
        }
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = File<'_>> {
        let files = self.parsed.sources.files().zip(&self.lines).enumerate();
        files.map(|(index, ((name, text), lines))| File {
            index,
            name,
            text,
            lines,
        })
    }

    /// The file at a path, if the program has it.
    pub(crate) fn file(&self, path: &str) -> Option<File<'_>> {
        self.files().find(|file| uri::normal(file.name) == path)
    }

    /// File and bytes of a span; `None` for what the compiler made up itself.
    pub(crate) fn place(&self, span: Span) -> Option<(File<'_>, Range<usize>)> {
        if span == Span::NONE {
            return None;
        }
        let (index, range) = self.parsed.sources.range(span)?;
        let file = self.files().nth(index)?;
        Some((file, range))
    }

    /// The bytes of a span, if it lies in `file`.
    pub(crate) fn range_in(&self, file: File, span: Span) -> Option<Range<usize>> {
        let (other, range) = self.place(span)?;
        (other.index == file.index).then_some(range)
    }

    /// The address and range of a span. `show` gives paths to built-in files.
    pub(crate) fn location(
        &self,
        span: Span,
        show: &dyn Fn(&str, &str) -> Option<String>,
    ) -> Option<Value> {
        let (file, range) = self.place(span)?;
        let path = file_path(file, show)?;
        Some(json!({
            "uri": uri::from_path(&path),
            "range": file.lines.range(file.text, range),
        }))
    }
}

/// Where an editor can open a file of a program.
pub(crate) fn file_path(file: File, show: &dyn Fn(&str, &str) -> Option<String>) -> Option<String> {
    match built_in_name(file.name) {
        Some(name) => show(name, file.text),
        None => Some(uri::normal(file.name)),
    }
}

/// `core.p4` of `<core.p4>`: a file that comes with the compiler.
pub(crate) fn built_in_name(name: &str) -> Option<&str> {
    name.strip_prefix('<')?.strip_suffix('>')
}
