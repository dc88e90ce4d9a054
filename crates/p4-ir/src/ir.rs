//! The IR as data.
//!
//! A lowered program owns one **frame**: an array of 64-bit words in which every header field,
//! metadata field, local, parameter, key and temporary has a fixed place (a [`Slot`]). P4 has no
//! recursion, so nothing needs a stack but return addresses. A value of width W takes
//! `max(1, ceil(W/64))` words, least significant word first, and its unused high bits are **always
//! zero**; `int<W>` is the same two's-complement bit pattern. Constants live in slots that are set
//! once (`Program::constants`) and never written, so every operand is a slot: the interpreter is
//! one load per operand, and a native back end may still treat them as immediates.
//!
//! Layouts: a header is `[valid][field]...`; a struct is its fields in order; a stack is
//! `[next_index][element]...` with equal strides; a union is its members in order; a `varbit<N>`
//! field is `[length in bits][words of N]`. An invalid header's fields are zero (writes to it are
//! guarded), so an invalid read gives zero by construction.
//!
//! Nothing here knows an architecture: packages give [`Block`]s with parameters bound to storage;
//! what runs between blocks, and every extern, is the business of a [`crate::Host`].

use p4_syntax::ast::{Name, NodeId};
use p4_syntax::span::Span;

/// Index of a word in the frame.
pub type Slot = u32;
/// Index of an instruction in [`Program::code`].
pub type Pc = u32;

/// Index into [`Program::actions`], and so on: plain numbers, named for the reader.
pub type ActionId = u32;
pub type TableId = u32;
pub type LayoutId = u32;
pub type CallId = u32;
pub type InstanceId = u32;

/// Words that a value of `width` bits takes.
pub const fn words(width: u32) -> u32 {
    if width <= 64 {
        1
    } else {
        width.div_ceil(64)
    }
}

/// A mask of the low `width` bits, for `width` up to 64.
pub const fn mask(width: u32) -> u64 {
    if width >= 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    }
}

