"""A small exercise in the form of p4lang/tutorials: a router, two switches, three hosts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROGRAM = """
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }
header ipv4_t {
    bit<8> version_ihl; bit<8> tos; bit<16> length; bit<16> id; bit<16> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst;
}
struct headers_t { ethernet_t ethernet; ipv4_t ipv4; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta,
         inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 { packet.extract(hdr.ipv4); transition accept; }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() { mark_to_drop(standard); }
    action forward(bit<48> next, bit<9> port) {
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = next;
        standard.egress_spec = port;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; drop; NoAction; }
        default_action = NoAction();
    }
    table kinds {
        key = { hdr.ipv4.tos: ternary; hdr.ipv4.length: range; hdr.ipv4.protocol: exact; }
        actions = { drop; NoAction; }
        default_action = NoAction();
    }
    apply {
        if (hdr.ipv4.isValid()) { routes.apply(); kinds.apply(); }
        else { mark_to_drop(standard); }
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}
control Compute(inout headers_t hdr, inout metadata_t meta) { apply { } }
control MyDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.ipv4); }
}
V1Switch(P(), Verify(), MyIngress(), MyEgress(), Compute(), MyDeparser()) main;
"""


def route(address: str, mac: str, port: int) -> dict[str, Any]:
    return {
        "table": "MyIngress.routes",
        "match": {"hdr.ipv4.dst": [address, 32]},
        "action_name": "MyIngress.forward",
        "action_params": {"next": mac, "port": port},
    }


DROP = {
    "table": "MyIngress.routes",
    "default_action": True,
    "action_name": "MyIngress.drop",
    "action_params": {},
}


def write(folder: Path) -> None:
    """Two switches in a row, two hosts at the first and one at the other, which does not know the
    way back to h3."""
    (folder / "little.p4").write_text(PROGRAM)

    def host(number: int, gateway: str) -> dict[str, Any]:
        return {
            "ip": f"10.0.{number}.1/24",
            "mac": f"08:00:00:00:00:0{number}",
            "commands": [
                f"route add default gw 10.0.{number}.254 dev eth0",
                f"arp -i eth0 -s 10.0.{number}.254 {gateway}",
            ],
        }

    topology = {
        "hosts": {f"h{n}": host(n, "08:00:00:00:00:ff") for n in (1, 2, 3)},
        "switches": {
            "s1": {"runtime_json": "s1-runtime.json"},
            "s2": {"runtime_json": "s2-runtime.json", "program": "build/little.json"},
        },
        "links": [["h1", "s1-p1"], ["h3", "s1-p3"], ["s1-p2", "s2-p1", "0", 100], ["h2", "s2-p2"]],
    }
    (folder / "topology.json").write_text(json.dumps(topology))
    tables = {
        "s1": [
            DROP,
            route("10.0.1.1", "08:00:00:00:00:01", 1),
            route("10.0.3.1", "08:00:00:00:00:03", 3),
            route("10.0.2.1", "08:00:00:00:00:ee", 2),
        ],
        "s2": [
            DROP,
            route("10.0.2.1", "08:00:00:00:00:02", 2),
            route("10.0.1.1", "08:00:00:00:00:ee", 1),
        ],
    }
    for name, entries in tables.items():
        runtime = {"target": "bmv2", "table_entries": entries}
        (folder / f"{name}-runtime.json").write_text(json.dumps(runtime))
