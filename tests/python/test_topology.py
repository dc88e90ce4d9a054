"""If these fail, a network is not the one in its file, or a mistake in it is hard to find."""

from __future__ import annotations

import os
import subprocess
import sys
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p4lab.paths import ROOT
from p4lab.topology import Failures, Topology, TopologyError, names
from p4lab.topology.file import parse
from p4lab.topology.lines import line_table

LIBRARY = Path(__file__).resolve().parents[2] / "topologies"


def topology(text: str) -> Topology:
    return parse(text.encode(), "net.toml")


def complaints(text: str) -> list[str]:
    with pytest.raises(TopologyError) as error:
        topology(text)
    return str(error.value).splitlines()


# --- the lab's own -----------------------------------------------------------------------------


def test_every_file_of_the_folder_is_a_topology_with_a_name():
    """A new one needs no list; those that papers and labs speak of are there."""
    assert names() == tuple(sorted(path.stem for path in LIBRARY.glob("*.toml")))
    assert {"paper", "protect", "rfc8279", "testbed", "tree10"} <= set(names())


@pytest.mark.parametrize("name", names())
def test_every_topology_is_connected_and_explains_itself(name):
    net = Topology.load(name)
    assert net.name == name
    assert net.notes == ()
    assert networkx.is_connected(net.graph)
    first = (LIBRARY / f"{name}.toml").read_text().splitlines()[0]
    assert first.startswith("#"), "a file says first what its network is for"


@pytest.mark.parametrize(
    ("name", "routers", "hosts", "core_links"),
    [
        ("paper", 4, 4, 3),
        ("rfc8279", 6, 4, 5),
        ("ring", 6, 6, 6),
        ("tree10", 10, 5, 9),
        ("fanout64", 65, 65, 64),
        ("sets", 73, 73, 72),
    ],
)
def test_sizes(name, routers, hosts, core_links):
    net = Topology.load(name)
    core = [link for link in net.links if not link.is_access]
    assert (len(net.routers), len(net.hosts), len(core)) == (routers, hosts, core_links)


