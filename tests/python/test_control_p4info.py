"""Entries survive the way into P4Runtime's messages and back; what cannot be said is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from finsy.proto import p4r
from hypothesis import given
from hypothesis import strategies as st

from p4lab.control.listeners import Member
from p4lab.control.p4info import Program, to_bytes, to_int
from p4lab.engine import load_program
from p4lab.model.entries import (
    CloneSession,
    Exact,
    Lpm,
    MeterCell,
    MulticastGroup,
    Range,
    TableEntry,
    Ternary,
    Update,
)
from p4lab.systems.bier.entries import bier_entries
from p4lab.topology import Topology

ROOT = Path(__file__).parents[2]
BIER = Program(load_program(ROOT / "p4/bier/v1model.p4", [("BSL", "64")]).p4info())


@given(st.integers(0, 2**300))
def test_bytes_are_the_shortest_that_hold_the_number(number: int) -> None:
    data = to_bytes(number)
    assert to_int(data) == number
    assert len(data) == 1 or data[0] != 0


@pytest.mark.parametrize("topology", ["tree10", "sets", "rfc8279"])
def test_a_control_planes_entries_come_back_as_they_were(topology: str) -> None:
    network = Topology.load(topology)
    everybody = frozenset(Member(h.router, h.port, 0xEF010101) for h in network.hosts)
    for entries in bier_entries(network, everybody, 64).values():
        for entity in entries:
            message = BIER.entity(entity)
            again = p4r.Entity.FromString(message.SerializeToString())
            assert BIER.read(again) == entity


@given(
    mask=st.integers(0, 2**64 - 1),
    value=st.integers(0, 2**64 - 1),
    priority=st.integers(1, 2**31 - 1),
)
def test_a_ternary_key_is_canonical(mask: int, value: int, priority: int) -> None:
    """A mask of 0 is left out and no bit outside of the mask is set (P4Runtime, 9.1.1)."""
    entry = TableEntry(
        "bift",
        (("bift_id", Exact(1)), ("remaining", Ternary(value, mask))),
        "forward",
        (("fbm", mask), ("port", 3)),
        priority,
    )
    message = BIER.entity(entry).table_entry
    found = [m.ternary for m in message.match if m.HasField("ternary")]
    assert len(found) == (mask != 0)
    for ternary in found:
        assert to_int(ternary.value) & ~to_int(ternary.mask) == 0
        assert to_int(ternary.mask) == mask
    read = BIER.read(BIER.entity(entry))
    assert isinstance(read, TableEntry)
    assert dict(read.match)["remaining"] == Ternary(value & mask, mask)


def test_groups_and_sessions() -> None:
    for entity in (MulticastGroup(7, ((1, 0), (2, 1))), CloneSession(1, ((509, 0),), 64)):
        assert BIER.read(BIER.entity(entity)) == entity


def test_rates_of_a_meter_change_and_go() -> None:
    """A session that gets another class must get its rates, and none of the one before it."""
    program = Program(load_program(ROOT / "p4/bng/v1model.p4").p4info())
    cell = MeterCell("session_meter", 7, 1000, 3000, 2000, 6000)
    for kind in ("insert", "modify"):
        update = program.update(Update(kind, cell))
        entry = update.entity.meter_entry
        assert (update.type, entry.index.index) == (p4r.Update.MODIFY, 7)
        rates = entry.config
        assert (rates.cir, rates.cburst, rates.pir, rates.pburst) == (1000, 3000, 2000, 6000)
    gone = program.update(Update("delete", cell)).entity.meter_entry
    assert gone.index.index == 7
    assert not gone.HasField("config")
    with pytest.raises(ValueError, match="has 36864 cells, and none is number 36864"):
        program.update(Update("insert", MeterCell("session_meter", 36864, 1, 1, 1, 1)))


def test_kinds_of_match_that_bier_does_not_use(tmp_path: Path) -> None:
    source = tmp_path / "kinds.p4"
    source.write_text(
        """
        #include <v1model.p4>
        header h_t { bit<32> a; bit<16> b; }
        struct headers { h_t h; }
        struct meta {}
        parser P(packet_in p, out headers hdr, inout meta m, inout standard_metadata_t s) {
            state start { p.extract(hdr.h); transition accept; }
        }
        control V(inout headers hdr, inout meta m) { apply {} }
        control I(inout headers hdr, inout meta m, inout standard_metadata_t s) {
            action go(bit<9> port) { s.egress_spec = port; }
            table t {
                key = { hdr.h.a: lpm @name("a"); }
                actions = { go; }
            }
            table r {
                key = { hdr.h.b: range @name("b"); }
                actions = { go; }
            }
            apply { t.apply(); r.apply(); }
        }
        control E(inout headers hdr, inout meta m, inout standard_metadata_t s) { apply {} }
        control C(inout headers hdr, inout meta m) { apply {} }
        control D(packet_out p, in headers hdr) { apply { p.emit(hdr.h); } }
        V1Switch(P(), V(), I(), E(), C(), D()) main;
        """
    )
    program = Program(load_program(source).p4info())
    for entry in (
        TableEntry("t", (("a", Lpm(0x0A000000, 8)),), "go", (("port", 1),)),
        TableEntry("t", (("a", Lpm(0, 0)),), "go", (("port", 1),)),
        TableEntry("r", (("b", Range(5, 9)),), "go", (("port", 1),), 4),
    ):
        assert program.read(program.entity(entry)) == entry


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (TableEntry("none", (), "forward", ()), "no table none"),
        (TableEntry("bift", (), "none", ()), "no action none"),
        (TableEntry("bift", (("x", Exact(1)),), "forward", ()), "bift has no key x"),
        (TableEntry("bift", (), "forward", (("x", 1),)), "forward has no parameter x"),
    ],
)
def test_names_that_the_program_does_not_have(entry: TableEntry, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        BIER.update(Update("insert", entry))


def test_frames_to_and_from_the_controller() -> None:
    message = BIER.packet_out(5, b"frame")
    assert message.payload == b"frame"
    values = {item.metadata_id: to_int(item.value) for item in message.metadata}
    names = {m.id: m.name for m in BIER._header("packet_out")}
    assert {names[key]: value for key, value in values.items()} == {"egress_port": 5, "_pad": 0}
    heard = p4r.PacketIn(payload=b"abc")
    for field in BIER._header("packet_in"):
        heard.metadata.add(metadata_id=field.id, value=to_bytes(9 if "port" in field.name else 0))
    assert BIER.packet_in(heard) == (9, b"abc", bytes([0b100, 0b1000_0000]))
