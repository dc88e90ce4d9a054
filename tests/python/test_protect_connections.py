"""The file of connections: what it says is what the switches get, and mistakes have their line.

If these fail, a typing mistake protects the wrong packets, or none, and nobody says so.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network

import pytest

from p4lab.course.labs import LabError, load_plan
from p4lab.paths import ROOT
from p4lab.systems.protect.connections import Connection, Flow, connections_of, load, parse
from p4lab.topology import Topology
from p4lab.topology.tomls import FileError

TOPOLOGY = Topology.load("protect")
LAB_FILE = ROOT / "labs" / "03-protect" / "connections.toml"

GOLD = """
[[connection]]
name = "gold"
from = "r1"
to = "r5"
cid = 1
"""


def read(text: str) -> tuple[Connection, ...]:
    return parse(text.encode(), "c.toml", TOPOLOGY)


def test_a_whole_file() -> None:
    text = (
        GOLD
        + """
mtu = 1400
paths = [["r3", "r4"], ["r2"]]
[[connection]]
name = "silver"
from = "r5"
to = "r1"
cid = 1
[[flow]]
connection = "gold"
src = "h1"
dst = "10.0.5.0/24"
protocol = "UDP"
src_port = 5004
dst_port = 0
[[flow]]
connection = "silver"
dst = "h1"
protocol = 89
[[flow]]
connection = "gold"
dst = "fd00:0:0:5::/64"
"""
    )
    flows = (
        Flow(ip_network("10.0.1.1/32"), ip_network("10.0.5.0/24"), 17, 5004, 0),
        Flow(dst=ip_network("fd00:0:0:5::/64")),
    )
    assert read(text) == (
        Connection("gold", "r1", "r5", 1, (("r3", "r4"), ("r2",)), 1400, flows),
        Connection(
            "silver", "r5", "r1", 1, None, 1500, (Flow(dst=ip_network("10.0.1.1"), protocol=89),)
        ),
    )


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "the file has no `connection`: add it"),
        (GOLD.replace('"gold"', '""'), 3, "must have 1 to 40 characters"),
        (GOLD.replace("cid = 1", ""), 2, "this connection has no `cid`: add it"),
        (GOLD.replace("cid = 1", "cid = 16777216"), 6, "at most 16777215"),
        (GOLD.replace("cid = 1", 'cid = "1"'), 6, "`cid` must be a whole number"),
        (GOLD + "form = 3", 7, "unknown key `form`: did you mean `from`?"),
        (GOLD.replace('"r5"', '"r7"'), 5, "there is no router of protect 'r7': known are"),
        (GOLD.replace('"r5"', '"h3"'), 5, "there is no router of protect 'h3'"),
        (GOLD.replace('"r5"', '"r1"'), 2, "gold leads from r1 to itself"),
        (GOLD.replace('"r5"', '"r6"'), 2, "all of them need r5-r6"),
        (GOLD + 'paths = [["r2"]]', 7, "two lists of routers, one for each path"),
        (GOLD + 'paths = [["r2"], ["r2"]]', 7, "both paths from r1 to r5 use r1-r2"),
        (GOLD + 'paths = [["r2"],\n["rr3"]]', 8, "there is no router of protect 'rr3'"),
        (GOLD + "mtu = 95", 7, "`mtu` is 95, but it must be at least 96"),
        (GOLD + "mtu = 65535", 7, "`mtu` is 65535, but it must be at most 65534"),
        (GOLD + GOLD.replace("cid = 1", "cid = 2"), 9, "two connections are named 'gold'"),
        (
            GOLD + GOLD.replace("gold", "lead"),
            12,
            "connections gold and lead both end at r5 with CID 1: give one of them another CID",
        ),
        (GOLD + '[[flow]]\nconnection = "cold"', 8, "did you mean 'gold'?"),
        (GOLD + '[[flow]]\nconnection = "gold"\nsrc = "h9"', 9, "'h9' is not a host, address"),
        (GOLD + '[[flow]]\nconnection = "gold"\ndst = "10.0.5.1/24"', 9, "10.0.5.0/24?"),
        (GOLD + '[[flow]]\nconnection = "gold"\ndst_port = 80', 7, "only TCP and UDP have ports"),
        (GOLD + '[[flow]]\nconnection = "gold"\nprotocol = "upd"', 9, "'upd' is none of"),
        (GOLD + '[[flow]]\nconnection = "gold"\nprotocol = 256', 9, "it must be 0 to 255"),
        (
            GOLD + '[[flow]]\nconnection = "gold"\nsrc = "10.0.1.1"\ndst = "fd00::1"',
            7,
            "of IPv4 or of IPv6",
        ),
        (
            GOLD + '[[flow]]\nconnection = "gold"\nsrc = "10.0.5.1"',
            7,
            "takes what is for h1, too, which is at r1 where the connection begins",
        ),
        (GOLD + '[[flow]]\nconnection = "gold"\ndst = "fd00::/32"', 9, "it would go in circles"),
        (GOLD + '[[flow]]\nconnection = "gold"\nport = 80', 9, "unknown key `port`"),
        ("connection = 5", 1, "`connection` must be an array"),
        ("[[connection]\n", 1, "this is not TOML"),
    ],
)
def test_one_sentence_for_every_mistake(text: str, line: int, reason: str) -> None:
    with pytest.raises(FileError) as error:
        read(text)
    (problem,) = error.value.problems
    assert problem.line == line, problem
    assert reason in problem.text


def test_two_egresses_may_call_different_connections_the_same() -> None:
    """Each counts for itself: CIDs are the PTE's."""
    first, second = read(GOLD + GOLD.replace("gold", "back").replace("r5", "r2"))
    assert first.cid == second.cid and first.egress != second.egress


def test_the_file_of_the_lab_is_sound_and_runs() -> None:
    names = [connection.name for connection in load(LAB_FILE, TOPOLOGY)]
    assert names == ["gold", "voice"]
    plan = load_plan("03-protect", connections="labs/03-protect/connections.toml")
    assert [connection.name for connection in connections_of(plan)] == names


def test_without_a_file_every_stream_between_two_routers_is_protected() -> None:
    plan = load_plan("03-protect")
    made = connections_of(plan)
    assert [(one.name, one.cid) for one in made] == [("r1-r5", 1), ("r5-r1", 2)]
    assert made[0].flows == (Flow(ip_network("10.0.1.1/32"), ip_network("10.0.5.1/32")),)


def test_streams_that_cannot_be_protected_are_routed_as_long_as_one_can() -> None:
    """h5 is behind a bridge."""
    plan = load_plan("03-protect")
    far = TOPOLOGY.host("h5")
    bridged = replace(plan.streams[0], flow=3, destination=far.ip, receivers=(far,))
    made = connections_of(replace(plan, topology=TOPOLOGY, streams=(*plan.streams, bridged)))
    assert [one.name for one in made] == ["r1-r5", "r5-r1"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"topology": "tree10"}, "that share no link: all of them need"),
        ({"connections": "nowhere.toml"}, "^cannot read nowhere.toml: No such file"),
        ({"connections": str(LAB_FILE), "topology": "ring"}, "both paths|share no link|no way"),
        ({"accept": "fastest"}, "none, match, highest, slots or vector"),
        ({"history": "12"}, "1, 2, 4, 8"),
    ],
)
def test_a_run_that_cannot_be_is_refused_with_a_reason(
    changed: dict[str, str], reason: str
) -> None:
    with pytest.raises(LabError, match=reason):
        load_plan("03-protect", **changed)
