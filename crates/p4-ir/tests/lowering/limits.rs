//! Programs that multiply. If these fail, one submission takes all memory and stops the others.

use p4_ir::lower::{lower, Binding};
use std::fmt::Write;

struct Apart;

impl Binding for Apart {
    fn storage(&self, _: &str, _: &str, _: usize) -> Option<&'static str> {
        None
    }
}

/// The codes of what lowering says.
fn refusals(text: &str) -> Vec<&'static str> {
    let parsed = p4_syntax::parse_text("hostile.p4", text);
    assert_eq!(parsed.diagnostics, []);
    let checked = p4_check::check(&parsed.program);
    assert_eq!(checked.diagnostics, []);
    match lower(&checked, &Apart) {
        Ok(_) => Vec::new(),
        Err(diagnostics) => diagnostics.iter().map(|d| d.code).collect(),
    }
}

/// A program around `ingress`, the control with which it starts.
fn program(declarations: &str, ingress: &str) -> String {
    format!(
        "{declarations}
control Ingress(inout bit<32> x);
package Switch(Ingress ingress);
Switch({ingress}()) main;
"
    )
}

/// Controls that contain two of another, down to one that does `work`.
fn doubled(work: &str) -> String {
    let mut text = format!("control c0(inout bit<32> x) {{ apply {{ {work} }} }}\n");
    for i in 1..40 {
        let before = i - 1;
        writeln!(
            text,
            "control c{i}(inout bit<32> x) {{ c{before}() a; c{before}() b; apply {{ a.apply(x); b.apply(x); }} }}"
        )
        .expect("writing to a string");
    }
    program(&text, "c39")
}

#[test]
fn controls_that_double_end_at_a_bound() {
    for work in ["x = x + 1;", ""] {
        assert_eq!(refusals(&doubled(work)), ["E0605"]);
    }
}

#[test]
fn loops_over_large_stacks_end_at_a_bound() {
    let text = "
        control c(inout bit<32> x) {
            bit<32>[60000] many;
            apply { for (bit<32> a in many) { for (bit<32> b in many) { x = a + b; } } }
        }";
    assert_eq!(refusals(&program(text, "c")), ["E0605"]);
}

#[test]
fn many_large_variables_end_at_a_bound() {
    let variables: String = (0..100)
        .map(|i| format!("bit<2048>[60000] v{i};"))
        .collect();
    let text = format!("control c(inout bit<32> x) {{ {variables} apply {{ }} }}");
    assert_eq!(refusals(&program(&text, "c")), ["E0605"]);
}

#[test]
fn ordinary_nesting_is_no_trouble() {
    let text = "
        control a(inout bit<32> x) { apply { x = x + 1; } }
        control b(inout bit<32> x) { a() one; a() two; apply { one.apply(x); two.apply(x); } }
        control c(inout bit<32> x) { b() one; b() two; apply { one.apply(x); two.apply(x); } }";
    assert!(refusals(&program(text, "c")).is_empty());
}

/// What is said of it would have no place, and the student no header to look at.
#[test]
fn a_second_varbit_is_refused() {
    let text = "
        header h_t { bit<8> a; varbit<32> x; varbit<8> y; }
        control c(inout bit<32> x) { h_t h; apply { h.setInvalid(); } }";
    assert_eq!(refusals(&program(text, "c")), ["E0603"]);
}
