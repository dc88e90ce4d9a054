//! Characters to tokens, one source file at a time (specification, section 6.4).
//!
//! The lexer reports nothing: what is wrong becomes a token of its own kind, because text in an
//! inactive `#if` branch or in an annotation may contain anything. A line that ends in `\` goes on
//! in the next one, between tokens.

use crate::ast::Name;
use crate::span::Span;
use crate::token::{Interner, Token, TokenKind};
use num_bigint::BigInt;
use std::sync::Arc;

#[derive(Clone)]
pub(crate) struct Lexer {
    text: Arc<str>,
    at: usize,
    /// Position of the first byte of the file in the global position space.
    base: u32,
    line_start: bool,
    /// Where the line being read begins.
    line_begin: usize,
    /// In a directive, where a string ends with its line at the latest and `'a'` is one token.
    in_directive: bool,
    /// Whether what is read is left out, up to an `#endif`: its quotes need not come in pairs.
    pub(crate) left_out: bool,
}

/// By first character, and of those that share it the longest first, so that the first match is the
/// right one.
const PUNCTUATION: &[(&str, TokenKind)] = &[
    ("|+|=", TokenKind::PlusSatAssign),
    ("|-|=", TokenKind::MinusSatAssign),
    ("|+|", TokenKind::PlusSat),
    ("|-|", TokenKind::MinusSat),
    ("||", TokenKind::OrOr),
    ("|=", TokenKind::OrAssign),
    ("|", TokenKind::Or),
    ("&&&", TokenKind::Mask),
    ("&&", TokenKind::AndAnd),
    ("&=", TokenKind::AndAssign),
    ("&", TokenKind::And),
    ("...", TokenKind::Dots),
    ("..", TokenKind::DotDot),
    (".", TokenKind::Dot),
    ("<<=", TokenKind::ShlAssign),
    ("<<", TokenKind::Shl),
    ("<=", TokenKind::Le),
    ("<", TokenKind::Lt),
    ("{#}", TokenKind::Invalid),
    ("{", TokenKind::LBrace),
    ("##", TokenKind::HashHash),
    ("#", TokenKind::Hash),
    ("==", TokenKind::EqEq),
    ("=", TokenKind::Assign),
    ("!=", TokenKind::Ne),
    ("!", TokenKind::Not),
    (">=", TokenKind::Ge),
    (">", TokenKind::Gt),
    ("++", TokenKind::Concat),
    ("+=", TokenKind::PlusAssign),
    ("+:", TokenKind::PlusColon),
    ("+", TokenKind::Plus),
    ("-=", TokenKind::MinusAssign),
    ("-", TokenKind::Minus),
    ("*=", TokenKind::MulAssign),
    ("*", TokenKind::Star),
    ("/=", TokenKind::DivAssign),
    ("/", TokenKind::Slash),
    ("%=", TokenKind::ModAssign),
    ("%", TokenKind::Percent),
    ("^=", TokenKind::XorAssign),
    ("^", TokenKind::Xor),
    ("(", TokenKind::LParen),
    (")", TokenKind::RParen),
    ("[", TokenKind::LBracket),
    ("]", TokenKind::RBracket),
    ("}", TokenKind::RBrace),
    (";", TokenKind::Semi),
    (",", TokenKind::Comma),
    (":", TokenKind::Colon),
    ("?", TokenKind::Question),
    ("@", TokenKind::At),
    ("~", TokenKind::Tilde),
];

/// For each ASCII character the place in [`PUNCTUATION`] where those begin that begin with it.
const BY_FIRST: [usize; 128] = {
    let mut places = [PUNCTUATION.len(); 128];
    let mut at = PUNCTUATION.len();
    while at > 0 {
        at -= 1;
        places[PUNCTUATION[at].0.as_bytes()[0] as usize] = at;
    }
    places
};

