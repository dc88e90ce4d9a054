//! Warnings about undefined reads and about other targets. If these fail, students are warned of
//! what is right, or trust what is not.

use crate::support;

use p4_check::lint::{lint, Target};
use p4_syntax::{Diagnostic, Severity};
use proptest::prelude::*;
use proptest::sample::Index;

fn check(text: &str) -> Vec<Diagnostic> {
    let parsed = p4_syntax::parse_text("prog.p4", text);
    assert_eq!(parsed.diagnostics, [], "{text}");
    p4_check::check(&parsed.program).diagnostics
}

/// Codes of what is said about statements of a control with a local variable `x` and a header `h`.
fn said(statements: &str) -> Vec<&'static str> {
    let text = format!(
        "#include <core.p4>
         header h_t {{ bit<8> f; }}
         bit<8> half(in bit<8> v) {{ return v >> 1; }}
         void both(out bit<8> a, inout bit<8> b) {{ a = b; b = 1; }}
         control c(inout h_t h, inout bit<8> p, inout bool q) {{
             bit<8> x;
             action set() {{ x = 1; }}
             action show() {{ p = x; }}
             table t {{ key = {{ p : exact; }} actions = {{ set; NoAction; }} }}
             table u {{ key = {{ p : exact; }} actions = {{ set; }} default_action = set(); }}
             apply {{ {statements} }}
         }}"
    );
    check(&text).iter().map(|d| d.code).collect()
}

#[test]
fn ways_to_a_read_decide() {
    let none: [&str; 0] = [];
    for right in [
        "x = 1; p = x;",
        "if (q) { x = 1; } else { x = 2; } p = x;",
        "if (q) { return; } else { x = 2; } p = x;",
        "if (q) { exit; } x = p; p = x;",
        "set(); p = x;",
        "u.apply(); p = x;",
        "x = 1; show();",
        "both(x, p); p = x;",
        "switch (p) { 1: { x = 1; } default: { x = 2; } } p = x;",
        "for (bit<8> i in 0 .. 3) { x = i; if (q) { break; } } x = 1; p = x;",
        "x[3:0] = 4w1; x = 0; p = half(x);",
        "if (h.isValid() && h.f == 1) { p = h.f; }",
        "if (!h.isValid()) { h.setValid(); } p = h.f;",
        "if (!h.isValid()) { return; } p = h.f;",
        "h_t g = h; p = g.f;",
        "h_t g = { 1 }; p = g.f;",
    ] {
        assert_eq!(said(right), none, "{right}");
    }
    for (wrong, code) in [
        ("p = x;", "W0511"),
        ("p = half(x);", "W0511"),
        ("x += 1;", "W0511"),
        ("bit<8> y; both(p, y);", "W0511"),
        ("show();", "W0511"),
        ("if (x == 1) { p = 1; }", "W0511"),
        ("if (q) { x = 1; } p = x;", "W0512"),
        ("t.apply(); p = x;", "W0512"),
        ("switch (p) { 1: { x = 1; } } p = x;", "W0512"),
        ("for (bit<8> i in 0 .. 3) { x = i; } p = x;", "W0512"),
        ("show(); x = 1; show();", "W0512"),
        ("h.setInvalid(); p = h.f;", "W0513"),
        ("h = {#}; h.f = 1;", "W0513"),
        ("h_t g; g.f = 1;", "W0513"),
        ("if (h.isValid()) { } else { p = h.f; }", "W0513"),
        ("if (h.isValid() || h.f == 1) { p = 1; }", "W0513"),
    ] {
        assert_eq!(said(wrong), [code], "{wrong}");
    }
}

