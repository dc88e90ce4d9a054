"""`p4lab experiment encodings`, small. If these fail, docs/encodings.md says of some encoding what
is not so, or somebody cannot compare in a network of their own."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import replace
from ipaddress import IPv6Address
from itertools import pairwise
from pathlib import Path

import networkx
import pytest

from bier_cables import GROUP as GROUP4
from bier_cables import Cables, members_of
from cli_runner import p4lab
from p4lab import _engine
from p4lab.control.listeners import Member
from p4lab.engine import load_program
from p4lab.experiment import tidy
from p4lab.model.entries import TableEntry, diff
from p4lab.packets.probe import probe_frame
from p4lab.paths import ROOT
from p4lab.spread.sweep import Sweep
from p4lab.systems.bier.entries import bier_entries
from p4lab.systems.msr6 import trees
from p4lab.systems.msr6.entries import msr6_entries
from p4lab.systems.msr6.experiments import (
    comparison,
    crossovers,
    networks,
    stages,
    summary,
)
from p4lab.systems.msr6.experiments.comparison import Observation, Scope, Sent
from p4lab.systems.msr6.experiments.encodings import BY_NAME, ENCODINGS, Case
from p4lab.systems.msr6.experiments.encodings_figures import marked
from p4lab.systems.msr6.experiments.encodings_report import Report
from p4lab.systems.msr6.experiments.networks import Draw, Network
from p4lab.systems.msr6.settings import Msr6Settings
from p4lab.topology import Topology

PAGE = ROOT / "docs" / "encodings.md"
GOLDEN = Path(__file__).parent / "golden" / "encodings.json"
SMALL = Scope({}, 1, 1, 16, "cheapest", ())


def sent(network: Network, root, receivers, segments: int = 16) -> dict[str, Sent | None]:
    """What every encoding takes for one group."""
    drawn = Draw(network, root, tuple(receivers))
    scope = replace(SMALL, segments=segments)
    found = comparison.observe("receivers", "", 1, drawn, [len(receivers)], scope)
    return {one.encoding: one.sent for one in found}


# ---- Formulas by hand


@pytest.mark.parametrize("hops", [1, 2, 3, 9])
def test_a_chain(hops: int) -> None:
    """One receiver at the end of a chain, in bytes. IPv6 and the fixed part are 48.

    RBS: 24 bits in front, two for the root (itself, one neighbour), three for each router between.
    RTS: three bytes for the last router (flags, length of bits, bits), and three more for each
    before it (flags, length of the list, and the flags that have a SID now).
    """
    got = sent(networks.whole(networkx.path_graph(hops + 1)), 0, [hops])
    whole = {name: (one.tree_bytes, one.root_bytes) for name, one in got.items() if one}
    bits = (24 + 2 + 3 * (hops - 1) + 7) // 8

    def padded(size: int) -> int:
        return 48 + (size + 7) // 8 * 8

    assert whole == {
        "BIER 64": (8, 20),
        "BIER 128": (16, 28),
        "BIER 256": (32, 44),
        "MSR6 TE": (16 * hops, 48 + 16 * hops),
        "MSR6 RLB": (16 * hops, 48 + 16 * hops),
        "MSR6 BE": (16, 64),
        "RBS": (bits, padded(bits)),
        "RTS": (3 * hops, padded(3 * hops)),
        "stateful": (0, 0),
    }
    for name, one in got.items():
        assert one is not None
        assert (one.packets, one.copies, one.longest) == (1, hops, one.root_bytes)
        if name == "RTS":  # what is behind a router is left out; a SID stays, a leaf has none
            headers = [padded(3 * left + 1) for left in range(hops - 1, 0, -1)] + [padded(1)]
            assert one.link_bytes == sum(headers)
        else:
            assert one.link_bytes == hops * one.root_bytes
        assert one.wire_bytes(1000) == one.link_bytes + 1000 * hops
        # The ingress puts the tree in front and sends one copy, all others pass it once.
        assert one.busiest == (1 if name == "stateful" else 2)
        assert one.passes == hops + (1 if name == "stateful" else 2)
        assert one.rows == (hops - 1 if name == "stateful" else 0)


@pytest.mark.parametrize("leaves", [2, 5, 15])
def test_a_star(leaves: int) -> None:
    """The ingress is in the middle. Leaves are routers: one entry each, for TE and for RLB."""
    got = sent(networks.whole(networkx.star_graph(leaves)), 0, range(1, leaves + 1))
    for name in ("MSR6 TE", "MSR6 RLB"):
        assert got[name].tree_bytes == 16 * leaves
        assert got[name].link_bytes == leaves * (48 + 16 * leaves)
    # RBS: the root's bits, itself and all neighbours, and no unit for who has no other neighbour.
    assert got["RBS"].tree_bytes == (24 + 1 + leaves + 7) // 8
    # RTS: flags, length of bits, bits.
    assert got["RTS"].tree_bytes == 2 + (leaves + 7) // 8
    assert all(one.busiest == leaves + 1 for name, one in got.items() if name != "stateful")
    assert got["stateful"].busiest == 1


def test_receivers_in_several_sets_and_lists() -> None:
    """A star with 160 leaves, whose BFR-ids are 2 to 161; lists have 16 entries."""
    network = networks.whole(networkx.star_graph(160))
    got = sent(network, 0, range(1, 161))
    assert got["MSR6 RLB"] is None  # 160 neighbours, 16 bits
    packets = {name: one.packets for name, one in got.items() if one}
    assert packets == {
        "BIER 64": 3,
        "BIER 128": 2,
        "BIER 256": 1,
        "MSR6 TE": 10,
        "MSR6 BE": 2,
        "RBS": 1,
        "RTS": 1,
        "stateful": 1,
    }
    assert got["MSR6 TE"].root_bytes == 10 * (48 + 16 * 16)
    assert got["MSR6 TE"].busiest == 10 + 160
    assert got["MSR6 BE"].copies == 160  # no link has two of them


def test_what_is_too_far_away_for_a_list_has_no_numbers() -> None:
    got = sent(networks.whole(networkx.path_graph(20)), 0, [19])
    assert got["MSR6 TE"] is got["MSR6 RLB"] is None
    assert got["MSR6 BE"].copies == 19
    longer = sent(networks.whole(networkx.path_graph(20)), 0, [19], segments=19)
    assert longer["MSR6 TE"].longest == 48 + 16 * 19


def test_hosts_cost_local_bits_no_entry() -> None:
    """A fat tree of 4 ports with two hosts at each switch of its lowest layer, all of them."""
    network = networks.fat_tree(4, hosts=2)
    assert (len(network.routers), len(network.leaves), network.links) == (20, 16, 32 + 16)
    got = sent(network, ("edge", 0, 0), network.leaves, segments=127)
    # Routers of the tree: 8 edges, one above each pod's two, one core; the ingress has no entry.
    assert got["MSR6 RLB"].tree_bytes == 16 * (8 + 4 + 1 - 1)
    assert got["MSR6 TE"].tree_bytes == 16 * (8 + 4 + 1 - 1 + 16)
    assert got["MSR6 RLB"].copies == got["MSR6 TE"].copies == 12 + 16


# ---- What is counted, against what routers do

GROUP6 = IPv6Address("ff3e::4:1")
NETWORK = networkx.Graph([(1, 2), (1, 3), (2, 4), (2, 5), (3, 6), (4, 7)])
"""A tree from router 1, in which 2 and 4 receive and have others below them"""
RECEIVERS = (2, 4, 5, 6, 7)


def topology_of(graph: networkx.Graph) -> Topology:
    """Routers of these numbers, each with a host."""
    return Topology.from_data(
        {
            "name": "drawn",
            "description": "",
            "router": [{"number": node} for node in graph],
            "host": [{"name": f"h{node}", "router": f"r{node}"} for node in graph],
            "link": [{"a": f"r{a}", "b": f"r{b}"} for a, b in graph.edges],
        }
    )


def cables(name: str, topology: Topology) -> Cables:
    listeners = [topology.host(f"h{node}") for node in RECEIVERS]
    found = Cables(topology, 64)
    if name == "BIER 64":
        for router, rows in bier_entries(topology, members_of(set(listeners)), 64).items():
            found.add(router, "v1model.p4", rows)
        return found
    encoding = {"stateful": "clone"}.get(name, name.removeprefix("MSR6 ").lower())
    members = frozenset(Member(host.router, host.port, int(GROUP6)) for host in listeners)
    settings = Msr6Settings(encoding=encoding)
    program = load_program(ROOT / "p4/msr6/v1model.p4", [])
    for router, rows in msr6_entries(
        topology, members, settings, frozenset([(int(GROUP6), "r1")])
    ).items():
        found.switches[router] = _engine.Switch(program)
        found.switches[router].write(diff(frozenset(), rows))
    return found


@pytest.mark.parametrize("name", ["BIER 64", "MSR6 TE", "MSR6 RLB", "MSR6 BE", "stateful"])
def test_passes_and_bytes_are_those_of_the_programs(name: str) -> None:
    """A frame passes a router once, and once more for each time that the recirculation port brings
    it back. What links carry more than without a tree is what stands in front."""
    topology = topology_of(NETWORK)
    wires = cables(name, topology)
    source = topology.host("h1")
    group = GROUP4 if name == "BIER 64" else GROUP6
    frame = probe_frame(source, group, 1, 0, length=200)
    wires.inject("r1", source.port, frame)
    network = networks.whole(NETWORK)
    tree = trees.least_cost(network.graph, 1, RECEIVERS)
    packets = BY_NAME[name].send(Case(network, tree, tree, 16))
    passes = BY_NAME[name].passes(packets, network.hosts)
    arrived = Counter({"r1": 1})
    arrived.update({far: n for (_, far), n in wires.links.items() if far in wires.switches})
    for router, switch in wires.switches.items():
        again, _ = switch.read_counter("sent", 509)
        assert arrived[router] + again == passes[int(router[1:])], router
    between = {link: n for link, n in wires.links.items() if link[1] in wires.switches}
    assert between == {(f"r{a}", f"r{b}"): 1 for a, b in tree.hops()}
    carried = 0
    for router, switch in wires.switches.items():
        for port, far in topology.ports(router).items():
            if far in wires.switches:
                carried += switch.read_counter("sent", port)[1]
    (packet,) = packets
    assert carried - len(frame) * len(between) == packet.on_links


def test_rows_are_those_of_the_control_planes() -> None:
    """Rows of the tables that serve an encoding and no group, where no hosts have bits."""
    graph = networkx.random_regular_graph(4, 12, seed=1)
    graph = networkx.relabel_nodes(graph, {node: node + 1 for node in graph})
    data = {"router": [{"number": node} for node in sorted(graph)], "host": []}
    links = [{"a": f"r{a}", "b": f"r{b}"} for a, b in graph.edges]
    topology = Topology.from_data({"name": "x", "description": "", **data, "link": links})
    network = networks.whole(graph)
    held = msr6_entries(topology, frozenset(), Msr6Settings())
    bier = bier_entries(topology, frozenset(), 64)
    for router in topology.routers:
        tables = Counter(row.table for row in held[router.name] if isinstance(row, TableEntry))
        rows = {one.name: one.rows(network, router.number) for one in ENCODINGS}
        own_sid = 1
        assert rows["MSR6 TE"] == own_sid
        assert rows["MSR6 RLB"] == own_sid + tables["adjacencies"]
        assert rows["MSR6 BE"] == own_sid + tables["bift"]
        bift = [r for r in bier[router.name] if isinstance(r, TableEntry) and r.table == "bift"]
        assert rows["BIER 64"] == rows["BIER 256"] == len(bift)
    assert BY_NAME["MSR6 TE"].by_routes
    assert not BY_NAME["MSR6 RLB"].by_routes


def test_stages_are_what_fit_says_of_each_program() -> None:
    found = {one.program: one for one in stages.estimates()}
    assert [found[f"BIER {bsl}"].ingress for bsl in (64, 128, 256)] == [7, 8, 10]  # docs/fit.md
    assert found["MSR6 TE"].ingress <= found["MSR6 TE, RLB"].ingress <= 12
    assert found["MSR6 TE, RLB, BE"].tcams > found["MSR6 TE, RLB"].tcams  # its BIFT


# ---- Crossovers


def observation(encoding: str, receivers: int, seed: int, size: int | None) -> Observation:
    one = None if size is None else Sent(1, size, size, size, size, 1, 1, 1, 0)
    return Observation("receivers", "net", seed, 9, 9, receivers, 1, encoding, 1, 0, one)


Sizes = dict[int, list[int | None]]


def compared(te: Sizes, be: Sizes) -> dict[str, str]:
    """What is said of TE and BE with these bytes by receivers and draw."""
    found = [
        observation(name, receivers, seed, size)
        for name, cells in (("MSR6 TE", te), ("MSR6 BE", be))
        for receivers, sizes in cells.items()
        for seed, size in enumerate(sizes)
    ]
    others = {name for pair in crossovers.PAIRS for name in pair} - {"MSR6 TE", "MSR6 BE"}
    found += [observation(name, 1, 0, None) for name in others]
    return {one.measure: one.said for one in crossovers.crossovers(found, 0)}


@pytest.mark.parametrize(
    ("te", "said"),
    [
        ({1: [9], 2: [9], 3: [9]}, "everywhere"),
        ({1: [10], 2: [11], 3: [11]}, "nowhere"),
        ({1: [9], 2: [9], 3: [11]}, "up to 2"),
        ({1: [11], 2: [9], 3: [9]}, "from 2"),
        ({1: [9], 2: [10], 3: [9]}, "at 1, from 3"),
        ({1: [11], 2: [9], 3: [10]}, "at 2"),
        ({1: [9], 2: [9], 3: [None]}, "1 to 2"),  # nobody knows about 3
        ({1: [11], 2: [9], 3: [None]}, "at 2"),
        ({1: [11], 2: [11], 3: [None]}, "nowhere in 1 to 2"),
        ({1: [None], 2: [None], 3: [None]}, None),
    ],
)
def test_crossovers_in_words(te, said) -> None:
    te = {receivers: 3 * draws for receivers, draws in te.items()}
    be = {receivers: [10] * len(draws) for receivers, draws in te.items()}
    assert compared(te, be).get("tree_bytes") == said


@pytest.mark.parametrize("draws", [1, 2])
@pytest.mark.parametrize("size", [9, 11])
def test_too_few_draws_say_nothing(draws: int, size: int) -> None:
    """The difference of one or two draws is not a difference of encodings."""
    be: Sizes = {receivers: draws * [10] for receivers in (1, 2)}
    assert compared({1: draws * [size], 2: draws * [size]}, be)["tree_bytes"] == "too few draws"


def test_figures_mark_where_encodings_cross() -> None:
    """RBS is shorter than BE up to 2, and RTS than BIER 256 everywhere, so only that has an end."""
    sizes = {"RBS": [9, 9, 11], "RTS": [9, 9, 9]}
    found = [
        observation(name, receivers, seed, size)
        for name in dict.fromkeys(name for pair in crossovers.PAIRS for name in pair)
        for receivers, size in enumerate(sizes.get(name, [10, 10, 10]), 1)
        for seed in range(3)
    ]
    known = {one.key: one for one in summary.quantities(0)}
    marks = marked(crossovers.crossovers(found, 0), "net", known["tree_bytes"])
    assert [(one.first, one.second, one.ends) for one in marks] == [("RBS", "MSR6 BE", (2,))]
    assert marked(crossovers.crossovers(found, 0), "net", known["packets"]) == []


def test_where_there_are_fewer_draws_nothing_is_compared() -> None:
    """As with networks of which some have fewer leaves."""
    be: Sizes = {1: 3 * [10], 2: [10]}
    assert compared({1: 3 * [9], 2: [9]}, be)["tree_bytes"] == "at 1"


def test_a_difference_that_may_be_chance_is_none() -> None:
    be = {1: [10, 20, 30]}
    assert compared({1: [9, 19, 29]}, be)["root_bytes"] == "everywhere"  # in each draw
    assert compared({1: [1, 19, 31]}, be)["root_bytes"] == "nowhere"


def test_the_shortest_of_all_by_its_mean() -> None:
    found = [observation("BIER 64", k, s, 10) for k in (1, 2, 3) for s in (1, 2)]
    found += [
        observation("RTS", k, s, size) for k, size in ((1, 9), (2, 9), (3, 11)) for s in (1, 2)
    ]
    found += [observation("RBS", 2, s, 1 if s == 1 else None) for s in (1, 2)]
    found += [observation("stateful", k, s, 0) for k in (1, 2, 3) for s in (1, 2)]
    assert crossovers.shortest(found, 0)["net", "tree_bytes"] == [
        ("RTS", (1, 2)),
        ("BIER 64", (3, 3)),
    ]


# ---- Networks


def test_drawn_networks_are_those_of_their_seed() -> None:
    for name, source in networks.sources(40).items():
        one, again, other = (networks.draw(source, name, seed) for seed in (3, 3, 4))
        assert one.network.graph.arcs == again.network.graph.arcs
        assert (one.root, one.order) == (again.root, again.order)
        assert one.order != other.order
        assert one.root not in one.order
        assert {*one.order} | {one.root} >= set(one.network.leaves)
        assert set(one.network.leaves) >= set(one.order)


def test_a_fat_tree_has_five_quarters_of_its_ports_squared() -> None:
    assert [networks.fat_tree_ports(nodes) for nodes in (20, 44, 45, 200)] == [4, 4, 6, 12]
    network = networks.fat_tree(6)
    degrees = Counter(len(arcs) for arcs in network.graph.arcs.values())
    assert degrees == {3: 18, 6: 18 + 9}  # edges, those above them, and the core
    assert len(network.leaves) == 18


def test_numbers_of_receivers() -> None:
    found = list(networks.counts(200))
    assert found[:18] == [*range(1, 17), 20, 24]
    assert found[-3:] == [128, 160, 192]
    assert list(networks.counts(3)) == [1, 2, 3]
    assert all(b / a <= 2 for a, b in pairwise(found))


MAP = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <graph edgedefault="directed">
    <node id="b"/><node id="a"/><node id="c"/><node id="island"/>
    <edge source="a" target="b"/><edge source="b" target="a"/><edge source="b" target="c"/>
    <edge source="c" target="c"/>
  </graph>
</graphml>"""


