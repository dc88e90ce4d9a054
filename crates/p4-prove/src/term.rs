//! Terms over bit vectors: each distinct term exists once, and is simplified when it is made.
//!
//! Two programs that compute the same value in the same steps get the same term, so most questions
//! about them are answered without a solver. A truth value is one bit. The operands of a term are
//! older than the term: ascending numbers are an order of evaluation.

use crate::evaluate::Model;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};
use rustc_hash::FxHashMap;

/// Number of a term in [`Terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(pub u32);

/// What stands for a value that nobody knows.
#[derive(Clone, Debug)]
pub struct Unknown {
    pub name: String,
    pub width: u32,
}

/// A function of which a solver knows only that equal arguments give equal results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    Crc32,
    Crc16,
    /// The Internet checksum
    Csum16,
    /// What cell the index names held before the packet came; one function per register
    Cell(u32),
}

/// Operations whose operands have the width of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    And,
    Or,
    Xor,
    Add,
    Sub,
    Mul,
    /// By zero: 0, as the engine has it, not as SMT-LIB has it
    Div,
    /// By zero: 0
    Mod,
    Shl,
    Shr,
    /// Arithmetic shift right
    ShrS,
    Eq,
    Lt,
    LtS,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    Constant(BigUint),
    Unknown(u32),
    Not(Term),
    Binary(Binary, Term, Term),
    Choose(Term, Term, Term),
    /// The first operand has the higher bits.
    Concat(Term, Term),
    /// The bits from `lo` on, as many as the term is wide
    Slice(Term, u32),
    Apply(Function, Term),
}

/// All terms of a comparison.
#[derive(Debug, Default)]
pub struct Terms {
    nodes: Vec<Node>,
    widths: Vec<u32>,
    numbers: FxHashMap<(Node, u32), Term>,
    pub unknowns: Vec<Unknown>,
    by_name: FxHashMap<String, Term>,
    /// What unknowns and functions are, where nothing is unknown
    given: Option<Given>,
}

/// Values of unknowns by name, and what functions are of them.
#[derive(Debug)]
struct Given {
    values: FxHashMap<String, BigUint>,
    model: Model,
}

fn ones(width: u32) -> BigUint {
    (BigUint::one() << width) - 1u32
}

impl Terms {
    /// Terms that are all numbers: the unknowns of `others` have their values in `model`.
    pub fn of_values(others: &Terms, model: &Model) -> Terms {
        let named = others.unknowns.iter().zip(0u32..);
        let values = named.filter_map(|(unknown, number)| {
            let value = model.values.get(&number)?;
            Some((unknown.name.clone(), value.clone()))
        });
        Terms {
            given: Some(Given {
                values: values.collect(),
                model: model.clone(),
            }),
            ..Terms::default()
        }
    }

    /// The term, made again with other operands.
    pub fn with_operands(&mut self, term: Term, of: impl Fn(Term) -> Term) -> Term {
        let width = self.width(term);
        match *self.node(term) {
            Node::Constant(_) | Node::Unknown(_) => term,
            Node::Not(a) => self.not(of(a)),
            Node::Binary(op, a, b) => self.binary(op, of(a), of(b)),
            Node::Choose(c, a, b) => self.choose(of(c), of(a), of(b)),
            Node::Concat(a, b) => self.concat(of(a), of(b)),
            Node::Slice(a, lo) => self.slice(of(a), lo, width),
            Node::Apply(function, a) => self.apply(function, of(a), width),
        }
    }

    pub fn node(&self, term: Term) -> &Node {
        &self.nodes[term.0 as usize]
    }

