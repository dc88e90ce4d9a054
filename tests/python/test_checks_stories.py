"""What a student reads of a failed check, from the first line on. A consequence that is told as a
difference of its own, or a case of 64-bit numbers, sends a beginner the wrong way."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

from p4lab.grading.course import load, public_seeds
from p4lab.grading.judge import judge
from p4lab.grading.record import Story, Verdict
from p4lab.grading.text import render

ROOT = Path(__file__).parents[2]
SOURCE = (ROOT / "p4/bier/bier.p4").read_text(encoding="utf-8")
COURSE = load("01-bier")


@cache
def verdict(old: str, new: str = "", count: int = 1) -> Verdict:
    assert old in SOURCE
    return judge(COURSE, {"bier/bier.p4": SOURCE.replace(old, new, count)})


def story(check: str, *edit: str) -> Story:
    found = next(one.story for one in verdict(*edit).checks if one.id == check)
    assert found is not None
    return found


def printed(found: Verdict, width: int = 80, **how: object) -> str:
    console = Console(width=width, no_color=True, record=True, file=io.StringIO())
    console.print(render(COURSE, found, **how))  # type: ignore[arg-type]
    return console.export_text()


PORT = "decision.egress_port = port;"


def test_the_packet_stands_before_the_entries() -> None:
    said, packet, *entries = story("forward-one", PORT).steps
    assert said.startswith("A BIER packet comes in")
    assert packet.startswith("a packet comes in on port")
    assert any(entry.startswith("table bift") for entry in entries)
    assert not any("packet comes in on" in entry for entry in entries)


def test_a_consequence_is_not_told_beside_its_cause() -> None:
    """The Ethernet addresses are those of the port: a wrong port makes them wrong, and nothing that
    the student could have written."""
    found = story("forward-one", PORT)
    assert [one.field for one in found.differences[0].fields] == ["ethernet.src_addr"]
    assert found.differences[0].shown == ()
    shown = printed(verdict(PORT))
    assert "src_addr  " not in shown.partition("instead of port")[2]
    # What a line of the student's writes is not a consequence.
    own = story("forward-one", PORT, "hdr.ipv4.src_addr = 7;")
    assert [one.field for one in own.differences[0].shown] == ["ipv4.src_addr"]


def test_port_0_is_explained() -> None:
    assert "no port was chosen" in story("forward-one", PORT).summary
    other = story("forward-one", PORT, "decision.egress_port = port + 1;")
    assert "nobody has chosen" not in other.summary


def test_copies_that_are_wrong_in_the_same_way_are_told_once() -> None:
    shown = printed(verdict("hdr.ethernet.ether_type = ETHERTYPE_IPV4;"))
    assert shown.count("0xab37") == 2  # the packet that came in, and the difference
    assert re.search(r"on ports \d+, \d+ and \d+, alike: ethernet ipv4", shown)


def test_a_missing_default_action_is_named() -> None:
    rest = "        size = 4096;\n    }\n    // END QUOTE"
    found = story("remaining-copies", f"        const default_action = drop();\n{rest}", rest)
    assert re.search(
        r"The table bift \(bier/bier.p4:\d+\) has no entry .* no default", found.summary
    )
    assert (
        "default action"
        not in story("remaining-copies", "carried.remaining != 0;", "true;").summary
    )


def test_public_cases_have_sets_that_can_be_read() -> None:
    """Bits 1 to 8, and one more where three next hops have three receivers each."""
    for check in COURSE.checks:
        if not check.scenario or check.id in ("network", "sets-network"):
            continue
        for seed in public_seeds(check):
            steps = " ".join(COURSE.case(check, seed).case.told(99))
            named = re.findall(r"\(bits? ([\d, ]+)\)", steps)
            bits = [int(bit) for one in named for bit in one.split(",")]
            assert max(bits, default=0) <= 9, (check.id, steps)


def test_the_table_follows_the_handout_with_subtotals() -> None:
    shown = printed(verdict(PORT), width=100)
    rows = re.findall(r"^ +(\d) (\w[\w ]+?) +(\d+)/(\d+)$", shown, re.MULTILINE)
    assert [(number, title) for number, title, *_ in rows] == [
        (str(number), part.title) for number, part in enumerate(COURSE.parts, 1)
    ]
    assert sum(int(points) for *_, points, _ in rows) == 46
    assert [int(most) for *_, most in rows] == [20, 25, 25, 15, 15]
    assert re.search(r"^SKIPPED +3\.1 .*\(waits for 2\.1\)", shown, re.MULTILINE)


def test_one_part_alone() -> None:
    whole = verdict(PORT)
    shown = printed(whole, part="decapsulate")
    assert "4 Decapsulate" in shown and "2 Forward" not in shown and "total" not in shown
    assert "FAILED" not in shown
    broken = replace(whole, checks=tuple(judge(COURSE, {"bier/bier.p4": "x"}).checks))
    assert "The program compiles" in printed(broken, part="decapsulate")


@pytest.mark.parametrize("width", [80, 60])
def test_no_word_is_broken(width: int) -> None:
    found = verdict("hdr.bier.bit_string = carried.remaining & fbm;", "hdr.bier.bit_string = fbm;")
    wide, narrow = (set(printed(found, columns).split()) for columns in (400, width))
    assert {word for word in wide - narrow if len(word) < 30 and "─" not in word} == set()
