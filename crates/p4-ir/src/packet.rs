//! A packet on its way through a pipeline: the bytes that came in, a bit cursor into them, and the
//! bytes that the deparser has written so far.
//!
//! Both buffers are kept from packet to packet, and both carry [`SLACK`] bytes beyond the end, so
//! that every access of up to 64 bits is one load or store of a whole big-endian word.

/// Bytes that may be read or written beyond the last one that counts.
pub const SLACK: usize = 16;

/// Reusable packet buffers.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// The packet's bytes and `SLACK` zeros
    input: Vec<u8>,
    /// Bytes of the packet
    length: usize,
    /// Bits consumed by the parser
    cursor: usize,
    /// At least `SLACK` bytes longer than what was written; what follows `emitted` means nothing.
    output: Vec<u8>,
    /// Bits written
    emitted: usize,
}

impl Packet {
    /// Starts over with the bytes `data`, nothing consumed and nothing written.
    #[inline]
    pub fn load(&mut self, data: &[u8]) {
        self.input.clear();
        self.input.extend_from_slice(data);
        self.seal();
    }

    #[inline]
    fn seal(&mut self) {
        self.length = self.input.len();
        self.input.extend_from_slice(&[0; SLACK]);
        self.cursor = 0;
        self.emitted = 0;
    }

    /// Parses the same bytes again: nothing consumed, nothing written.
    pub fn rewind(&mut self) {
        self.cursor = 0;
        self.emitted = 0;
    }

    /// Length in bytes, the consumed part included.
    #[inline]
    pub fn length(&self) -> usize {
        self.length
    }

