//! Hover and definitions at the mark `$0`.

use super::*;

fn hover(marked: &str) -> String {
    let answer = Editor::new(&[]).ask_at_mark("textDocument/hover", marked);
    answer["contents"]["value"]
        .as_str()
        .unwrap_or_default()
        .to_string()
}

#[track_caller]
fn tells(marked: &str, parts: &[&str]) {
    let text = hover(marked);
    for part in parts {
        assert!(text.contains(part), "{part:?} in {text:?}");
    }
}

/// The definition of what is at the mark is `expected`, in the same file.
#[track_caller]
fn leads_to(marked: &str, expected: &str) {
    let (text, _) = unmark(marked);
    let answer = Editor::new(&[]).ask_at_mark("textDocument/definition", marked);
    assert_eq!(answer["uri"], "file:///w/a.p4", "{answer}");
    let line = answer["range"]["start"]["line"].as_u64().expect("a line") as usize;
    let shown = text.lines().nth(line).expect("the line").trim();
    assert!(shown.starts_with(expected), "{shown}");
}

#[test]
fn hover_tells_types_and_widths() {
    let field = router("hdr.eth.ki$0nd = 1;");
    tells(
        &field,
        &[
            "```p4\nbit<16> kind\n```",
            "Field of `eth_t`: 16 bits (2 bytes), bits 96 to 111.",
        ],
    );
    tells(
        &router("hdr.eth.d$0st = 1;"),
        &["mac_t dst", "`mac_t` is `bit<48>`", "where to"],
    );
    tells(
        &router("hdr.e$0th.setValid();"),
        &[
            "eth_t eth",
            "Field of `headers`",
            "header of at most 112 bits (14 bytes)",
        ],
    );
    tells(&router("$0hdr.eth.setValid();"), &["inout headers hdr"]);
    tells(
        &router("count$0 = 1;"),
        &["bit<8> count = 1", "Width: 8 bits."],
    );
    tells(
        &router("hdr.eth.kind = KIND_$0IP;"),
        &["const bit<16> KIND_IP = 0x0800;", "2048 = 0x800"],
    );
    tells(
        &router("meta.why = reason_t.B$0AD;"),
        &["reason_t.BAD", "0x5"],
    );
    tells(
        &router("hdr.eth.kind = 0x$0800;"),
        &["bit<16> 2048 = 0x800"],
    );
    tells(
        &router("hdr.opt.data = hdr.opt.d$0ata;"),
        &["varbit<64> data", "At most 64 bits."],
    );
    tells(
        &router("hdr.eth.isV$0alid();"),
        &["isValid", "Whether the header is valid"],
    );
    tells(&router("route.ap$0ply();"), &["Looks the key up"]);
    tells(
        &router("ro$0ute.apply();"),
        &[
            "table route {",
            "    key = {",
            "actions = { forward; lose; }",
        ],
    );
    tells(&router("lo$0se();"), &["action lose()"]);
    tells(&router("seen.re$0ad(x, 0);"), &["void read("]);
    tells(
        &router("mark_to_$0drop(standard_metadata);"),
        &["extern void mark_to_drop("],
    );
    tells(&router("count = LIM$0IT;"), &["#define LIMIT 7"]);
    tells(
        &router("standard_metadata.egress_$0spec = 1;"),
        &["bit<9> egress_spec", "where ingress sends it"],
    );
    tells(
        &ROUTER.replace("header eth_t", "header et$0h_t"),
        &[
            "header eth_t {",
            "Width: 112 bits (14 bytes).",
            "An Ethernet header",
        ],
    );
    tells(
        &ROUTER.replace("label_t[3]", "la$0bel_t[3]"),
        &["header label_t"],
    );
    tells(
        &ROUTER.replace("KIND_IP: parse_label", "KIND_IP: parse_$0label"),
        &["state parse_label", "One label of the stack."],
    );
    tells(
        &ROUTER.replace("default: accept", "default: acc$0ept"),
        &["accept"],
    );
    tells(
        &ROUTER.replace("hops: ternary", "hops: ter$0nary"),
        &["ternary"],
    );
    tells(
        &ROUTER.replace("{ forward;", "{ forw$0ard;"),
        &[
            "action forward(bit<9> port, mac_t next)",
            "Sends the packet away.",
        ],
    );
    for nothing in ["// hd$0r", "$0", "1 +$0 1;"] {
        assert_eq!(hover(&router(nothing)), "", "{nothing}");
    }
}

