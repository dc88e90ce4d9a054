//! Every arithmetic operation at every width against arbitrary-precision integers.

use crate::build::{run, Builder};
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, Signed, ToPrimitive, Zero};
use p4_ir::interp::{Machine, Outcome};
use p4_ir::ir::*;
use proptest::prelude::*;

const ALL: [Alu; 21] = [
    Alu::Add,
    Alu::Sub,
    Alu::Mul,
    Alu::Div,
    Alu::Mod,
    Alu::And,
    Alu::Or,
    Alu::Xor,
    Alu::Shl,
    Alu::Shr,
    Alu::ShrS,
    Alu::AddSat,
    Alu::SubSat,
    Alu::AddSatS,
    Alu::SubSatS,
    Alu::Eq,
    Alu::Ne,
    Alu::Lt,
    Alu::Le,
    Alu::LtS,
    Alu::LeS,
];

fn modulus(width: u32) -> BigInt {
    BigInt::one() << width
}

/// The number whose `width`-bit pattern is `value`'s.
fn wrap(value: BigInt, width: u32) -> BigInt {
    let m = modulus(width);
    ((value % &m) + &m) % &m
}

fn as_signed(pattern: &BigInt, width: u32) -> BigInt {
    if width > 0 && pattern >> (width - 1) & BigInt::one() == BigInt::one() {
        pattern - modulus(width)
    } else {
        pattern.clone()
    }
}

fn truth(value: bool) -> BigInt {
    BigInt::from(u8::from(value))
}

fn shift_amount(b: &BigInt) -> u32 {
    b.to_u32().unwrap_or(u32::MAX).min(10_000)
}

fn clamp(value: BigInt, low: BigInt, high: BigInt) -> BigInt {
    value.max(low).min(high)
}

/// What the operation means, in numbers; operands are patterns of `width` bits.
fn oracle(op: Alu, width: u32, a: &BigInt, b: &BigInt) -> BigInt {
    let (sa, sb) = (as_signed(a, width), as_signed(b, width));
    let unsigned = |value: BigInt| clamp(value, BigInt::zero(), modulus(width) - 1);
    let signed = |value: BigInt| {
        let half: BigInt = modulus(width) / 2;
        wrap(clamp(value, -half.clone(), half - 1), width)
    };
    match op {
        Alu::Add => wrap(a + b, width),
        Alu::Sub => wrap(a - b, width),
        Alu::Mul => wrap(a * b, width),
        Alu::Div if b.is_zero() => BigInt::zero(),
        Alu::Mod if b.is_zero() => BigInt::zero(),
        Alu::Div => a / b,
        Alu::Mod => a % b,
        Alu::And => a & b,
        Alu::Or => a | b,
        Alu::Xor => a ^ b,
        Alu::Shl => wrap(a << shift_amount(b), width),
        Alu::Shr => a >> shift_amount(b),
        Alu::ShrS => wrap(sa >> shift_amount(b), width),
        Alu::AddSat => unsigned(a + b),
        Alu::SubSat => unsigned(a - b),
        Alu::AddSatS => signed(sa + sb),
        Alu::SubSatS => signed(sa - sb),
        Alu::Eq => truth(a == b),
        Alu::Ne => truth(a != b),
        Alu::Lt => truth(a < b),
        Alu::Le => truth(a <= b),
        Alu::LtS => truth(sa < sb),
        Alu::LeS => truth(sa <= sb),
    }
}

fn compares(op: Alu) -> bool {
    matches!(
        op,
        Alu::Eq | Alu::Ne | Alu::Lt | Alu::Le | Alu::LtS | Alu::LeS
    )
}

fn shifts(op: Alu) -> bool {
    matches!(op, Alu::Shl | Alu::Shr | Alu::ShrS)
}

fn limbs(value: &BigInt, width: u32) -> Vec<u64> {
    let mut limbs = value.magnitude().to_u64_digits();
    limbs.resize(words(width) as usize, 0);
    limbs
}