    /// The bytes as they came in.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.input[..self.length]
    }

    /// Bits consumed so far.
    #[inline]
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Moves the cursor to bit `cursor`, at most to the end.
    #[inline]
    pub fn set_cursor(&mut self, cursor: usize) {
        self.cursor = cursor.min(self.length * 8);
    }

    /// Bits not consumed yet.
    pub fn remaining(&self) -> usize {
        self.length * 8 - self.cursor
    }

    /// Whole bytes that the parser has not consumed: the payload.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.input[self.cursor.div_ceil(8)..self.length]
    }

    /// The input from bit `cursor` on, for reads of whole words; slack included.
    #[inline]
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.input[self.cursor / 8..]
    }

    /// The packet's bytes and, behind them, `SLACK` zeros: for reads of whole words.
    #[inline]
    pub fn input(&self) -> &[u8] {
        &self.input
    }

    /// The buffer that the deparser writes to, from its start. [`Packet::wrote_until`] says how
    /// much of it counts; the last `SLACK` bytes never do.
    #[inline]
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.output
    }

    /// The first `bits` bits of the buffer, or all of it but the slack, are the output.
    #[inline]
    pub fn wrote_until(&mut self, bits: usize) {
        self.emitted = bits.min(self.output.len().saturating_sub(SLACK) * 8);
    }

    /// Consumes `bits`, which the caller knows to be there.
    #[inline]
    pub(crate) fn consume(&mut self, bits: usize) {
        self.set_cursor(self.cursor + bits);
    }

    /// `bits` (at most 64) bits, `skip` bits after the cursor; zero beyond the end.
    pub(crate) fn peek(&self, skip: usize, bits: u32) -> u64 {
        let at = self.cursor + skip;
        match self.input.get(at / 8..at / 8 + 16) {
            Some(window) if bits > 0 => {
                let window = u128::from_be_bytes(window.try_into().unwrap_or_default());
                (window << (at % 8) >> (128 - bits)) as u64
            }
            _ => 0,
        }
    }

    /// The next `width` bits after `skip` as limbs, least significant first, into `limbs`;
    /// limbs above the width become zero.
    pub fn peek_wide(&self, skip: usize, width: u32, limbs: &mut [u64]) {
        let mut left = width;
        for limb in limbs {
            let bits = left.min(64);
            left -= bits;
            *limb = self.peek(skip + left as usize, bits);
        }
    }

    /// Bits written so far.
    #[inline]
    pub fn emitted(&self) -> usize {
        self.emitted
    }

    /// The place of the next byte to write, with room for `bytes` and slack; `None` if the output
    /// does not end at a byte boundary. [`Packet::wrote`] says how much of it was used.
    #[inline]
    pub(crate) fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        if !self.emitted.is_multiple_of(8) {
            return None;
        }
        let at = self.emitted / 8;
        self.reserve(at + bytes);
        Some(&mut self.output[at..])
    }

    #[inline]
    pub(crate) fn wrote(&mut self, bytes: usize) {
        self.emitted += bytes * 8;
    }

    #[inline]
    fn reserve(&mut self, bytes: usize) {
        if self.output.len() < bytes + SLACK {
            self.output.resize((bytes + SLACK).next_power_of_two(), 0);
        }
    }

    /// Appends the low `bits` (at most 64) bits of `value`.
    pub fn put(&mut self, value: u64, bits: u32) {
        if bits == 0 {
            return;
        }
        let (at, used) = (self.emitted / 8, (self.emitted % 8) as u32);
        self.reserve(at + 9);
        let kept = u128::from(self.output[at]) << 120;
        let kept = if used == 0 {
            0
        } else {
            kept >> (128 - used) << (128 - used)
        };
        let value = u128::from(value) << (128 - bits) >> used;
        self.output[at..at + 16].copy_from_slice(&(kept | value).to_be_bytes());
        self.emitted += bits as usize;
    }

    /// Appends the low `width` bits of a value in limbs.
    pub fn put_wide(&mut self, limbs: &[u64], width: u32) {
        let mut left = width;
        for (i, limb) in limbs.iter().enumerate().rev() {
            let below = i as u32 * 64;
            if left > below {
                self.put(*limb, left - below);
                left = below;
            }
        }
    }

    /// Appends zero bits up to a whole byte.
    pub fn pad(&mut self) {
        self.put(0, (self.emitted.div_ceil(8) * 8 - self.emitted) as u32);
    }

    /// Appends bytes.
    pub fn append(&mut self, data: &[u8]) {
        match self.room(data.len()) {
            Some(room) => {
                room[..data.len()].copy_from_slice(data);
                self.wrote(data.len());
            }
            None => data.iter().for_each(|byte| self.put((*byte).into(), 8)),
        }
    }

    /// Forgets what was written.
    #[inline]
    pub fn clear_output(&mut self) {
        self.emitted = 0;
    }

    /// What was written, filled up with zero bits to a whole byte.
    #[inline]
    pub fn output(&self) -> &[u8] {
        &self.output[..self.emitted.div_ceil(8)]
    }

    /// Appends what the parser left unconsumed: the packet to send is then [`Packet::output`].
    pub fn append_payload(&mut self) {
        if !self.cursor.is_multiple_of(8) || !self.emitted.is_multiple_of(8) {
            let mut skip = 0;
            while skip < self.remaining() {
                let bits = (self.remaining() - skip).min(64);
                self.put(self.peek(skip, bits as u32), bits as u32);
                skip += bits;
            }
            return;
        }
        let (from, at) = (self.cursor / 8, self.emitted / 8);
        let payload = self.length - from;
        self.reserve(at + payload);
        self.output[at..at + payload].copy_from_slice(&self.input[from..self.length]);
        self.emitted += payload * 8;
    }

    /// Makes the output the next input, as recirculation does, without a copy.
    pub fn recirculate(&mut self) {
        let bytes = self.emitted.div_ceil(8);
        std::mem::swap(&mut self.input, &mut self.output);
        self.input.truncate(bytes);
        self.seal();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits_of(value: u64, bits: u32) -> impl Iterator<Item = bool> {
        (0..bits).rev().map(move |i| value >> i & 1 == 1)
    }

    fn to_bits(bytes: &[u8]) -> Vec<bool> {
        bytes
            .iter()
            .flat_map(|byte| bits_of(u64::from(*byte), 8))
            .collect()
    }

    proptest! {
        // If this fails, headers that do not end at byte boundaries go out garbled.
        #[test]
        fn writes_the_bits_it_was_given(pieces in prop::collection::vec((any::<u64>(), 0u32..=64), 0..40)) {
            let mut packet = Packet::default();
            // What is left over from an earlier packet must not show.
            packet.load(&[0xff; 400]);
            packet.append_payload();
            packet.clear_output();
            let mut expected = Vec::new();
            for (value, bits) in &pieces {
                packet.put(*value, *bits);
                expected.extend(bits_of(*value, *bits));
            }
            while !expected.len().is_multiple_of(8) {
                expected.push(false);
            }
            prop_assert_eq!(to_bits(packet.output()), expected);
        }

        // If this fails, lookahead and unaligned headers read wrong bits.
        #[test]
        fn reads_the_bits_that_are_there(
            data in prop::collection::vec(any::<u8>(), 0..60), skip in 0usize..500, width in 0usize..300, cursor in 0usize..500,
        ) {
            let mut packet = Packet::default();
            packet.load(&data);
            packet.set_cursor(cursor);
            let skip = skip.min(packet.remaining());
            let width = width.min(packet.remaining() - skip) as u32;
            let mut limbs = [7; 5];
            packet.peek_wide(skip, width, &mut limbs);
            let all = to_bits(&data);
            let mut expected = [0u64; 5];
            for i in 0..width as usize {
                if all[packet.cursor() + skip + width as usize - 1 - i] {
                    expected[i / 64] |= 1 << (i % 64);
                }
            }
            prop_assert_eq!(limbs, expected);
        }

        // If this fails, payloads are cut or shifted on their way through a switch.
        #[test]
        fn payload_follows_the_headers(data in prop::collection::vec(any::<u8>(), 0..90), cursor in 0usize..800, head in 0u32..64) {
            let mut packet = Packet::default();
            packet.load(&data);
            packet.set_cursor(cursor);
            let mut expected: Vec<bool> = bits_of(u64::MAX, head).collect();
            expected.extend(&to_bits(&data)[packet.cursor()..]);
            while !expected.len().is_multiple_of(8) {
                expected.push(false);
            }
            packet.put(u64::MAX, head);
            packet.append_payload();
            prop_assert_eq!(to_bits(packet.output()), expected.clone());
            packet.recirculate();
            prop_assert_eq!(to_bits(packet.bytes()), expected);
            prop_assert_eq!(packet.cursor(), 0);
        }
    }
}