#[test]
fn parsers_are_followed_from_state_to_state() {
    let parser = |first: &str, second: &str| {
        let text = format!(
            "#include <core.p4>
             header h_t {{ bit<8> f; }}
             struct headers {{ h_t a; h_t b; }}
             parser p(packet_in packet, out headers hdr, out bit<8> n) {{
                 state start {{ n = 0; {first} transition select(n) {{ 0: more; default: accept; }} }}
                 state more {{ {second} transition select(n) {{ 1: more; default: accept; }} }}
             }}"
        );
        check(&text).iter().map(|d| d.code).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(parser("packet.extract(hdr.a);", "n = hdr.a.f;"), none);
    // The second round of `more` finds it valid: not certain, so nothing is said.
    assert_eq!(
        parser("", "if (n == 2) { n = hdr.a.f; } packet.extract(hdr.a);"),
        none
    );
    assert_eq!(parser("", "n = hdr.b.f;"), ["W0513"]);
    assert_eq!(parser("n = hdr.a.f;", "packet.extract(hdr.a);"), ["W0513"]);
}

#[test]
fn results_that_are_never_written() {
    let of = |text: &str| check(text).iter().map(|d| d.code).collect::<Vec<_>>();
    let none: [&str; 0] = [];
    assert_eq!(of("control c(out bit<8> x) { apply { } }"), ["W0514"]);
    assert_eq!(
        of("void f(out bit<8> x, in bool b) { if (b) { x = 1; } }"),
        none
    );
    assert_eq!(
        of("struct s { bit<8> a; bit<8> b; } control c(out s x) { apply { x.a = 1; } }"),
        none
    );
    assert_eq!(
        of("header h { bit<8> a; } control c(out h x) { apply { } }"),
        none
    );
}

/// The lab's own programs run on bmv2, and read nothing undefined.
#[test]
fn our_own_programs_are_clean() {
    let samples = support::samples();
    let own: Vec<_> = samples
        .iter()
        .filter(|s| s.main.starts_with("p4/"))
        .collect();
    assert!(own.len() >= 2);
    for sample in own {
        let parsed = p4_syntax::parse(
            &sample.main,
            &sample.with(sample.text().to_string()),
            &sample.options(),
        );
        let checked = p4_check::check(&parsed.program);
        assert_eq!(checked.diagnostics, [], "{}", sample.main);
        assert_eq!(lint(&checked, &[Target::Bmv2]), [], "{}", sample.main);
    }
}

/// What is called where it means nothing to bmv2, as the sources of p4c and simple_switch have it.
#[test]
fn calls_belong_to_their_blocks_of_bmv2() {
    let said = |verify: &str, ingress: &str, egress: &str, update: &str| {
        let text = format!(
            "#include <v1model.p4>
             header h_t {{ bit<8> a; bit<16> sum; }}
             struct headers {{ h_t h; }}
             struct list_t {{ bit<8> a; }}
             struct meta {{ }}
             parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t s) {{
                 state start {{ p.extract(hdr.h); transition accept; }}
             }}
             control V(inout headers hdr, inout meta m) {{ apply {{ {verify} }} }}
             control I(inout headers hdr, inout meta m, inout standard_metadata_t s) {{ apply {{ {ingress} }} }}
             control E(inout headers hdr, inout meta m, inout standard_metadata_t s) {{ apply {{ {egress} }} }}
             control C(inout headers hdr, inout meta m) {{ apply {{ {update} }} }}
             control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr); }} }}
             V1Switch(P(), V(), I(), E(), C(), D()) main;"
        );
        said_for_bmv2(&text)
    };
    let none: [&str; 0] = [];
    let verify = "verify_checksum(true, { hdr.h.a }, hdr.h.sum, HashAlgorithm.csum16);";
    let update = "update_checksum(true, { hdr.h.a }, hdr.h.sum, HashAlgorithm.csum16);";
    let payload =
        "update_checksum_with_payload(true, { hdr.h.a }, hdr.h.sum, HashAlgorithm.csum16);";
    let digest = "digest<list_t>(1, { hdr.h.a });";
    assert_eq!(said(verify, digest, "", update), none);
    assert_eq!(said(verify, "", "", payload), none);
    assert_eq!(said(update, "", "", verify), ["W0606", "W0606"]);
    assert_eq!(said("", verify, payload, ""), ["W0623", "W0623"]);
    assert_eq!(said("", "", digest, ""), ["W0624"]);
    let hash = |data: &str| {
        let call = format!("hash(hdr.h.sum, HashAlgorithm.crc16, 16w0, {data}, 16w9);");
        said("", &call, "", "")
    };
    assert_eq!(hash("{ hdr.h.a }"), none);
    assert_eq!(hash("hdr.h"), none);
    assert_eq!(hash("hdr.h.a"), ["W0626"]);
    let scalar = "update_checksum(true, hdr.h.a, hdr.h.sum, HashAlgorithm.csum16);";
    assert_eq!(said("", "", "", scalar), ["W0626"]);
    let ingress = |text: &str| said("", text, "", "");
    assert_eq!(ingress("mark_to_drop(s);"), none);
    assert_eq!(ingress("mark_to_drop();"), ["W0627"]);
    assert_eq!(ingress("digest<h_t>(1, hdr.h);"), ["W0628"]);
    assert_eq!(
        ingress("log_msg(\"{} {}\", { hdr.h.a, s.parser_error });"),
        none
    );
    assert_eq!(ingress("log_msg(\"{}\", { hdr.h });"), ["W0629"]);
}

