//! Changes as a control plane asks for them: names and numbers, nothing of the IR.

use crate::cells::MeterConfig;
use crate::replication::{CloneSession, Replica};
use num_bigint::BigUint;
use std::fmt;

/// One change. An index of `None` means all cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    Insert(Entry),
    /// Gives the entry with this key another action.
    Modify(Entry),
    Delete(EntryKey),
    /// Changes nothing, but fails if there is no such entry.
    Find(EntryKey),
    /// Removes all entries but those written in the program.
    Clear {
        table: String,
    },
    /// `None` goes back to the program's default action.
    SetDefault {
        table: String,
        action: Option<ActionSpec>,
    },
    /// Makes a member or group of the table's action profile its default.
    SetDefaultTarget {
        table: String,
        target: Target,
    },
    /// How long an entry may go without a hit before it is told, in picoseconds; `None`: for ever.
    /// The table needs `support_timeout = true`.
    SetIdleTimeout {
        key: EntryKey,
        ttl: Option<u64>,
    },
    /// Replaces the members of a parser value set.
    SetValueSet {
        set: String,
        members: Vec<Vec<Match>>,
    },
    SetCounter {
        counter: String,
        index: Option<u64>,
        packets: u64,
        bytes: u64,
    },
    SetDirectCounter {
        key: EntryKey,
        packets: u64,
        bytes: u64,
    },
    /// `None` for the configuration: everything is green.
    SetMeter {
        meter: String,
        index: Option<u64>,
        config: Option<MeterConfig>,
    },
    SetDirectMeter {
        key: EntryKey,
        config: Option<MeterConfig>,
    },
    /// A register of a struct takes its fields joined, the first one uppermost.
    SetRegister {
        register: String,
        index: Option<u64>,
        value: BigUint,
    },
    /// `None` removes the group.
    SetGroup {
        group: u32,
        replicas: Option<Vec<Replica>>,
    },
    /// `None` removes the session.
    SetSession {
        session: u32,
        to: Option<CloneSession>,
    },
    /// Adds or replaces a member of an action profile; `None` removes it.
    SetMember {
        profile: String,
        member: u32,
        action: Option<ActionSpec>,
    },
    /// Adds or replaces a group of members of an action selector; `None` removes it. A member given
    /// several times is chosen as much more often.
    SetMemberGroup {
        profile: String,
        group: u32,
        members: Option<Vec<u32>>,
    },
    /// Changes nothing; is refused while an entry leads to this group of an action selector.
    FindUnused {
        profile: String,
        group: u32,
    },
}

/// Which entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EntryKey {
    pub table: String,
    /// Matches with the names of their keys. A key left out matches everything, unless it is exact.
    pub matches: Vec<(String, Match)>,
    /// The larger wins; for tables with ternary, range or optional keys, otherwise 0.
    pub priority: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: EntryKey,
    pub target: Target,
}

/// What an entry leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Action(ActionSpec),
    /// A member of the table's action profile
    Member(u32),
    /// A group of the table's action selector
    Group(u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionSpec {
    pub name: String,
    pub args: Args,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Args {
    /// By parameter name, in any order
    Named(Vec<(String, BigUint)>),
    InOrder(Vec<BigUint>),
}

/// As a person reads it: `I.set(v=7, w=3)`, `member 4`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Action(action) => action.fmt(f),
            Target::Member(member) => write!(f, "member {member}"),
            Target::Group(group) => write!(f, "group {group}"),
        }
    }
}

impl fmt::Display for ActionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<String> = match &self.args {
            Args::Named(args) => args
                .iter()
                .map(|(n, value)| format!("{n}={value}"))
                .collect(),
            Args::InOrder(args) => args.iter().map(BigUint::to_string).collect(),
        };
        write!(f, "{}({})", self.name, args.join(", "))
    }
}

/// As a line of simple_switch_CLI has it.
impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Match::Exact(value) | Match::Optional(value) => value.fmt(f),
            Match::Lpm { value, length } => write!(f, "{value}/{length}"),
            Match::Ternary { value, mask } => write!(f, "{value:#x}&&&{mask:#x}"),
            Match::Range { low, high } => write!(f, "{low}->{high}"),
            Match::Any => f.write_str("anything"),
        }
    }
}

/// What a key must look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Match {
    Exact(BigUint),
    Lpm {
        value: BigUint,
        length: u32,
    },
    Ternary {
        value: BigUint,
        mask: BigUint,
    },
    /// Both ends included
    Range {
        low: BigUint,
        high: BigUint,
    },
    /// A value of an optional key
    Optional(BigUint),
    /// Anything
    Any,
}
