//! Arithmetic on values of at most 64 bits.

use crate::ir::{mask, Alu};

/// `a op b` in `w` bits (at most 64). Operands and result have no bits above `w`.
#[inline(always)]
pub fn alu(op: Alu, w: u8, a: u64, b: u64) -> u64 {
    let w = u32::from(w);
    let m = mask(w);
    match op {
        Alu::Add => a.wrapping_add(b) & m,
        Alu::Sub => a.wrapping_sub(b) & m,
        Alu::Mul => a.wrapping_mul(b) & m,
        Alu::Div => a.checked_div(b).unwrap_or(0),
        Alu::Mod => a.checked_rem(b).unwrap_or(0),
        Alu::And => a & b,
        Alu::Or => a | b,
        Alu::Xor => a ^ b,
        Alu::Shl => a.unbounded_shl(shift(b)) & m,
        Alu::Shr => a.unbounded_shr(shift(b)),
        Alu::ShrS => signed(a, w).unbounded_shr(shift(b)) as u64 & m,
        Alu::AddSat => a.checked_add(b).map_or(m, |sum| sum.min(m)),
        Alu::SubSat => a.saturating_sub(b),
        Alu::AddSatS => clamp(i128::from(signed(a, w)) + i128::from(signed(b, w)), w),
        Alu::SubSatS => clamp(i128::from(signed(a, w)) - i128::from(signed(b, w)), w),
        Alu::Eq => u64::from(a == b),
        Alu::Ne => u64::from(a != b),
        Alu::Lt => u64::from(a < b),
        Alu::Le => u64::from(a <= b),
        Alu::LtS => u64::from(signed(a, w) < signed(b, w)),
        Alu::LeS => u64::from(signed(a, w) <= signed(b, w)),
    }
}

/// A shift amount as the standard library takes it; 64 and more shift everything out.
#[inline(always)]
fn shift(amount: u64) -> u32 {
    amount.min(64) as u32
}

/// The value of a two's-complement pattern of `w` bits.
#[inline(always)]
pub(crate) fn signed(a: u64, w: u32) -> i64 {
    let unused = 64 - w.min(64);
    (a.unbounded_shl(unused) as i64).unbounded_shr(unused)
}

/// The pattern of the value of `w` bits nearest to `value`.
fn clamp(value: i128, w: u32) -> u64 {
    if w == 0 {
        return 0;
    }
    let limit = 1i128 << (w - 1);
    value.clamp(-limit, limit - 1) as u64 & mask(w)
}

/// Sign extension of a pattern of `from` bits to `to` bits.
#[inline(always)]
pub(crate) fn sign_extend(a: u64, from: u8, to: u8) -> u64 {
    signed(a, u32::from(from)) as u64 & mask(u32::from(to))
}
