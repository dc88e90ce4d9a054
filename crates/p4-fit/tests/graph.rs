//! If these fail, `p4lab fit` sees dependencies that a program does not have, or misses some; or a
//! broken program takes the estimate down instead of getting a sentence.

use p4_fit::model::{Gress, Unit, UnitKind, Written};
use p4_syntax::{parse, FileProvider, MemoryFiles, Options, Severity};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What stands around an ingress control: a header `h` with eight fields, metadata `m`.
const AROUND: &str = "
#include <core.p4>
#include <tna.p4>
header a_h { bit<8> a; bit<8> b; bit<8> c; bit<8> d; bit<16> e; bit<32> f; }
struct h_t { a_h x; a_h y; }
struct m_t { bit<8> k; bit<16> wide; bool flag; }
parser IP(packet_in p, out h_t h, out m_t m, out ingress_intrinsic_metadata_t ig) {
  state start { p.extract(ig); p.advance(PORT_METADATA_SIZE); p.extract(h.x); m.k = h.x.a; transition accept; }
}
BEFORE
control I(inout h_t h, inout m_t m, in ingress_intrinsic_metadata_t ig,
    in ingress_intrinsic_metadata_from_parser_t pr,
    inout ingress_intrinsic_metadata_for_deparser_t d,
    inout ingress_intrinsic_metadata_for_tm_t tm) {
  INGRESS
}
control ID(packet_out p, inout h_t h, in m_t m, in ingress_intrinsic_metadata_for_deparser_t d) {
  apply { p.emit(h.x); }
}
parser EP(packet_in p, out h_t h, out m_t m, out egress_intrinsic_metadata_t eg) {
  state start { p.extract(eg); transition accept; }
}
control E(inout h_t h, inout m_t m, in egress_intrinsic_metadata_t eg,
    in egress_intrinsic_metadata_from_parser_t pr,
    inout egress_intrinsic_metadata_for_deparser_t d,
    inout egress_intrinsic_metadata_for_output_port_t o) { apply { } }
control ED(packet_out p, inout h_t h, in m_t m, in egress_intrinsic_metadata_for_deparser_t d) {
  apply { }
}
Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
";

fn graph_of(text: &str) -> Result<p4_fit::Graph, String> {
    let files = MemoryFiles(BTreeMap::from([("p.p4".to_string(), text.to_string())]));
    let parsed = parse("p.p4", &files, &Options::default());
    let checked = p4_check::check(&parsed.program);
    let wrong = parsed.diagnostics.iter().chain(&checked.diagnostics);
    if let Some(error) = wrong.into_iter().find(|d| d.severity == Severity::Error) {
        return Err(format!("does not compile: {}", error.message));
    }
    let graph = p4_fit::graph(&checked)?;
    assert!(graph.json(&parsed.sources).starts_with('{'));
    Ok(graph)
}

fn ingress(before: &str, body: &str) -> Gress {
    let text = AROUND.replace("BEFORE", before).replace("INGRESS", body);
    let graph = graph_of(&text).expect("a graph");
    graph.pipes[0].gresses[0].clone()
}

fn names(gress: &Gress, accesses: &[p4_fit::model::Access]) -> Vec<String> {
    let mut names: Vec<String> = accesses
        .iter()
        .map(|a| {
            let field = &gress.fields[a.field as usize];
            match a.hi - a.lo + 1 == field.width {
                true => field.name.clone(),
                false => format!("{}[{}:{}]", field.name, a.hi, a.lo),
            }
        })
        .collect();
    names.sort();
    names
}

fn written(gress: &Gress, unit: &Unit) -> Vec<String> {
    let accesses: Vec<_> = unit
        .actions
        .iter()
        .flat_map(|a| &a.writes)
        .map(|w| w.access)
        .collect();
    names(gress, &accesses)
}

#[test]
fn statements_share_an_action_until_one_reads_what_another_wrote() {
    let gress = ingress(
        "",
        "apply { h.x.a = h.x.b; h.x.c = 1; h.x.d = h.x.a; h.x.e[7:0] = h.x.f[15:8]; }",
    );
    let units = &gress.units;
    assert_eq!(units.len(), 2, "{units:?}");
    assert_eq!(written(&gress, &units[0]), ["h.x.a", "h.x.c"]);
    assert_eq!(written(&gress, &units[1]), ["h.x.d", "h.x.e[7:0]"]);
    assert_eq!(
        names(&gress, &units[1].actions[0].reads),
        ["h.x.a", "h.x.f[15:8]"]
    );
    assert!(matches!(
        units[0].actions[0].writes[0].value,
        Written::Copy(_)
    ));
    assert_eq!(units[0].actions[0].writes[1].value, Written::Constant);
}

