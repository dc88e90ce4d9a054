//! Where a line begins: what is open around it, and whether a statement goes on in it.

use crate::roles::Role;
use crate::scan::{Kind, Piece};
use crate::spacing::Token;

/// Columns by which the content of braces, and the rest of a broken statement, stand further in.
pub(crate) const STEP: usize = 4;

/// No line begins further right, so that deep nesting cannot fill the memory with spaces.
const MAX_INDENT: usize = 240;

/// Deeper than this, what is open is not remembered across `#if` branches.
const MAX_SAVED_FRAMES: usize = 256;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// Around statements, fields or list items
    Brace,
    /// Round, square, or around type arguments
    Other,
}

#[derive(Clone, Copy)]
struct Frame {
    bracket: Bracket,
    /// Column of the lines inside
    content: usize,
    /// Column of a line that begins with the closing bracket
    close: usize,
}

/// What is open at a place of the text.
#[derive(Clone)]
struct Place {
    frames: Vec<Frame>,
    /// A statement, declaration or list item begins here.
    fresh: bool,
}

pub(crate) struct Indenter {
    place: Place,
    /// For each `#if` around the place where it stood, and the end of its first branch; `None` where
    /// too much was open.
    branches: Vec<Option<(Place, Option<Place>)>>,
    row_indent: usize,
}

impl Indenter {
    pub(crate) fn new() -> Indenter {
        Indenter {
            place: Place {
                frames: Vec::new(),
                fresh: true,
            },
            branches: Vec::new(),
            row_indent: 0,
        }
    }

    /// Column of a line that begins with `first`.
    pub(crate) fn begin_row(&mut self, first: Token) -> usize {
        let top = self.place.frames.last();
        self.row_indent = match (first.piece.kind, top) {
            (Kind::Directive, _) => first.piece.gap,
            (Kind::Pragma, top) => top.map_or(0, |frame| frame.content),
            _ if closes(first) => self.closing_frame(first).map_or(0, |frame| frame.close),
            (_, Some(frame)) if frame.bracket == Bracket::Other => frame.content,
            (_, top) => {
                let content = top.map_or(0, |frame| frame.content);
                match self.place.fresh || first.piece.is("{") {
                    true => content,
                    false => content + STEP,
                }
            }
        };
        self.row_indent
    }

    /// Takes note of a piece that stands at `column`; `next` is what follows it on its line.
    pub(crate) fn pass(&mut self, token: Token, column: usize, next: Option<Token>) {
        if token.piece.is_comment() {
            return;
        }
        match token.piece.kind {
            Kind::Directive => return self.directive(token.piece),
            Kind::Pragma => return,
            _ => {}
        }
        let before = self.place.fresh;
        self.place.fresh = false;
        if matches!(token.role, Role::Annotation { .. }) {
            // What an annotation stands in front of begins behind it.
            self.place.fresh = before;
        }
        if token.piece.kind != Kind::Punct {
            return;
        }
        if closes(token) {
            self.close(token);
            self.place.fresh |= token.piece.is("}");
            return;
        }
        let hanging = next.is_none_or(|next| next.piece.is_comment());
        match token.piece.text {
            "{" => self.open_brace(column, hanging),
            "(" | "[" => self.open_other(column, hanging),
            "<" if token.role == Role::TypeOpen => self.open_other(column, hanging),
            ";" | "," => self.place.fresh = self.in_braces(),
            ":" if token.role == Role::Plain => self.place.fresh = self.in_braces(),
            _ => {}
        }
    }

    fn in_braces(&self) -> bool {
        let top = self.place.frames.last();
        top.is_none_or(|frame| frame.bracket == Bracket::Brace)
    }

    fn push(&mut self, bracket: Bracket, content: usize, close: usize) {
        self.place.frames.push(Frame {
            bracket,
            content: content.min(MAX_INDENT),
            close: close.min(MAX_INDENT),
        });
    }

    fn open_brace(&mut self, column: usize, hanging: bool) {
        let base = match self.in_braces() {
            true => self.place.frames.last().map_or(0, |frame| frame.content),
            false => self.row_indent,
        };
        match !hanging && !self.in_braces() {
            true => self.push(Bracket::Brace, column + 2, column),
            false => self.push(Bracket::Brace, base + STEP, base),
        }
        self.place.fresh = true;
    }

    fn open_other(&mut self, column: usize, hanging: bool) {
        match hanging {
            true => self.push(Bracket::Other, self.row_indent + STEP, self.row_indent),
            false => self.push(Bracket::Other, column + 1, column),
        }
    }

    /// The frame that `token` closes: `}` closes whatever was left open within its braces.
    fn closing_frame(&self, token: Token) -> Option<&Frame> {
        self.closing_index(token).map(|i| &self.place.frames[i])
    }

    fn closing_index(&self, token: Token) -> Option<usize> {
        let frames = &self.place.frames;
        match token.piece.is("}") {
            true => frames.iter().rposition(|f| f.bracket == Bracket::Brace),
            false => {
                let last = frames.len().checked_sub(1)?;
                (frames[last].bracket == Bracket::Other).then_some(last)
            }
        }
    }

    fn close(&mut self, token: Token) {
        if let Some(index) = self.closing_index(token) {
            self.place.frames.truncate(index);
        }
    }

    /// Each branch of an `#if` begins where the `#if` stood; behind it all, the first one counts.
    fn directive(&mut self, piece: &Piece) {
        let text = piece.text.trim_start_matches(['#', ' ', '\t']);
        let length = text.bytes().take_while(u8::is_ascii_alphabetic).count();
        match &text[..length] {
            "if" | "ifdef" | "ifndef" => {
                let small = self.place.frames.len() <= MAX_SAVED_FRAMES;
                self.branches
                    .push(small.then(|| (self.place.clone(), None)));
            }
            "else" | "elif" => {
                if let Some(Some((start, first_end))) = self.branches.last_mut() {
                    let end = std::mem::replace(&mut self.place, start.clone());
                    first_end.get_or_insert(end);
                }
            }
            "endif" => {
                if let Some(Some((_, Some(first_end)))) = self.branches.pop() {
                    self.place = first_end;
                }
            }
            _ => {}
        }
    }
}

fn closes(token: Token) -> bool {
    let piece = token.piece;
    piece.is("}") || piece.is(")") || piece.is("]") || token.role == Role::TypeClose
}