/// The codes of what is said for bmv2 of a program that has no mistake.
fn said_for_bmv2(text: &str) -> Vec<&'static str> {
    let parsed = p4_syntax::parse_text("prog.p4", text);
    assert_eq!(parsed.diagnostics, [], "{text}");
    let checked = p4_check::check(&parsed.program);
    assert_eq!(checked.diagnostics, [], "{text}");
    let found = lint(&checked, &[Target::Bmv2]);
    found.iter().map(|d| d.code).collect()
}

/// What p4c's back end refuses of the program as a whole: each would be a surprise on the day when the
/// program is to run on bmv2.
#[test]
fn registers_have_cells_metadata_is_a_struct_and_parsers_do_not_move_stacks() {
    let said = |meta: &str, state: &str, cells: u32| {
        let text = format!(
            "#include <v1model.p4>
             header h_t {{ bit<8> a; }}
             struct headers {{ h_t[2] h; }}
             struct inner {{ bit<8> a; }}
             typedef bit<8> number;
             parser P(packet_in p, out headers hdr, inout {meta} m, inout standard_metadata_t s) {{
                 state start {{ {state} transition accept; }}
             }}
             control V(inout headers hdr, inout {meta} m) {{ apply {{ }} }}
             control I(inout headers hdr, inout {meta} m, inout standard_metadata_t s) {{
                 register<bit<8>>({cells}) cells;
                 apply {{ cells.write(0, 1); }}
             }}
             control E(inout headers hdr, inout {meta} m, inout standard_metadata_t s) {{ apply {{ }} }}
             control C(inout headers hdr, inout {meta} m) {{ apply {{ }} }}
             control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr); }} }}
             V1Switch(P(), V(), I(), E(), C(), D()) main;"
        );
        said_for_bmv2(&text)
    };
    let none: [&str; 0] = [];
    assert_eq!(said("inner", "p.extract(hdr.h.next);", 1), none);
    assert_eq!(said("inner", "hdr.h.push_front(1);", 1), ["W0604"]);
    assert_eq!(said("h_t", "", 1), ["W0631"]);
    assert_eq!(said("number", "", 1), ["W0631"]);
    assert_eq!(said("inner", "", 0), ["W0630"]);
}

/// Which of these p4c-bm2-ss takes for what we take it for was tried; in parentheses it always does.
#[test]
fn chains_of_choices_need_parentheses_for_bmv2() {
    let chained = |choice: &str| {
        let text =
            format!("control c(in bool p, in bool q, out bool r) {{ apply {{ r = {choice}; }} }}");
        let parsed = p4_syntax::parse_text("prog.p4", &text);
        assert_eq!(parsed.diagnostics, [], "{text}");
        let found = lint(&p4_check::check(&parsed.program), &[Target::Bmv2]);
        found.iter().map(|d| d.code).collect::<Vec<_>>()
    };
    for wrong in [
        "p ? q : q ? p : q",
        "p ? q : (q) ? p : q",
        "!(p ? q : q ? p : q)",
        "p ? (p ? q : q ? p : q) : q",
    ] {
        assert_eq!(chained(wrong), ["W0620"], "{wrong}");
    }
    assert_eq!(chained("p ? q : q ? p : p ? q : p"), ["W0620", "W0620"]);
    for right in [
        "p ? q : (q ? p : q)",
        "p ? q : ((q) ? p : q)",
        "p ? q ? p : q : q",
        "p ? (q ? p : q) : q",
        "(p ? q : q) ? p : q",
    ] {
        assert!(chained(right).is_empty(), "{right}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Whatever still is a program after random changes can be linted: no panic, no errors, places
    /// within the sources.
    #[test]
    fn lints_survive_changed_programs(
        which in any::<Index>(),
        changes in prop::collection::vec(support::change(), 1..3),
    ) {
        let samples = support::samples();
        let sample = which.get(&samples);
        let files = sample.with(support::changed(sample.text(), &changes));
        let parsed = p4_syntax::parse(&sample.main, &files, &sample.options());
        let checked = p4_check::check(&parsed.program);
        for diagnostic in lint(&checked, &Target::ALL) {
            prop_assert_eq!(diagnostic.severity, Severity::Warning);
            prop_assert!(parsed.sources.locate(diagnostic.span.lo).is_some());
        }
    }
}
