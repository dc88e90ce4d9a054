"""Verdicts made by hand, for tests of what is written of them."""

from __future__ import annotations

from dataclasses import replace

from p4lab.grading.record import (
    CheckResult,
    FieldDifference,
    PacketDifference,
    Place,
    Story,
    Verdict,
)
from p4lab.grading.writers.report import Heading

HEADING = Heading("Lines and dots", {"lines": "Draw lines", "dots": "Draw dots"})

STORY = Story(
    steps=("table t: key=1 -> go(port=2)", "a packet comes in on port 1: ethernet()"),
    summary="The packet on port 2 still has the header dot.",
    signature="header not removed",
    hint="Only valid headers are sent.",
    differences=(
        PacketDifference(
            2,
            2,
            ("ethernet",),
            ("ethernet", "dot"),
            (FieldDifference("dot.x", None, "0x1 | 2"), FieldDifference("ethernet.t", "1", "2")),
        ),
        PacketDifference(3, None),
        PacketDifference(None, 4),
        PacketDifference(5, 6),
    ),
    router="r1",
    place=Place("lines.p4", 12, "    hdr.dot.setValid();  // `*`"),
    why="this leaves dot valid",
)
# Nothing of this may be seen by a student. The letters are in no other text.
SECRET = Story(
    steps=("table t: key=0xQZX1",),
    summary="The packet 0xQZX2 is wrong.",
    signature="wrong field",
    hint="Which line wrote it?",
    differences=(PacketDifference(2, 2, (), (), (FieldDifference("f", "0xQZX3", "0xQZX4"),)),),
    router="QZX5",
    place=Place("QZX6.p4", 99, "QZX7"),
    why="QZX8",
)

CHECKS = (
    CheckResult("compiles", "The program compiles", "", "passed", 0, 0, cases=1),
    CheckResult("line", "A line is straight", "lines", "passed", 10, 10, cases=3),
    CheckResult("dot", "A dot goes away", "dots", "failed", 2.5, 5, STORY, cases=2),
    CheckResult("dots", "Dots | stay *apart*", "dots", "failed", 0, 5, SECRET, hidden=True),
    CheckResult("end", "It ends", "dots", "skipped", 0, 5, waits_for=("dot", "dots")),
)

ANN = Verdict("07-dots", "ann", CHECKS)
BOB = Verdict(
    "07-dots",
    "bob",
    tuple(
        replace(check, status="skipped", points=0, story=None, hidden=False, waits_for=())
        for check in CHECKS
    ),
    "The submission is a <pipe>; hand in a folder, a zip or a .p4 file.",
)
CAT = Verdict(
    "07-dots",
    "cat",
    tuple(
        replace(check, status="passed", points=check.max_points, story=None, hidden=False)
        for check in CHECKS
    ),
)
