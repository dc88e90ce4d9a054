"""Networks by several threads (`Network.run_until`). If these fail, a run with threads is another
run, or the figure of `./lab bench scale` for them is one of a network that loses its packets."""

from __future__ import annotations

import pytest

from p4lab import _engine
from p4lab.bench.tree import DELAY_NS, GAP_NS, Tree, build

END_NS = 100 * GAP_NS


def received(tree: Tree) -> dict[tuple[int, int], int]:
    """Frames by sender and receiver."""
    switches = 5 * tree.k**2 // 4
    return {
        (row["flow"], host): row["received"]
        for host in range(tree.hosts)
        for row in tree.net.report(switches + host)
        if row["received"]
    }


@pytest.mark.parametrize("k", [4, 6])
def test_each_host_hears_from_one_other(k: int) -> None:
    tree = build(k)
    tree.run(END_NS, 1)
    seen = received(tree)
    assert {sender for sender, _ in seen} == {receiver for _, receiver in seen}
    assert len(seen) == tree.hosts
    late = 6 * (DELAY_NS + 100) // GAP_NS + 2  # frames that are still on six cables
    assert all(100 - late <= count <= 100 for count in seen.values()), seen


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(threads: int) -> None:
    trees = [build(6), build(6)]  # enough to do for threads to be used
    for tree, number in zip(trees, (1, threads), strict=True):
        tree.net.fingerprint_on()
        assert tree.net.undivided(END_NS) is None
        tree.run(END_NS, number)
    alone, shared = trees
    assert alone.crossed() == shared.crossed()
    assert received(alone) == received(shared)
    assert alone.net.fingerprint == shared.net.fingerprint is not None


def test_what_keeps_a_network_in_one_piece_is_said() -> None:
    """A network with a controller is run as before, whatever is asked."""
    net = _engine.Network()
    a, b = net.add_host("a", 1), net.add_host("b", 2)
    net.connect((a, 0), (b, 0))
    assert net.undivided(10) == "no cable has a delay"
    net.notify(a)
    assert net.undivided(10) == "a switch has a controller, or a host tells of its frames"
    assert net.run_until(10, threads=2) is None
    assert net.now == 10


def test_no_threads_are_refused() -> None:
    with pytest.raises(ValueError, match="zero"):
        _engine.Network().run_until(1, threads=0)
