//! What a run found, as data and as text.

use crate::judge::{different_bytes, Mode};
use crate::script::{Pattern, Place, Port};
use std::fmt::Write;

/// The verdict on a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Name of the script
    pub script: String,
    pub mode: Mode,
    pub passed: bool,
    /// One per expectation, check and failed command, in the order of the script, then one per
    /// packet that nobody expected.
    pub findings: Vec<Finding>,
    /// What was ignored, and values that were read
    pub notes: Vec<Note>,
    pub packets_sent: usize,
    pub packets_received: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The command; for an unexpected packet the `packet` command that caused it
    pub place: Place,
    pub kind: Kind,
    pub passed: bool,
    /// One sentence
    pub message: String,
    pub difference: Option<Difference>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Expect,
    NoPacket,
    UnexpectedPacket,
    Check,
    Command,
}

impl Kind {
    /// The word that data formats use.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Expect => "expect",
            Kind::NoPacket => "no_packet",
            Kind::UnexpectedPacket => "unexpected_packet",
            Kind::Check => "check",
            Kind::Command => "command",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub place: Place,
    pub message: String,
}

/// A packet next to what was expected in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub port: Port,
    pub expected: Option<Pattern>,
    pub received: Option<Vec<u8>>,
    /// Indices of the bytes that both have and that differ
    pub bytes: Vec<usize>,
    /// Line of the `packet` command that caused the received packet
    pub cause: Option<u32>,
}

impl Difference {
    pub fn new(
        port: Port,
        expected: Option<&Pattern>,
        received: Option<(&[u8], u32)>,
    ) -> Difference {
        let bytes = match (expected, received) {
            (Some(pattern), Some((data, _))) => different_bytes(pattern, data),
            _ => Vec::new(),
        };
        Difference {
            port,
            expected: expected.cloned(),
            received: received.map(|(data, _)| data.to_vec()),
            bytes,
            cause: received.map(|(_, cause)| cause),
        }
    }

    /// Half a sentence: where the two part.
    pub fn summary(&self) -> String {
        let lengths = self.expected.as_ref().map(|p| p.nibbles.len() / 2);
        let lengths = lengths.zip(self.received.as_ref().map(Vec::len));
        let length = match lengths {
            Some((want, is)) if want != is => format!("it has {is} bytes, expected {want}"),
            _ => String::new(),
        };
        let bytes = match self.bytes[..] {
            [] => String::new(),
            [one] => format!("byte {one} differs"),
            [first, .., last] => {
                format!(
                    "{} bytes differ, from byte {first} to {last}",
                    self.bytes.len()
                )
            }
        };
        [length, bytes]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }
}

impl Report {
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !finding.passed)
    }

    /// Text for a terminal: every failure with the bytes that differ, the notes, and the verdict.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for finding in self.failures() {
            let _ = writeln!(out, "{}: {}", self.at(finding.place), finding.message);
            if let Some(difference) = &finding.difference {
                render_difference(&mut out, difference);
            }
        }
        for note in &self.notes {
            let _ = writeln!(out, "{}: note: {}", self.at(note.place), note.message);
        }
        let good = self
            .findings
            .iter()
            .filter(|finding| finding.passed)
            .count();
        let bad = self.findings.len() - good;
        let _ = writeln!(
            out,
            "{} {}: {good} as expected, {bad} not; {} packets sent, {} received",
            if self.passed { "PASS" } else { "FAIL" },
            self.script,
            self.packets_sent,
            self.packets_received,
        );
        out
    }

    fn at(&self, place: Place) -> String {
        format!("{}:{}:{}", self.script, place.line, place.column)
    }
}

const ROW: usize = 16;
/// Rows of 16 bytes shown of one difference
const MAX_ROWS: usize = 8;

fn render_difference(out: &mut String, difference: &Difference) {
    let empty = Vec::new();
    let wanted: Vec<String> = difference.expected.as_ref().map_or(Vec::new(), |pattern| {
        let digit = |nibble: &Option<u8>| {
            nibble.map_or('*', |n| char::from_digit(n.into(), 16).unwrap_or('?'))
        };
        pattern
            .nibbles
            .chunks(2)
            .map(|pair| pair.iter().map(digit).collect())
            .collect()
    });
    let received = difference.received.as_ref().unwrap_or(&empty);
    let length = wanted.len().max(received.len());
    let both = difference.expected.is_some() && difference.received.is_some();
    let differs = |at: usize| {
        both && (difference.bytes.binary_search(&at).is_ok()
            || at >= wanted.len().min(received.len()))
    };
    let rows = (0..length)
        .step_by(ROW)
        .filter(|&row| !both || (row..row + ROW).any(differs));
    let mut rows: Vec<usize> = rows.collect();
    let hidden = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    for row in rows {
        let range = row..(row + ROW).min(length);
        let cells =
            |cell: &dyn Fn(usize) -> String| range.clone().map(cell).collect::<Vec<_>>().join(" ");
        let line = |out: &mut String, what: &str, cells: String| {
            let _ = writeln!(out, "    {what:<15} {}", cells.trim_end());
        };
        if difference.expected.is_some() {
            let cells = cells(&|at| wanted.get(at).cloned().unwrap_or("  ".into()));
            line(out, &format!("expected {row:04x}"), cells);
        }
        if difference.received.is_some() {
            let cells = cells(&|at| {
                received
                    .get(at)
                    .map_or("  ".into(), |byte| format!("{byte:02x}"))
            });
            line(out, &format!("received {row:04x}"), cells);
        }
        if both {
            line(
                out,
                "",
                cells(&|at| {
                    if differs(at) {
                        "^^".into()
                    } else {
                        "  ".into()
                    }
                }),
            );
        }
    }
    if hidden > 0 {
        let _ = writeln!(out, "    and {hidden} rows more");
    }
}
