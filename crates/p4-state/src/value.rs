//! Numbers of any size and the frame's words.

use num_bigint::BigUint;
use p4_ir::ir::words;

/// `value` as the words of a `width`-bit field, least significant first; `None` if it is too wide.
pub(crate) fn to_words(value: &BigUint, width: u32) -> Option<Vec<u64>> {
    let mut limbs = Vec::new();
    push_words(value, width, &mut limbs).then_some(limbs)
}

/// Puts the words of `value`, which has `width` bits, behind `limbs`; `false` if it is too wide.
pub(crate) fn push_words(value: &BigUint, width: u32, limbs: &mut Vec<u64>) -> bool {
    let fits = value.bits() <= u64::from(width);
    if fits {
        let digits = value.iter_u64_digits().chain(std::iter::repeat(0));
        limbs.extend(digits.take(words(width) as usize));
    }
    fits
}

/// The number whose words are `limbs`.
pub(crate) fn from_words(limbs: &[u64]) -> BigUint {
    let bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
    BigUint::from_bytes_le(&bytes)
}

/// A field of ones: bits `from..to` set, in `n` words.
pub(crate) fn ones(from: u32, to: u32, n: usize) -> Vec<u64> {
    let mut limbs = Vec::new();
    push_ones(from, to, n, &mut limbs);
    limbs
}

/// Puts `n` words with bits `from..to` set behind `limbs`.
pub(crate) fn push_ones(from: u32, to: u32, n: usize, limbs: &mut Vec<u64>) {
    limbs.extend((0..n as u32).map(|word| {
        let below = |end: u32| match end.saturating_sub(word * u64::BITS) {
            bits @ 0..u64::BITS => (1 << bits) - 1,
            _ => u64::MAX,
        };
        below(to) & !below(from)
    }));
}

/// Compares two values of equally many words.
pub(crate) fn less(a: &[u64], b: &[u64]) -> bool {
    a.iter().rev().lt(b.iter().rev())
}
