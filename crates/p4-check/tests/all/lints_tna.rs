//! Warnings about headers that the compiler for Tofino does not take in programs for TNA. If these
//! fail, students hear of it only from that compiler, or are warned of what it does take. What it
//! says is read in its sources (backends/tofino of p4c: desugar_varbit_extract.cpp, tofino.cpp).

use p4_check::lint::{lint, Target};

fn said(states: &str, ingress: &str) -> Vec<(&'static str, String)> {
    lints(states, ingress, "")
}

/// Codes and messages for a parser with these states behind `start`, and controls of these lines.
fn lints(states: &str, ingress: &str, egress: &str) -> Vec<(&'static str, String)> {
    program(states, "", ingress, "p.emit(h);", egress)
}

/// The same with declarations in ingress, and what its deparser does.
fn program(
    states: &str,
    declarations: &str,
    ingress: &str,
    deparser: &str,
    egress: &str,
) -> Vec<(&'static str, String)> {
    let text = format!(
        "#include <tna.p4>
         header h_t {{ bit<8> a; bit<8> b; }}
         header o_t {{ bit<8> kind; varbit<320> v; }}
         header w_t {{ varbit<64> v; }}
         header r_t {{ bit<32> f; bit<32> g; }}
         struct pair {{ bit<32> lo; bit<32> hi; }}
         struct headers {{ h_t h; o_t o; o_t p; w_t w; h_t i; r_t r; r_t s; }}
         struct meta {{ bit<8> n; }}
         parser IP(packet_in p, out headers h, out meta m, out ingress_intrinsic_metadata_t ig) {{
             ParserPriority() priority;
             state start {{ p.extract(ig); p.advance(PORT_METADATA_SIZE); p.extract(h.h); m.n = 1; {states} }}
         }}
         control I(inout headers h, inout meta m, in ingress_intrinsic_metadata_t ig,
                   in ingress_intrinsic_metadata_from_parser_t pr,
                   inout ingress_intrinsic_metadata_for_deparser_t d,
                   inout ingress_intrinsic_metadata_for_tm_t tm) {{
             {declarations}
             apply {{ tm.ucast_egress_port = 1; {ingress} }}
         }}
         control ID(packet_out p, inout headers h, in meta m,
                    in ingress_intrinsic_metadata_for_deparser_t d) {{
             Mirror() mirror; Mirror(1) first; Resubmit() again; Digest<bit<8>>() digest; Digest<bit<8>>(1) one;
             apply {{ {deparser} }}
         }}
         parser EP(packet_in p, out headers h, out meta m, out egress_intrinsic_metadata_t eg) {{
             state start {{ p.extract(eg); m.n = 0; transition accept; }}
         }}
         control E(inout headers h, inout meta m, in egress_intrinsic_metadata_t eg,
                   in egress_intrinsic_metadata_from_parser_t pr,
                   inout egress_intrinsic_metadata_for_deparser_t d,
                   inout egress_intrinsic_metadata_for_output_port_t o) {{ apply {{ {egress} }} }}
         control ED(packet_out p, inout headers h, in meta m,
                    in egress_intrinsic_metadata_for_deparser_t d) {{ apply {{ p.emit(h); }} }}
         Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
         Switch(pipe) main;"
    );
    let parsed = p4_syntax::parse_text("t.p4", &text);
    let checked = p4_check::check(&parsed.program);
    let errors = [parsed.diagnostics.clone(), checked.diagnostics.clone()].concat();
    assert_eq!(errors, [], "{text}");
    let found = lint(&checked, &[Target::Tofino]).into_iter();
    found
        .map(|lint| (lint.code, lint.hint.unwrap_or_default()))
        .collect()
}

const LAST: &str = "transition accept;";

