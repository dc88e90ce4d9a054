//! If these tests fail, controllers meet ids, names or types that differ from those that p4c gives
//! the same program, and programs that P4Info cannot describe slip through.

use p4_info::model::*;
use p4_syntax::{parse, MemoryFiles, Options, Severity};
use std::collections::HashMap;

fn files(text: &str) -> MemoryFiles {
    MemoryFiles([("test.p4".to_string(), text.to_string())].into())
}

/// The text of the errors, or P4Info.
fn compile(text: &str) -> Result<P4Info, Vec<(&'static str, String)>> {
    let parsed = parse("test.p4", &files(text), &Options::default());
    let checked = p4_check::check(&parsed.program);
    let mut diagnostics = parsed.diagnostics.clone();
    diagnostics.extend(checked.diagnostics.iter().cloned());
    diagnostics.retain(|d| d.severity == Severity::Error);
    assert!(
        diagnostics.is_empty(),
        "{}",
        p4_syntax::render(&diagnostics, &parsed.sources, false)
    );
    let place = |span| parsed.sources.snippet(span).to_string();
    p4_info::p4info(&checked, &parsed.sources)
        .map_err(|errors| errors.iter().map(|e| (e.code, place(e.span))).collect())
}

fn info(text: &str) -> P4Info {
    compile(text).expect("P4Info")
}

/// A v1model program with these declarations and this ingress.
fn program(top: &str, locals: &str, apply: &str) -> String {
    format!(
        "#include <core.p4>\n#include <v1model.p4>\n\
         header eth_t {{ bit<48> dst; bit<48> src; bit<16> kind; }}\n\
         struct headers {{ eth_t eth; }}\nstruct meta {{ bit<16> tag; }}\n{top}\n\
         parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {{\n\
             state start {{ p.extract(h.eth); transition accept; }} }}\n\
         control V(inout headers h, inout meta m) {{ apply {{ }} }}\n\
         control I(inout headers h, inout meta m, inout standard_metadata_t s) {{\n\
             {locals}\n    apply {{ {apply} }} }}\n\
         control E(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ }} }}\n\
         control C(inout headers h, inout meta m) {{ apply {{ }} }}\n\
         control D(packet_out p, in headers h) {{ apply {{ p.emit(h); }} }}\n\
         V1Switch(P(), V(), I(), E(), C(), D()) main;\n"
    )
}

/// The one-at-a-time hash as its author describes it, apart from the crate's own.
fn hash(name: &str) -> u32 {
    let mix = |h: u32, byte: u8| {
        let h = h.wrapping_add(u32::from(byte));
        let h = h.wrapping_mul(1025);
        h ^ (h >> 6)
    };
    let h = name.bytes().fold(0, mix).wrapping_mul(9);
    (h ^ (h >> 11)).wrapping_mul(32769)
}

fn id(prefix: u32, name: &str) -> u32 {
    (prefix << 24) | (hash(name) & 0x00ff_ffff)
}

#[test]
fn ids_are_a_prefix_and_a_hash_of_the_full_name() {
    // 0x01 over the hash of "NoAction"; the number is in every P4Info of a v1model program.
    assert_eq!(id(0x01, "NoAction"), 21257015);
    let info = info(&program(
        "",
        "counter(8, CounterType.bytes) seen; register<bit<4>>(16) last;\n\
         action set(bit<9> port) { s.egress_spec = port; seen.count(0); last.write(0, 1); }\n\
         table t { key = { h.eth.dst : exact; } actions = { set; } }",
        "t.apply();",
    ));
    assert_eq!(info.tables[0].preamble.id, id(0x02, "I.t"));
    let actions: Vec<(u32, &str)> = info
        .actions
        .iter()
        .map(|a| (a.preamble.id, a.preamble.name.as_str()))
        .collect();
    assert_eq!(
        actions,
        [
            (id(0x01, "NoAction"), "NoAction"),
            (id(0x01, "I.set"), "I.set")
        ]
    );
    assert_eq!(info.counters[0].preamble.id, id(0x12, "I.seen"));
    assert_eq!(info.counters[0].unit, Unit::Bytes);
    assert_eq!(info.registers[0].preamble.id, id(0x16, "I.last"));
}

