"""p4/bng does what its scripts say, and its scripts leave nothing out.

If these fail, a gateway forwards, drops or reports something else than p4/bng/README.md promises:
a stolen address gets through, a session gets more than it pays for, or a line gets headers of
another length. The frames in the scripts were made with scapy, not taken from a run.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from p4lab import _engine
from p4lab.fit.estimate import estimate_file
from p4lab.paths import ROOT

BNG = ROOT / "p4" / "bng"
SCRIPTS = sorted((BNG / "tests").glob("*.stf"))
FIRST_DROPPED = 32
CPU_PORT = 510


@cache
def program(file: str, cpu: str = "", bmv2_compat: bool = False) -> _engine.Program:
    defines = [("CPU", cpu)] if cpu else []
    lints = ["tofino"] if file == "tna.p4" else []
    path = str(BNG / file)
    compiled = _engine.compile(path, [], defines, bmv2_compat=bmv2_compat, lints=lints)
    assert compiled.diagnostics == [] and compiled.program is not None, compiled.render()
    return compiled.program


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_program_does_what_its_scripts_say(script: Path) -> None:
    """By the specification, as bmv2 does, and with noise where P4 leaves values undefined."""
    plain = program("v1model.p4")
    compatible = program("v1model.p4", bmv2_compat=True)
    for one in (plain, compatible, plain.with_undefined(253)):
        done = _engine.stf(one, str(script))
        assert done["passed"], done["text"]


def reasons() -> dict[str, int]:
    """Names and numbers of `reason_t`."""
    text = (BNG / "headers.p4").read_text()
    body = text[text.index("enum bit<8> reason_t") :]
    found = re.findall(r"^ +(\w+) += (\d+)", body[: body.index("}")], re.MULTILINE)
    return {name: int(number) for name, number in found if name != "NONE"}


def test_every_reason_has_a_script() -> None:
    """Where the packet is dropped, one that counts it; otherwise one that sees it come up."""
    text = "\n".join(script.read_text() for script in SCRIPTS)
    counts = re.findall(r"^check_counter dropped(?:_copies)?\((\d+)\) packets == [1-9]", text, re.M)
    heads = re.findall(rf"^expect {CPU_PORT}  (\w{{4}})", text, re.MULTILINE)
    seen = {int(index) for index in counts} | {int(head, 16) & 0x7F for head in heads}
    assert {name for name, number in reasons().items() if number not in seen} == set()


# ---- The chip ------------------------------------------------------------------------------------

CHIP_CPU = "20"  # `p4lab stf` has no CPU port on TNA
PORTS = {"510": CHIP_CPU, "300": "140", "508": "180", "77": "60"}
"""Ports that a chip with two pipes does not have, and others in their place"""


def for_the_chip(script: Path) -> str:
    """A script of v1model.p4 for tna.p4. Frames that are cut off by less than the checksum behind
    them, or that no cable carries, are left out."""
    text = script.read_text().partition("# Cut off")[0]
    text = re.sub(r"^packet 510  0380 00\n.*\n", "", text, flags=re.MULTILINE)
    for port, other in PORTS.items():
        text = re.sub(rf"^(packet|expect|no_packet) {port}\b", rf"\1 {other}", text, flags=re.M)
        text = re.sub(rf"\bport:{port}\b", f"port:{other}", text)

    def of_class(found: re.Match[str]) -> str:
        session, number = divmod(int(found[1]), 4)
        return f"class_meter_{number} {session}"

    return re.sub(r"class_meter (\d+)", of_class, text).replace("dropped(43)", "dropped_copies(43)")


@pytest.mark.parametrize(
    "script", [path for path in SCRIPTS if path.stem != "police"], ids=lambda path: path.stem
)
def test_the_chip_does_what_the_scripts_say(script: Path, tmp_path: Path) -> None:
    copy = tmp_path / script.name
    copy.write_text(for_the_chip(script))
    plain = program("tna.p4", CHIP_CPU)
    for one in (plain, plain.with_undefined(253)):
        done = _engine.stf(one, str(copy))
        assert done["passed"], done["text"]


@pytest.mark.parametrize("script", sorted((BNG / "tests-tna").glob("*.stf")), ids=lambda p: p.stem)
def test_the_chips_own_scripts(script: Path) -> None:
    done = _engine.stf(program("tna.p4", CHIP_CPU), str(script))
    assert done["passed"], done["text"]


@pytest.mark.parametrize("sessions, fits", [(35_001, True), (40_960, True), (45_056, False)])
def test_the_papers_goal_fits_the_chip(sessions: int, fits: bool) -> None:
    """35,000 subscribers, and where it ends: p4/bng/README.md says so."""
    assert estimate_file(BNG / "tna.p4", defines=[("SESSIONS", str(sessions))]).fits is fits
