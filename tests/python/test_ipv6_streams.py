"""Streams of IPv6, to groups and to one host, on both networks.

If these fail, a lab about IPv6 sends what no Linux host would take, its hosts are not heard by the
control plane, or labs about IPv4 get frames that nobody asked for.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from pathlib import Path

import pytest
from scapy.layers.inet import UDP
from scapy.layers.inet6 import (
    ICMPv6MLDone,
    ICMPv6MLReport,
    ICMPv6MLReport2,
    IPv6,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    RouterAlert,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from cli_runner import p4lab
from p4lab import registry
from p4lab.control.plane import EntryPlane
from p4lab.course import home
from p4lab.course.labs import LabError, load_plan
from p4lab.engine import load_program
from p4lab.hosts.agent import Wanted
from p4lab.model.entries import Entries
from p4lab.model.run import Plan, Received, Stream
from p4lab.model.system import System
from p4lab.network import LinuxHosts, NetworkError, open_network
from p4lab.network.mininet import MininetNetwork
from p4lab.network.mld_host import MldHost
from p4lab.network.switches import EngineSwitches
from p4lab.network.virtual import CHECKSUM_PERIOD
from p4lab.packets import mld
from p4lab.packets.ip import checksum_v6, link_local, payload_v6
from p4lab.packets.probe import Probe
from p4lab.session.opening import cpu_port, linux_hosts, open_session
from p4lab.session.run import Session, carry_out, open_virtual
from p4lab.topology import Host, Topology

MS = 1_000_000
SECOND = 1000 * MS
ETH_P_ALL = 3
COURSE = Path(__file__).parent / "ipv6_course"
LAB = "90-six"
GROUP = IPv6Address("ff3e::4:1")
TOOLS = ("mnexec", "ifconfig", "ip", "ethtool")
needs_mininet = pytest.mark.skipif(
    os.geteuid() != 0 or any(shutil.which(tool) is None for tool in TOOLS),
    reason="Mininet needs root and its tools",
)
needs_seg6 = pytest.mark.skipif(
    not Path("/proc/sys/net/ipv6/conf/all/seg6_enabled").exists(),
    reason="this kernel has no SRv6",
)
NETWORKS = ["virtual", pytest.param("linux", marks=needs_mininet)]


@pytest.fixture
def course(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A course of one lab, to change at will."""
    shutil.copytree(COURSE, tmp_path / "course")
    monkeypatch.setenv(home.ENVIRONMENT, str(tmp_path / "course"))
    return tmp_path / "course"


def change(course: Path, old: str, new: str) -> None:
    file = course / "labs" / LAB / "lab.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


# ---- What a lab says


def test_a_lab_names_groups_and_hosts_of_ipv6(course: Path) -> None:
    first, second, third = load_plan(LAB).streams
    assert (first.destination, second.destination) == (GROUP, IPv6Address("ff3e::4:2"))
    assert third.destination == IPv6Address("fd00:0:0:1::1")
    change(course, "ip = 6", "ip = 4")
    assert load_plan(LAB).streams[2].destination == IPv4Address("10.0.1.1")
    change(course, "ip = 4", "")
    assert load_plan(LAB).streams[2].destination == IPv4Address("10.0.1.1")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"ff3e::4:1"', '"fe3e::4:1"', "fe3e::4:1 is not the address of a group"),
        ('"ff3e::4:1"', '"10.0.0.1"', "10.0.0.1 is not the address of a group"),
        ('"ff3e::4:1"', '"ff3e::4:1"\nip = 6', "ip goes with to"),
        ("ip = 6", "ip = 5", "4 or 6"),
    ],
)
def test_what_a_lab_must_not_say(course: Path, old: str, new: str, told: str) -> None:
    change(course, old, new)
    with pytest.raises(LabError, match=told) as error:
        load_plan(LAB)
    assert "lab.toml:" in str(error.value), "with the line"


def test_drawn_streams_are_of_the_versions_that_the_plan_has(course: Path) -> None:
    """Else a check of a whole network would try a program for IPv6 with packets of IPv4."""
    plan = load_plan(LAB)
    groups = System().draw(plan, random.Random(1), 3, 2).streams
    assert [str(stream.destination) for stream in groups] == [
        "ff3e::4:1", "ff3e::4:2", "ff3e::4:3",
    ]  # fmt: skip
    hosts = System().draw(replace(plan, streams=plan.streams[2:]), random.Random(1), 3, 2).streams
    assert all(stream.destination == stream.receivers[0].ip6 for stream in hosts)


