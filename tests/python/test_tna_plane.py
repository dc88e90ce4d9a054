"""The running control plane of a network of Tofinos: what it writes when ports and links fail.

A switch that hears too late, or too much, of a port that is down loses packets that it had a way
for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest

from p4lab.control.listeners import Member
from p4lab.course.labs import load_plan
from p4lab.model.entries import Entries, TableEntry, Update
from p4lab.model.layout import TnaLayout
from p4lab.model.tables import Tables
from p4lab.session.opening import run
from p4lab.systems.bier.entries import group_number
from p4lab.systems.bier_tna.entries import port_status, tna_entries
from p4lab.systems.bier_tna.plane import LAYOUT, TnaControlPlane
from p4lab.topology import Failures, Topology

TOPOLOGY = Topology.load("testbed")
MEMBERS = frozenset(Member(h.router, h.port, group_number("239.1.1.1")) for h in TOPOLOGY.hosts)


class Driver:
    """Takes what is written, and keeps every batch."""

    def __init__(self) -> None:
        self.batches: list[list[Update]] = []
        self.tables = Tables()

    def write(self, updates: Sequence[Update]) -> None:
        self.tables.apply(updates)
        self.batches.append(list(updates))

    def entries(self) -> Entries:
        return self.tables.entries

    def packet_out(self, port: int, frame: bytes) -> None:
        pass


def plane(drivers: dict[str, Driver], **how: object) -> TnaControlPlane:
    made = TnaControlPlane(TOPOLOGY, 64, drivers.__getitem__, **how)  # type: ignore[arg-type]
    made.listen(MEMBERS)
    return made


def test_each_switch_has_the_layout_of_its_own() -> None:
    layouts = {
        router.name: TnaLayout((68 + i,), port=lambda port, i=i: port + 100 * i)
        for i, router in enumerate(TOPOLOGY.routers)
    }
    drivers: dict[str, Driver] = defaultdict(Driver)
    plane(drivers, layouts=layouts)
    for name, layout in layouts.items():
        alone = tna_entries(TOPOLOGY, MEMBERS, 64, layout=layout)[name]
        assert drivers[name].entries() == alone
        assert any(isinstance(e, TableEntry) and e.table == "backup" for e in alone)


def test_a_port_that_is_down_is_one_cell_at_once_and_stays_while_routes_change() -> None:
    drivers: dict[str, Driver] = defaultdict(Driver)
    control = plane(drivers)
    before = {name: driver.entries() for name, driver in drivers.items()}
    written = {name: len(driver.batches) for name, driver in drivers.items()}
    link = TOPOLOGY.link("r1", "r2")
    control.link_seen(link, up=False)
    cells = {"r1": port_status(TOPOLOGY.port("r1", "r2")), "r2": port_status(link.b_port)}
    for name, driver in drivers.items():
        batch = [[Update("insert", cells[name])]] if name in cells else []
        assert driver.batches[written[name] :] == batch
    control.link_seen(link, up=False)  # no news
    assert len(drivers["r1"].batches) == written["r1"] + 1
    control.link_changed(0, link, up=False)
    around = tna_entries(TOPOLOGY, MEMBERS, 64, Failures(frozenset({link.ends})), LAYOUT)
    assert control.entries("r3") >= around["r3"]
    assert cells["r1"] in drivers["r1"].entries()
    control.link_seen(link, up=True)
    control.link_changed(0, link, up=True)
    assert {name: driver.entries() for name, driver in drivers.items()} == before


@pytest.mark.parametrize("down", ["r1-r2", "r1-r3", "r2-r3"])
def test_a_virtual_network_of_tofinos_goes_around_by_itself(down: str) -> None:
    """The triangle has a loop-free alternate for everything."""
    plan = load_plan("05-recirculation", topology="testbed", packets=5, down=[down])
    report = run(plan)
    assert report.ok, report.problems
    assert (
        sum(
            link.copies for link in report.links if {link.source, link.target} == {*down.split("-")}
        )
        == 0
    )
