"""If these fail, the gateway on a Tofino lets subscribers send more than agreed, or less, or sends
packets out of another port than the control plane meant."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from p4lab.cli import app
from p4lab.engine import load_program
from p4lab.model.entries import (
    Entity,
    Exact,
    MeterCell,
    MulticastGroup,
    RegisterCell,
    TableEntry,
)
from p4lab.paths import ROOT
from p4lab.systems.bng_tna.chip import from_chip, to_chip
from p4lab.targets.tofino.rows import entity_rows, free
from p4lab.targets.tofino.schema import Program

PORTS = {1: 132, 2: 140}
THERE = {132: 1, 140: 2}

PAIRS: list[tuple[Entity, Entity]] = [
    (
        MeterCell("class_meter", 4 * 7 + 3, 1, 2, 3, 4),
        MeterCell("class_meter_3", 7, 1, 2, 3, 4),
    ),
    (MeterCell("session_meter", 9, 1, 2, 3, 4), MeterCell("session_meter", 9, 1, 2, 3, 4)),
    (
        TableEntry(
            "lines", (("port", Exact(2)), ("label0", Exact(1))), "known_line", (("line", 2),)
        ),
        TableEntry(
            "lines", (("port", Exact(140)), ("label0", Exact(1))), "known_line", (("line", 2),)
        ),
    ),
    (
        TableEntry("subscribers", (("session", Exact(1)),), "subscriber", (("port", 1),)),
        TableEntry("subscribers", (("session", Exact(1)),), "subscriber", (("port", 132),)),
    ),
    (MulticastGroup(1, ((1, 8), (2, 9))), MulticastGroup(1, ((132, 8), (140, 9)))),
]


@pytest.mark.parametrize(("own", "there"), PAIRS)
def test_entries_are_the_chips_and_come_back(own: Entity, there: Entity) -> None:
    assert to_chip(own, PORTS) == there
    assert from_chip(there, THERE) == own


@pytest.fixture(scope="module")
def program() -> Program:
    return Program.of(load_program(ROOT / "p4" / "bng" / "tna.p4"))


def test_rates_are_in_the_chips_units(program: Program) -> None:
    """10 Mb/s and 20 Mb/s with 3,000 and 125 bytes; a burst of one byte is not none."""
    cell = MeterCell("session_meter", 5, 1_250_000, 3000, 2_500_000, 1)
    [row] = entity_rows(cell, program)
    assert row.table == "pipe.BngEgress.police.session_meter"
    assert row.key == (("$METER_INDEX", Exact(5)),)
    assert dict(row.data) == {
        "$METER_SPEC_CIR_KBPS": 10_000,
        "$METER_SPEC_PIR_KBPS": 20_000,
        "$METER_SPEC_CBS_KBITS": 24,
        "$METER_SPEC_PBS_KBITS": 1,
    }
    [row] = entity_rows(MeterCell("control_meter", 5, 10, 3, 20, 4), program)
    assert dict(row.data) == {
        "$METER_SPEC_CIR_PPS": 10,
        "$METER_SPEC_PIR_PPS": 20,
        "$METER_SPEC_CBS_PKTS": 3,
        "$METER_SPEC_PBS_PKTS": 4,
    }
    with pytest.raises(ValueError, match="no meter class_meter"):
        entity_rows(replace(cell, meter="class_meter"), program)


def test_a_cell_without_rates_lets_everything_pass(program: Program) -> None:
    """And a register's is 0: what a run leaves behind."""
    [row] = entity_rows(MeterCell("session_meter", 5, 1, 1, 1, 1), program)
    assert min(value for _, value in free(row).data if isinstance(value, int)) > 10**9
    bier = Program.of(load_program(ROOT / "p4" / "bier" / "tna.p4"))
    [row] = entity_rows(RegisterCell("port_down", 7, 1), bier)
    assert [value for _, value in free(row).data] == [0]


def test_a_rack_hears_nobody_dial() -> None:
    rack = ("--rack", str(ROOT / "hw" / "rack.example.toml"))
    words = ["run", "06-bng", "--target", "wedge", "--topology", "bng", *rack, "--dry-run"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert "take --target tofino-model" in done.output
