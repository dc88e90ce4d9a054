//! Numbers and match keys as the command line writes them.

use crate::target::{KeySchema, MatchKind};
use num_bigint::BigUint;
use num_traits::Num;
use p4_state::Match;
use std::net::{Ipv4Addr, Ipv6Addr};

type Result<T> = std::result::Result<T, String>;

/// A number for a field of `width` bits: decimal, `0x`, `0o`, `0b`, and, as the width suggests, an
/// IPv4, MAC or IPv6 address. It may be as large as the field's whole bytes hold.
pub fn number(text: &str, width: u32) -> Result<BigUint> {
    let value = match width {
        32 if text.contains('.') => {
            let address: Ipv4Addr = text
                .parse()
                .map_err(|_| format!("`{text}` is no IPv4 address"))?;
            BigUint::from(u32::from(address))
        }
        48 if text.contains(':') => mac(text)?,
        128 if text.contains(':') => {
            let address: Ipv6Addr = text
                .parse()
                .map_err(|_| format!("`{text}` is no IPv6 address"))?;
            BigUint::from(u128::from(address))
        }
        _ => integer(text)?,
    };
    if value.bits() > u64::from(width.div_ceil(8)) * 8 {
        return Err(format!("{text} is too large for {width} bits"));
    }
    Ok(value)
}

/// A number of any size.
pub fn integer(text: &str) -> Result<BigUint> {
    let digits = text.replace('_', "");
    let (digits, radix) = match digits.get(..2) {
        Some("0x" | "0X") => (&digits[2..], 16),
        Some("0b" | "0B") => (&digits[2..], 2),
        Some("0o" | "0O") => (&digits[2..], 8),
        _ => (&*digits, 10),
    };
    if digits.len() > 4096 {
        return Err("a number has at most 4096 digits".to_string());
    }
    BigUint::from_str_radix(digits, radix).map_err(|_| format!("`{text}` is not a number"))
}

/// A number that fits 64 bits.
pub fn small(text: &str) -> Result<u64> {
    u64::try_from(integer(text)?).map_err(|_| format!("{text} is too large"))
}

fn mac(text: &str) -> Result<BigUint> {
    let wrong = || format!("`{text}` is no MAC address");
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() != 6 {
        return Err(wrong());
    }
    let bytes: std::result::Result<Vec<u8>, _> = parts
        .iter()
        .map(|part| u8::from_str_radix(part, 16))
        .collect();
    Ok(BigUint::from_bytes_be(&bytes.map_err(|_| wrong())?))
}

/// The match of one key.
pub fn matched(key: &KeySchema, text: &str) -> Result<Match> {
    let pair = |sign: &str| {
        text.split_once(sign).ok_or(format!(
            "key {} needs a value with `{sign}` in it, not `{text}`",
            key.name
        ))
    };
    let of =
        |text: &str| number(text, key.width).map_err(|error| format!("key {}: {error}", key.name));
    match key.kind {
        MatchKind::Exact | MatchKind::Other => Ok(Match::Exact(of(text)?)),
        MatchKind::Lpm => {
            let (value, length) = pair("/")?;
            let length: u32 = length
                .parse()
                .map_err(|_| format!("`{length}` is not a prefix length"))?;
            let low = key.width.saturating_sub(length);
            Ok(Match::Lpm {
                value: (of(value)? >> low) << low,
                length,
            })
        }
        MatchKind::Ternary | MatchKind::Optional => {
            let (value, mask) = pair("&&&")?;
            let (value, mask) = (of(value)?, of(mask)?);
            let full = (BigUint::from(1u8) << key.width) - 1u8;
            let mask = mask & &full;
            Ok(match key.kind {
                _ if mask == BigUint::default() => Match::Any,
                MatchKind::Optional if mask == full => Match::Optional(value),
                _ => Match::Ternary {
                    value: value & &mask,
                    mask,
                },
            })
        }
        MatchKind::Range => {
            let (low, high) = pair("->")?;
            Ok(Match::Range {
                low: of(low)?,
                high: of(high)?,
            })
        }
    }
}
