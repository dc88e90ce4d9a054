"""If these fail, packets for a slow link wait where no program sees them: ECN never marks."""

from __future__ import annotations

import pytest

from p4lab.p4runtime.paced import packets_per_second, rate_of

SHOWN = "class htb 5:1 root prio 0 rate {} ceil {} burst 15Kb cburst 1600b \n"


@pytest.mark.parametrize(
    ("written", "rate"),
    [("500Kbit", 500_000), ("10Mbit", 10_000_000), ("1Gbit", 10**9), ("800bit", 800)],
)
def test_the_rate_that_mininet_gives_an_interface(written: str, rate: int) -> None:
    assert rate_of(SHOWN.format(written, written)) == rate


def test_no_rate_without_a_class() -> None:
    assert rate_of("") is None
    assert rate_of("class fq_codel 8001:1 parent none\n") is None


def test_packets_a_second_of_a_link() -> None:
    """A frame of 1518 bytes, 8 of preamble and 12 of gap: 40.6 of them in 500 kbit."""
    assert packets_per_second(500_000) == 40
    assert packets_per_second(100) == 1, "a queue without a rate would hold nothing back"
