//! Arithmetic on values of at most 64 bits; each as `p4_ir`'s interpreter says.

use crate::emit::Emitter;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use p4_ir::ir::{mask, Alu};

/// `a op b` in `w` bits.
pub(crate) fn alu(e: &mut Emitter, op: Alu, w: u8, a: Value, b: Value) -> Value {
    let w = u32::from(w);
    let m = mask(w);
    match op {
        Alu::Add => {
            let sum = e.ins().iadd(a, b);
            e.cut(sum, m)
        }
        Alu::Sub => {
            let difference = e.ins().isub(a, b);
            e.cut(difference, m)
        }
        Alu::Mul => {
            let product = e.ins().imul(a, b);
            e.cut(product, m)
        }
        Alu::Div => {
            let (divisor, zero) = divisor(e, b);
            let quotient = e.ins().udiv(a, divisor);
            let none = e.number(0);
            e.ins().select(zero, none, quotient)
        }
        Alu::Mod => {
            // What is left of a division by 1 is 0, as it shall be by 0.
            let divisor = divisor(e, b).0;
            e.ins().urem(a, divisor)
        }
        Alu::And => e.ins().band(a, b),
        Alu::Or => e.ins().bor(a, b),
        Alu::Xor => e.ins().bxor(a, b),
        Alu::Shl => {
            let moved = e.ins().ishl(a, b);
            let moved = unless_beyond(e, b, moved);
            e.cut(moved, m)
        }
        Alu::Shr => {
            let moved = e.ins().ushr(a, b);
            unless_beyond(e, b, moved)
        }
        Alu::ShrS => {
            let value = signed(e, a, w);
            let most = e.number(63);
            let by = e.ins().umin(b, most);
            let moved = e.ins().sshr(value, by);
            e.cut(moved, m)
        }
        Alu::AddSat => {
            let sum = e.ins().iadd(a, b);
            let most = e.number(m);
            match w {
                64 => {
                    let over = e.ins().icmp(IntCC::UnsignedLessThan, sum, a);
                    e.ins().select(over, most, sum)
                }
                _ => e.ins().umin(sum, most),
            }
        }
        Alu::SubSat => {
            let difference = e.ins().isub(a, b);
            let under = e.ins().icmp(IntCC::UnsignedLessThan, a, b);
            let none = e.number(0);
            e.ins().select(under, none, difference)
        }
        Alu::AddSatS | Alu::SubSatS => saturated(e, op, w, a, b),
        Alu::Eq => e.compare(IntCC::Equal, a, b),
        Alu::Ne => e.compare(IntCC::NotEqual, a, b),
        Alu::Lt => e.compare(IntCC::UnsignedLessThan, a, b),
        Alu::Le => e.compare(IntCC::UnsignedLessThanOrEqual, a, b),
        Alu::LtS | Alu::LeS => {
            let (a, b) = (signed(e, a, w), signed(e, b, w));
            let code = match op {
                Alu::LtS => IntCC::SignedLessThan,
                _ => IntCC::SignedLessThanOrEqual,
            };
            e.compare(code, a, b)
        }
    }
}

/// `b`, or 1 instead of 0, and whether it was 0.
fn divisor(e: &mut Emitter, b: Value) -> (Value, Value) {
    let zero = e.ins().icmp_imm_u(IntCC::Equal, b, 0);
    let one = e.number(1);
    (e.ins().select(zero, one, b), zero)
}

/// `moved`, or 0 if the shift by `b` moves everything out.
fn unless_beyond(e: &mut Emitter, b: Value, moved: Value) -> Value {
    let within = e.ins().icmp_imm_u(IntCC::UnsignedLessThan, b, 64);
    let none = e.number(0);
    e.ins().select(within, moved, none)
}

/// The value of a two's-complement pattern of `w` bits.
pub(crate) fn signed(e: &mut Emitter, a: Value, w: u32) -> Value {
    match w {
        0 => e.number(0),
        64.. => a,
        _ => {
            let unused = i64::from(64 - w);
            let high = e.ins().ishl_imm_u(a, unused);
            e.ins().sshr_imm_u(high, unused)
        }
    }
}

/// Signed saturation, done at the upper end of a word, where overflow is the word's own.
fn saturated(e: &mut Emitter, op: Alu, w: u32, a: Value, b: Value) -> Value {
    if w == 0 {
        return e.number(0);
    }
    let unused = i64::from(64 - w);
    let (a, b) = (e.ins().ishl_imm_u(a, unused), e.ins().ishl_imm_u(b, unused));
    let (out, by_b) = match op {
        Alu::AddSatS => {
            let sum = e.ins().iadd(a, b);
            (sum, e.ins().bxor(b, sum))
        }
        _ => {
            let difference = e.ins().isub(a, b);
            (difference, e.ins().bxor(a, b))
        }
    };
    let by_a = e.ins().bxor(a, out);
    let over = e.ins().band(by_a, by_b);
    let over = e.ins().icmp_imm_s(IntCC::SignedLessThan, over, 0);
    // The greatest value, or the least one if `a` is negative
    let sign = e.ins().sshr_imm_u(a, 63);
    let limit = e.ins().bxor_imm_u(sign, i64::MAX);
    let out = e.ins().select(over, limit, out);
    e.ins().ushr_imm_u(out, unused)
}
