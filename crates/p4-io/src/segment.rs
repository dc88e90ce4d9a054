//! Cutting what a sender left uncut: one frame of up to 64 kB into the frames it stands for.
//!
//! As the kernel's own software segmentation does it: every piece gets the headers of the whole, with
//! the fields adjusted that tell pieces apart.

use crate::layers::{fold, sum, Layers, TCP, UDP};
use crate::offload::Refusal;

const FIN_OR_PSH: u8 = 0x01 | 0x08;
const CWR: u8 = 0x80;
/// Pieces of one frame; the kernel makes no more (GSO_MAX_SEGS).
const MOST_PIECES: usize = 65_535;

/// What is the same in all pieces.
struct Whole<'a> {
    layers: Layers,
    headers: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Whole<'a> {
    fn of(frame: &'a [u8]) -> Option<Whole<'a>> {
        let layers = Layers::find(frame)?;
        let transport = frame.get(layers.transport..layers.end)?;
        let header = match layers.protocol {
            TCP => usize::from(transport.get(12)? >> 4) * 4,
            _ => 8,
        };
        if layers.protocol == TCP && header < 20 || header > transport.len() {
            return None;
        }
        Some(Whole {
            layers,
            headers: &frame[..layers.transport + header],
            payload: &transport[header..],
        })
    }

    /// Writes piece number `index`, with `payload`, which starts `at` bytes into the whole payload.
    fn write_piece(&self, index: usize, at: usize, payload: &[u8], piece: &mut Vec<u8>) {
        piece.clear();
        piece.extend_from_slice(self.headers);
        piece.extend_from_slice(payload);
        let layers = Layers {
            end: piece.len(),
            ..self.layers
        };
        let network = layers.network;
        if layers.is_ipv6 {
            put(piece, network + 4, (layers.end - network - 40) as u16);
        } else {
            put(piece, network + 2, (layers.end - network) as u16);
            let id = u16::from_be_bytes([piece[network + 4], piece[network + 5]]);
            put(piece, network + 4, id.wrapping_add(index as u16));
            put(piece, network + 10, 0);
            let header = !fold(sum(&piece[network..layers.transport]));
            put(piece, network + 10, header);
        }
        let start = layers.transport;
        let checksum_at = if layers.protocol == TCP {
            let sequence = &mut piece[start + 4..start + 8];
            let first = u32::from_be_bytes([sequence[0], sequence[1], sequence[2], sequence[3]]);
            sequence.copy_from_slice(&first.wrapping_add(at as u32).to_be_bytes());
            if at + payload.len() < self.payload.len() {
                piece[start + 13] &= !FIN_OR_PSH;
            }
            if index > 0 {
                piece[start + 13] &= !CWR;
            }
            start + 16
        } else {
            put(piece, start + 4, (layers.end - start) as u16);
            start + 6
        };
        put(piece, checksum_at, 0);
        let mut checksum = !fold(layers.pseudo_header(piece) + sum(&piece[start..]));
        if checksum == 0 && layers.protocol == UDP {
            checksum = 0xFFFF; // zero would mean "none" (RFC 768)
        }
        put(piece, checksum_at, checksum);
    }
}

/// Hands the pieces of `frame`, with `size` bytes of payload each, to `visit`, in order.
pub(crate) fn segment(
    frame: &[u8],
    size: usize,
    piece: &mut Vec<u8>,
    mut visit: impl FnMut(&[u8]),
) -> Result<(), Refusal> {
    let whole = Whole::of(frame).ok_or(Refusal::Uncut)?;
    if size == 0 || whole.payload.len() / size > MOST_PIECES {
        return Err(Refusal::Uncut);
    }
    for (index, payload) in whole.payload.chunks(size).enumerate() {
        whole.write_piece(index, index * size, payload, piece);
        visit(piece);
    }
    Ok(())
}

