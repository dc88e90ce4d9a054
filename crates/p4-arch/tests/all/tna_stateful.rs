//! How the stateful ALU compares. Expected results are integers: what its 35 bits hold does not wrap.

use crate::support;

use p4_arch::tna::Switch;
use proptest::prelude::*;
use support::*;

/// A program that answers in `a` whether `condition` holds of the cell `x` and the field `h.h.c`; the
/// cell is what `h.h.c` was before.
fn asking(condition: &str) -> Switch {
    let ingress = format!(
        "Register<bit<32>, bit<1>>(1) r;
         RegisterAction<bit<32>, bit<1>, bit<8>>(r) ask = {{
             void apply(inout bit<32> x, out bit<8> o) {{
                 o = 0;
                 if ({condition}) {{ o = 1; }}
                 x = h.h.c;
             }}
         }};
         apply {{ tm.ucast_egress_port = 2; h.h.a = ask.execute(0); }}"
    );
    switch(&Parts {
        ingress: &ingress,
        ..PLAIN
    })
}

fn holds(switch: &mut Switch, cell: u32, field: u32) -> bool {
    send(switch, &frame(0, 0, 0, cell));
    let sent = send(switch, &frame(0, 0, 0, field));
    sent[0].1[15] == 1
}

fn numbers() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        0..2000u32,
        (0..2000u32).prop_map(|n| u32::MAX - n)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))] // each one compiles programs

    // If this fails, an age or a sequence number is judged here as it is not on the chip.
    #[test]
    fn unsigned_sums_are_compared_before_they_wrap(cell in numbers(), field in numbers()) {
        let (x, c) = (i64::from(cell), i64::from(field));
        let mut difference = asking("h.h.c - x > 1000");
        prop_assert_eq!(holds(&mut difference, cell, field), c - x > 1000);
        let mut sum = asking("x + 500 <= h.h.c");
        prop_assert_eq!(holds(&mut sum, cell, field), x + 500 <= c);
        let mut both = asking("x - 7 == h.h.c - 7");
        prop_assert_eq!(holds(&mut both, cell, field), x == c);
    }

    // If this fails, the remedy that the lint names is none: with a sign, differences wrap.
    #[test]
    fn signed_sums_wrap(cell in numbers(), field in numbers()) {
        let mut switch = asking("(int<32>)(h.h.c - x) > 1000");
        let wrapped = field.wrapping_sub(cell) as i32;
        prop_assert_eq!(holds(&mut switch, cell, field), wrapped > 1000);
    }
}

// If this fails, conditions outside of registers change their meaning, too.
#[test]
fn elsewhere_sums_wrap_as_p4_says() {
    let mut switch = switch(&Parts {
        ingress: "apply { tm.ucast_egress_port = 2; if (h.h.c - 10 > 1000) { h.h.a = 1; } }",
        ..PLAIN
    });
    assert_eq!(send(&mut switch, &frame(0, 0, 0, 5))[0].1[15], 1);
}

/// Programs for the chip leave open what a register and its actions say already, and an action that
/// gives nothing back is one of `void`. Without these forms most published programs are refused.
#[test]
fn types_of_a_register_are_left_open() {
    let forms = [
        ("Register<bit<32>, _>(32w4)", "bit<32>, _, bit<8>"),
        ("Register<bit<32>, bit<8>>(4)", "_, _, bit<8>"),
    ];
    for (register, types) in forms {
        let ingress = format!(
            "{register} r;
             RegisterAction<bit<32>, _, void>(r) note = {{
                 void apply(inout bit<32> x) {{ x = x + h.h.c; }}
             }};
             RegisterAction<{types}>(r) ask = {{
                 void apply(inout bit<32> x, out bit<8> o) {{ o = x[7:0]; }}
             }};
             apply {{
                 tm.ucast_egress_port = 2;
                 note.execute(3);
                 note.execute(h.h.b[1:0]);
                 h.h.a = ask.execute(h.h.a[1:0]);
             }}"
        );
        let mut switch = switch(&Parts {
            ingress: &ingress,
            ..PLAIN
        });
        let sent = send(&mut switch, &frame(3, 3, 3, 20));
        assert_eq!(sent[0].1[15], 40, "{register} {types}");
    }
}
