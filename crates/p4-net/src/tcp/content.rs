//! What transfers carry: bytes by which a receiver sees whether each is the one that was sent.

use std::sync::Arc;

use crate::rng::Rng;

/// A prime, so that neither segments nor buffers divide it.
const PERIOD: usize = 65_521;

/// An endless stream of bytes: a random block again and again, from a place of the stream's own.
#[derive(Clone)]
pub(crate) struct Content {
    block: Arc<[u8]>,
    phase: u64,
}

impl Content {
    pub(crate) fn new(mut rng: Rng) -> Content {
        Content {
            block: (0..PERIOD).map(|_| rng.next() as u8).collect(),
            phase: 0,
        }
    }

    /// The same bytes for stream number `stream`, from another place on.
    pub(crate) fn of_stream(&self, stream: u32) -> Content {
        Content {
            block: Arc::clone(&self.block),
            phase: u64::from(stream) * 7_919,
        }
    }

    /// The longest piece at hand from `offset` on, at most `length` bytes.
    fn piece(&self, offset: u64, length: usize) -> &[u8] {
        let start = ((offset + self.phase) % PERIOD as u64) as usize;
        &self.block[start..PERIOD.min(start + length)]
    }

    /// Writes the stream's bytes from `offset` on.
    pub(crate) fn fill(&self, mut offset: u64, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let piece = self.piece(offset, bytes.len());
            let (now, rest) = bytes.split_at_mut(piece.len());
            now.copy_from_slice(piece);
            offset += piece.len() as u64;
            bytes = rest;
        }
    }

    /// How many of `bytes` are not the stream's from `offset` on.
    pub(crate) fn differences(&self, mut offset: u64, mut bytes: &[u8]) -> u64 {
        let mut wrong = 0;
        while !bytes.is_empty() {
            let piece = self.piece(offset, bytes.len());
            let (now, rest) = bytes.split_at(piece.len());
            if now != piece {
                wrong += now.iter().zip(piece).filter(|(a, b)| a != b).count() as u64;
            }
            offset += piece.len() as u64;
            bytes = rest;
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails a transfer that lost, doubled or mixed up bytes passes for a good one.
    #[test]
    fn what_is_missing_doubled_or_of_another_stream_is_seen() {
        let content = Content::new(Rng::new(3, 0)).of_stream(5);
        let mut bytes = vec![0; 3 * PERIOD];
        content.fill(10, &mut bytes);
        assert_eq!(content.differences(10, &bytes), 0);
        // One in 256 bytes is the same by chance.
        let most = |bytes: &[u8]| bytes.len() as u64 * 99 / 100;
        for (offset, shifted) in [(10, &bytes[1..]), (11, &bytes[..])] {
            assert!(content.differences(offset, shifted) > most(shifted));
        }
        for other in [4, 6] {
            let other = Content::new(Rng::new(3, 0)).of_stream(other);
            assert!(other.differences(10, &bytes) > most(&bytes));
        }
        bytes[PERIOD] ^= 1;
        assert_eq!(content.differences(10, &bytes), 1);
    }
}