#[test]
fn names_that_collide_move_up_in_alphabetical_order() {
    // Two names of counters whose hashes agree in the lower 24 bits, found by trying.
    let mut seen: HashMap<u32, String> = HashMap::new();
    let (first, second) = (0..)
        .find_map(|i| {
            let own = format!("c{i}");
            let other = seen.insert(hash(&format!("I.{own}")) & 0x00ff_ffff, own.clone())?;
            Some((other, own))
        })
        .expect("a collision");
    let (low, high) = match first < second {
        true => (&first, &second),
        false => (&second, &first),
    };
    let text = program(
        "",
        &format!("counter(1, CounterType.bytes) {second}; counter(1, CounterType.bytes) {first};"),
        "",
    );
    let ids: HashMap<String, u32> = info(&text)
        .counters
        .iter()
        .map(|c| (c.preamble.alias.clone(), c.preamble.id))
        .collect();
    let base = id(0x12, &format!("I.{low}"));
    assert_eq!((ids[low], ids[high]), (base, base + 1));
}

#[test]
fn given_ids_come_first_and_get_their_prefix() {
    let info = info(&program(
        "",
        "@id(7) action a(@id(5) bit<8> x, bit<8> y, bit<8> z) { }\n\
         @id(0x02000009) table t { key = { h.eth.dst : exact @id(2); h.eth.src : ternary; }\n\
             actions = { a; } }",
        "t.apply();",
    ));
    let table = &info.tables[0];
    assert_eq!(table.preamble.id, 0x0200_0009);
    let keys: Vec<u32> = table.match_fields.iter().map(|f| f.id).collect();
    assert_eq!(keys, [2, 3]);
    let action = info.actions.iter().find(|a| a.preamble.alias == "a");
    let action = action.expect("the action");
    assert_eq!(action.preamble.id, 0x0100_0007);
    let params: Vec<u32> = action.params.iter().map(|p| p.id).collect();
    assert_eq!(params, [5, 2, 3]);
}

#[test]
fn aliases_are_the_shortest_ends_that_are_unique() {
    let sub = "control Sub(inout headers h) {\n\
                   action drop() { }\n\
                   table t { key = { h.eth.kind : exact; } actions = { drop; } }\n\
                   apply { t.apply(); } }";
    let info = info(&program(
        sub,
        "Sub() one; Sub() two; action only() { }\n\
         table u { key = { h.eth.dst : lpm; } actions = { only; } }",
        "one.apply(h); two.apply(h); u.apply();",
    ));
    let names = |(name, alias): (&str, &str)| (name.to_string(), alias.to_string());
    let tables: Vec<(String, String)> = info
        .tables
        .iter()
        .map(|t| names((&t.preamble.name, &t.preamble.alias)))
        .collect();
    assert_eq!(
        tables,
        [("I.one.t", "one.t"), ("I.two.t", "two.t"), ("I.u", "u")].map(names)
    );
    let actions: Vec<String> = info
        .actions
        .iter()
        .map(|a| a.preamble.alias.clone())
        .collect();
    assert_eq!(actions, ["NoAction", "one.drop", "two.drop", "only"]);
}

#[test]
fn what_cannot_be_reached_is_not_there() {
    let info = info(&program(
        "",
        "action used() { } action unused() { } action called(bit<8> x) { }\n\
         table t { key = { h.eth.dst : exact; } actions = { used; } default_action = used; }\n\
         table never { key = { h.eth.src : exact; } actions = { unused; } }\n\
         register<bit<8>>(4) kept;",
        "if (false) { never.apply(); } else { t.apply(); } called(3);",
    ));
    let tables: Vec<&str> = info.tables.iter().map(|t| &*t.preamble.alias).collect();
    assert_eq!(tables, ["t"]);
    let actions: Vec<(&str, usize)> = info
        .actions
        .iter()
        .map(|a| (&*a.preamble.alias, a.params.len()))
        .collect();
    assert_eq!(actions, [("used", 0), ("called", 0)]);
    assert_eq!(info.registers.len(), 1);
}

