"""Failures in a notebook: a counter or a way that is wrong would teach the wrong thing."""

from __future__ import annotations

import networkx
import pytest

from p4lab.course.home import HERE
from p4lab.notebook import Lab, open_lab


@pytest.fixture
def lab() -> Lab:
    return open_lab("02-frr", folder=HERE.sources)


def test_the_counter_counts_what_subscribers_miss(lab: Lab) -> None:
    counter = lab.loss_counter(packets=3)
    lab.send()
    assert (str(counter), counter.lost) == ("ring: 1 packet sent to 239.1.1.1, 0 lost", 0)
    lab.set_link("r1", "r2", False, seen=False)
    counter.send()
    assert counter.lost == 3 * 3  # three of five hosts are behind the link
    lab.set_link("r1", "r2", False)
    counter.send()
    assert str(counter) == "ring: 7 packets sent to 239.1.1.1, 9 lost"
    lab.send(stream=2, packets=5)
    assert "7 packets" in str(counter), "another stream is not counted"
    counter.reset()
    assert str(counter) == "ring: 0 packets sent to 239.1.1.1, 0 lost"


def test_a_button_breaks_a_link_for_the_routers_or_behind_their_backs(lab: Lab) -> None:
    links = lab.link_buttons()
    links.seen = links.tell = False
    links.press("r1", "r2")
    assert lab.send().missing == ("h2", "h3", "h4")
    assert "r1 to r2 (down)" in links.summary()
    links.press("r1", "r2")
    links.seen = True
    links.press("r1", "r2")
    assert lab.send().ok
    assert lab.send().copies("r1", "r6") > 1, "tunnels"
    links.press("r1", "r2")
    links.tell = True
    links.press("r1", "r2")
    assert lab.send().copies("r1", "r6") == 1, "a tree again"


@pytest.mark.parametrize("link", [("r1", "r2"), ("r2", "r3"), ("r5", "r6")])
def test_the_way_of_a_neighbours_packet_is_the_shortest_that_is_left(lab: Lab, link) -> None:
    graph = lab.topology.graph.copy()
    assert lab.send().way("h2") == tuple(networkx.shortest_path(graph, "h1", "h2")[1:-1])
    lab.set_link(*link, False)
    graph.remove_edge(*link)
    sent = lab.send()
    assert sent.ok
    assert sent.way("h2") == tuple(networkx.shortest_path(graph, "h1", "h2")[1:-1])
    assert sent.way("h1") == ()


def test_every_pass_of_the_stepper_has_a_number_of_its_own(lab: Lab) -> None:
    """A packet of which several copies come back has several passes at once, so to say."""
    lab.set_link("r1", "r2", False)
    sent = lab.send()
    numbers = [one["number"] for one in lab.bit_view("r1", sent).data["passes"]]
    assert numbers == list(range(1, sent.passes("r1") + 1))
    assert len(numbers) > 3
