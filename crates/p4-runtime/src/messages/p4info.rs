//! P4Info: what a program shows to its control plane.

use super::p4types::{DataTypeSpec, NamedType, StructuredAnnotation, TypeInfo};

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Info {
    #[prost(message, optional, tag = "1")]
    pub pkg_info: Option<PkgInfo>,
    #[prost(message, repeated, tag = "2")]
    pub tables: Vec<Table>,
    #[prost(message, repeated, tag = "3")]
    pub actions: Vec<Action>,
    #[prost(message, repeated, tag = "4")]
    pub action_profiles: Vec<ActionProfile>,
    #[prost(message, repeated, tag = "5")]
    pub counters: Vec<Counter>,
    #[prost(message, repeated, tag = "6")]
    pub direct_counters: Vec<DirectCounter>,
    #[prost(message, repeated, tag = "7")]
    pub meters: Vec<Meter>,
    #[prost(message, repeated, tag = "8")]
    pub direct_meters: Vec<DirectMeter>,
    #[prost(message, repeated, tag = "9")]
    pub controller_packet_metadata: Vec<ControllerPacketMetadata>,
    #[prost(message, repeated, tag = "10")]
    pub value_sets: Vec<ValueSet>,
    #[prost(message, repeated, tag = "11")]
    pub registers: Vec<Register>,
    #[prost(message, repeated, tag = "12")]
    pub digests: Vec<Digest>,
    #[prost(message, optional, tag = "200")]
    pub type_info: Option<TypeInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Documentation {
    #[prost(string, tag = "1")]
    pub brief: String,
    #[prost(string, tag = "2")]
    pub description: String,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct PlatformProperties {
    #[prost(int32, tag = "1")]
    pub multicast_group_table_size: i32,
    #[prost(int32, tag = "2")]
    pub multicast_group_table_total_replicas: i32,
    #[prost(int32, tag = "3")]
    pub multicast_group_table_max_replicas_per_entry: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PkgInfo {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
    #[prost(message, optional, tag = "3")]
    pub doc: Option<Documentation>,
    #[prost(string, repeated, tag = "4")]
    pub annotations: Vec<String>,
    #[prost(string, tag = "5")]
    pub arch: String,
    #[prost(string, tag = "6")]
    pub organization: String,
    #[prost(string, tag = "7")]
    pub contact: String,
    #[prost(string, tag = "8")]
    pub url: String,
    #[prost(message, repeated, tag = "9")]
    pub structured_annotations: Vec<StructuredAnnotation>,
    #[prost(message, optional, tag = "11")]
    pub platform_properties: Option<PlatformProperties>,
}

/// Id and names of an object.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Preamble {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub alias: String,
    #[prost(string, repeated, tag = "4")]
    pub annotations: Vec<String>,
    #[prost(message, optional, tag = "5")]
    pub doc: Option<Documentation>,
    #[prost(message, repeated, tag = "6")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MatchField {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, repeated, tag = "3")]
    pub annotations: Vec<String>,
    #[prost(int32, tag = "4")]
    pub bitwidth: i32,
    #[prost(message, optional, tag = "6")]
    pub doc: Option<Documentation>,
    #[prost(message, optional, tag = "8")]
    pub type_name: Option<NamedType>,
    #[prost(message, repeated, tag = "9")]
    pub structured_annotations: Vec<StructuredAnnotation>,
    #[prost(oneof = "MatchKind", tags = "5, 7")]
    pub r#match: Option<MatchKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum MatchKind {
    #[prost(enumeration = "MatchType", tag = "5")]
    MatchType(i32),
    #[prost(string, tag = "7")]
    OtherMatchType(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum MatchType {
    Unspecified = 0,
    Exact = 2,
    Lpm = 3,
    Ternary = 4,
    Range = 5,
    Optional = 6,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Table {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub match_fields: Vec<MatchField>,
    #[prost(message, repeated, tag = "3")]
    pub action_refs: Vec<ActionRef>,
    #[prost(uint32, tag = "4")]
    pub const_default_action_id: u32,
    #[prost(message, optional, tag = "5")]
    pub initial_default_action: Option<TableActionCall>,
    #[prost(uint32, tag = "6")]
    pub implementation_id: u32,
    #[prost(uint32, repeated, tag = "7")]
    pub direct_resource_ids: Vec<u32>,
    #[prost(int64, tag = "8")]
    pub size: i64,
    /// 1: idle entries are told
    #[prost(int32, tag = "9")]
    pub idle_timeout_behavior: i32,
    #[prost(bool, tag = "10")]
    pub is_const_table: bool,
    #[prost(bool, tag = "11")]
    pub has_initial_entries: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TableActionCall {
    #[prost(uint32, tag = "1")]
    pub action_id: u32,
    #[prost(message, repeated, tag = "4")]
    pub arguments: Vec<Argument>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Argument {
    #[prost(uint32, tag = "1")]
    pub param_id: u32,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionRef {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, repeated, tag = "2")]
    pub annotations: Vec<String>,
    /// 0: everywhere, 1: entries only, 2: default only
    #[prost(int32, tag = "3")]
    pub scope: i32,
    #[prost(message, repeated, tag = "4")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Action {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub params: Vec<ActionParam>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionParam {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, repeated, tag = "3")]
    pub annotations: Vec<String>,
    #[prost(int32, tag = "4")]
    pub bitwidth: i32,
    #[prost(message, optional, tag = "5")]
    pub doc: Option<Documentation>,
    #[prost(message, optional, tag = "6")]
    pub type_name: Option<NamedType>,
    #[prost(message, repeated, tag = "7")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfile {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(uint32, repeated, tag = "2")]
    pub table_ids: Vec<u32>,
    #[prost(bool, tag = "3")]
    pub with_selector: bool,
    #[prost(int64, tag = "4")]
    pub size: i64,
    #[prost(int32, tag = "5")]
    pub max_group_size: i32,
    #[prost(oneof = "SelectorSize", tags = "6, 7")]
    pub selector_size_semantics: Option<SelectorSize>,
}

/// What the size of a group counts.
#[derive(Clone, Copy, PartialEq, prost::Oneof)]
pub enum SelectorSize {
    #[prost(message, tag = "6")]
    SumOfWeights(SumOfWeights),
    #[prost(message, tag = "7")]
    SumOfMembers(SumOfMembers),
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SumOfWeights {}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SumOfMembers {
    #[prost(int32, tag = "1")]
    pub max_member_weight: i32,
}

/// What is counted or metered: 1 bytes, 2 packets, 3 both (`CounterSpec`, `MeterSpec`).
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct UnitSpec {
    #[prost(int32, tag = "1")]
    pub unit: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Counter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<UnitSpec>,
    #[prost(int64, tag = "3")]
    pub size: i64,
    #[prost(message, optional, tag = "4")]
    pub index_type_name: Option<NamedType>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectCounter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<UnitSpec>,
    #[prost(uint32, tag = "3")]
    pub direct_table_id: u32,
}

/// Fields and numbers are a counter's; the rates are always two and the colours three.
pub type Meter = Counter;
pub type DirectMeter = DirectCounter;

#[derive(Clone, PartialEq, prost::Message)]
pub struct ControllerPacketMetadata {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<Metadata>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Metadata {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, repeated, tag = "3")]
    pub annotations: Vec<String>,
    #[prost(int32, tag = "4")]
    pub bitwidth: i32,
    #[prost(message, optional, tag = "5")]
    pub type_name: Option<NamedType>,
    #[prost(message, repeated, tag = "6")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueSet {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub r#match: Vec<MatchField>,
    #[prost(int32, tag = "3")]
    pub size: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Register {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub type_spec: Option<DataTypeSpec>,
    #[prost(int32, tag = "3")]
    pub size: i32,
    #[prost(message, optional, tag = "4")]
    pub index_type_name: Option<NamedType>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Digest {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub type_spec: Option<DataTypeSpec>,
}