#[test]
fn tables_say_what_entries_and_defaults_they_take() {
    let info = info(&program(
        "enum bit<8> Color { red = 1, blue = 2 }",
        "action paint(Color c, bool b, bit<12> n) { } action other() { }\n\
         table t { key = { h.eth.dst : exact; h.eth.src : selector; m.tag & 0x0ff : ternary @name(\"tag\");\n\
                           h.eth.kind : range; h.eth.isValid() : optional; }\n\
             actions = { paint; @tableonly other; @defaultonly NoAction; }\n\
             const default_action = paint(Color.blue, true, 0x123);\n\
             size = 99; support_timeout = true;\n\
             implementation = action_selector(HashAlgorithm.crc16, 32w64, 32w8); }",
        "t.apply();",
    ).replace("implementation =", "@name(\"shared\") implementation ="));
    let table = &info.tables[0];
    let fields: Vec<(u32, &str, i32, &MatchType)> = table
        .match_fields
        .iter()
        .map(|f| (f.id, f.name.as_str(), f.bitwidth, &f.match_type))
        .collect();
    assert_eq!(
        fields,
        [
            (1, "h.eth.dst", 48, &MatchType::Exact),
            (3, "tag", 16, &MatchType::Ternary),
            (4, "h.eth.kind", 16, &MatchType::Range),
            (5, "h.eth.$valid$", 1, &MatchType::Optional),
        ]
    );
    let scopes: Vec<Scope> = table.action_refs.iter().map(|a| a.scope).collect();
    assert_eq!(
        scopes,
        [Scope::TableAndDefault, Scope::TableOnly, Scope::DefaultOnly]
    );
    let paint = id(0x01, "I.paint");
    assert_eq!(table.const_default_action_id, Some(paint));
    assert_eq!(
        table.initial_default_action.arguments,
        [(1, vec![2]), (2, vec![1]), (3, vec![0x01, 0x23])]
    );
    assert_eq!((table.size, table.notifies_timeouts), (99, true));
    let profile = &info.action_profiles[0];
    assert_eq!(profile.preamble.name, "shared");
    assert_eq!(table.implementation_id, Some(id(0x11, "shared")));
    assert_eq!(profile.table_ids, [table.preamble.id]);
    assert!(profile.with_selector && profile.size == 64);
}

#[test]
fn direct_resources_digests_and_controller_headers() {
    let info = info(&program(
        "struct seen_t { bit<48> src; bit<9> port; }\n\
         @controller_header(\"packet_in\") header in_t { bit<9> port; @name(\"why\") bit<7> reason; }",
        "direct_counter(CounterType.packets_and_bytes) hits;\n\
         direct_meter<bit<2>>(MeterType.bytes) rate;\n\
         action learn() { hits.count(); digest<seen_t>(1, { h.eth.src, s.ingress_port }); }\n\
         table t { key = { h.eth.src : exact; } actions = { learn; }\n\
             counters = hits; meters = rate; }",
        "t.apply();",
    ));
    let table = &info.tables[0];
    assert_eq!(
        table.direct_resource_ids,
        [id(0x13, "I.hits"), id(0x15, "I.rate")]
    );
    assert_eq!(info.direct_counters[0].unit, Unit::Both);
    assert_eq!(info.direct_counters[0].direct_table_id, table.preamble.id);
    assert_eq!(info.direct_meters[0].unit, Unit::Bytes);
    assert_eq!(info.digests[0].preamble.id, id(0x17, "seen_t"));
    assert_eq!(info.digests[0].type_spec, DataType::Struct("seen_t".into()));
    let header = &info.controller_packet_metadata[0];
    assert_eq!(header.preamble.id, id(0x04, "in_t"));
    assert_eq!(header.preamble.name, "packet_in");
    let fields: Vec<(&str, i32)> = header
        .metadata
        .iter()
        .map(|f| (f.name.as_str(), f.bitwidth))
        .collect();
    assert_eq!(fields, [("port", 9), ("why", 7)]);
}

