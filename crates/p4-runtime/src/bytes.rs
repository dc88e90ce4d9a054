//! Numbers as bytestrings. Specification, 8.3: big-endian, any length if the value fits, at least one
//! byte; what the server sends is as short as can be.

use num_bigint::BigUint;

/// Why a bytestring is no number of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadBytes {
    Empty,
    TooWide { bits: u64 },
}

impl BadBytes {
    /// As a sentence about the value of `what`, which has `width` bits.
    pub fn about(self, what: &str, width: u32) -> String {
        match self {
            BadBytes::Empty => format!("the value of {what} is empty; a 0 is one byte of 0"),
            BadBytes::TooWide { bits } => {
                format!("the value of {what} has {bits} bits, but the field has {width}")
            }
        }
    }
}

/// The number of a `bit<width>`.
pub fn number(bytes: &[u8], width: u32) -> Result<BigUint, BadBytes> {
    if bytes.is_empty() {
        return Err(BadBytes::Empty);
    }
    let value = BigUint::from_bytes_be(bytes);
    match value.bits() {
        bits if bits > u64::from(width) => Err(BadBytes::TooWide { bits }),
        _ => Ok(value),
    }
}

/// The bits of an `int<width>`, which is sent with its sign extended.
pub fn signed(bytes: &[u8], width: u32) -> Result<BigUint, BadBytes> {
    let Some(first) = bytes.first() else {
        return Err(BadBytes::Empty);
    };
    let all = BigUint::from_bytes_be(bytes);
    let negative = first & 0x80 != 0;
    let total = 8 * bytes.len() as u64;
    // As many bits as are left when all but one of the leading copies of the sign are gone.
    let bits = match negative {
        true => (ones(total) - &all).bits() + 1,
        false => all.bits() + 1,
    };
    if bits > u64::from(width) {
        return Err(BadBytes::TooWide { bits });
    }
    Ok(match negative {
        true if total < u64::from(width) => all + (ones(u64::from(width)) - ones(total)),
        true => all & ones(u64::from(width)),
        false => all,
    })
}

/// The shortest string of a number.
pub fn shortest(value: &BigUint) -> Vec<u8> {
    value.to_bytes_be()
}

/// The same number in the shortest string; nothing stays nothing.
pub fn shortened(bytes: &[u8]) -> Vec<u8> {
    match bytes {
        [] => Vec::new(),
        _ => shortest(&BigUint::from_bytes_be(bytes)),
    }
}

/// The shortest string of the bits of an `int<width>`.
pub fn shortest_signed(bits: &BigUint, width: u32) -> Vec<u8> {
    let width = u64::from(width.max(1));
    if !bits.bit(width - 1) {
        // A positive number whose first byte would look negative takes one byte more.
        let mut bytes = bits.to_bytes_be();
        if bytes[0] & 0x80 != 0 {
            bytes.insert(0, 0);
        }
        return bytes;
    }
    let needed = (ones(width) - bits).bits() + 1;
    let length = needed.div_ceil(8);
    let extended = bits | (ones((8 * length).max(width)) - ones(width));
    let bytes = extended.to_bytes_be();
    bytes[bytes.len() - length as usize..].to_vec()
}

fn ones(bits: u64) -> BigUint {
    (BigUint::from(1u8) << bits) - 1u8
}
