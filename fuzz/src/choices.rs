//! Decisions read from the fuzzer's bytes. When these run out, every choice is the first one.

use num_bigint::BigUint;

pub struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        match self.rest.split_first() {
            None => 0,
            Some((&first, rest)) => {
                self.rest = rest;
                first
            }
        }
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// One of `n`; 0 if there are none.
    pub fn below(&mut self, n: usize) -> usize {
        let choice = if n > 256 {
            self.u16() as usize
        } else {
            self.byte() as usize
        };
        choice.checked_rem(n).unwrap_or(0)
    }

    /// At most `n` bytes.
    pub fn bytes(&mut self, n: usize) -> &'a [u8] {
        let (bytes, rest) = self.rest.split_at(n.min(self.rest.len()));
        self.rest = rest;
        bytes
    }

    /// A number that is mostly below 2^width, often small, and sometimes too wide.
    pub fn number(&mut self, width: u32) -> BigUint {
        let how = self.byte();
        let number = match how % 8 {
            0..=2 => BigUint::from(how >> 3),
            3 => (BigUint::from(1u8) << width) - 1u8,
            4 => BigUint::from(1u8) << width.saturating_sub(1),
            _ => BigUint::from_bytes_be(self.bytes(width.div_ceil(8) as usize)),
        };
        if how == 255 {
            return number + (BigUint::from(1u8) << width);
        }
        number % (BigUint::from(1u8) << width)
    }
}
