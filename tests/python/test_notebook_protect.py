"""What lab 03's notebook asks of its lab: a link that fails while packets are on their way, the
numbers that copies have, and what becomes of a packet that is too long."""

from __future__ import annotations

import pytest

from p4lab.course.home import HERE
from p4lab.model.entries import TableEntry, Update
from p4lab.notebook import Lab, open_lab


@pytest.fixture
def lab() -> Lab:
    return open_lab("03-protect", folder=HERE.sources)


def test_a_link_fails_on_the_way_and_stays_down(lab: Lab) -> None:
    sent = lab.send(packets=10, cut=("r1", "r2", 4.5))
    assert sent.ok, "protection loses nothing"
    assert sent.copies("r1", "r2") == 4, "the fifth was on the link"
    assert lab.down == {frozenset(("r1", "r2"))}
    assert sent.down == frozenset(), "it was up when the first packet left"
    assert lab.send().copies("r1", "r2") == 0
    lab.set_link("r1", "r2", True)
    assert lab.send().copies("r1", "r2") == 1


def test_a_link_fails_on_the_way_and_works_again(lab: Lab) -> None:
    sent = lab.send(packets=10, cut=("r1", "r2", 4.25, 6.75))
    assert sent.copies("r1", "r2") == 10 - 3
    assert lab.down == frozenset()
    assert lab.send().copies("r1", "r2") == 1


def test_a_cut_that_is_longer_than_the_run_ends_all_the_same(lab: Lab) -> None:
    assert lab.send(cut=("r1", "r2", 0, 5000)).copies("r1", "r2") == 0
    assert lab.send().copies("r1", "r2") == 1


@pytest.mark.parametrize(
    "cut", [("r1", "r2", -1.0), ("r1", "r2", 2.0, 2.0), ("r1", "r2", 3.0, 1.0)]
)
def test_a_cut_in_no_order_is_refused(lab: Lab, cut: tuple[str, str, float]) -> None:
    with pytest.raises(ValueError, match="works again after that"):
        lab.send(cut=cut)
    assert lab.send().ok and lab.down == frozenset()


def test_a_link_that_is_down_cannot_fail(lab: Lab) -> None:
    lab.set_link("r1", "r2", False)
    with pytest.raises(ValueError, match="down already"):
        lab.send(cut=("r1", "r2", 1.0))
    with pytest.raises(ValueError, match="no link r1-r5; r1 has links to "):
        lab.send(cut=("r1", "r5", 1.0))


def test_numbers_are_those_on_a_link(lab: Lab) -> None:
    sent = lab.send(packets=4, cut=("r1", "r2", 1.5, 1.75))
    assert sent.numbers("r1", "r2") == "1, 3, 4"
    assert sent.numbers("r1", "r3") == "1, 2, 3, 4"
    assert sent.numbers("r5", "h3") == "none"


@pytest.mark.parametrize(("mtu", "outcome"), [(114, "it leaves 2 times"), (113, "control plane")])
def test_a_packet_that_is_too_long_goes_to_the_control_plane(
    lab: Lab, mtu: int, outcome: str
) -> None:
    """As in the notebook: 86 bytes, and 28 more in front."""
    row = lab.entries("r1", "protected_flows")[0]
    key, params = (tuple(row[pairs].items()) for pairs in ("matches", "args"))
    params = tuple({**dict(params), "mtu": mtu}.items())
    changed = TableEntry("protected_flows", key, "protect", params, row["priority"])
    lab.write("r1", [Update("modify", changed)])
    assert outcome in lab.send().outcome("r1")


def test_an_outcome_is_told_of_every_router(lab: Lab) -> None:
    sent = lab.send()
    assert sent.outcome("r2") == "it leaves once"
    assert sent.outcome("r6") == "nothing"
