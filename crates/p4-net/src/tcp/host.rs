//! What the ends of transfers at one host share: its address, its ports, and its card.

use std::collections::{BTreeMap, VecDeque};

use p4_time::Time;

use super::endpoint::{Endpoint, Socket};
use super::frames::{Frames, ETHERNET};
use super::TcpConfig;
use crate::host::Mac;

/// The port at which senders listen, iperf3's, and the first of those that receivers connect from.
const SERVICE: u16 = 5_201;
const FIRST: u16 = 49_152;

/// When an endpoint has something to send or to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Now,
    At(Time),
    /// Not before it hears something
    Never,
}

pub(crate) struct TcpHost {
    config: TcpConfig,
    pub(crate) endpoints: Vec<Endpoint>,
    /// Endpoints by the other's socket and the own port
    known: BTreeMap<(Socket, u16), u32>,
    /// Endpoints that want to send, each once
    ready: VecDeque<u32>,
    /// When the card can take the next frame, and whether that is arranged
    pub(crate) free: Time,
    pub(crate) is_arranged: bool,
    connections: u16,
}

impl TcpHost {
    pub(crate) fn new(config: TcpConfig) -> TcpHost {
        TcpHost {
            config,
            endpoints: Vec::new(),
            known: BTreeMap::new(),
            ready: VecDeque::new(),
            free: Time::ZERO,
            is_arranged: false,
            connections: 0,
        }
    }

    /// A socket to send from.
    pub(crate) fn service(&self) -> Socket {
        self.socket(SERVICE)
    }

    /// A socket that was never used, if one is left.
    pub(crate) fn fresh(&mut self) -> Option<Socket> {
        let port = FIRST.checked_add(self.connections)?;
        self.connections += 1;
        Some(self.socket(port))
    }

    fn socket(&self, port: u16) -> Socket {
        let address = self.config.address;
        Socket { address, port }
    }

    /// The way of frames from the card `own` to a peer.
    pub(crate) fn frames(&self, own: Mac, peer: Mac) -> Frames {
        Frames::new(own, self.config.gateway.unwrap_or(peer), self.config.mtu)
    }

    /// Adds an endpoint that talks to `remote` from `port`, and gives its number.
    pub(crate) fn add(&mut self, endpoint: Endpoint, remote: Socket, port: u16) -> u32 {
        let number = self.endpoints.len() as u32;
        self.endpoints.push(endpoint);
        self.known.insert((remote, port), number);
        number
    }

    /// Gives a frame to the endpoint that it is for, whose number comes back.
    pub(crate) fn hear(&mut self, now: Time, frame: &[u8]) -> Option<u32> {
        let packet = frame.get(ETHERNET..).filter(|_| frame[12..14] == [8, 0])?;
        let (remote, local) = sockets(packet)?;
        let number = *self.known.get(&(remote, local.port))?;
        if local.address != self.config.address {
            return None;
        }
        self.endpoints[number as usize].hear(now, packet);
        Some(number)
    }

    /// Puts an endpoint behind those that want to send.
    pub(crate) fn enqueue(&mut self, number: u32) {
        let endpoint = &mut self.endpoints[number as usize];
        if !std::mem::replace(&mut endpoint.is_ready, true) {
            self.ready.push_back(number);
        }
    }

    /// The endpoint whose turn it is to send.
    pub(crate) fn turn(&mut self) -> Option<u32> {
        let number = self.ready.pop_front()?;
        self.endpoints[number as usize].is_ready = false;
        Some(number)
    }

    pub(crate) fn is_anybody_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// How long the host makes a frame of `length` bytes, rounded up to a picosecond.
    pub(crate) fn making(&self, length: usize) -> Time {
        let Some(rate) = self.config.rate else {
            return Time::ZERO;
        };
        let picos = (length as u128 * 8 * 1_000_000_000_000).div_ceil(u128::from(rate));
        Time::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
    }
}

/// Source and destination of a TCP segment in IPv4, if the packet is whole so far.
fn sockets(packet: &[u8]) -> Option<(Socket, Socket)> {
    const TCP: u8 = 6;
    let first = packet.first_chunk::<20>()?;
    if first[0] >> 4 != 4 || first[9] != TCP {
        return None;
    }
    let ports = packet.get(usize::from(first[0] & 0xF) * 4..)?;
    let [a, b, c, d] = *ports.first_chunk::<4>()?;
    let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *first;
    let from = Socket {
        address: [s0, s1, s2, s3],
        port: u16::from_be_bytes([a, b]),
    };
    let to = Socket {
        address: [d0, d1, d2, d3],
        port: u16::from_be_bytes([c, d]),
    };
    Some((from, to))
}
