//! Values wider than 64 bits: little-endian limbs, all arithmetic modulo 2^width.
//!
//! Operations that read limb `i` before they write limb `i` run in place, because a destination is
//! either one of the operands or apart from both. The others work on copies in a scratch buffer
//! that the machine keeps, so nothing allocates once it has grown.

use std::cmp::Ordering;

use crate::ir::{mask, words, Alu, WideKind, WideOp};

/// Executes `op` on `frame`.
pub(crate) fn execute(op: &WideOp, frame: &mut [u64], scratch: &mut Vec<u64>) {
    if !in_place(op, frame) {
        by_copy(op, frame, scratch);
    }
}

/// The operations on limbs of the same index; `false` if `op` is not one of them.
fn in_place(op: &WideOp, frame: &mut [u64]) -> bool {
    let n = words(op.dw) as usize;
    let (d, a, b) = (op.d as usize, op.a as usize, op.b as usize);
    match op.kind {
        WideKind::Alu(Alu::And) => (0..n).for_each(|i| frame[d + i] = frame[a + i] & frame[b + i]),
        WideKind::Alu(Alu::Or) => (0..n).for_each(|i| frame[d + i] = frame[a + i] | frame[b + i]),
        WideKind::Alu(Alu::Xor) => (0..n).for_each(|i| frame[d + i] = frame[a + i] ^ frame[b + i]),
        WideKind::Not => {
            (0..n).for_each(|i| frame[d + i] = !frame[a + i]);
            trim(&mut frame[d..d + n], op.dw);
        }
        WideKind::Alu(Alu::Add) => {
            let mut carry = false;
            for i in 0..n {
                (frame[d + i], carry) = carrying_add(frame[a + i], frame[b + i], carry);
            }
            trim(&mut frame[d..d + n], op.dw);
        }
        WideKind::Alu(Alu::Sub) => {
            let mut borrow = false;
            for i in 0..n {
                (frame[d + i], borrow) = borrowing_sub(frame[a + i], frame[b + i], borrow);
            }
            trim(&mut frame[d..d + n], op.dw);
        }
        WideKind::Alu(Alu::Eq) => frame[d] = u64::from(equal(op, frame)),
        WideKind::Alu(Alu::Ne) => frame[d] = u64::from(!equal(op, frame)),
        _ => return false,
    }
    true
}

fn equal(op: &WideOp, frame: &[u64]) -> bool {
    let n = words(op.aw) as usize;
    frame[op.a as usize..][..n] == frame[op.b as usize..][..n]
}

fn by_copy(op: &WideOp, frame: &mut [u64], scratch: &mut Vec<u64>) {
    let (n, an) = (words(op.dw) as usize, words(op.aw) as usize);
    // A shift's amount and the second part of a concatenation have a width of their own.
    let bn = match op.kind {
        WideKind::Not | WideKind::Neg | WideKind::SignExtend => 0,
        WideKind::Slice { .. } | WideKind::Insert { .. } => 0,
        WideKind::Alu(_) | WideKind::Concat => words(op.bw) as usize,
    };
    scratch.clear();
    scratch.resize(n, 0);
    scratch.extend_from_slice(&frame[op.a as usize..][..an]);
    scratch.extend_from_slice(&frame[op.b as usize..][..bn]);
    let (d, operands) = scratch.split_at_mut(n);
    let (a, b) = operands.split_at_mut(an);
    match op.kind {
        WideKind::Alu(alu) => arithmetic(alu, op, d, a, b),
        WideKind::Not => complement(d, a),
        WideKind::Neg => negate(d, a),
        WideKind::Concat => {
            shift_left(d, a, op.bw as usize);
            d.iter_mut().zip(&*b).for_each(|(d, b)| *d |= b);
        }
        WideKind::Slice { lo } => shift_right(d, a, lo as usize),
        WideKind::Insert { lo } => {
            d.copy_from_slice(&frame[op.d as usize..][..n]);
            insert(d, a, lo as usize, op.aw as usize);
        }
        WideKind::SignExtend => {
            let shared = n.min(an);
            d[..shared].copy_from_slice(&a[..shared]);
            if negative(a, op.aw) {
                fill_ones(d, op.aw as usize);
            }
        }
    }
    trim(d, op.dw);
    frame[op.d as usize..][..n].copy_from_slice(d);
}