def test_a_map_in_graphml(tmp_path: Path) -> None:
    file = tmp_path / "map.graphml"
    file.write_text(MAP)
    network = networks.read_graphml(file)
    assert network.routers == network.leaves == ("b", "a", "c")
    assert network.links == 2
    assert network.left_out == 1


def test_networks_that_fall_into_parts_are_told(tmp_path: Path) -> None:
    """Without this a comparison says 20 routers and has 16."""
    file = tmp_path / "map.graphml"
    file.write_text(MAP)
    drawn = networks.sources(20)
    sources = {"Waxman": drawn["Waxman"], "map": networks.Given(networks.read_graphml(file))}
    scope = Scope({**sources, "fat tree": drawn["fat tree"]}, 2, 1, 16, "cheapest", ())
    found = comparison.measure(scope, Sweep())
    report = Report(scope, found, [], 1000)
    assert report.parts == [
        "Waxman: only the largest connected part is compared, 16 to 18 of 20 routers",
        "map: only the largest connected part is compared, 3 of 4 routers",
    ]
    titles = [str(table.title) for table in report.tables]
    assert "Waxman: 18 routers, 16 receivers, 1 draw of 2, the others are smaller" in titles


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("<graphml", "cannot be read as GraphML"),
        ("<html/>", "cannot be read as GraphML"),
        (re.sub("<edge.*/>", "", MAP), "4 nodes and 0 links"),
    ],
)
def test_a_map_that_is_none_gets_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "map.graphml"
    file.write_text(text)
    with pytest.raises(ValueError, match=f"map.graphml .*{sentence}"):
        networks.read_graphml(file)


