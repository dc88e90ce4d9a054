"""Trees in several packets, against all ways to share out their receivers.

If these fail, a group that is too big for one list misses listeners, serves some twice, or sends
more packets than it has to.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from p4lab.model.control import NumberError
from p4lab.systems.msr6 import rlb, te
from p4lab.systems.msr6.split import split
from p4lab.systems.msr6.tree import Node, Tree


def random_tree(draw: random.Random, nodes: int, receivers: int) -> Tree:
    """Bushy or long, with receivers anywhere, even at the root."""
    reach = draw.choice([2, 4, nodes])
    parents = {node: draw.randrange(max(0, node - reach), node) for node in range(1, nodes)}
    wanted = draw.sample(range(nodes), receivers)
    return Tree.of(0, parents, wanted, {node: node for node in range(nodes)})


def partitions(receivers: list[Node]) -> Iterator[list[list[Node]]]:
    """All ways to share out receivers among packets."""
    if not receivers:
        yield []
        return
    first, *others = receivers
    for packets in partitions(others):
        yield [[first], *packets]
        for number, packet in enumerate(packets):
            yield [*packets[:number], [first, *packet], *packets[number + 1 :]]


def list_entries(tree: Tree) -> int:
    """Of TE, by hand: a SID for all nodes but the root, a second one for receivers inside."""
    nodes = set(tree.depth_first()) - {tree.root}
    return len(nodes) + sum(node == tree.root or node in tree.children for node in tree.receivers)


def router_entries(tree: Tree) -> int:
    """Of RLB, by hand, where numbers that divide by 3 are hosts unless they have children."""
    return sum(node in tree.children or is_router(node) for node in tree.parents)


def is_router(node: Node) -> bool:
    return bool(node % 3)


def list_chains(tree: Tree) -> dict:
    return te.chains(tree)


def router_chains(tree: Tree) -> dict:
    rows = {node: () for node in tree.depth_first() if node in tree.children or is_router(node)}
    return rlb.chains(tree, {tree.root: (), **rows})


@pytest.mark.parametrize(
    ("entries", "chains", "seed"),
    [(list_entries, list_chains, 4), (router_entries, router_chains, 5)],
    ids=["te", "rlb"],
)
def test_splits_against_all_splits(entries, chains, seed: int) -> None:
    draw = random.Random(seed)
    rounds, fewest, best, worst = 0, 0, 0, 1.0
    while rounds < 300:
        tree = random_tree(draw, draw.randint(8, 20), draw.randint(2, 7))
        longest = max(len(chain) for chain in chains(tree).values())
        if entries(tree) <= max(longest, 1):
            continue  # in one packet, whatever the limit
        limit = draw.randint(max(longest, 1), entries(tree) - 1)
        scores = []
        for packets in partitions(list(tree.receivers)):
            sizes = [entries(tree.only(packet)) for packet in packets]
            if max(sizes) <= limit:
                scores.append((len(packets), sum(sizes)))
        parts = split(tree, chains(tree), limit)
        assert sorted(node for part in parts for node in part.receivers) == sorted(tree.receivers)
        assert all(part.root == tree.root and entries(part) <= limit for part in parts)
        assert all(set(part.hops()) <= set(tree.hops()) for part in parts)
        found, optimum = (len(parts), sum(map(entries, parts))), min(scores)
        assert found >= optimum, "the brute force overlooks a split"
        assert found[0] <= optimum[0] + 1
        fewest += found[0] == optimum[0]
        best += found == optimum
        worst = max(worst, found[0] / optimum[0])
        rounds += 1
    told = (
        f"seed {seed}: as few packets as possible in {fewest} of {rounds}, as few entries as well "
        f"in {best}; at worst {worst:.2f} times as many packets"
    )
    print(told)
    assert fewest >= 0.99 * rounds and best >= 0.97 * rounds, told


def test_what_fits_stays_as_it_is() -> None:
    tree = Tree(1, {1: (2, 3), 2: (5,), 3: (7,), 5: (8, 9), 7: (10, 11)}, (8, 9, 10, 11))
    assert split(tree, te.chains(tree), 8) == (tree,)
    halves = split(tree, te.chains(tree), 7)
    assert [part.receivers for part in halves] == [(8, 9), (10, 11)]
    assert halves[1].hops() == [(1, 3), (3, 7), (7, 10), (7, 11)]


def test_room_that_is_left_in_two_parts_of_the_tree_is_used() -> None:
    """Chains of 9, 9, 7 and 7: cuts of the depth-first order need three packets of 16."""
    parents, ends, free = {}, [], 1
    for length in (9, 9, 7, 7):
        nodes = range(free, free + length)
        parents |= {node: node - 1 for node in nodes} | {free: 0}
        ends.append(nodes[-1])
        free += length
    tree = Tree.of(0, parents, ends, {node: node for node in range(free)})
    parts = split(tree, te.chains(tree), 16)
    assert len(parts) == 2
    assert sorted(te.entries(part) for part in parts) == [16, 16]


def test_a_path_that_no_list_can_hold_names_its_end() -> None:
    line = Tree("r0", {f"r{n}": (f"r{n + 1}",) for n in range(17)}, ("r3", "r17"))
    with pytest.raises(NumberError, match=r"from r0 to r17 alone needs 17 entries, .* read 16"):
        te.packets(line, {f"r{n}": n for n in range(18)}, 16)
    assert len(te.packets(line, {f"r{n}": n for n in range(18)}, 18)) == 1


def test_receivers_behind_one_router_share_its_entry() -> None:
    """RLB pays for routers: 20 hosts behind two of them fit into a list of two entries."""
    hosts = tuple(range(10, 20)), tuple(range(20, 30))
    tree = Tree(0, {0: (1, 2), 1: hosts[0], 2: hosts[1]}, hosts[0] + hosts[1])
    rows = {0: rlb.numbered(0, [(1, 1), (2, 2)])}
    rows |= {
        router: rlb.numbered(router, [(0, 1)], [(host, host) for host in around])
        for router, around in zip((1, 2), hosts, strict=True)
    }
    nodes = {node: node for node in range(30)}
    assert [len(one.entries) for one in rlb.packets(tree, nodes, rows, 2)] == [2]
    assert [one.receivers for one in rlb.packets(tree, nodes, rows, 1)] == [*hosts]


def test_a_thousand_receivers() -> None:
    """Every one of them once, in lists of any size."""
    draw = random.Random(6)
    tree = random_tree(draw, 4000, 1000)
    nodes = {node: node for node in range(4000)}
    longest = max(map(len, te.chains(tree).values()))
    assert longest <= 60
    for limit in (longest, 2 * longest, 127):
        packets = te.packets(tree, nodes, limit)
        assert max(len(packet.entries) for packet in packets) <= limit
        assert sorted(node for packet in packets for node in packet.receivers) == sorted(
            tree.receivers
        )