fn arithmetic(alu: Alu, op: &WideOp, d: &mut [u64], a: &mut [u64], b: &[u64]) {
    let width = op.aw;
    match alu {
        Alu::Mul => multiply(d, a, b),
        Alu::Div => divide(d, a, b, width, false),
        Alu::Mod => divide(d, a, b, width, true),
        Alu::Shl => shift_left(d, a, amount(b, width)),
        Alu::Shr => shift_right(d, a, amount(b, width)),
        Alu::ShrS => {
            let by = amount(b, width);
            let sign = negative(a, width);
            shift_right(d, a, by);
            if sign {
                fill_ones(d, (width as usize).saturating_sub(by));
            }
        }
        Alu::AddSat => {
            let carry = add(d, a, b);
            if carry || above(d, width) {
                d.fill(u64::MAX);
            }
        }
        Alu::SubSat => {
            if subtract(d, a, b) {
                d.fill(0);
            }
        }
        Alu::AddSatS | Alu::SubSatS => saturate_signed(alu, d, a, b, width),
        Alu::Lt => d[0] = u64::from(compare(a, b) == Ordering::Less),
        Alu::Le => d[0] = u64::from(compare(a, b) != Ordering::Greater),
        Alu::LtS => d[0] = u64::from(compare_signed(a, b, width) == Ordering::Less),
        Alu::LeS => d[0] = u64::from(compare_signed(a, b, width) != Ordering::Greater),
        Alu::And | Alu::Or | Alu::Xor | Alu::Add | Alu::Sub | Alu::Eq | Alu::Ne => {
            unreachable!("done in place")
        }
    }
}

/// Clamps a sum or difference of two's-complement values to what `width` bits can hold.
fn saturate_signed(alu: Alu, d: &mut [u64], a: &[u64], b: &[u64], width: u32) {
    let (sign_a, sign_b) = (negative(a, width), negative(b, width));
    let overflow_needs = if alu == Alu::AddSatS {
        add(d, a, b);
        sign_a == sign_b
    } else {
        subtract(d, a, b);
        sign_a != sign_b
    };
    if overflow_needs && negative(d, width) != sign_a {
        let top = width as usize - 1;
        d.fill(if sign_a { 0 } else { u64::MAX });
        d[top / 64] = d[top / 64] & !(1 << (top % 64)) | (u64::from(sign_a) << (top % 64));
    }
}

fn carrying_add(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (sum, one) = a.overflowing_add(b);
    let (sum, two) = sum.overflowing_add(u64::from(carry));
    (sum, one | two)
}

fn borrowing_sub(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (difference, one) = a.overflowing_sub(b);
    let (difference, two) = difference.overflowing_sub(u64::from(borrow));
    (difference, one | two)
}

fn add(d: &mut [u64], a: &[u64], b: &[u64]) -> bool {
    let mut carry = false;
    for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
        (*d, carry) = carrying_add(*a, *b, carry);
    }
    carry
}

fn subtract(d: &mut [u64], a: &[u64], b: &[u64]) -> bool {
    let mut borrow = false;
    for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
        (*d, borrow) = borrowing_sub(*a, *b, borrow);
    }
    borrow
}

fn complement(d: &mut [u64], a: &[u64]) {
    d.iter_mut().zip(a).for_each(|(d, a)| *d = !a);
}

fn negate(d: &mut [u64], a: &[u64]) {
    let mut carry = true;
    for (d, a) in d.iter_mut().zip(a) {
        (*d, carry) = carrying_add(!a, 0, carry);
    }
}

fn multiply(d: &mut [u64], a: &[u64], b: &[u64]) {
    for (i, x) in a.iter().enumerate() {
        let mut carry = 0u128;
        for (j, y) in b.iter().enumerate() {
            let Some(d) = d.get_mut(i + j) else { break };
            let sum = u128::from(*x) * u128::from(*y) + u128::from(*d) + carry;
            *d = sum as u64;
            carry = sum >> 64;
        }
    }
}

