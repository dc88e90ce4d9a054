//! The probe: a numbered frame that can be counted without knowing what surrounds it.
//!
//! A probe ends in 24 bytes, the end of its UDP payload: magic, flow, sequence, sender. Frames are at
//! least [`MIN_FRAME`] bytes long, so no padding follows and the trailer is always at the very end,
//! whatever a switch has put in front.

/// Length of the trailer in bytes.
pub const TRAILER: usize = 24;
/// Shortest frame that may carry a probe, in bytes (so that nobody pads it).
pub const MIN_FRAME: usize = 64;
/// First eight bytes of the trailer.
pub const MAGIC: [u8; 8] = *b"P4LABPRB";

const SEQUENCE_AT: usize = 12;

/// What a probe says about itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Probe {
    pub flow: u32,
    pub sequence: u64,
    /// Number of the sending host.
    pub sender: u32,
}

impl Probe {
    /// The probe that ends `frame`, if it is one.
    pub fn of(frame: &[u8]) -> Option<Probe> {
        let (_, trailer) = frame.split_last_chunk::<TRAILER>()?;
        let (magic, rest) = trailer.split_first_chunk::<8>()?;
        if *magic != MAGIC {
            return None;
        }
        let (flow, rest) = rest.split_first_chunk::<4>()?;
        let (sequence, rest) = rest.split_first_chunk::<8>()?;
        let (sender, _) = rest.split_first_chunk::<4>()?;
        Some(Probe {
            flow: u32::from_be_bytes(*flow),
            sequence: u64::from_be_bytes(*sequence),
            sender: u32::from_be_bytes(*sender),
        })
    }

    /// True if `frame` ends in a probe trailer; cheaper than [`Probe::of`].
    pub fn is_at_end_of(frame: &[u8]) -> bool {
        frame.len() >= TRAILER && frame[frame.len() - TRAILER..].starts_with(&MAGIC)
    }

    /// The trailer as bytes.
    pub fn trailer(&self) -> [u8; TRAILER] {
        let mut trailer = [0; TRAILER];
        trailer[..8].copy_from_slice(&MAGIC);
        trailer[8..SEQUENCE_AT].copy_from_slice(&self.flow.to_be_bytes());
        trailer[SEQUENCE_AT..20].copy_from_slice(&self.sequence.to_be_bytes());
        trailer[20..].copy_from_slice(&self.sender.to_be_bytes());
        trailer
    }

    /// Overwrites the last 24 bytes of `frame`. Shorter frames are left alone.
    pub fn write_at_end_of(&self, frame: &mut [u8]) {
        if let Some((_, end)) = frame.split_last_chunk_mut::<TRAILER>() {
            *end = self.trailer();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails nothing in the lab is counted, or the wrong thing is.
    #[test]
    fn trailer_matches_the_contract_byte_for_byte() {
        let probe = Probe {
            flow: 0x01020304,
            sequence: 0x05060708090A0B0C,
            sender: 0x0D0E0F10,
        };
        let mut frame = vec![0xEE; 64];
        probe.write_at_end_of(&mut frame);
        assert_eq!(&frame[..40], &[0xEE; 40]);
        assert_eq!(&frame[40..48], b"P4LABPRB");
        assert_eq!(&frame[48..], &(1..=16).collect::<Vec<u8>>()[..]);
        assert_eq!(Probe::of(&frame), Some(probe));
        assert!(Probe::is_at_end_of(&frame));
    }

    #[test]
    fn short_or_other_frames_are_no_probes() {
        for length in 0..TRAILER {
            assert_eq!(Probe::of(&vec![b'P'; length]), None);
        }
        assert_eq!(Probe::of(&[0; 64]), None);
        assert!(!Probe::is_at_end_of(&[0; 64]));
    }
}