# ---- All of it


def small() -> list[Observation]:
    sources = networks.sources(20)
    return comparison.measure(replace(SMALL, sources=sources, draws=2), Sweep())


def test_a_small_comparison_is_the_golden() -> None:
    """Made by: python tests/python/test_msr6_encodings.py > tests/python/golden/encodings.json"""
    assert golden() == json.loads(GOLDEN.read_text())


def golden() -> dict[str, list[object]]:
    """Numbers of each draw with 1, 4 and 16 receivers, by network, seed, receivers and encoding."""
    return {
        f"{one.network}, seed {one.seed}, {one.receivers}, {one.encoding}": [
            one.tree_links,
            one.router_rows,
            *(vars(one.sent).values() if one.sent else [one.why]),
        ]
        for one in small()
        if one.receivers in (1, 4, 16)
    }


def test_rows_are_tidy_and_cells_their_means() -> None:
    found = small()
    rows = summary.records(found, replace(SMALL, draws=2))
    tidy.check(rows)
    assert {row["seed"] for row in rows} == {1, 2}
    cell = next(
        one
        for one in summary.summary(found, 1000)
        if (one["panel"], one["encoding"], one["x"]) == ("fat tree", "RTS", 4)
    )
    own = [row for row in rows if row["network"] == "fat tree" and row["receivers"] == 4]
    own = [row for row in own if row["encoding"] == "RTS"]
    assert cell["root_bytes"] == sum(row["root_bytes"] for row in own) / 2
    assert cell["draws"] == cell["encoded"] == 2


