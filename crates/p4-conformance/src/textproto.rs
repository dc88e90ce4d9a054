//! Protobuf's text format, as far as two texts are to be compared: no schema is needed.
//!
//! In a message the order of fields of one name counts, that of fields of different names does not.
//! White space, comments, quotes, escapes, separators and the way numbers are written do not count.

use std::collections::BTreeMap;
use std::fmt;

/// Fields by name; a field given several times is repeated.
pub type Message = BTreeMap<String, Vec<Value>>;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Message(Message),
    /// The bytes that a string stands for
    Text(Vec<u8>),
    Integer(i128),
    Float(f64),
    /// A name: an enum's member, `true`, `inf`
    Word(String),
}

/// Messages within messages
const MAX_DEPTH: u32 = 100;

/// Reads a text; the error is half a sentence with its line.
pub fn parse(text: &str) -> Result<Message, String> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: 0,
    };
    let message = reader.fields(None, 0);
    message.map_err(|error| {
        let line = 1 + text.as_bytes()[..reader.at.min(text.len())]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        format!("line {line}: {error}")
    })
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// The next byte that is neither space nor comment.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b'#') => {
                    while self.bytes.get(self.at).is_some_and(|&byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                Some(byte) if byte.is_ascii_whitespace() => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Fields up to `end`, or to the end of the text.
    fn fields(&mut self, end: Option<u8>, depth: u32) -> Result<Message, String> {
        if depth > MAX_DEPTH {
            return Err("messages are nested too deeply".to_string());
        }
        let mut message = Message::new();
        loop {
            match (self.peek(), end) {
                (None, None) => return Ok(message),
                (None, Some(end)) => return Err(format!("`{}` is missing", char::from(end))),
                (byte, _) if byte == end => {
                    self.at += 1;
                    return Ok(message);
                }
                _ => {}
            }
            let name = self.name()?;
            let colon = self.eat(b':');
            let values = message.entry(name).or_default();
            if self.eat(b'[') {
                while !self.eat(b']') {
                    values.push(self.value(depth)?);
                    self.eat(b',');
                }
            } else {
                let value = self.value(depth)?;
                if !colon && !matches!(value, Value::Message(_)) {
                    return Err("`:` is missing".to_string());
                }
                values.push(value);
            }
            if !self.eat(b',') {
                self.eat(b';');
            }
        }
    }

    /// A field's name, or `[name.of.an.extension]`.
    fn name(&mut self) -> Result<String, String> {
        if self.eat(b'[') {
            let name = self.word(|byte| byte != b']' && byte != b'\n');
            return match self.eat(b']') {
                true => Ok(name),
                false => Err("`]` is missing".to_string()),
            };
        }
        let name = self.word(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match name.is_empty() {
            true => Err("there is no name of a field here".to_string()),
            false => Ok(name),
        }
    }

    fn word(&mut self, part: impl Fn(u8) -> bool) -> String {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|&byte| part(byte)) {
            self.at += 1;
        }
        String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned()
    }

    fn value(&mut self, depth: u32) -> Result<Value, String> {
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                self.fields(Some(b'}'), depth + 1).map(Value::Message)
            }
            Some(b'<') => {
                self.at += 1;
                self.fields(Some(b'>'), depth + 1).map(Value::Message)
            }
            Some(b'"' | b'\'') => self.text().map(Value::Text),
            _ => {
                let word = self.word(|byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+' | b'-')
                });
                match word.is_empty() {
                    true => Err("there is no value here".to_string()),
                    false => Ok(scalar(&word)),
                }
            }
        }
    }

    /// Strings that follow each other are one.
    fn text(&mut self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        while let Some(quote @ (b'"' | b'\'')) = self.peek() {
            self.at += 1;
            loop {
                let byte = self.next_byte()?;
                match byte {
                    _ if byte == quote => break,
                    b'\\' => bytes.push(self.escape()?),
                    byte => bytes.push(byte),
                }
            }
        }
        Ok(bytes)
    }

    fn next_byte(&mut self) -> Result<u8, String> {
        let byte = self.bytes.get(self.at).filter(|&&byte| byte != b'\n');
        self.at += 1;
        byte.copied()
            .ok_or_else(|| "a string does not end".to_string())
    }

    fn escape(&mut self) -> Result<u8, String> {
        let byte = self.next_byte()?;
        Ok(match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'v' => 11,
            b'f' => 12,
            b'x' | b'X' => self.digits(16, 0, 2)?,
            b'0'..=b'7' => self.digits(8, byte - b'0', 2)?,
            other => other,
        })
    }

    /// Up to `most` more digits of a byte that begins with `first`.
    fn digits(&mut self, radix: u32, first: u8, most: u32) -> Result<u8, String> {
        let mut number = u32::from(first);
        for _ in 0..most {
            let next = self.bytes.get(self.at).map(|&byte| char::from(byte));
            let Some(digit) = next.and_then(|c| c.to_digit(radix)) else {
                break;
            };
            number = number * radix + digit;
            self.at += 1;
        }
        u8::try_from(number).map_err(|_| "an escape is larger than a byte".to_string())
    }
}

