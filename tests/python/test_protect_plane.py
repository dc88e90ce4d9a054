"""The control plane of 1+1 protection: connections come and go, and others do not notice.

If these fail, whoever adds a connection interrupts all others, or a host is never told that its
packets are too long.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, ICMPv6PacketTooBig, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from p4lab import registry
from p4lab.course.labs import load_plan
from p4lab.model.control import NumberError, PacketIn
from p4lab.model.entries import Entity, MulticastGroup, RegisterCell, Update
from p4lab.model.layout import TnaLayout
from p4lab.model.tables import Held
from p4lab.packets.icmp import fragmentation_needed, packet_too_big
from p4lab.packets.pcapng import frames
from p4lab.session.run import open_virtual
from p4lab.systems.protect import placement
from p4lab.systems.protect import plane as planes
from p4lab.systems.protect.connections import Connection, Flow
from p4lab.systems.protect.entries import connection_entries
from p4lab.systems.protect.plane import ProtectControlPlane
from p4lab.systems.protect.settings import ProtectSettings
from p4lab.topology import Topology

MS = 1_000_000
PROTECT = Topology.load("protect")
RING = Topology.load("ring")
ROUTERS = [router.name for router in RING.routers]


class Watched(Held):
    """Holds what is written, and remembers the batches."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[Update]] = []

    def write(self, updates: Sequence[Update]) -> None:
        self.batches.append(list(updates))
        super().write(updates)


def watched(
    topology: Topology, connections: Sequence[Connection] = (), **settings: object
) -> tuple[ProtectControlPlane, dict[str, Watched]]:
    drivers = {router.name: Watched() for router in topology.routers}
    chosen = ProtectSettings.model_validate(settings)
    plane = ProtectControlPlane(topology, drivers.__getitem__, connections, chosen)
    plane.start(0)
    return plane, drivers


# ---- Connections come and go


@st.composite
def connections(draw: st.DrawFn) -> list[Connection]:
    """Up to eight in a ring, with flows of all kinds, no two the same for a PTE."""
    found: list[Connection] = []
    for number in range(draw(st.integers(1, 8))):
        ends = draw(st.permutations(ROUTERS))[:2]
        flows = draw(
            st.lists(
                st.builds(
                    Flow,
                    st.sampled_from([None, ip_network("10.0.1.1/32"), ip_network("10.0.0.0/16")]),
                    st.sampled_from([None, ip_network("10.0.4.0/24")]),
                    st.sampled_from([None, 17]),
                ),
                max_size=2,
            )
        )
        found.append(
            Connection(f"c{number}", ends[0], ends[1], number % 3 + 10 * number, flows=tuple(flows))
        )
    return found


def own(plane: ProtectControlPlane, name: str) -> dict[str, set[Entity]]:
    """What a connection needs, by router."""
    found: dict[str, set[Entity]] = {router: set() for router in ROUTERS}
    placed = plane.placement[name]
    for router, entity in connection_entries(plane.topology, placed, plane.settings):
        found[router].add(entity)
    return found


@budget(max_examples=60)
@given(connections(), st.data())
def test_a_change_concerns_one_connection_only(
    chosen: list[Connection], data: st.DataObject
) -> None:
    """Whatever comes or goes: what is written belongs to it, and nothing is rewritten."""
    plane, drivers = watched(RING)
    there: list[str] = []
    for connection in [*chosen, *data.draw(st.permutations(chosen))]:
        before = {name: drivers[name].entries() for name in ROUTERS}
        for driver in drivers.values():
            driver.batches.clear()
        if connection.name in there:
            mine = own(plane, connection.name)
            plane.disconnect(connection.name)
            there.remove(connection.name)
        else:
            plane.connect(connection)
            there.append(connection.name)
            mine = own(plane, connection.name)
        for router, driver in drivers.items():
            written = [update for batch in driver.batches for update in batch]
            assert {update.kind for update in written} <= {"insert", "delete"}
            assert {update.entity for update in written} <= mine[router]
            assert before[router] ^ driver.entries() <= mine[router]
            for other in there:
                assert own(plane, other)[router] <= driver.entries()


