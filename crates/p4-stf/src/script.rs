//! A test as data: what [`crate::parse`] reads and [`crate::run`] carries out.

use crate::cli::Line;
use num_bigint::BigUint;
use std::fmt;

/// Number of a switch port.
pub type Port = u16;

/// A place in the script, 1-based, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

/// What a script says, in its order, and what could not be read.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// File name, for messages
    pub name: String,
    pub commands: Vec<(Place, Command)>,
    pub errors: Vec<ScriptError>,
}

/// A line that says nothing this language knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    pub place: Place,
    /// One sentence: what is wrong.
    pub message: String,
    /// What to write instead.
    pub remedy: String,
    /// The line is one that p4c hands to the switch's command line, where errors fail nothing.
    pub in_cli_command: bool,
}

impl Script {
    /// An error as `file:line:column: message (remedy)`.
    pub fn render_error(&self, error: &ScriptError) -> String {
        let Place { line, column } = error.place;
        format!(
            "{}:{line}:{column}: {}; {}",
            self.name, error.message, error.remedy
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Packet {
        port: Port,
        data: Vec<u8>,
    },
    /// Without data: any one packet.
    Expect {
        port: Port,
        pattern: Option<Pattern>,
    },
    /// The packet sent last comes out of no port (or not of this one).
    NoPacket {
        port: Option<Port>,
    },
    Add(Add),
    SetDefault {
        table: String,
        action: ActionUse,
    },
    /// An entry by its label; `None` removes all that the script added.
    Remove {
        label: Option<String>,
    },
    CheckCounter {
        counter: String,
        index: CounterIndex,
        /// Nothing to compare with: the value is only said.
        check: Option<(Unit, Compare, BigUint)>,
    },
    CheckRegister {
        register: String,
        index: u64,
        /// Of a cell of two fields, the one that the Tofino model calls `lo` or `hi`
        half: Option<Half>,
        compare: Compare,
        value: BigUint,
    },
    /// `selector NAME (GROUP) add MEMBER, ...` of the Tofino model's harness: the group's members
    Selector {
        selector: String,
        group: u32,
        members: Vec<u32>,
    },
    /// `load FILE` of that harness: the compiled program, which is not needed here
    Load,
    /// A line of bmv2's command line; that it fails is a failure.
    Cli(Line),
    /// Such a line in a record of a session: it fails if it failed there.
    Recorded(Line),
    /// What the recorded line before it printed
    Reply {
        text: String,
    },
    /// The recorded switch ended here.
    Died,
    /// One second of the switch's time.
    Wait,
}

impl Command {
    /// Whether p4c hands the line to the switch's command line without looking at it.
    pub fn is_cli(&self) -> bool {
        matches!(self, Command::Cli(_))
    }
}

/// `add TABLE [PRIORITY] KEY:VALUE... ACTION(ARG:VALUE...) [= LABEL]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Add {
    pub table: String,
    /// The larger number wins (p4c turns it round for bmv2, where the smaller one does). In the
    /// Tofino model's harness this is the entry's address, of which the larger one wins, too.
    pub priority: Option<u32>,
    pub keys: Vec<KeyUse>,
    pub action: ActionUse,
    pub label: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    pub place: Place,
    /// With `$N` already turned into `[N]`
    pub field: String,
    pub value: MatchText,
}

/// A match value as written; what it means depends on the key's match kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchText {
    /// A number, possibly with `*` digits
    Number(Number),
    Prefix {
        value: Number,
        length: u32,
    },
    Masked {
        value: Number,
        mask: Number,
    },
    Range {
        low: Number,
        high: Number,
    },
}

/// A number and how it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    pub value: BigUint,
    /// Ones where a digit was written, zeros where `*` was; `None` for a decimal number, which
    /// says nothing about bits.
    pub written: Option<BigUint>,
    /// Bits of all digits, `*` included (0 for a decimal number)
    pub digit_bits: u32,
    /// Bits of the `*` at the end
    pub trailing_wild_bits: u32,
}

impl Number {
    pub fn has_wildcards(&self) -> bool {
        let all = (BigUint::from(1u8) << self.digit_bits) - 1u8;
        self.written.as_ref().is_some_and(|written| *written != all)
    }

    /// Whether no digit is written, as in `0b*`.
    pub fn is_any(&self) -> bool {
        self.written
            .as_ref()
            .is_some_and(|written| *written == BigUint::default())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionUse {
    pub place: Place,
    pub name: String,
    pub args: Vec<(String, BigUint)>,
    /// The Tofino model's harness writes `ACTION(MEMBER ARG:VALUE ...)` for tables with action
    /// profiles: the entry leads to this member, which gets the action.
    pub member: Option<u32>,
}

/// A field of a register's cell
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The first field
    Lo,
    /// The second one
    Hi,
}

/// `NAME(5)`, or `NAME($label)` for the direct counter of a labelled entry
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CounterIndex {
    Cell(u64),
    Entry(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Packets,
    Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Compare {
    pub fn holds(self, left: &BigUint, right: &BigUint) -> bool {
        match self {
            Compare::Eq => left == right,
            Compare::Ne => left != right,
            Compare::Lt => left < right,
            Compare::Le => left <= right,
            Compare::Gt => left > right,
            Compare::Ge => left >= right,
        }
    }
}

impl fmt::Display for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compare::Eq => "==",
            Compare::Ne => "!=",
            Compare::Lt => "<",
            Compare::Le => "<=",
            Compare::Gt => ">",
            Compare::Ge => ">=",
        })
    }
}

/// Expected bytes as nibbles; `None` is `*`, which matches any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    pub nibbles: Vec<Option<u8>>,
    /// Ends in `$`: a longer packet does not match, not even for p4c's runner.
    pub ends: bool,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, nibble) in self.nibbles.iter().enumerate() {
            if index > 0 && index % 2 == 0 {
                f.write_str(" ")?;
            }
            match nibble {
                Some(nibble) => write!(f, "{nibble:x}")?,
                None => f.write_str("*")?,
            }
        }
        Ok(())
    }
}

/// The macros with which the program of a script is compiled: its first line may name them, as in
/// `# defines: BSL=64 TUNNELS`. A macro without a value is 1, as with `-D`.
///
/// ```
/// let script = "# defines: BSL=64 TUNNELS\npacket 1 00\n";
/// let macros = p4_stf::defines(script);
/// assert_eq!(macros[0], ("BSL".to_string(), "64".to_string()));
/// assert_eq!(macros[1], ("TUNNELS".to_string(), "1".to_string()));
/// ```
pub fn defines(script: &str) -> Vec<(String, String)> {
    let first = script.lines().next().unwrap_or_default();
    let Some(listed) = first.strip_prefix("# defines:") else {
        return Vec::new();
    };
    let macros = listed.split_whitespace();
    let named = macros.map(|item| item.split_once('=').unwrap_or((item, "1")));
    named
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}