/// One instruction; 16 bytes. `d` is the destination, `a`, `b`, `s` sources, `c` a condition
/// (non-zero is true), `w` a width in bits (at most 64), `t` a jump target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Mov {
        d: Slot,
        s: Slot,
    },
    /// `n` words; the ranges do not overlap or are the same.
    MovN {
        d: Slot,
        s: Slot,
        n: u32,
    },
    /// `Mov` if `c`: stores to a field of a header, guarded by its valid word.
    MovIf {
        d: Slot,
        s: Slot,
        c: Slot,
    },
    MovNIf {
        d: Slot,
        s: Slot,
        c: Slot,
        n: u16,
    },
    Zero {
        d: Slot,
        n: u32,
    },
    /// `Zero` of something that has no value yet by the language: a variable without initialiser,
    /// an `out` parameter. See [`crate::undefined`].
    Undefine {
        d: Slot,
        n: u32,
    },
    /// `d = a op b`, both operands and the result `w` bits wide (comparisons give 0 or 1).
    /// Shifts take a shift amount of any width up to 64 in `b`.
    Alu {
        op: Alu,
        w: u8,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    /// `d = ~a` in `w` bits
    Not {
        w: u8,
        d: Slot,
        a: Slot,
    },
    /// `d = -a` in `w` bits
    Neg {
        w: u8,
        d: Slot,
        a: Slot,
    },
    /// `d = !a` (bool)
    NotBool {
        d: Slot,
        a: Slot,
    },
    /// `d = a ++ b`, where `b` is `w` bits wide and the result at most 64
    Concat {
        w: u8,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    /// `d = a[lo+w-1 : lo]`; with `lo` 0 also truncation
    Slice {
        lo: u8,
        w: u8,
        d: Slot,
        a: Slot,
    },
    /// `d[lo+w-1 : lo] = s` (`s` is `w` bits wide)
    Insert {
        lo: u8,
        w: u8,
        d: Slot,
        s: Slot,
    },
    /// Sign extension from `from` to `to` bits, both at most 64
    SignExtend {
        from: u8,
        to: u8,
        d: Slot,
        a: Slot,
    },
    /// The same operations on values wider than 64 bits: index into [`Program::wide`].
    Wide {
        op: u32,
    },

    /// Reads `Program::dynamic[r]` at index `idx` into `d`; zero when out of range.
    LoadAt {
        r: u32,
        d: Slot,
        idx: Slot,
    },
    /// Writes `s` to `Program::dynamic[r]` at index `idx`; nothing when out of range.
    StoreAt {
        r: u32,
        s: Slot,
        idx: Slot,
    },

    Jmp {
        t: Pc,
    },
    JmpIf {
        c: Slot,
        t: Pc,
    },
    JmpIfNot {
        c: Slot,
        t: Pc,
    },
    /// Jumps by the value of `v` (at most 64 bits): index into [`Program::switches`].
    Switch {
        v: Slot,
        table: u32,
    },
    Call {
        t: Pc,
    },
    Ret,

    /// Makes the header at `base` valid; its fields become zero if it was invalid.
    SetValid {
        layout: LayoutId,
        base: Slot,
    },
    /// Makes the header at `base` invalid and its fields zero.
    SetInvalid {
        layout: LayoutId,
        base: Slot,
    },
    /// `push_front(n)` (positive) or `pop_front(-n)` of [`Program::stacks`]`[stack]`
    StackShift {
        stack: u32,
        by: i32,
    },

    /// Marks the start of a parser state: index into [`Program::states`].
    State {
        state: u32,
    },
    /// Extracts the header at `base`; a short packet ends the parser with PacketTooShort.
    Extract {
        layout: LayoutId,
        base: Slot,
    },
    /// Two-argument `extract`: `bits` holds the length of the header's varbit field.
    ExtractVar {
        layout: LayoutId,
        base: Slot,
        bits: Slot,
    },
    /// Extracts into `stack.next` and advances it; full: StackOutOfBounds.
    ExtractNext {
        stack: u32,
    },
    /// The same with a varbit length.
    ExtractNextVar {
        stack: u32,
        bits: Slot,
    },
    /// Copies the next `w` bits to `d` without consuming them; short: PacketTooShort.
    Lookahead {
        w: u32,
        d: Slot,
    },
    /// Skips as many bits as `bits` says; short: PacketTooShort.
    Advance {
        bits: Slot,
    },
    /// `d = packet.length()` in bytes
    PacketLength {
        d: Slot,
    },
    /// Ends the whole parser with the error code in `err` (0 is NoError).
    Reject {
        err: Slot,
    },
    /// `d` = index of the last extracted element; `StackOutOfBounds` ends the parser if there is none.
    StackLast {
        stack: u32,
        d: Slot,
    },
    /// `d = 1` if the value set matches the key words at `key`.
    InValueSet {
        set: u32,
        d: Slot,
        key: Slot,
    },

    /// Appends the header at `base` to the outgoing packet if it is valid.
    Emit {
        layout: LayoutId,
        base: Slot,
    },

    /// Looks up the key at the table's key slots, writes `hit` and `chosen`, copies the entry's
    /// data to the action's parameters and runs the action.
    Apply {
        table: TableId,
    },
    /// Calls the host: index into [`Program::calls`].
    Extern {
        call: CallId,
    },
    /// Never executed in a well-formed program.
    Trap,
}

/// Binary operations. Unsigned unless the name says signed (`S`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alu {
    Add,
    Sub,
    Mul,
    /// Division by zero gives 0 (the compiler refuses it where it can see it).
    Div,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    /// arithmetic shift right
    ShrS,
    AddSat,
    SubSat,
    AddSatS,
    SubSatS,
    Eq,
    Ne,
    Lt,
    Le,
    LtS,
    LeS,
}

/// An operation in which some operand is wider than 64 bits. `dw`, `aw`, `bw` are the widths in
/// bits of destination and operands (`d` of a comparison is one word).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideOp {
    pub kind: WideKind,
    pub d: Slot,
    pub dw: u32,
    pub a: Slot,
    pub aw: u32,
    pub b: Slot,
    pub bw: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WideKind {
    /// Operands of equal width `aw`; shifts: `b` is the amount, `bw` wide.
    Alu(Alu),
    Not,
    Neg,
    /// `d = a ++ b`
    Concat,
    /// `d = a[lo+dw-1 : lo]`
    Slice {
        lo: u32,
    },
    /// `d[lo+aw-1 : lo] = a`
    Insert {
        lo: u32,
    },
    /// sign extension from `aw` to `dw`
    SignExtend,
}

