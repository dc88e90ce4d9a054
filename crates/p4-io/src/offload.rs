//! Frames as the kernel hands them over inside one machine, made into frames as they are on a wire.
//!
//! A sender on the same machine may leave work to a network card that does not exist: the checksum
//! (only its pseudo header is summed), the cutting of 64 kB into frames, the VLAN tag. A P4 program
//! must never see any of that.

use crate::layers::{fold, sum, word, Layers};
use crate::segment::segment;

/// Why a frame was not handed to the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Several frames in one that the kernel meant to have cut (GSO), in a way that is not known here.
    Uncut,
    /// The checksum that is to be completed lies outside of the frame.
    Checksum,
}

/// Length of `struct virtio_net_hdr`, which the kernel puts before a frame (PACKET_VNET_HDR).
pub(crate) const OFFLOAD_HEADER: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
/// Kinds of segmentation that can be done here; the top bit only says that ECN is in use.
const TCP_IPV4: u8 = 1;
const TCP_IPV6: u8 = 4;
const UDP_L4: u8 = 5;
const ECN: u8 = 0x80;
/// Offset of the checksum in a UDP header, where zero would mean "none" (RFC 768).
const UDP_CHECKSUM_AT: usize = 6;

/// Does to `frame` what `header` says is still to be done, and hands what comes of it to `visit`:
/// the frame itself, or the frames into which it was to be cut. `tag` bytes have been put into the
/// frame that the header does not know of. `scratch` is overwritten.
pub(crate) fn finish(
    header: &[u8; OFFLOAD_HEADER],
    tag: usize,
    frame: &mut [u8],
    scratch: &mut Vec<u8>,
    mut visit: impl FnMut(&[u8]),
) -> Result<(), Refusal> {
    let [flags, segmentation, _, _, size0, size1, start0, start1, at0, at1] = *header;
    let number = |bytes| usize::from(u16::from_ne_bytes(bytes));
    match segmentation & !ECN {
        0 => {
            if flags & NEEDS_CHECKSUM != 0 {
                complete(frame, number([start0, start1]) + tag, number([at0, at1]))?;
            }
            visit(frame);
            Ok(())
        }
        TCP_IPV4 | TCP_IPV6 | UDP_L4 => segment(frame, number([size0, size1]), scratch, visit),
        _ => Err(Refusal::Uncut),
    }
}

/// Completes the checksum `at` bytes into the part of the frame that begins at `start`.
fn complete(frame: &mut [u8], start: usize, at: usize) -> Result<(), Refusal> {
    let covered = frame.get_mut(start..).ok_or(Refusal::Checksum)?;
    let mut checksum = !fold(sum(covered));
    if checksum == 0 && at == UDP_CHECKSUM_AT {
        checksum = 0xFFFF;
    }
    let field = covered.get_mut(at..at + 2).ok_or(Refusal::Checksum)?;
    field.copy_from_slice(&checksum.to_be_bytes());
    Ok(())
}

/// Completes a checksum that was left open where nothing says so: a sender that leaves it open writes
/// the sum of the pseudo header into it.
///
/// A finished checksum that happens to be the same number stays the same: it is the complement of what
/// it would be completed to. So only a damaged frame can be changed, one in 65,536 of them.
pub(crate) fn complete_unmarked(frame: &mut [u8]) {
    let Some(layers) = Layers::find(frame) else {
        return;
    };
    let Some(at) = layers.checksum_at() else {
        return;
    };
    let open = fold(layers.pseudo_header(frame));
    if word(frame, layers.transport + at) == Some(open) {
        // Padding behind the packet is not covered. The checksum lies inside, so this does not fail.
        let _ = complete(&mut frame[..layers.end], layers.transport, at);
    }
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

    fn finished(header: [u8; OFFLOAD_HEADER], frame: &[u8]) -> Result<Vec<u8>, Refusal> {
        let (mut frame, mut seen) = (frame.to_vec(), Vec::new());
        finish(&header, 0, &mut frame, &mut Vec::new(), |frame| {
            seen.extend(frame)
        })?;
        Ok(seen)
    }

    /// UDP 10.0.0.1:1 -> 10.0.0.2:2, payload "abc", in IPv4 in Ethernet, its checksum left open.
    /// Worked out on paper: the pseudo header sums to 0a00+0001+0a00+0002+0011+000b = 1420 - 1 = 141f;
    /// with header and payload 0001+0002+000b+6162+6300 the total is d88f, whose complement is 2770.
    fn open_udp() -> Vec<u8> {
        let mut frame = vec![0xEE; 12];
        frame.extend([8, 0, 0x45, 0, 0, 31, 0, 0, 0, 0, 64, 17, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0, 1, 0, 2, 0, 11, 0x14, 0x1F, b'a', b'b', b'c']);
        frame
    }

    // If this fails TCP between lab hosts stalls, the classic bmv2 complaint.
    #[test]
    fn completes_a_partial_udp_checksum() {
        let open = open_udp();
        let done = finished(header(1, 0, 34, 6), &open).unwrap();
        assert_eq!(done[40..42], [0x27, 0x70]);
        assert_eq!((&done[..40], &done[42..]), (&open[..40], &open[42..]));
    }

    // If this fails the same happens where no header tells of open checksums, or padded frames change.
    #[test]
    fn completes_what_nobody_marked_and_only_that() {
        let mut frame = open_udp();
        frame.resize(60, 0x55); // padding is not part of the datagram
        complete_unmarked(&mut frame);
        assert_eq!(frame[40..42], [0x27, 0x70]);
        let done = frame.clone();
        complete_unmarked(&mut frame);
        assert_eq!(frame, done, "a finished frame stays as it is");
        for (at, value) in [(23, 1), (20, 0x20), (12, 9), (16, 0xFF)] {
            let mut other = open_udp(); // not UDP, a fragment, not IPv4, longer than the frame
            other[at] = value;
            let before = other.clone();
            complete_unmarked(&mut other);
            assert_eq!(other, before, "byte {at}");
        }
    }

    #[test]
    fn completes_behind_a_tag() {
        let mut frame = open_udp();
        frame.splice(12..12, [0x81, 0, 0, 5]);
        complete_unmarked(&mut frame);
        assert_eq!(frame[44..46], [0x27, 0x70]);
    }

    #[test]
    fn a_udp_sum_of_zero_is_sent_as_all_ones() {
        let done = finished(header(1, 0, 0, 6), &[0xFF, 0xFF, 0, 0, 0, 0, 0, 0]).unwrap();
        assert_eq!(done[6..], [0xFF, 0xFF]);
    }

    #[test]
    fn leaves_finished_frames_alone_and_refuses_the_impossible() {
        let frame = [7; 60];
        assert_eq!(finished(header(0, 0, 34, 6), &frame), Ok(frame.to_vec()));
        for segmentation in [1, 3, 4, 5, 9, 0x81] {
            let uncut = finished(header(0, segmentation, 0, 0), &frame);
            assert_eq!(uncut, Err(Refusal::Uncut));
        }
        for (start, at) in [(61, 0), (60, 0), (34, 25), (u16::MAX, u16::MAX)] {
            let outside = finished(header(1, 0, start, at), &frame);
            assert_eq!(outside, Err(Refusal::Checksum));
        }
    }
}
