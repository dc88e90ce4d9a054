//! Completion at the mark `$0`.

use super::*;

fn labels(marked: &str) -> Vec<String> {
    let answer = Editor::new(&[]).ask_at_mark("textDocument/completion", marked);
    labels_of(&answer)
}

fn labels_of(answer: &Value) -> Vec<String> {
    let items = answer["items"].as_array().expect("items");
    let label = |item: &Value| item["label"].as_str().expect("a label").to_string();
    items.iter().map(label).collect()
}

/// What is offered in the `apply` of the router, exactly.
#[track_caller]
fn offers(body: &str, expected: &[&str]) {
    assert_eq!(labels(&router(body)), expected, "{body}");
}

/// What is offered contains some names and lacks others.
#[track_caller]
fn among(marked: &str, present: &[&str], absent: &[&str]) {
    let found = labels(marked);
    for name in present {
        assert!(
            found.iter().any(|label| label == name),
            "{name} of {found:?}"
        );
    }
    for name in absent {
        assert!(
            !found.iter().any(|label| label == name),
            "no {name} in {found:?}"
        );
    }
}

const SIZES: [&str; 4] = [
    "minSizeInBits",
    "minSizeInBytes",
    "maxSizeInBits",
    "maxSizeInBytes",
];

fn with_sizes(names: &[&'static str]) -> Vec<&'static str> {
    names.iter().copied().chain(SIZES).collect()
}

#[test]
fn behind_the_dot() {
    offers("hdr.$0", &with_sizes(&["eth", "labels", "any", "opt"]));
    offers("meta.$0;", &with_sizes(&["hops", "why"]));
    offers("meta.ho$0;", &with_sizes(&["hops", "why"]));
    offers(
        "x = meta . $0\n meta.hops = 1;",
        &with_sizes(&["hops", "why"]),
    );
    let header = with_sizes(&["dst", "src", "kind", "isValid", "setValid", "setInvalid"]);
    offers("hdr.eth.$0", &header);
    offers("if (hdr.eth.$0) {", &header);
    offers("if (hdr.eth.isValid() && hdr.eth.$0", &header);
    offers("f(1, {hdr.eth.$0", &header);
    offers(
        "hdr.labels.$0",
        &[
            "next",
            "last",
            "lastIndex",
            "size",
            "push_front",
            "pop_front",
        ],
    );
    let label = with_sizes(&["value", "rest", "isValid", "setValid", "setInvalid"]);
    offers("hdr.labels[count + (1)].$0", &label);
    offers("hdr.any.label.$0", &label);
    offers("hdr.any.$0", &with_sizes(&["eth", "label", "isValid"]));
    offers("route.$0", &["apply"]);
    offers("if (route.apply().$0", &["hit", "miss", "action_run"]);
    offers("seen.$0", &["read", "write"]);
    offers("meta.why = reason_t.$0", &["NONE", "BAD"]);
    offers("color_t c = color_t.$0", &["RED", "GREEN"]);
    offers("hdr.eth.dst.$0", &[]);
    offers("nothing.$0", &[]);
    offers("1.$0", &[]);
    offers("// hdr.$0", &[]);
    offers("log_msg(\"hdr.$0", &[]);
    let in_parser = ROUTER.replace("packet.extract(hdr.eth);", "packet.extract(hdr.eth.$0");
    assert_eq!(labels(&in_parser), header);
    let looked = ROUTER.replace("packet.extract(hdr.eth);", "packet.lookahead<label_t>().$0");
    assert_eq!(labels(&looked), label);
    let packet = ROUTER.replace("packet.extract(hdr.eth);", "packet.$0");
    assert_eq!(
        labels(&packet),
        ["extract", "lookahead", "advance", "length"]
    );
    among(
        &router("standard_metadata.parser_error = error.$0"),
        &["NoError", "PacketTooShort"],
        &["RED"],
    );
    among(
        &router("standard_metadata.$0"),
        &["ingress_port", "egress_spec", "mcast_grp"],
        &[],
    );
}

#[test]
fn items_tell_type_and_meaning() {
    let answer = Editor::new(&[]).ask_at_mark("textDocument/completion", &router("hdr.eth.$0"));
    assert_eq!(
        answer["items"][0],
        json!({ "label": "dst", "kind": 5, "detail": "mac_t dst".split(' ').next().map(|_| "bit<48>"), "documentation": "where to" })
    );
    let answer = Editor::new(&[]).ask_at_mark("textDocument/completion", &router("$0"));
    let items = answer["items"].as_array().expect("items");
    let forward = items
        .iter()
        .find(|item| item["label"] == "lose")
        .expect("an action");
    assert_eq!(forward["detail"], "action lose()");
}

#[test]
fn names_in_statements_and_expressions() {
    let statement = &[
        "hdr",
        "meta",
        "count",
        "seen",
        "forward",
        "route",
        "mark_to_drop",
        "if",
        "bit",
        "eth_t",
    ];
    among(
        &router("$0"),
        statement,
        &["transition", "port", "state", "P_typo"],
    );
    among(&router("cou$0"), statement, &[]);
    among(
        &router("if (count > $0"),
        &["hdr", "count", "KIND_IP", "true"],
        &["transition", "if"],
    );
    among(
        &router("{ bit<8> inner = 1; $0 }"),
        &["inner", "count"],
        &[],
    );
    among(&router("{ bit<8> inner = 1; } $0"), &["count"], &["inner"]);
    among(&router("$0 bit<8> later = 1;"), &["count"], &["later"]);
    let action = ROUTER.replace("hdr.eth.dst = next;", "hdr.eth.dst = $0;");
    among(&action, &["port", "next", "hdr"], &["count"]);
    let state = ROUTER.replace("transition accept;", "$0");
    among(&state, &["transition", "packet", "hdr"], &["route", "lose"]);
}

#[test]
fn states_tables_and_keys() {
    let state = ROUTER.replace("transition accept;", "transition $0");
    assert_eq!(
        labels(&state),
        ["start", "parse_label", "accept", "reject", "select"]
    );
    let case = ROUTER.replace("default: accept;", "default: $0");
    assert_eq!(labels(&case), ["start", "parse_label", "accept", "reject"]);
    let keyset = ROUTER.replace("default: accept;", "$0");
    among(&keyset, &["KIND_IP"], &[]);
    let kind = ROUTER.replace("hdr.eth.dst: exact;", "hdr.eth.dst: $0");
    assert_eq!(
        labels(&kind),
        ["exact", "ternary", "lpm", "range", "optional", "selector"]
    );
    let key = ROUTER.replace("hdr.eth.dst: exact;", "hdr.eth.$0");
    among(&key, &["dst"], &[]);
    let actions = ROUTER.replace("forward; lose; }", "forward; $0 }");
    among(
        &actions,
        &["forward", "lose", "NoAction"],
        &["hdr", "route", "mark_to_drop"],
    );
    let default = ROUTER.replace("default_action = lose();", "default_action = $0;");
    assert_eq!(labels(&default), ["forward", "lose", "default"]);
    let property = ROUTER.replace("size = 64;", "$0");
    among(
        &property,
        &["key", "actions", "default_action", "size", "entries"],
        &["hdr"],
    );
    offers(
        "switch (route.apply().action_run) { $0 }",
        &["forward", "lose", "default"],
    );
}

#[test]
fn declarations_and_types() {
    among(
        "#include <core.p4>\n$0",
        &[
            "header",
            "parser",
            "control",
            "struct",
            "const",
            "packet_in",
        ],
        &["if"],
    );
    let local = ROUTER.replace("register<bit<32>>(16) seen;", "$0");
    among(
        &local,
        &["action", "table", "apply", "register", "bit", "label_t"],
        &["state", "header"],
    );
    let item = ROUTER.replace("// One label of the stack.", "$0");
    among(&item, &["state", "value_set", "bit"], &["table"]);
    among(
        &ROUTER.replace("bit<8> hops;", "$0"),
        &["mac_t", "bit", "reason_t"],
        &["if", "hdr"],
    );
    let param = ROUTER.replace(
        "forward(bit<9> port, mac_t next)",
        "forward(bit<9> port, $0)",
    );
    among(&param, &["in", "inout", "out", "mac_t", "bit"], &["hdr"]);
    among(&router("seen.read($0"), &["count", "hdr"], &["inout"]);
    among("@$0", &["name", "field_list"], &["hdr"]);
    among("#inc$0", &["include", "ifdef"], &["hdr"]);
    offers("bit<8> $0", &[]);
}

#[test]
fn files_to_include() {
    let mut editor = Editor::new(&[("/w/x.p4", ""), ("/w/sub/y.p4", "")]);
    let answer = editor.ask_at_mark("textDocument/completion", "#include \"sub/$0");
    assert_eq!(labels_of(&answer), ["sub/y.p4", "x.p4"]);
    let range =
        json!({ "start": { "line": 0, "character": 10 }, "end": { "line": 0, "character": 14 } });
    assert_eq!(
        answer["items"][0]["textEdit"],
        json!({ "range": range, "newText": "sub/y.p4" })
    );
    let answer = editor.ask_at_mark("textDocument/completion", "#include <$0");
    assert_eq!(labels_of(&answer)[..2], ["core.p4", "v1model.p4"]);
}

#[test]
fn included_files_know_what_was_declared_before_them() {
    let mut editor = bier_editor();
    let text = source("p4/bier/bier.p4").replace("encap.apply();", "encap.apply(); NoAct$0");
    let (text, position) = unmark(&text);
    editor.open("/w/p4/bier/bier.p4", &text);
    let answer = editor.at("textDocument/completion", "/w/p4/bier/bier.p4", position);
    let found = labels_of(&answer);
    for name in [
        "NoAction",
        "hdr",
        "carried",
        "encap",
        "ETHERTYPE_BIER",
        "mark_to_drop",
    ] {
        assert!(found.iter().any(|label| label == name), "{name}");
    }
}

#[test]
fn a_broken_declaration_does_not_hide_what_was_known() {
    let mut editor = Editor::new(&[]);
    editor.open("/w/a.p4", &router(""));
    let broken = ROUTER
        .replace("control I(", "control I(((")
        .replace("BODY", "hdr.eth.$0");
    let (text, position) = unmark(&broken);
    editor.change("/w/a.p4", &text);
    let answer = editor.at("textDocument/completion", "/w/a.p4", position);
    assert!(labels_of(&answer).contains(&"dst".to_string()));
}
