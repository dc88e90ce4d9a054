"""MSR6's control plane: hosts join by MLD, trees follow, and senders of bad packets are told once.

What a user would lose: a host that joins and hears nothing, a router inside that holds rows of
groups, or a sender that is never told what is wrong with its packets, or told for each copy.
"""

from __future__ import annotations

import struct
from ipaddress import IPv6Address
from pathlib import Path

import pytest
from scapy.layers.inet6 import ICMPv6PacketTooBig, ICMPv6ParamProblem, ICMPv6TimeExceeded, IPv6
from scapy.layers.l2 import Ether

from p4lab import registry
from p4lab.control.limit import SECOND
from p4lab.control.listeners import Member
from p4lab.model.control import PacketIn
from p4lab.model.entries import TableEntry, key
from p4lab.model.run import Stream
from p4lab.packets import mld
from p4lab.packets.ip import PROTOCOL_UDP, ethernet, ipv6, link_local, udp
from p4lab.paths import ROOT as CHECKOUT
from p4lab.session.run import carry_out, open_virtual
from p4lab.systems.msr6.plane import Msr6ControlPlane
from p4lab.systems.msr6.settings import Msr6Settings
from p4lab.topology import Topology

GROUP = IPv6Address("ff3e::4:1")
PROGRAM = CHECKOUT / "p4/msr6/v1model.p4"
ROOT = IPv6Address("fd00:0:0:1::fe")  # r1, where the headers were put on
RL, RLB, RGB, DT6 = 0x100, 0x200, 0x300, 0x600


class Switch:
    """A driver that keeps what it is given."""

    def __init__(self) -> None:
        self.table: dict = {}
        self.sent: list[tuple[int, bytes]] = []

    def write(self, updates) -> None:
        for update in updates:
            if update.kind == "delete":
                del self.table[key(update.entity)]
            else:
                self.table[key(update.entity)] = update.entity

    def packet_out(self, port: int, frame: bytes) -> None:
        self.sent.append((port, frame))

    def rows(self, table: str) -> list[TableEntry]:
        every = (row for row in self.table.values() if isinstance(row, TableEntry))
        return [row for row in every if row.table == table]


class Lab:
    def __init__(self, **found) -> None:
        self.topology = Topology.load("msr6")
        self.switches = {router.name: Switch() for router in self.topology.routers}
        self.plane = Msr6ControlPlane(
            self.topology,
            self.switches.__getitem__,
            Msr6Settings(**found),
            frozenset([(int(GROUP), "r1")]),
        )
        self.plane.start(0)

    def mld(self, now: int, name: str, build) -> None:
        host = self.topology.host(name)
        frame = mld.host_frame(host, build(link_local(host.mac), GROUP))
        self.plane.packet_in(now, host.router, PacketIn(host.port, frame))
        self.plane.timer(now)

    def told(self, now: int, router: str, port: int, packet: bytes) -> IPv6 | None:
        """What the router answers to a packet that its switch has refused."""
        switch = self.switches[router]
        before = len(switch.sent)
        frame = ethernet(2, 1, 0x86DD, packet)
        self.plane.packet_in(now, router, PacketIn(port, frame))
        if len(switch.sent) == before:
            return None
        ((out, frame),) = switch.sent[before:]
        assert out == port
        whole = Ether(frame)
        assert whole.dst == "00:00:00:00:00:01"  # back to whoever sent the frame
        return whole[IPv6]


@pytest.fixture
def lab() -> Lab:
    return Lab()


def refused(
    function: int,
    argument: int,
    *,
    node: int = 7,
    left: int = 2,
    last: int = 1,
    length: int = 4,
    hops: int = 60,
    kind: int = 253,
) -> bytes:
    """A packet for router r7 with two entries; by hand from the profile."""
    sid = IPv6Address(0x5F00 << 112 | node << 48 | function << 32 | argument)
    fixed = struct.pack("!BBBBBBH", 41, length, kind, left, last, 0, 0)
    inside = ipv6(ROOT, GROUP, PROTOCOL_UDP, udp(ROOT, GROUP, (1, 2), b"x"))
    return ipv6(ROOT, sid, 43, fixed + bytes(8 * length) + inside, hops=hops)


