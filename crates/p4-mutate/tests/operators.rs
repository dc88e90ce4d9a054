//! What a user would lose: mistakes that students make and no generated mutant has, mutants in files
//! that nobody edits, and a compiler that dies of a mutant instead of refusing it.

use p4_mutate::{mutations, Mutation};
use p4_syntax::{MemoryFiles, Options, Severity};

const GIVEN: &str = r#"
#include <core.p4>
#include <v1model.p4>
const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_BIER = 0xAB37;
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header shim_t { bit<8> ttl; bit<8> hops; bit<16> next; bit<7> pad; bit<9> port; }
struct headers_t { ethernet_t ethernet; shim_t shim; shim_t inner; }
struct meta_t { bit<9> port; bit<8> set; }
"#;

const EDITED: &str = r#"
#include "given.p4"
#ifndef LIMIT
#define LIMIT 5
#endif
enum bit<8> reason_t { NONE = 0, OLD = 1, FAR = 2 }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_IPV4: accept;
            TYPE_BIER: shim;
            default: reject;
        }
    }
    state shim { packet.extract(hdr.shim); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    reason_t why = reason_t.NONE;
    action forward(bit<9> port, bit<9> other) {
        hdr.shim.ttl = hdr.shim.ttl - 1;
        sm.egress_spec = port;
    }
    action drop() { mark_to_drop(sm); }
    action keep() { }
    table t {
        key = { hdr.shim.next: exact; hdr.shim.port: ternary; }
        actions = { forward; drop; keep; }
        const default_action = drop();
        const entries = { (1, _): keep(); }
    }
    apply {
        if (hdr.shim.isValid() && hdr.shim.ttl <= LIMIT) {
            why = reason_t.OLD;
        } else if (hdr.ethernet.src[47:40] == 1) {
            hdr.inner.setValid();
            hdr.inner = hdr.shim;
            hdr.inner.hops = hdr.shim.ttl;
        } else {
            switch (t.apply().action_run) {
                forward: { hdr.shim.setInvalid(); }
                drop: { exit; }
            }
        }
        if (why != reason_t.NONE) { mark_to_drop(sm); }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.shim); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

fn files(edited: &str) -> MemoryFiles {
    let texts = [("main.p4", edited), ("given.p4", GIVEN)];
    let named = texts.map(|(name, text)| (name.to_string(), text.to_string()));
    MemoryFiles(named.into())
}

fn found(only: &[&str]) -> Vec<Mutation> {
    let only: Vec<String> = only.iter().map(|file| file.to_string()).collect();
    let options = Options::default();
    mutations("main.p4", &files(EDITED), &options, &only).expect("the program is right")
}

fn applied(mutation: &Mutation) -> String {
    let mut text = EDITED.to_string();
    text.replace_range(mutation.range.clone(), &mutation.text);
    text
}

/// Whether a program compiles; the compiler may refuse it, but must say why.
fn compiles(text: &str) -> bool {
    let parsed = p4_syntax::parse("main.p4", &files(text), &Options::default());
    let checked = p4_check::check(&parsed.program);
    let mut all = parsed.diagnostics.iter().chain(&checked.diagnostics);
    if all.any(|diagnostic| diagnostic.severity == Severity::Error) {
        return false;
    }
    assert!(checked.main.is_some(), "a program without main:\n{text}");
    let architecture = p4_arch::AnyArchitecture { as_bmv2: false };
    match p4_ir::lower::lower(&checked, &architecture) {
        Ok(_) => true,
        Err(errors) => {
            assert!(!errors.is_empty());
            false
        }
    }
}

#[test]
fn mistakes_of_all_kinds_are_made() {
    let titles: Vec<String> = found(&["main.p4"]).into_iter().map(|m| m.title).collect();
    for title in [
        "`LIMIT` becomes `6`",
        "`LIMIT` becomes `255`",
        "`TYPE_IPV4` becomes `TYPE_BIER`",
        "`reason_t.OLD` becomes `reason_t.FAR`",
        "`hdr.shim.ttl` becomes `hdr.shim.hops`",
        "`port` becomes `other`",
        "`sm.egress_spec` becomes `sm.egress_port`",
        "`hdr.shim` becomes `hdr.inner`",
        "`hdr.shim.ttl - 1` becomes `hdr.shim.ttl`",
        "`hdr.shim.ttl - 1` becomes `hdr.shim.ttl + 1`",
        "`hdr.shim.ttl - 1` loses its highest bit",
        "`hdr.shim.ttl = hdr.shim.ttl - 1;` is left out",
        "`hdr.shim.ttl = hdr.shim.ttl - 1;` is there twice",
        "`hdr.shim.ttl <= LIMIT` becomes `hdr.shim.ttl < LIMIT`",
        "`hdr.shim.isValid() && hdr.shim.ttl <= LIMIT` becomes `hdr.shim.ttl <= LIMIT`",
        "`hdr.shim.isValid() && hdr.shim.ttl <= LIMIT` becomes `true`",
        "`47:40` becomes `46:39`",
        "`hdr.inner = hdr.shim;` comes after `hdr.inner.hops = hdr.shim.ttl;`",
        "`hdr.inner.setValid();` is left out",
        "`packet.emit(hdr.shim);` is left out",
        "The case `drop: { exit; }` is left out",
        "The case `TYPE_BIER: shim;` is left out",
        "The entry `(1, _): keep();` is left out",
        "`drop()` becomes `keep()`",
    ] {
        assert!(
            titles.iter().any(|other| other == title),
            "{title} is not among {titles:#?}"
        );
    }
}

#[test]
fn every_mutant_compiles_or_is_refused_with_an_error() {
    let all = found(&["main.p4"]);
    let right = all
        .iter()
        .filter(|mutation| compiles(&applied(mutation)))
        .count();
    assert!(compiles(EDITED));
    assert!(
        right * 10 > all.len() * 9,
        "{right} of {} compile",
        all.len()
    );
}

#[test]
fn no_two_mutants_are_the_same_program() {
    let all = found(&["main.p4"]);
    let mut texts: Vec<String> = all.iter().map(applied).collect();
    texts.sort();
    for pair in texts.windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
    assert!(texts.iter().all(|text| text != EDITED));
}

#[test]
fn the_same_program_gives_the_same_mutants_in_the_order_of_its_text() {
    let all = found(&["main.p4"]);
    assert_eq!(all, found(&["main.p4"]));
    assert!(all
        .windows(2)
        .all(|pair| pair[0].range.start <= pair[1].range.start));
    for mutation in &all {
        let before = &EDITED[..mutation.range.start];
        assert_eq!(mutation.line as usize, before.matches('\n').count() + 1);
    }
}

#[test]
fn files_that_nobody_edits_are_left_alone() {
    assert!(found(&[]).is_empty());
    let both = found(&["main.p4", "given.p4"]);
    assert!(both
        .iter()
        .any(|m| m.file == "given.p4" && m.title.contains("0x801")));
    let own = found(&["main.p4"]);
    assert!(own.iter().all(|mutation| mutation.file == "main.p4"));
    assert_eq!(
        own.len(),
        both.iter().filter(|m| m.file == "main.p4").count()
    );
}

#[test]
fn a_program_with_an_error_has_no_mutants() {
    let wrong = files("control C() { apply { x = 1; } }");
    let refused = mutations("main.p4", &wrong, &Options::default(), &[]).expect_err("no x");
    assert!(!refused.diagnostics.is_empty());
}