/// An element of a header stack picked at run time: the words
/// `base + idx*stride .. + n` for `idx < count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicRef {
    pub base: Slot,
    pub stride: u32,
    pub count: u32,
    pub n: u32,
    /// Stores happen only if the word at `valid + idx*stride` is non-zero (a field of a header).
    pub valid: Option<Slot>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchTable {
    /// Sorted by value, each value once.
    pub cases: Vec<(u64, Pc)>,
    pub default: Pc,
}

/// How a type's header lies in the frame and in the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderLayout {
    /// Name of the header type
    pub name: Name,
    pub fields: Vec<FieldLayout>,
    /// Frame words of the whole header, valid word included
    pub words: u32,
    /// Packet bits without varbit fields
    pub fixed_bits: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    pub name: Name,
    /// Frame words from the header's base to the field
    pub offset: u32,
    /// Width in bits; the maximum for a varbit, whose first frame word holds the actual length
    pub width: u32,
    pub varbit: bool,
    pub kind: ValueKind,
}

/// An instance of a header stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    pub name: Name,
    /// Slot of the `next_index` word; the elements follow it.
    pub next: Slot,
    pub count: u32,
    /// Frame words per element
    pub stride: u32,
    /// Layout of the elements; `None` for a stack of unions.
    pub layout: Option<LayoutId>,
}

impl Stack {
    pub fn element(&self, index: u32) -> Slot {
        self.next + 1 + index * self.stride
    }
}

/// How a word pattern is to be shown, and what type it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    Bit,
    Int,
    Bool,
    Varbit,
    Error,
    /// Index into [`Program::enums`]; the value is the index of the member.
    Enum(u32),
    /// Enum with an underlying type; the value is the member's value.
    SerEnum(u32),
    /// The valid word of a header
    Valid,
    /// The next-index word of a stack
    NextIndex,
}

/// Where a value of `width` bits is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub slot: Slot,
    pub width: u32,
    pub kind: ValueKind,
}

/// A named leaf of the frame, for traces, P4Info and architectures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// As a reader of the program would write it: `hdr.bier.ttl`, `meta.remaining`
    pub name: Name,
    pub place: Place,
    /// The valid word of the header this is a field of
    pub header: Option<Slot>,
    /// The indices named by `@field_list(...)` on it or on a struct around it
    pub field_lists: Vec<u32>,
    pub span: Span,
}

/// A region of the frame that parameters of blocks are bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// The architecture's name for it (see [`crate::lower::Binding`]), or `Block.param`
    pub key: Name,
    pub base: Slot,
    pub words: u32,
    /// The leaves, with names relative to the region: `egress_spec`, `bier.ttl`,
    /// and indices into [`Program::vars`]
    pub leaves: Vec<(Name, u32)>,
    /// The headers of the region in declaration order (stack elements and union members each),
    /// named relative to the region
    pub headers: Vec<HeaderInst>,
}

