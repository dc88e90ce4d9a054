"""What a story writes is what the value is. Without these a student would read an identifier or an
address as a set of receivers, since both have 64 bits or more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from p4lab import _engine
from p4lab.grading import difference, hints
from p4lab.grading.course import load
from p4lab.grading.difference import Out, Pair, Wanted
from p4lab.grading.frames import Header, Headers
from p4lab.grading.hints import Hint
from p4lab.grading.scenario import Kit, Scenario, make_case
from p4lab.model.notation import PLAIN, Notation
from p4lab.model.system import System
from p4lab.systems.bier.base import NOTATION

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header own_t { bit<64> session; bit<128> src_addr; bit<64> bit_string; bit<16> ether_type; }
struct headers_t { own_t own; }
struct metadata_t { }
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t md,
             inout standard_metadata_t std) {
    state start { packet.extract(hdr.own); transition accept; }
}
control Verify(inout headers_t hdr, inout metadata_t md) { apply { } }
control Work(inout headers_t hdr, inout metadata_t md, inout standard_metadata_t std) {
    action forward(bit<9> port, bit<64> session, bit<64> fbm) { std.egress_spec = port; }
    table rows {
        key = {
            hdr.own.session : ternary @name("session");
            hdr.own.src_addr : lpm @name("src_addr");
            hdr.own.bit_string : ternary @name("bit_string");
        }
        actions = { forward; }
    }
    apply { rows.apply(); }
}
control Rest(inout headers_t hdr, inout metadata_t md, inout standard_metadata_t std) {
    apply { }
}
control Compute(inout headers_t hdr, inout metadata_t md) { apply { } }
control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.own); } }
V1Switch(Parse(), Verify(), Work(), Rest(), Compute(), Deparse()) main;
"""

LAYOUT = {"own": {"session": 64, "src_addr": 128, "bit_string": 64, "ether_type": 16, "ttl": 8}}


class Reference:
    """What a scenario asks of a lab's reference."""

    def program(self, defines: object) -> Any:
        return _engine.compile_text("own.p4", PROGRAM).program

    def headers(self, defines: object) -> dict[str, dict[str, int]]:
        return LAYOUT


def steps(notation: Notation) -> tuple[str, ...]:
    """What a student reads of two rows and a packet."""
    rows = [
        {
            "table": "rows",
            "match": {
                "session": "5 &&& 5",
                "src_addr": "2001:db8::/32",
                "bit_string": f"{1 << bit} &&& {1 << bit}",
            },
            "action": "forward",
            "params": {"port": 2, "session": 7, "fbm": 5},
        }
        for bit in (8, 3)
    ]
    packet = {"session": 0x1122334455667788, "src_addr": "2001:db8::1", "bit_string": 5}
    send = {"port": 1, "packet": {"own": packet}}
    system = load("01-bier").system if notation is NOTATION else System()
    scenario = Scenario.model_validate({"say": "x", "entry": rows, "send": [send]})
    return make_case(scenario, Kit({}, {}, {}, system=system), Reference(), "1").told(1)


def test_values_are_sets_only_where_the_system_says_so() -> None:
    plain = steps(PLAIN)
    assert plain[1:] == (
        "a packet comes in on port 1: own(session=0x1122334455667788, src_addr=2001:db8::1,"
        " bit_string=5)",
        "table rows: session=0x5 &&& 0x5, src_addr=2001:db8::/32, bit_string=0x100 &&& 0x100"
        " -> forward(port=2, session=7, fbm=5)",
        "table rows: session=0x5 &&& 0x5, src_addr=2001:db8::/32, bit_string=0x8 &&& 0x8"
        " -> forward(port=2, session=7, fbm=5)",
    )
    assert steps(NOTATION)[1:] == (
        "a packet comes in on port 1: own(session=0x1122334455667788, src_addr=2001:db8::1,"
        " bit_string=0x5 (bits 1, 3))",
        "table rows: session=0x5 &&& 0x5, src_addr=2001:db8::/32, bit_string=bit 4 or 9 set"
        " -> forward(port=2, session=7, fbm=0x5 (bits 1, 3))",
    )


