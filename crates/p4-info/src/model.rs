//! P4Info as data, message by message and field by field as in `p4/config/v1/p4info.proto` and
//! `p4types.proto` of P4Runtime 1.5. `None` and empty lists are fields that are not set.

use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct P4Info {
    pub pkg_info: Option<PkgInfo>,
    pub tables: Vec<Table>,
    pub actions: Vec<Action>,
    pub action_profiles: Vec<ActionProfile>,
    pub counters: Vec<Counter>,
    pub direct_counters: Vec<DirectCounter>,
    pub meters: Vec<Meter>,
    pub direct_meters: Vec<DirectMeter>,
    pub controller_packet_metadata: Vec<ControllerPacketMetadata>,
    pub value_sets: Vec<ValueSet>,
    pub registers: Vec<Register>,
    pub digests: Vec<Digest>,
    /// Instances that P4Runtime has no message for: filters, hashes and the like of TNA
    pub externs: Vec<Extern>,
    /// The ingress parsers of TNA's pipelines
    pub ingress_parsers: Vec<IngressParser>,
    /// `None` when nothing in the program could have a type worth describing
    pub type_info: Option<TypeInfo>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documentation {
    pub brief: String,
    pub description: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PkgInfo {
    pub name: String,
    pub version: String,
    pub arch: String,
    pub organization: String,
    pub contact: String,
    pub url: String,
    pub notes: Notes,
    pub platform_properties: Option<PlatformProperties>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformProperties {
    pub multicast_group_table_size: i32,
    pub multicast_group_table_total_replicas: i32,
    pub multicast_group_table_max_replicas_per_entry: i32,
}

/// What annotations say about an object, beside those with fields of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// As written: `@mode("fair")`
    pub annotations: Vec<String>,
    pub doc: Option<Documentation>,
    pub structured: Vec<StructuredAnnotation>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructuredAnnotation {
    pub name: String,
    pub body: AnnotationValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnnotationValue {
    List(Vec<Literal>),
    Pairs(Vec<(String, Literal)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    Text(String),
    Int(i64),
    Bool(bool),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preamble {
    pub id: u32,
    /// The full name, without a leading dot
    pub name: String,
    /// The shortest end of `name`, cut at dots, that no other object's name ends in
    pub alias: String,
    pub notes: Notes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub preamble: Preamble,
    pub match_fields: Vec<MatchField>,
    pub action_refs: Vec<ActionRef>,
    pub const_default_action_id: Option<u32>,
    pub initial_default_action: TableActionCall,
    pub implementation_id: Option<u32>,
    pub direct_resource_ids: Vec<u32>,
    /// Number of entries that the program asks room for
    pub size: i64,
    /// Entries that age are reported to the controller.
    pub notifies_timeouts: bool,
    pub is_const_table: bool,
    pub has_initial_entries: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableActionCall {
    pub action_id: u32,
    /// Parameter id and value, most significant byte first
    pub arguments: Vec<(u32, Vec<u8>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchType {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
    /// A kind that P4Runtime does not know
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchField {
    pub id: u32,
    pub name: String,
    pub notes: Notes,
    pub bitwidth: i32,
    pub match_type: MatchType,
    pub type_name: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    #[default]
    TableAndDefault,
    TableOnly,
    DefaultOnly,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionRef {
    pub id: u32,
    pub scope: Scope,
    pub notes: Notes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Action {
    pub preamble: Preamble,
    pub params: Vec<Field>,
}

/// A parameter of an action, or a field of a packet from or to the controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    pub id: u32,
    pub name: String,
    pub notes: Notes,
    pub bitwidth: i32,
    pub type_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionProfile {
    pub preamble: Preamble,
    pub table_ids: Vec<u32>,
    pub with_selector: bool,
    pub size: i64,
    pub max_group_size: i32,
    pub size_semantics: Option<SizeSemantics>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeSemantics {
    SumOfWeights,
    SumOfMembers { max_member_weight: i32 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    #[default]
    Unspecified,
    Bytes,
    Packets,
    Both,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    pub preamble: Preamble,
    pub unit: Unit,
    pub size: i64,
    pub index_type_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectCounter {
    pub preamble: Preamble,
    pub unit: Unit,
    pub direct_table_id: u32,
}

/// Like a counter, but its unit is never `Both`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    pub preamble: Preamble,
    pub unit: Unit,
    pub size: i64,
    pub index_type_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectMeter {
    pub preamble: Preamble,
    pub unit: Unit,
    pub direct_table_id: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControllerPacketMetadata {
    pub preamble: Preamble,
    pub metadata: Vec<Field>,
    /// The header's fields as they lie in a packet: the id of each, `None` where controllers do not
    /// see it, and its width in bits, which is not the controller's where its type is translated
    pub layout: Vec<(Option<u32>, u32)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueSet {
    pub preamble: Preamble,
    pub matches: Vec<MatchField>,
    pub size: i32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    pub preamble: Preamble,
    pub type_spec: DataType,
    pub size: i32,
    pub index_type_name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    pub preamble: Preamble,
    pub type_spec: DataType,
}

/// An extern instance of an architecture's own, or an action selector that has a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extern {
    /// The full name, without a leading dot
    pub name: String,
    /// What it is an instance of
    pub extern_type: String,
    pub notes: Notes,
    /// What is in the cells of registers
    pub data: Option<DataType>,
    /// Constructor arguments that are numbers, by their parameters
    pub numbers: Vec<(String, i64)>,
    /// Those that are other instances, with the full names of these
    pub instances: Vec<(String, String)>,
    /// The table that it belongs to, for direct ones
    pub table_id: Option<u32>,
    /// What a hash is of, if the program asks for it in one place
    pub hashed: Option<Hashed>,
}

/// How a program uses a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hashed {
    pub fields: Vec<HashField>,
    /// Lowest bits of the result that it takes, if not all
    pub width: Option<u32>,
}

/// A field that a hash is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashField {
    /// As the program writes it; of a constant the number
    pub name: String,
    pub data: DataType,
    pub is_constant: bool,
}

/// What stands between a port of a Tofino and the packets of that port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngressParser {
    /// The name of the pipeline's instance
    pub pipeline: String,
    /// The parsers and controls of that pipeline
    pub blocks: Vec<String>,
    pub parser: String,
    /// What the parser calls the ingress' intrinsic metadata
    pub intrinsic: String,
    /// As what it unpacks the port's metadata; `None`: it skips them
    pub port_metadata: Option<DataType>,
}

/// The declarations behind the type names that P4Info mentions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeInfo {
    pub structs: BTreeMap<String, Vec<(String, DataType)>>,
    pub headers: BTreeMap<String, Vec<(String, BitString)>>,
    /// Members and the names of their header types
    pub header_unions: BTreeMap<String, Vec<(String, String)>>,
    pub enums: BTreeMap<String, Vec<String>>,
    pub errors: Option<Vec<String>>,
    pub serializable_enums: BTreeMap<String, SerializableEnum>,
    pub new_types: BTreeMap<String, NewType>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SerializableEnum {
    /// In bits
    pub width: i32,
    /// Names and values, most significant byte first
    pub members: Vec<(String, Vec<u8>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewType {
    pub representation: Representation,
    pub notes: Notes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Representation {
    Original(DataType),
    /// `@p4runtime_translation`: what the controller sees instead
    Translated {
        uri: String,
        /// Width of the controller's numbers, `None` for strings
        bitwidth: Option<i32>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitString {
    Bit(i32),
    Int(i32),
    /// The greatest width
    Varbit(i32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataType {
    BitString(BitString),
    Bool,
    Tuple(Vec<DataType>),
    Struct(String),
    Header(String),
    HeaderUnion(String),
    HeaderStack(String, i32),
    HeaderUnionStack(String, i32),
    Enum(String),
    Error,
    SerializableEnum(String),
    NewType(String),
}
