//! Where TCP and UDP lie in a frame, and the Internet checksum over them.

use std::ops::Range;

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
const TAGS: [u16; 2] = [0x8100, 0x88A8];
/// Tags and extension headers that are looked past; kernels leave no work on stranger frames.
const MOST_TAGS: usize = 4;
const MOST_EXTENSIONS: usize = 8;
const HOP_BY_HOP: u8 = 0;
const DESTINATION_OPTIONS: u8 = 60;

/// The network layer of a frame that carries a whole TCP segment or UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layers {
    pub(crate) is_ipv6: bool,
    /// Where the IP header starts.
    pub(crate) network: usize,
    pub(crate) protocol: u8,
    /// Where the TCP or UDP header starts, and where its payload ends.
    pub(crate) transport: usize,
    pub(crate) end: usize,
}

impl Layers {
    /// `None` for anything but TCP and UDP, for fragments, and for what is not whole.
    pub(crate) fn find(frame: &[u8]) -> Option<Layers> {
        let (mut network, mut kind) = (14, word(frame, 12)?);
        for _ in 0..MOST_TAGS {
            if !TAGS.contains(&kind) {
                break;
            }
            kind = word(frame, network + 2)?;
            network += 4;
        }
        let layers = match kind {
            IPV4 => Layers::of_ipv4(frame, network)?,
            IPV6 => Layers::of_ipv6(frame, network)?,
            _ => return None,
        };
        let header = layers.checksum_at()? + 2;
        (layers.transport + header <= layers.end && layers.end <= frame.len()).then_some(layers)
    }

    fn of_ipv4(frame: &[u8], network: usize) -> Option<Layers> {
        let first = *frame.get(network)?;
        let fragment = word(frame, network + 6)? & 0x3FFF;
        if first >> 4 != 4 || fragment != 0 {
            return None;
        }
        Some(Layers {
            is_ipv6: false,
            network,
            protocol: *frame.get(network + 9)?,
            transport: network + usize::from(first & 0xF).max(5) * 4,
            end: network + usize::from(word(frame, network + 2)?),
        })
    }

    fn of_ipv6(frame: &[u8], network: usize) -> Option<Layers> {
        let mut transport = network + 40;
        let mut protocol = *frame.get(network + 6)?;
        for _ in 0..MOST_EXTENSIONS {
            if ![HOP_BY_HOP, DESTINATION_OPTIONS].contains(&protocol) {
                break;
            }
            let extension = frame.get(transport..transport + 2)?;
            protocol = extension[0];
            transport += (usize::from(extension[1]) + 1) * 8;
        }
        Some(Layers {
            is_ipv6: true,
            network,
            protocol,
            transport,
            end: network + 40 + usize::from(word(frame, network + 4)?),
        })
    }

    /// Offset of the checksum in the transport header.
    pub(crate) fn checksum_at(&self) -> Option<usize> {
        match self.protocol {
            TCP => Some(16),
            UDP => Some(6),
            _ => None,
        }
    }

    fn addresses(&self) -> Range<usize> {
        if self.is_ipv6 {
            self.network + 8..self.network + 40
        } else {
            self.network + 12..self.network + 20
        }
    }

    /// The sum of the pseudo header (RFC 793, RFC 768, RFC 8200 section 8.1).
    pub(crate) fn pseudo_header(&self, frame: &[u8]) -> u64 {
        let length = (self.end - self.transport) as u64;
        sum(&frame[self.addresses()]) + u64::from(self.protocol) + length
    }
}

/// Two bytes as a number.
pub(crate) fn word(frame: &[u8], at: usize) -> Option<u16> {
    let bytes = frame.get(at..at + 2)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}

/// The sum of 16-bit words; an odd byte at the end counts as if a zero followed.
pub(crate) fn sum(data: &[u8]) -> u64 {
    let words = data.chunks_exact(2);
    let last = words.remainder().first().copied().unwrap_or_default();
    words
        .map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum::<u64>()
        + (u64::from(last) << 8)
}

/// A sum with its carries added in (RFC 1071): the checksum is its complement.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}
