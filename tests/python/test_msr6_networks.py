"""Trees of MSR6 over whole networks of engine switches.

What a user would lose: a subscriber without its packet or with two, somebody who did not ask for
it, or a link that carries it twice; that is, the one promise of the lab.
"""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv6Address
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bier_cables import Cables
from bier_oracle import networks
from p4lab import _engine
from p4lab.control.listeners import Member
from p4lab.engine import load_program
from p4lab.model.control import NumberError
from p4lab.model.entries import diff
from p4lab.packets.probe import probe_frame
from p4lab.paths import ROOT
from p4lab.systems.msr6.entries import msr6_entries
from p4lab.systems.msr6.settings import Msr6Settings
from p4lab.topology import NO_FAILURES, Failures, Host, Topology

GROUP = IPv6Address("ff3e::4:1")
ENCODINGS = ("te", "rlb", "be", "clone")


def wired(
    topology: Topology,
    listeners: set[Host],
    source: Host,
    found: Msr6Settings,
    down: Failures = NO_FAILURES,
) -> Cables:
    members = frozenset(Member(host.router, host.port, int(GROUP)) for host in listeners)
    entries = msr6_entries(topology, members, found, frozenset([(int(GROUP), source.router)]), down)
    program = load_program(ROOT / "p4/msr6/v1model.p4", [])
    cables = Cables(topology, 64, down)
    for name, rows in entries.items():
        cables.switches[name] = _engine.Switch(program)
        cables.switches[name].write(diff(frozenset(), rows))
    return cables


@settings(max_examples=80, deadline=None)
@given(
    topology=networks(),
    encoding=st.sampled_from(ENCODINGS),
    tree=st.sampled_from(["cheapest", "steiner"]),
    leaves=st.sampled_from(["routers", "hosts"]),
    data=st.data(),
)
def test_each_subscriber_once_and_nobody_else(topology, encoding, tree, leaves, data) -> None:
    if len(topology.hosts) < 2:
        return
    source = data.draw(st.sampled_from(topology.hosts))
    others = [host for host in topology.hosts if host != source]
    listeners = data.draw(st.sets(st.sampled_from(others)))
    found = Msr6Settings(encoding=encoding, tree=tree, leaves=leaves)
    try:
        cables = wired(topology, listeners, source, found)
    except NumberError as error:  # a local bit string has 16 bits
        assert encoding == "rlb" and "has no bit for" in str(error)
        return
    cables.inject(source.router, source.port, probe_frame(source, GROUP, 1, 0, length=200))
    reached = topology.reached(source.name)
    wanted = {host.name for host in listeners if host.name in reached}
    assert cables.hosts == Counter(dict.fromkeys(wanted, 1))
    # Cables of a tree that fits into one packet carry it once; BE has a packet for each set, and a
    # router with listeners of its own keeps theirs.
    parts = tree_packets(topology, listeners, source, found)
    assert all(count <= parts for count in cables.links.values()), cables.links


def tree_packets(
    topology: Topology, listeners: set[Host], source: Host, found: Msr6Settings
) -> int:
    members = frozenset(Member(host.router, host.port, int(GROUP)) for host in listeners)
    rows = msr6_entries(topology, members, found, frozenset([(int(GROUP), source.router)]))[
        source.router
    ]
    return max(1, sum(getattr(row, "table", "") == "trees" for row in rows))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_wide_tree_takes_several_lists(encoding: str) -> None:
    """Routers read sixteen entries at most: a list of SIDs for 40 leaves takes three packets."""
    routers = [{"name": "hub", "number": 1}]
    routers += [{"name": f"leaf{n}", "number": n} for n in range(2, 42)]
    hosts = [{"name": "source", "router": "hub"}]
    hosts += [{"name": f"h{n}", "router": f"leaf{n}"} for n in range(2, 42)]
    links = [{"a": "hub", "b": f"leaf{n}"} for n in range(2, 42)]
    data = {
        "name": "star",
        "description": "A star",
        "router": routers,
        "host": hosts,
        "link": links,
    }
    topology = Topology.from_data(data)
    source, *listeners = topology.hosts
    if encoding == "rlb":
        with pytest.raises(NumberError, match="has no bit for"):
            wired(topology, set(listeners), source, Msr6Settings(encoding=encoding))
        return
    cables = wired(topology, set(listeners), source, Msr6Settings(encoding=encoding))
    cables.inject(source.router, source.port, probe_frame(source, GROUP, 1, 0))
    assert cables.hosts == Counter(host.name for host in listeners)
    assert (
        tree_packets(topology, set(listeners), source, Msr6Settings(encoding=encoding))
        == {"te": 3, "be": 1, "clone": 1}[encoding]
    )


@pytest.mark.parametrize("encoding", ["te", "rlb", "be"])
def test_a_link_that_fails_is_avoided(encoding: str) -> None:
    """After the news of a failure, trees go around it as long as there is a way."""
    topology = Topology.load("msr6")
    source, *listeners = topology.hosts
    down = Failures.of([("r2", "r5")])
    found = Msr6Settings(encoding=encoding)
    cables = wired(topology, set(listeners), source, found, down)
    cables.inject(source.router, source.port, probe_frame(source, GROUP, 1, 0))
    assert cables.hosts == Counter(host.name for host in listeners)
    assert not any({"r2", "r5"} == set(link) for link in cables.links)


@pytest.mark.parametrize("encoding", ["te", "rlb"])
def test_links_that_settings_avoid_carry_nothing(encoding: str) -> None:
    topology = Topology.load("ring")
    source, *listeners = topology.hosts
    a, b = next(pair for pair in pairwise(["r1", "r2", "r3"]))
    found = Msr6Settings(encoding=encoding, avoid=f"{a}-{b}")
    cables = wired(topology, set(listeners), source, found)
    cables.inject(source.router, source.port, probe_frame(source, GROUP, 1, 0))
    assert cables.hosts == Counter(host.name for host in listeners)
    assert (a, b) not in cables.links and (b, a) not in cables.links


def test_a_bound_on_the_delay_that_cannot_be_kept_is_told_with_the_least() -> None:
    topology = Topology.load("ceni")
    source, *listeners = topology.hosts
    found = Msr6Settings(delay="6 ms")
    with pytest.raises(NumberError, match=r"nanjing. takes less than 7\.605 ms"):
        wired(topology, set(listeners), source, found)