def test_steiner_trees_take_fewer_copies_than_shortest_paths() -> None:
    scope = replace(SMALL, sources={"random regular": networks.RandomRegular(60)}, draws=5)
    cheap, steiner = (
        comparison.measure(replace(scope, shape=shape), Sweep())
        for shape in ("cheapest", "steiner")
    )
    pairs = [
        (a.sent.copies, b.sent.copies)
        for a, b in zip(cheap, steiner, strict=True)
        if a.encoding == "RBS" and a.receivers == 16
    ]
    assert sum(b for _, b in pairs) < sum(a for a, _ in pairs)
    # Bit strings go as unicast goes, whatever tree is asked for.
    bier = [(a, b) for a, b in zip(cheap, steiner, strict=True) if a.encoding == "MSR6 BE"]
    assert all(a == b for a, b in bier)


def test_the_verb_writes_figures_table_and_json(tmp_path: Path) -> None:
    file = tmp_path / "map.graphml"
    file.write_text(MAP)
    options = ("--nodes", 20, "--draws", 2, "--no-sizes", "--graphml", file, "--seed", 5)
    options += ("--network", "fat tree")
    done = p4lab("experiment", "encodings", *options, "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    wanted = {"cells", "crossovers", "shortest", "refused", "stages", "seeds", "csv", "figures"}
    assert set(record) == wanted
    assert record["seeds"] == "seeds 5 to 6"
    assert {cell["panel"] for cell in record["cells"]} == {"fat tree", "map"}
    assert len(tidy.read_csv(tmp_path / "encodings.csv")) == 2 * len(record["cells"])
    assert len(record["figures"]) == 6
    for figure in record["figures"]:
        assert os.path.getsize(figure) > 5_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--tree", "oak"), "choose from cheapest and steiner"),
        (("--network", "hyperloop"), "choose from random regular, Waxman"),
        (("--graphml", "/nowhere.graphml"), "nowhere.graphml"),
        (("--graphml", GOLDEN), "cannot be read as GraphML"),
        (("--segments", "128"), "--segments"),
        (("--out", "/dev/null/x"), "give another folder"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, sentence) -> None:
    done = p4lab("experiment", "encodings", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr


# ---- The page


DRAWS = Scope({}, 20, 1, 16, "cheapest", ())
"""Those of the page: seeds 1 to 20"""


def drawn_for_the_page(groups: list[int]) -> list[Observation]:
    """Random regular networks of 200 routers."""
    name = "random regular"
    source = networks.sources(200)[name]
    return [
        one
        for seed in range(1, 21)
        for one in comparison.observe(
            "receivers", name, seed, networks.draw(source, name, seed), groups, DRAWS
        )
    ]


def main_table(found: list[Observation]) -> list[str]:
    """What the page says of groups of 32, line by line."""
    keys = ("packets", "tree_bytes", "root_bytes", "link_bytes_per_link", "copies_per_link")
    lines = []
    for cell in summary.summary(found, 1000):
        if cell["x"] == 32:
            values = [
                f"{cell[key]:,.{2 if key == 'copies_per_link' else digits}f}"
                + (f" ± {half:,.{digits}f}" if (half := cell[f"{key}_half_width"]) >= 0.05 else "")
                for key in (*keys, "busiest")
                for digits in [1 if cell[key] < 100 else 0]
            ]
            rows = f"{cell['router_rows']:.0f}" + (", and routes" if cell["routes"] else "")
            lines.append(f"| {' | '.join([cell['encoding'], *values, rows])} |")
    return lines


def holds(said: str, receivers: int) -> bool:
    """Whether what the page says of a crossover includes a number of receivers."""
    if said in ("everywhere", "nowhere"):
        return said == "everywhere"
    for part in said.split(", "):
        numbers = [int(number) for number in re.findall(r"[0-9]+", part)]
        first, last = numbers[0], numbers[-1]
        if part.startswith("up to"):
            first = 1
        if part.startswith("from"):
            last = 10_000
        if first <= receivers <= last:
            return True
    return False


def test_words_of_crossovers_are_read_as_they_are_meant() -> None:
    for said, wanted in (
        ("up to 2, 5 to 6, at 9", {1, 2, 5, 6, 9}),
        ("at 1, from 8", {1, 8, 9, 10}),
        ("everywhere", set(range(1, 11))),
        ("nowhere", set()),
    ):
        assert {count for count in range(1, 11) if holds(said, count)} == wanted


def test_the_page_has_what_is_measured() -> None:
    """The table of groups of 32, and the crossovers in random regular networks on both sides of
    where they are said to be."""
    text = PAGE.read_text()
    claims = {
        (key, *pair): said
        for key, title in (
            ("tree_bytes", "list or bits alone"),
            ("root_bytes", "headers at the ingress"),
            ("wire_bytes", "headers and 1,000 bytes on all links"),
        )
        for *pair, said in re.findall(
            r"^\| (.+?) < (.+?) \| (.+?) \|",
            text.partition(f"| {title} | random regular |")[2].partition("\n\n")[0],
            re.MULTILINE,
        )
    }
    assert len(claims) == 3 * len(crossovers.PAIRS)
    every = list(networks.counts(199))
    edges = {int(number) for said in claims.values() for number in re.findall("[0-9]+", said)}
    places = [every.index(edge) for edge in edges | {1, 32}]
    groups = sorted({every[near] for place in places for near in (place - 1, place, place + 1)})
    found = drawn_for_the_page([group for group in groups if group <= 128])
    for line in main_table(found):
        assert line in text
    for one in crossovers.crossovers(found, 1000):
        said = claims.get((one.measure, one.first, one.second))
        if said is not None:
            for group in {observation.receivers for observation in found}:
                less = any(first <= group <= last for first, last in one.less)
                assert less == holds(said, group), (one, group, said)


def test_the_pages_pictures_and_commands_are_there() -> None:
    text = PAGE.read_text()
    pictures = re.findall(r"\]\((pictures/[^)]+)\)", text)
    assert len(pictures) == 5
    for picture in pictures:
        assert (PAGE.parent / picture).exists(), picture
    assert "not an IETF format" in text
    assert set(re.findall("lab experiment ([a-z0-9-]+)", text)) == {"encodings", "msr6-failure"}


if __name__ == "__main__":
    print(json.dumps(golden(), indent=0))
