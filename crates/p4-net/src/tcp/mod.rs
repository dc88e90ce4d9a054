//! Hosts with a real TCP: smoltcp's, in virtual time.
//!
//! Each end of each transfer is a stack of its own with one socket; the host's card takes turns
//! among those that want to send. Nothing runs by itself: a frame that arrives, a timer of the stack
//! or a card that is free for the next frame are events of the network.

mod content;
mod endpoint;
mod frames;
mod host;

use p4_time::Time;

use crate::error::NetError;
use crate::host::Mac;
use crate::network::NodeId;

pub(crate) use content::Content;
pub(crate) use endpoint::Endpoint;
pub(crate) use host::{Next, TcpHost};

/// Least and greatest IPv4 packet that a host may be told to send, in bytes.
pub const MTUS: std::ops::RangeInclusive<usize> = 128..=65_535;

/// Bytes that the buffer of a stack may have (window scaling, RFC 7323, ends at 1 GiB).
pub const BUFFERS: std::ops::RangeInclusive<usize> = 256..=1 << 30;

/// An IPv4 address.
pub type Address = [u8; 4];

/// The IPv4 end of a host.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    pub address: Address,
    /// Bytes of its largest IPv4 packet; segments carry 40 bytes less. ICMP does not change it.
    pub mtu: usize,
    /// Bits per second of frames (layer 2) that the host can make, which real machines limit;
    /// `None` is as many as its cable carries.
    pub rate: Option<u64>,
    /// Where frames to others go; `None` is straight to the other host's card.
    pub gateway: Option<Mac>,
}

/// Which congestion control a sender has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// None: as much as the receiver's window allows
    Unlimited,
    /// RFC 5681
    Reno,
    /// RFC 9438
    Cubic,
}

/// A stream of bytes between two hosts that have a TCP. The receiver opens the connection, as a
/// client that downloads.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub sender: NodeId,
    pub receiver: NodeId,
    /// How much the sender has to send, `u64::MAX` for no end.
    pub bytes: u64,
    /// When the receiver opens, and when the sender writes no more.
    pub start: Time,
    pub stop: Time,
    /// Bytes of the receive window
    pub window: usize,
    /// Bytes that the sender's stack holds until they are acknowledged
    pub buffer: usize,
    pub congestion: Congestion,
    /// How long an acknowledgement may wait for a second segment (RFC 9293: less than 0.5 s)
    pub ack_delay: Time,
}

impl Transfer {
    pub(crate) fn check(&self, now: Time) -> Result<(), NetError> {
        for size in [self.window, self.buffer] {
            if !BUFFERS.contains(&size) {
                return Err(NetError::TcpBuffer(size));
            }
        }
        if self.start < now {
            return Err(NetError::Past);
        }
        Ok(())
    }
}

/// What has become of a transfer so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Bytes that the sender has given to its stack, and those of them that were acknowledged
    pub written: u64,
    pub acknowledged: u64,
    /// Bytes that the receiver has read, and how many of them are not those that were written
    pub delivered: u64,
    pub wrong: u64,
    /// When the first and the last of them came
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// Segments with data that the sender has sent, those sent again among them
    pub segments: u64,
    pub retransmitted: u64,
    /// Frames that the sender and the receiver have sent, and that reached them
    pub sender_frames: [u64; 2],
    pub receiver_frames: [u64; 2],
    /// The sender writes no more, and the receiver has read all of it.
    pub done: bool,
}
