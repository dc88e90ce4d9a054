//! What goes over the stream channel.

use super::data::P4Data;
use super::rpc::{Any, RpcStatus, Uint128};
use super::table::TableEntry;

#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamMessageRequest {
    #[prost(oneof = "StreamRequest", tags = "1, 2, 3, 4")]
    pub update: Option<StreamRequest>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum StreamRequest {
    #[prost(message, tag = "1")]
    Arbitration(ArbitrationUpdate),
    #[prost(message, tag = "2")]
    Packet(PacketOut),
    #[prost(message, tag = "3")]
    DigestAck(DigestListAck),
    #[prost(message, tag = "4")]
    Other(Any),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamMessageResponse {
    #[prost(oneof = "StreamResponse", tags = "1, 2, 3, 4, 6")]
    pub update: Option<StreamResponse>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum StreamResponse {
    #[prost(message, tag = "1")]
    Arbitration(ArbitrationUpdate),
    #[prost(message, tag = "2")]
    Packet(PacketIn),
    #[prost(message, tag = "3")]
    Digest(DigestList),
    #[prost(message, tag = "4")]
    IdleTimeout(IdleTimeoutNotification),
    #[prost(message, tag = "6")]
    Error(StreamError),
}

/// Who wants to be, or who is, the primary of a role (`MasterArbitrationUpdate`).
#[derive(Clone, PartialEq, prost::Message)]
pub struct ArbitrationUpdate {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(message, optional, tag = "2")]
    pub role: Option<Role>,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    /// Set by the server
    #[prost(message, optional, tag = "4")]
    pub status: Option<RpcStatus>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Role {
    /// Deprecated since 1.4
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(message, optional, tag = "2")]
    pub config: Option<Any>,
    #[prost(string, tag = "3")]
    pub name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketOut {
    #[prost(bytes = "vec", tag = "1")]
    pub payload: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<PacketMetadata>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketIn {
    #[prost(bytes = "vec", tag = "1")]
    pub payload: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<PacketMetadata>,
}

/// A field of the controller header.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketMetadata {
    #[prost(uint32, tag = "1")]
    pub metadata_id: u32,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DigestList {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(uint64, tag = "2")]
    pub list_id: u64,
    #[prost(message, repeated, tag = "3")]
    pub data: Vec<P4Data>,
    /// Nanoseconds since the Epoch
    #[prost(int64, tag = "4")]
    pub timestamp: i64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct DigestListAck {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(uint64, tag = "2")]
    pub list_id: u64,
}

/// Entries that nothing has hit for their time.
#[derive(Clone, PartialEq, prost::Message)]
pub struct IdleTimeoutNotification {
    #[prost(message, repeated, tag = "1")]
    pub table_entry: Vec<TableEntry>,
    /// Nanoseconds since the Epoch
    #[prost(int64, tag = "2")]
    pub timestamp: i64,
}

/// What was wrong with a message of the stream.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamError {
    #[prost(int32, tag = "1")]
    pub canonical_code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(oneof = "StreamErrorDetails", tags = "5, 6, 7")]
    pub details: Option<StreamErrorDetails>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum StreamErrorDetails {
    #[prost(message, tag = "5")]
    PacketOut(PacketOutError),
    #[prost(message, tag = "6")]
    DigestAck(DigestListAckError),
    #[prost(message, tag = "7")]
    Other(StreamOtherError),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketOutError {
    #[prost(message, optional, tag = "1")]
    pub packet_out: Option<PacketOut>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct DigestListAckError {
    #[prost(message, optional, tag = "1")]
    pub digest_list_ack: Option<DigestListAck>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamOtherError {
    #[prost(message, optional, tag = "1")]
    pub other: Option<Any>,
}
