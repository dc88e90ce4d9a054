//! What a host's kernel makes of the headers in front of a probe.

use std::fmt;

const ETHERNET: usize = 14;
const TAG: usize = 4;
const TYPE_TAG: u16 = 0x8100;
const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86DD;
const IPV6: usize = 40;

/// Which frames a host can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// One VLAN tag may come before the packet
    pub tagged: bool,
}

/// Why a host cannot read a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It ends within a header
    CutOff,
    /// Ethernet announces neither IPv4 nor IPv6
    EtherType(u16),
    /// Another version than Ethernet announces
    Version { announced: u8, found: u8 },
    /// An IPv4 header cannot have so many words of 32 bits
    HeaderLength(u8),
    /// Bytes of the packet, as it says and as they are
    Length { said: usize, found: usize },
    /// RFC 1071
    Checksum,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::CutOff => write!(f, "the frame ends within the headers"),
            Unreadable::EtherType(kind) => {
                write!(f, "EtherType {kind:#06x} is neither IPv4 nor IPv6")
            }
            Unreadable::Version { announced, found } => write!(
                f,
                "the EtherType announces IPv{announced}, but version {found} follows"
            ),
            Unreadable::HeaderLength(words) => {
                write!(f, "an IPv4 header cannot have {words} words of 32 bits")
            }
            Unreadable::Length { said, found } => write!(
                f,
                "the IP header gives a length of {said} bytes, and the packet has {found}"
            ),
            Unreadable::Checksum => write!(f, "the checksum of the IPv4 header is wrong"),
        }
    }
}

/// Whether a kernel reads the IP packet of a frame. The packet ends where the frame does:
/// probes are never padded.
pub(crate) fn readable(frame: &[u8], reads: Reads) -> Result<(), Unreadable> {
    let mut start = ETHERNET;
    let mut kind = word(frame, start - 2)?;
    if kind == TYPE_TAG && reads.tagged {
        start += TAG;
        kind = word(frame, start - 2)?;
    }
    let announced = match kind {
        TYPE_IPV4 => 4,
        TYPE_IPV6 => 6,
        _ => return Err(Unreadable::EtherType(kind)),
    };
    let packet = frame.get(start..).unwrap_or_default();
    let first = *packet.first().ok_or(Unreadable::CutOff)?;
    if first >> 4 != announced {
        return Err(Unreadable::Version {
            announced,
            found: first >> 4,
        });
    }
    let said = if announced == 6 {
        IPV6 + usize::from(word(packet, 4)?)
    } else {
        usize::from(word(packet, 2)?)
    };
    if said != packet.len() {
        let found = packet.len();
        return Err(Unreadable::Length { said, found });
    }
    if announced == 4 {
        header(packet, first & 15)?;
    }
    Ok(())
}

fn header(packet: &[u8], words: u8) -> Result<(), Unreadable> {
    let header = packet.get(..4 * usize::from(words));
    let Some(header) = header.filter(|_| words >= 5) else {
        return Err(Unreadable::HeaderLength(words));
    };
    let sum: u32 = header
        .chunks_exact(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    // At most 30 words: one carry can make one more, and no third.
    let folded = (sum & 0xFFFF) + (sum >> 16);
    if (folded & 0xFFFF) + (folded >> 16) != 0xFFFF {
        return Err(Unreadable::Checksum);
    }
    Ok(())
}

fn word(bytes: &[u8], at: usize) -> Result<u16, Unreadable> {
    let pair = bytes.get(at..at + 2).ok_or(Unreadable::CutOff)?;
    Ok(u16::from_be_bytes([pair[0], pair[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Reads = Reads { tagged: false };
    const TAGGED: Reads = Reads { tagged: true };

    /// 20 bytes of header, whose words are summed here, and 8 of payload.
    fn ipv4() -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([0x08, 0x00]);
        frame.extend([0x45, 0, 0, 28, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0]);
        frame.extend([192, 168, 0, 1, 192, 168, 0, 199]);
        frame.extend([0; 8]);
        let sum: u32 = 0x4500 + 28 + 0x4000 + 0x4011 + 0xC0A8 + 1 + 0xC0A8 + 0xC7;
        let sum = !((sum & 0xFFFF) + (sum >> 16)) as u16;
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    fn ipv6() -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([0x86, 0xDD, 0x60, 0, 0, 0, 0, 8, 17, 64]);
        frame.extend([0; 40]);
        frame
    }

    // If this fails, `run` says that a host has received what no kernel takes.
    #[test]
    fn reads_what_a_kernel_would() {
        for frame in [ipv4(), ipv6()] {
            assert_eq!(readable(&frame, PLAIN), Ok(()));
            let mut tagged = frame.clone();
            tagged.splice(12..12, [0x81, 0x00, 0, 5]);
            assert_eq!(readable(&tagged, TAGGED), Ok(()));
            let refused = Err(Unreadable::EtherType(0x8100));
            assert_eq!(readable(&tagged, PLAIN), refused);
        }
    }

    #[test]
    fn names_the_first_thing_that_is_wrong() {
        let with = |mut frame: Vec<u8>, at: usize, byte: u8| {
            frame[at] = byte;
            readable(&frame, PLAIN).map_err(|why| why.to_string())
        };
        let said = |text: &str| Err(text.to_string());
        // A PPP header left in front of the packet: 0x0021 is where the version should be.
        let mut ppp = ipv4();
        ppp.splice(14..14, [0x00, 0x21]);
        assert_eq!(
            readable(&ppp, PLAIN).unwrap_err().to_string(),
            "the EtherType announces IPv4, but version 0 follows"
        );
        let other = with(ipv4(), 12, 0x88);
        assert_eq!(other, said("EtherType 0x8800 is neither IPv4 nor IPv6"));
        let long = "the IP header gives a length of 29 bytes, and the packet has 28";
        assert_eq!(with(ipv4(), 17, 29), said(long));
        let wrong = said("the checksum of the IPv4 header is wrong");
        assert_eq!(with(ipv4(), 22, 0x3F), wrong);
        let words = said("an IPv4 header cannot have 4 words of 32 bits");
        assert_eq!(with(ipv4(), 14, 0x44), words);
        assert_eq!(
            with(ipv4(), 14, 0x4F),
            said("an IPv4 header cannot have 15 words of 32 bits")
        );
        let long = "the IP header gives a length of 49 bytes, and the packet has 48";
        assert_eq!(with(ipv6(), 19, 9), said(long));
        let version = "the EtherType announces IPv6, but version 4 follows";
        assert_eq!(with(ipv6(), 14, 0x40), said(version));
    }

    #[test]
    fn ends_of_frames_break_nothing() {
        for frame in [ipv4(), ipv6()] {
            for end in 0..frame.len() {
                assert!(readable(&frame[..end], TAGGED).is_err());
            }
        }
    }
}