fn number(limbs: &[u64]) -> BigInt {
    let bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
    BigInt::from_biguint(Sign::Plus, BigUint::from_bytes_le(&bytes))
}

/// Runs one instruction whose operands are `a` and `b`, with the result `dw` bits wide in a place
/// apart or, if `onto` says so, on top of an operand.
fn execute(
    dw: u32,
    operands: [(&BigInt, u32); 2],
    onto: u8,
    make: impl Fn(&mut Builder, Slot, Slot, Slot) -> Op,
) -> BigInt {
    let mut builder = Builder::new(64);
    let a = builder.slots(words(operands[0].1).max(words(dw)));
    let b = builder.slots(words(operands[1].1).max(words(dw)));
    let apart = builder.slots(words(dw));
    // Words next to the result must not change.
    let fence = builder.slots(1);
    let d = match onto {
        1 => a,
        2 => b,
        _ => apart,
    };
    let op = make(&mut builder, d, a, b);
    builder.op(op);
    builder.op(Op::Ret);
    let prepared = builder.prepare();
    let mut machine = Machine::new(&prepared);
    machine.frame[fence as usize] = 0x5555;
    for (slot, (value, width)) in [a, b].into_iter().zip(operands) {
        let value = limbs(value, width);
        machine.frame[slot as usize..][..value.len()].copy_from_slice(&value);
    }
    assert_eq!(run(&prepared, &mut machine), Outcome::Done);
    assert_eq!(machine.frame[fence as usize], 0x5555);
    number(&machine.frame[d as usize..][..words(dw) as usize])
}

/// Numbers of up to `width` bits, often with long runs of equal bits and near the limits.
fn values(width: u32) -> impl Strategy<Value = BigInt> {
    let random = prop::collection::vec(any::<u64>(), words(width) as usize);
    (random, 0u32..=width, 0u8..6).prop_map(move |(digits, at, shape)| {
        let value = match shape {
            0 => BigInt::one() << at,
            1 => (BigInt::one() << at) - 1,
            2 => -(BigInt::one() << at),
            3 => BigInt::from(at),
            _ => number(&digits),
        };
        wrap(value, width)
    })
}

fn binary_case() -> impl Strategy<Value = (u32, BigInt, BigInt)> {
    prop_oneof![1u32..=64, 65u32..=300].prop_flat_map(|w| (Just(w), values(w), values(w)))
}