fn scalar(word: &str) -> Value {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, word),
    };
    let integer = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None if digits.len() > 1 && digits.starts_with('0') => {
            i128::from_str_radix(&digits[1..], 8).ok()
        }
        None if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse().ok(),
        None => None,
    };
    if let Some(integer) = integer {
        return Value::Integer(sign * integer);
    }
    let number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    match word.trim_end_matches(['f', 'F']).parse() {
        Ok(float) if number => Value::Float(float),
        _ => Value::Word(word.to_string()),
    }
}

/// The first place where two messages differ, as half a sentence; `None` if they are the same.
pub fn difference(ours: &Message, theirs: &Message) -> Option<String> {
    let names: std::collections::BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let none = Vec::new();
    for name in names {
        let (a, b) = (
            ours.get(name).unwrap_or(&none),
            theirs.get(name).unwrap_or(&none),
        );
        let many = a.len() > 1 || b.len() > 1;
        for index in 0..a.len().max(b.len()) {
            let place = match many {
                true => format!("{name}[{index}]"),
                false => name.clone(),
            };
            match (a.get(index), b.get(index)) {
                (Some(Value::Message(a)), Some(Value::Message(b))) => {
                    if let Some(deeper) = difference(a, b) {
                        return Some(format!("{place}.{deeper}"));
                    }
                }
                (Some(a), Some(b)) if a == b => {}
                (Some(a), Some(b)) => return Some(format!("{place} is {a}, expected {b}")),
                (Some(a), None) => return Some(format!("{place} is {a}, expected nothing")),
                (None, Some(b)) => return Some(format!("{place} is missing, expected {b}")),
                (None, None) => {}
            }
        }
    }
    None
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Message(message) => {
                let name = |field: &str| match message.get(field).map(Vec::as_slice) {
                    Some([Value::Text(text)]) => Some(String::from_utf8_lossy(text).into_owned()),
                    _ => None,
                };
                let preamble = match message.get("preamble").map(Vec::as_slice) {
                    Some([Value::Message(preamble)]) => Some(Value::Message(preamble.clone())),
                    _ => None,
                };
                match (name("name"), preamble) {
                    (Some(name), _) => write!(f, "{{`{name}`}}"),
                    (None, Some(preamble)) => preamble.fmt(f),
                    (None, None) => f.write_str("{...}"),
                }
            }
            Value::Text(text) => write!(f, "{:?}", String::from_utf8_lossy(text)),
            Value::Integer(number) => number.fmt(f),
            Value::Float(number) => number.fmt(f),
            Value::Word(word) => f.write_str(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> Option<String> {
        difference(&parse(a).expect("readable"), &parse(b).expect("readable"))
    }

    /// Equal P4Info would be told apart by how it is written.
    #[test]
    fn forms_do_not_count() {
        assert_eq!(
            same(
                "# c\na: 1 b { c: 'x\\ny' d: 0x10, e: 1.50 } f: [1, 2] f: 3;g<>",
                "b: { e: 15e-1f c: \"x\" \"\\012y\" # d\n d: 020 }\na: 1 f: 1 f: 2 f: 3 g: {}"
            ),
            None
        );
    }

    /// P4Info that a control plane reads differently would pass.
    #[test]
    fn contents_count() {
        let wrong = [
            ("a: 1 a: 2", "a: 2 a: 1", "a[0] is 1, expected 2"),
            (
                "a { b: 1 }",
                "a { b: 1 c: X }",
                "a.c is missing, expected X",
            ),
            ("a { b: 1 }", "", "a is {...}, expected nothing"),
            ("a: -1", "a: 1", "a is -1, expected 1"),
            ("a: \"1\"", "a: 1", "a is \"1\", expected 1"),
            (
                "",
                "t { preamble { name: 'x' } }",
                "t is missing, expected {`x`}",
            ),
        ];
        for (ours, theirs, said) in wrong {
            assert_eq!(same(ours, theirs).as_deref(), Some(said));
        }
    }

    /// A broken golden file would end the run instead of being named.
    #[test]
    fn what_cannot_be_read_is_said() {
        let deep = "a {".repeat(1000);
        for (text, said) in [
            ("a: 1\nb {", "line 2: `}` is missing"),
            ("a: \"x\n", "line 2: a string does not end"),
            ("a 1", "line 1: `:` is missing"),
            ("a:", "line 1: there is no value here"),
            ("=", "line 1: there is no name of a field here"),
            ("a: [1", "line 1: there is no value here"),
            ("[x", "line 1: `]` is missing"),
            ("a: '\\777'", "line 1: an escape is larger than a byte"),
            (&deep, "line 1: messages are nested too deeply"),
        ] {
            assert_eq!(parse(text), Err(said.to_string()), "{text}");
        }
    }
}
