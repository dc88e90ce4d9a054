//! Operations on values of several words, as straight code over their words.

use crate::emit::Emitter;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use p4_ir::ir::{mask, words, Alu, Slot, WideKind, WideOp};

/// Operations on longer values are left to the interpreter.
const MANY: u32 = 16;

/// Whether native code executes `op` by itself.
pub(crate) fn is_inline(op: &WideOp) -> bool {
    let kind = match op.kind {
        WideKind::Alu(alu) => matches!(
            alu,
            Alu::And
                | Alu::Or
                | Alu::Xor
                | Alu::Add
                | Alu::Sub
                | Alu::Eq
                | Alu::Ne
                | Alu::Lt
                | Alu::Le
        ),
        WideKind::SignExtend => false,
        _ => true,
    };
    kind && op.dw > 0 && op.aw > 0 && operands(op).iter().all(|(_, n)| *n <= MANY)
}

/// First word and number of words of both operands and the result; none for a missing operand.
pub(crate) fn operands(op: &WideOp) -> [(Slot, u32); 3] {
    let has_b = matches!(op.kind, WideKind::Alu(_) | WideKind::Concat);
    let b = if has_b { words(op.bw) } else { 0 };
    [(op.a, words(op.aw)), (op.b, b), (op.d, words(op.dw))]
}

/// Whether part of the destination stays as it is.
pub(crate) fn keeps_some(op: &WideOp) -> bool {
    matches!(op.kind, WideKind::Insert { .. })
}

/// The code of `op`, for which [`is_inline`] holds.
pub(crate) fn emit(e: &mut Emitter, op: &WideOp) {
    let [a, b, d] = operands(op);
    let n = d.1 as usize;
    let mut words_of = |(slot, n): (Slot, u32)| -> Vec<Value> {
        (slot..slot + n).map(|word| e.get(word)).collect()
    };
    let (a, b) = (words_of(a), words_of(b));
    let d = if keeps_some(op) {
        words_of(d)
    } else {
        Vec::new()
    };
    let mut out = match op.kind {
        WideKind::Alu(alu) => arithmetic(e, alu, &a, &b, n),
        WideKind::Not => a.iter().map(|word| e.ins().bnot(*word)).collect(),
        WideKind::Neg => {
            let zero = e.number(0);
            subtract(e, &vec![zero; a.len()], &a).0
        }
        WideKind::Concat => {
            let high = shifted_left(e, &a, op.bw, n);
            let both = high.iter().enumerate();
            both.map(|(i, high)| match b.get(i) {
                Some(low) => e.ins().bor(*high, *low),
                None => *high,
            })
            .collect()
        }
        WideKind::Slice { lo } => shifted_right(e, &a, lo, n),
        WideKind::Insert { lo } => {
            let value = shifted_left(e, &a, lo, n);
            (0..n)
                .map(|i| {
                    let inside = covered(i as u32, lo, op.aw);
                    let kept = e.ins().band_imm_u(d[i], (!inside) as i64);
                    let new = e.ins().band_imm_u(value[i], inside as i64);
                    e.ins().bor(kept, new)
                })
                .collect()
        }
        WideKind::SignExtend => Vec::new(),
    };
    if let Some(last) = out.last_mut() {
        let spare = mask(op.dw - (words(op.dw) - 1) * 64);
        *last = e.cut(*last, spare);
    }
    for (i, value) in out.into_iter().enumerate() {
        e.set(op.d + i as Slot, value);
    }
}

/// A mask of the bits of word `i` that lie in `lo..lo+width`.
fn covered(i: u32, lo: u32, width: u32) -> u64 {
    let from = lo.clamp(i * 64, i * 64 + 64) - i * 64;
    let to = (lo + width).clamp(i * 64, i * 64 + 64) - i * 64;
    mask(to) & !mask(from)
}

