//! Text to pieces: tokens, comments and preprocessor lines, each with its place.
//!
//! Unlike the compiler's lexer this one keeps comments and knows no macros, and it goes on behind
//! whatever it cannot read, so that an editor can ask about text that is being typed.

use p4_syntax::string_goes_on;

/// What a [`Piece`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or a keyword
    Word,
    Number,
    Str,
    Punct,
    LineComment,
    BlockComment,
    /// A preprocessor line, with the lines that continue it
    Directive,
    /// `@pragma` and the rest of its line
    Pragma,
    /// A `/*` without its `*/`, up to the end of the text
    OpenComment,
    /// A string without its closing quote, up to the end of the line
    OpenString,
    /// A character that P4 has no use for
    Unknown,
}

/// A part of the text that is not blank.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// Byte offset in the text
    pub start: usize,
    /// 0-based line on which it begins
    pub line: usize,
    /// 0-based, in characters, with tabs every 8
    pub column: usize,
    /// Line ends between the previous piece and this one
    pub newlines: usize,
    /// Columns of white space before it on its line
    pub gap: usize,
}

impl Piece<'_> {
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Punct | Kind::Word) && self.text == text
    }

    pub fn is_comment(&self) -> bool {
        matches!(
            self.kind,
            Kind::LineComment | Kind::BlockComment | Kind::OpenComment
        )
    }
}

/// Longest first. `>>` is two `>`, because type arguments may end in it.
const PUNCTUATION: &[&str] = &[
    "|+|=", "|-|=", "&&&", "...", "<<=", "|+|", "|-|", "{#}", "##", "..", "<<", "&&", "||", "==",
    "!=", ">=", "<=", "++", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "+:", "(", ")", "[",
    "]", "{", "}", ";", ",", ":", "?", "@", ".", "=", "<", ">", "+", "-", "*", "/", "%", "&", "|",
    "^", "~", "!", "#",
];

/// Length of the punctuation at the start of `text`, 0 if there is none.
pub(crate) fn punctuation(text: &str) -> usize {
    let found = PUNCTUATION.iter().find(|p| text.starts_with(**p));
    found.map_or(0, |p| p.len())
}

/// All pieces of a text, in order.
pub fn scan(text: &str) -> Vec<Piece<'_>> {
    let mut scanner = Scanner {
        text,
        at: text.chars().next().map_or(0, |c| match c {
            '\u{feff}' => c.len_utf8(),
            _ => 0,
        }),
        line: 0,
        column: 0,
        in_row: false,
    };
    let mut pieces = Vec::new();
    while let Some(piece) = scanner.next() {
        pieces.push(piece);
    }
    pieces
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    column: usize,
    /// A token stands before this place on its line.
    in_row: bool,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Option<Piece<'a>> {
        let (newlines, gap) = self.skip_blanks();
        if self.at == self.text.len() {
            return None;
        }
        let (kind, length) = self.measure();
        let text = &self.rest()[..length];
        let piece = Piece {
            kind,
            text,
            start: self.at,
            line: self.line,
            column: self.column,
            newlines,
            gap,
        };
        self.in_row |= !piece.is_comment();
        self.advance(text);
        Some(piece)
    }

    fn advance(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' => (self.line, self.column) = (self.line + 1, 0),
                '\t' => self.column = (self.column / 8 + 1) * 8,
                _ => self.column += 1,
            }
        }
        self.at += text.len();
    }

    /// Goes on to what is not blank; gives the line ends and the columns passed on the last line.
    fn skip_blanks(&mut self) -> (usize, usize) {
        let (mut newlines, mut from) = (0, self.column);
        while let Some(c) = self.rest().chars().next() {
            if !matches!(c, '\n' | ' ' | '\t' | '\r' | '\u{b}' | '\u{c}') {
                break;
            }
            self.advance(&self.rest()[..1]);
            if c == '\n' {
                newlines += 1;
                from = 0;
                self.in_row = false;
            }
        }
        (newlines, self.column - from)
    }

    /// Kind and length in bytes of the piece that begins here.
    fn measure(&self) -> (Kind, usize) {
        let rest = self.rest();
        let first = rest.as_bytes()[0];
        if rest.starts_with("//") {
            return (
                Kind::LineComment,
                trimmed(&rest[..line_length(rest.as_bytes())]),
            );
        }
        if let Some(inside) = rest.strip_prefix("/*") {
            return match inside.find("*/") {
                Some(length) => (Kind::BlockComment, length + 4),
                None => (Kind::OpenComment, rest.len()),
            };
        }
        if first == b'#' && !self.in_row {
            return (
                Kind::Directive,
                trimmed(&rest[..directive_length(rest.as_bytes())]),
            );
        }
        if first == b'"' {
            return string(&self.text[..self.at], rest);
        }
        if is_word(first) {
            let kind = match first.is_ascii_digit() {
                true => Kind::Number,
                false => Kind::Word,
            };
            return (kind, word_length(rest));
        }
        if first == b'@' && &rest[1..1 + word_length(&rest[1..])] == "pragma" {
            let end = rest.find('\n').unwrap_or(rest.len());
            let line = &rest[..end];
            let end = line.find("//").into_iter().chain(line.find("/*")).min();
            return (
                Kind::Pragma,
                line[..end.unwrap_or(line.len())].trim_end().len(),
            );
        }
        match punctuation(rest) {
            0 => {
                let c = rest.chars().next();
                (Kind::Unknown, c.map_or(1, char::len_utf8))
            }
            length => (Kind::Punct, length),
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn word_length(text: &str) -> usize {
    text.bytes().take_while(|&b| is_word(b)).count()
}

/// Length of a `\` and the line end behind it, at the start of `text`. Blanks between them do not
/// matter.
fn continuation(text: &[u8]) -> Option<usize> {
    let [b'\\', rest @ ..] = text else {
        return None;
    };
    let blanks = rest
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c))
        .count();
    (rest.get(blanks) == Some(&b'\n')).then_some(blanks + 2)
}

/// Up to the line end, beyond it where the line ends in `\`.
fn line_length(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() && text[at] != b'\n' {
        at += continuation(&text[at..]).unwrap_or(1);
    }
    at
}

/// A directive ends with its line, but not within a comment.
fn directive_length(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        at += match rest {
            [b'\n', ..] | [b'/', b'/', ..] => break,
            [b'"', ..] => quoted(rest, false).1,
            [b'/', b'*', inside @ ..] => {
                let end = inside.windows(2).position(|pair| pair == b"*/");
                end.map_or(rest.len(), |length| length + 4)
            }
            _ => continuation(rest).unwrap_or(1),
        }
    }
    at
}

/// Kind and length of a string; `before` is the text in front of it.
fn string(before: &str, text: &str) -> (Kind, usize) {
    let multi_line = string_goes_on(before, &text[1..]);
    let (closed, length) = quoted(text.as_bytes(), multi_line);
    (if closed { Kind::Str } else { Kind::OpenString }, length)
}

/// Whether the string at the start of `text` is closed, and its length.
fn quoted(text: &[u8], multi_line: bool) -> (bool, usize) {
    let mut at = 1;
    while at < text.len() {
        at += match &text[at..] {
            [b'"', ..] => return (true, at + 1),
            [b'\n', ..] if !multi_line => break,
            [b'\\', b'"' | b'\\', ..] => 2,
            rest => continuation(rest).unwrap_or(1),
        }
    }
    (false, at)
}

/// Length without blanks at the end, unless a `\` would then come to stand at the line's end.
fn trimmed(text: &str) -> usize {
    let short = text.trim_end();
    match short.ends_with('\\') {
        true => text.len(),
        false => short.len(),
    }
}
