//! What can be wrong with an update, in one sentence each.

use std::fmt;

/// Why one update cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateError {
    Unknown {
        what: &'static str,
        name: String,
        known: Vec<String>,
    },
    Ambiguous {
        what: &'static str,
        name: String,
        one: String,
        two: String,
    },
    /// A number with more bits than its field
    TooWide {
        name: String,
        width: u32,
        bits: u64,
    },
    MissingKey {
        table: String,
        key: String,
    },
    TwiceGiven {
        what: &'static str,
        name: String,
    },
    /// A match of another kind than the key's
    WrongKind {
        key: String,
        kind: String,
    },
    /// A prefix longer than its key
    PrefixTooLong {
        key: String,
        length: u32,
        width: u32,
    },
    /// Bits outside of the mask or prefix
    BitsOutsideMask {
        key: String,
    },
    /// A range that ends before it begins
    EmptyRange {
        key: String,
    },
    PriorityNeeded {
        table: String,
    },
    PriorityNotAllowed {
        table: String,
    },
    MissingArgument {
        action: String,
        name: String,
    },
    WrongArgumentCount {
        action: String,
        given: usize,
        wanted: usize,
    },
    Duplicate {
        table: String,
    },
    NotFound {
        table: String,
    },
    Full {
        table: String,
        size: u64,
    },
    ConstTable {
        table: String,
    },
    ConstEntry {
        table: String,
    },
    ConstDefault {
        table: String,
    },
    NoKey {
        table: String,
    },
    DefaultOnly {
        action: String,
        table: String,
    },
    TableOnly {
        action: String,
        table: String,
    },
    IndexOutOfRange {
        name: String,
        index: u64,
        size: u64,
    },
    /// A direct counter or meter written by index, or a table without one
    Direct {
        name: String,
    },
    NotDirect {
        table: String,
        what: &'static str,
    },
    SetTooLarge {
        set: String,
        size: u64,
    },
    SessionOutOfRange {
        session: u32,
    },
    GroupZero,
    /// A table with an action profile given an action, or one without given a member
    ProfileNeeded {
        table: String,
    },
    NoProfile {
        table: String,
    },
    NoMember {
        profile: String,
        member: u32,
    },
    NoMemberGroup {
        profile: String,
        group: u32,
    },
    EmptyMemberGroup {
        profile: String,
        group: u32,
    },
    InUse {
        profile: String,
        what: &'static str,
        id: u32,
    },
    Rates,
    /// A table that is to be divided between pipes, but has entries
    NotEmpty {
        table: String,
    },
    /// An idle timeout for a table that does not keep any
    NoTimeout {
        table: String,
    },
}

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use UpdateError::*;
        match self {
            Unknown { what, name, known } if known.is_empty() => {
                write!(f, "there is no {what} {name}, and no other either")
            }
            Unknown { what, name, known } => {
                write!(
                    f,
                    "there is no {what} {name}; there is {}",
                    known.join(", ")
                )
            }
            Ambiguous {
                what,
                name,
                one,
                two,
            } => {
                write!(
                    f,
                    "{what} {name} could be {one} or {two}; write the full name"
                )
            }
            TooWide { name, width, bits } => {
                write!(
                    f,
                    "the value of {name} has {bits} bits, but the field has {width}"
                )
            }
            MissingKey { table, key } => {
                write!(
                    f,
                    "an entry of {table} needs a value for its exact key {key}"
                )
            }
            TwiceGiven { what, name } => write!(f, "{what} {name} is given twice"),
            WrongKind { key, kind } => write!(f, "key {key} is matched as {kind}"),
            PrefixTooLong { key, length, width } => {
                write!(
                    f,
                    "a prefix of {length} bits does not fit key {key}, which has {width}"
                )
            }
            BitsOutsideMask { key } => {
                write!(
                    f,
                    "the value for key {key} has bits outside of its mask; clear them"
                )
            }
            EmptyRange { key } => write!(f, "the range for key {key} ends before it begins"),
            PriorityNeeded { table } => {
                write!(
                    f,
                    "entries of {table} need a priority of at least 1; the larger wins"
                )
            }
            PriorityNotAllowed { table } => {
                write!(
                    f,
                    "{table} has only exact and lpm keys, so its entries take no priority"
                )
            }
            MissingArgument { action, name } => {
                write!(f, "action {action} needs a value for its parameter {name}")
            }
            WrongArgumentCount {
                action,
                given,
                wanted,
            } => {
                write!(f, "action {action} takes {wanted} values, not {given}")
            }
            Duplicate { table } => {
                write!(
                    f,
                    "{table} already has an entry with this key; modify it instead"
                )
            }
            NotFound { table } => write!(f, "{table} has no entry with this key"),
            Full { table, size } => write!(f, "{table} is full: its size is {size}"),
            ConstTable { table } => {
                write!(
                    f,
                    "the entries of {table} are const: only the program sets them"
                )
            }
            ConstEntry { table } => {
                write!(
                    f,
                    "this entry of {table} is const: only the program sets it"
                )
            }
            ConstDefault { table } => {
                write!(
                    f,
                    "the default action of {table} is const: only the program sets it"
                )
            }
            NoKey { table } => write!(f, "{table} has no key, so it has only a default action"),
            DefaultOnly { action, table } => {
                write!(f, "action {action} is only for the default of {table}")
            }
            TableOnly { action, table } => {
                write!(f, "action {action} is only for entries of {table}")
            }
            IndexOutOfRange { name, index, size } => {
                write!(f, "{name} has {size} cells; there is no index {index}")
            }
            Direct { name } => write!(f, "{name} is direct: name the table entry, not an index"),
            NotDirect { table, what } => write!(f, "{table} has no direct {what}"),
            SetTooLarge { set, size } => write!(f, "value set {set} holds at most {size} members"),
            SessionOutOfRange { session } => {
                write!(f, "clone session {session} is not within 0 to 32767")
            }
            GroupZero => write!(f, "multicast group 0 means no multicast; use 1 to 65535"),
            ProfileNeeded { table } => {
                write!(
                    f,
                    "entries of {table} name a member or group of its action profile"
                )
            }
            NoProfile { table } => write!(f, "{table} has no action profile; name an action"),
            NoMember { profile, member } => write!(f, "{profile} has no member {member}"),
            NoMemberGroup { profile, group } => write!(f, "{profile} has no group {group}"),
            EmptyMemberGroup { profile, group } => {
                write!(
                    f,
                    "group {group} of {profile} has no members; add one first"
                )
            }
            InUse { profile, what, id } => {
                write!(
                    f,
                    "{what} {id} of {profile} is in use; remove what refers to it first"
                )
            }
            NoTimeout { table } => write!(
                f,
                "{table} keeps no idle timeouts; give it `support_timeout = true`"
            ),
            NotEmpty { table } => {
                write!(
                    f,
                    "{table} has entries; delete them before pipes share them differently"
                )
            }
            Rates => write!(
                f,
                "a meter's peak rate must not be below its committed rate"
            ),
        }
    }
}

impl std::error::Error for UpdateError {}

/// A batch that was refused; nothing of it was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteError {
    /// Every update that is wrong: its index in the batch and why
    pub errors: Vec<(usize, UpdateError)>,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (index, error)) in self.errors.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}update {}: {error}", index + 1)?;
        }
        Ok(())
    }
}

impl std::error::Error for WriteError {}
