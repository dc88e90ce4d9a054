"""If these fail, Linux hosts and our routers do not understand each other's MLD.

A kernel's host is at one end of a cable, our router at the other. The router's time is virtual:
only the host's answers are waited for.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from ipaddress import IPv6Address
from pathlib import Path

import pytest

from p4lab.control.mld import SECOND, Effects, MldRouter, MldTimers
from p4lab.network.base import NetworkError
from p4lab.network.namespace import enter_own, leave
from p4lab.packets.ip import ETHERTYPE_IPV6, ethernet, link_local, multicast_mac
from p4lab.packets.membership import Leave, Malformed, Message, Record, RecordReport, Report
from p4lab.packets.mld import leave_v2, parse

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a cable of one's own needs root"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="ip is not installed"),
    pytest.mark.skipif(not Path("/proc/net/igmp6").exists(), reason="the kernel has no IPv6"),
]

ROUTER_MAC = 0x020000000101
OTHER = IPv6Address("fe80::2")
GROUP = IPv6Address("ff3e::4:1")
SENDER = IPv6Address("fd00:0:0:9::1")
G = int(GROUP)
PATIENCE = 10  # seconds, for a kernel that is busy
MCAST_JOIN_SOURCE_GROUP = 46  # linux/in.h; the socket module has no name for it


class Cable:
    """The router's end of a cable to a Linux host, and sockets of that host."""

    def __init__(self, version: int) -> None:
        for command in (
            "link set lo up",
            "link add host type veth peer name router",
            "link set router up",
        ):
            subprocess.run(["ip", *command.split()], check=True)
        self._knob("router", "disable_ipv6", 1)
        self._knob("host", "accept_dad", 0)
        self._knob("host", "force_mld_version", version)
        self._wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE_IPV6))
        self._wire.bind(("router", ETHERTYPE_IPV6))
        self._wire.settimeout(PATIENCE)
        subprocess.run(["ip", "link", "set", "host", "up"], check=True)
        self._index = socket.if_nametoindex("host")
        self._program = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.wait_for_address()

    def close(self) -> None:
        self._wire.close()
        self._program.close()

    def wait_for_address(self) -> None:
        """Until then reports come from ::, and routers ignore them."""
        flags = {"00", "80"}  # neither tentative nor failed
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for line in Path("/proc/thread-self/net/if_inet6").read_text().splitlines():
                address, _, _, _, flag, name = line.split()
                if name == "host" and address.startswith("fe80") and flag in flags:
                    return
            time.sleep(0.01)
        pytest.fail("the host has no link-local address")

    def join(self, group: IPv6Address) -> None:
        self._membership(socket.IPV6_JOIN_GROUP, group)

    def leave(self, group: IPv6Address) -> None:
        self._membership(socket.IPV6_LEAVE_GROUP, group)

    def join_from(self, group: IPv6Address, sender: IPv6Address) -> None:
        """struct group_source_req of linux/in.h; addresses take 128 bytes each."""

        def address(of: IPv6Address) -> bytes:
            return struct.pack("@HHI", socket.AF_INET6, 0, 0) + of.packed + bytes(128 - 24)

        request = struct.pack("@I4x", self._index) + address(group) + address(sender)
        self._program.setsockopt(socket.IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP, request)

    def _membership(self, option: int, group: IPv6Address) -> None:
        request = group.packed + struct.pack("@i", self._index)
        self._program.setsockopt(socket.IPPROTO_IPV6, option, request)

    def deliver(self, effects: Effects) -> None:
        """The router's queries reach the host."""
        for _, packet in effects.packets:
            group = IPv6Address(packet[24:40])
            frame = ethernet(multicast_mac(group), ROUTER_MAC, ETHERTYPE_IPV6, packet)
            self._wire.send(frame)

    def hear(self, wanted: Callable[[Message], bool]) -> bytes:
        """The next packet of the host with such a message."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            packet = self._wire.recv(2000)[14:]
            try:
                _, message = parse(packet)
            except Malformed as reason:
                assert str(reason) == "not MLD"  # the host looks for routers, too
                continue
            if wanted(message):
                return packet
        pytest.fail("the host did not send the message")

    @staticmethod
    def _knob(interface: str, name: str, value: int) -> None:
        Path(f"/proc/sys/net/ipv6/conf/{interface}/{name}").write_text(str(value))


@pytest.fixture(params=[1, 2])
def version(request) -> int:
    return request.param


@pytest.fixture
def cable(version: int) -> Iterator[Cable]:
    try:
        home = enter_own()
    except NetworkError as error:
        pytest.skip(str(error))
    made = None
    try:
        made = Cable(version)
        yield made
    finally:
        if made is not None:
            made.close()
        leave(home)


@pytest.fixture
def router() -> MldRouter:
    """It leaves hosts a tenth of a second to answer."""
    timers = MldTimers(
        query_response_interval=SECOND // 10, last_member_query_interval=SECOND // 10
    )
    return MldRouter(link_local(ROUTER_MAC), [1], timers)


def about(group: IPv6Address, kind: int) -> Callable[[Message], bool]:
    """Whether a message has a record of that kind, or is what version 1 says instead."""

    def wanted(message: Message) -> bool:
        if isinstance(message, RecordReport):
            return any((r.kind, r.group) == (kind, group) for r in message.records)
        old = Leave if kind == 3 else Report
        return isinstance(message, old) and message.group == group

    return wanted


def test_a_linux_host_joins_answers_and_leaves(cable: Cable, router: MldRouter, version: int):
    first = router.start(0)
    cable.join(GROUP)
    assert router.handle(1, 1, cable.hear(about(GROUP, 4))).joins == ((1, G),)
    cable.deliver(first)
    answer = cable.hear(about(GROUP, 2))
    assert isinstance(parse(answer)[1], RecordReport if version == 2 else Report)
    router.handle(2, 1, answer)
    cable.leave(GROUP)
    question = router.handle(3, 1, cable.hear(about(GROUP, 3)))
    assert len(question.packets) == 1 and not question.leaves
    assert router.timer(3 + router.timers.last_member_query_time).leaves == ((1, G),)


def test_a_linux_host_objects_when_another_has_left_its_group(cable: Cable, router: MldRouter):
    router.start(0)
    cable.join(GROUP)
    router.handle(1, 1, cable.hear(about(GROUP, 4)))
    cable.deliver(router.handle(2, 1, leave_v2(OTHER, GROUP)))
    router.handle(3, 1, cable.hear(about(GROUP, 2)))
    assert router.timer(2 + router.timers.last_member_query_time).leaves == ()


@pytest.mark.parametrize("version", [2], indirect=True)
def test_a_linux_host_names_the_sources_it_wants(cable: Cable, router: MldRouter):
    router.start(0)
    cable.join_from(GROUP, SENDER)
    packet = cable.hear(
        lambda message: (
            isinstance(message, RecordReport)
            and any(record.group == GROUP for record in message.records)
        )
    )
    assert Record(5, GROUP, (SENDER,)) in parse(packet)[1].records
    assert router.handle(1, 1, packet).joins == ((1, G),)
    assert router.groups()[0].sources == (SENDER,)