def test_both_versions_of_mld_are_heard_and_trees_follow(lab: Lab) -> None:
    assert not lab.switches["r1"].rows("trees")
    lab.mld(1, "h8", mld.join_v2)
    lab.mld(2, "h11", mld.join_v1)
    listening = {Member("r8", 1, int(GROUP)), Member("r11", 1, int(GROUP))}
    assert {(m.router, m.group) for m in lab.plane.membership} == {
        (m.router, m.group) for m in listening
    }
    (row,) = lab.switches["r1"].rows("trees")
    params = dict(row.params)
    # r1 -> r2 -> r5 -> r8 and r1 -> r3 -> r7 -> r11: six entries, and nothing in between.
    assert params["last_entry"] == 5
    assert params["destination"] == 0x5F00 << 112 | 1 << 48 | RL << 32 | 2 << 24 | 5 << 16
    assert params["mtu"] == 9000 - 40 - (8 + 6 * 16)
    for inside in ("r2", "r3", "r5", "r7"):
        assert not lab.switches[inside].rows("group_ports")
        assert not lab.switches[inside].rows("trees")
    lab.mld(3, "h8", mld.leave_v2)
    while (due := lab.plane.next_timer()) is not None and due <= 10 * SECOND:
        lab.plane.timer(due)
    (row,) = lab.switches["r1"].rows("trees")
    assert dict(row.params)["last_entry"] == 2


def test_a_link_that_fails_changes_trees_where_packets_come_in(lab: Lab) -> None:
    lab.mld(1, "h9", mld.join_v2)
    (before,) = lab.switches["r1"].rows("trees")
    lab.plane.link_changed(2, lab.topology.link("r5", "r9"), up=False)
    (after,) = lab.switches["r1"].rows("trees")
    nodes = [value >> 48 & 0xFFFF for name, value in after.params if name.startswith("sid_")]
    # Index 0 first: by r3, r7, r10 and r6, which costs 9; by r2, r4 and r6 it would be 10.
    assert [node for node in nodes if node] == [9, 6, 10, 7, 3]
    lab.plane.link_changed(3, lab.topology.link("r5", "r9"), up=True)
    assert lab.switches["r1"].rows("trees") == [before]


PROBLEMS = [
    # What is wrong, the packet, ICMPv6 code and the byte it points at (RFC 4443, section 3.4).
    ("an odd length", refused(RL, 0x01000000, length=3), 0, 41),
    ("another routing type", refused(RL, 0x01000000, kind=4), 0, 42),
    ("Segments Left", refused(RL, 0x01000000, left=3), 0, 43),
    ("LastEntry", refused(RL, 0x01000000, last=2), 0, 44),
    ("more entries than a router reads", refused(RL, 0x01000000, length=34), 6, 40),
    ("no child", refused(RL, 0x00000000), 0, 36),
    ("more children than entries", refused(RL, 0x02000000), 0, 36),
    ("a pointer that leads back", refused(RL, 0x01020000), 0, 37),
    ("no bit", refused(RLB, 0x00000000), 0, 36),
    ("a bit of nobody", refused(RLB, 0x80000000), 0, 36),
    ("a pointer that leads back", refused(RLB, 0x00010200), 0, 38),
    ("no receiver", refused(RGB, 0, last=0, left=1), 0, 48),
    ("at a leaf", refused(DT6, 0, left=1), 0, 43),
]


@pytest.mark.parametrize(("what", "packet", "code", "pointer"), PROBLEMS)
def test_the_sender_learns_which_byte_is_wrong(
    lab: Lab, what: str, packet: bytes, code: int, pointer: int
) -> None:
    answer = lab.told(1, "r7", 1, packet)
    assert answer is not None, what
    problem = answer[ICMPv6ParamProblem]
    assert (answer.src, answer.dst) == ("fd00:0:0:7::fe", str(ROOT))
    assert (problem.code, problem.ptr) == (code, pointer), what
    assert lab.plane.answered == 1