/// Long division, a bit at a time: `a` becomes the remainder as it is built up. Run-time division
/// of wide values is too rare in P4 to deserve more.
fn divide(d: &mut [u64], a: &mut [u64], b: &[u64], width: u32, remainder: bool) {
    if b.iter().all(|limb| *limb == 0) {
        return;
    }
    // `a` is consumed from the top; what is shifted out of it goes into the rest in `d`'s place.
    let n = a.len();
    let mut top = false;
    for _ in 0..width {
        // Quotient bits enter `a` from below while dividend bits leave it at bit width-1.
        let leaving = a[(width as usize - 1) / 64] >> ((width - 1) % 64) & 1;
        shift_left_by_one(a, 0);
        top |= shift_left_by_one(d, leaving);
        if top || compare(d, b) != Ordering::Less {
            let mut borrow = false;
            for i in 0..n {
                (d[i], borrow) = borrowing_sub(d[i], b[i], borrow);
            }
            a[0] |= 1;
            top = false;
        }
    }
    if !remainder {
        d.copy_from_slice(a);
    }
}

fn shift_left_by_one(d: &mut [u64], mut bit: u64) -> bool {
    for limb in d {
        let out = *limb >> 63;
        *limb = *limb << 1 | bit;
        bit = out;
    }
    bit != 0
}

/// A shift amount, cut to `width`, which shifts everything out.
fn amount(b: &[u64], width: u32) -> usize {
    let (low, high) = b
        .split_first()
        .map_or((0, &[][..]), |(low, high)| (*low, high));
    if high.iter().any(|limb| *limb != 0) {
        return width as usize;
    }
    low.min(u64::from(width)) as usize
}

/// `d = a << by`, cut to the limbs of `d`.
fn shift_left(d: &mut [u64], a: &[u64], by: usize) {
    let (limbs, bits) = (by / 64, by % 64);
    for (i, d) in d.iter_mut().enumerate() {
        let limb = |i: Option<usize>| i.and_then(|i| a.get(i)).copied().unwrap_or(0);
        let high = limb(i.checked_sub(limbs)) << bits;
        let low = limb(i.checked_sub(limbs + 1)).unbounded_shr(64 - bits as u32);
        *d = high | low;
    }
}

/// `d = a >> by`, cut to the limbs of `d`.
fn shift_right(d: &mut [u64], a: &[u64], by: usize) {
    let (limbs, bits) = (by / 64, by % 64);
    for (i, d) in d.iter_mut().enumerate() {
        let limb = |i: usize| a.get(i).copied().unwrap_or(0);
        let high = limb(i + limbs + 1).unbounded_shl(64 - bits as u32);
        *d = limb(i + limbs) >> bits | high;
    }
}

/// `d[lo+width-1 : lo] = a`
fn insert(d: &mut [u64], a: &[u64], lo: usize, width: usize) {
    for (i, d) in d.iter_mut().enumerate() {
        // Bits of this limb that lie inside the slice
        let from = lo.clamp(i * 64, i * 64 + 64) - i * 64;
        let to = (lo + width).clamp(i * 64, i * 64 + 64) - i * 64;
        if from == to {
            continue;
        }
        let inside = mask(to as u32) & !mask(from as u32);
        let start = i * 64 + from - lo;
        let limb = |i: usize| a.get(i).copied().unwrap_or(0);
        let value = limb(start / 64) >> (start % 64)
            | limb(start / 64 + 1).unbounded_shl(64 - (start % 64) as u32);
        *d = *d & !inside | (value << from) & inside;
    }
}

/// Sets all bits from bit `from` up.
fn fill_ones(d: &mut [u64], from: usize) {
    for (i, limb) in d.iter_mut().enumerate() {
        if i * 64 >= from {
            *limb = u64::MAX;
        } else if from < i * 64 + 64 {
            *limb |= u64::MAX << (from % 64);
        }
    }
}

/// Whether some bit at or above `width` is set.
fn above(d: &[u64], width: u32) -> bool {
    let spare = width % 64;
    spare != 0 && d.last().is_some_and(|limb| limb >> spare != 0)
}

fn negative(a: &[u64], width: u32) -> bool {
    let Some(top) = width.checked_sub(1) else {
        return false;
    };
    a.get(top as usize / 64)
        .is_some_and(|limb| limb >> (top % 64) & 1 == 1)
}

fn compare(a: &[u64], b: &[u64]) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

fn compare_signed(a: &[u64], b: &[u64], width: u32) -> Ordering {
    match (negative(a, width), negative(b, width)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => compare(a, b),
    }
}

/// Clears the bits at and above `width`.
fn trim(d: &mut [u64], width: u32) {
    if width == 0 {
        d.fill(0);
    } else if let Some(last) = d.last_mut() {
        *last &= mask(width - (words(width) - 1) * 64);
    }
}