fn two_widths() -> impl Strategy<Value = (u32, BigInt, u32, BigInt)> {
    let width = || prop_oneof![1u32..=64, 65u32..=300];
    (width(), width()).prop_flat_map(|(aw, bw)| (Just(aw), values(aw), Just(bw), values(bw)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // If this fails, a program computes wrong numbers: TTLs, checksums, bit strings.
    #[test]
    fn binary_operations((width, a, b) in binary_case(), onto in 0u8..3) {
        for op in ALL {
            let dw = if compares(op) { 1 } else { width };
            let got = execute(dw, [(&a, width), (&b, width)], onto, |builder, d, a, b| {
                if width <= 64 {
                    return Op::Alu { op, w: width as u8, d, a, b };
                }
                let kind = WideKind::Alu(op);
                builder.program.wide.push(WideOp { kind, d, dw, a, aw: width, b, bw: width });
                Op::Wide { op: 0 }
            });
            prop_assert_eq!(got, oracle(op, width, &a, &b), "{:?} in {} bits", op, width);
        }
    }

    // If this fails, shifting by a narrow field or by an absurd amount gives wrong bits.
    #[test]
    fn shift_amounts_have_their_own_width((aw, a, bw, b) in two_widths(), small in 0u32..320, onto in 0u8..2) {
        for b in [b, wrap(BigInt::from(small), bw)] {
            for op in ALL.into_iter().filter(|op| shifts(*op)) {
                let got = execute(aw, [(&a, aw), (&b, bw)], onto, |builder, d, a, b| {
                    if aw <= 64 && bw <= 64 {
                        return Op::Alu { op, w: aw as u8, d, a, b };
                    }
                    let kind = WideKind::Alu(op);
                    builder.program.wide.push(WideOp { kind, d, dw: aw, a, aw, b, bw });
                    Op::Wide { op: 0 }
                });
                prop_assert_eq!(got, oracle(op, aw, &a, &b), "{:?} {} by {}", op, aw, bw);
            }
        }
    }

    // If this fails, negative numbers and complements are wrong.
    #[test]
    fn unary_operations((width, a, _) in binary_case(), onto in 0u8..2) {
        for (negate, expected) in [(true, -a.clone()), (false, -a.clone() - 1)] {
            let got = execute(width, [(&a, width), (&a, width)], onto, |builder, d, a, _| {
                if width <= 64 {
                    let w = width as u8;
                    return if negate { Op::Neg { w, d, a } } else { Op::Not { w, d, a } };
                }
                let kind = if negate { WideKind::Neg } else { WideKind::Not };
                builder.program.wide.push(WideOp { kind, d, dw: width, a, aw: width, b: a, bw: 0 });
                Op::Wide { op: 0 }
            });
            prop_assert_eq!(got, wrap(expected, width));
        }
    }

    // If this fails, fields joined with ++ get their neighbours' bits.
    #[test]
    fn concatenation((aw, a, bw, b) in two_widths(), onto in 0u8..3) {
        let dw = aw + bw;
        let got = execute(dw, [(&a, aw), (&b, bw)], onto, |builder, d, a, b| {
            if dw <= 64 {
                return Op::Concat { w: bw as u8, d, a, b };
            }
            builder.program.wide.push(WideOp { kind: WideKind::Concat, d, dw, a, aw, b, bw });
            Op::Wide { op: 0 }
        });
        prop_assert_eq!(got, (a << bw) + b);
    }

    // If this fails, slices and casts read or write the wrong bits.
    #[test]
    fn slices_in_and_out((width, a, b) in binary_case(), lo in 0u32..300, w in 1u32..300, onto in 0u8..2) {
        let lo = lo % width;
        let w = 1 + (w - 1) % (width - lo);
        let got = execute(w, [(&a, width), (&b, width)], onto, |builder, d, a, _| {
            if width <= 64 {
                return Op::Slice { lo: lo as u8, w: w as u8, d, a };
            }
            builder.program.wide.push(WideOp { kind: WideKind::Slice { lo }, d, dw: w, a, aw: width, b: a, bw: 0 });
            Op::Wide { op: 0 }
        });
        prop_assert_eq!(got, wrap(&a >> lo, w));

        let piece = wrap(b, w);
        let got = execute(width, [(&a, width), (&piece, w)], 1, |builder, d, _, s| {
            if width <= 64 {
                return Op::Insert { lo: lo as u8, w: w as u8, d, s };
            }
            builder.program.wide.push(WideOp { kind: WideKind::Insert { lo }, d, dw: width, a: s, aw: w, b: s, bw: 0 });
            Op::Wide { op: 0 }
        });
        let hole = ((BigInt::one() << w) - 1) << lo;
        let all = modulus(width) - 1;
        prop_assert_eq!(got, (a & (all ^ hole)) + (piece << lo));
    }

    // If this fails, a cast of a negative int<W> changes its value.
    #[test]
    fn sign_extension((from, a, more, _) in two_widths(), onto in 0u8..2) {
        let to = from + more;
        let got = execute(to, [(&a, from), (&a, from)], onto, |builder, d, a, _| {
            if to <= 64 {
                return Op::SignExtend { from: from as u8, to: to as u8, d, a };
            }
            builder.program.wide.push(WideOp { kind: WideKind::SignExtend, d, dw: to, a, aw: from, b: a, bw: 0 });
            Op::Wide { op: 0 }
        });
        let value = as_signed(&a, from);
        prop_assert!(value.abs() <= modulus(from));
        prop_assert_eq!(got, wrap(value, to));
    }
}