#[test]
fn definitions() {
    leads_to(&router("hdr.eth.ki$0nd = 1;"), "bit<16> kind;");
    leads_to(
        &router("hd$0r.eth.kind = 1;"),
        "control I(inout headers hdr",
    );
    leads_to(
        &router("hdr$0.eth.kind = 1;"),
        "control I(inout headers hdr",
    );
    leads_to(&router("hdr.la$0bels.pop_front(1);"), "struct headers");
    leads_to(&router("hdr.labels[0].va$0lue = 1;"), "header label_t");
    leads_to(&router("count$0 = 1;"), "bit<8> count = 1;");
    leads_to(&router("ro$0ute.apply();"), "table route {");
    leads_to(
        &router("se$0en.write(0, 1);"),
        "register<bit<32>>(16) seen;",
    );
    leads_to(
        &router("meta.why = reason_t.B$0AD;"),
        "enum bit<8> reason_t",
    );
    leads_to(
        &router("meta.why = rea$0son_t.BAD;"),
        "enum bit<8> reason_t",
    );
    leads_to(&router("count = LIM$0IT;"), "#define LIMIT 7");
    leads_to(
        &router("switch (route.apply().action_run) { lo$0se: {} }"),
        "action lose()",
    );
    leads_to(
        &ROUTER.replace("{ forward;", "{ forw$0ard;"),
        "action forward(",
    );
    leads_to(
        &ROUTER.replace("KIND_IP: parse_label", "KIND_IP: parse_$0label"),
        "state parse_label {",
    );
    leads_to(&ROUTER.replace("P(), V()", "$0P(), V()"), "parser P(");
    leads_to(
        &ROUTER.replace("mac_t   dst", "ma$0c_t   dst"),
        "typedef bit<48> mac_t;",
    );
    leads_to(
        &ROUTER.replace("const bool ON", "const bool O$0N"),
        "/* \u{1F600} */ const bool ON",
    );
}

#[test]
fn columns_count_utf16_units() {
    let marked = ROUTER.replace(
        "const bool ON = true;",
        "const bool ON = true; const bool OFF = !O$0N;",
    );
    let (text, _) = unmark(&marked);
    let answer = Editor::new(&[]).ask_at_mark("textDocument/definition", &marked);
    assert_eq!(pointed(&text, &answer["range"]), "ON");
    assert_eq!(
        answer["range"]["start"]["character"],
        "/* xx */ const bool ".len()
    );
}

#[test]
fn definitions_in_other_files() {
    let mut editor = bier_editor();
    let at = |name: &str| {
        let marked = source("p4/bier/v1model.p4").replacen(
            name,
            &format!("{}$0{}", &name[..1], &name[1..]),
            1,
        );
        unmark(&marked)
    };
    for (name, path, found) in [
        ("ingress_port);", "/cache/v1model.p4", "ingress_port"),
        ("packet_in packet", "/cache/core.p4", "packet_in"),
        ("mark_to_drop", "/cache/v1model.p4", "mark_to_drop"),
        ("PacketParser() ", "/w/p4/include/parser.p4", "PacketParser"),
        ("carried_t  carried", "/w/p4/bier/bier.p4", "carried_t"),
        ("hdr_checksum", "/w/p4/include/headers.p4", "hdr_checksum"),
        ("bier.p4\"\n\nconst", "/w/p4/bier/bier.p4", ""),
        ("core.p4>", "/cache/core.p4", ""),
    ] {
        let (text, position) = at(name);
        editor.open("/w/p4/bier/v1model.p4", &text);
        let answer = editor.at("textDocument/definition", "/w/p4/bier/v1model.p4", position);
        assert_eq!(answer["uri"], uri(path), "{name}");
        let text = match path.strip_prefix("/cache/") {
            Some(name) => source(&format!("crates/p4-syntax/include/{name}")),
            None => source(&format!("p4/{}", &path["/w/p4/".len()..])),
        };
        assert_eq!(pointed(&text, &answer["range"]), found);
    }
}

#[test]
fn symbols_are_a_tree() {
    let mut editor = Editor::new(&[]);
    editor.open("/w/a.p4", &router(""));
    let document = json!({ "textDocument": { "uri": "file:///w/a.p4" } });
    let answer = editor.ask("textDocument/documentSymbol", document);
    let names = |list: &Value| -> Vec<String> {
        let all = list.as_array().cloned().unwrap_or_default();
        all.iter()
            .map(|s| s["name"].as_str().unwrap_or_default().to_string())
            .collect()
    };
    let top = names(&answer);
    assert_eq!(
        top.first().map(String::as_str),
        Some("mac_t"),
        "none of an included file"
    );
    assert_eq!(top.last().map(String::as_str), Some("main"));
    let child = |name: &str| {
        let all = answer.as_array().expect("a list");
        names(&all.iter().find(|s| s["name"] == name).expect(name)["children"])
    };
    assert_eq!(child("eth_t"), ["dst", "src", "kind"]);
    assert_eq!(child("P"), ["start", "parse_label"]);
    assert_eq!(child("I"), ["seen", "forward", "lose", "route"]);
    assert_eq!(child("reason_t"), ["NONE", "BAD"]);
}
