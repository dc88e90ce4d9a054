//! What the RPCs carry around entities: batches, capabilities, errors.

use super::entity::Entity;

/// `google.protobuf.Any`: a message of a type that is named beside it.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// `google.rpc.Status`: what gRPC clients find in the error's details.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}

/// `p4.v1.Error`: what became of one update of a batch, or of one request of a read.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Error {
    #[prost(int32, tag = "1")]
    pub canonical_code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(string, tag = "3")]
    pub space: String,
    #[prost(int32, tag = "4")]
    pub code: i32,
}

/// An election id; unset is not the same as 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Message)]
pub struct Uint128 {
    #[prost(uint64, tag = "1")]
    pub high: u64,
    #[prost(uint64, tag = "2")]
    pub low: u64,
}

/// What a batch promises to the data plane and in case of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Atomicity {
    ContinueOnError = 0,
    RollbackOnError = 1,
    DataplaneAtomic = 2,
}

/// What an update does to its entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum UpdateType {
    Unspecified = 0,
    Insert = 1,
    Modify = 2,
    Delete = 3,
}

/// One change of a batch.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Update {
    #[prost(enumeration = "UpdateType", tag = "1")]
    pub r#type: i32,
    #[prost(message, optional, tag = "2")]
    pub entity: Option<Entity>,
}

/// A batch of changes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct WriteRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    /// Deprecated since 1.4
    #[prost(uint64, tag = "2")]
    pub role_id: u64,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(message, repeated, tag = "4")]
    pub updates: Vec<Update>,
    #[prost(enumeration = "Atomicity", tag = "5")]
    pub atomicity: i32,
    #[prost(string, tag = "6")]
    pub role: String,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct WriteResponse {}

/// A batch of filters.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ReadRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(message, repeated, tag = "2")]
    pub entities: Vec<Entity>,
    #[prost(string, tag = "3")]
    pub role: String,
}

/// A part of what a read found.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ReadResponse {
    #[prost(message, repeated, tag = "1")]
    pub entities: Vec<Entity>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CapabilitiesRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CapabilitiesResponse {
    #[prost(string, tag = "1")]
    pub p4runtime_api_version: String,
}
