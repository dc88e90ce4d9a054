//! The formatter for P4_16 programs.
//!
//! It changes white space within lines and at their beginnings, and nothing else: tokens, comments,
//! preprocessor lines and line breaks stay the author's. It works on text, not on a syntax tree, so
//! a file with mistakes in its grammar is formatted all the same, and macros and `#if` branches
//! stay as they are.
//!
//! [`scan()`] cuts the text into pieces, `roles` finds out what each `<` and `-` is for, `spacing`
//! says what stands between two pieces, `indent` where a line begins, and `columns` keeps below each
//! other what the author put there.
#![forbid(unsafe_code)]

mod columns;
mod indent;
mod roles;
mod rows;
pub mod scan;
mod spacing;

pub use scan::scan;
use scan::{Kind, Piece};
use std::fmt;

/// Why a text is left as it is. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub line: usize,
    pub column: usize,
    pub reason: &'static str,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.reason)
    }
}

impl std::error::Error for Unreadable {}

/// What formatting makes of some lines of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormattedLines {
    /// First and last line of the source, from 0
    pub first: usize,
    pub last: usize,
    /// What stands there now, without a line end at its end
    pub text: String,
    /// A blank line stands before it.
    pub blank_before: bool,
}

/// The formatted text; formatting that again changes nothing.
pub fn format(text: &str) -> Result<String, Unreadable> {
    let crlf = text.contains("\r\n");
    let unix = text.replace("\r\n", "\n");
    let mut out = String::with_capacity(text.len());
    if text.starts_with('\u{feff}') {
        out.push('\u{feff}');
    }
    for lines in format_lines(&unix)? {
        if lines.blank_before {
            out.push('\n');
        }
        out.push_str(&lines.text);
        out.push('\n');
    }
    if crlf {
        out = out.replace('\n', "\r\n");
    }
    Ok(out)
}

/// The same line by line. Blank lines are not listed; `text` must not contain `\r`.
pub fn format_lines(text: &str) -> Result<Vec<FormattedLines>, Unreadable> {
    let pieces = scan(text);
    if let Some(unreadable) = pieces.iter().find_map(unreadable) {
        return Err(unreadable);
    }
    let roles = roles::roles(&pieces);
    let rows = rows::rows(&pieces, &roles);
    let layout = rows::layout(&rows, &pieces, &roles);
    let mut formatted = Vec::with_capacity(rows.len());
    for row in &rows {
        let indices = row.first..row.first + row.len;
        let mut text = String::new();
        let mut at = 0;
        for i in indices {
            let written = rows::written(&pieces[i], layout.columns[i]);
            text.extend(std::iter::repeat_n(' ', layout.columns[i] - at));
            text.push_str(&written);
            at = rows::column_behind(&pieces[i], layout.columns[i]);
        }
        let last = &pieces[row.first + row.len - 1];
        formatted.push(FormattedLines {
            first: pieces[row.first].line,
            last: last.line + last.text.matches('\n').count(),
            text,
            blank_before: row.blank_before,
        });
    }
    Ok(formatted)
}

fn unreadable(piece: &Piece) -> Option<Unreadable> {
    let reason = match piece.kind {
        Kind::OpenComment => "this comment is never closed; write `*/` where it ends",
        Kind::OpenString => "this string has no closing quote on its line",
        Kind::Unknown => "this character means nothing in P4",
        _ => return None,
    };
    Some(Unreadable {
        line: piece.line + 1,
        column: piece.column + 1,
        reason,
    })
}
