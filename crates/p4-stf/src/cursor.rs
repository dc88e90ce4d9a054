//! Reads the pieces of one line and remembers where they were.

use crate::script::{Number, Place, ScriptError};
use num_bigint::BigUint;
use num_traits::Num;

/// A half-read line. Errors are pairs of a sentence and a remedy, placed by [`Cursor::error`].
pub struct Cursor {
    chars: Vec<char>,
    at: usize,
    line: u32,
    pub in_cli_command: bool,
}

pub type Result<T> = std::result::Result<T, ScriptError>;

/// Numbers wider than any header field would only cost time.
const MAX_DIGITS: usize = 4096;

impl Cursor {
    /// The line without its `#` comment; in quotes, `#` is a character like others.
    pub fn new(line: u32, text: &str) -> Cursor {
        let mut in_quotes = false;
        let is_read = |c: &char| {
            in_quotes ^= *c == '"';
            in_quotes || *c != '#'
        };
        let chars = text.chars().take_while(is_read).collect();
        let mut cursor = Cursor {
            chars,
            at: 0,
            line,
            in_cli_command: false,
        };
        cursor.skip_blanks();
        cursor
    }

    pub fn place(&self) -> Place {
        Place {
            line: self.line,
            column: self.at as u32 + 1,
        }
    }

    /// An error at the next unread piece.
    pub fn error(&self, message: impl Into<String>, remedy: impl Into<String>) -> ScriptError {
        self.error_at(self.place(), message, remedy)
    }

    pub fn error_at(
        &self,
        place: Place,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ScriptError {
        ScriptError {
            place,
            message: message.into(),
            remedy: remedy.into(),
            in_cli_command: self.in_cli_command,
        }
    }

    pub fn skip_blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    pub fn at_end(&self) -> bool {
        self.at == self.chars.len()
    }

    pub fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    /// Steps over `text` (and blanks behind it) if it comes next.
    pub fn eat(&mut self, text: &str) -> bool {
        let comes = text
            .chars()
            .enumerate()
            .all(|(i, c)| self.chars.get(self.at + i) == Some(&c));
        if comes {
            self.at += text.chars().count();
            self.skip_blanks();
        }
        comes
    }

    pub fn want(&mut self, text: &str, remedy: &str) -> Result<()> {
        if self.eat(text) {
            return Ok(());
        }
        Err(self.error(format!("expected `{text}`{}", self.found()), remedy))
    }

    /// Nothing may follow.
    pub fn finish(&self, remedy: &str) -> Result<()> {
        if self.at_end() {
            return Ok(());
        }
        let rest: String = self.chars[self.at..].iter().collect();
        Err(self.error(
            format!("nothing may follow here, but `{}` does", rest.trim_end()),
            remedy,
        ))
    }

    /// A run of characters that `belongs` accepts; blanks behind it are skipped.
    pub fn take(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while let Some(c) = self.peek().filter(|c| belongs(*c)) {
            text.push(c);
            self.at += 1;
        }
        self.skip_blanks();
        text
    }

    pub fn word(&mut self) -> String {
        self.take(|c| !c.is_whitespace())
    }

    /// What stands at an unexpected place, for messages.
    pub fn found(&self) -> String {
        match self.peek() {
            None => ", but the line ends".to_string(),
            Some(c) => format!(", found `{c}`"),
        }
    }

    /// A dotted name as tables, actions and fields have it: `MyIngress.ipv4_lpm`, `hdr.mpls$0.ttl`.
    /// One in quotes may have any characters: `"hdr.h.a & 0xf"`.
    pub fn name(&mut self, what: &str, remedy: &str) -> Result<String> {
        if self.peek() == Some('"') {
            return self.quoted(remedy);
        }
        let name = self.take(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '[' | ']'));
        if name.is_empty() {
            return Err(self.error(format!("expected {what}{}", self.found()), remedy));
        }
        Ok(name)
    }

    fn quoted(&mut self, remedy: &str) -> Result<String> {
        let place = self.place();
        let rest = &self.chars[self.at + 1..];
        let Some(length) = rest.iter().position(|c| *c == '"') else {
            return Err(self.error_at(place, "this quote has no end", remedy));
        };
        let name = rest[..length].iter().collect();
        self.at += length + 2;
        self.skip_blanks();
        Ok(name)
    }

    /// A number that may have `*` digits when it is hexadecimal, octal or binary.
    pub fn number(&mut self, remedy: &str) -> Result<Number> {
        let place = self.place();
        let text = self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '*' | '_'));
        if text.is_empty() {
            return Err(self.error(format!("expected a number{}", self.found()), remedy));
        }
        parse_number(&text).ok_or_else(|| {
            self.error_at(
                place,
                format!("`{text}` is not a number"),
                remedy.to_string(),
            )
        })
    }

    /// A number without `*`, at most `max`.
    pub fn small<T: TryFrom<u64>>(&mut self, what: &str, max: u64, remedy: &str) -> Result<T> {
        let place = self.place();
        let number = self.number(remedy)?;
        let value = u64::try_from(&number.value)
            .ok()
            .filter(|value| *value <= max);
        match value
            .filter(|_| !number.has_wildcards())
            .and_then(|value| T::try_from(value).ok())
        {
            Some(value) => Ok(value),
            None => Err(self.error_at(place, format!("{what} must be 0 to {max}"), remedy)),
        }
    }

    /// A number of any size without `*`.
    pub fn big(&mut self, remedy: &str) -> Result<BigUint> {
        let place = self.place();
        let number = self.number(remedy)?;
        if number.has_wildcards() {
            return Err(self.error_at(place, "`*` digits make no sense here", remedy));
        }
        Ok(number.value)
    }
}

fn parse_number(text: &str) -> Option<Number> {
    let text = text.replace('_', "");
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        Some("0b" | "0B") => (&text[2..], 2),
        Some("0o" | "0O") => (&text[2..], 8),
        _ => (&*text, 10),
    };
    if digits.is_empty() || digits.len() > MAX_DIGITS {
        return None;
    }
    if radix == 10 {
        let value = BigUint::from_str_radix(digits, 10).ok()?;
        return Some(Number {
            value,
            written: None,
            digit_bits: 0,
            trailing_wild_bits: 0,
        });
    }
    let bits_per_digit = u32::ilog2(radix);
    let mut value = BigUint::default();
    let mut written = BigUint::default();
    for c in digits.chars() {
        let digit = if c == '*' {
            None
        } else {
            Some(c.to_digit(radix)?)
        };
        value = (value << bits_per_digit) + digit.unwrap_or(0);
        written = (written << bits_per_digit) + digit.map_or(0, |_| radix - 1);
    }
    let wild = digits.chars().rev().take_while(|c| *c == '*').count() as u32;
    Some(Number {
        value,
        written: Some(written),
        digit_bits: digits.chars().count() as u32 * bits_per_digit,
        trailing_wild_bits: wild * bits_per_digit,
    })
}
