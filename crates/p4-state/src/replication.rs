//! Multicast groups and clone sessions.

/// One copy that a multicast group makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Replica {
    pub port: u16,
    /// Replication id, seen in egress
    pub rid: u16,
}

/// Where clones go: the copies of a multicast group, one port, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    pub group: Option<u32>,
    pub port: Option<u16>,
    /// Clones are cut to so many bytes when sent.
    pub truncate: Option<u32>,
}

/// Clone session ids are below this.
pub(crate) const SESSIONS: u32 = 1 << 15;
