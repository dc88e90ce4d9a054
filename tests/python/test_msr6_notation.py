"""What a reader of a check or a trace is told of MSR6's values: a name that does not fit its number
would send students to the wrong guard."""

from __future__ import annotations

import re

import pytest

from p4lab.paths import ROOT
from p4lab.systems.msr6.notation import NOTATION
from p4lab.systems.msr6.reasons import REASONS

HEADERS = (ROOT / "p4/msr6/headers.p4").read_text(encoding="utf-8")


def test_reasons_have_the_names_of_the_program() -> None:
    _, _, reasons = HEADERS.partition("enum bit<8> drop_reason_t {")
    told = re.findall(r"^    ([A-Z_]+) += (\d+)", reasons.partition("}")[0], re.MULTILINE)
    assert {int(number): name for name, number in told if name != "NONE"} == REASONS
    assert NOTATION.said("packet_in.reason", 42, 7) == "42 (POINTER)"
    assert NOTATION.said("packet_in.reason", 12, 7) == "12 (no reason)"


@pytest.mark.parametrize(
    ("value", "width", "said"),
    [
        (0x5F00 << 112 | 5 << 48 | 0x0100 << 32 | 0x02030000, 128, "router 5, End.RL: "),
        (0x5F00 << 80 | 5 << 16 | 0x0100, 96, "router 5, End.RL"),
        (0x20010DB8 << 64 | 1, 96, "2001:db8::1:0:0"),
        (0x20010DB8 << 96 | 1, 128, "2001:db8::1"),
    ],
)
def test_a_sid_is_said_with_its_argument_or_without(value: int, width: int, said: str) -> None:
    found = NOTATION.said("sid", value, width)
    assert found.startswith(said) if said.endswith(": ") else found == said
