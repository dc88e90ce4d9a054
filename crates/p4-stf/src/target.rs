//! What the runner needs of a switch.

use crate::script::Port;
use num_bigint::BigUint;

/// What a program offers to a control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    pub tables: Vec<TableSchema>,
    pub counters: Vec<String>,
    pub registers: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// Full control-plane name
    pub name: String,
    pub keys: Vec<KeySchema>,
    pub actions: Vec<ActionSchema>,
}

impl TableSchema {
    /// Whether entries of this table are told apart by priority.
    pub fn has_priorities(&self) -> bool {
        self.keys.iter().any(|key| {
            matches!(
                key.kind,
                MatchKind::Ternary | MatchKind::Range | MatchKind::Optional
            )
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySchema {
    pub name: String,
    pub kind: MatchKind,
    /// Width in bits
    pub width: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
    /// A kind that entries say nothing about, such as `selector`
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionSchema {
    pub name: String,
    /// Name and width in bits
    pub params: Vec<(String, u32)>,
}

/// A match with its value; one per key, in the table's order.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    Range {
        low: BigUint,
        high: BigUint,
    },
    /// `None` matches anything.
    Optional(Option<BigUint>),
}

/// An entry in the order of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub table: usize,
    pub keys: Vec<Match>,
    /// The larger wins; 0 for tables without priorities.
    pub priority: u32,
    pub action: usize,
    pub args: Vec<BigUint>,
}

/// Which cell of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CounterCell<'a> {
    Index(u64),
    /// The direct counter of an entry
    Entry(&'a Entry),
}

/// Where clones of a session go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloneTo {
    Port(Port),
    Group(u32),
}

/// A switch under test. Errors are one sentence for the author of the test.
pub trait Target {
    fn schema(&self) -> &Schema;

    fn insert(&mut self, entry: &Entry) -> Result<(), String>;
    fn remove(&mut self, entry: &Entry) -> Result<(), String>;
    fn set_default(&mut self, table: usize, action: usize, args: &[BigUint]) -> Result<(), String>;

    /// `None` removes the session.
    fn set_clone_session(&mut self, session: u32, to: Option<CloneTo>) -> Result<(), String>;
    /// Replaces the group's replicas: pairs of port and replication id.
    fn set_group(&mut self, group: u32, replicas: &[(Port, u16)]) -> Result<(), String>;

    fn write_register(&mut self, register: &str, index: u64, value: &BigUint)
        -> Result<(), String>;
    fn read_register(&mut self, register: &str, index: u64) -> Result<BigUint, String>;
    /// All cells become zero.
    fn reset_register(&mut self, register: &str) -> Result<(), String>;
    /// Packets and bytes
    fn read_counter(&mut self, counter: &str, cell: CounterCell<'_>) -> Result<(u64, u64), String>;
    fn reset_counter(&mut self, counter: &str) -> Result<(), String>;

    /// Sends a packet in and gives everything that comes out, in order.
    fn process(&mut self, port: Port, data: &[u8], out: &mut dyn FnMut(Port, &[u8]));
    /// Lets the switch's clock advance.
    fn wait(&mut self, milliseconds: u64);
}
