//! The one form of updates in JSON, as `p4lab.model.entries_json` writes it: each kind of entity and of
//! match is read and does in a switch what it says. If this fails, a page shows another network than
//! the one whose control plane wrote its entries.

use p4_wasm::{ask, Editor};
use serde_json::{json, Value};

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<80> wide; bit<8> exact; bit<8> ternary; bit<8> range; bit<8> optional; bit<8> lpm; }
struct headers_t { h_t h; }
struct meta_t { bit<8> cell; }
parser Read(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.h); transition accept; }
}
control Forward(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<8>>(4) cells;
    action to(bit<9> port, bit<80> wide) { sm.egress_spec = port; hdr.h.wide = wide; }
    action copies(bit<16> group) { sm.mcast_grp = group; }
    table rows {
        key = { hdr.h.exact: exact; hdr.h.ternary: ternary; hdr.h.range: range;
                hdr.h.optional: optional; }
        actions = { to; copies; NoAction; }
        default_action = NoAction();
    }
    table prefixes { key = { hdr.h.lpm: lpm; } actions = { to; NoAction; } }
    apply {
        cells.read(meta.cell, 1);
        rows.apply();
        prefixes.apply();
        hdr.h.exact = meta.cell;
    }
}
control Leave(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control Sums(inout headers_t hdr, inout meta_t meta) { apply { } }
control Write(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(Read(), Sums(), Forward(), Leave(), Sums(), Write()) main;
"#;

const WIDE: &str = "604462909807314587353087"; // 2 to the power of 79, less 1

/// Ports and bytes of what a switch with these updates makes of a packet with these fields; or what it
/// says of them.
fn sent(updates: &[Value], fields: [u8; 5]) -> Result<Vec<(u64, String)>, String> {
    let mut frame = "00".repeat(10);
    frame.extend(fields.iter().map(|field| format!("{field:02x}")));
    let question = json!({
        "ask": "network",
        "program": { "main": "main.p4", "files": { "main.p4": PROGRAM } },
        "switches": [{ "name": "s1", "seed": 1, "cpu_port": null, "entries": updates }],
        "hosts": [{ "name": "h1", "mac": "020000000001" }],
        "links": [{ "a": ["s1", 1], "b": ["h1", 0], "rate": null, "delay": 1 }],
        "frames": [{ "host": "h1", "time": 1, "data": frame }],
        "until": 1000,
    });
    let answer = ask(&mut Editor::default(), question.to_string().as_bytes());
    if let Some(error) = answer["error"].as_str() {
        return Err(error.to_string());
    }
    let packets = answer["answer"][0]["packets"].as_array().cloned();
    let fates = packets.unwrap_or_default();
    let fates = fates.iter().map(|packet| &packet["fate"]);
    let sent = fates.filter(|fate| fate["kind"] == "sent");
    Ok(sent
        .map(|fate| {
            let data = fate["data"].as_str().unwrap_or_default();
            (fate["port"].as_u64().unwrap_or(0), data.to_string())
        })
        .collect())
}

fn row(matches: Value, action: &str, params: Value) -> Value {
    json!({ "insert": { "table_entry": {
        "table": "rows", "match": matches, "action": action, "params": params, "priority": 7,
    } } })
}

#[test]
fn each_match_and_each_entity_does_what_it_says() {
    let any = json!({ "dont_care": [] });
    let all = json!({
        "exact": { "exact": 1 }, "ternary": { "ternary": [2, 3] }, "range": { "range": [3, 5] },
        "optional": { "optional": 4 },
    });
    let open = json!({ "exact": { "exact": 2 }, "ternary": any, "range": any, "optional": any });
    let prefix = json!({ "insert": { "table_entry": {
        "table": "prefixes", "match": { "lpm": { "lpm": [240, 4] } }, "action": "to",
        "params": { "port": 8, "wide": 0 }, "priority": 0,
    } } });
    let updates = [
        row(all, "to", json!({ "port": 5, "wide": WIDE })),
        row(open, "copies", json!({ "group": 9 })),
        prefix,
        json!({ "insert": { "multicast_group": { "group_id": 9, "replicas": [[6, 1], [7, 2]] } } }),
        json!({ "modify": { "register_cell": { "register": "cells", "index": 1, "value": 77 } } }),
        json!({ "insert": { "default_action": {
            "table": "rows", "action": "to", "params": { "port": 3, "wide": 0 },
        } } }),
    ];
    let ones = "7fffffffffffffffffff";
    let hit = sent(&updates, [1, 0xfe, 4, 4, 0]).unwrap();
    assert_eq!(hit, [(5, format!("{ones}4dfe040400"))]);
    let ports = |fields| {
        let sent = sent(&updates, fields).unwrap();
        sent.iter().map(|(port, _)| *port).collect::<Vec<_>>()
    };
    assert_eq!(ports([2, 0, 0, 0, 0]), [6, 7]);
    assert_eq!(ports([1, 0xfe, 6, 4, 0]), [3]);
    assert_eq!(ports([1, 0xfe, 4, 4, 0xf1]), [8]);
    // A default that is deleted is the program's again, which lets packets go to port 0.
    let gone = json!({ "delete": { "default_action": {
        "table": "rows", "action": "to", "params": {},
    } } });
    let again: Vec<Value> = updates.iter().cloned().chain([gone]).collect();
    assert_eq!(sent(&again, [9, 0, 0, 0, 0]).unwrap()[0].0, 0);
}

#[test]
fn what_is_no_update_is_refused_by_its_number() {
    let good = row(json!({ "exact": { "exact": 1 } }), "NoAction", json!({}));
    for (bad, part) in [
        (
            json!(["insert", "entry", "rows", [], 0, "to", []]),
            "update 2",
        ),
        (json!({ "invent": { "multicast_group": {} } }), "`invent`"),
        (
            json!({ "insert": { "multicast_group": { "group_id": 1 } } }),
            "`replicas`",
        ),
        (
            row(json!({ "exact": { "about": 1 } }), "NoAction", json!({})),
            "`about`",
        ),
        (
            row(json!({ "exact": { "exact": -1 } }), "NoAction", json!({})),
            "-1",
        ),
        (
            json!({ "insert": { "clone_session": {
                "session_id": 1, "replicas": [[1, 0], [2, 0]], "truncate": 0,
            } } }),
            "one port",
        ),
    ] {
        let error = sent(&[good.clone(), bad], [0; 5]).unwrap_err();
        assert!(
            error.contains("update 2") && error.contains(part),
            "{error}"
        );
    }
}
