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
    more, reset = counter.children[0].children
    more.click()
    assert counter.lost == 3 * 3  # three of five hosts are behind the link
    lab.set_link("r1", "r2", False)
    more.click()
    assert str(counter) == "ring: 7 packets sent to 239.1.1.1, 9 lost"
    lab.send(stream=2, packets=5)
    assert "7 packets" in str(counter), "another stream is not counted"
    reset.click()
    assert str(counter) == "ring: 0 packets sent to 239.1.1.1, 0 lost"


def test_a_button_breaks_a_link_for_the_routers_or_behind_their_backs(lab: Lab) -> None:
    _, row, see, tell = lab.link_buttons().children
    button = row.children[0]
    see.value = tell.value = False
    button.value = False
    assert lab.send().missing == ("h2", "h3", "h4")
    button.value = True
    see.value = True
    button.value = False
    assert lab.send().ok
    assert lab.send().copies("r1", "r6") > 1, "tunnels"
    button.value = True
    tell.value = True
    button.value = False
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
