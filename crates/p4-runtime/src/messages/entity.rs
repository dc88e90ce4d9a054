//! What can be written and read.

use super::data::P4Data;
use super::profile::{ActionProfileGroup, ActionProfileMember};
use super::replication::PacketReplicationEngineEntry;
use super::table::{FieldMatch, TableEntry};

/// One thing that can be written and read.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Entity {
    #[prost(oneof = "EntityKind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
    pub entity: Option<EntityKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum EntityKind {
    #[prost(message, tag = "1")]
    Extern(ExternEntry),
    #[prost(message, tag = "2")]
    Table(TableEntry),
    #[prost(message, tag = "3")]
    Member(ActionProfileMember),
    #[prost(message, tag = "4")]
    Group(ActionProfileGroup),
    #[prost(message, tag = "5")]
    Meter(MeterEntry),
    #[prost(message, tag = "6")]
    DirectMeter(DirectMeterEntry),
    #[prost(message, tag = "7")]
    Counter(CounterEntry),
    #[prost(message, tag = "8")]
    DirectCounter(DirectCounterEntry),
    #[prost(message, tag = "9")]
    Replication(PacketReplicationEngineEntry),
    #[prost(message, tag = "10")]
    ValueSet(ValueSetEntry),
    #[prost(message, tag = "11")]
    Register(RegisterEntry),
    #[prost(message, tag = "12")]
    Digest(DigestEntry),
}

impl From<EntityKind> for Entity {
    fn from(kind: EntityKind) -> Entity {
        Entity { entity: Some(kind) }
    }
}

/// An entry of an extern that the specification does not know.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct ExternEntry {
    #[prost(uint32, tag = "1")]
    pub extern_type_id: u32,
    #[prost(uint32, tag = "2")]
    pub extern_id: u32,
}

/// Place in an array; unset means all places.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Index {
    #[prost(int64, tag = "1")]
    pub index: i64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CounterData {
    #[prost(int64, tag = "1")]
    pub byte_count: i64,
    #[prost(int64, tag = "2")]
    pub packet_count: i64,
}

/// Counts by colour, which this switch does not keep.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct MeterCounterData {
    #[prost(message, optional, tag = "1")]
    pub green: Option<CounterData>,
    #[prost(message, optional, tag = "2")]
    pub yellow: Option<CounterData>,
    #[prost(message, optional, tag = "3")]
    pub red: Option<CounterData>,
}

/// Rates in units per second and bursts in units, of bytes or packets as the meter has it.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct MeterConfig {
    #[prost(int64, tag = "1")]
    pub cir: i64,
    #[prost(int64, tag = "2")]
    pub cburst: i64,
    #[prost(int64, tag = "3")]
    pub pir: i64,
    #[prost(int64, tag = "4")]
    pub pburst: i64,
    #[prost(int64, tag = "5")]
    pub eburst: i64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct MeterEntry {
    #[prost(uint32, tag = "1")]
    pub meter_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub config: Option<MeterConfig>,
    #[prost(message, optional, tag = "4")]
    pub counter_data: Option<MeterCounterData>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectMeterEntry {
    #[prost(message, optional, tag = "1")]
    pub table_entry: Option<TableEntry>,
    #[prost(message, optional, tag = "2")]
    pub config: Option<MeterConfig>,
    #[prost(message, optional, tag = "3")]
    pub counter_data: Option<MeterCounterData>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CounterEntry {
    #[prost(uint32, tag = "1")]
    pub counter_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub data: Option<CounterData>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectCounterEntry {
    #[prost(message, optional, tag = "1")]
    pub table_entry: Option<TableEntry>,
    #[prost(message, optional, tag = "2")]
    pub data: Option<CounterData>,
}

/// One pattern of a value set.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueSetMember {
    #[prost(message, repeated, tag = "1")]
    pub r#match: Vec<FieldMatch>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueSetEntry {
    #[prost(uint32, tag = "1")]
    pub value_set_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub members: Vec<ValueSetMember>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RegisterEntry {
    #[prost(uint32, tag = "1")]
    pub register_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub data: Option<P4Data>,
}

/// How digests are gathered and told.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct DigestEntry {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(message, optional, tag = "2")]
    pub config: Option<DigestConfig>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct DigestConfig {
    /// How long a digest may wait for others
    #[prost(int64, tag = "1")]
    pub max_timeout_ns: i64,
    /// How many digests make a list; 0: any number
    #[prost(int32, tag = "2")]
    pub max_list_size: i32,
    /// How long a digest that was told is not told again, unless it is acknowledged earlier
    #[prost(int64, tag = "3")]
    pub ack_timeout_ns: i64,
}
