//! The forwarding pipeline.

use super::rpc::Uint128;

/// What is to be done with a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum ConfigAction {
    Unspecified = 0,
    Verify = 1,
    VerifyAndSave = 2,
    VerifyAndCommit = 3,
    Commit = 4,
    ReconcileAndCommit = 5,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct SetPipelineRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    /// Deprecated since 1.4
    #[prost(uint64, tag = "2")]
    pub role_id: u64,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(enumeration = "ConfigAction", tag = "4")]
    pub action: i32,
    #[prost(message, optional, tag = "5")]
    pub config: Option<PipelineConfig>,
    #[prost(string, tag = "6")]
    pub role: String,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SetPipelineResponse {}

/// A program for a device. P4Info stays as its bytes: what a client has set it gets back as it was,
/// with fields that this server does not know.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PipelineConfig {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub p4info: Option<Vec<u8>>,
    #[prost(bytes = "vec", tag = "2")]
    pub p4_device_config: Vec<u8>,
    #[prost(message, optional, tag = "3")]
    pub cookie: Option<Cookie>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Cookie {
    #[prost(uint64, tag = "1")]
    pub cookie: u64,
}

/// How much of the pipeline is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum ResponseType {
    All = 0,
    CookieOnly = 1,
    P4InfoAndCookie = 2,
    DeviceConfigAndCookie = 3,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct GetPipelineRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(enumeration = "ResponseType", tag = "2")]
    pub response_type: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct GetPipelineResponse {
    #[prost(message, optional, tag = "1")]
    pub config: Option<PipelineConfig>,
}