def test_a_hop_limit_that_runs_out_is_told_once_and_not_for_each_copy(lab: Lab) -> None:
    answer = lab.told(1, "r7", 1, refused(RL, 0x02010000, hops=1))
    assert answer is not None and ICMPv6TimeExceeded in answer
    assert lab.plane.answered == 1


def test_nobody_is_told_too_often(lab: Lab) -> None:
    packet = refused(RL, 0)
    answers = [lab.told(number, "r7", 1, packet) for number in range(1, 100)]
    assert sum(answer is not None for answer in answers) == 10
    assert lab.told(60 * SECOND, "r7", 1, packet) is not None


def test_errors_about_errors_are_not_sent(lab: Lab) -> None:
    error = struct.pack("!BBHI", 1, 0, 0, 0)
    packet = ipv6(ROOT, IPv6Address("2001:db8::1"), 58, error)
    assert lab.told(1, "r7", 1, packet) is None
    assert lab.plane.ignored["must not be answered"] == 1


def test_a_packet_that_does_not_fit_with_its_tree_names_the_length_that_would() -> None:
    lab = Lab(mtu=1500)
    lab.mld(1, "h8", mld.join_v2)
    # r2, r5 and the leaf r8: 40 + 8 + 3 x 16 bytes in front.
    packet = ipv6(IPv6Address("fd00:0:0:1::1"), GROUP, PROTOCOL_UDP, bytes(1400))
    answer = lab.told(2, "r1", lab.topology.host("h1").port, packet)
    assert answer is not None
    assert answer[ICMPv6PacketTooBig].mtu == 1500 - 40 - 8 - 3 * 16


def plan_of(topology: str = "msr6", program: Path = PROGRAM, **found):
    system = registry.find("msr6")
    network = Topology.load(topology)
    first, *others = network.hosts
    stream = Stream(1, GROUP, first, tuple(others), 5, 10**6)
    return system.plan("04-msr6", program, network, Msr6Settings(**found), 1, (stream,))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"avoid": "r1-r9"}, "msr6 has no link r1-r9"),
        ({"encoding": "be", "avoid": "r1-r2"}, "a bit string names receivers and no tree"),
        ({"encoding": "be", "tree": "steiner"}, "a bit string names receivers and no tree"),
        ({"encoding": "clone", "delay": "9 ms"}, "one tree for all sources"),
        ({"encoding": "clone", "leaves": "hosts"}, "no headers for hosts to take off"),
    ],
)
def test_settings_without_effect_are_refused(found, said: str) -> None:
    plan = plan_of(**found)
    with pytest.raises(ValueError, match=said):
        registry.find("msr6").check(plan)


def test_a_report_says_why_packets_did_not_arrive(tmp_path: Path) -> None:
    """Copies to leaves keep their index: routers refuse them, and the report names the reason. The
    errors that they send are not copies."""
    for source in sorted(PROGRAM.parent.glob("*.p4")):
        text = source.read_text()
        if source.name == "te.p4":
            assert "segments_left = 0;" in text
            text = text.replace("segments_left = 0;", "segments_left = entry;")
        (tmp_path / source.name).write_text(text)
    with open_virtual(plan_of(program=tmp_path / "v1model.p4")) as session:
        carry_out(session)
        report = session.report()
    assert not report.ok
    assert "r8 gave packets up: 5 for SEGMENTS_LEFT." in report.notes
    assert not any("ideal tree" in problem for problem in report.problems), report.problems


def test_the_tree_without_headers_reaches_no_router_in_vain() -> None:
    system = registry.find("msr6")
    network = Topology.load("tree10")
    first, *others = network.hosts
    streams = (
        Stream(1, GROUP, first, tuple(others), 5, 10**6),
        Stream(2, GROUP + 1, others[-1], (first, others[0]), 5, 10**6),
    )
    found = Msr6Settings(encoding="clone")
    plan = system.plan("04-msr6", PROGRAM, network, found, 1, streams)
    with open_virtual(plan) as session:
        carry_out(session)
        assert session.report().problems == ()
