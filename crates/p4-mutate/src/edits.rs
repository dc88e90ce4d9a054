//! Edits as they are found, and as they are handed out.

use p4_syntax::{SourceMap, Span};
use std::collections::BTreeSet;
use std::ops::Range;

/// What kind of mistake a mutation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// A number: one more, one less, 0, all ones
    Constant,
    /// The neighbour of a named constant or of a member of an enum
    Name,
    /// A value that loses its highest bit, as in a variable that is too narrow
    Width,
    /// A comparison
    Relation,
    /// An operator on numbers, bits or truth values
    Arithmetic,
    /// An operand or a negation left out, operands exchanged
    Operand,
    /// A slice one bit further up or down
    Slice,
    /// A condition negated, always or never true
    Condition,
    /// A statement left out
    Drop,
    /// A statement twice
    Double,
    /// Two statements in the other order
    Swap,
    /// Two bodies exchanged
    Branches,
    /// An `else` left out
    Else,
    /// Something else of the same type is read
    Source,
    /// Something else of the same type is written
    Target,
    /// Another header is tested, made valid or made invalid
    Header,
    /// Two arguments exchanged
    Arguments,
    /// A case of a `select` or a `switch` left out, or with the next state of another
    Case,
    /// Another default action, or an entry left out
    Table,
}

impl Operator {
    pub fn name(self) -> &'static str {
        match self {
            Operator::Constant => "constant",
            Operator::Name => "name",
            Operator::Width => "width",
            Operator::Relation => "relation",
            Operator::Arithmetic => "arithmetic",
            Operator::Operand => "operand",
            Operator::Slice => "slice",
            Operator::Condition => "condition",
            Operator::Drop => "drop",
            Operator::Double => "double",
            Operator::Swap => "swap",
            Operator::Branches => "branches",
            Operator::Else => "else",
            Operator::Source => "source",
            Operator::Target => "target",
            Operator::Header => "header",
            Operator::Arguments => "arguments",
            Operator::Case => "case",
            Operator::Table => "table",
        }
    }
}

/// One edit: bytes `range` of `file` become `text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    pub file: String,
    pub range: Range<usize>,
    pub text: String,
    pub operator: Operator,
    /// What is wrong now, in one line
    pub title: String,
    /// 1-based
    pub line: u32,
}

/// A key by which the same change at the same place is found again, whoever made it.
type Change = (String, usize, usize, String);

/// Collects edits inside of the files that may be changed.
pub(crate) struct Edits<'a> {
    sources: &'a SourceMap,
    only: &'a [String],
    known: BTreeSet<Change>,
    found: Vec<Mutation>,
}

impl<'a> Edits<'a> {
    pub fn new(sources: &'a SourceMap, only: &'a [String]) -> Edits<'a> {
        Edits {
            sources,
            only,
            known: BTreeSet::new(),
            found: Vec::new(),
        }
    }

    /// What is written at a place.
    pub fn text(&self, span: Span) -> &'a str {
        self.sources.snippet(span)
    }

    /// The same in one line, short enough for a title.
    pub fn shown(&self, span: Span) -> String {
        shortened(self.text(span))
    }

    /// Whether the place is in a file that may be changed.
    pub fn is_ours(&self, span: Span) -> bool {
        self.file(span).is_some()
    }

    fn file(&self, span: Span) -> Option<(&'a str, &'a str, Range<usize>)> {
        if span == Span::NONE {
            return None;
        }
        let (index, range) = self.sources.range(span)?;
        let (name, text) = self.sources.files().nth(index)?;
        let ours = self.only.iter().any(|file| file == name);
        (ours && !range.is_empty()).then_some((name, text, range))
    }

    /// What stands at `span` becomes `text`, and the title says so.
    pub fn becomes(&mut self, operator: Operator, span: Span, text: &str) {
        let title = format!("`{}` becomes `{}`", self.shown(span), shortened(text));
        self.replace(operator, span, text, title);
    }

    pub fn replace(&mut self, operator: Operator, span: Span, text: &str, title: String) {
        let Some((file, whole, range)) = self.file(span) else {
            return;
        };
        if &whole[range.clone()] == text || !self.known.insert(change(file, whole, &range, text)) {
            return;
        }
        let line = whole[..range.start].matches('\n').count() as u32 + 1;
        self.found.push(Mutation {
            file: file.to_string(),
            range,
            text: text.to_string(),
            operator,
            title,
            line,
        });
    }

    /// All edits, in the order of the text, file by file.
    pub fn finish(mut self) -> Vec<Mutation> {
        let only = self.only;
        let place = |name: &str| only.iter().position(|file| file == name);
        self.found.sort_by(|a, b| {
            let key = |m: &Mutation| (place(&m.file), m.range.start, m.range.end, m.operator);
            key(a).cmp(&key(b)).then_with(|| a.text.cmp(&b.text))
        });
        self.found
    }
}

/// The part of an edit in which the texts differ.
fn change(file: &str, whole: &str, range: &Range<usize>, text: &str) -> Change {
    let old = &whole[range.clone()];
    let same = old.bytes().zip(text.bytes());
    let head = same.take_while(|(a, b)| a == b).count();
    let rest = old.len().min(text.len()) - head;
    let same = old.bytes().rev().zip(text.bytes().rev());
    let tail = same.take(rest).take_while(|(a, b)| a == b).count();
    let middle = &text.as_bytes()[head..text.len() - tail];
    let middle = String::from_utf8_lossy(middle).into_owned();
    (
        file.to_string(),
        range.start + head,
        range.end - tail,
        middle,
    )
}

const SHOWN: usize = 72;

/// Code in one line of at most so many characters.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ...", line[..end].trim_end()),
        None => line,
    }
}
