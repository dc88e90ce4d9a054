"""MSR6 on Tofino: does `p4/msr6/tna.p4` do what `v1model.p4` does, and does it fit the chip?

If these fail, a network of Tofino switches sends other copies than one of v1model switches, or
students compare with the slides' table of stages what no chip would take.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from p4lab import _engine
from p4lab.fit import chip, estimate_file
from p4lab.fit.estimate import Estimate, PipeEstimate
from p4lab.model.entries import CloneSession, Exact, TableEntry, Update

MSR6 = Path(__file__).resolve().parents[2] / "p4" / "msr6"
PROGRAM = MSR6 / "tna.p4"
LOOP, CPU = 68, 64
VARIANTS = {"all": [], "TE and RLB": [("WITHOUT_BE", "1")], "TE": [("ONLY_TE", "1")]}
# Stages that the chip's compiler took beyond the estimate, at most: docs/fit.md, "How good is it?"
MISSING_STAGES = 3


@pytest.fixture(scope="module")
def program() -> _engine.Program:
    return compiled([])


def compiled(defines: list[tuple[str, str]]) -> _engine.Program:
    compilation = _engine.compile(str(PROGRAM), [], defines, lints=["tofino"])
    assert compilation.diagnostics == [], compilation.render()
    assert compilation.program is not None
    return compilation.program


# ---- scripts -------------------------------------------------------------------------------------


def own_scripts() -> list[Path]:
    scripts = sorted((MSR6 / "tests-tna").glob("*.stf"))
    assert scripts
    return scripts


def defines_of(script: Path) -> list[tuple[str, str]]:
    first = script.read_text(encoding="utf-8").partition("\n")[0]
    words = first.removeprefix("# defines: ").split() if first.startswith("# defines: ") else []
    return [(name, value) for name, _, value in (word.partition("=") for word in words)]


@pytest.mark.parametrize("script", own_scripts(), ids=lambda path: path.stem)
def test_the_scripts_of_the_chip(script: Path) -> None:
    """By the specification, and with noise where P4 leaves values undefined."""
    program = compiled(defines_of(script))
    for one in (program, program.with_undefined(253)):
        report = _engine.stf(one, str(script))
        assert report["passed"], report["text"]


# Scripts of v1model.p4 that need what the chip does not have, besides longer lists. Its own scripts
# ask the rest of them.
NOT_ON_THE_CHIP = {
    "foreign_sids": "packets for others that are cut off: the chip drops them",
    "packet_out": "frames of a few bytes: the parser sees the checksum behind them",
    "truncated": "packets cut off by less than the four bytes of the checksum behind them",
}
ENTRIES = 8
V1MODEL_ENTRIES = 16


def has_long_list(text: str) -> bool:
    """Whether a list in it is too long for the chip, but not for v1model."""
    rows = [int(last) + 1 for last in re.findall(r"last_entry:(\d+)", text)]
    return any(entries > ENTRIES for entries in [*rows, *sent_lists(text)])


def sent_lists(text: str) -> Iterator[int]:
    """How many entries the lists of the packets have that are sent, up to what v1model reads."""
    for line in re.findall(r"^packet \d+ (.*)$", text, re.MULTILINE):
        header = bytes.fromhex(line)[54:]  # behind Ethernet and IPv6
        if len(header) >= 8 and header[2] == 253 and header[1] // 2 <= V1MODEL_ENTRIES:
            yield header[1] // 2


def v1model_scripts() -> list[Path]:
    scripts = sorted((MSR6 / "tests").glob("*.stf"))
    short = [path for path in scripts if not has_long_list(path.read_text(encoding="utf-8"))]
    assert len(short) >= 20 and {path.stem for path in short} > set(NOT_ON_THE_CHIP)
    return short


def for_tna(text: str) -> str:
    """The same script for the chip: its ports, its loop, its tables of trees. `p4lab stf` has no
    CPU port on TNA, so what is for the control plane goes to port 20."""
    lines = [
        f"mirroring_add 11 {LOOP}",
        "mirroring_add 100 20",
        "add loop_sessions loop:0 mirror_to(session:11)",
        f"add loop_ports loop:0 loop_to(port:{LOOP})",
    ]
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("mirroring_add"):
            continue
        line = re.sub(r"^(expect|no_packet) 510\b", r"\1 20", line)
        line = re.sub(r"^packet 510\b", f"packet {CPU}", line)
        line = line.replace("sent(510)", "sent(20)").replace("sent(509)", f"sent({LOOP})")
        lines += tree_rows(line, number) if line.startswith("add trees ") else [line]
    return "\n".join(lines) + "\n"


def tree_rows(line: str, tree: int) -> list[str]:
    """One row of v1model's `trees` as three of the chip's."""
    found = re.fullmatch(r"add trees (.*) encapsulate\((.*)\)", line)
    assert found, line
    words = found[2].split(", ")
    own = [word for word in words if not word.startswith("sid_")]
    sids = [word for word in words if word.startswith("sid_")]
    rows = [f"add trees {found[1]} encapsulate(tree:{tree}, {', '.join(own)})"]
    for first in (0, 4):
        row = ", ".join(sids[first : first + 4])
        rows.append(f"add tree_sids_{first} tree:{tree} sids_{first}({row})")
    return rows


@pytest.mark.parametrize("script", v1model_scripts(), ids=lambda path: path.stem)
def test_the_chip_does_what_v1model_does(
    program: _engine.Program, script: Path, tmp_path: Path
) -> None:
    copy = tmp_path / script.name
    copy.write_text(for_tna(script.read_text(encoding="utf-8")), encoding="utf-8")
    report = _engine.stf(program, str(copy))
    assert report["passed"] == (script.stem not in NOT_ON_THE_CHIP), report["text"]


def test_what_is_refused_reaches_the_cpu_port(program: _engine.Program) -> None:
    """Session 100 leads there, and the packet is as it came in, though the switch changed it."""
    switch = _engine.Switch(program)
    switch.set_cpu_port(CPU)
    sid = bytes.fromhex("5f000000000000000002010000030000")  # End.RL of router 2, no child
    key = (("sid", Exact(int.from_bytes(sid[:12], "big"))),)
    entities = [CloneSession(100, ((CPU, 0),)), TableEntry("local_sids", key, "rl", ())]
    switch.write([Update("insert", entity) for entity in entities])
    ethernet = bytes.fromhex("02000000020102000000010286dd")
    ipv6 = bytes.fromhex("6000000000182b40") + bytes(16) + sid
    packet = ethernet + ipv6 + bytes.fromhex("3b02fd0100000000") + bytes(16)
    no_copy = 41
    assert switch.process(5, packet) == [(CPU, (5 << 7 | no_copy).to_bytes(2, "big") + packet)]


# ---- does it fit? --------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=VARIANTS, ids=lambda name: name.replace(" ", "_"))
def estimate(request: pytest.FixtureRequest) -> Estimate:
    return estimate_file(PROGRAM, defines=VARIANTS[request.param])


def pipe(estimate: Estimate) -> PipeEstimate:
    (only,) = estimate.pipes
    return only


def test_the_program_seems_to_fit_with_stages_to_spare(estimate: Estimate) -> None:
    assert estimate.fits
    for gress in pipe(estimate).gresses:
        assert gress.stages is not None and gress.lower_bound <= gress.stages
        assert gress.stages + MISSING_STAGES <= chip.STAGES
        assert all(unit.why_not is None for unit in gress.units)


def test_every_table_has_its_place(estimate: Estimate) -> None:
    placed = {u.name.split(".")[-1] for g in pipe(estimate).gresses for u in g.units if u.stages}
    common = {"local_sids", "ipv6_routes", "group_ports", "port_mac", "trees", "list_entry"}
    assert common | {"tree_sids_0", "tree_sids_4", "check_header", "check_rl", "decide"} <= placed


def test_fields_leave_room_in_the_chip(estimate: Estimate) -> None:
    """Of the bits that stages can write, a fifth stays free: nobody fills containers whole."""
    bits = sum(gress.phv_bits for gress in pipe(estimate).gresses)
    assert bits <= chip.PHV_BITS * 4 // 5


def test_te_alone_takes_less_than_all_behaviours() -> None:
    """The slides' table is about TE alone (4 of 12 stages), so it can be compared on its own."""
    alone, both, everything = (
        estimate_file(PROGRAM, defines=VARIANTS[name]) for name in ("TE", "TE and RLB", "all")
    )
    stages = [max(g.stages or 0 for g in pipe(e).gresses) for e in (alone, both, everything)]
    tcams = [sum(stage.tcams for stage in pipe(e).stages) for e in (alone, both, everything)]
    assert stages == sorted(stages) and stages[0] < stages[2]
    assert tcams == sorted(tcams) and len(set(tcams)) == 3
    tables = [
        {u.name.split(".")[-1] for g in pipe(e).gresses for u in g.units} for e in (alone, both)
    ]
    assert "adjacencies" not in tables[0] and "adjacencies" in tables[1]
    assert "bift" not in tables[1]


def test_the_table_in_the_docs_is_true() -> None:
    page = (MSR6.parents[1] / "docs" / "fit.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| TE[^|]* \| (?:`(\w+)`)? ?\| ([\d |]+) \|$", page, re.MULTILINE)
    assert [macro for macro, _ in rows] == ["ONLY_TE", "WITHOUT_BE", ""]
    for macro, cells in rows:
        only = pipe(estimate_file(PROGRAM, defines=[(macro, "1")] if macro else []))
        ingress, egress = only.gresses
        numbers = [int(cell) for cell in cells.split("|")]
        assert numbers == [
            ingress.stages,
            egress.stages,
            ingress.cycles,
            sum(stage.logical_tables for stage in only.stages),
            sum(stage.tcams for stage in only.stages),
            sum(stage.srams for stage in only.stages),
            ingress.phv_bits + egress.phv_bits,
        ]