impl Storage {
    /// Index into [`Program::vars`] of the leaf `name`, such as `egress_spec`.
    pub fn leaf(&self, name: &str) -> Option<u32> {
        self.leaves
            .iter()
            .find(|(leaf, _)| &**leaf == name)
            .map(|(_, var)| *var)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderInst {
    pub name: Name,
    pub layout: LayoutId,
    pub base: Slot,
}

/// A parser or control given to the package, in the package's parameter order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Name of the parser or control type in the program: `MyIngress`
    pub name: Name,
    /// The package's parameter that it was given to, through packages inside the package:
    /// `ig`, `pipe0.ingress`
    pub role: Name,
    pub is_parser: bool,
    pub entry: Pc,
    pub params: Vec<BlockParam>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockParam {
    pub name: Name,
    /// Index into [`Program::storages`]; `None` for packet_in, packet_out and other externs.
    pub storage: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Control-plane name: `MyIngress.ipv4_lpm`, or as `@name` says
    pub name: Name,
    pub span: Span,
    pub keys: Vec<Key>,
    /// The key as one run of words, in the order of `keys`
    pub key: Slot,
    pub key_words: u32,
    /// In source order; entries refer to actions by index in this list.
    pub actions: Vec<TableAction>,
    pub default: ActionCall,
    pub const_default: bool,
    /// Entries written in the program, in source order
    pub entries: Vec<ConstEntry>,
    /// `const entries`
    pub const_entries: bool,
    /// For `entries` with explicit priorities; true unless the table says otherwise.
    pub largest_priority_wins: bool,
    pub size: Option<u64>,
    /// Written by [`Op::Apply`]: 1 or 0
    pub hit: Slot,
    /// Written by [`Op::Apply`]: index into `actions`
    pub chosen: Slot,
    /// Properties with an extern instance: `implementation`, `counters`, `meters`, ...
    pub instances: Vec<(Name, InstanceId)>,
    /// Other properties with a constant value, such as `support_timeout`
    pub properties: Vec<(Name, ConstArg)>,
    pub annotations: Vec<Annotation>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Control-plane name: `hdr.ipv4.dst_addr`, or as `@name` says
    pub name: Name,
    /// `exact`, `lpm`, `ternary`, `range`, `optional`, `selector`, or an architecture's own
    pub match_kind: Name,
    pub place: Place,
    pub compared: Compared,
    pub span: Span,
    pub annotations: Vec<Annotation>,
}

/// How bmv2 compares a key where that is not what its match kind says; the default says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Zero bits before the key that prefixes count
    pub padding: u32,
    /// The bits of entries that matter, if not all do
    pub mask: Option<Vec<u64>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableAction {
    pub action: ActionId,
    pub default_only: bool,
    pub table_only: bool,
}

/// An action with its data: the words of all its parameters in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionCall {
    /// Index into the table's `actions`
    pub action: u32,
    pub data: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstEntry {
    pub span: Span,
    /// Marked `const` itself, in a list that is not
    pub is_const: bool,
    /// One per key
    pub matches: Vec<ConstMatch>,
    pub call: ActionCall,
    pub priority: Option<u64>,
}

/// Values are words as in the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstMatch {
    /// `_` or `default`
    Any,
    Exact(Vec<u64>),
    /// For lpm keys the mask is a prefix.
    Masked {
        value: Vec<u64>,
        mask: Vec<u64>,
    },
    Range {
        low: Vec<u64>,
        high: Vec<u64>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Control-plane name
    pub name: Name,
    pub span: Span,
    /// The parameters that the control plane gives, in order; their slots follow one another.
    pub params: Vec<ActionParam>,
    pub entry: Pc,
    pub annotations: Vec<Annotation>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionParam {
    pub name: Name,
    pub place: Place,
    pub annotations: Vec<Annotation>,
}

/// `@name(body)` with its body as text, for control planes and architectures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    pub name: Name,
    pub body: Name,
}

/// One instance of an extern object: `register<bit<32>>(1024) r;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Control-plane name
    pub name: Name,
    /// Name of the extern type
    pub extern_type: Name,
    /// Its type arguments
    pub types: Vec<TypeShape>,
    pub args: Vec<ConstArg>,
    /// The abstract methods of the extern that the program implements for this instance
    pub methods: Vec<Method>,
    pub annotations: Vec<Annotation>,
    pub span: Span,
}

impl Instance {
    /// The implementation of the abstract method `name`.
    pub fn method(&self, name: &str) -> Option<&Method> {
        self.methods.iter().find(|method| &*method.name == name)
    }
}

/// An abstract method with its body: a routine that an extern's host calls back. The host writes
/// the parameters that are `is_in`, zeroes the others, runs the code from `entry` to its
/// [`Op::Ret`], and reads the parameters that are `is_out` and the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    pub name: Name,
    pub entry: Pc,
    pub params: Vec<MethodParam>,
    /// One place per leaf of its type, empty for `void`
    pub result: Vec<Place>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodParam {
    pub name: Name,
    pub is_in: bool,
    pub is_out: bool,
    /// One place per leaf of its type
    pub places: Vec<Place>,
}

/// A compile-time argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstArg {
    Int(num_bigint::BigInt),
    Bool(bool),
    String(Name),
    /// Member name of an enum or error
    Member(Name),
    Instance(InstanceId),
    List(Vec<ConstArg>),
    /// Not given (an optional parameter)
    Missing,
}

