//! Positions as editors count them: lines, and UTF-16 units within a line, both from 0.

use serde_json::{json, Value};

/// A place between two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub line: usize,
    /// UTF-16 units
    pub character: usize,
}

impl Position {
    pub(crate) fn to_json(self) -> Value {
        json!({ "line": self.line, "character": self.character })
    }

    /// A position that an editor sent.
    pub(crate) fn from_json(value: &Value) -> Option<Position> {
        let number = |key: &str| usize::try_from(value.get(key)?.as_u64()?).ok();
        Some(Position {
            line: number("line")?,
            character: number("character")?,
        })
    }
}

/// Byte offset of a position; a position behind the end of its line or text is taken for that end.
pub(crate) fn offset(text: &str, position: Position) -> usize {
    let mut start = 0;
    for _ in 0..position.line {
        match text[start..].find('\n') {
            Some(length) => start += length + 1,
            None => return text.len(),
        }
    }
    let line = text[start..].split('\n').next().unwrap_or_default();
    let line = line.strip_suffix('\r').unwrap_or(line);
    let mut units = 0;
    for (at, c) in line.char_indices() {
        if units >= position.character {
            return start + at;
        }
        units += c.len_utf16();
    }
    start + line.len()
}

/// Where the lines of a text begin, to find positions quickly.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Byte offset, and whether bytes are characters on this line
    starts: Vec<(usize, bool)>,
}

impl Lines {
    pub(crate) fn new(text: &str) -> Lines {
        let mut starts = Vec::new();
        let mut start = 0;
        for line in text.split('\n') {
            starts.push((start, line.is_ascii()));
            start += line.len() + 1;
        }
        Lines { starts }
    }

    /// Position of a byte offset in the text, which is taken back to the character it lies in.
    pub(crate) fn position(&self, text: &str, offset: usize) -> Position {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self
            .starts
            .partition_point(|&(start, _)| start <= offset)
            .saturating_sub(1);
        let (start, ascii) = self.starts.get(line).copied().unwrap_or((0, false));
        Position {
            line,
            character: match ascii {
                true => offset - start,
                false => text[start..offset].encode_utf16().count(),
            },
        }
    }

    /// A range of byte offsets as editors write it.
    pub(crate) fn range(&self, text: &str, range: std::ops::Range<usize>) -> Value {
        json!({
            "start": self.position(text, range.start).to_json(),
            "end": self.position(text, range.end).to_json(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_utf16() {
        let text = "// é\u{1F600}x\r\ny";
        for (offset_, line, character) in [
            (0, 0, 0),
            (3, 0, 3),
            (5, 0, 4),
            (9, 0, 6),
            (12, 1, 0),
            (13, 1, 1),
        ] {
            let at = Position { line, character };
            assert_eq!(Lines::new(text).position(text, offset_), at);
            assert_eq!(offset(text, at), offset_);
        }
        let inside_pair = Position {
            line: 0,
            character: 5,
        };
        assert_eq!(offset(text, inside_pair), 9);
        let beyond = |line, character| offset(text, Position { line, character });
        assert_eq!((beyond(0, 99), beyond(7, 0)), (10, text.len()));
    }
}
