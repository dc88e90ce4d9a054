"""The views of a network of Tofinos: a student who steps through passes must see those that were
made, and what is on a cable must not be what was inside."""

from __future__ import annotations

import pytest

from p4lab.course.home import HERE
from p4lab.notebook import Lab, open_lab
from p4lab.systems.bier.views.passes import passes
from p4lab.systems.bier_tna.views.saturated import SHARES, Errata, in_words, saturate


@pytest.fixture(scope="module")
def lab() -> Lab:
    return open_lab("05-recirculation", folder=HERE.sources)


def test_a_pass_is_shown_with_its_ports_and_what_egress_does_with_the_mirror(lab: Lab) -> None:
    """r1 of the tree delivers to h5 (bit 1) and serves two next hops: three passes, by 3, the first
    and the second looped port."""
    lab.reload()
    sent = lab.send()
    assert (sent.came_by("r1"), sent.passes("r1")) == ("3, 68, 69", 3)
    assert sent.came_by("r3") == "nothing"
    hop = sent.hop("r1")
    assert hop is not None
    first, second, third = passes(hop, sent.topology, lab.own_files, [])
    assert first.outcome == "sent on port 1 to h5; a copy goes round once more by port 68"
    assert second.outcome.endswith("with bits 7 and 9; a copy goes round once more by port 69")
    assert "once more" not in third.outcome
    said = [step.text for step in second.steps]
    assert "Table `served` [entry=7]: hit, take_out(fbm=bits 2, 3, 4, 5, 7, 9 and 10)" in said
    assert "`bier.bit_string`: bits 7, 8 and 9 → bit 8" in said
    read = [text for text in said if text.startswith("The parser reads")]
    assert read == ["The parser reads the bier header: bits 7, 8 and 9."], (
        "once, not at egress, too"
    )


def test_what_is_on_a_cable_is_neither_what_was_inside_nor_less_than_was_sent(lab: Lab) -> None:
    lab.reload()
    sent = lab.send()
    assert sent.headers("r6", "r1") == "ethernet, bier, ipv4"
    assert sent.headers("r1", "h5") == "ethernet, ipv4"
    told = lab.packet_view("r1", sent).summary()
    assert "bier removed" in told and "ipv4 removed" not in told and "internal" not in told


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, 0), (0.1429, 1), (0.1607, 1), (0.3333, 2), (0.5325, 3), (0.9932, 4), (1.0, 4)],
)
def test_a_share_is_one_of_the_choices(share: float, said: int) -> None:
    assert in_words(share) == SHARES[said]


def test_a_saturated_line_is_shown_beside_formula_and_paper(lab: Lab) -> None:
    """38.2, 61.8 and 100 are equation 2 for three next hops and one port; 43.3 was measured."""
    found = lab.saturate(3, 1, "fresh-first")
    assert [round(one.value) for one in found.first.throughput] == [100, 100, 0]
    assert found.share() == "nothing"
    text, html = repr(found), found._repr_html_()
    lines = text.splitlines()
    assert lines[0] == "3 next hops, 1 recirculation port, 100 Gb/s come in"
    assert lines[3].split()[-3:] == ["100.0", "61.8", "38.2"]
    assert "43.3 Gb/s measured, 38.2" in text and "43.3 Gb/s measured" in html
    both = found + saturate(lab, 3, 1, "looped-first")
    assert "your program, looped-first" in repr(both)
    assert "16.07" in repr(Errata()) and "<td>16.07" in Errata()._repr_html_()
