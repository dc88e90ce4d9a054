//! Frames as the kernel hands them over inside one machine, made into frames as they are on a wire.
//!
//! A sender on the same machine may leave work to a network card that does not exist: the checksum
//! (only its pseudo header is summed), the cutting of 64 kB into frames, the VLAN tag. The lab turns
//! these offloads off; this is the second line of defence, so that a P4 program never computes on a
//! wrong checksum.

/// Why a frame was not handed to the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Several frames in one that the kernel meant to have cut (GSO). `ethtool -K IF gso off tso off`
    /// on the sender helps.
    Uncut,
    /// The checksum that is to be completed lies outside of the frame.
    Checksum,
}

/// Length of `struct virtio_net_hdr`, which the kernel puts before a frame (PACKET_VNET_HDR).
pub(crate) const OFFLOAD_HEADER: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
/// Offset of the checksum in a UDP header, where zero would mean "none" (RFC 768).
const UDP_CHECKSUM_AT: usize = 6;

/// Does to `frame` what `header` says is still to be done.
pub(crate) fn complete(header: &[u8; OFFLOAD_HEADER], frame: &mut [u8]) -> Result<(), Refusal> {
    let [flags, segmentation, _, _, _, _, start0, start1, at0, at1] = *header;
    if segmentation != 0 {
        return Err(Refusal::Uncut);
    }
    if flags & NEEDS_CHECKSUM == 0 {
        return Ok(());
    }
    let start = usize::from(u16::from_ne_bytes([start0, start1]));
    let at = usize::from(u16::from_ne_bytes([at0, at1]));
    let covered = frame.get_mut(start..).ok_or(Refusal::Checksum)?;
    let mut sum = checksum(covered);
    if sum == 0 && at == UDP_CHECKSUM_AT {
        sum = 0xFFFF;
    }
    let field = covered.get_mut(at..at + 2).ok_or(Refusal::Checksum)?;
    field.copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

/// The Internet checksum (RFC 1071) of `data`, which contains the pseudo header's sum in the field.
fn checksum(data: &[u8]) -> u16 {
    let words = data
        .chunks(2)
        .map(|pair| u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
    let mut sum: u64 = words.map(u64::from).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(flags: u8, segmentation: u8, start: u16, at: u16) -> [u8; OFFLOAD_HEADER] {
        let mut header = [0; OFFLOAD_HEADER];
        (header[0], header[1]) = (flags, segmentation);
        header[6..8].copy_from_slice(&start.to_ne_bytes());
        header[8..].copy_from_slice(&at.to_ne_bytes());
        header
    }

    // If this fails TCP between lab hosts stalls, the classic bmv2 complaint.
    #[test]
    fn completes_a_partial_udp_checksum() {
        // UDP 10.0.0.1:1 -> 10.0.0.2:2, payload "abc". Worked out on paper: the pseudo header sums to
        // 0a00+0001+0a00+0002+0011+000b = 141f; with header and payload 0001+0002+000b+6162+6300
        // the total is d88f, whose complement is 2770.
        let mut frame = vec![0xEE; 34];
        frame.extend([0, 1, 0, 2, 0, 11, 0x14, 0x1F, b'a', b'b', b'c']);
        complete(&header(1, 0, 34, 6), &mut frame).unwrap();
        assert_eq!(frame[40..42], [0x27, 0x70]);
        assert_eq!(frame[..34], [0xEE; 34]);
    }

    #[test]
    fn a_udp_sum_of_zero_is_sent_as_all_ones() {
        let mut frame = vec![0xFF, 0xFF, 0, 0, 0, 0, 0, 0];
        complete(&header(1, 0, 0, 6), &mut frame).unwrap();
        assert_eq!(frame[6..], [0xFF, 0xFF]);
    }

    #[test]
    fn leaves_finished_frames_alone_and_refuses_the_impossible() {
        let mut frame = vec![7; 60];
        assert_eq!(complete(&header(0, 0, 34, 6), &mut frame), Ok(()));
        assert_eq!(frame, vec![7; 60]);
        assert_eq!(
            complete(&header(0, 1, 0, 0), &mut frame),
            Err(Refusal::Uncut)
        );
        for (start, at) in [(61, 0), (60, 0), (34, 25), (u16::MAX, u16::MAX)] {
            assert_eq!(
                complete(&header(1, 0, start, at), &mut frame),
                Err(Refusal::Checksum)
            );
        }
        assert_eq!(frame, vec![7; 60]);
    }
}
