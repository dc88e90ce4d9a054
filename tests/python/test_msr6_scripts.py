"""p4/msr6 does what its scripts say, and its scripts leave nothing out.

If these fail, a router replicates, delivers or reports something else than p4/msr6/README.md
promises, or there is a way to lose a packet that no script has ever seen. The bytes in the scripts
were put together from the profile and the RFCs, not taken from a run; the same scripts pass on
simple_switch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from p4lab import _engine
from p4lab.paths import ROOT

MSR6 = ROOT / "p4" / "msr6"
SCRIPTS = sorted((MSR6 / "tests").glob("*.stf"))
CPU_PORT = 510
FIRST_TOLD = 32
"""Reasons from here on go to the control plane"""


@cache
def program(bmv2_compat: bool = False) -> _engine.Program:
    compiled = _engine.compile(str(MSR6 / "v1model.p4"), [], [], bmv2_compat=bmv2_compat)
    assert compiled.program is not None, compiled.render()
    return compiled.program


def test_the_compiler_warns_of_nothing() -> None:
    compiled = _engine.compile(str(MSR6 / "v1model.p4"), [], [])
    assert compiled.diagnostics == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_program_does_what_its_scripts_say(script: Path) -> None:
    """By the specification, as bmv2 does, and with noise where P4 leaves values undefined."""
    for one in (program(), program(bmv2_compat=True), program().with_undefined(253)):
        done = _engine.stf(one, str(script))
        assert done["passed"], done["text"]


# ---- Nothing is left out -------------------------------------------------------------------------


@cache
def reasons() -> dict[str, int]:
    """Names and numbers of `drop_reason_t`."""
    text = (MSR6 / "headers.p4").read_text()
    body = text[text.index("enum bit<8> drop_reason_t") :]
    found = re.findall(r"^ +(\w+) += (\d+)", body[: body.index("}")], re.MULTILINE)
    return {name: int(number) for name, number in found if name != "NONE"}


class Case(NamedTuple):
    """A packet of a script, what is said of it, and what it leads to. `frame` is hexadecimal."""

    script: str
    comment: str
    port: int
    frame: str
    expected: tuple[tuple[int, str], ...]

    def byte(self, index: int) -> int:
        """Of the IPv6 packet behind Ethernet."""
        return int(self.frame[28 + 2 * index :][:2], 16)

    @property
    def function(self) -> int:
        return self.byte(34) << 8 | self.byte(35)

    def refused(self) -> int:
        """The reason with which the packet, as it came in, and nothing else is expected."""
        [(port, data)] = self.expected
        word = int(data[:4], 16)
        assert (port, word >> 7, data[4:]) == (CPU_PORT, self.port, self.frame + "$"), self
        return word & 0x7F


def cases(script: Path) -> list[Case]:
    """The packets of a script; a comment is about all that follow it up to the next one."""
    found: list[Case] = []
    comment, in_comment = "", False
    for line in script.read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "#":
            comment = f"{comment} {rest}" if in_comment else rest
        elif word in ("packet", "expect"):
            number, *data = rest.split()
            port, frame = int(number), "".join(data)
            if word == "packet":
                found.append(Case(script.stem, comment, port, frame, ()))
            else:
                expected = (*found[-1].expected, (port, frame))
                found[-1] = found[-1]._replace(expected=expected)
        in_comment = word == "#"
    return found


@cache
def all_cases() -> tuple[Case, ...]:
    return tuple(case for script in SCRIPTS for case in cases(script))


def test_every_reason_has_a_script() -> None:
    """One that counts it, and where the sender is told, one that sees the packet come out."""
    text = "\n".join(script.read_text() for script in SCRIPTS)
    counts = re.findall(r"^check_counter dropped(?:_copies)?\((\d+)\) packets == (\d+)", text, re.M)
    counted = {int(index) for index, packets in counts if int(packets)}
    told = {
        int(data[:4], 16) & 0x7F
        for case in all_cases()
        for port, data in case.expected
        if port == CPU_PORT
    }
    assert set(reasons().values()) == counted
    assert {number for number in reasons().values() if number >= FIRST_TOLD} == told - {0}


TE, RLB, BE, LEAF = "te_guard", "rlb_guard", "be_guard", "leaf_guard"
RL, RGB = 0x0100, 0x0300
EXT, KIND, SL, LAST = 41, 42, 43, 44  # bytes of the routing header
ARGUMENT = 36


def pointer(case: Case) -> int:
    return case.byte(ARGUMENT + (1 if case.function == RL else 2))


def bits(case: Case) -> int:
    return case.byte(ARGUMENT) << 8 | case.byte(ARGUMENT + 1)


def wanted(case: Case) -> int:
    """Children, or adjacencies that need an entry (those of the bits 1 to 3)."""
    return case.byte(ARGUMENT) if case.function == RL else (bits(case) & 7).bit_count()


MALFORMED: list[tuple[str, str, tuple[str, ...], Callable[[Case], bool]]] = [
    (
        "HdrExtLen odd",
        "HDR_EXT_LEN",
        (TE, RLB, BE, LEAF),
        lambda case: case.byte(EXT) % 2 == 1,
    ),
    (
        "LastEntry > HdrExtLen/2 - 1",
        "LAST_ENTRY",
        (TE, RLB, BE, LEAF),
        lambda case: case.byte(LAST) > case.byte(EXT) // 2 - 1,
    ),
    (
        "SL > LastEntry+1",
        "SEGMENTS_LEFT",
        (TE, RLB, BE, LEAF),
        lambda case: case.byte(SL) > case.byte(LAST) + 1,
    ),
    (
        "Pointer p >= SL",
        "POINTER",
        (TE, RLB),
        lambda case: pointer(case) >= case.byte(SL),
    ),
    (
        "n-1 > p",
        "TOO_MANY",
        (TE, RLB),
        lambda case: wanted(case) - 1 > pointer(case),
    ),
    (
        "n = 0",
        "NO_COPY",
        (TE,),
        lambda case: case.byte(ARGUMENT) == 0,
    ),
    (
        "HopLimit 1 with n copies",
        "TIME_EXCEEDED",
        (TE, RLB, BE),
        lambda case: case.byte(7) <= 1,
    ),
    (
        "Bit without adjacency",
        "NO_ADJACENCY",
        (RLB,),
        lambda case: bits(case) & ~0x3F != 0,
    ),
    (
        "All-zero bit string",
        "NO_COPY",
        (RLB, BE),
        lambda case: (
            case.frame[28 + 96 :][:32] == "0" * 32 if case.function == RGB else bits(case) == 0
        ),
    ),
    (
        "A header longer than the parser's maximum",
        "TOO_LONG",
        (TE, RLB, BE, LEAF),
        lambda case: case.byte(EXT) > 2 * 16,
    ),
    (
        "Routing type 4",
        "ROUTING_TYPE",
        (TE, RLB, BE, LEAF),
        lambda case: case.byte(KIND) != 253,
    ),
    (
        "No routing header",
        "UPPER_LAYER",
        (TE, RLB, BE),
        lambda case: case.byte(6) != 43,
    ),
]
"""What a case is called in the scripts, its reason, in which scripts it is, and what is wrong with
its bytes"""


@pytest.mark.parametrize(
    ("name", "reason", "scripts", "is_wrong"), MALFORMED, ids=[row[0] for row in MALFORMED]
)
def test_malformed_headers_are_refused_by_every_behaviour(
    name: str, reason: str, scripts: tuple[str, ...], is_wrong: Callable[[Case], bool]
) -> None:
    """The list of ill headers that every node must survive: one packet to the control plane, no
    copy anywhere, and the bytes are as ill as the script says."""
    for script in scripts:
        found = [
            case
            for case in all_cases()
            if (case.script, case.comment[: len(name)]) == (script, name)
        ]
        assert found, f"{script}.stf has no case {name}"
        for case in found:
            assert is_wrong(case), case
            assert case.refused() == reasons()[reason], case


# ---- The contract --------------------------------------------------------------------------------


def test_the_page_has_the_reasons_of_the_program() -> None:
    page = (MSR6 / "README.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([A-Z_]+) \|", page, re.MULTILINE)
    assert {name: int(number) for number, name in rows} == reasons()


def test_the_page_has_the_tables_of_the_program() -> None:
    """All tables, their keys, and the actions with their parameters and widths."""
    info = json.loads(program().p4info(json=True))
    page = (MSR6 / "README.md").read_text().partition("## On Tofino")[0]
    actions = {action["preamble"]["id"]: action for action in info["actions"]}
    rows = dict(re.findall(r"^\| `(\w+)`(?: \(egress\))? \| (.*)$", page, re.MULTILINE))
    for table in info["tables"]:
        row = rows[table["preamble"]["alias"].rsplit(".")[-1]]
        for key in table["matchFields"]:
            assert f"`{key['name']}` {key['matchType'].lower()} ({key['bitwidth']})" in row
        for ref in table["actionRefs"]:
            action = actions[ref["id"]]
            name = action["preamble"]["name"].rsplit(".")[-1]
            params = [f"{param['name']}: {param['bitwidth']}" for param in action.get("params", [])]
            if name == "encapsulate":
                params[6:-1] = ["..."]
            call = ", ".join(params).replace("..., ", "... ")
            assert f"`{name}`" in row or f"`{name}({call})`" in row, name
