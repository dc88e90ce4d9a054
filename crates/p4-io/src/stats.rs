//! What a switch counts at each of its interfaces.

use p4_net::Count;

/// Frames that were not handed on, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortDrops {
    /// Received: several frames in one, which the sender left to be cut (GSO).
    pub uncut: u64,
    /// Received: a checksum left to be completed lay outside of the frame.
    pub bad_checksum: u64,
    /// Received: longer than any buffer. To send: longer than the MTU or shorter than a header.
    pub bad_length: u64,
    /// The kernel's receive buffer was full.
    pub overrun: u64,
    /// To send: the kernel had no room.
    pub full: u64,
    /// The port or its interface was down.
    pub down: u64,
    /// Lost on an emulated link: at random, or because its queue was full. Both directions.
    pub loss: u64,
    pub queue_full: u64,
}

impl PortDrops {
    pub fn total(&self) -> u64 {
        let received = self.uncut + self.bad_checksum + self.bad_length + self.overrun;
        received + self.full + self.down + self.loss + self.queue_full
    }
}

/// What has passed one port since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    pub received: Count,
    pub sent: Count,
    pub drops: PortDrops,
}

/// What a switch has counted since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// By port number, in the order of the configuration.
    pub ports: Vec<(u16, PortStats)>,
    /// Frames that the program sent to a port which has no interface.
    pub no_port: u64,
    /// Frames for the CPU that nobody fetched in time.
    pub cpu_full: u64,
}

impl Stats {
    pub fn port(&self, number: u16) -> Option<&PortStats> {
        self.ports
            .iter()
            .find(|(port, _)| *port == number)
            .map(|(_, stats)| stats)
    }
}
