//! The messages of BF Runtime, field by field with the numbers of `bfruntime.proto`.
//!
//! Only what the server reads or writes has a field; prost skips the others.

use p4_runtime::messages::RpcStatus;
use prost::{Enumeration, Message, Oneof};

#[derive(Clone, Copy, PartialEq, Message)]
pub struct TargetDevice {
    #[prost(uint32, tag = "1")]
    pub device_id: u32,
    /// 0xffff: all of them
    #[prost(uint32, tag = "2")]
    pub pipe_id: u32,
    #[prost(uint32, tag = "3")]
    pub direction: u32,
    #[prost(uint32, tag = "4")]
    pub prsr_id: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum Atomicity {
    ContinueOnError = 0,
    RollbackOnError = 1,
    DataplaneAtomic = 2,
}

#[derive(Clone, PartialEq, Message)]
pub struct WriteRequest {
    #[prost(message, optional, tag = "1")]
    pub target: Option<TargetDevice>,
    #[prost(uint32, tag = "2")]
    pub client_id: u32,
    #[prost(message, repeated, tag = "3")]
    pub updates: Vec<Update>,
    #[prost(enumeration = "Atomicity", tag = "4")]
    pub atomicity: i32,
    #[prost(string, tag = "5")]
    pub p4_name: String,
}

/// All has been done; what is refused ends the call, unless the client wants it here.
#[derive(Clone, PartialEq, Message)]
pub struct WriteResponse {
    #[prost(message, repeated, tag = "1")]
    pub status: Vec<BatchError>,
}

/// What became of one part of a batch; canonical code 0: it was done.
#[derive(Clone, PartialEq, Message)]
pub struct BatchError {
    #[prost(int32, tag = "1")]
    pub canonical_code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(int32, tag = "4")]
    pub code: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadRequest {
    #[prost(message, optional, tag = "1")]
    pub target: Option<TargetDevice>,
    #[prost(uint32, tag = "2")]
    pub client_id: u32,
    #[prost(message, repeated, tag = "3")]
    pub entities: Vec<Entity>,
    #[prost(string, tag = "4")]
    pub p4_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadResponse {
    #[prost(message, repeated, tag = "1")]
    pub entities: Vec<Entity>,
    #[prost(message, repeated, tag = "2")]
    pub status: Vec<BatchError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum UpdateType {
    Unspecified = 0,
    Insert = 1,
    Modify = 2,
    /// Adds to what lists hold, or takes from it
    ModifyInc = 3,
    Delete = 4,
    InsertOrModify = 5,
    /// The default entry, or all cells, as the program has them
    Reset = 6,
}

#[derive(Clone, PartialEq, Message)]
pub struct Update {
    #[prost(enumeration = "UpdateType", tag = "1")]
    pub update_type: i32,
    #[prost(message, optional, tag = "2")]
    pub entity: Option<Entity>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Entity {
    #[prost(oneof = "EntityKind", tags = "1, 2, 3, 4, 5, 6")]
    pub kind: Option<EntityKind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum EntityKind {
    #[prost(message, tag = "1")]
    Entry(TableEntry),
    #[prost(message, tag = "2")]
    Usage(TableUsage),
    #[prost(message, tag = "3")]
    Attribute(TableAttribute),
    #[prost(message, tag = "4")]
    Operation(TableOperation),
    #[prost(message, tag = "5")]
    Object(ObjectId),
    #[prost(message, tag = "6")]
    Handle(HandleId),
}

/// The number by which an entry is known besides its key.
#[derive(Clone, PartialEq, Message)]
pub struct HandleId {
    #[prost(uint32, tag = "1")]
    pub table_id: u32,
    #[prost(oneof = "HandleName", tags = "2, 3")]
    pub name: Option<HandleName>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum HandleName {
    #[prost(message, tag = "2")]
    Key(TableKey),
    #[prost(uint32, tag = "3")]
    Handle(u32),
}

/// What a name of the schema has as its id.
#[derive(Clone, PartialEq, Message)]
pub struct ObjectId {
    #[prost(message, optional, tag = "1")]
    pub table: Option<TableObject>,
    #[prost(message, optional, tag = "2")]
    pub learn: Option<LearnObject>,
    #[prost(uint32, tag = "3")]
    pub id: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct TableObject {
    #[prost(string, tag = "1")]
    pub table_name: String,
    #[prost(message, optional, tag = "2")]
    pub action: Option<PlainName>,
    #[prost(message, optional, tag = "3")]
    pub key_field: Option<PlainName>,
    #[prost(message, optional, tag = "4")]
    pub data_field: Option<DataFieldName>,
}

#[derive(Clone, PartialEq, Message)]
pub struct LearnObject {
    #[prost(string, tag = "1")]
    pub learn_name: String,
    #[prost(message, optional, tag = "2")]
    pub data_field: Option<DataFieldName>,
}

/// Of an action or a key field
#[derive(Clone, PartialEq, Message)]
pub struct PlainName {
    #[prost(string, tag = "1")]
    pub name: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct DataFieldName {
    #[prost(string, tag = "1")]
    pub action: String,
    #[prost(string, tag = "2")]
    pub field: String,
}

/// A property of a whole table.
#[derive(Clone, PartialEq, Message)]
pub struct TableAttribute {
    #[prost(uint32, tag = "1")]
    pub table_id: u32,
    #[prost(oneof = "Attribute", tags = "2, 3, 4, 5, 6, 7, 8, 9, 10")]
    pub attribute: Option<Attribute>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Attribute {
    #[prost(message, tag = "2")]
    IdleTable(IdleTable),
    #[prost(message, tag = "3")]
    EntryScope(EntryScope),
    #[prost(message, tag = "4")]
    DynKeyMask(DynKeyMask),
    #[prost(message, tag = "5")]
    DynHashing(DynHashing),
    #[prost(message, tag = "6")]
    ByteCountAdjust(ByteCountAdjust),
    #[prost(message, tag = "7")]
    PortStatus(Enabled),
    /// Milliseconds
    #[prost(message, tag = "8")]
    PollInterval(Number),
    #[prost(message, tag = "9")]
    PreDevice(PreDevice),
    #[prost(message, tag = "10")]
    SelectorUpdate(Enabled),
}

/// Times in milliseconds.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct IdleTable {
    #[prost(uint32, tag = "1")]
    pub ttl_query_interval: u32,
    #[prost(uint32, tag = "2")]
    pub max_ttl: u32,
    #[prost(uint32, tag = "3")]
    pub min_ttl: u32,
    #[prost(enumeration = "IdleMode", tag = "4")]
    pub mode: i32,
    #[prost(bool, tag = "5")]
    pub enable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum IdleMode {
    /// Clients ask which entries were hit.
    Poll = 0,
    /// Clients are told of entries whose time is over.
    Notify = 1,
}

/// Which pipes, gresses or parsers share what is written.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct EntryScope {
    #[prost(message, optional, tag = "1")]
    pub gress: Option<Mode>,
    #[prost(message, optional, tag = "2")]
    pub pipe: Option<Mode>,
    #[prost(message, optional, tag = "3")]
    pub parser: Option<Mode>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Mode {
    #[prost(oneof = "Sharing", tags = "1, 2")]
    pub sharing: Option<Sharing>,
    #[prost(uint64, tag = "3")]
    pub args: u64,
}

#[derive(Clone, Copy, PartialEq, Oneof)]
pub enum Sharing {
    #[prost(enumeration = "Predefined", tag = "1")]
    Predefined(i32),
    /// For each scope a byte, of the pipes that it is made of
    #[prost(uint64, tag = "2")]
    UserDefined(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum Predefined {
    All = 0,
    Single = 1,
}

#[derive(Clone, PartialEq, Message)]
pub struct DynKeyMask {
    #[prost(message, repeated, tag = "1")]
    pub fields: Vec<KeyFieldMask>,
}

#[derive(Clone, PartialEq, Message)]
pub struct KeyFieldMask {
    #[prost(uint32, tag = "1")]
    pub field_id: u32,
    #[prost(bytes = "vec", tag = "2")]
    pub mask: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct DynHashing {
    #[prost(uint32, tag = "1")]
    pub alg: u32,
    #[prost(uint64, tag = "2")]
    pub seed: u64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct ByteCountAdjust {
    #[prost(int32, tag = "1")]
    pub bytes: i32,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Enabled {
    #[prost(bool, tag = "1")]
    pub enable: bool,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Number {
    #[prost(uint32, tag = "1")]
    pub value: u32,
}

/// Of the replication engine as a whole; what is left out stays.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct PreDevice {
    #[prost(message, optional, tag = "1")]
    pub global_rid: Option<Number>,
    #[prost(message, optional, tag = "2")]
    pub port_protection: Option<Enabled>,
    #[prost(message, optional, tag = "3")]
    pub fast_failover: Option<Enabled>,
    #[prost(message, optional, tag = "4")]
    pub max_nodes_before_yield: Option<Number>,
    #[prost(message, optional, tag = "5")]
    pub max_node_threshold: Option<NodeThreshold>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct NodeThreshold {
    #[prost(uint32, tag = "1")]
    pub node_count: u32,
    #[prost(uint32, tag = "2")]
    pub port_lag_count: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct TableEntry {
    #[prost(uint32, tag = "1")]
    pub table_id: u32,
    #[prost(oneof = "EntryName", tags = "2, 7")]
    pub name: Option<EntryName>,
    #[prost(message, optional, tag = "3")]
    pub data: Option<TableData>,
    #[prost(bool, tag = "4")]
    pub is_default_entry: bool,
    #[prost(message, optional, tag = "8")]
    pub entry_tgt: Option<TargetDevice>,
    #[prost(message, optional, tag = "9")]
    pub table_flags: Option<TableFlags>,
}

/// Which entry of a table.
#[derive(Clone, PartialEq, Oneof)]
pub enum EntryName {
    #[prost(message, tag = "2")]
    Key(TableKey),
    #[prost(uint32, tag = "7")]
    Handle(u32),
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct TableFlags {
    #[prost(bool, tag = "1")]
    pub from_hw: bool,
    #[prost(bool, tag = "2")]
    pub key_only: bool,
    #[prost(bool, tag = "3")]
    pub mod_del: bool,
    #[prost(bool, tag = "4")]
    pub reset_ttl: bool,
    #[prost(bool, tag = "5")]
    pub reset_stats: bool,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct TableUsage {
    #[prost(uint32, tag = "1")]
    pub table_id: u32,
    #[prost(uint32, tag = "2")]
    pub usage: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct TableOperation {
    #[prost(uint32, tag = "1")]
    pub table_id: u32,
    /// One of `supported_operations` of the schema
    #[prost(string, tag = "2")]
    pub operation: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct TableData {
    #[prost(uint32, tag = "1")]
    pub action_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub fields: Vec<DataField>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DataField {
    #[prost(uint32, tag = "1")]
    pub field_id: u32,
    #[prost(oneof = "DataValue", tags = "2, 3, 4, 5, 6, 7, 8, 9")]
    pub value: Option<DataValue>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum DataValue {
    /// A number, most significant byte first
    #[prost(bytes, tag = "2")]
    Stream(Vec<u8>),
    #[prost(float, tag = "3")]
    Float(f32),
    #[prost(string, tag = "4")]
    Text(String),
    #[prost(message, tag = "5")]
    Ints(IntArray),
    #[prost(message, tag = "6")]
    Bools(BoolArray),
    #[prost(message, tag = "7")]
    Containers(ContainerArray),
    #[prost(bool, tag = "8")]
    Bool(bool),
    #[prost(message, tag = "9")]
    Texts(TextArray),
}

#[derive(Clone, PartialEq, Message)]
pub struct IntArray {
    #[prost(uint32, repeated, tag = "1")]
    pub val: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BoolArray {
    #[prost(bool, repeated, tag = "1")]
    pub val: Vec<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TextArray {
    #[prost(string, repeated, tag = "1")]
    pub val: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ContainerArray {
    #[prost(message, repeated, tag = "1")]
    pub container: Vec<Container>,
}

/// Fields that go together
#[derive(Clone, PartialEq, Message)]
pub struct Container {
    #[prost(message, repeated, tag = "1")]
    pub val: Vec<DataField>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TableKey {
    #[prost(message, repeated, tag = "1")]
    pub fields: Vec<KeyField>,
}

#[derive(Clone, PartialEq, Message)]
pub struct KeyField {
    #[prost(uint32, tag = "1")]
    pub field_id: u32,
    #[prost(oneof = "KeyValue", tags = "2, 3, 4, 5, 6")]
    pub value: Option<KeyValue>,
}

/// Numbers have their most significant byte first.
#[derive(Clone, PartialEq, Oneof)]
pub enum KeyValue {
    #[prost(message, tag = "2")]
    Exact(Exact),
    #[prost(message, tag = "3")]
    Ternary(Ternary),
    #[prost(message, tag = "4")]
    Lpm(Lpm),
    #[prost(message, tag = "5")]
    Range(Range),
    #[prost(message, tag = "6")]
    Optional(Optional),
}

#[derive(Clone, PartialEq, Message)]
pub struct Exact {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Ternary {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub mask: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Lpm {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
    /// In bits
    #[prost(int32, tag = "2")]
    pub prefix_len: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Range {
    #[prost(bytes = "vec", tag = "1")]
    pub low: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub high: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Optional {
    #[prost(bytes = "vec", tag = "1")]
    pub value: Vec<u8>,
    #[prost(bool, tag = "2")]
    pub is_valid: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct StreamMessageRequest {
    #[prost(uint32, tag = "1")]
    pub client_id: u32,
    #[prost(oneof = "StreamRequest", tags = "2, 3")]
    pub update: Option<StreamRequest>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum StreamRequest {
    #[prost(message, tag = "2")]
    Subscribe(Subscribe),
    #[prost(message, tag = "3")]
    DigestAck(DigestListAck),
}

#[derive(Clone, PartialEq, Message)]
pub struct Subscribe {
    #[prost(bool, tag = "1")]
    pub is_master: bool,
    #[prost(uint32, tag = "2")]
    pub device_id: u32,
    #[prost(message, optional, tag = "3")]
    pub notifications: Option<Notifications>,
    /// The server's answer
    #[prost(message, optional, tag = "4")]
    pub status: Option<RpcStatus>,
}

/// What a client wants to be told.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Notifications {
    #[prost(bool, tag = "1")]
    pub learn: bool,
    #[prost(bool, tag = "2")]
    pub idle_timeout: bool,
    #[prost(bool, tag = "3")]
    pub port_status: bool,
    #[prost(bool, tag = "4")]
    pub entry_active: bool,
    #[prost(bool, tag = "5")]
    pub selector_update: bool,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct DigestListAck {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(uint32, tag = "2")]
    pub list_id: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct StreamMessageResponse {
    #[prost(oneof = "StreamResponse", tags = "1, 2, 3, 4, 5, 6")]
    pub update: Option<StreamResponse>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum StreamResponse {
    #[prost(message, tag = "1")]
    Subscribe(Subscribe),
    #[prost(message, tag = "2")]
    Digests(DigestList),
    #[prost(message, tag = "3")]
    Idle(IdleNotification),
    #[prost(message, tag = "4")]
    PortStatus(PortNotification),
    #[prost(message, tag = "5")]
    Pipeline(SetPipelineResponse),
    #[prost(message, tag = "6")]
    SelectorUpdate(SelectorNotification),
}

/// What a program has sent to be learned.
#[derive(Clone, PartialEq, Message)]
pub struct DigestList {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(uint32, tag = "2")]
    pub list_id: u32,
    #[prost(message, repeated, tag = "3")]
    pub data: Vec<TableData>,
    #[prost(message, optional, tag = "4")]
    pub target: Option<TargetDevice>,
}

#[derive(Clone, PartialEq, Message)]
pub struct IdleNotification {
    #[prost(message, optional, tag = "1")]
    pub target: Option<TargetDevice>,
    #[prost(message, optional, tag = "2")]
    pub entry: Option<TableEntry>,
    #[prost(enumeration = "IdleChange", tag = "3")]
    pub change: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum IdleChange {
    Active = 0,
    Idle = 1,
}

#[derive(Clone, PartialEq, Message)]
pub struct PortNotification {
    #[prost(message, optional, tag = "1")]
    pub entry: Option<TableEntry>,
    #[prost(bool, tag = "2")]
    pub up: bool,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct SelectorNotification {
    #[prost(uint32, tag = "1")]
    pub group: u32,
    #[prost(uint32, tag = "2")]
    pub member: u32,
    #[prost(uint32, tag = "3")]
    pub place: u32,
    #[prost(bool, tag = "4")]
    pub is_add: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum PipelineAction {
    Bind = 0,
    Verify = 1,
    WarmInitBegin = 2,
    WarmInitBeginAndEnd = 3,
    WarmInitEnd = 4,
    ReconcileAndWarmInitEnd = 5,
}

#[derive(Clone, PartialEq, Message)]
pub struct SetPipelineRequest {
    #[prost(uint32, tag = "1")]
    pub device_id: u32,
    #[prost(uint32, tag = "2")]
    pub client_id: u32,
    #[prost(enumeration = "PipelineAction", tag = "3")]
    pub action: i32,
    #[prost(message, repeated, tag = "6")]
    pub config: Vec<PipelineConfig>,
}

/// Whether a warm restart has begun or has ended; the answer to a binding says neither.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct SetPipelineResponse {
    #[prost(int32, tag = "1")]
    pub response_type: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct PipelineConfig {
    #[prost(string, tag = "1")]
    pub p4_name: String,
    /// `bf-rt.json`
    #[prost(bytes = "vec", tag = "2")]
    pub bfruntime_info: Vec<u8>,
    #[prost(message, repeated, tag = "3")]
    pub profiles: Vec<Profile>,
}

/// A pipeline, and the pipes that it runs on.
#[derive(Clone, PartialEq, Message)]
pub struct Profile {
    #[prost(string, tag = "1")]
    pub profile_name: String,
    #[prost(uint32, repeated, tag = "4")]
    pub pipe_scope: Vec<u32>,
}

/// The schema of what a chip has whatever its program.
#[derive(Clone, PartialEq, Message)]
pub struct NonP4Config {
    #[prost(bytes = "vec", tag = "1")]
    pub bfruntime_info: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct GetPipelineRequest {
    #[prost(uint32, tag = "1")]
    pub device_id: u32,
    #[prost(uint32, tag = "2")]
    pub client_id: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetPipelineResponse {
    #[prost(message, repeated, tag = "1")]
    pub config: Vec<PipelineConfig>,
    #[prost(message, optional, tag = "2")]
    pub non_p4_config: Option<NonP4Config>,
}