#[test]
fn what_the_compiler_does_with_varbits() {
    for right in [
        "p.extract(h.o, (bit<32>)h.h.a * 8); transition accept;",
        "p.extract(h.i); p.extract(h.o, (bit<32>)(h.h.a[3:0]) << 3); transition accept;",
        "transition one; } state one { p.extract(h.o, (bit<32>)h.h.a); transition two; }
         state two { p.extract(h.p, (bit<32>)h.h.b); transition accept;",
    ] {
        assert_eq!(said(right, ""), [], "{right}");
    }
    assert_eq!(said(LAST, "if (h.o.isValid()) { h.o.setInvalid(); }"), []);
    assert_eq!(said(LAST, "m.n = h.o.kind;"), []);
    for (states, ingress, words) in [
        (
            "p.extract(h.o, (bit<32>)h.h.a); p.extract(h.i); transition accept;",
            "",
            "extracted last",
        ),
        (
            "p.extract(h.o, (bit<32>)h.h.a); p.extract(h.p, (bit<32>)h.h.b); transition accept;",
            "",
            "multiple varbit",
        ),
        (
            "p.extract(h.o, (bit<32>)(h.h.a + h.h.b)); transition accept;",
            "",
            "more than one variable",
        ),
        (
            "p.extract(h.o, 64); transition accept;",
            "",
            "No varbit length",
        ),
        (LAST, "h.o.setValid();", "as valid"),
        (LAST, "h.o = h.p;", "cannot assign header"),
        (
            LAST,
            "if (h.w.v == h.w.v) { m.n = 2; }",
            "use of varbit field",
        ),
    ] {
        let found = said(states, ingress);
        assert!(!found.is_empty(), "{states} {ingress}");
        for (code, hint) in found {
            assert_eq!(code, "W0732", "{states} {ingress}");
            assert!(hint.contains(words), "{hint}");
        }
    }
    // One warning, not two, of what any program for Tofino cannot do.
    let assigned = said(LAST, "h.o.v = h.p.v;");
    let codes: Vec<_> = assigned.iter().map(|(code, _)| *code).collect();
    assert_eq!(
        codes,
        ["W0708", "W0732"],
        "what is written, and what is read"
    );
}

#[test]
fn what_has_no_effect_is_said() {
    let found = said("priority.set(2); transition accept;", "");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "W0733");
    let codes: Vec<_> = lints(LAST, "", "d.coalesce_flush = 1; d.drop_ctl = 0;");
    assert_eq!(codes.len(), 1);
    assert_eq!(codes[0].0, "W0733");
    assert_eq!(
        lints(LAST, "", "d.coalesce_length = 1; d.drop_ctl = 0;"),
        []
    );
}

