//! Undefined values made visible. If these fail, a program that reads what it never set looks right
//! here and goes wrong on another target, or a program that is right is blamed.

use crate::bench::{control, Bench};
use p4_ir::trace::Event;
use p4_ir::Why;

const TYPES: &str = "
header h_t { bit<8> a; bit<8> b; }
struct pair_t { bit<8> left; bit<8> right; }
void give(out bit<8> x, in bool really) { if (really) { x = 7; } }
bit<8> same(in bit<8> x) { return x; }
";
const META: &str = "bit<8> x; bit<8> y; bit<8> z; bit<32> w; bool b;";

/// What was read undefined when `body` ran, as (name, why), and the values of `meta.y`.
fn reads(seed: u64, locals: &str, body: &str) -> (Vec<(String, Why)>, u64) {
    let mut bench = Bench::new(&control(TYPES, META, locals, body));
    bench.show_undefined(seed);
    bench.set("meta.x", &[3]);
    let steps = bench.control_traced();
    let found = steps.iter().filter_map(|step| match &step.event {
        Event::Undefined { var, why, .. } => {
            // Every mark has its place in the source.
            assert_ne!(step.span(bench.program()), p4_syntax::Span::NONE);
            Some((bench.program().vars[*var as usize].name.to_string(), *why))
        }
        _ => None,
    });
    let found = found.collect();
    (found, bench.get("meta.y"))
}

fn marked(locals: &str, body: &str) -> Vec<(String, Why)> {
    reads(1, locals, body).0
}

fn one(name: &str, why: Why) -> Vec<(String, Why)> {
    vec![(name.to_string(), why)]
}

#[test]
fn variables_without_a_value_are_marked_once_per_read() {
    let body = "bit<8> v; meta.y = v; meta.z = v + 1;";
    let twice = [one("v", Why::Unset), one("v", Why::Unset)].concat();
    assert_eq!(marked("", body), twice);
    assert_eq!(marked("", "bit<8> v; v = 1; meta.y = v;"), []);
    assert_eq!(marked("", "bit<8> v = meta.x; meta.y = v;"), []);
    assert_eq!(
        marked("", "bool v; if (v) { meta.y = 1; }"),
        one("v", Why::Unset)
    );
}

#[test]
fn branches_are_marked_only_where_they_were_taken() {
    let body = |x: u8| format!("bit<8> v; if (meta.x == {x}) {{ v = 1; }} meta.y = v;");
    assert_eq!(marked("", &body(3)), []);
    assert_eq!(marked("", &body(4)), one("v", Why::Unset));
}

#[test]
fn an_out_parameter_that_was_not_written_has_no_value() {
    assert_eq!(marked("", "give(meta.y, true); meta.z = meta.y;"), []);
    assert!(!marked("", "give(meta.y, false);").is_empty());
}

#[test]
fn fields_of_invalid_headers_are_marked_and_headers_as_a_whole_are_not() {
    assert_eq!(marked("", "h_t h; meta.y = h.a;"), one("h.a", Why::Invalid));
    assert_eq!(
        marked("", "h_t h; meta.y = same(h.b);"),
        one("h.b", Why::Invalid)
    );
    assert_eq!(marked("", "h_t h; h = {1, 2}; meta.y = h.a;"), []);
    assert_eq!(marked("", "h_t h; h_t k; k = h; meta.b = k.isValid();"), []);
    let (found, equal) = reads(1, "", "h_t h; h_t k; if (h == k) { meta.y = 1; }");
    assert_eq!((found, equal), (vec![], 1), "two invalid headers are equal");
    // A write to an invalid header leaves nothing behind.
    let body = "h_t h; h.a = 5; h.setValid(); h.b = 1; meta.y = h.b; meta.z = h.a;";
    assert_eq!(marked("", body), one("h.a", Why::Unset));
}

#[test]
fn copies_keep_what_was_undefined_in_them() {
    let body = "pair_t p; p.left = 1; pair_t q = p; meta.y = q.left; meta.z = q.right;";
    assert_eq!(marked("", body), one("q.right", Why::Unset));
}

#[test]
fn replacing_a_slice_is_no_read() {
    assert_eq!(marked("", "bit<8> v; v[3:0] = 5;"), []);
}

#[test]
fn elements_beyond_a_stack_are_marked() {
    let body = |i: u8| {
        format!(
            "h_t[2] s; s[0] = {{1, 2}}; s[1] = {{3, 4}};
             bit<8> i = {i}; if (meta.x == 0) {{ i = 0; }} meta.y = s[i].a;"
        )
    };
    assert_eq!(reads(1, "", &body(1)), (vec![], 3));
    let (found, _) = reads(1, "", &body(2));
    assert_eq!(found, one("s[0].a", Why::OutOfRange));
}

#[test]
fn keys_of_tables_are_read() {
    let table = "action a() { meta.y = 1; }
        table t { key = { meta.z: exact; } actions = { a; @defaultonly NoAction; }
                  const default_action = NoAction(); }";
    let used = "h_t h; meta.z = h.a; t.apply();";
    assert_eq!(marked(table, used), one("h.a", Why::Invalid));
}

/// Zero hides these mistakes: the noise is what shows them, and the same seed shows them again.
#[test]
fn noise_is_the_same_for_a_seed_and_another_for_another() {
    let body = "bit<8> v; meta.y = v;";
    let values: Vec<u64> = (0..8).map(|seed| reads(seed, "", body).1).collect();
    let again: Vec<u64> = (0..8).map(|seed| reads(seed, "", body).1).collect();
    assert_eq!(values, again);
    assert!(values.iter().any(|value| *value != values[0]), "{values:?}");
    assert!(
        values.iter().all(|value| *value < 256),
        "of the variable's width"
    );
}

/// Off, everything undefined is zero, as it was.
#[test]
fn without_the_option_undefined_values_are_zero() {
    let body = "bit<8> v; h_t h; meta.y = v + h.a; meta.z = 9;";
    let mut bench = Bench::new(&control(TYPES, META, "", body));
    let steps = bench.control_traced();
    let undefined = |step: &&p4_ir::trace::Step| matches!(step.event, Event::Undefined { .. });
    assert_eq!(steps.iter().filter(undefined).count(), 0);
    assert_eq!((bench.get("meta.y"), bench.get("meta.z")), (0, 9));
}

/// A program that asks an invalid header for one number among four thousand million is found out in
/// a few packets, not by luck.
#[test]
fn noise_is_often_what_the_program_asks_for() {
    for ask in [
        "if (v == 0x0a000142) { meta.y = 1; }",
        "switch (v) { 0x0a000142: { meta.y = 1; } default: { } }",
    ] {
        let body = format!("bit<32> v; meta.y = 0; {ask}");
        let met = (0..32)
            .filter(|seed| reads(*seed, "", &body).1 == 1)
            .count();
        assert!((4..=28).contains(&met), "{met} of 32: {ask}");
    }
}