impl Lexer {
    pub(crate) fn new(text: Arc<str>, base: u32) -> Lexer {
        let at = if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        Lexer {
            text,
            at,
            base,
            line_start: true,
            line_begin: at,
            in_directive: false,
            left_out: false,
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn span_from(&self, start: usize) -> Span {
        Span {
            lo: self.base + start as u32,
            hi: self.base + self.at as u32,
        }
    }

    /// The next token; at the end of the file [`TokenKind::Eof`], again and again.
    pub(crate) fn next(&mut self, names: &mut Interner) -> Token {
        let before = self.at;
        let open_comment = self.skip_blanks();
        let space = self.at > before;
        let indent = (self.at - self.line_begin) as u32;
        let (kind, span, text) = match open_comment {
            Some(start) => {
                let span = Span {
                    lo: self.base + start as u32,
                    hi: self.base + start as u32 + 2,
                };
                (TokenKind::OpenComment, span, names.intern("/*"))
            }
            None => self.token(names),
        };
        let line_start = std::mem::replace(&mut self.line_start, false);
        Token {
            kind,
            span,
            text,
            line_start,
            indent,
            space,
            no_expand: false,
        }
    }

    /// The tokens up to the end of the line, and the line's text from here on.
    pub(crate) fn rest_of_line(&mut self, names: &mut Interner) -> (Vec<Token>, Span) {
        let start = self.at;
        let mut tokens = Vec::new();
        self.in_directive = true;
        loop {
            let saved = self.clone();
            let token = self.next(names);
            if token.line_start || token.kind == TokenKind::Eof {
                *self = saved;
                break;
            }
            tokens.push(token);
        }
        self.in_directive = false;
        let end = self
            .rest()
            .find('\n')
            .map_or(self.text.len(), |n| self.at + n);
        let raw = Span {
            lo: self.base + start as u32,
            hi: self.base + end as u32,
        };
        (tokens, raw)
    }

    /// Skips whitespace, comments and continued line ends; gives the start of a comment that never
    /// ends.
    fn skip_blanks(&mut self) -> Option<usize> {
        loop {
            match self.byte(0) {
                Some(b'\n') => {
                    self.line_start = true;
                    self.at += 1;
                    self.line_begin = self.at;
                }
                Some(byte) if is_blank(byte) => self.at += 1,
                Some(b'\\') if self.continuation(1).is_some() => {
                    self.at += self.continuation(1).unwrap_or(1);
                }
                Some(b'/') if self.byte(1) == Some(b'/') => self.skip_line_comment(),
                Some(b'/') if self.byte(1) == Some(b'*') => match self.rest()[2..].find("*/") {
                    Some(length) => self.at += length + 4,
                    None => {
                        let start = self.at;
                        self.at = self.text.len();
                        return Some(start);
                    }
                },
                _ => return None,
            }
        }
    }

    /// Length up to the end of a line that goes on in the next: `\` stands `ahead` bytes back, and
    /// nothing but blanks behind it, which GCC's preprocessor does not mind.
    fn continuation(&self, ahead: usize) -> Option<usize> {
        let rest = &self.text.as_bytes()[self.at + ahead..];
        let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
        (rest.get(blanks) == Some(&b'\n')).then_some(ahead + blanks + 1)
    }

    fn skip_line_comment(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            let rest = &bytes[self.at..];
            let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\\'));
            self.at += length.unwrap_or(rest.len());
            match bytes.get(self.at) {
                Some(b'\\') => self.at += self.continuation(1).unwrap_or(1),
                _ => return,
            }
        }
    }

    fn token(&mut self, names: &mut Interner) -> (TokenKind, Span, Name) {
        let start = self.at;
        let kind = match self.byte(0) {
            None => TokenKind::Eof,
            Some(b'"') => return self.string(names),
            Some(b) if b.is_ascii_digit() => {
                self.skip_word();
                match parse_number(&self.text[start..self.at]) {
                    Some(_) => TokenKind::Int,
                    None => TokenKind::BadNumber,
                }
            }
            Some(b) if is_word(b) => {
                self.skip_word();
                TokenKind::Ident
            }
            Some(_) => self.punctuation(),
        };
        let text = match kind.text() {
            Some(_) => names.nothing(),
            None => names.intern(&self.text[start..self.at]),
        };
        (kind, self.span_from(start), text)
    }

    fn skip_word(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().position(|&byte| !is_word(byte));
        self.at += length.unwrap_or(rest.len());
    }

    fn punctuation(&mut self) -> TokenKind {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let place = BY_FIRST.get(usize::from(bytes[0]));
        for (text, kind) in place.map_or(&[][..], |&place| &PUNCTUATION[place..]) {
            if text.as_bytes()[0] != bytes[0] {
                break;
            }
            if rest.starts_with(text) {
                self.at += text.len();
                return *kind;
            }
        }
        // A run of foreign letters is one mistake, not one per letter.
        let run = rest
            .chars()
            .take_while(|c| !c.is_ascii())
            .map(char::len_utf8)
            .sum::<usize>();
        let constant = self.character_constant().filter(|_| self.in_directive);
        self.at += constant.unwrap_or(run.max(1));
        TokenKind::Unknown
    }

    /// Length of the `'a'` or `'\n'` that begins here.
    fn character_constant(&self) -> Option<usize> {
        let rest = self.rest().as_bytes();
        let length = match rest {
            [b'\'', b'\\', escape, digits @ ..] if *escape != b'\n' => {
                3 + digits.iter().take_while(|b| b.is_ascii_hexdigit()).count()
            }
            [b'\'', byte, ..] if !matches!(byte, b'\'' | b'\\' | b'\n') => 2,
            _ => return None,
        };
        (rest.get(length) == Some(&b'\'')).then_some(length + 1)
    }

    /// Whether the string that began at `start` may go on in the next line.
    fn goes_on(&self, start: usize) -> bool {
        let is_text = !self.in_directive && !self.left_out;
        is_text && string_goes_on(&self.text[..start], &self.text[start + 1..])
    }

    /// A string; `\"`, `\\` and `\n` are the escapes, any other `\` stands for itself.
    fn string(&mut self, names: &mut Interner) -> (TokenKind, Span, Name) {
        let start = self.at;
        self.at += 1;
        let mut content = String::new();
        let mut chunk = self.at;
        let mut goes_on = None;
        let kind = loop {
            match self.byte(0) {
                None => break TokenKind::OpenString,
                Some(b'\n') if !*goes_on.get_or_insert_with(|| self.goes_on(start)) => {
                    break TokenKind::OpenString
                }
                Some(b'"') => break TokenKind::Str,
                Some(b'\\') => {
                    let escape = match self.byte(1) {
                        Some(b'"') => Some((2, "\"")),
                        Some(b'\\') => Some((2, "\\")),
                        Some(b'n') => Some((2, "\n")),
                        _ => self.continuation(1).map(|length| (length, "")),
                    };
                    match escape {
                        Some((length, meaning)) => {
                            content.push_str(&self.text[chunk..self.at]);
                            content.push_str(meaning);
                            self.at += length;
                            chunk = self.at;
                        }
                        None => self.at += 1,
                    }
                }
                Some(_) => self.at += 1,
            }
        };
        if kind == TokenKind::OpenString && !self.in_directive {
            self.at = self
                .at
                .min(chunk + text_before_closers(&self.text[chunk..self.at]));
        }
        content.push_str(&self.text[chunk..self.at]);
        if kind == TokenKind::Str {
            self.at += 1;
        }
        (kind, self.span_from(start), names.intern(&content))
    }
}

/// Whether a string may go on in the next line; `before` and `rest` are what stands on both sides of
/// its quote. It may, but a quote that was forgotten should not swallow half the file: text up to the
/// next quote that looks like program is not taken for a string. A quote with nothing behind it on its
/// line was not forgotten elsewhere: `@entry_restriction("` is how constraints of several lines begin.
pub fn string_goes_on(before: &str, rest: &str) -> bool {
    let first_line = rest.lines().next().unwrap_or_default();
    if before.ends_with('(') && first_line.trim().is_empty() {
        return rest.contains('"');
    }
    let end = rest.find(['"', ';', '{', '}']);
    end.is_some_and(|end| rest[end..].starts_with('"'))
}

/// How much of an open string is before the brackets and the `;` that end its line: in
/// `log_msg("text); }` the quote is all that is missing, and what follows is read as it was meant.
fn text_before_closers(text: &str) -> usize {
    let is_closer = |c: char| matches!(c, ')' | ']' | '}' | ';') || c.is_ascii_whitespace();
    text.trim_end_matches(is_closer).len()
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A number as the lexer splits it: `8w0x_ff` is width 8, unsigned, radix 16, digits `_ff`.
pub(crate) struct Number<'a> {
    pub width: Option<(u32, bool)>,
    pub radix: u32,
    pub digits: &'a str,
}

impl Number<'_> {
    pub(crate) fn value(&self) -> BigInt {
        if let Ok(small) = u64::from_str_radix(self.digits, self.radix) {
            return small.into();
        }
        let digits: Vec<u8> = self.digits.bytes().filter(|&b| b != b'_').collect();
        BigInt::parse_bytes(&digits, self.radix).unwrap_or_default()
    }
}

/// Digits of one number; its value is computed in quadratic time.
pub(crate) const MAX_NUMBER_LENGTH: usize = 4096;

/// Splits a numeric literal (specification, section 6.4.3.2); `None` when it is not one.
pub(crate) fn parse_number(text: &str) -> Option<Number<'_>> {
    if text.len() > MAX_NUMBER_LENGTH {
        return None;
    }
    let width_length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (width, rest) = match text.as_bytes().get(width_length) {
        Some(sign @ (b'w' | b's')) => {
            let width = text[..width_length].parse().ok()?;
            (Some((width, *sign == b's')), &text[width_length + 1..])
        }
        _ => (None, text),
    };
    let (radix, digits) = match rest.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &rest[2..]),
        [b'0', b'd' | b'D', ..] => (10, &rest[2..]),
        [b'0', b'o' | b'O', ..] => (8, &rest[2..]),
        [b'0', b'b' | b'B', ..] => (2, &rest[2..]),
        _ => (10, rest),
    };
    let all_digits = digits
        .bytes()
        .all(|b| b == b'_' || char::from(b).is_digit(radix));
    let any_digit = digits.bytes().any(|b| b != b'_');
    (all_digits && any_digit).then_some(Number {
        width,
        radix,
        digits,
    })
}
