//! Protobuf messages as trees, and the two ways to write them: the text format and JSON.
//!
//! Both leave out fields with default values, so whoever builds a tree does too, except where a
//! field's presence says something (members of a `oneof`, messages).

use std::fmt::Write;

/// A message's fields, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message(Vec<(&'static str, Value)>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// `int32` and `uint32`
    Number(i64),
    /// `int64`, a string in JSON
    Long(i64),
    Bool(bool),
    Text(String),
    Bytes(Vec<u8>),
    Symbol(&'static str),
    Message(Message),
    /// A repeated field
    List(Vec<Value>),
    /// A `map<string, ...>`, by ascending keys
    Map(Vec<(String, Message)>),
}

impl Message {
    /// A field that is always there.
    pub fn with(mut self, name: &'static str, value: Value) -> Message {
        self.0.push((name, value));
        self
    }

    /// A 32-bit number, unless it is 0.
    pub fn number(self, name: &'static str, number: impl Into<i64>) -> Message {
        match number.into() {
            0 => self,
            number => self.with(name, Value::Number(number)),
        }
    }

    /// A 64-bit number, unless it is 0.
    pub fn long(self, name: &'static str, number: i64) -> Message {
        match number {
            0 => self,
            number => self.with(name, Value::Long(number)),
        }
    }

    pub fn text(self, name: &'static str, text: &str) -> Message {
        if text.is_empty() {
            return self;
        }
        self.with(name, Value::Text(text.to_string()))
    }

    pub fn bytes(self, name: &'static str, bytes: &[u8]) -> Message {
        if bytes.is_empty() {
            return self;
        }
        self.with(name, Value::Bytes(bytes.to_vec()))
    }

    pub fn flag(self, name: &'static str, flag: bool) -> Message {
        if !flag {
            return self;
        }
        self.with(name, Value::Bool(true))
    }

    pub fn message(self, name: &'static str, message: Message) -> Message {
        self.with(name, Value::Message(message))
    }

    pub fn maybe(self, name: &'static str, message: Option<Message>) -> Message {
        match message {
            Some(message) => self.message(name, message),
            None => self,
        }
    }

    /// A repeated field.
    pub fn list(self, name: &'static str, items: impl Iterator<Item = Value>) -> Message {
        let items: Vec<Value> = items.collect();
        if items.is_empty() {
            return self;
        }
        self.with(name, Value::List(items))
    }

    /// A repeated field of messages.
    pub fn messages(self, name: &'static str, items: impl Iterator<Item = Message>) -> Message {
        self.list(name, items.map(Value::Message))
    }

    pub fn map(
        self,
        name: &'static str,
        items: impl Iterator<Item = (String, Message)>,
    ) -> Message {
        let items: Vec<(String, Message)> = items.collect();
        if items.is_empty() {
            return self;
        }
        self.with(name, Value::Map(items))
    }

    /// The text format, two blanks for each level.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write_text(&mut out, 0);
        out
    }

    fn write_text(&self, out: &mut String, depth: usize) {
        for (name, value) in &self.0 {
            value.write_text(name, out, depth);
        }
    }

    /// JSON as protobuf maps it: names in lowerCamelCase, 64-bit numbers as strings, bytes in
    /// base64.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out, 0);
        out.push('\n');
        out
    }

    fn write_json(&self, out: &mut String, depth: usize) {
        let fields = self.0.iter().map(|(name, value)| (camel_case(name), value));
        write_object(out, depth, fields, |out, value| {
            value.write_json(out, depth + 1)
        });
    }
}

impl Value {
    fn write_text(&self, name: &str, out: &mut String, depth: usize) {
        let indent = "  ".repeat(depth);
        let scalar = match self {
            Value::List(items) => {
                for item in items {
                    item.write_text(name, out, depth);
                }
                return;
            }
            Value::Map(items) => {
                for (key, value) in items {
                    let entry = Message::default()
                        .with("key", Value::Text(key.clone()))
                        .message("value", value.clone());
                    Value::Message(entry).write_text(name, out, depth);
                }
                return;
            }
            Value::Message(message) => {
                out.push_str(&format!("{indent}{name} {{\n"));
                message.write_text(out, depth + 1);
                out.push_str(&format!("{indent}}}\n"));
                return;
            }
            Value::Number(number) | Value::Long(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Text(text) => quoted(text.as_bytes()),
            Value::Bytes(bytes) => quoted(bytes),
            Value::Symbol(symbol) => symbol.to_string(),
        };
        out.push_str(&format!("{indent}{name}: {scalar}\n"));
    }

    fn write_json(&self, out: &mut String, depth: usize) {
        match self {
            Value::Number(number) => out.push_str(&number.to_string()),
            Value::Long(number) => out.push_str(&format!("\"{number}\"")),
            Value::Bool(flag) => out.push_str(&flag.to_string()),
            Value::Text(text) => write_json_text(out, text),
            Value::Bytes(bytes) => write_json_text(out, &base64(bytes)),
            Value::Symbol(symbol) => write_json_text(out, symbol),
            Value::Message(message) => message.write_json(out, depth),
            Value::List(items) => {
                let inner = "  ".repeat(depth + 1);
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i == 0 { "\n" } else { ",\n" });
                    out.push_str(&inner);
                    item.write_json(out, depth + 1);
                }
                out.push_str(&format!("\n{}]", "  ".repeat(depth)));
            }
            Value::Map(items) => {
                let fields = items.iter().map(|(key, value)| (key.clone(), value));
                write_object(out, depth, fields, |out, value| {
                    value.write_json(out, depth + 1)
                });
            }
        }
    }
}

fn write_object<T>(
    out: &mut String,
    depth: usize,
    fields: impl Iterator<Item = (String, T)>,
    write: impl Fn(&mut String, T),
) {
    let inner = "  ".repeat(depth + 1);
    let mut any = false;
    out.push('{');
    for (name, value) in fields {
        out.push_str(if any { ",\n" } else { "\n" });
        any = true;
        out.push_str(&inner);
        write_json_text(out, &name);
        out.push_str(": ");
        write(out, value);
    }
    if any {
        out.push_str(&format!("\n{}", "  ".repeat(depth)));
    }
    out.push('}');
}

/// Bytes in double quotes, what is not printable in octal.
fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b'"' => text.push_str("\\\""),
            b'\'' => text.push_str("\\'"),
            b'\\' => text.push_str("\\\\"),
            0x20..=0x7e => text.push(char::from(*byte)),
            other => text.push_str(&format!("\\{other:03o}")),
        }
    }
    text.push('"');
    text
}

fn write_json_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn camel_case(name: &str) -> String {
    let mut camel = String::new();
    let mut upper = false;
    for c in name.chars() {
        match c {
            '_' => upper = true,
            c if upper => {
                camel.push(c.to_ascii_uppercase());
                upper = false;
            }
            c => camel.push(c),
        }
    }
    camel
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            if i <= chunk.len() {
                text.push(char::from(DIGITS[(word >> (18 - 6 * i) & 63) as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}