def test_bier_says_that_its_packets_are_of_ipv4() -> None:
    plan = load_plan("01-bier")
    streams = (replace(plan.streams[0], destination=GROUP),)
    with pytest.raises(ValueError, match=r"stream 1 goes to ff3e::4:1: .* IPv4"):
        registry.find(plan.system).check(replace(plan, streams=streams))


# ---- A run from beginning to end


@pytest.mark.parametrize("net", NETWORKS)
def test_members_get_every_packet_once(course: Path, net: str) -> None:
    done = p4lab("run", LAB, "--net", net, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(done.stdout)["hosts"]
    got = {(row["destination"], row["host"]): row["received"] for row in rows}
    assert got == {
        ("ff3e::4:1", "h2"): 20,
        ("ff3e::4:1", "h3"): 20,
        ("ff3e::4:1", "h4"): 20,
        ("ff3e::4:2", "h1"): 20,
        ("ff3e::4:2", "h2"): 0,
        ("ff3e::4:2", "h3"): 0,
        ("fd00:0:0:1::1", "h1"): 20,
        ("fd00:0:0:1::1", "h2"): 0,
        ("fd00:0:0:1::1", "h4"): 0,
    }
    assert not any(row["unwanted"] for row in rows)


def test_what_a_run_prints_names_the_protocol_of_its_groups(course: Path) -> None:
    text = p4lab("run", LAB).stdout
    assert "queries about groups (MLD)" in text and "IGMP" not in text


@pytest.mark.parametrize("net", NETWORKS)
def test_a_copy_that_nobody_wanted_is_seen(course: Path, net: str) -> None:
    """It reaches the card of h2, and none of its sockets."""
    program = course / "p4" / "six.p4"
    port = Topology.load(course / "topologies" / "line.toml").host("h2").port
    right = "group_ports.apply();"
    assert right in program.read_text()
    program.write_text(
        program.read_text().replace(right, f"standard_metadata.egress_spec = {port};")
    )
    plan = load_plan(LAB, packets=5)
    members = (plan.topology.host("h4"),)
    plan = replace(plan, streams=(replace(plan.streams[0], receivers=members),))
    with open_session(plan, net) as session:
        carry_out(session)
        observed = session.net.observed()
        report = session.report()
    assert observed.received == {("h2", 1): Received(5, 0)}
    assert any("h2 got 5 packets without a subscription" in line for line in report.problems)


def test_a_network_is_checked_with_streams_of_its_own(course: Path) -> None:
    done = p4lab("check", LAB, course / "p4")
    assert done.returncode == 0 and "100/100" in done.stdout, done.stdout + done.stderr


# ---- Packets of the network in virtual time


def checked(frame: bytes) -> Probe:
    """The probe in a frame, after a look at its UDP checksum."""
    source, destination = IPv6Address(frame[22:38]), IPv6Address(frame[38:54])
    protocol, datagram = payload_v6(frame[14:])
    assert (protocol, checksum_v6(source, destination, 17, datagram)) == (17, 0)
    probe = Probe.of(frame)
    assert probe
    return probe


def sent_by(session: Session, host: Host) -> list[bytes]:
    """The probes that a host's cable has carried from it since the last call."""
    link = session.net.topology.link(host.name, host.router)
    frames = [frame for _, frame in session.net.recorded(link)]
    return [frame for frame in frames if (probe := Probe.of(frame)) and probe.sender == host.id]


def test_every_packet_has_a_right_checksum_as_its_number_changes(course: Path) -> None:
    """Linux drops other packets of IPv6, so what was captured could not be sent to a real host."""
    packets = CHECKSUM_PERIOD + 3
    plan = load_plan(LAB, packets=packets)
    (stream,) = streams = (replace(plan.streams[2], interval_ns=1000),)
    plan = replace(plan, streams=streams)
    with open_virtual(plan) as session:
        session.net.record(plan.topology.link(stream.source.name, stream.source.router))
        carry_out(session)
        frames = sent_by(session, stream.source)
        observed = session.net.observed()
    assert [Probe.of(frame).sequence for frame in frames] == list(range(packets))
    some = random.Random(1).sample(range(packets), 500)
    for number in [*range(10), *some, *range(packets - 10, packets)]:
        assert checked(frames[number]).sequence == number
    assert observed.sent == {3: packets}
    assert observed.received == {("h1", 3): Received(packets, 0)}


def test_a_flow_that_goes_on_keeps_its_checksums_right(course: Path) -> None:
    plan = load_plan(LAB, packets=7)
    stream = plan.streams[0]
    with open_virtual(plan) as session:
        session.net.record(plan.topology.link(stream.source.name, stream.source.router))
        carry_out(session)
        session.send((replace(stream, packets=5),))
        frames = sent_by(session, stream.source)
    assert [checked(frame).sequence for frame in frames] == list(range(12))


def test_packets_leave_when_they_are_due(course: Path) -> None:
    plan = load_plan(LAB, packets=5)
    stream = plan.streams[0]
    link = plan.topology.link(stream.source.name, stream.source.router)
    with open_virtual(plan) as session:
        session.net.record(link)
        session.start()
        start = session.send((stream,))
        seen = session.net.recorded(link)
    times = [time for time, frame in seen if Probe.of(frame)]
    assert [time - start for time in times] == [n * stream.interval_ns for n in range(5)]


def test_load_may_go_to_a_group_of_ipv6(course: Path) -> None:
    plan = load_plan(LAB)
    source, member = plan.topology.host("h1"), plan.topology.host("h4")
    with open_virtual(replace(plan, streams=plan.streams[:1])) as session:
        session.start()
        session.converge()
        session.net.measure(member)
        lengths = ((86, 1), (1514, 1))
        session.net.load(source, GROUP, 9, rate=10**8, lengths=lengths, count=50)
        session.net.run_until(session.net.now + SECOND, session.controller)
        assert session.net.measured(member)["frames"] == 50
        with pytest.raises(ValueError, match="86 to 1514"):
            session.net.load(source, GROUP, 9, rate=10**8, lengths=((66, 1),))


# ---- MLD of simulated hosts


def mld_of(answers: list[tuple[int, bytes]]) -> Packet:
    """The only message among a host's answers, once what all messages have in common is right
    (RFC 2710, section 3; RFC 3810, section 5)."""
    ((_, frame),) = answers
    packet = Ether(frame)
    ip, options = packet[IPv6], packet[IPv6ExtHdrHopByHop].options
    assert (ip.src, ip.hlim, ip.nh) == (f"fe80::1:ff:fe00:1{packet.src[-2:]}", 1, 0)
    assert isinstance(options[0], RouterAlert) and options[0].value == 0
    assert packet.dst == f"33:33:{socket.inet_pton(socket.AF_INET6, ip.dst)[-4:].hex(':')}"
    again = packet.copy()
    del again[IPv6].plen
    for layer in (ICMPv6MLReport, ICMPv6MLDone, ICMPv6MLReport2):
        if layer in again:
            del again[layer].cksum
    assert bytes(again) == frame, "lengths and checksum"
    return packet


def host(number: int) -> Host:
    return Host(f"h{number}", number, "r1", 1, number)


def test_odd_hosts_speak_version_2() -> None:
    speaker = MldHost(host(1))
    joined = mld_of(speaker.join(GROUP))
    assert joined[IPv6].dst == "ff02::16"
    (record,) = joined[ICMPv6MLReport2].records
    assert (record.rtype, record.dst, record.sources) == (4, str(GROUP), [])
    assert speaker.join(GROUP) == [], "it is a member already"
    (record,) = mld_of(speaker.hear(query(GROUP)))[ICMPv6MLReport2].records
    assert (record.rtype, record.dst) == (2, str(GROUP))
    (record,) = mld_of(speaker.leave(GROUP))[ICMPv6MLReport2].records
    assert (record.rtype, record.dst) == (3, str(GROUP))
    assert speaker.leave(GROUP) == []


def test_even_hosts_speak_version_1() -> None:
    speaker = MldHost(host(2))
    joined = mld_of(speaker.join(GROUP))
    assert (joined[IPv6].dst, joined[ICMPv6MLReport].mladdr) == (str(GROUP), str(GROUP))
    assert mld_of(speaker.hear(query(GROUP)))[ICMPv6MLReport].mladdr == str(GROUP)
    left = mld_of(speaker.leave(GROUP))
    assert (left[IPv6].dst, left[ICMPv6MLDone].mladdr) == ("ff02::2", str(GROUP))


def query(group: IPv6Address = mld.NO_ADDRESS) -> bytes:
    packet = mld.query_v2(link_local(0x020000000100), mld.Query(2, group))
    return mld.host_frame(host(9), packet)


def test_a_query_is_answered_for_what_it_asks() -> None:
    speaker, other = MldHost(host(2)), IPv6Address("ff3e::4:2")
    speaker.join(GROUP)
    speaker.join(other)
    told = [Ether(frame)[ICMPv6MLReport].mladdr for _, frame in speaker.hear(query())]
    assert told == [str(GROUP), str(other)]
    assert len(speaker.hear(query(other))) == 1
    assert speaker.hear(query(IPv6Address("ff3e::4:3"))) == []
    assert speaker.hear(query()[:-1] + b"x") == [], "its checksum is wrong"
    assert speaker.hear(speaker.join(IPv6Address("ff3e::4:4"))[0][1]) == [], "no query"
    assert speaker.hear(b"") == []


def test_hosts_stay_members_as_long_as_they_are_asked(course: Path) -> None:
    """A router forgets who does not answer its queries, which go to all nodes, after 260 s."""
    plan = load_plan(LAB)
    with open_virtual(plan) as session:
        session.start()
        session.converge()
        session.net.run_until(session.net.now + 600 * SECOND, session.controller)
        assert not session.system.waiting(plan, session.plane)
        for stream in plan.streams[:1]:
            for member in stream.receivers:
                session.net.leave(member, stream.destination)
        session.net.run_until(session.net.now + 5 * SECOND, session.controller)
        assert session.system.waiting(plan, session.plane) == "3 subscriptions"


def test_a_host_that_leaves_a_group_hears_others_with_the_same_ethernet_address(
    course: Path,
) -> None:
    """ff3e::1 shares that of all nodes, where queries go; ff3e::4:1 that of ff3e:0:1::4:1."""
    plan = load_plan(LAB)
    member, twin = plan.topology.host("h4"), IPv6Address("ff3e:0:1::4:1")
    streams = (replace(plan.streams[0], receivers=(member,)),)
    plan = replace(plan, streams=streams)
    with open_virtual(plan) as session:
        session.start()
        session.converge()
        for group in (twin, IPv6Address("ff3e::1")):
            session.net.join(member, group)
            session.net.leave(member, group)
        session.net.run_until(session.net.now + 600 * SECOND, session.controller)
        session.send()
        (row,) = session.net.engine.report(session.net.node("h4"))
        assert (row["received"], row["unwanted"]) == (20, 0)


# ---- What real hosts want


def test_what_a_host_wants_is_found_inside_what_is_sent_to_its_segment() -> None:
    sid = "5f00::8001:600:0:0"
    own, group = IPv6Address("fd00:0:0:1::1"), str(GROUP)
    wanted = Wanted([IPv4Address("10.0.1.1"), own], [IPv6Network(f"{sid}/128")])
    wanted.join(GROUP)
    inner = IPv6(dst=group) / UDP() / Raw(b"x" * 24)
    foreign = IPv6(dst="ff3e::4:9") / UDP() / Raw(b"x" * 24)
    routing = IPv6ExtHdrRouting(type=253, segleft=0, addresses=["::1"])
    for packet, right in (
        (inner, True),
        (IPv6(dst=str(own)) / UDP(), True),
        (foreign, False),
        (IPv6(dst="fd00:0:0:1::2") / UDP(), False),
        (IPv6(dst=sid) / inner, True),
        (IPv6(dst=sid) / routing / inner, True),
        (IPv6(dst=sid) / IPv6ExtHdrHopByHop() / routing / inner, True),
        (IPv6(dst=sid) / routing / foreign, False),
        (IPv6(dst=sid) / UDP() / Raw(bytes(inner)), False),
        (IPv6(dst="5f00::8002:600:0:0") / routing / inner, False),
    ):
        assert wanted.takes(bytes(packet)) is right, packet.summary()
    wanted.leave(GROUP)
    assert not wanted.takes(bytes(inner))


def test_no_packet_is_too_short_or_too_strange_to_be_looked_at() -> None:
    """Whatever a student's program sends must not end the program in the host."""
    sid = IPv6Network("5f00::/16")
    wanted = Wanted([IPv4Address("10.0.1.1")], [sid])
    routing = IPv6ExtHdrRouting(type=253, addresses=["::1"])
    whole = bytes(IPv6(dst="5f00::1") / routing / IPv6(dst="5f00::2") / UDP())
    chance = random.Random(20)
    for length in range(len(whole)):
        assert not wanted.takes(whole[:length])
    for _ in range(2000):
        broken = bytearray(whole)
        broken[chance.randrange(len(broken))] = chance.randrange(256)
        assert not wanted.takes(bytes(broken[: chance.randrange(len(broken) + 1)]))


class Silent(EntryPlane):
    """A control plane that writes nothing: what counts is in the program."""

    def compute(self) -> dict[str, Entries]:
        return {router.name: frozenset() for router in self.topology.routers}


SEGMENT = IPv6Address("5f00::8001:600:0:0")

# What h1 (port 1) sends is wrapped into a packet to the segment, behind a routing header of type
# 253 without segments left, and goes to h2 (port 2).
WRAP = """
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<96> addresses; bit<16> type; }
header ipv6_t {
    bit<32> start; bit<16> len; bit<8> next; bit<8> hops; bit<128> src; bit<128> dst;
}
header routing_t { bit<64> start; bit<128> entry; }
struct headers { ethernet_t ethernet; ipv6_t outer; routing_t routing; ipv6_t inner; }
struct metadata { }
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { p.extract(h.ethernet); p.extract(h.inner); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    apply {
        if (s.ingress_port != 1 || h.inner.next != 17) {
            mark_to_drop(s);
        } else {
            h.outer.setValid();
            h.outer = { 0x60000000, h.inner.len + 64, 43, 64, h.inner.src, SEGMENT };
            h.routing.setValid();
            h.routing = { 0x2902FD0000000000, 0 };
            h.ethernet.addresses = HOST ++ 48w0x020000000102;
            s.egress_spec = 2;
        }
    }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""

PAIR = Topology.from_data(
    {
        "name": "pair",
        "description": "Two hosts at one router",
        "router": [{"number": 1}],
        "host": [{"name": "h1", "router": "r1"}, {"name": "h2", "router": "r1"}],
        "link": [],
    }
)


@needs_mininet
@needs_seg6
def test_a_linux_host_can_be_told_to_be_the_end_of_a_segment(tmp_path: Path) -> None:
    """h2 gets what is inside for the group that it has joined; what is for another group is seen
    at its card. Neither is counted twice."""
    h1, h2 = PAIR.hosts
    file = tmp_path / "wrap.p4"
    file.write_text(WRAP)
    segment, mac = f"128w{int(SEGMENT):#x}", f"48w{h2.mac:#x}"
    program = load_program(file, (("SEGMENT", segment), ("HOST", mac)))
    hosts = LinuxHosts(True, {"h2": end_of(SEGMENT, h2)})
    with open_network("linux", PAIR, program, hosts=hosts) as net:
        plane = Silent(PAIR, net.driver)
        net.join(h2, GROUP)
        for flow, group, receivers in ((1, GROUP, (h2,)), (2, GROUP + 1, ())):
            net.start(Stream(flow, group, h1, receivers, 10, MS), net.now)
        net.run_until(net.now + 500 * MS, plane)
        observed = net.observed()
        counts = net._agents["h2"].ask({"do": "count"})
    assert observed.sent == {1: 10, 2: 10}
    assert counts["received"] == {"1": [10, 0]} and counts["unwanted"] == {"2": [10, 0]}
    assert observed.received == {("h2", 1): Received(10, 0), ("h2", 2): Received(10, 0)}


def end_of(segment: IPv6Address, host: Host) -> list[list[str]]:
    """What makes a Linux host decapsulate what is sent to a segment (RFC 8986, section 4.6)."""
    knobs = [f"/proc/sys/net/ipv6/conf/{name}/seg6_enabled" for name in ("all", host.interface)]
    action = ["encap", "seg6local", "action", "End.DT6", "table", "local"]
    return [
        *(["sh", "-c", f"echo 1 > {knob}"] for knob in knobs),
        ["ip", "-6", "route", "add", str(segment), *action, "dev", host.interface],
    ]


@needs_mininet
@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["ip", "-6", "route", "add", "5f00::1", "dev", "nowhere"], "nowhere"),
        (["no-such-program", "-x"], "No such file or directory"),
        (["sh", "-c", "exit 7"], "status 7"),
    ],
)
def test_a_command_that_fails_in_a_host_is_told(
    course: Path, command: list[str], told: str
) -> None:
    plan = load_plan(LAB)
    program = load_program(plan.program)
    hosts = LinuxHosts(True, {"h3": [["true"], command]})
    with pytest.raises(NetworkError) as error:
        open_network("linux", plan.topology, program, hosts=hosts)
    text = str(error.value)
    assert text.startswith(f"host h3: `{' '.join(command)}` fails: ") and told in text
    assert "\n" not in text
    assert not [name for name in os.listdir("/sys/class/net") if name.startswith("r1-")]


def test_a_system_says_what_its_hosts_need(course: Path) -> None:
    plan = load_plan(LAB)
    assert linux_hosts(plan) == LinuxHosts(ipv6=True)
    assert linux_hosts(load_plan("01-bier")) == LinuxHosts(ipv6=False)


# ---- What Linux says by itself


def everything_carried(plan: Plan) -> list[bytes]:
    """The frames that have come to switches from hosts in a run; its report is right."""
    program = load_program(plan.program, plan.defines)
    # The kernel shows us nothing of what faster ways than sockets take from an interface.
    switches = EngineSwitches(program, cpu_port=cpu_port(plan), backend="socket")
    with ExitStack() as stack:
        hosts = linux_hosts(plan)
        net = stack.enter_context(MininetNetwork(plan.topology, switches, hosts=hosts))
        cards = []
        for name, (router, port) in net.interfaces.items():
            if port not in {host.port for host in plan.topology.hosts_of(router)}:
                continue
            card = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            cards.append(stack.enter_context(card))
            card.bind((name, ETH_P_ALL))
            card.setblocking(False)
        session = Session(plan, net)
        carry_out(session)
        assert session.report().ok
        return [frame for card in cards for frame in came_in(card)]


def came_in(card: socket.socket) -> Iterator[bytes]:
    while True:
        try:
            frame, origin = card.recvfrom(2000)
        except BlockingIOError:
            return
        if origin[2] != socket.PACKET_OUTGOING:
            yield frame


@needs_mininet
def test_hosts_of_ipv6_say_nothing_but_mld_and_probes(course: Path) -> None:
    """No solicitations of routers or neighbours: nobody is there to answer them. Odd hosts speak
    version 2, even ones version 1, as in virtual time."""
    plan = load_plan(LAB)
    frames = [frame for frame in everything_carried(plan) if frame[12:14] == b"\x86\xdd"]
    probes = [frame for frame in frames if Probe.of(frame)]
    assert len(probes) == 60
    assert all(checked(frame) for frame in probes)
    hosts = {host.mac: host for host in plan.topology.hosts}
    kinds = set()
    for frame in frames:
        if Probe.of(frame) is None:
            sender = hosts[int.from_bytes(frame[6:12], "big")]
            assert mld.parse(frame[14:])[0] == link_local(sender.mac)
            kinds.add((sender.number % 2, frame[14 + 40 + 8]))
    assert kinds == {(1, mld.V2_REPORT), (0, mld.V1_REPORT)}


@needs_mininet
def test_hosts_of_ipv4_say_nothing_in_ipv6() -> None:
    plan = load_plan("01-bier", topology="paper", packets=5)
    kinds = {frame[12:14].hex() for frame in everything_carried(plan)}
    assert kinds == {"0800"}


@needs_mininet
def test_hosts_of_ipv6_ask_for_no_router_later(course: Path) -> None:
    """A kernel that may believe routers repeats its question, seconds after the first."""
    plan = load_plan(LAB)
    with open_session(plan, "linux") as session:
        for host in plan.topology.hosts:
            knob = f"/proc/sys/net/ipv6/conf/{host.interface}/accept_ra"
            asked = session.net.popen(host, ["cat", knob], stdout=subprocess.PIPE)
            assert asked.communicate()[0].strip() == b"0"