fn codes(found: &[(&'static str, String)]) -> Vec<&'static str> {
    found.iter().map(|(code, _)| *code).collect()
}

/// What extract_deparser.cpp of the compiler says of deparsers.
#[test]
fn conditions_in_deparsers() {
    let none: [&str; 0] = [];
    for (deparser, expected) in [
        ("p.emit(h);", &none[..]),
        ("if (h.h.a == 1) { p.emit(h.h); }", &["W0737"]),
        (
            "if (h.h.a == 1) { } else { p.emit(h.h); } p.emit(h.i);",
            &["W0737"],
        ),
        ("if (d.mirror_type == 1) { mirror.emit(5); }", &none),
        ("mirror.emit(5);", &["W0741"]),
        ("first.emit(5);", &none),
        ("again.emit();", &["W0741"]),
        ("if (d.resubmit_type == 1) { again.emit(); }", &none),
        ("digest.pack(h.h.a);", &["W0741"]),
        ("if (d.digest_type == 1) { digest.pack(h.h.a); }", &none),
        ("one.pack(h.h.a);", &none),
    ] {
        assert_eq!(
            codes(&program(LAST, "", "", deparser, "")),
            expected,
            "{deparser}"
        );
    }
}

/// What instruction_selection.cpp says of actions, and gateway.cpp of conditions.
#[test]
fn conditions_in_controls() {
    let none: [&str; 0] = [];
    for (body, expected) in [
        ("if (h.h.a == 1) { h.h.b = 2; }", &["W0738"][..]),
        ("if (h.i.isValid()) { h.h.b = 2; }", &["W0738"]),
        ("h.h.b = h.h.a == 1 ? 8w1 : 2;", &["W0738"]),
        ("if (data == 1) { h.h.b = 2; }", &none),
        (
            "if (h.h.a < h.h.b) { m.n = h.h.a; } else { m.n = h.h.b; }",
            &none,
        ),
        ("if (h.h.a < h.h.b) { h.h.a = h.h.b; }", &none),
        ("h.h.b = h.h.a > m.n ? h.h.a : m.n;", &none),
        ("if (h.h.a < h.h.b) { m.n = 1; }", &["W0738"]),
    ] {
        let action = format!("action a(bit<8> data) {{ {body} }}");
        let table = "table t { key = { h.h.a : exact; } actions = { a; } }";
        let found = program(
            LAST,
            &format!("{action} {table}"),
            "t.apply();",
            "p.emit(h);",
            "",
        );
        assert_eq!(codes(&found), expected, "{body}");
    }
    // What no table runs becomes part of `apply`, where conditions are conditions.
    let called = program(
        LAST,
        "action a() { if (h.h.a == 1) { h.h.b = 2; } }",
        "a();",
        "p.emit(h);",
        "",
    );
    assert_eq!(codes(&called), none);
    for (condition, expected) in [
        ("h.h.a < h.h.b", &["W0739"][..]),
        ("h.h.a >= m.n", &["W0739"]),
        ("h.h.a < 5", &none),
        ("5 <= h.h.a", &none),
        ("h.h.a == h.h.b", &none),
    ] {
        let ingress = format!("if ({condition}) {{ m.n = 2; }}");
        assert_eq!(codes(&lints(LAST, &ingress, "")), expected, "{condition}");
    }
}

/// What extract_parser.cpp says of parsers.
#[test]
fn parsers_do_not_compute() {
    let none: [&str; 0] = [];
    for (statement, expected) in [
        ("verify(h.h.a == 9, error.NoMatch);", &["W0740"][..]),
        ("h.h.a = h.h.b + 1;", &["W0742"]),
        ("h.h.a -= 1;", &["W0742"]),
        ("m.n = (bit<8>)(h.h.a ^ h.h.b);", &["W0742"]),
        ("m.n = h.h.b; h.h.a = 3;", &none),
        ("m.n = h.h.a >> 1;", &none),
        ("m.n = m.n | 4;", &none),
        ("bit<8> length = h.h.a - 5;", &none),
    ] {
        let states = format!("{statement} {LAST}");
        assert_eq!(codes(&said(&states, "")), expected, "{statement}");
    }
}

/// What is said of a RegisterAction with this body.
fn register_action(body: &str) -> Vec<(&'static str, String)> {
    let register = format!(
        "Register<pair, bit<8>>(16) cells;
         RegisterAction<pair, bit<8>, bit<32>>(cells) act = {{
             void apply(inout pair v, out bit<32> o2) {{ o2 = 0; {body} }}
         }};"
    );
    program(LAST, &register, "h.r.g = act.execute(0);", "p.emit(h);", "")
}

/// Three fields of the packet are one too many, however they get there (input_xbar.cpp).
#[test]
fn a_register_takes_two_fields() {
    let none: [&str; 0] = [];
    for (body, expected) in [
        ("v.lo = v.lo + h.r.f; v.hi = v.hi + h.r.g;", &none[..]),
        ("v.lo = h.r.f; v.hi = h.r.f - 3; o2 = h.r.g;", &none),
        ("v.lo = h.r.f; v.hi = h.r.g; o2 = h.s.f;", &["W0743"]),
        (
            "bit<32> g = h.r.g; v.hi = h.s.f; if (v.lo == h.r.f) { v.lo = g; }",
            &["W0743"],
        ),
    ] {
        assert_eq!(codes(&register_action(body)), expected, "{body}");
    }
}

/// A copy of the cell is no second field of the packet.
#[test]
fn fields_that_a_register_compares() {
    let none: [&str; 0] = [];
    for (body, expected) in [
        (
            "pair w; w = v; bool o = h.r.g == w.hi; if (o) { v.lo = 1; }",
            &none[..],
        ),
        ("bit<32> g = h.r.g; if (g == v.hi) { v.lo = 1; }", &none),
        (
            "bit<32> g = h.r.g; if (g == h.r.f) { v.lo = 1; }",
            &["W0723"],
        ),
        (
            "pair w; w.lo = h.r.f; w.hi = v.hi; if (h.r.g == w.hi) { v.lo = 1; }",
            &none,
        ),
        ("if (h.r.g == h.r.f) { v.lo = 1; }", &["W0723"]),
    ] {
        assert_eq!(codes(&register_action(body)), expected, "{body}");
    }
}

/// Conditions and sums take the old value of the cell, unless the compiler can put in what was written.
#[test]
fn a_register_compares_what_it_held_before() {
    let none: [&str; 0] = [];
    for (body, expected) in [
        (
            "v.lo = v.lo + 1; if (v.lo == 3) { o2 = 1; }",
            &["W0744"][..],
        ),
        ("v.lo += 1; if (v.lo == 3) { o2 = 1; }", &["W0744"]),
        ("v.lo = v.lo + 1; v.hi = v.lo;", &["W0744"]),
        ("v.lo = v.lo + 1; o2 = v.lo + 1;", &["W0744"]),
        (
            "if (v.hi == 1) { v.lo = h.r.f; } if (v.lo == 3) { o2 = 1; }",
            &["W0744"],
        ),
        (
            "v.lo = v.hi; v.hi = v.hi + 1; if (v.lo == 3) { o2 = 1; }",
            &["W0744"],
        ),
        ("v.lo = v.lo + 1; o2 = v.lo;", &none),
        ("if (v.lo == 2) { o2 = 1; } v.lo = v.lo + 1;", &none),
        (
            "if (v.lo == 2) { v.lo = 0; } else { v.lo = v.lo + 1; }",
            &none,
        ),
        ("v.lo = h.r.f; if (v.lo == 3) { o2 = 1; }", &none),
        ("v.lo = v.hi; v.hi = v.lo + 10;", &none),
    ] {
        assert_eq!(codes(&register_action(body)), expected, "{body}");
    }
}
