//! Table entries.

use super::entity::{CounterData, MeterConfig, MeterCounterData};
use super::profile::ActionProfileActionSet;
use super::rpc::Any;
use prost::bytes::Bytes;

/// An entry of a table, or its default entry.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TableEntry {
    #[prost(uint32, tag = "1")]
    pub table_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub r#match: Vec<FieldMatch>,
    #[prost(message, optional, tag = "3")]
    pub action: Option<TableAction>,
    /// The larger wins
    #[prost(int32, tag = "4")]
    pub priority: i32,
    /// Deprecated since 1.4 for `metadata`, but still kept for its client
    #[prost(uint64, tag = "5")]
    pub controller_metadata: u64,
    #[prost(message, optional, tag = "6")]
    pub meter_config: Option<MeterConfig>,
    #[prost(message, optional, tag = "7")]
    pub counter_data: Option<CounterData>,
    #[prost(bool, tag = "8")]
    pub is_default_action: bool,
    #[prost(int64, tag = "9")]
    pub idle_timeout_ns: i64,
    #[prost(message, optional, tag = "10")]
    pub time_since_last_hit: Option<IdleTimeout>,
    #[prost(bytes = "vec", tag = "11")]
    pub metadata: Vec<u8>,
    #[prost(message, optional, tag = "12")]
    pub meter_counter_data: Option<MeterCounterData>,
    #[prost(bool, tag = "13")]
    pub is_const: bool,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct IdleTimeout {
    #[prost(int64, tag = "1")]
    pub elapsed_ns: i64,
}

/// What one field of the key must look like.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FieldMatch {
    #[prost(uint32, tag = "1")]
    pub field_id: u32,
    #[prost(oneof = "FieldMatchKind", tags = "2, 3, 4, 6, 7, 100")]
    pub field_match_type: Option<FieldMatchKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum FieldMatchKind {
    #[prost(message, tag = "2")]
    Exact(Exact),
    #[prost(message, tag = "3")]
    Ternary(Ternary),
    #[prost(message, tag = "4")]
    Lpm(Lpm),
    #[prost(message, tag = "6")]
    Range(Range),
    #[prost(message, tag = "7")]
    Optional(OptionalMatch),
    #[prost(message, tag = "100")]
    Other(Any),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Exact {
    #[prost(bytes = "bytes", tag = "1")]
    pub value: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Ternary {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub mask: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Lpm {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
    #[prost(int32, tag = "2")]
    pub prefix_len: i32,
}

/// Both ends included
#[derive(Clone, PartialEq, prost::Message)]
pub struct Range {
    #[prost(bytes = "vec", tag = "1")]
    pub low: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub high: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct OptionalMatch {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
}

/// What an entry leads to.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TableAction {
    #[prost(oneof = "TableActionKind", tags = "1, 2, 3, 4")]
    pub r#type: Option<TableActionKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum TableActionKind {
    #[prost(message, tag = "1")]
    Action(Action),
    #[prost(uint32, tag = "2")]
    Member(u32),
    #[prost(uint32, tag = "3")]
    Group(u32),
    /// A group and its members in one message
    #[prost(message, tag = "4")]
    OneShot(ActionProfileActionSet),
}

/// An action and its arguments.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Action {
    #[prost(uint32, tag = "1")]
    pub action_id: u32,
    #[prost(message, repeated, tag = "4")]
    pub params: Vec<Param>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Param {
    #[prost(uint32, tag = "2")]
    pub param_id: u32,
    #[prost(bytes = "bytes", tag = "3")]
    pub value: Bytes,
}
