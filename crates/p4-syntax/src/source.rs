//! The files a program was read from, and positions in them.

use crate::span::Span;
use std::sync::Arc;

/// Every file of one program, laid out in one global position space that starts at 1
/// (0 belongs to [`Span::NONE`]).
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

#[derive(Clone, Debug)]
struct SourceFile {
    name: Arc<str>,
    text: Arc<str>,
    base: u32,
    /// Byte offsets at which lines begin.
    lines: Vec<u32>,
    /// `#line` directives, by position.
    marks: Vec<LineMark>,
    included_from: Option<Span>,
}

/// From `pos` on, lines are counted from `line` and belong to `file`.
#[derive(Clone, Debug)]
struct LineMark {
    pos: u32,
    line: u32,
    file: Arc<str>,
}

/// Where a position is, as an author would say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, after `#line`.
    pub file: Arc<str>,
    /// 1-based, after `#line`.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
    /// Index of the file really read, in the order of [`SourceMap::files`].
    pub source_index: usize,
    /// 1-based line in the file really read.
    pub source_line: u32,
}

impl SourceMap {
    /// Adds a file and gives the position of its first byte. A file of more bytes than the
    /// position space has left (4 GiB in all) is added as empty.
    pub fn add_file(&mut self, name: &str, text: &str) -> u32 {
        self.add(name, text, None)
    }

    /// As [`SourceMap::add_file`], for a file read because of the `#include` at `included_from`.
    pub(crate) fn add(&mut self, name: &str, text: &str, included_from: Option<Span>) -> u32 {
        let base = self.files.last().map_or(1, |file| file.end() + 1);
        let fits =
            u32::try_from(text.len()).is_ok_and(|length| base.checked_add(length + 1).is_some());
        let text: Arc<str> = if fits { text.into() } else { "".into() };
        let newlines = text.match_indices('\n');
        let lines = std::iter::once(0)
            .chain(newlines.map(|(at, _)| at as u32 + 1))
            .collect();
        self.files.push(SourceFile {
            name: name.into(),
            text,
            base,
            lines,
            marks: Vec::new(),
            included_from,
        });
        base
    }

    /// Names and texts of the files, in the order they were read.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|file| (&*file.name, &*file.text))
    }

    /// The place of a position; `None` for a position in no file.
    pub fn locate(&self, pos: u32) -> Option<Location> {
        let source_index = self.file_index(pos)?;
        let file = &self.files[source_index];
        let (line_index, offset) = file.line_of(pos);
        let start = file.lines[line_index] as usize;
        let column = file
            .text
            .get(start..offset)
            .map_or(0, |before| before.chars().count());
        let source_line = line_index as u32 + 1;
        let (name, line) = match file.mark_before(pos) {
            None => (file.name.clone(), source_line),
            Some(mark) => {
                let marked = file.line_of(mark.pos).0 as u32;
                (
                    mark.file.clone(),
                    mark.line.saturating_add(line_index as u32 - marked),
                )
            }
        };
        Some(Location {
            file: name,
            line,
            column: column as u32 + 1,
            source_index,
            source_line,
        })
    }

    /// The text of a span; empty when the span lies in no one file.
    pub fn snippet(&self, span: Span) -> &str {
        self.range(span).map_or("", |(index, range)| {
            self.files[index].text.get(range).unwrap_or_default()
        })
    }

    /// The `#include` by which the file at `source_index` was first read; `None` for the main file.
    pub fn included_from(&self, source_index: usize) -> Option<Span> {
        self.files.get(source_index)?.included_from
    }

    pub(crate) fn name(&self, source_index: usize) -> Arc<str> {
        self.files[source_index].name.clone()
    }

    pub(crate) fn text(&self, source_index: usize) -> Arc<str> {
        self.files[source_index].text.clone()
    }

    pub(crate) fn base(&self, source_index: usize) -> u32 {
        self.files[source_index].base
    }

    pub(crate) fn last_index(&self) -> usize {
        self.files.len().saturating_sub(1)
    }

    /// Position of a byte of the file at `source_index`, or just behind its last one.
    pub fn position(&self, source_index: usize, offset: usize) -> Option<u32> {
        let file = self.files.get(source_index)?;
        (offset <= file.text.len()).then_some(file.base + offset as u32)
    }

    /// File index and byte range of a span; one that runs over the end of its file is cut there.
    pub fn range(&self, span: Span) -> Option<(usize, std::ops::Range<usize>)> {
        let index = self.file_index(span.lo)?;
        let file = &self.files[index];
        let lo = (span.lo - file.base) as usize;
        let hi = (span.hi.clamp(span.lo, file.end()) - file.base) as usize;
        Some((index, lo..hi))
    }

    /// Remembers a `#line`: what follows `pos` is line `line` of `file`.
    pub(crate) fn mark_line(&mut self, pos: u32, line: u32, file: Option<&str>) {
        let Some(index) = self.file_index(pos) else {
            return;
        };
        let source = &mut self.files[index];
        let current = source
            .mark_before(pos)
            .map_or(&source.name, |mark| &mark.file)
            .clone();
        let file = file.map_or(current, Arc::from);
        let at = source.marks.partition_point(|mark| mark.pos < pos);
        let mark = LineMark { pos, line, file };
        match source.marks.get_mut(at) {
            Some(old) if old.pos == pos => *old = mark,
            _ => source.marks.insert(at, mark),
        }
    }

    fn file_index(&self, pos: u32) -> Option<usize> {
        let after = self.files.partition_point(|file| file.base <= pos);
        let index = after.checked_sub(1)?;
        (pos <= self.files[index].end()).then_some(index)
    }
}

impl SourceFile {
    /// The position just behind the last byte; still this file's.
    fn end(&self) -> u32 {
        self.base + self.text.len() as u32
    }

    /// Index of the line and byte offset of a position of this file.
    fn line_of(&self, pos: u32) -> (usize, usize) {
        let offset = pos - self.base;
        (
            self.lines.partition_point(|&start| start <= offset) - 1,
            offset as usize,
        )
    }

    fn mark_before(&self, pos: u32) -> Option<&LineMark> {
        let after = self.marks.partition_point(|mark| mark.pos <= pos);
        self.marks.get(after.checked_sub(1)?)
    }
}