def test_sets_has_more_receivers_than_64_bits_and_several_sets_at_every_length():
    ids = [router.own("bfr_id") for router in Topology.load("sets").routers]
    assert len(ids) - 1 > 64
    assert [len({(i - 1) // bsl for i in ids}) for bsl in (64, 128, 256)] == [8, 4, 2]


# --- numbers -----------------------------------------------------------------------------------


def test_ports_are_assigned_in_file_order_hosts_first():
    paper = Topology.load("paper")
    assert paper.ports("r1") == {1: "h1", 2: "r2", 3: "r3"}
    assert paper.ports("r2") == {1: "h2", 2: "r1", 3: "r4"}
    assert paper.port("r2", "r4") == 3
    assert paper.port("r4", "r2") == 2
    assert paper.neighbour("r1", 2) == "r2"
    assert paper.neighbour("r1", 4) is None


def test_given_ports_are_kept_and_the_others_fill_the_gaps():
    net = topology(
        """
        name = "gaps"
        description = ""
        router = [{ number = 1 }, { number = 2 }, { number = 3 }]
        host = [{ name = "h1", router = "r1" }, { name = "h2", router = "r1" }]
        link = [
          { a = "r1", b = "r2", a_port = 1 },
          { a = "h2", b = "r1", b_port = 3, rate = "10 Mbit/s" },
          { a = "r1", b = "r3" },
        ]
        """
    )
    assert net.ports("r1") == {1: "r2", 2: "h1", 3: "h2", 4: "r3"}
    assert net.link("h2", "r1").rate == 10**7
    assert net.link("h1", "r1").rate is None


def test_addresses_follow_from_the_numbers():
    net = topology(
        """
        name = "far"
        description = ""
        router = [{ number = 258 }]
        host = [{ name = "a", router = "r258" }, { name = "b", router = "r258", number = 200 }]
        """
    )
    a, b = net.hosts
    router = net.router(258)
    assert router is net.router("r258")
    assert (a.ip, b.ip) == (IPv4Address("10.1.2.1"), IPv4Address("10.1.2.200"))
    assert a.gateway == router.address == IPv4Address("10.1.2.254")
    assert router.mac(255) == 0x0200000102FF
    assert net.mac("r258", 2) == 0x020000010202
    assert net.mac("b") == b.mac == 0x0201000102C8
    assert router.own("bfr_id") == 258
    assert a.id == 0x010201
    assert (str(a.ip6), str(b.ip6)) == ("fd00:0:0:102::1", "fd00:0:0:102::c8")
    assert str(router.prefix6) == "fd00:0:0:102::/64"
    assert a.gateway6 == router.address6 == IPv6Address("fd00:0:0:102::fe")
    assert (b.ip_of(4), b.ip_of(6)) == (b.ip, b.ip6)


def test_properties_of_links_and_the_graph():
    net = topology(
        """
        name = "links"
        description = ""
        router = [{ number = 1 }, { number = 2 }]

        [[link]]
        a = "r1"
        b = "r2"
        rate = 1000
        delay = "1.5 us"
        jitter = "3 us"
        loss = "2 %"
        cost = 7
        """
    )
    (link,) = net.links
    assert (link.rate, link.delay_ns, link.jitter_ns) == (1000, 1500, 3000)
    assert (link.loss, link.cost) == (0.02, 7)
    edge = net.graph.edges["r1", "r2"]
    assert edge["link"] is link
    assert edge["ports"] == {"r1": 1, "r2": 1}
    assert (edge["cost"], edge["jitter_ns"]) == (7, 3000)
    assert net.graph.nodes["r1"] == {"kind": "router", "number": 1}


@given(st.sampled_from(names()), st.randoms(use_true_random=False))
def test_links_that_are_down_cut_off_what_networkx_says(name, chance):
    net = Topology.load(name)
    down = {link for link in net.links if chance.random() < 0.3}
    node = chance.choice([*net.routers, *net.hosts]).name
    graph = net.graph.copy()
    graph.remove_edges_from((link.a, link.b) for link in down)
    assert net.reached(node, down) == networkx.node_connected_component(graph, node)


def test_a_disconnected_network_is_allowed_but_said():
    net = topology(
        """
        name = "islands"
        description = ""
        router = [{ number = 1 }, { number = 2 }, { number = 3 }]
        link = [{ a = "r1", b = "r2" }]
        """
    )
    assert net.notes == (
        "net.toml: r1 has no path to r3: nothing is delivered between the parts of this network",
    )


def test_failures_take_links_and_whole_nodes():
    paper = Topology.load("paper")
    link = paper.link("r1", "r2")
    assert Failures.of([link]).has(link)
    assert Failures.of([("r2", "r1")]).has(link)
    assert Failures.of(nodes=["r2"]).has(link)
    assert not Failures.of([("r1", "r3")], ["r4"]).has(link)


# --- mistakes ----------------------------------------------------------------------------------

GOOD = """\
name = "good"
description = ""

[[router]]
number = 1

[[router]]
number = 2

[[host]]
name = "h1"
router = "r1"

[[link]]
a = "r1"
b = "r2"
"""

BASE = GOOD.count("\n")

MISTAKES = [
    ('[[link]]\na = "r1"\nb = "r9"\n', 3, "there is no node 'r9': known are r1, r2, h1"),
    ('[[link]]\na = "x"\nb = "r1"\n', 2, "there is no node 'x': known are r1, r2, h1"),
    ('[[link]]\na = "r2"\nb = "r1"\n', 1, "there is already a link r2 - r1: remove one"),
    ('[[link]]\na = "r1"\nb = "r1"\n', 1, "r1 is linked to itself: name two nodes"),
    (
        '[[link]]\na = "h1"\nb = "r2"\n',
        1,
        "host h1 is on router r1, so it cannot be linked to r2",
    ),
    (
        '[[link]]\na = "h1"\na_port = 1\nb = "r1"\n',
        1,
        "host h1 has one interface: give a port for r1 only",
    ),
    (
        '[[host]]\nname = "h2"\nrouter = "r1"\n[[link]]\na = "h1"\nb = "h2"\n',
        4,
        "h1 and h2 are both hosts: link one to a router",
    ),
    ("[[router]]\nnumber = 2\n", 2, "two routers have number 2: give one another number"),
    ('[[router]]\nnumber = 3\nname = "r2"\n', 3, "two routers are named 'r2': rename one"),
    (
        "[[router]]\nnumber = 3\nbfr_id = 2\n",
        3,
        "routers r2 and r3 both have bfr_id 2 (r2 by its number): give one another",
    ),
    (
        "[[router]]\nnumber = 3\nbfr_id = 9\n[[router]]\nnumber = 4\nbfr_id = 9\n",
        6,
        "routers r3 and r4 both have bfr_id 9: give one another",
    ),
    (
        "[[router]]\nnumber = 65536\n",
        2,
        "`number` is 65536, but it must be at most 65535",
    ),
    ("[[router]]\nnumber = true\n", 2, "`number` must be a whole number, not True"),
    ("[[router]]\n", 1, "this router has no `number`: add it"),
    (
        '[[router]]\nnumber = 3\nname = "much_too_long"\n',
        3,
        "`name` is 'much_too_long', but the name of a node has 1 to 8 letters, digits or _ "
        "and starts with a letter",
    ),
    (
        '[[host]]\nname = "h1"\nrouter = "r2"\n',
        2,
        "the name 'h1' is used twice: rename one",
    ),
    ('[[host]]\nname = "h2"\nrouter = "r3"\n', 3, "there is no router 'r3': known are r1, r2"),
    (
        '[[host]]\nname = "h2"\nrouter = "r1"\nnumber = 4\n'
        '[[host]]\nname = "h3"\nrouter = "r1"\nnumber = 4\n',
        8,
        "hosts h2 and h3 both have number 4 on r1: give one another number",
    ),
    (
        '[[host]]\nname = "h2"\nrouter = "r1"\nnumber = 254\n',
        4,
        "`number` is 254, but it must be at most 253",
    ),
    (
        '[[router]]\nnumber = 3\n[[link]]\na = "r1"\na_port = 5\nb = "r3"\n'
        '[[router]]\nnumber = 4\n[[link]]\na = "r4"\nb = "r1"\nb_port = 5\n',
        9,
        "port 5 of r1 is used twice, for r3 and for r4: choose another port",
    ),
    (
        '[[router]]\nnumber = 3\n[[link]]\na = "r1"\nb = "r3"\nrate = "10 Mbit"\n',
        6,
        "unknown unit 'Mbit' behind 10: use one of bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s",
    ),
    (
        '[[router]]\nnumber = 3\n[[link]]\na = "r1"\nb = "r3"\nrate = 0\n',
        6,
        "a rate is a whole number of bits per second from 1 to 10^15",
    ),
    (
        '[[router]]\nnumber = 3\n[[link]]\na = "r1"\nb = "r3"\ndelay = 1\n',
        6,
        'write a delay such as "1 ms", not 1',
    ),
    (
        '[[router]]\nnumber = 3\n[[link]]\na = "r1"\nb = "r3"\nloss = 2\n',
        6,
        'a loss is a number from 0 to 1, or text such as "2 %"',
    ),
    (
        '[[router]]\nnumber = 3\n[[link]]\na = "r1"\nb = "r3"\nrat = 2\n',
        6,
        "unknown key `rat`: did you mean `rate`?",
    ),
    (
        '[[router]]\nnumber = 3\nname = "core_1"\n[[link]]\na = "core1"\nb = "r1"\n',
        5,
        "there is no node 'core1': did you mean 'core_1'?",
    ),
    ("[[switch]]\n", 1, "unknown key `switch`: use name, description, router, host, link"),
    ("[[link]]\na = 1\nb = 'r2'\n", 2, "`a` must be text in quotes"),
    ("number =\n", 1, "this is not TOML: invalid value"),
]


@pytest.mark.parametrize(("text", "line", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence_with_its_line(text, line, sentence):
    assert complaints(GOOD + text) == [f"net.toml:{BASE + line}: {sentence}"]


def test_the_good_part_of_the_mistakes_is_good():
    assert topology(GOOD).notes == ()


def test_five_mistakes_are_five_sentences():
    text = GOOD + "".join(text for text, _, _ in MISTAKES[:5])
    assert len(complaints(text)) == 5


def test_mistakes_in_a_compact_file_have_their_line_too():
    text = 'name = "c"\ndescription = ""\nrouter = [\n  { number = 1 },\n  { number = 1.5 },\n]\n'
    assert complaints(text) == ["net.toml:5: `number` must be a whole number, not 1.5"]


def test_a_topology_without_routers():
    text = 'name = "none"\ndescription = ""\n'
    assert complaints(text) == ["net.toml:1: the file has no `router`: add it"]
    assert complaints(text + "router = []\n") == [
        "net.toml:3: `router` is empty: a topology needs at least one"
    ]


def test_a_name_that_is_not_there():
    with pytest.raises(TopologyError, match=r"there is no topology .papr.: give a \.toml file or"):
        Topology.load("papr")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(TopologyError, match=r"^there is no topology .*gone\.toml.: give a \.toml"):
        Topology.load(tmp_path / "gone.toml")
    with pytest.raises(TopologyError, match=r"\(did you mean 'ring'\?\)$"):
        Topology.load(tmp_path / "rings.toml")


def test_a_file_that_cannot_be_read_has_no_line(tmp_path):
    with pytest.raises(TopologyError, match=r"^cannot read .*: Is a directory$"):
        Topology.load(tmp_path / "..")


def test_not_utf8_and_too_large():
    with pytest.raises(TopologyError, match=r"^x:2: the text is not UTF-8$"):
        parse(b"a = 1\nb = '\xff'\n", "x")
    with pytest.raises(TopologyError, match=r"^x:1: the file is larger than 1 MiB$"):
        parse(b"#" * (1 << 21), "x")


@given(st.data())
def test_a_mutated_file_gives_a_topology_or_sentences_never_a_crash(data):
    raw = bytearray((LIBRARY / "paper.toml").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        end = min(len(raw), start + data.draw(st.integers(0, 12)))
        raw[start:end] = data.draw(st.binary(max_size=8) | st.sampled_from(SNIPPETS))
    try:
        assert parse(bytes(raw), "x").routers
    except TopologyError as error:
        assert all(1 <= p.line <= raw.count(b"\n") + 1 and p.text for p in error.problems)


SNIPPETS = [
    b'"', b"'", b"[", b"]", b"[[link]]\n", b"{", b"}", b"=", b"\n", b"#", b'"""', b"-1", b"nan",
    b"1e400", b"99999999999999999999", b"0x1F", b"true", b"[[[[[[[[", b"a.b.c = 1\n", b"r1",
]  # fmt: skip


@given(st.data())
def test_any_data_of_the_right_shape_is_judged(data):
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
    keys = st.sampled_from(
        ["name", "number", "router", "a", "b", "a_port", "rate", "delay", "loss", "cost", "x"]
    )
    rows = st.lists(st.dictionaries(keys, scalars) | scalars, max_size=4)
    tables = {key: data.draw(rows | scalars) for key in ("router", "host", "link")}
    try:
        Topology.from_data({"name": "any", "description": "", **tables})
    except TopologyError as error:
        assert error.problems


# --- the scanner of lines ------------------------------------------------------------------------


def test_lines_of_everything_toml_can_write():
    text = "\n".join(
        [
            '# a comment with = and [ and "',  # 1
            'top = """',  # 2
            "[not] = a table",
            '"""',
            "multi = '''x",  # 5
            "y'''",
            "[a.b]",  # 7
            'c = [1, "]", [2,',  # 8
            "  3], { d = '}', e.f = 5 }]",  # 9
            '"quoted key" = 2021-01-01 10:00:00 # why',  # 10
            "[[t]]",  # 11
            "x = 1",
            "[t.sub]",  # 13
            "y = 2",
            "[[t]]",  # 15
            "x = { z = [",  # 16
            "  7 ] }",
        ]
    )
    lines = line_table(text)
    expected = {
        ("top",): 2,
        ("multi",): 5,
        ("a", "b"): 7,
        ("a", "b", "c"): 8,
        ("a", "b", "c", 1): 8,
        ("a", "b", "c", 2, 1): 9,
        ("a", "b", "c", 3): 9,
        ("a", "b", "c", 3, "e", "f"): 9,
        ("a", "b", "quoted key"): 10,
        ("t", 0): 11,
        ("t", 0, "x"): 12,
        ("t", 0, "sub", "y"): 14,
        ("t", 1): 15,
        ("t", 1, "x", "z", 0): 17,
    }
    assert {path: lines.get(path) for path in expected} == expected


def test_a_network_looks_the_same_in_every_process() -> None:
    """If this fails, the picture in a handout is not the one on the screen."""
    code = (
        "from p4lab.topology import Topology; from p4lab.topology.drawing import layout; "
        "print(layout(Topology.load('ring')))"
    )
    seen = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        seen.add(done.stdout)
    assert len(seen) == 1
