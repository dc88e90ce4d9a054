//! Compile-time values and their arithmetic (specification 8).

use num_bigint::{BigInt, Sign};
use num_traits::{One, Signed, ToPrimitive, Zero};
use p4_syntax::ast::{BinOp, Name, NodeId};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Arbitrary precision
    Int(BigInt),
    /// `bit<width>`, or `int<width>` when `signed`; always in range
    Bits {
        width: u32,
        signed: bool,
        value: BigInt,
    },
    Bool(bool),
    String(Name),
    /// Member of `error`
    Error(Name),
    /// Member of an enum without an underlying type
    Enum {
        decl: NodeId,
        member: Name,
    },
    MatchKind(Name),
    /// Fields or items in order
    List(Vec<Value>),
    /// A header that is not valid
    InvalidHeader,
}

impl Value {
    /// The number behind `int`, `bit<W>` and `int<W>`.
    pub fn as_int(&self) -> Option<&BigInt> {
        match self {
            Value::Int(value) | Value::Bits { value, .. } => Some(value),
            _ => None,
        }
    }
}

/// `value` wrapped to `width` bits, as `int<W>` when `signed`.
pub fn wrap(value: &BigInt, width: u32, signed: bool) -> BigInt {
    let modulus = BigInt::one() << width;
    let mut low = value % &modulus;
    if low.sign() == Sign::Minus {
        low += &modulus;
    }
    if signed && width > 0 && low.bit(u64::from(width - 1)) {
        low -= &modulus;
    }
    low
}

/// Whether `value` needs no wrapping in `width` bits.
pub fn fits(value: &BigInt, width: u32, signed: bool) -> bool {
    wrap(value, width, signed) == *value
}

/// Whether `value` can be written in `width` bits in either reading: what p4c accepts silently.
pub fn fits_either(value: &BigInt, width: u32) -> bool {
    fits(value, width, false) || fits(value, width, true)
}

/// Why a constant operation has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithError {
    DivisionByZero,
    NegativeOperand,
    NegativeShift,
    TooLarge,
}

/// The largest shift that is computed at compile time.
const MAX_SHIFT: u32 = 1 << 14;
/// The widest number that is computed at compile time, in bits.
const MAX_BITS: u64 = 1 << 16;

/// `a op b` on plain numbers, before wrapping; comparisons and logic are elsewhere.
/// `limits` is `(min, max)` for the saturating operations.
pub fn arith(
    op: BinOp,
    a: &BigInt,
    b: &BigInt,
    limits: Option<(BigInt, BigInt)>,
) -> Result<BigInt, ArithError> {
    let saturate = |value: BigInt| match &limits {
        Some((min, max)) => value.clamp(min.clone(), max.clone()),
        None => value,
    };
    Ok(match op {
        BinOp::Mul | BinOp::Shl if a.bits() > MAX_BITS || b.bits() > MAX_BITS => {
            return Err(ArithError::TooLarge)
        }
        BinOp::Mul => a * b,
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::AddSat => saturate(a + b),
        BinOp::SubSat => saturate(a - b),
        BinOp::Div | BinOp::Mod => {
            if b.is_zero() {
                return Err(ArithError::DivisionByZero);
            }
            if a.is_negative() || b.is_negative() {
                return Err(ArithError::NegativeOperand);
            }
            if op == BinOp::Div {
                a / b
            } else {
                a % b
            }
        }
        BinOp::Shl | BinOp::Shr => {
            if b.is_negative() {
                return Err(ArithError::NegativeShift);
            }
            match b.to_u32().filter(|amount| *amount <= MAX_SHIFT) {
                Some(amount) if op == BinOp::Shl => a << amount,
                Some(amount) => a >> amount,
                None if op == BinOp::Shr => BigInt::from(if a.is_negative() { -1 } else { 0 }),
                None => return Err(ArithError::TooLarge),
            }
        }
        BinOp::BitAnd => a & b,
        BinOp::BitOr => a | b,
        BinOp::BitXor => a ^ b,
        _ => a.clone(),
    })
}

/// Smallest and largest value of `bit<width>` or `int<width>`.
pub fn limits(width: u32, signed: bool) -> (BigInt, BigInt) {
    if !signed {
        return (BigInt::zero(), (BigInt::one() << width) - 1);
    }
    if width == 0 {
        return (BigInt::zero(), BigInt::zero());
    }
    let half = BigInt::one() << (width - 1);
    (-half.clone(), half - 1)
}

/// The comparison `a op b` for numbers.
pub fn compare(op: BinOp, a: &BigInt, b: &BigInt) -> Option<bool> {
    Some(match op {
        BinOp::Lt => a < b,
        BinOp::Le => a <= b,
        BinOp::Gt => a > b,
        BinOp::Ge => a >= b,
        BinOp::Eq => a == b,
        BinOp::Ne => a != b,
        _ => return None,
    })
}