#[test]
fn parameters_are_other_names_for_their_arguments() {
    let sub = "control Sub(inout a_h one, in bit<8> two, out bit<8> three) {
        action act(inout bit<8> x, bit<16> data) { x = two; one.e = data; }
        table t { key = { one.a: exact; } actions = { act(three); } default_action = act(three, 5); size = 7; }
        apply { t.apply(); }
      }";
    let gress = ingress(sub, "Sub() s; apply { s.apply(h.y, h.x.b + 1, m.k); }");
    let [table] = &gress.units[..] else {
        panic!("{:?}", gress.units)
    };
    assert_eq!(table.name, "s.t");
    assert_eq!(names(&gress, &table.reads), ["h.y.a"]);
    assert_eq!(names(&gress, &table.actions[0].reads), ["h.x.b"]);
    assert_eq!(written(&gress, table), ["h.y.e", "m.k"]);
    assert_eq!(table.actions[0].data, [16]);
    assert_eq!(table.table.as_ref().and_then(|t| t.size), Some(7));
}

#[test]
fn two_instances_have_variables_of_their_own() {
    let sub = "control Sub(inout bit<8> v) { bit<8> local; apply { local = v; v = local + 1; } }";
    let gress = ingress(
        sub,
        "Sub() s; Sub() t; apply { s.apply(h.x.a); t.apply(h.x.b); }",
    );
    let fields: Vec<&str> = gress.fields.iter().map(|f| f.name.as_str()).collect();
    assert!(
        fields.contains(&"s.local") && fields.contains(&"t.local"),
        "{fields:?}"
    );
}

#[test]
fn branches_are_guards_and_a_return_leaves_the_rest_to_the_other_branch() {
    let tables = "action n() { } table t { key = { h.x.a: exact; } actions = { n; NoAction; } }
        table u { key = { h.x.b: ternary; } actions = { n; } default_action = n(); }";
    let body = format!(
        "{tables} apply {{
            if (t.apply().miss) {{ h.x.c = 1; return; }}
            switch (u.apply().action_run) {{ n: {{ h.x.d = 1; }} default: {{ h.x.d = 2; }} }}
            if (h.x.e == 1) {{ h.x.f = 1; }} else {{ h.x.f = 2; }}
        }}"
    );
    let gress = ingress("", &body);
    let guards = |unit: &Unit| -> Vec<(u32, Vec<u32>)> {
        unit.guards
            .iter()
            .map(|g| (g.unit, g.arms.clone()))
            .collect()
    };
    let at = |index: usize| &gress.units[index];
    assert_eq!(guards(at(1)), [(0, vec![0])], "on a miss");
    assert_eq!(guards(at(2)), [(0, vec![1])], "u, on a hit only");
    assert_eq!(guards(at(3)), [(0, vec![1]), (2, vec![2])]);
    assert_eq!(at(5).kind, UnitKind::Condition);
    assert_eq!(names(&gress, &at(5).reads), ["h.x.e"]);
    assert_eq!(guards(at(6)), [(0, vec![1]), (5, vec![1])]);
    assert_eq!(guards(at(7)), [(0, vec![1]), (5, vec![0])]);
}

#[test]
fn registers_read_index_and_operands_through_the_crossbar() {
    let body = "Register<bit<16>, bit<8>>(300) r;
        RegisterAction<bit<16>, bit<8>, bit<16>>(r) ra = {
            void apply(inout bit<16> cell, out bit<16> old) { old = cell; if (cell < m.wide) { cell = cell + 1; } }
        };
        apply { h.x.e = ra.execute(h.x.a); m.wide = 3; h.x.d = 4; }";
    let gress = ingress("", body);
    let first = &gress.units[0].actions[0];
    assert_eq!(names(&gress, &first.crossbar), ["h.x.a", "m.wide"]);
    assert!(first.uses[0].by_hash);
    let register = &gress.resources[first.uses[0].resource as usize];
    assert_eq!(
        (register.name.as_str(), register.size, register.width),
        ("r", Some(300), 16)
    );
}

#[test]
fn a_variable_that_can_be_computed_anew_is_not_read() {
    let body = "bit<8> v; apply {
        v = h.x.a + 1;
        if (v == 3) { h.x.c = v; h.x.a = 0; }
        h.x.d = v;
    }";
    let gress = ingress("", body);
    let condition = &gress.units[1];
    assert_eq!(names(&gress, &condition.reads), ["h.x.a"], "v is h.x.a + 1");
    assert_eq!(names(&gress, &gress.units[2].actions[0].reads), ["h.x.a"]);
    let last = gress
        .units
        .last()
        .map(|unit| names(&gress, &unit.actions[0].reads));
    assert_eq!(
        last,
        Some(vec!["v".to_string()]),
        "h.x.a may be another one by now"
    );
}

