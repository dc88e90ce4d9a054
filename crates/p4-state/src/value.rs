//! Numbers of any size and the frame's words.

use num_bigint::BigUint;
use p4_ir::ir::words;

/// `value` as the words of a `width`-bit field, least significant first; `None` if it is too wide.
pub(crate) fn to_words(value: &BigUint, width: u32) -> Option<Vec<u64>> {
    if value.bits() > u64::from(width) {
        return None;
    }
    let mut limbs = value.to_u64_digits();
    limbs.resize(words(width) as usize, 0);
    Some(limbs)
}

/// The number whose words are `limbs`.
pub(crate) fn from_words(limbs: &[u64]) -> BigUint {
    let bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
    BigUint::from_bytes_le(&bytes)
}

/// A field of ones: bits `from..to` set, in `n` words.
pub(crate) fn ones(from: u32, to: u32, n: usize) -> Vec<u64> {
    let mut limbs = vec![0; n];
    for bit in from..to {
        if let Some(limb) = limbs.get_mut(bit as usize / 64) {
            *limb |= 1 << (bit % 64);
        }
    }
    limbs
}

/// Compares two values of equally many words.
pub(crate) fn less(a: &[u64], b: &[u64]) -> bool {
    a.iter().rev().lt(b.iter().rev())
}