#[test]
fn types_are_described_where_they_are_used() {
    let info = info(&program(
        "@p4runtime_translation(\"lab/port\", 32) type bit<9> port_t;\n\
         @p4runtime_translation(\"lab/name\", string) type bit<9> name_t;\n\
         type bit<8> plain_t;\n\
         enum bit<16> Kind { ip = 0x800 }\nenum Mood { good, bad }\n\
         header tag_t { bit<3> a; int<5> b; varbit<16> c; }\n\
         struct inner_t { bool flag; error why; }\n\
         struct all_t { tag_t[2] tags; inner_t inner; tuple<bit<1>, bool> pair; Kind kind; }",
        "action a(port_t p, name_t n, plain_t q, Mood mood) { }\n\
         register<all_t>(2) r;\n\
         table t { key = { (port_t) s.ingress_port : exact @name(\"port\"); } actions = { a; } }",
        "t.apply();",
    ));
    let action = info.actions.iter().find(|a| a.preamble.alias == "a");
    let params: Vec<(i32, Option<&str>)> = action
        .expect("the action")
        .params
        .iter()
        .map(|p| (p.bitwidth, p.type_name.as_deref()))
        .collect();
    assert_eq!(
        params,
        [
            (32, Some("port_t")),
            (0, Some("name_t")),
            (8, Some("plain_t")),
            (0, Some("Mood")),
        ]
    );
    assert_eq!(info.tables[0].match_fields[0].bitwidth, 32);
    let types = info.type_info.as_ref().expect("types");
    assert_eq!(
        types.new_types["plain_t"].representation,
        Representation::Original(DataType::BitString(BitString::Bit(8)))
    );
    assert_eq!(
        types.new_types["name_t"].representation,
        Representation::Translated {
            uri: "lab/name".into(),
            bitwidth: None
        }
    );
    assert_eq!(
        types.structs["all_t"],
        [
            ("tags".to_string(), DataType::HeaderStack("tag_t".into(), 2)),
            ("inner".to_string(), DataType::Struct("inner_t".into())),
            (
                "pair".to_string(),
                DataType::Tuple(vec![DataType::BitString(BitString::Bit(1)), DataType::Bool])
            ),
            (
                "kind".to_string(),
                DataType::SerializableEnum("Kind".into())
            ),
        ]
    );
    assert_eq!(types.structs["inner_t"][1].1, DataType::Error);
    assert_eq!(types.errors.as_ref().expect("errors")[0], "NoError");
    assert_eq!(
        types.headers["tag_t"],
        [
            ("a".to_string(), BitString::Bit(3)),
            ("b".to_string(), BitString::Int(5)),
            ("c".to_string(), BitString::Varbit(16)),
        ]
    );
    assert_eq!(
        types.serializable_enums["Kind"].members,
        [("ip".to_string(), vec![8, 0])]
    );
    assert_eq!(types.enums["Mood"], ["good", "bad"]);
}

#[test]
fn annotations_are_repeated_or_have_fields_of_their_own() {
    let info = info(&program(
        "",
        "@brief(\"Sets it.\") @description(\"All of it.\") @mine(1 , \"two\")\n\
         @sorted[1, \"x\", true] @pairs[a = 2, b = \"y\"]\n\
         action a(@brief(\"How many\") bit<8> n) { }\n\
         @hidden action b() { }\n\
         table t { key = { h.eth.dst : exact @format(MAC); } actions = { @likes(it) a; b; } }",
        "t.apply();",
    ));
    let action = info.actions.iter().find(|a| a.preamble.alias == "a");
    let action = action.expect("the action");
    let notes = &action.preamble.notes;
    assert_eq!(notes.annotations, ["@mine(1 , \"two\")"]);
    assert_eq!(
        notes.doc,
        Some(Documentation {
            brief: "Sets it.".into(),
            description: "All of it.".into()
        })
    );
    assert_eq!(
        notes.structured[0].body,
        AnnotationValue::List(vec![
            Literal::Int(1),
            Literal::Text("x".into()),
            Literal::Bool(true)
        ])
    );
    assert_eq!(
        notes.structured[1].body,
        AnnotationValue::Pairs(vec![
            ("a".into(), Literal::Int(2)),
            ("b".into(), Literal::Text("y".into()))
        ])
    );
    let doc = action.params[0].notes.doc.as_ref();
    assert_eq!(doc.expect("a doc").brief, "How many");
    assert!(info.actions.iter().all(|a| a.preamble.alias != "b"));
    let table = &info.tables[0];
    assert_eq!(table.match_fields[0].notes.annotations, ["@format(MAC)"]);
    assert_eq!(table.action_refs[0].notes.annotations, ["@likes(it)"]);
}