fn arithmetic(e: &mut Emitter, alu: Alu, a: &[Value], b: &[Value], n: usize) -> Vec<Value> {
    let pairs = a.iter().zip(b);
    match alu {
        Alu::And => pairs.map(|(a, b)| e.ins().band(*a, *b)).collect(),
        Alu::Or => pairs.map(|(a, b)| e.ins().bor(*a, *b)).collect(),
        Alu::Xor => pairs.map(|(a, b)| e.ins().bxor(*a, *b)).collect(),
        Alu::Add => add(e, a, b),
        Alu::Sub => subtract(e, a, b).0,
        Alu::Lt => vec![subtract(e, a, b).1],
        Alu::Le => {
            let greater = subtract(e, b, a).1;
            vec![e.ins().bxor_imm_u(greater, 1)]
        }
        _ => {
            let differ: Vec<Value> = pairs.map(|(a, b)| e.ins().bxor(*a, *b)).collect();
            let any = differ.into_iter().reduce(|a, b| e.ins().bor(a, b));
            let any = any.unwrap_or_else(|| e.number(0));
            let code = if alu == Alu::Eq {
                IntCC::Equal
            } else {
                IntCC::NotEqual
            };
            let equal = e.ins().icmp_imm_u(code, any, 0);
            let zero = e.number(0);
            let mut out = vec![zero; n];
            out[0] = e.widened(equal);
            out
        }
    }
}

fn add(e: &mut Emitter, a: &[Value], b: &[Value]) -> Vec<Value> {
    let mut carry: Option<Value> = None;
    let mut out = Vec::new();
    for (a, b) in a.iter().zip(b) {
        let sum = e.ins().iadd(*a, *b);
        let mut over = e.compare(IntCC::UnsignedLessThan, sum, *a);
        let mut whole = sum;
        if let Some(carry) = carry {
            whole = e.ins().iadd(sum, carry);
            let again = e.compare(IntCC::UnsignedLessThan, whole, sum);
            over = e.ins().bor(over, again);
        }
        carry = Some(over);
        out.push(whole);
    }
    out
}

/// The difference and 1 if it is below zero.
fn subtract(e: &mut Emitter, a: &[Value], b: &[Value]) -> (Vec<Value>, Value) {
    let mut borrow: Option<Value> = None;
    let mut out = Vec::new();
    for (a, b) in a.iter().zip(b) {
        let difference = e.ins().isub(*a, *b);
        let mut under = e.compare(IntCC::UnsignedLessThan, *a, *b);
        let mut whole = difference;
        if let Some(borrow) = borrow {
            whole = e.ins().isub(difference, borrow);
            let again = e.compare(IntCC::UnsignedLessThan, difference, borrow);
            under = e.ins().bor(under, again);
        }
        borrow = Some(under);
        out.push(whole);
    }
    let borrow = borrow.unwrap_or_else(|| e.number(0));
    (out, borrow)
}

/// The word of `a << by` whose place is `at` words above that of `a`'s first.
fn part(e: &mut Emitter, a: &[Value], at: i64, up: u32) -> Value {
    let word = |i: i64| usize::try_from(i).ok().and_then(|i| a.get(i)).copied();
    let high = word(at).map(|word| match up {
        0 => word,
        _ => e.ins().ishl_imm_u(word, i64::from(up)),
    });
    let low = word(at - 1).filter(|_| up > 0);
    let low = low.map(|word| e.ins().ushr_imm_u(word, i64::from(64 - up)));
    match (high, low) {
        (Some(high), Some(low)) => e.ins().bor(high, low),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => e.number(0),
    }
}

fn shifted_left(e: &mut Emitter, a: &[Value], by: u32, n: usize) -> Vec<Value> {
    let (words, bits) = (i64::from(by / 64), by % 64);
    (0..n as i64).map(|i| part(e, a, i - words, bits)).collect()
}

fn shifted_right(e: &mut Emitter, a: &[Value], by: u32, n: usize) -> Vec<Value> {
    let (words, bits) = (i64::from(by / 64), by % 64);
    (0..n as i64)
        .map(|i| match bits {
            0 => part(e, a, i + words, 0),
            _ => part(e, a, i + words + 1, 64 - bits),
        })
        .collect()
}
