"""A network of Tofinos with p4/msr6/tna.p4: the same control plane, laid out for the chip.

What a user would lose: the program for the chip would pass its scripts and carry no packet, since
nobody writes the rows that only it has.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv6Address

import pytest

from p4lab import registry
from p4lab.engine import load_program
from p4lab.model.entries import CloneSession, Exact, TableEntry
from p4lab.model.layout import TnaLayout
from p4lab.model.run import Stream
from p4lab.paths import ROOT
from p4lab.session.run import Session, carry_out, virtual_network
from p4lab.systems.msr6.chip import on_chip
from p4lab.systems.msr6.settings import Msr6Settings
from p4lab.topology import Topology

PROGRAM = ROOT / "p4/msr6/tna.p4"


@pytest.mark.parametrize("loops", [(68,), (68, 69, 70)])
@pytest.mark.parametrize("leaves", ["routers", "hosts"])
@pytest.mark.parametrize("encoding", ["te", "rlb", "be", "clone"])
def test_every_listener_once(encoding: str, leaves: str, loops: tuple[int, ...]) -> None:
    system = registry.find("msr6")
    topology = Topology.load("tree10")
    first, *others = topology.hosts
    streams = (
        Stream(1, IPv6Address("ff3e::4:1"), first, tuple(others), 5, 10**6),
        Stream(2, IPv6Address("ff3e::4:2"), others[-1], (first, others[0]), 5, 10**6),
    )
    found = Msr6Settings(encoding=encoding, leaves=leaves, entries=8)
    plan = system.plan("04-msr6", PROGRAM, topology, found, 1, streams)
    layouts = {router.name: TnaLayout(loops=loops) for router in topology.routers}
    program = load_program(PROGRAM, [])
    with virtual_network(plan, program) as net:
        session = Session(plan, net, layouts=layouts)
        carry_out(session)
        report = session.report()
    assert not report.problems, report.problems


def test_a_list_stands_in_two_tables_and_keeps_its_number() -> None:
    def row(group: int, part: int, last: int) -> TableEntry:
        params = {"source": 1, "destination": 2, "last_entry": last, "mtu": 1500, "more": 0}
        sids = {f"sid_{index}": 100 + index for index in range(16)}
        match = (("group", Exact(group)), ("part", Exact(part)))
        return TableEntry("trees", match, "encapsulate", tuple((params | sids).items()))

    def number(entries: frozenset, group: int) -> int:
        (found,) = (
            dict(one.params)["tree"]
            for one in entries
            if isinstance(one, TableEntry) and one.table == "trees"
            if dict(one.match) == {"group": Exact(group), "part": Exact(0)}
        )
        return found

    layout = TnaLayout(loops=(68, 69))
    group = 0xFF3E << 112 | 0x40001
    rows = on_chip(frozenset([row(group, 0, 3), row(group, 1, 7)]), layout)
    tables = sorted(one.table for one in rows if isinstance(one, TableEntry))
    # Four entries stand in one row, eight in two.
    assert tables == ["tree_sids_0"] * 2 + ["tree_sids_4"] + ["trees"] * 2
    assert CloneSession(100, ((64, 0),)) in rows
    more = on_chip(frozenset([row(group, 0, 3), row(group - 1, 0, 3)]), layout)
    assert number(rows, group) == number(more, group)
    same_low_bits = on_chip(frozenset([row(group, 0, 3), row(group + 0x1000, 0, 3)]), layout)
    assert number(same_low_bits, group) != number(same_low_bits, group + 0x1000)


def test_ports_are_those_of_the_chip() -> None:
    layout = replace(TnaLayout(), port=lambda port: 100 + port)
    mac = TableEntry("port_mac", (("port", Exact(3)),), "rewrite", (("src", 1), ("dst", 2)))
    route = TableEntry("ipv6_routes", (), "route", (("port", 7),))
    found = on_chip(frozenset([mac, route]), layout)
    assert {dict(row.params).get("port") for row in found if isinstance(row, TableEntry)} == {
        None,
        107,
    }
    assert {dict(row.match).get("port") for row in found if isinstance(row, TableEntry)} == {
        None,
        Exact(103),
    }