fn put(frame: &mut [u8], at: usize, value: u16) {
    frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A frame built field by field, without the code under test: (frame, where TCP or UDP starts).
    fn frame(
        ipv6: bool,
        tcp: bool,
        tagged: bool,
        options: usize,
        payload: &[u8],
    ) -> (Vec<u8>, usize) {
        let mut frame = vec![2; 12];
        if tagged {
            frame.extend([0x81, 0, 0, 7]);
        }
        let transport_length = if tcp { 20 + options * 4 } else { 8 } + payload.len();
        if ipv6 {
            frame.extend([0x86, 0xDD, 0x60, 0, 0, 0]);
            frame.extend((transport_length as u16).to_be_bytes());
            frame.extend([if tcp { 6 } else { 17 }, 64]);
            frame.extend(1..=32);
        } else {
            frame.extend([8, 0, 0x45, 0]);
            frame.extend((20 + transport_length as u16).to_be_bytes());
            frame.extend([0xFF, 0xFE, 0x40, 0, 64, if tcp { 6 } else { 17 }, 0, 0]);
            frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        }
        let start = frame.len();
        if tcp {
            frame.extend([0, 80, 0x10, 0, 0xFF, 0xFF, 0xFF, 0x00, 1, 2, 3, 4]);
            frame.extend([(5 + options as u8) << 4, 0x99, 1, 0, 0, 0, 0, 0]); // CWR, ACK, PSH, FIN
            frame.extend(vec![1; options * 4]);
        } else {
            frame.extend([0, 53, 0, 54]);
            frame.extend((transport_length as u16).to_be_bytes());
            frame.extend([0, 0]);
        }
        frame.extend(payload);
        (frame, start)
    }

    /// The plain definition: one's complement sum of all 16-bit words is all ones.
    fn is_right(words: &[u8]) -> bool {
        let mut sum = 0u32;
        for pair in words.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum == 0xFFFF
    }

    fn transport_is_right(piece: &[u8], ipv6: bool, tcp: bool, start: usize) -> bool {
        let addresses = if ipv6 {
            start - 32..start
        } else {
            start - 8..start
        };
        let mut covered = piece[addresses].to_vec();
        covered.extend([0, if tcp { 6 } else { 17 }]);
        covered.extend(((piece.len() - start) as u16).to_be_bytes());
        covered.extend(&piece[start..]);
        is_right(&covered)
    }

    proptest! {
        // If this fails a TCP transfer through a lab arrives damaged, or not at all.
        #[test]
        fn pieces_are_right_and_make_up_the_whole(
            ipv6: bool, tcp: bool, tagged: bool, options in 0usize..4,
            payload in proptest::collection::vec(any::<u8>(), 1..5000), size in 1usize..1500,
        ) {
            let (whole, start) = frame(ipv6, tcp, tagged, options, &payload);
            let header = if tcp { 20 + options * 4 } else { 8 };
            let (mut pieces, mut scratch) = (Vec::new(), Vec::new());
            segment(&whole, size, &mut scratch, |piece| pieces.push(piece.to_vec())).unwrap();
            prop_assert_eq!(pieces.len(), payload.len().div_ceil(size));
            let mut joined: Vec<u8> = Vec::new();
            for (index, piece) in pieces.iter().enumerate() {
                prop_assert!(transport_is_right(piece, ipv6, tcp, start));
                let network = start - if ipv6 { 40 } else { 20 };
                let field = |at: usize| u16::from_be_bytes([piece[at], piece[at + 1]]);
                if ipv6 {
                    prop_assert_eq!(usize::from(field(network + 4)), piece.len() - start);
                } else {
                    prop_assert!(is_right(&piece[network..start]));
                    prop_assert_eq!(usize::from(field(network + 2)), piece.len() - network);
                    prop_assert_eq!(field(network + 4), 0xFFFEu16.wrapping_add(index as u16));
                }
                if tcp {
                    let sequence = u32::from(field(start + 4)) << 16 | u32::from(field(start + 6));
                    prop_assert_eq!(sequence, 0xFFFF_FF00u32.wrapping_add(joined.len() as u32));
                    let last = index + 1 == pieces.len();
                    let flags = 0x10 | if index == 0 { 0x80 } else { 0 } | if last { 0x09 } else { 0 };
                    prop_assert_eq!(piece[start + 13], flags);
                } else {
                    prop_assert_eq!(usize::from(field(start + 4)), piece.len() - start);
                }
                joined.extend(&piece[start + header..]);
            }
            prop_assert_eq!(joined, payload);
        }

        // If this fails a strange frame ends a switch.
        #[test]
        fn no_frame_ends_the_program(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..120), size: u16, kind in 0usize..4,
        ) {
            if let (Some(kind), true) = ([[8, 0], [0x86, 0xDD], [0x81, 0]].get(kind), bytes.len() > 16) {
                bytes[12..14].copy_from_slice(kind);
                bytes[14] = bytes[14] & 0xF | 0x40;
            }
            let _ = segment(&bytes, size.into(), &mut Vec::new(), |_| {});
            crate::offload::complete_unmarked(&mut bytes);
        }
    }
}
