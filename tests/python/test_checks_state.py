"""Networks of programs that remember: without these, a right program with a register would be
blamed for what its reference forgot, or the wrong router would be.

The lab counts packets in a register and writes the number into each that it forwards. Both streams
take r1, r2 and r3; their receiver h3 joins a group, and r3 counts that frame, too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from p4lab.course.home import ENVIRONMENT
from p4lab.grading.course import Course, load
from p4lab.grading.judge import judge
from p4lab.grading.record import CheckResult

LAB = """
[lab]
name = "91-count"
title = "Count"

[student]
program = "count/count.p4"
edit = ["count/count.p4"]
files = []

[run]
program = "p4/count/count.p4"
system = "count"
topology = "ring"
packets = 10
interval = "1 ms"

[[run.stream]]
source = 1
to = 3

[[run.stream]]
source = 1
group = "239.1.1.1"

[[part]]
id = "count"
title = "Count"

[[check]]
id = "network"
part = "count"
title = "Every router counts"
scenario = "network.toml"
points = 1
"""

SCENARIO = """
say = "Packets go through three routers."
[network]
topology = "ring"
"""

SYSTEM = """
from dataclasses import replace

from p4lab.control.igp import underlay
from p4lab.control.plane import EntryPlane
from p4lab.model.entries import Exact, TableEntry
from p4lab.model.system import System
from p4lab.packets.ip import multicast_mac


class Plane(EntryPlane):
    def __init__(self, plan, drivers):
        self.plan = plan
        super().__init__(plan.topology, drivers)

    def compute(self):
        found = {router.name: set() for router in self.topology.routers}
        for stream in self.plan.streams:
            (host,) = stream.receivers
            path = underlay(self.topology).path(stream.source.router, host.router)
            group = stream.destination.is_multicast
            mac = multicast_mac(stream.destination) if group else host.mac
            for here, after in zip(path, (*path[1:], host.name)):
                key = (("destination", Exact(int(stream.destination))),)
                params = (("port", self.topology.port(here, after)), ("mac", mac))
                found[here].add(TableEntry("routes", key, "forward", params))
        return {name: frozenset(rows) for name, rows in found.items()}


class Count(System):
    name = "count"

    def draw(self, plan, chance, streams, packets):
        host = plan.topology.hosts[2]
        chosen = (replace(s, receivers=(host,), packets=packets) for s in plan.streams)
        return replace(plan, streams=tuple(chosen))

    def control_plane(self, plan, driver_for_router, layouts=None):
        return Plane(plan, driver_for_router)
"""

PROGRAM = """
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst_addr; bit<48> src_addr; bit<16> ether_type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> diffserv; bit<16> total_len; bit<16> identification;
    bit<16> fragment; bit<8> ttl; bit<8> protocol; bit<16> hdr_checksum;
    bit<32> src_addr; bit<32> dst_addr;
}
struct headers_t { ethernet_t ethernet; ipv4_t ipv4; }
struct metadata_t { }

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t md,
             inout standard_metadata_t std) {
    state start { packet.extract(hdr.ethernet); packet.extract(hdr.ipv4); transition accept; }
}
control Verify(inout headers_t hdr, inout metadata_t md) { apply { } }
control Count(inout headers_t hdr, inout metadata_t md, inout standard_metadata_t std) {
    register<bit<16>>(1) seen;
    bit<16> number;
    action forward(bit<9> port, bit<48> mac) {
        std.egress_spec = port;
        hdr.ethernet.dst_addr = mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        hdr.ipv4.identification = number;
    }
    action drop() { mark_to_drop(std); }
    table routes {
        key = { hdr.ipv4.dst_addr : exact @name("destination"); }
        actions = { forward; drop; }
        default_action = drop();
    }
    apply {
        seen.read(number, 0);
        number = number + 1;
        seen.write(0, number);
        routes.apply();
    }
}
control Rest(inout headers_t hdr, inout metadata_t md, inout standard_metadata_t std) {
    apply { }
}
control Compute(inout headers_t hdr, inout metadata_t md) {
    apply {
        update_checksum(hdr.ipv4.isValid(), {
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len,
            hdr.ipv4.identification, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol,
            hdr.ipv4.src_addr, hdr.ipv4.dst_addr
        }, hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.ipv4); }
}
V1Switch(Parse(), Verify(), Count(), Rest(), Compute(), Deparse()) main;
"""


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    for name, text in {
        "labs/91-count/lab.toml": LAB,
        "labs/91-count/network.toml": SCENARIO,
        "labs/91-count/system.py": SYSTEM,
        "p4/count/count.p4": PROGRAM,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    return load("91-count")


def judged(course: Course, old: str = "", new: str = "") -> CheckResult:
    assert not old or PROGRAM.count(old) == 1
    (found,) = judge(
        course, {"count/count.p4": PROGRAM.replace(old, new) if old else PROGRAM}
    ).checks
    return found


def test_a_right_program_is_right_though_each_packet_leaves_otherwise(course: Course) -> None:
    found = judged(course)
    assert found.status == "passed", found.story


def test_the_router_that_forgets_is_named_at_the_packet_that_shows_it(course: Course) -> None:
    """r3, where the TTL is 62, does not keep its number. Its first packet is right all the same:
    only what comes after it tells. Every packet gets to its receiver, so nothing else is wrong."""
    kept = "seen.write(0, number);"
    found = judged(course, kept, f"if (hdr.ipv4.ttl != 62) {{ {kept} }}")
    assert found.status == "failed" and found.story is not None
    assert found.story.router == "r3"
    assert found.story.signature == "wrong field"
    field, checksum = found.story.differences[0].fields
    assert checksum.field == "ipv4.hdr_checksum"
    # h3's report has the number 1, the first packet of a stream the number 2.
    assert (field.field, field.expected, field.got) == ("ipv4.identification", "3", "2")


def test_a_mistake_at_a_later_router_is_not_blamed_on_the_first(course: Course) -> None:
    right = "hdr.ipv4.ttl = hdr.ipv4.ttl - 1;"
    found = judged(course, right, f"if (hdr.ipv4.ttl != 63) {{ {right} }}")
    assert found.status == "failed" and found.story is not None
    assert found.story.router == "r2"
    assert found.story.signature == "TTL not decremented"


def test_a_run_of_hosts_reads_as_one(course: Course) -> None:
    """The system says nothing of bits, and a stream to one host has no subscribers."""
    story = judged(course, "std.egress_spec = port;", "").story
    assert story is not None
    assert story.steps[:3] == (
        "the network ring starts",
        "h1 sends 2 packets to h3 (10.0.3.1)",
        "h3 subscribes to 239.1.1.1; h1 sends 2 packets",
    )