    /// Bits
    pub fn width(&self, term: Term) -> u32 {
        self.widths[term.0 as usize]
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn make(&mut self, node: Node, width: u32) -> Term {
        debug_assert!(width > 0, "{node:?}");
        let key = (node, width);
        if let Some(term) = self.numbers.get(&key) {
            return *term;
        }
        let term = Term(self.nodes.len() as u32);
        self.nodes.push(key.0.clone());
        self.widths.push(width);
        self.numbers.insert(key, term);
        term
    }

    pub fn constant(&mut self, value: BigUint, width: u32) -> Term {
        let value = match value.bits() > u64::from(width) {
            true => value & ones(width),
            false => value,
        };
        self.make(Node::Constant(value), width)
    }

    pub fn number(&mut self, value: u64, width: u32) -> Term {
        self.constant(BigUint::from(value), width)
    }

    pub fn truth(&mut self, value: bool) -> Term {
        self.number(value.into(), 1)
    }

    /// The unknown called `name`: the same one each time.
    pub fn unknown(&mut self, name: &str, width: u32) -> Term {
        if let Some(given) = &self.given {
            let value = given.values.get(name).cloned().unwrap_or_default();
            return self.constant(value, width);
        }
        if let Some(term) = self.by_name.get(name) {
            return *term;
        }
        let index = self.unknowns.len() as u32;
        self.unknowns.push(Unknown {
            name: name.to_string(),
            width,
        });
        let term = self.make(Node::Unknown(index), width);
        self.by_name.insert(name.to_string(), term);
        term
    }

    pub fn value(&self, term: Term) -> Option<&BigUint> {
        match self.node(term) {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Bits without which the term cannot be said; of a constant those of its value.
    pub fn needed(&self, term: Term) -> u32 {
        match self.value(term) {
            Some(value) => value.bits().max(1) as u32,
            None => self.width(term),
        }
    }

    /// The value of a constant, if it fits.
    pub fn small(&self, term: Term) -> Option<u64> {
        self.value(term).and_then(ToPrimitive::to_u64)
    }

    fn is_zero(&self, term: Term) -> bool {
        self.value(term).is_some_and(Zero::is_zero)
    }

    fn is_ones(&self, term: Term) -> bool {
        let width = self.width(term);
        self.value(term).is_some_and(|value| *value == ones(width))
    }

    fn are_complements(&self, a: Term, b: Term) -> bool {
        matches!(self.node(a), Node::Not(inner) if *inner == b)
            || matches!(self.node(b), Node::Not(inner) if *inner == a)
    }

    pub fn not(&mut self, a: Term) -> Term {
        let width = self.width(a);
        match self.node(a).clone() {
            Node::Constant(value) => self.constant(ones(width) - value, width),
            Node::Not(inner) => inner,
            _ => self.make(Node::Not(a), width),
        }
    }

    pub fn and(&mut self, a: Term, b: Term) -> Term {
        let (a, b) = self.in_order(a, b);
        if a == b || self.is_zero(a) || self.is_ones(b) {
            return a;
        }
        if self.is_zero(b) || self.is_ones(a) {
            return b;
        }
        let width = self.width(a);
        if self.are_complements(a, b) {
            return self.number(0, width);
        }
        if let (Some(x), Some(y)) = (self.value(a), self.value(b)) {
            let value = x & y;
            return self.constant(value, width);
        }
        if width == 1 {
            if let Some(short) = self.absorb(a, b).or_else(|| self.absorb(b, a)) {
                return short;
            }
        }
        self.make(Node::Binary(Binary::And, a, b), width)
    }

    /// `a and b` of truth values where `b` is a compound with `a` in it.
    fn absorb(&mut self, a: Term, b: Term) -> Option<Term> {
        match *self.node(b) {
            Node::Binary(Binary::And, x, y) => {
                if x == a || y == a {
                    return Some(b);
                }
                (self.are_complements(x, a) || self.are_complements(y, a))
                    .then(|| self.number(0, 1))
            }
            Node::Not(inner) => match *self.node(inner) {
                Node::Binary(Binary::And, x, y) => {
                    // a and not (x and y)
                    if self.are_complements(x, a) || self.are_complements(y, a) {
                        return Some(a);
                    }
                    let other = match (x == a, y == a) {
                        (true, _) => y,
                        (_, true) => x,
                        _ => return None,
                    };
                    let other = self.not(other);
                    Some(self.and(a, other))
                }
                _ => None,
            },
            _ => None,
        }
    }

    pub fn or(&mut self, a: Term, b: Term) -> Term {
        let (x, y) = (self.not(a), self.not(b));
        let neither = self.and(x, y);
        self.not(neither)
    }

    pub fn all(&mut self, terms: &[Term]) -> Term {
        let start = self.truth(true);
        terms.iter().fold(start, |all, term| self.and(all, *term))
    }

    pub fn any(&mut self, terms: &[Term]) -> Term {
        let start = self.truth(false);
        terms.iter().fold(start, |any, term| self.or(any, *term))
    }

    fn in_order(&self, a: Term, b: Term) -> (Term, Term) {
        match a <= b {
            true => (a, b),
            false => (b, a),
        }
    }

    pub fn binary(&mut self, op: Binary, a: Term, b: Term) -> Term {
        debug_assert_eq!(self.width(a), self.width(b), "{op:?}");
        match op {
            Binary::And => self.and(a, b),
            Binary::Or => self.or(a, b),
            Binary::Eq => self.equal(a, b),
            _ => self.arithmetic(op, a, b),
        }
    }

    fn arithmetic(&mut self, op: Binary, a: Term, b: Term) -> Term {
        let width = self.width(a);
        let result = match op {
            Binary::Lt | Binary::LtS => 1,
            _ => width,
        };
        if let (Some(x), Some(y)) = (self.value(a), self.value(b)) {
            let value = fold(op, x, y, width);
            return self.constant(value, result);
        }
        let (a, b) = match op {
            Binary::Xor | Binary::Add | Binary::Mul => self.in_order(a, b),
            _ => (a, b),
        };
        match op {
            Binary::Xor if a == b => return self.number(0, width),
            Binary::Xor | Binary::Add if self.is_zero(a) => return b,
            Binary::Xor | Binary::Add if self.is_zero(b) => return a,
            Binary::Sub | Binary::Shl | Binary::Shr | Binary::ShrS if self.is_zero(b) => return a,
            Binary::Sub if a == b => return self.number(0, width),
            Binary::Shl | Binary::Shr if self.is_zero(a) => return a,
            Binary::Lt | Binary::LtS if a == b => return self.truth(false),
            Binary::Lt if self.is_zero(b) || self.is_ones(a) => return self.truth(false),
            Binary::Sub if self.value(b).is_some() => {
                let minus = (BigUint::one() << width) - self.value(b).cloned().unwrap_or_default();
                let minus = self.constant(minus, width);
                return self.arithmetic(Binary::Add, a, minus);
            }
            Binary::Shl | Binary::Shr => {
                if let Some(shifted) = self.shift_by_constant(op, a, b) {
                    return shifted;
                }
            }
            Binary::Div | Binary::Mod => {
                if let Some(short) = self.divide_by_power(op, a, b) {
                    return short;
                }
            }
            Binary::Add => {
                if let Some(sum) = self.add_constants(a, b) {
                    return sum;
                }
            }
            _ => {}
        }
        self.make(Node::Binary(op, a, b), result)
    }

    /// (x + constant) + constant
    fn add_constants(&mut self, a: Term, b: Term) -> Option<Term> {
        let (constant, sum) = match (self.value(a), self.value(b)) {
            (Some(value), None) => (value.clone(), b),
            (None, Some(value)) => (value.clone(), a),
            _ => return None,
        };
        let Node::Binary(Binary::Add, x, y) = *self.node(sum) else {
            return None;
        };
        let (inner, rest) = match (self.value(x), self.value(y)) {
            (Some(value), None) => (value.clone(), y),
            (None, Some(value)) => (value.clone(), x),
            _ => return None,
        };
        let total = self.constant(constant + inner, self.width(sum));
        Some(self.arithmetic(Binary::Add, rest, total))
    }

    fn divide_by_power(&mut self, op: Binary, a: Term, b: Term) -> Option<Term> {
        let (width, by) = (self.width(a), self.value(b)?);
        let power = by.trailing_zeros()? as u32;
        if *by != BigUint::one() << power {
            return None;
        }
        Some(match (op, power) {
            (Binary::Mod, 0) => self.number(0, width),
            (Binary::Mod, _) => {
                let low = self.slice(a, 0, power);
                self.fit(low, width)
            }
            _ => {
                let high = self.slice(a, power, width - power);
                self.fit(high, width)
            }
        })
    }

    fn shift_by_constant(&mut self, op: Binary, a: Term, b: Term) -> Option<Term> {
        let width = self.width(a);
        let by = self.value(b)?.to_u32().unwrap_or(u32::MAX);
        if by >= width {
            return Some(self.number(0, width));
        }
        let zeros = self.number(0, by);
        Some(match op {
            Binary::Shl => {
                let kept = self.slice(a, 0, width - by);
                self.concat(kept, zeros)
            }
            _ => {
                let kept = self.slice(a, by, width - by);
                self.concat(zeros, kept)
            }
        })
    }

    pub fn equal(&mut self, a: Term, b: Term) -> Term {
        let (a, b) = self.in_order(a, b);
        if a == b {
            return self.truth(true);
        }
        if let (Some(x), Some(y)) = (self.value(a), self.value(b)) {
            let same = x == y;
            return self.truth(same);
        }
        let (constant, other) = match (self.value(a).is_some(), self.value(b).is_some()) {
            (true, _) => (a, b),
            (_, true) => (b, a),
            _ => return self.equal_unknown(a, b),
        };
        if self.width(a) == 1 {
            return match self.is_zero(constant) {
                true => self.not(other),
                false => other,
            };
        }
        match *self.node(other) {
            Node::Choose(c, x, y) if self.value(x).is_some() || self.value(y).is_some() => {
                let (x, y) = (self.equal(x, constant), self.equal(y, constant));
                self.choose(c, x, y)
            }
            Node::Concat(high, low) => {
                let bits = self.width(low);
                let (h, l) = (
                    self.slice(constant, bits, self.width(high)),
                    self.slice(constant, 0, bits),
                );
                let (high, low) = (self.equal(high, h), self.equal(low, l));
                self.and(high, low)
            }
            Node::Not(inner) => {
                let turned = self.not(constant);
                self.equal(inner, turned)
            }
            _ => self.make(Node::Binary(Binary::Eq, a, b), 1),
        }
    }

    fn equal_unknown(&mut self, a: Term, b: Term) -> Term {
        if self.are_complements(a, b) {
            return self.truth(false);
        }
        if let (Node::Concat(h, l), Node::Concat(i, m)) = (self.node(a), self.node(b)) {
            let (h, l, i, m) = (*h, *l, *i, *m);
            if self.width(l) == self.width(m) {
                let (high, low) = (self.equal(h, i), self.equal(l, m));
                return self.and(high, low);
            }
        }
        self.make(Node::Binary(Binary::Eq, a, b), 1)
    }

    pub fn choose(&mut self, c: Term, a: Term, b: Term) -> Term {
        debug_assert_eq!(self.width(a), self.width(b));
        if a == b || self.is_ones(c) {
            return a;
        }
        if self.is_zero(c) {
            return b;
        }
        if let Node::Not(inner) = *self.node(c) {
            return self.choose(inner, b, a);
        }
        let a = match *self.node(a) {
            Node::Choose(d, x, _) if d == c => x,
            _ => a,
        };
        let b = match *self.node(b) {
            Node::Choose(d, _, y) if d == c => y,
            _ => b,
        };
        if a == b {
            return a;
        }
        let width = self.width(a);
        if width == 1 {
            return self.choose_truth(c, a, b);
        }
        self.make(Node::Choose(c, a, b), width)
    }

    fn choose_truth(&mut self, c: Term, a: Term, b: Term) -> Term {
        if a == c || self.is_ones(a) {
            return self.or(c, b);
        }
        if self.is_zero(a) {
            let not = self.not(c);
            return self.and(not, b);
        }
        if b == c || self.is_zero(b) {
            return self.and(c, a);
        }
        if self.is_ones(b) {
            let not = self.not(c);
            return self.or(not, a);
        }
        self.make(Node::Choose(c, a, b), 1)
    }

    /// `high ++ low`; an operand of no bits may be a constant made by a shift.
    pub fn concat(&mut self, high: Term, low: Term) -> Term {
        if let Node::Concat(x, y) = *self.node(high) {
            let rest = self.concat(y, low);
            return self.concat(x, rest);
        }
        if let Some(joined) = self.join(high, low) {
            return joined;
        }
        if let Node::Concat(x, y) = *self.node(low) {
            if let Some(joined) = self.join(high, x) {
                return self.concat(joined, y);
            }
        }
        let width = self.width(high) + self.width(low);
        self.make(Node::Concat(high, low), width)
    }

    /// Two constants, or two slices that meet
    fn join(&mut self, high: Term, low: Term) -> Option<Term> {
        let (hw, lw) = (self.width(high), self.width(low));
        match (self.node(high), self.node(low)) {
            (Node::Constant(x), Node::Constant(y)) => {
                let value = (x << lw) | y;
                Some(self.constant(value, hw + lw))
            }
            (Node::Slice(x, from), Node::Slice(y, lo)) if x == y && lo + lw == *from => {
                let (whole, lo) = (*x, *lo);
                Some(self.slice(whole, lo, hw + lw))
            }
            _ => None,
        }
    }

    /// The bits `a[lo+width-1 : lo]`
    pub fn slice(&mut self, a: Term, lo: u32, width: u32) -> Term {
        debug_assert!(lo + width <= self.width(a));
        if lo == 0 && width == self.width(a) {
            return a;
        }
        match *self.node(a) {
            Node::Constant(ref value) => {
                let value = value >> lo;
                self.constant(value, width)
            }
            Node::Slice(inner, more) => self.slice(inner, lo + more, width),
            Node::Concat(high, low) => {
                let split = self.width(low);
                if lo >= split {
                    self.slice(high, lo - split, width)
                } else if lo + width <= split {
                    self.slice(low, lo, width)
                } else {
                    let high = self.slice(high, 0, lo + width - split);
                    let low = self.slice(low, lo, split - lo);
                    self.concat(high, low)
                }
            }
            _ => self.make(Node::Slice(a, lo), width),
        }
    }

    pub fn apply(&mut self, function: Function, argument: Term, width: u32) -> Term {
        if let (Some(given), Some(value)) = (&self.given, self.value(argument)) {
            let value = given
                .model
                .apply(function, value, self.width(argument), width);
            return self.constant(value, width);
        }
        self.make(Node::Apply(function, argument), width)
    }

    /// The value in `width` bits: cut, or filled up with zeros.
    pub fn fit(&mut self, a: Term, width: u32) -> Term {
        let own = self.width(a);
        if own >= width {
            return self.slice(a, 0, width);
        }
        let zeros = self.number(0, width - own);
        self.concat(zeros, a)
    }

    pub fn sign_extend(&mut self, a: Term, width: u32) -> Term {
        let own = self.width(a);
        if own >= width {
            return self.slice(a, 0, width);
        }
        let sign = self.slice(a, own - 1, 1);
        let all = self.constant(ones(width - own), width - own);
        let none = self.number(0, width - own);
        let upper = self.choose(sign, all, none);
        self.concat(upper, a)
    }

    /// Whether any bit is set
    pub fn is_set(&mut self, a: Term) -> Term {
        let zero = self.number(0, self.width(a));
        let equal = self.equal(a, zero);
        self.not(equal)
    }

    pub fn less(&mut self, a: Term, b: Term) -> Term {
        self.binary(Binary::Lt, a, b)
    }
}

fn signed(value: &BigUint, width: u32) -> num_bigint::BigInt {
    let value = num_bigint::BigInt::from(value.clone());
    match value.bit(u64::from(width) - 1) {
        true => value - (num_bigint::BigInt::one() << width),
        false => value,
    }
}

/// `x op y` of values of `width` bits.
pub(crate) fn fold(op: Binary, x: &BigUint, y: &BigUint, width: u32) -> BigUint {
    let modulus = || BigUint::one() << width;
    let shift = || y.to_u64().filter(|by| *by < u64::from(width));
    match op {
        Binary::And => x & y,
        Binary::Or => x | y,
        Binary::Xor => x ^ y,
        Binary::Add => (x + y) % modulus(),
        Binary::Sub => (modulus() + x - y) % modulus(),
        Binary::Mul => (x * y) % modulus(),
        Binary::Div if y.is_zero() => BigUint::zero(),
        Binary::Div => x / y,
        Binary::Mod if y.is_zero() => BigUint::zero(),
        Binary::Mod => x % y,
        Binary::Shl => shift().map_or(BigUint::zero(), |by| (x << by) & ones(width)),
        Binary::Shr => shift().map_or(BigUint::zero(), |by| x >> by),
        Binary::ShrS => {
            let by = y.to_u64().unwrap_or(u64::MAX).min(width.into());
            let shifted: num_bigint::BigInt = signed(x, width) >> by;
            let modulus = num_bigint::BigInt::from(modulus());
            ((shifted % &modulus + &modulus) % &modulus)
                .to_biguint()
                .unwrap_or_default()
        }
        Binary::Eq => u8::from(x == y).into(),
        Binary::Lt => u8::from(x < y).into(),
        Binary::LtS => u8::from(signed(x, width) < signed(y, width)).into(),
    }
}