#[test]
fn what_the_parser_writes_and_the_deparser_reads_is_known() {
    let gress = ingress("", "apply { h.x.a = 1; h.y.a = 2; m.k = 0; }");
    let of = |list: &[u32]| -> Vec<&str> {
        list.iter()
            .map(|i| gress.fields[*i as usize].name.as_str())
            .collect()
    };
    assert!(of(&gress.parsed).contains(&"m.k"));
    assert!(of(&gress.deparsed).contains(&"h.x.a"));
    assert!(!of(&gress.deparsed).contains(&"h.y.a"));
}

#[test]
fn blocks_that_multiply_get_a_sentence() {
    let mut blocks = "control C0(inout h_t h) { apply { h.x.a = h.x.b; } }\n".to_string();
    for i in 1..30 {
        blocks += &format!(
            "control C{i}(inout h_t h) {{ C{0}() p; C{0}() q; apply {{ p.apply(h); q.apply(h); }} }}\n",
            i - 1
        );
    }
    let text = AROUND
        .replace("BEFORE", &blocks)
        .replace("INGRESS", "C29() c; apply { c.apply(h); }");
    let error = graph_of(&text).expect_err("too large");
    assert!(
        error.starts_with("`I` is too large for this estimate"),
        "{error}"
    );
}

#[test]
fn programs_without_a_chip_get_a_sentence() {
    let error = graph_of("const bit<8> a = 1;").expect_err("nothing to place");
    assert!(error.contains("no `main`"), "{error}");
    let own = "control C(); package P(C c); control D() { apply { } } P(D()) main;";
    let error = graph_of(own).expect_err("no chip");
    assert!(error.contains("`P` is none of a switching chip"), "{error}");
}

struct Disk;

impl FileProvider for Disk {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        match std::fs::read_to_string(path) {
            Ok(text) => Some(Ok(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => Some(Err(error.to_string())),
        }
    }
}

/// The TNA program of the repository.
fn bier() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4/bier/tna.p4")
}

#[test]
fn bier_has_a_graph_for_every_width() {
    for bits in ["64", "128", "256"] {
        let options = Options {
            defines: vec![("BSL".to_string(), bits.to_string())],
            ..Options::default()
        };
        let parsed = parse(&bier().to_string_lossy(), &Disk, &options);
        let checked = p4_check::check(&parsed.program);
        let graph = p4_fit::graph(&checked).expect("a graph");
        let ingress = &graph.pipes[0].gresses[0];
        let bift = ingress.units.iter().find(|unit| unit.name == "bfr.bift");
        let key = bift.and_then(|unit| unit.table.as_ref()).map(|t| &t.keys);
        let width = key
            .and_then(|keys| keys.last())
            .map(|key| key.width.to_string());
        assert_eq!(width.as_deref(), Some(bits));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever is left of a program after words were lost or doubled: a graph or a sentence. What
    /// does not compile is looked at all the same; only the trees of correct programs have to be.
    #[test]
    fn no_program_takes_the_estimate_down(cuts in prop::collection::vec((0usize..4000, any::<bool>()), 0..6)) {
        let body = "Register<bit<16>, bit<8>>(300) r;
            RegisterAction<bit<16>, bit<8>, bit<16>>(r) ra = {
                void apply(inout bit<16> cell, out bit<16> old) { old = cell; } };
            action act(bit<8> v) { h.x.b = v; m.wide = ra.execute(h.x.a); }
            table t { key = { h.x.a: exact; m.wide[7:0]: ternary; } actions = { act; NoAction; } size = 99; }
            apply { if (t.apply().hit && h.x.c == 2) { h.x.d = h.x.d |+| 1; } else { exit; }
                switch (h.x.e) { 1: { h.y.setValid(); } default: { h.y.setInvalid(); } } }";
        let text = AROUND.replace("BEFORE", "").replace("INGRESS", body);
        let mut words: Vec<&str> = text.split_inclusive([' ', ';', '{', '}']).collect();
        for (at, double) in cuts {
            let at = at % words.len().max(1);
            if double {
                words.insert(at, words[at]);
            } else if words.len() > 1 {
                words.remove(at);
            }
        }
        let files = MemoryFiles(BTreeMap::from([("p.p4".to_string(), words.concat())]));
        let parsed = parse("p.p4", &files, &Options::default());
        let checked = p4_check::check(&parsed.program);
        if let Ok(graph) = p4_fit::graph(&checked) {
            graph.json(&parsed.sources);
        }
    }
}
