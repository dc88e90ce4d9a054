//! The graph as data.

use p4_syntax::span::Span;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// `tna` or `v1model`
    pub architecture: &'static str,
    pub pipes: Vec<Pipe>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pipe {
    pub name: String,
    /// Ingress, then egress
    pub gresses: Vec<Gress>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gress {
    pub ingress: bool,
    /// Name of the control
    pub control: String,
    pub span: Span,
    pub fields: Vec<Field>,
    /// In the order of the program, which is one the packet may go through
    pub units: Vec<Unit>,
    pub resources: Vec<Resource>,
    /// Fields that the parser writes
    pub parsed: Vec<u32>,
    /// Fields that the deparser reads
    pub deparsed: Vec<u32>,
    /// What the graph leaves out, in sentences
    pub notes: Vec<String>,
}

/// A header field, metadata field or variable; also the validity bit of a header (`h.$valid`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    /// In bits
    pub width: u32,
    pub header: bool,
    /// Of the chip's own metadata, which others read
    pub intrinsic: bool,
}

/// Bits `lo` to `hi` of a field, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    pub field: u32,
    pub lo: u32,
    pub hi: u32,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Zero,
    Constant,
    /// The same as in this place
    Copy(Access),
    Computed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    pub access: Access,
    pub value: Written,
}

/// Something that takes a place in a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub kind: UnitKind,
    pub name: String,
    pub span: Span,
    /// The branches on which it stands, outermost first
    pub guards: Vec<Guard>,
    /// Read through the match crossbar: key fields, operands of a condition
    pub reads: Vec<Access>,
    /// One for statements and calls, none for conditions
    pub actions: Vec<Action>,
    pub table: Option<Table>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    Table,
    /// Assignments of an apply block that run in one action
    Statements,
    /// An action called in an apply block
    Call,
    Condition,
}

/// Runs only if the unit `unit` decided for one of `arms`. For a condition and for `hit` these are 1
/// (true, hit) and 0, for `action_run` 2 plus the index of the action; for a `switch` on a value 0, 1, ...
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    pub unit: u32,
    pub arms: Vec<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub keys: Vec<Key>,
    pub size: Option<u64>,
    /// Number of entries in the program, if they are constant
    pub const_entries: Option<u64>,
    /// Index of the default action in the unit's actions
    pub default: Option<u32>,
    pub const_default: bool,
    /// Indices of resources named in its properties: profile, selector, direct counter or meter
    pub resources: Vec<u32>,
    pub idle_timeout: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub name: String,
    pub match_kind: String,
    pub width: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Action {
    pub name: String,
    pub span: Span,
    /// Read by the action's own units
    pub reads: Vec<Access>,
    /// Read through the crossbar: indices, what is hashed, operands of a register action
    pub crossbar: Vec<Access>,
    pub writes: Vec<Write>,
    /// Widths of the parameters that the control plane gives, in bits
    pub data: Vec<u32>,
    pub uses: Vec<Use>,
    /// In the action list as `@defaultonly`
    pub default_only: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    pub resource: u32,
    /// The index comes from fields: through a hash. Otherwise from the entry or a constant.
    pub by_hash: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    pub kind: ResourceKind,
    pub name: String,
    pub span: Span,
    /// Number of cells; `None` for one per entry
    pub size: Option<u64>,
    /// Of a cell in bits
    pub width: u32,
    /// Of a counter: packets, bytes or both
    pub both: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    Register,
    Counter,
    Meter,
    /// Low-pass filter or random early detection
    Filter,
    Hash,
    Random,
    ActionProfile,
    Selector,
}
