//! What a student reads after a mistake. Every code has a program in `mistakes/` that makes the
//! mistake, and next to it, as a snapshot, what is said about it. If these fail, a mistake passes
//! unnoticed, or its explanation points to the wrong place.

use p4_syntax::{Parsed, Severity};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(directory(folder))
        .expect("the folder is part of the repository")
        .map(|entry| entry.expect("readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    found.sort();
    found
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .expect("a file name")
        .to_string_lossy()
        .into_owned()
}

fn parse(path: &Path) -> Parsed {
    let text = std::fs::read_to_string(path).expect("a readable program");
    p4_syntax::parse_text(&format!("{}.p4", stem(path)), &text)
}

#[test]
fn each_mistake_is_explained() {
    for path in files("tests/mistakes", "p4") {
        let name = stem(&path);
        let parsed = parse(&path);
        assert_eq!(
            parsed.diagnostics,
            [],
            "{name} must be free of syntax errors"
        );
        let checked = p4_check::check(&parsed.program);
        let code = name.split('_').next().unwrap_or_default();
        assert!(
            checked.diagnostics.iter().any(|d| d.code == code),
            "{name} must be reported as {code}, but got {:?}",
            checked.diagnostics
        );
        for diagnostic in &checked.diagnostics {
            assert!(
                diagnostic.hint.is_some(),
                "{name}: no hint in {diagnostic:?}"
            );
        }
        let text = p4_syntax::render(&checked.diagnostics, &parsed.sources, false);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(directory("tests/mistakes"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, text));
    }
}

/// The codes in the checker's source are the promise; a code without a program is untested.
#[test]
fn each_code_has_a_program() {
    let mut promised = BTreeSet::new();
    for path in files("src", "rs") {
        let text = std::fs::read_to_string(&path).expect("a readable source");
        for quoted in text.split('"').skip(1).step_by(2) {
            let is_code = quoted.len() == 5
                && quoted.starts_with(['E', 'W'])
                && quoted[1..].bytes().all(|b| b.is_ascii_digit());
            // E01 belongs to the parser, which reports nearly all of those.
            if is_code && !quoted.starts_with("E01") {
                promised.insert(quoted.to_string());
            }
        }
    }
    let tested: BTreeSet<String> = files("tests/mistakes", "p4")
        .iter()
        .map(|path| stem(path)[..5].to_string())
        .collect();
    assert_eq!(promised, tested);
    assert!(tested.len() >= 40, "only {} codes", tested.len());
}

/// One mistake must neither hide nor multiply the others.
#[test]
fn five_mistakes_are_five_errors() {
    let parsed = p4_syntax::parse_text(
        "five.p4",
        r#"#include <core.p4>
header bier_t { bit<8> ttl; bit<64> bits; }
struct headers_t { bier_t bier; }
parser p(packet_in packet, out headers_t hdr) {
    state start {
        packet.extract(hdr.bier);
        transition select(hdr.bier.ttl) {
            0: drop;
            default: accept;
        }
    }
}
control c(inout headers_t hdr) {
    action forward(bit<9> port) { hdr.bier.tll = hdr.bier.ttl - 1; }
    table bift {
        key = { hdr.bier.bits : prefix; }
        actions = { forward; NoAction; }
        default_action = discard();
    }
    apply {
        bit<32> low = hdr.bier.bits[15:0];
        bift.apply();
    }
}
"#,
    );
    assert_eq!(parsed.diagnostics, []);
    let checked = p4_check::check(&parsed.program);
    let found: Vec<(&str, u32)> = checked
        .diagnostics
        .iter()
        .map(|d| {
            let place = parsed.sources.locate(d.span.lo).expect("a place");
            (d.code, place.line)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("E0403", 8),
            ("E0305", 14),
            ("E0410", 16),
            ("E0201", 18),
            ("E0302", 21)
        ]
    );
}

/// A program without mistakes gets no word, or nobody reads the others.
#[test]
fn a_right_program_is_accepted_in_silence() {
    let text = r#"
#include <core.p4>
header bier_t { bit<8> ttl; bit<64> bits; }
struct headers_t { bier_t bier; }
struct meta_t { bit<9> port; bool copy; }
parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta) {
    state start {
        packet.extract(hdr.bier);
        transition select(hdr.bier.ttl) {
            0: reject;
            1 .. 255: accept;
        }
    }
}
control MyIngress(inout headers_t hdr, inout meta_t meta) {
    action drop() { meta.port = 511; }
    action forward(bit<9> port, bit<64> f_bm) {
        meta.port = port;
        hdr.bier.bits = hdr.bier.bits & ~f_bm;
        meta.copy = hdr.bier.bits != 0;
    }
    table bift {
        key = { hdr.bier.bits : ternary; }
        actions = { forward; drop; }
        default_action = drop();
        const entries = { 1 &&& 1 : forward(3, 0xff); }
    }
    apply {
        if (hdr.bier.isValid() && bift.apply().hit) { hdr.bier.ttl = hdr.bier.ttl |-| 1; }
    }
}
parser Parser<H, M>(packet_in packet, out H hdr, inout M meta);
control Ingress<H, M>(inout H hdr, inout M meta);
package Switch<H, M>(Parser<H, M> p, Ingress<H, M> ig);
Switch(MyParser(), MyIngress()) main;
"#;
    let parsed = p4_syntax::parse_text("right.p4", text);
    assert_eq!(parsed.diagnostics, []);
    let checked = p4_check::check(&parsed.program);
    assert_eq!(checked.diagnostics, []);
    assert!(checked.main.is_some());
    assert!(!checked
        .diagnostics
        .iter()
        .any(|d| d.severity == Severity::Error));
}