def test_what_is_taken_away_leaves_nothing() -> None:
    plane, drivers = watched(RING)
    empty = {name: driver.entries() for name, driver in drivers.items()}
    plane.connect(Connection("a", "r1", "r4", 1, flows=(Flow(),)))
    assert drivers["r2"].entries() != empty["r2"]
    plane.disconnect("a")
    assert {name: driver.entries() for name, driver in drivers.items()} == empty


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (Connection("a", "r2", "r5", 9), "there is a connection a already"),
        (Connection("b", "r2", "r4", 1), "a and b both end at r4 with CID 1"),
        (Connection("b", "r1", "r3", 2, (("r2",), ("r2",))), "both paths from r1 to r3"),
    ],
)
def test_a_connection_that_cannot_be_changes_nothing(second: Connection, reason: str) -> None:
    plane, drivers = watched(RING, [Connection("a", "r1", "r4", 1)])
    before = {name: driver.entries() for name, driver in drivers.items()}
    with pytest.raises(NumberError, match=reason):
        plane.connect(second)
    assert {name: driver.entries() for name, driver in drivers.items()} == before
    plane.connect(Connection("b", "r2", "r5", 1))


def test_a_failure_is_no_news_for_connections() -> None:
    """Plain routes go around it, tunnels stay: the other one works."""
    plane, drivers = watched(RING, [Connection("a", "r1", "r4", 1, flows=(Flow(),))])
    mine = own(plane, "a")
    before = {name: driver.entries() for name, driver in drivers.items()}
    plane.link_changed(0, RING.link("r1", "r2"), False)
    for name, driver in drivers.items():
        assert mine[name] <= driver.entries()
        changed = driver.entries() ^ before[name]
        assert {entity.table for entity in changed} <= {"ipv4_routes", "ipv6_routes"}
    assert drivers["r1"].entries() != before["r1"]
    plane.link_changed(0, RING.link("r1", "r2"), True)
    assert {name: driver.entries() for name, driver in drivers.items()} == before


def test_tunnels_of_all_connections_have_addresses_of_their_own() -> None:
    """Unless they share both paths: then they can share the tunnels, too."""
    plane, _ = watched(
        RING,
        [
            Connection("a", "r1", "r4", 1),
            Connection("b", "r1", "r4", 2),
            Connection("c", "r2", "r4", 3),
            Connection("d", "r4", "r1", 1),
        ],
    )
    tunnels = [placed.tunnel for placed in plane.placement]
    assert tunnels[0] == tunnels[1] and len(set(tunnels)) == 3


# ---- Registers


@pytest.mark.parametrize("accept", ["highest", "slots", "vector"])
def test_others_come_and_go_while_a_connection_works(accept: str) -> None:
    """In virtual time: not one packet of it is lost or comes twice."""
    plan = load_plan("03-protect", packets=200, accept=accept)
    with open_virtual(plan) as session:
        session.start()
        plane = session.plane
        assert isinstance(plane, ProtectControlPlane)
        start = session.begin()
        elsewhere = Flow(dst=ip_network("10.0.6.0/24"))
        for number in range(20):
            session.net.run_until(start + 10 * number * MS, plane)
            name = f"other{number // 2}"
            if number % 2:
                plane.disconnect(name)
            else:
                plane.connect(Connection(name, "r1", "r5", 1000 + number, flows=(elsewhere,)))
        session.net.run_until(session.end(start), plane)
        report = session.report()
    assert report.ok, report.problems