#[test]
fn the_package_says_what_it_is() {
    let text = program("", "", "").replace(
        "V1Switch(P()",
        "@pkginfo(name=\"lab\", version=\"2\") @brief(\"A lab.\")\n\
         @platform_property(multicast_group_table_size = 10) V1Switch(P()",
    );
    let info = info(&text).pkg_info.expect("a package");
    assert_eq!(
        (&*info.name, &*info.version, &*info.arch),
        ("lab", "2", "v1model")
    );
    assert_eq!(info.notes.doc.expect("a doc").brief, "A lab.");
    let platform = info.platform_properties.expect("properties");
    assert_eq!(platform.multicast_group_table_size, 10);
}

#[test]
fn what_p4info_cannot_say_is_an_error_at_its_place() {
    let errors = |top: &str, locals: &str, apply: &str| {
        compile(&program(top, locals, apply)).expect_err("errors")
    };
    let table = |actions: &str| {
        format!("table t {{ key = {{ h.eth.dst : exact; }} actions = {{ {actions} }} }}")
    };
    let one = |code, place: &str| vec![(code, place.to_string())];
    assert_eq!(
        errors(
            "",
            &format!(
                "@id(5) action a() {{ }} @id(5) action b() {{ }} {}",
                table("a; b;")
            ),
            "t.apply();"
        ),
        one("E0701", "@id(5)")
    );
    assert_eq!(
        errors(
            "",
            &format!("@id(0x03000001) action a() {{ }} {}", table("a;")),
            "t.apply();"
        ),
        one("E0702", "@id(0x03000001)")
    );
    assert_eq!(
        errors(
            "",
            &format!("action a(@id(0) bit<8> x) {{ }} {}", table("a;")),
            "t.apply();"
        ),
        one("E0702", "x")
    );
    assert_eq!(
        errors(
            "enum Mood { good, bad }",
            "Mood mood; table t { key = { mood : exact; } actions = { NoAction; } }",
            "mood = Mood.bad; t.apply();"
        ),
        one("E0703", "mood")
    );
    assert_eq!(
        errors(
            "",
            "@name(\".r\") register<bit<8>>(1) r; @name(\".r\") register<bit<8>>(1) q;",
            ""
        ),
        one("E0704", "q")
    );
    assert_eq!(
        errors(
            "",
            &table("NoAction;")
                .replace("actions", "implementation = action_profile(32w8); actions"),
            "t.apply();"
        )[0]
        .0,
        "E0705"
    );
    assert_eq!(
        errors(
            "",
            &format!("@n[0x8000000000000000] {}", table("NoAction;")),
            "t.apply();"
        ),
        one("E0706", "0x8000000000000000")
    );
    assert_eq!(
        errors(
            "",
            &table("@tableonly @defaultonly NoAction;"),
            "t.apply();"
        )[0]
        .0,
        "E0710"
    );
}

#[test]
fn text_and_json_follow_protobuf() {
    let info = info(&program(
        "enum bit<8> Odd { quote = 34, high = 200 }",
        "action a(Odd o) { }\n\
         @say(\"a \\\"b\\\"\") table t { key = { h.eth.dst : exact; } actions = { a; NoAction; } }",
        "t.apply();",
    ));
    let text = info.text();
    assert!(text.starts_with(
        "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n"
    ));
    assert!(
        text.contains("    annotations: \"@say(\\\"a \\\"b\\\"\\\")\"\n"),
        "{text}"
    );
    assert!(text.contains("value: \"\\\"\"\n"), "{text}");
    assert!(text.contains("value: \"\\310\"\n"), "{text}");
    assert!(text.contains("      match_type: EXACT\n") || text.contains("    match_type: EXACT\n"));
    let json = info.json();
    assert!(json.contains("\"size\": \"1024\""), "{json}");
    assert!(json.contains("\"matchType\": \"EXACT\""), "{json}");
    // The byte 200 in base64
    assert!(json.contains("\"value\": \"yA==\""), "{json}");
}