@pytest.mark.parametrize(
    ("field", "value", "plain", "bier"),
    [
        ("own.session", 0b101, "5", "5"),
        ("own.session", (1 << 64) - 1, "0xffffffffffffffff", "0xffffffffffffffff"),
        ("own.src_addr", 0x20010DB8 << 96, "2001:db8::", "2001:db8::"),
        ("own.bit_string", 0b101, "5", "0x5 (bits 1, 3)"),
        ("own.bit_string", 0b100, "4", "0x4 (bit 3)"),
        ("own.bit_string", 0, "0", "0 (no bit)"),
        ("own.ether_type", 0x800, "0x0800", "0x0800"),
        ("own.ttl", 64, "64", "64"),
    ],
)
def test_a_value_is_written_as_what_it_is(field: str, value: int, plain: str, bier: str) -> None:
    assert Headers(LAYOUT, PLAIN).said(field, value) == plain
    assert Headers(LAYOUT, NOTATION).said(field, value) == bier


def pair(**fields: tuple[int, int]) -> Pair:
    """A packet with one header: each field as wanted and as it came."""
    wanted, got = ({name: both[which] for name, both in fields.items()} for which in (0, 1))
    return Pair(Wanted(1, (Header("own", wanted),)), Out(1, b"", (Header("own", got),)))


def test_only_a_set_can_have_bits_too_many_or_too_few() -> None:
    bier, plain = (Headers(LAYOUT, notation) for notation in (NOTATION, PLAIN))
    more, less = pair(bit_string=(0b001, 0b101)), pair(bit_string=(0b101, 0b001))
    assert difference.signature(more, bier) == (difference.BITS_NOT_CLEARED, "own.bit_string")
    assert difference.signature(less, bier) == (difference.BITS_LOST, "own.bit_string")
    for known, one in (
        (plain, more),
        (plain, less),
        (bier, pair(session=(0b001, 0b101))),
        (bier, pair(src_addr=(0b101, 0b001))),
    ):
        assert difference.signature(one, known)[0] == difference.WRONG_FIELD


def test_an_address_says_more_than_a_number_and_a_set_most() -> None:
    known = Headers(LAYOUT, NOTATION)
    both = pair(ttl=(3, 9), session=(1, 2), src_addr=(1, 2))
    assert difference.signature(both, known) == (difference.WRONG_FIELD, "own.src_addr")
    three = pair(ttl=(3, 9), session=(1, 2), src_addr=(1, 2), bit_string=(1, 3))
    assert difference.signature(three, known) == (difference.BITS_NOT_CLEARED, "own.bit_string")


def test_the_lab_speaks_before_its_system_and_the_system_before_everybody() -> None:
    course = load("01-bier")
    check = course.checks[0]
    silent = replace(course, hints=())
    assert "mask" in silent.hint(check, difference.BITS_LOST)
    assert silent.hint(check, difference.TTL) == hints.GENERAL[difference.TTL]
    own = replace(course, hints=(Hint(text="Ours", signature=difference.BITS_LOST),))
    assert own.hint(check, difference.BITS_LOST) == "Ours"
    assert hints.choose((), {}, check.id, difference.BITS_LOST, "") == ""
    ttl = {difference.TTL: "The system's"}
    assert hints.choose((), ttl, check.id, difference.TTL, "") == "The system's"


def test_a_work_is_known_by_what_it_holds() -> None:
    """Benches keep what they compiled: two students' programs are two, the same one is one."""
    from p4lab.grading.work import Work

    defines = (("BSL", "64"),)
    one, same = (Work("a.p4", {"a.p4": "x", "b.p4": "y"}) for _ in range(2))
    assert one.content(defines) == same.content(defines)
    others = [
        Work("a.p4", {"a.p4": "x", "b.p4": "z"}).content(defines),
        Work("b.p4", {"a.p4": "x", "b.p4": "y"}).content(defines),
        one.content(()),
    ]
    assert one.content(defines) not in others
    assert len({hash(content) for content in [one.content(defines), *others]}) == 4
