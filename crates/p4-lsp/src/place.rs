//! Words at a place of a text, and what they mean to the preprocessor.

use crate::analysis::{Analysis, File};
use p4_fmt::scan::Kind;
use std::ops::Range;

/// A `#define`.
pub(crate) struct Macro<'a> {
    pub file: File<'a>,
    /// Of its name
    pub name: Range<usize>,
    /// The whole directive
    pub text: &'a str,
}

/// The name at `offset`, and its bytes.
pub(crate) fn word_at(text: &str, offset: usize) -> Option<(&str, Range<usize>)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before = text.get(..offset)?;
    let after = text.get(offset..)?;
    let start = offset - before.chars().rev().take_while(|&c| is_word(c)).count();
    let end = offset + after.chars().take_while(|&c| is_word(c)).count();
    let word = &text[start..end];
    let is_name = word.starts_with(|c: char| !c.is_ascii_digit());
    is_name.then_some((word, start..end))
}

/// The last `#define` of a name in the files of a program.
pub(crate) fn macro_named<'a>(analysis: &'a Analysis, name: &str) -> Option<Macro<'a>> {
    let mut found = None;
    for file in analysis.files() {
        if !file.text.contains(name) {
            continue;
        }
        for piece in p4_fmt::scan(file.text) {
            let defined = (piece.kind == Kind::Directive)
                .then(|| defined(piece.text))
                .flatten();
            if let Some(range) = defined.filter(|range| piece.text[range.clone()] == *name) {
                found = Some(Macro {
                    file,
                    name: piece.start + range.start..piece.start + range.end,
                    text: piece.text,
                });
            }
        }
    }
    found
}

/// Where in a directive the name is that it defines.
fn defined(directive: &str) -> Option<Range<usize>> {
    let rest = directive
        .strip_prefix('#')?
        .trim_start()
        .strip_prefix("define")?;
    let name = rest.trim_start();
    if name.len() == rest.len() {
        return None;
    }
    let start = directive.len() - name.len();
    let length = name
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
        .count();
    Some(start..start + length)
}
