"""If these fail, a subscription never reaches the switches, or reaches them in pieces."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest

from bier_oracle import send
from p4lab.control.igmp import SECOND
from p4lab.control.listeners import Member
from p4lab.model.control import PacketIn
from p4lab.model.entries import key
from p4lab.packets.igmp import host_frame, join_v2, join_v3, leave_v2, parse
from p4lab.systems.bier.entries import bier_entries
from p4lab.systems.bier.plane import BierControlPlane
from p4lab.topology import Failures, Topology

GROUP = IPv4Address("239.1.1.1")
G = int(GROUP)


class Switch:
    """A driver that is a switch: it has tables, and refuses what a switch would refuse."""

    def __init__(self):
        self.table = {}
        self.batches = 0
        self.sent = []
        self.broken = False

    def write(self, updates):
        if self.broken:
            raise OSError("the switch is gone")
        table = dict(self.table)
        for update in updates:
            assert (key(update.entity) in table) == (update.kind != "insert")
            if update.kind == "delete":
                del table[key(update.entity)]
            else:
                table[key(update.entity)] = update.entity
        self.table = table
        self.batches += 1

    def packet_out(self, port, frame):
        self.sent.append((port, frame))


class Lab:
    def __init__(self, name):
        self.topology = Topology.load(name)
        self.switches = {router.name: Switch() for router in self.topology.routers}
        self.plane = BierControlPlane(self.topology, 64, self.switches.__getitem__)
        self.plane.start(0)

    def igmp(self, now, host, build, *args):
        host = self.topology.host(host)
        frame = host_frame(host, build(host.ip, GROUP, *args))
        self.plane.packet_in(now, host.router, PacketIn(host.port, frame))
        self.plane.timer(now)

    def tables(self):
        return {name: frozenset(switch.table.values()) for name, switch in self.switches.items()}

    def receivers(self, source):
        return set(send(self.topology, self.tables(), source, G)[1])

    def run(self, until):
        while (due := self.plane.next_timer()) is not None and due <= until:
            self.plane.timer(due)


@pytest.fixture
def lab():
    return Lab("ring")


def test_start_writes_one_batch_per_router_and_asks_every_host(lab):
    assert {switch.batches for switch in lab.switches.values()} == {1}
    assert lab.tables() == bier_entries(lab.topology, frozenset(), 64)
    for router in lab.topology.routers:
        ((port, frame),) = lab.switches[router.name].sent
        assert lab.topology.neighbour(router.name, port).startswith("h")
        assert frame[:6].hex() == "01005e000001"
        assert int.from_bytes(frame[6:12], "big") == router.mac(port)
        assert parse(frame[14:])[0] == router.address


def test_joins_and_leaves_arrive_in_the_tables(lab):
    lab.igmp(1, "h3", join_v2)
    lab.igmp(2, "h5", join_v3)
    assert lab.receivers("h1") == {"h3", "h5"}
    assert lab.plane.membership == {Member("r3", 1, G), Member("r5", 1, G)}
    lab.igmp(SECOND, "h3", leave_v2)
    lab.run(10 * SECOND)
    assert lab.receivers("h1") == {"h5"}
    lab.run(1000 * SECOND)
    assert lab.receivers("h1") == set()
    assert lab.tables() == bier_entries(lab.topology, frozenset(), 64)


def test_a_join_changes_every_router_once_and_its_repetition_none(lab):
    before = {name: switch.batches for name, switch in lab.switches.items()}
    lab.igmp(1, "h3", join_v2)
    lab.igmp(2, "h3", join_v2)
    after = {name: switch.batches for name, switch in lab.switches.items()}
    assert after == {name: count + 1 for name, count in before.items()}


def test_a_failed_link_is_routed_around_and_used_again(lab):
    for host in ("h2", "h3", "h4"):
        lab.igmp(1, host, join_v2)
    link = lab.topology.link("r1", "r2")
    lab.plane.link_changed(2, link, False)
    members = lab.plane.membership
    assert lab.tables() == bier_entries(lab.topology, members, 64, Failures.of([link]))
    links, hosts = send(lab.topology, lab.tables(), "h1", G)
    assert hosts == {"h2": 1, "h3": 1, "h4": 1}
    assert links["r1", "r2"] == 0
    lab.plane.link_changed(3, link, True)
    assert lab.tables() == bier_entries(lab.topology, members, 64)


def test_joins_of_one_moment_are_one_push(lab):
    """A class of subscribers that tune in at once costs one computation, not one each."""
    before = {name: switch.batches for name, switch in lab.switches.items()}
    for name in ("h1", "h2", "h3"):
        host = lab.topology.host(name)
        frame = host_frame(host, join_v2(host.ip, GROUP))
        lab.plane.packet_in(5, host.router, PacketIn(host.port, frame))
    assert lab.plane.next_timer() == 5
    lab.plane.timer(5)
    pushed = [switch.batches - before[name] for name, switch in lab.switches.items()]
    assert max(pushed) == 1
    assert lab.receivers("h4") == {"h1", "h2", "h3"}


def test_a_host_whose_cable_is_pulled_is_asked_again_when_it_is_back(lab):
    lab.igmp(1, "h3", join_v2)
    cable = lab.topology.link("r3", "h3")
    lab.plane.link_changed(2, cable, False)
    assert lab.plane.membership == frozenset()
    assert lab.receivers("h1") == set()
    asked = len(lab.switches["r3"].sent)
    lab.plane.link_changed(3, cable, True)
    assert len(lab.switches["r3"].sent) == asked + 1
    lab.igmp(4, "h3", join_v2)
    assert lab.receivers("h1") == {"h3"}


def test_a_switch_that_failed_gets_what_it_missed(lab):
    lab.switches["r1"].broken = True
    with pytest.raises(OSError, match="the switch is gone"):
        lab.igmp(1, "h3", join_v2)
    wanted = bier_entries(lab.topology, lab.plane.membership, 64)
    assert [name for name, table in lab.tables().items() if table != wanted[name]] == ["r1"]
    lab.switches["r1"].broken = False
    lab.igmp(2, "h5", join_v2)
    assert lab.tables() == bier_entries(lab.topology, lab.plane.membership, 64)
    assert lab.plane.entries("r1") == lab.tables()["r1"]


def test_other_packets_are_counted(lab):
    lab.plane.packet_in(1, "r1", PacketIn(1, b""))
    lab.plane.packet_in(1, "r1", PacketIn(1, bytes(60)))
    frame = host_frame(lab.topology.host("h1"), join_v2(GROUP, GROUP))
    lab.plane.packet_in(1, "r1", PacketIn(2, frame))
    assert lab.plane.ignored == {"not an IPv4 frame": 2}
    assert lab.plane.listeners("r1").ignored == {"not from a host port": 1}
    assert lab.plane.membership == frozenset()


def test_more_receivers_than_bits():
    lab = Lab("sets")
    for host in lab.topology.hosts:
        lab.igmp(1, host.name, join_v2)
    links, hosts = send(lab.topology, lab.tables(), "h1", G)
    assert hosts == {host.name: 1 for host in lab.topology.hosts[1:]}
    # BFR-ids 10 to 18 lie in one set of 64, 190 to 198 in two.
    assert (links["r1", "r2"], links["r1", "r5"]) == (1, 2)