/// The flattened leaves of a type: one for a scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeShape {
    /// As written: `bit<32>`, `my_digest_t`
    pub name: Name,
    pub leaves: Vec<(Name, u32, ValueKind)>,
}

/// One place in the program where an extern is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternCall {
    /// `mark_to_drop`, or `register.write` for a method
    pub name: Name,
    pub instance: Option<InstanceId>,
    pub types: Vec<TypeShape>,
    pub args: Vec<ExternArg>,
    /// Where the result goes; one place per leaf of its type, empty for `void`.
    pub result: Vec<Place>,
    /// Which call of the source it is. An action used in several tables is lowered more than once,
    /// and calls that a macro wrote share their span.
    pub source: NodeId,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternArg {
    pub name: Name,
    /// The extern may read the value.
    pub is_in: bool,
    /// The extern may write the value.
    pub is_out: bool,
    pub value: ArgValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgValue {
    Scalar(Place),
    /// A list, tuple, struct or header: its leaves in order. Fields of a header carry the slot of
    /// its valid word.
    List(Vec<(Place, Option<Slot>)>),
    String(Name),
    Instance(InstanceId),
    /// Not given (an optional parameter)
    Missing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSet {
    pub name: Name,
    pub size: u64,
    /// The components of an element, in order
    pub fields: Vec<Key>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateInfo {
    /// `MyParser.parse_ipv4`
    pub name: Name,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumInfo {
    pub name: Name,
    /// Member names; with an underlying type also their values as words.
    pub members: Vec<(Name, Vec<u64>)>,
}

/// A whole program, ready to run on any architecture that knows its package.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name of the package type: `V1Switch`
    pub package: Name,
    pub code: Vec<Op>,
    /// Where each instruction comes from; same length as `code`
    pub spans: Vec<Span>,
    /// Size of the frame in words
    pub frame_words: u32,
    /// Slots from here to the end of the frame hold constants, never written by code; slots
    /// before it start as zero for every packet.
    pub constant_base: Slot,
    /// Values of the constant slots, from `constant_base` on
    pub constants: Vec<u64>,
    pub wide: Vec<WideOp>,
    pub dynamic: Vec<DynamicRef>,
    pub switches: Vec<SwitchTable>,
    pub layouts: Vec<HeaderLayout>,
    pub stacks: Vec<Stack>,
    pub states: Vec<StateInfo>,
    pub vars: Vec<Var>,
    pub storages: Vec<Storage>,
    pub blocks: Vec<Block>,
    /// Parameters of the package that were given the same package as one before them: `pipe2`, and
    /// `pipe0`
    pub same: Vec<(Name, Name)>,
    /// Packages inside the package: the parameter, and the name of what it was given first
    pub inner: Vec<(Name, Name)>,
    pub tables: Vec<Table>,
    pub actions: Vec<Action>,
    pub instances: Vec<Instance>,
    pub calls: Vec<ExternCall>,
    pub value_sets: Vec<ValueSet>,
    pub enums: Vec<EnumInfo>,
    /// Names of the error codes; index 0 is NoError, the others of core.p4 follow in its order:
    /// PacketTooShort, NoMatch, StackOutOfBounds, HeaderTooShort, ParserTimeout,
    /// ParserInvalidArgument
    pub errors: Vec<Name>,
    /// As in bmv2, the fields of an invalid header keep what they held: what this packet or an
    /// earlier one left in them.
    pub keeps_invalid: bool,
}

impl Program {
    /// The region bound to the architecture's name `key`. Of several packages inside the package
    /// each but the first has regions of its own: `pipe1.ig_hdr`.
    pub fn storage(&self, key: &str) -> Option<&Storage> {
        self.storages.iter().find(|storage| &*storage.key == key)
    }

    /// The value of a slot that holds a constant.
    pub fn constant(&self, slot: Slot) -> Option<u64> {
        let index = slot.checked_sub(self.constant_base)?;
        self.constants.get(index as usize).copied()
    }
}
