//! Multicast groups and clone sessions.

#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketReplicationEngineEntry {
    #[prost(oneof = "ReplicationKind", tags = "1, 2")]
    pub r#type: Option<ReplicationKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ReplicationKind {
    #[prost(message, tag = "1")]
    MulticastGroup(MulticastGroupEntry),
    #[prost(message, tag = "2")]
    CloneSession(CloneSessionEntry),
}

/// One copy.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Replica {
    /// The replication id that egress sees
    #[prost(uint32, tag = "2")]
    pub instance: u32,
    /// In the order in which they stand in when ports are down
    #[prost(message, repeated, tag = "4")]
    pub backup_replicas: Vec<BackupReplica>,
    #[prost(oneof = "PortKind", tags = "1, 3")]
    pub port: Option<PortKind>,
}

/// Where a copy goes. The number is the form of 1.3 and earlier.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum PortKind {
    #[prost(uint32, tag = "1")]
    EgressPort(u32),
    #[prost(bytes, tag = "3")]
    Port(Vec<u8>),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct BackupReplica {
    #[prost(bytes = "vec", tag = "1")]
    pub port: Vec<u8>,
    #[prost(uint32, tag = "2")]
    pub instance: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MulticastGroupEntry {
    #[prost(uint32, tag = "1")]
    pub multicast_group_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub replicas: Vec<Replica>,
    #[prost(bytes = "vec", tag = "3")]
    pub metadata: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CloneSessionEntry {
    #[prost(uint32, tag = "1")]
    pub session_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub replicas: Vec<Replica>,
    #[prost(uint32, tag = "3")]
    pub class_of_service: u32,
    /// Clones are cut to so many bytes; 0: not at all
    #[prost(int32, tag = "4")]
    pub packet_length_bytes: i32,
}
