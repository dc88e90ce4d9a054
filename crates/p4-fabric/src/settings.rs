//! A file of parameters: the little of TOML that such a file needs, with the line of everything.

use std::fmt;

/// What is wrong with a file of parameters, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// From 1; 0 where no line is to blame
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

impl std::error::Error for Fault {}

/// A value as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Number(f64),
    Word(String),
    Truth(bool),
}

/// `name = value` or `name = { value = ..., more }` below `[section]`
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) line: usize,
    /// `section.name`
    pub(crate) key: String,
    pub(crate) value: Value,
}

/// All settings of a text, in its order.
pub(crate) fn read(text: &str) -> Result<Vec<Setting>, Fault> {
    let mut section = String::new();
    let mut found = Vec::new();
    for (number, raw) in text.lines().enumerate() {
        let line = number + 1;
        let fault = |message: &str| Fault {
            line,
            message: message.to_string(),
        };
        let said = without_comment(raw).trim();
        if said.is_empty() {
            continue;
        }
        if let Some(name) = said.strip_prefix('[') {
            let name = name.strip_suffix(']');
            section = name
                .ok_or_else(|| fault("a section is [name]"))?
                .trim()
                .into();
            continue;
        }
        let (name, right) = said
            .split_once('=')
            .ok_or_else(|| fault("expected `name = value` or [section]"))?;
        let value = value_of(right.trim())
            .ok_or_else(|| fault("expected a number, a text in quotes, true or false"))?;
        let key = format!("{section}.{}", name.trim());
        found.push(Setting { line, key, value });
    }
    Ok(found)
}

/// The text up to a `#` that is not in quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, letter) in line.char_indices() {
        match letter {
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            _ if quote == Some(letter) => quote = None,
            '#' if quote.is_none() => return &line[..at],
            _ => {}
        }
    }
    line
}

/// A plain value, or that of `value` in an inline table.
fn value_of(text: &str) -> Option<Value> {
    let Some(inner) = text.strip_prefix('{') else {
        return scalar(text);
    };
    let inner = inner.strip_suffix('}')?;
    let first = inner.trim_start().strip_prefix("value")?.trim_start();
    let value = first.strip_prefix('=')?.trim_start();
    let end = match value.strip_prefix('"') {
        Some(rest) => rest.find('"')? + 2,
        None => value.find(',').unwrap_or(value.len()),
    };
    scalar(value[..end].trim())
}

fn scalar(text: &str) -> Option<Value> {
    match text {
        "true" | "false" => return Some(Value::Truth(text == "true")),
        _ => {}
    }
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote);
        if let Some(word) = inner.and_then(|rest| rest.strip_suffix(quote)) {
            return Some(Value::Word(word.to_string()));
        }
    }
    let number: f64 = text.replace('_', "").parse().ok()?;
    number.is_finite().then_some(Value::Number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails a student's file means something else than it says, or a mistake has no line.
    #[test]
    fn values_are_read_with_their_lines() {
        let text =
            "# note\n[a]\nx = 1_000 # more\ny = { value = \"b, c\", unit = \"#\" }\nz = true\nw = 'a#' # b\n";
        let found = read(text).unwrap();
        let seen: Vec<_> = found
            .iter()
            .map(|one| (one.line, one.key.as_str()))
            .collect();
        assert_eq!(seen, [(3, "a.x"), (4, "a.y"), (5, "a.z"), (6, "a.w")]);
        assert_eq!(found[0].value, Value::Number(1000.0));
        assert_eq!(found[1].value, Value::Word("b, c".into()));
        assert_eq!(found[2].value, Value::Truth(true));
        assert_eq!(found[3].value, Value::Word("a#".into()));
        for (wrong, line) in [
            ("[a\n", 1),
            ("\nx 1\n", 2),
            ("x = inf", 1),
            ("x = {v = 1}", 1),
        ] {
            assert_eq!(read(wrong).unwrap_err().line, line, "{wrong:?}");
        }
    }
}
