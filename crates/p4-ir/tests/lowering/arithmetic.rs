//! Random expressions, at run time and at compile time: the interpreter on lowered code against the
//! checker's arithmetic on big integers, which share no code. If this fails, a program computes
//! something else than the language says.

use crate::bench::{control, Bench};
use num_bigint::BigInt;
use p4_check::value::Value;
use p4_syntax::ast::DeclKind;
use proptest::prelude::*;

/// A type of the variables: width and sign.
#[derive(Clone, Copy, Debug)]
struct Shape {
    width: u32,
    signed: bool,
}

impl Shape {
    fn name(self) -> String {
        format!(
            "{}<{}>",
            if self.signed { "int" } else { "bit" },
            self.width
        )
    }

    fn literal(self, value: &BigInt) -> String {
        // In two's complement, to be independent of the range of literals
        let modulus = BigInt::from(1) << self.width;
        let low = ((value % &modulus) + &modulus) % &modulus;
        format!("(({}) {low})", self.name())
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    let width = prop_oneof![
        Just(1_u32),
        Just(8),
        Just(63),
        Just(64),
        Just(65),
        Just(128),
        2..140_u32
    ];
    (width, any::<bool>()).prop_map(|(width, signed)| Shape {
        width: if signed { width.max(2) } else { width },
        signed,
    })
}

/// Text of an expression over `a`, `b` and `c`, all of the shape; the result has it, too.
fn expression(shape: Shape) -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        4 => prop_oneof![Just("a"), Just("b"), Just("c")].prop_map(String::from),
        1 => any::<u64>().prop_map(move |n| shape.literal(&BigInt::from(n))),
    ];
    leaf.prop_recursive(5, 24, 3, move |inner| {
        let name = shape.name();
        let same = prop_oneof![
            Just("+"),
            Just("-"),
            Just("*"),
            Just("&"),
            Just("|"),
            Just("^"),
            Just("|+|"),
            Just("|-|")
        ];
        let compare = prop_oneof![
            Just("=="),
            Just("!="),
            Just("<"),
            Just("<="),
            Just(">"),
            Just(">=")
        ];
        let (high, low) = (shape.width - 1, shape.width / 2);
        let unsigned = format!("bit<{}>", shape.width);
        prop_oneof![
            4 => (inner.clone(), same, inner.clone())
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            1 => (inner.clone(), 0..200_u32, any::<bool>())
                .prop_map(|(a, n, left)| format!("({a} {} {n})", if left { "<<" } else { ">>" })),
            1 => inner.clone().prop_map(|a| format!("(~{a})")),
            1 => inner.clone().prop_map(|a| format!("(-{a})")),
            2 => (inner.clone(), compare, inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, op, b, yes, no)| format!("(({a} {op} {b}) ? {yes} : {no})")),
            1 => (inner.clone(), inner.clone()).prop_map({
                let (name, unsigned) = (name.clone(), unsigned.clone());
                move |(a, b)| {
                    // As wide as before: the high part of one, the low part of the other
                    let parts = if low == 0 {
                        format!("{a}[{high}:0]")
                    } else {
                        format!("{a}[{high}:{low}] ++ {b}[{}:0]", low - 1)
                    };
                    format!("(({name}) ({unsigned}) ({parts}))")
                }
            }),
        ]
    })
    .boxed()
}

/// The value that the checker computes for `expr` with constants for the variables.
fn folded(shape: Shape, expr: &str, values: &[BigInt; 3]) -> BigInt {
    let ty = shape.name();
    let mut text = String::new();
    for (name, value) in ["a", "b", "c"].iter().zip(values) {
        text += &format!("const {ty} {name} = {};\n", shape.literal(value));
    }
    text += &format!("const {ty} result = {expr};\n");
    let parsed = p4_syntax::parse_text("fold.p4", &text);
    assert_eq!(parsed.diagnostics, [], "{text}");
    let checked = p4_check::check(&parsed.program);
    let last = parsed.program.decls.last().expect("a declaration");
    let DeclKind::Const { value, .. } = &last.kind else {
        panic!("not a constant");
    };
    match checked.eval(value, &|_| None) {
        Some(Value::Bits { value, .. }) => value,
        other => panic!("{text}: {other:?}, {:?}", checked.diagnostics),
    }
}

fn limbs(value: &BigInt, width: u32) -> Vec<u64> {
    let modulus = BigInt::from(1) << width;
    let low = ((value % &modulus) + &modulus) % &modulus;
    let mut words: Vec<u64> = low.iter_u64_digits().collect();
    words.resize(width.div_ceil(64).max(1) as usize, 0);
    words
}

fn computed(shape: Shape, expr: &str, values: &[BigInt; 3]) -> Vec<u64> {
    let meta = format!("{0} a; {0} b; {0} c; {0} result;", shape.name());
    let body = format!(
        "{0} a = meta.a; {0} b = meta.b; {0} c = meta.c; meta.result = {expr};",
        shape.name()
    );
    let mut bench = Bench::new(&control("", &meta, "", &body));
    for (name, value) in ["a", "b", "c"].iter().zip(values) {
        bench.set(&format!("meta.{name}"), &limbs(value, shape.width));
    }
    bench.control();
    bench.words("meta.result")
}

fn value() -> impl Strategy<Value = BigInt> {
    prop_oneof![
        (0..4_u32).prop_map(BigInt::from),
        (any::<u64>(), any::<u64>(), any::<u64>())
            .prop_map(|(a, b, c)| (BigInt::from(a) << 128) + (BigInt::from(b) << 64) + c),
        (1..3_i32).prop_map(|n| BigInt::from(-n)),
    ]
}

fn case() -> impl Strategy<Value = (Shape, String, [BigInt; 3])> {
    let values = || [value(), value(), value()];
    shape().prop_flat_map(move |shape| (Just(shape), expression(shape), values()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn expressions_mean_the_same_at_run_time((shape, expr, values) in case()) {
        let want = limbs(&folded(shape, &expr, &values), shape.width);
        prop_assert_eq!(computed(shape, &expr, &values), want, "{:?}: {}", shape, expr);
    }
}
