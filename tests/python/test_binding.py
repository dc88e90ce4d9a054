"""What the binding says of updates that it cannot read. If this fails, whoever writes a control
plane is not told which of a thousand updates is wrong, and where."""

from __future__ import annotations

from typing import Any

import pytest

from p4lab import _engine
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    Entity,
    Exact,
    Lpm,
    MulticastGroup,
    TableEntry,
    Update,
)
from p4lab.model.state import IndirectUpdate, Member, SetMember

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<128> wide; bit<8> narrow; }
struct headers_t { h_t h; }
struct meta_t { }
parser Read(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.h); transition accept; }
}
control Sums(inout headers_t hdr, inout meta_t meta) { apply { } }
control Forward(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    action to(bit<9> port) { sm.egress_spec = port; }
    table wide { key = { hdr.h.wide: exact @name("w"); } actions = { to; } }
    apply { wide.apply(); }
}
control Leave(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control Write(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(Read(), Sums(), Forward(), Leave(), Sums(), Write()) main;
"""
WIDE = (1 << 128) - 1


def entry(number: Any = WIDE, port: Any = 5, **others: Any) -> TableEntry:
    given = {"table": "wide", "match": (("w", Exact(number)),), "action": "to"}
    return TableEntry(**{**given, "params": (("port", port),), **others})


def insert(entity: Entity) -> Update:
    return Update("insert", entity)


@pytest.fixture(scope="module")
def program() -> _engine.Program:
    found = _engine.compile_text("main.p4", PROGRAM).program
    assert found is not None
    return found


WRONG: list[tuple[Any, str]] = [
    (("insert", "entry", "wide", [], 0, "to", []), "tuple is not an update"),
    (entry(), "TableEntry is not an update"),
    (Update("invent", entry()), 'kind: there is no update called "invent"'),  # type: ignore[arg-type]
    (Update("insert", SetMember("p", 1, "a")), "SetMember is not an entity"),  # type: ignore[arg-type]
    (IndirectUpdate("insert", entry()), "TableEntry is not an indirect entry"),  # type: ignore[arg-type]
    (insert(entry(table=7)), "table: .*str"),
    (insert(entry(priority="high")), "priority: .*int"),
    (insert(entry(match=(("w", 3),))), "match: w: int is not a match"),
    (insert(entry(match=(("w", Member(3)),))), "match: w: Member is not a match"),
    (insert(entry(match=(("w", Lpm(0, -1)),))), "match: w: prefix_len: "),
    (insert(entry(number=-1)), "match: w: value: "),
    (insert(entry(port="five")), "params: port: .*int"),
    (insert(entry(params=7)), "params: .*iterable"),
    (insert(MulticastGroup(1, ((1 << 16, 0),))), "replicas: "),
    (insert(CloneSession(4, ((1, 0), (2, 0)))), "clone session 4 has 2 replicas"),
    (insert(DefaultAction("wide", "to", (("port", None),))), "params: port: "),  # type: ignore[arg-type]
    (insert(entry(port=512)), "port"),  # what the switch itself says
]


@pytest.mark.parametrize(("wrong", "message"), WRONG, ids=[message for _, message in WRONG])
def test_an_update_that_is_wrong_is_named_and_nothing_is_written(
    program: _engine.Program, wrong: Any, message: str
) -> None:
    switch = _engine.Switch(program)
    with pytest.raises(ValueError, match=f"update 2: .*{message}"):
        switch.write([insert(entry()), wrong])
    assert switch.entries("wide") == []


def test_what_was_written_is_read_as_it_was_written(program: _engine.Program) -> None:
    """Numbers of any size; lists and tuples alike."""
    switch = _engine.Switch(program)
    switch.write((insert(entry(match=[("w", Exact(WIDE))])),))
    (row,) = switch.entries("wide")
    assert row["matches"] == {"w": Exact(WIDE)}
    assert row["args"] == {"port": 5}
    switch.write([Update("delete", entry(action=None, params=None))])  # a key is all that counts
    assert switch.entries("wide") == []
