//! A term, simplified when it was made, has the value of what was asked for.
//!
//! If this fails, two different programs may get the same term and be called equal.

use num_bigint::BigUint;
use p4_prove::evaluate::Evaluation;
use p4_prove::term::{Binary, Term, Terms};
use p4_prove::Model;

/// Numbers from a seed, which failures print
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// A term and the number that it must be
type Pair = (Term, u128);

const WIDTH: u32 = 12;
const MASK: u128 = (1 << WIDTH) - 1;

fn fit(value: u128, width: u32) -> u128 {
    value & ((1 << width) - 1)
}

/// One more term out of those that there are; all are 12 bits wide.
fn grow(draw: &mut Draw, terms: &mut Terms, all: &[Pair]) -> Pair {
    let mut pick = || all[draw.below(all.len() as u64) as usize];
    let ((a, x), (b, y), (c, z)) = (pick(), pick(), pick());
    let signed = |value: u128| ((value as i128) << (128 - WIDTH)) >> (128 - WIDTH);
    match draw.below(17) {
        0 => (terms.not(a), !x & MASK),
        1 => (terms.and(a, b), x & y),
        2 => (terms.or(a, b), x | y),
        3 => (terms.binary(Binary::Xor, a, b), x ^ y),
        4 => (terms.binary(Binary::Add, a, b), (x + y) & MASK),
        5 => (terms.binary(Binary::Sub, a, b), x.wrapping_sub(y) & MASK),
        6 => (terms.binary(Binary::Mul, a, b), (x * y) & MASK),
        7 => (
            terms.binary(Binary::Div, a, b),
            x.checked_div(y).unwrap_or(0),
        ),
        8 => (
            terms.binary(Binary::Mod, a, b),
            x.checked_rem(y).unwrap_or(0),
        ),
        9 => {
            let by = draw.below(14) as u32;
            let amount = terms.number(by.into(), WIDTH);
            let moved = if by < WIDTH { (x << by) & MASK } else { 0 };
            (terms.binary(Binary::Shl, a, amount), moved)
        }
        10 => {
            let moved = if y < WIDTH.into() { x >> y } else { 0 };
            (terms.binary(Binary::Shr, a, b), moved)
        }
        11 => {
            let moved = signed(x) >> y.min(u128::from(WIDTH) - 1);
            (terms.binary(Binary::ShrS, a, b), moved as u128 & MASK)
        }
        12 => {
            let (low, width) = (draw.below(8) as u32, 1 + draw.below(4) as u32);
            let part = terms.slice(a, low, width);
            let rest = terms.slice(b, 0, WIDTH - width);
            let value = (fit(x >> low, width) << (WIDTH - width)) | fit(y, WIDTH - width);
            (terms.concat(part, rest), value)
        }
        13 => {
            let split = 1 + draw.below(11) as u32;
            let (high, low) = (
                terms.slice(a, split, WIDTH - split),
                terms.slice(a, 0, split),
            );
            (terms.concat(high, low), x)
        }
        14 => {
            let width = 1 + draw.below(11) as u32;
            let part = terms.slice(a, 0, width);
            let sign = fit(x, width) >> (width - 1) == 1;
            let upper = if sign { MASK & !((1 << width) - 1) } else { 0 };
            (terms.sign_extend(part, WIDTH), upper | fit(x, width))
        }
        15 => {
            let (condition, holds) = match draw.below(4) {
                0 => (terms.equal(a, b), x == y),
                1 => (terms.less(a, b), x < y),
                2 => (terms.binary(Binary::LtS, a, b), signed(x) < signed(y)),
                _ => (terms.is_set(a), x != 0),
            };
            (terms.choose(condition, b, c), if holds { y } else { z })
        }
        _ => {
            let (first, second) = (terms.equal(a, b), terms.less(b, c));
            let both = terms.and(first, second);
            let either = terms.or(both, second);
            let neither = terms.not(either);
            // What both say is part of what the second says.
            (terms.fit(neither, WIDTH), (y >= z).into())
        }
    }
}

#[test]
fn terms_have_the_values_of_what_was_asked_for() {
    for seed in 1..400 {
        let mut draw = Draw(seed);
        let mut terms = Terms::default();
        let mut model = Model::default();
        let mut all: Vec<Pair> = Vec::new();
        for number in 0..4 {
            let value = match draw.below(4) {
                0 => 0,
                1 => MASK,
                _ => u128::from(draw.below(1 << WIDTH)),
            };
            all.push((terms.unknown(&format!("x{number}"), WIDTH), value));
            model.values.insert(number, BigUint::from(value));
        }
        for constant in [0, 1, 8, 0xfff, 0x0f0] {
            all.push((terms.number(constant, WIDTH), constant.into()));
        }
        for _ in 0..60 {
            let next = grow(&mut draw, &mut terms, &all);
            all.push(next);
        }
        let mut evaluation = Evaluation::new(&terms, &model);
        for (term, value) in all {
            let is = evaluation.value(term);
            assert_eq!(
                is,
                BigUint::from(value),
                "seed {seed}: {:?}",
                terms.node(term)
            );
            assert_eq!(terms.width(term), WIDTH, "seed {seed}");
        }
    }
}

#[test]
fn what_is_written_and_read_again_is_the_same_term() {
    let mut terms = Terms::default();
    let fields: Vec<Term> = [20, 3, 1, 8, 64]
        .iter()
        .enumerate()
        .map(|(number, width)| terms.unknown(&format!("field{number}"), *width))
        .collect();
    let mut header = fields[0];
    for field in &fields[1..] {
        header = terms.concat(header, *field);
    }
    let bytes: Vec<Term> = (0..12)
        .rev()
        .map(|at| terms.slice(header, at * 8, 8))
        .collect();
    let mut read = bytes[0];
    for byte in &bytes[1..] {
        read = terms.concat(read, *byte);
    }
    let mut end = 96;
    for field in fields {
        let width = terms.width(field);
        end -= width;
        assert_eq!(terms.slice(read, end, width), field);
    }
}