@pytest.mark.parametrize("accept", ["match", "highest", "slots", "vector"])
def test_a_new_connection_in_an_old_place_begins_with_1(
    accept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When all places have been taken once, registers are reset before one is taken again."""
    monkeypatch.setattr(placement, "PLACES", 1)
    plan = load_plan("03-protect", packets=50, accept=accept, history=8, reset="0 ms")
    with open_virtual(plan) as session:
        session.start()
        session.send()
        plane = session.plane
        assert isinstance(plane, ProtectControlPlane)
        before = plane.placement["r1-r5"]
        plane.disconnect("r1-r5")
        cells = [update for update in plane.entries("r5") if isinstance(update, RegisterCell)]
        assert not cells
        after = plane.connect(replace(before.connection, name="again"))
        assert (after.pti_index, after.pte_index) == (before.pti_index, before.pte_index)
        node = session.net._nodes["r1"]
        assert session.net.engine.read_register(node, "pti_last_sn", after.pti_index) == 0
        session.send((replace(plan.streams[0], flow=9),))
        assert session.net.engine.read_register(node, "pti_last_sn", after.pti_index) == 50
        observed = session.net.observed()
    assert observed.received["h3", 9].unique == 50
    # Copies are further apart than packets, too far for `match`.
    assert observed.received["h3", 9].duplicates == (50 if accept == "match" else 0)


def test_a_place_that_nobody_had_comes_first() -> None:
    """P4Runtime on bmv2 writes no registers: as long as there is a fresh one, none has to be."""
    plane, drivers = watched(RING)
    for number in range(30):
        plane.connect(Connection("a", "r1", "r4", 1))
        assert plane.placement["a"].pti_index == number
        plane.disconnect("a")
    assert not any(
        isinstance(update.entity, RegisterCell)
        for driver in drivers.values()
        for batch in driver.batches
        for update in batch
    )


def test_a_full_switch_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "PLACES", 2)
    plane, _ = watched(RING, [Connection(f"c{n}", "r1", "r4", n) for n in (1, 2)])
    with pytest.raises(NumberError, match="r1 is the PTI of 2 connections already"):
        plane.connect(Connection("x", "r1", "r3", 3))
    with pytest.raises(NumberError, match="r4 is the PTE of 2 connections already"):
        plane.connect(Connection("x", "r2", "r4", 3))
    plane.disconnect("c1")
    plane.connect(Connection("x", "r1", "r4", 3))


# ---- Packets that are too long

LONG = Ether(src="02:01:00:00:01:01", dst="02:00:00:00:01:01")
GOLD = Connection("gold", "r1", "r5", 1, mtu=1400, flows=(Flow(dst=ip_network("10.0.5.0/24")),))
V6 = Connection("v6", "r1", "r5", 2, mtu=1400, flows=(Flow(dst=ip_network("fd00:0:0:5::/64")),))


def answers(frames: Sequence[Ether], now: int = 0) -> tuple[list[Ether], ProtectControlPlane]:
    """What r1 sends to the host on port 1 after having got frames for the control plane."""
    sent: list[Ether] = []

    class Sending(Held):
        def packet_out(self, port: int, frame: bytes) -> None:
            assert port == 1
            sent.append(Ether(frame))

    plane = ProtectControlPlane(PROTECT, lambda _: Sending(), [GOLD, V6])
    plane.start(now)
    for frame in frames:
        plane.packet_in(now, "r1", PacketIn(1, bytes(frame)))
    return sent, plane


def v4(length: int = 1400, **fields: object) -> Ether:
    packet = IP(src="10.0.1.1", dst="10.0.5.1", flags="DF", **fields) / UDP(sport=1, dport=2)
    return LONG / packet / Raw(bytes(length - len(packet)))


def v6(length: int = 1400) -> Ether:
    packet = IPv6(src=str(PROTECT.host("h1").ip6), dst="fd00:0:0:5::1") / UDP()
    return LONG / packet / Raw(bytes(length - len(packet)))


def test_the_sender_learns_how_much_fits() -> None:
    """Field by field as scapy builds it; the sums are right, and the host finds its own packet."""
    (answer,), plane = answers([v4()])
    wanted = IP(src="10.0.1.254", dst="10.0.1.1", id=0) / ICMP(type=3, code=4, nexthopmtu=1372)
    wanted = wanted / Raw(bytes(v4()[IP])[:548])
    assert bytes(answer[IP]) == bytes(wanted)
    assert (answer.src, answer.dst) == ("02:00:00:00:01:01", "02:01:00:00:01:01")
    assert plane.answered == 1


def test_the_sender_learns_how_much_fits_in_ipv6() -> None:
    (answer,), _ = answers([v6()])
    wanted = IPv6(src="fd00:0:0:1::fe", dst=str(PROTECT.host("h1").ip6))
    wanted = wanted / ICMPv6PacketTooBig(mtu=1372) / Raw(bytes(v6()[IPv6])[:1232])
    assert bytes(answer[IPv6]) == bytes(wanted)
    assert len(answer[IPv6]) == 1280


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_finds_nothing_wrong_with_the_answers(tmp_path: Path) -> None:
    sent, _ = answers([v4(), v6()])
    capture = tmp_path / "answers.pcap"
    wrpcap(str(capture), sent)
    names = ("icmp.mtu", "icmp.checksum.status", "icmpv6.mtu", "icmpv6.checksum.status")
    wanted = [part for name in (*names, "ip.checksum.status") for part in ("-e", name)]
    done = subprocess.run(
        ["tshark", "-r", str(capture), "-o", "ip.check_checksum:TRUE", "-T", "json", *wanted],
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = (packet["_source"]["layers"] for packet in json.loads(done.stdout))
    assert first["icmp.mtu"] == ["1372"] and first["icmp.checksum.status"] == ["1"]
    assert first["ip.checksum.status"][0] == "1"
    assert second["icmpv6.mtu"] == ["1372"] and second["icmpv6.checksum.status"] == ["1"]


@pytest.mark.parametrize(
    "frame",
    [
        LONG / IP(src="10.0.1.1", dst="10.0.5.1") / ICMP(type=3, code=1) / Raw(bytes(1400)),
        v4(frag=10),
        LONG / IP(src="224.0.0.1", dst="10.0.5.1") / Raw(bytes(1400)),
        LONG / IP(src="255.255.255.255", dst="10.0.5.1") / Raw(bytes(1400)),
        LONG / IP(src="0.0.0.0", dst="10.0.5.1") / Raw(bytes(1400)),
        LONG / IPv6(src="::", dst="fd00:0:0:5::1") / Raw(bytes(1400)),
        LONG / IPv6(src="fd00::1", dst="fd00:0:0:5::1") / ICMPv6PacketTooBig() / Raw(bytes(1400)),
    ],
)
def test_what_must_not_be_answered_is_not(frame: Ether) -> None:
    """Errors are not answered with errors, nor are later fragments, nor what nobody has sent."""
    sent, plane = answers([frame])
    assert not sent
    assert [key for key in plane.ignored if "must not be answered" in key]


def test_a_ping_that_is_too_long_is_answered() -> None:
    ping = LONG / IP(src="10.0.1.1", dst="10.0.5.1") / ICMP(type=8) / Raw(bytes(1400))
    ping6 = LONG / IPv6(src="fd00::1", dst="fd00:0:0:5::1") / ICMPv6EchoRequest(data=bytes(1400))
    sent, _ = answers([ping, ping6])
    assert [ICMP in frame for frame in sent] == [True, False]
    assert ICMPv6PacketTooBig in sent[1]


def test_ports_are_called_as_the_chip_calls_them() -> None:
    """What came by port 129 of this chip came by the topology's port 1, and is answered there."""
    sent: list[tuple[int, Ether]] = []

    class Sending(Held):
        def packet_out(self, port: int, frame: bytes) -> None:
            sent.append((port, Ether(frame)))

    layouts = {router.name: TnaLayout(port=lambda n: n + 128) for router in PROTECT.routers}
    plane = ProtectControlPlane(PROTECT, lambda _: Sending(), [GOLD], layouts=layouts)
    plane.start(0)
    plane.packet_in(0, "r1", PacketIn(129, bytes(v4())))
    plane.packet_in(0, "r1", PacketIn(1, bytes(v4())))
    ((port, answer),) = sent
    assert port == 129 and answer.src == "02:00:00:00:01:01"
    assert plane.ignored["no cable there"] == 1
    groups = [entity for entity in plane.entries("r1") if isinstance(entity, MulticastGroup)]
    assert [port for port, _ in groups[0].replicas] == [131, 132]


@pytest.mark.parametrize("data", [b"", bytes(13), bytes(14), bytes(LONG) + b"\x45" + bytes(18)])
def test_garbage_for_the_control_plane_is_counted(data: bytes) -> None:
    plane, _ = watched(PROTECT, [GOLD])
    plane.packet_in(0, "r1", PacketIn(1, data))
    assert sum(plane.ignored.values()) == 1 and plane.answered == 0


def test_packets_of_no_connection_are_not_answered() -> None:
    sent, plane = answers([LONG / IP(src="10.0.1.1", dst="10.0.6.1") / Raw(bytes(1400))])
    assert not sent and plane.ignored["not expected"] == 1


def test_a_router_answers_a_hundred_times_a_second_at_most() -> None:
    """Whoever sends it long packets cannot make it talk."""
    plane, _ = watched(PROTECT, [GOLD])
    packet = PacketIn(1, bytes(v4()))
    for number in range(10_000):  # 2 s
        plane.packet_in(number * MS // 5, "r1", packet)
    assert 200 <= plane.answered <= 212
    assert plane.ignored[planes.LIMITED] == 10_000 - plane.answered


def test_the_quoted_packet_of_another_router_is_left_alone() -> None:
    """The functions as any router may use them, with packets of every length."""
    packet = bytes(v4(60)[IP])
    answer = fragmentation_needed(IPv4Address("10.0.9.254"), packet, 1000)
    assert answer is not None and answer[28:] == packet
    long6 = bytes(v6(3000)[IPv6])
    answer6 = packet_too_big(IPv6Address("fd00::fe"), long6, 1300)
    assert answer6 is not None and len(answer6) == 1280 and answer6[48:] == long6[:1232]


def test_a_host_gets_the_answer_over_its_cable() -> None:
    """In virtual time, with a packet of 1,500 bytes and the usual MTU: 1,472 fit."""
    plan = load_plan("03-protect", packets=1)
    with open_virtual(plan) as session:
        session.start()
        net, host = session.net, plan.streams[0].source
        net.watch(host)
        for length in (1486, 1487):
            session.net.load(host, plan.streams[0].destination, length, rate=10**9,
                             lengths=((length, 1),), count=1)  # fmt: skip
        net.run_until(50 * MS, session.plane)
        assert session.plane.answered == 1
        link = net._number(plan.topology.link(host.name, host.router))
        seen = [Ether(frame) for _, frame in frames(net.engine.drain_capture(link))]
        observed = net.engine.report(net._nodes["h3"])
    (answer,) = [frame for frame in seen if ICMP in frame]
    assert answer[ICMP].nexthopmtu == 1472
    assert [row["flow"] for row in observed if row["received"]] == [1486]


# ---- How values are written


def test_numbers_are_decimal_and_protocols_have_names() -> None:
    """A sequence number of 32 bits is not an address and no hexadecimal."""
    notation = registry.find("protect").notation
    assert notation.text("hdr.protection.sn", 4_000_000_000, 32) == "4000000000"
    assert notation.text("cid", 70_000, 24) == "70000"
    assert notation.text("dst_addr", 0xAC100102, 32) == "172.16.1.2"
    assert notation.text("hdr.ipv6.src_addr", int(PROTECT.host("h1").ip6), 128) == ("fd00:0:0:1::1")
    assert notation.meaning("hdr.protection.next_protocol", 41) == "IPv6"
    assert notation.meaning("hdr.tunnel.protocol", 253) == "protection"


def test_a_frame_in_a_tunnel_is_told_by_its_number() -> None:
    plan = load_plan("03-protect")
    system = registry.find("protect")
    headers = [{"fields": {"src_addr": "0x1"}}, {"fields": {"cid": "0x1", "sn": "0x11"}}]
    carried = system.carried(plan, headers)
    assert carried is not None
    assert (carried.said, carried.label) == ("number 17 of connection 1", "1:17")
    assert system.carried(plan, headers[:1]) is None
    assert "with the policy highest" in system.describe(plan)
