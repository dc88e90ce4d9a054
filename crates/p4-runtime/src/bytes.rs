//! Numbers as bytestrings. Specification, 8.3: big-endian, any length if the value fits, at least one
//! byte; what the server sends is as short as can be.

use num_bigint::BigUint;

/// Why a bytestring is not a number of its field.
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
    let value = match bytes.len() {
        // Most values; a number of any length takes a copy of its bytes in the other order.
        ..=8 => BigUint::from(bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))),
        _ => BigUint::from_bytes_be(bytes),
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(value: i64, width: u32) -> BigUint {
        BigUint::from(value as u64) & ones(u64::from(width))
    }

    // If this fails, negative numbers of digests and registers are others at the controller. The
    // rows are those of the specification's tables of valid and invalid strings.
    #[test]
    fn signed_numbers_as_the_specification_writes_them() {
        for (width, value, string, shortest) in [
            (8, 99, &[0x63][..], true),
            (8, -99, &[0x9d], true),
            (8, -99, &[0xff, 0x9d], false),
            (12, -739, &[0xfd, 0x1d], true),
            (16, 0, &[0, 0], false),
            (16, 0, &[0], true),
        ] {
            let own = bits(value, width);
            assert_eq!(signed(string, width), Ok(own.clone()), "{value}");
            assert_eq!(shortest_signed(&own, width) == string, shortest, "{value}");
        }
        for (width, string) in [(8, &[0x00, 0x9d][..]), (12, &[0x8d, 0x1d]), (16, &[])] {
            assert!(signed(string, width).is_err(), "{string:?} in {width} bits");
        }
    }

    // If this fails, some number cannot be written or is read back as another one.
    #[test]
    fn what_is_written_is_read() {
        for width in [1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63] {
            let highest = (1i64 << (width - 1)) - 1;
            for value in [0, 1, -1, highest, -highest - 1, highest / 2, -highest / 3] {
                if value.abs() > highest && value != -highest - 1 {
                    continue;
                }
                let own = bits(value, width);
                let string = shortest_signed(&own, width);
                assert_eq!(
                    signed(&string, width),
                    Ok(own.clone()),
                    "{value} in {width}"
                );
                let string = shortest(&own);
                assert_eq!(number(&string, width), Ok(own), "{value} in {width}");
                assert_eq!(shortened(&[&[0, 0], &string[..]].concat()), string);
            }
        }
    }
}
