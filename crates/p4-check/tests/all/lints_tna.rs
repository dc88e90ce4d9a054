//! Warnings about headers that the compiler for Tofino does not take in programs for TNA. If these
//! fail, students hear of it only from that compiler, or are warned of what it does take. What it
//! says is read in its sources (backends/tofino of p4c: desugar_varbit_extract.cpp, tofino.cpp).

use p4_check::lint::{lint, Target};

fn said(states: &str, ingress: &str) -> Vec<(&'static str, String)> {
    lints(states, ingress, "")
}

/// Codes and messages for a parser with these states behind `start`, and controls of these lines.
fn lints(states: &str, ingress: &str, egress: &str) -> Vec<(&'static str, String)> {
    let text = format!(
        "#include <tna.p4>
         header h_t {{ bit<8> a; bit<8> b; }}
         header o_t {{ bit<8> kind; varbit<320> v; }}
         header w_t {{ varbit<64> v; }}
         struct headers {{ h_t h; o_t o; o_t p; w_t w; h_t i; }}
         struct meta {{ bit<8> n; }}
         parser IP(packet_in p, out headers h, out meta m, out ingress_intrinsic_metadata_t ig) {{
             ParserPriority() priority;
             state start {{ p.extract(ig); p.advance(PORT_METADATA_SIZE); p.extract(h.h); m.n = 1; {states} }}
         }}
         control I(inout headers h, inout meta m, in ingress_intrinsic_metadata_t ig,
                   in ingress_intrinsic_metadata_from_parser_t pr,
                   inout ingress_intrinsic_metadata_for_deparser_t d,
                   inout ingress_intrinsic_metadata_for_tm_t tm) {{
             apply {{ tm.ucast_egress_port = 1; {ingress} }}
         }}
         control ID(packet_out p, inout headers h, in meta m,
                    in ingress_intrinsic_metadata_for_deparser_t d) {{ apply {{ p.emit(h); }} }}
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
