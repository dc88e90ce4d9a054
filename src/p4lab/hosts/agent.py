"""Inside a Mininet host: joins groups with real sockets, sends probes, counts what arrives.

Commands come on standard input, one JSON object a line, and each is answered by one: a stream when
it has been sent, a count when all streams have. Streams are sent side by side:

    {"do": "join" | "leave", "group": "239.1.1.1" or "ff3e::4:1"}
    {"do": "send", "to": "10.0.2.1", "flow": n, "packets": n, "interval": seconds, "length": bytes,
     "ttl": of IPv4}
    {"do": "count", "flows": [n, ...] if only these are asked about}

The end of standard input ends the agent, so that none outlives its network. What arrives at the
kernel's UDP socket counts as received; what reaches the network card, but neither an address of the
host nor a group it has joined, is seen by a packet socket and counted as unwanted. That a packet is
for an address is not enough where the kernel takes something off it (a segment ID): what comes out
has to be wanted, too.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address
from itertools import pairwise
from typing import Any

from p4lab.hosts.buffers import enlarge
from p4lab.packets.ip import (
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    IPV6_BYTES,
    PROTOCOL_IPV6,
    payload_v6,
)
from p4lab.packets.membership import Address
from p4lab.packets.probe import MIN_LENGTHS, UDP_PORT, Probe

RECEIVE_BUFFER = 8 << 20
ETHERNET_BYTES, IPV4_BYTES = 14, 20
HOPS = 64
# What Python's socket module lacks.
PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 1, 1
SOL_PACKET = 263
ARPHRD_ETHER = 1


class Counter:
    """Numbers seen of each flow: different ones, and repetitions."""

    def __init__(self) -> None:
        self.seen: dict[int, set[int]] = {}
        self.duplicates: dict[int, int] = {}

    def add(self, probe: Probe) -> None:
        numbers = self.seen.setdefault(probe.flow, set())
        if probe.sequence in numbers:
            self.duplicates[probe.flow] = self.duplicates.get(probe.flow, 0) + 1
        numbers.add(probe.sequence)

    def of(self, flows: Sequence[int] | None) -> Counter:
        """What was seen of some flows; of all for None."""
        if flows is None:
            return self
        part = Counter()
        part.seen = {flow: self.seen[flow] for flow in flows if flow in self.seen}
        part.duplicates = {flow: n for flow, n in self.duplicates.items() if flow in flows}
        return part

    def report(self) -> dict[str, list[int]]:
        """Flow to different and repeated numbers."""
        return {
            str(flow): [len(numbers), self.duplicates.get(flow, 0)]
            for flow, numbers in self.seen.items()
        }

    def gaps(self) -> dict[str, int]:
        """Flow to the most numbers in a row that are missing between two that have arrived."""
        return {
            str(flow): max((b - a - 1 for a, b in pairwise(sorted(numbers))), default=0)
            for flow, numbers in self.seen.items()
        }


@dataclass
class Sending:
    """A stream under way; `due` is when its next packet is to leave, in seconds."""

    to: Address
    flow: int
    packets: int
    interval: float
    padding: bytes
    due: float
    ttl: int
    sequence: int = 0


def open_udp(interface: int, address: Address) -> socket.socket:
    """The socket by which probes of one version of IP leave and come. `address` is the host's,
    `interface` the number of the only one it has."""
    is_v6 = address.version == 6
    udp = socket.socket(socket.AF_INET6 if is_v6 else socket.AF_INET, socket.SOCK_DGRAM)
    enlarge(udp, RECEIVE_BUFFER)
    if is_v6:
        udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, interface)
        udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, HOPS)
        udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
    else:
        udp.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, address.packed)
        udp.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, HOPS)
        udp.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    udp.bind(("", UDP_PORT))
    udp.setblocking(False)
    return udp


def open_card(interface: int, name: str, ether_type: int) -> socket.socket:
    """The socket that sees all frames of an EtherType that come in by an interface, known by its
    number and name."""
    card = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ether_type))
    enlarge(card, RECEIVE_BUFFER)
    card.bind((name, ether_type))
    promiscuous = struct.pack("iHH8s", interface, PACKET_MR_PROMISC, 0, b"")
    card.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, promiscuous)
    card.setblocking(False)
    return card


def link_bytes(name: str) -> int:
    """How much stands in front of an IP packet at an interface: on the end of a tunnel nothing."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as probe:
        probe.bind((name, 0))
        kind: int = probe.getsockname()[3]
    return ETHERNET_BYTES if kind == ARPHRD_ETHER else 0


def segments() -> list[IPv6Network]:
    """Where the kernel takes packets in as a node of SRv6, by its routes."""
    show = ["ip", "-6", "route", "show", "table", "all"]
    routes = subprocess.run(show, capture_output=True, text=True, check=True).stdout.splitlines()
    return [IPv6Network(line.split()[0]) for line in routes if " seg6local " in line]


def time_to_live(sending: Sending) -> list[tuple[int, int, bytes]]:
    """What says the TTL of a packet of IPv4 to the kernel."""
    if sending.to.version == 6:
        return []
    return [(socket.IPPROTO_IP, socket.IP_TTL, struct.pack("i", sending.ttl))]


class Wanted:
    """Which packets are for this host: by its addresses, by the groups that it has joined, and by
    the segments where its kernel takes off the outer headers."""

    def __init__(self, own: Iterable[Address], segments: Sequence[IPv6Network] = ()) -> None:
        self._addresses = {address.packed for address in own}
        self._segments = segments

    def join(self, group: Address) -> None:
        self._addresses.add(group.packed)

    def leave(self, group: Address) -> None:
        self._addresses.discard(group.packed)

    def takes(self, packet: bytes) -> bool:
        """Whether an IP packet is one of them; of one for a segment, what is inside it."""
        is_v6 = bool(packet) and packet[0] >> 4 == 6
        if len(packet) < (IPV6_BYTES if is_v6 else IPV4_BYTES):
            return False
        to = packet[24:40] if is_v6 else packet[16:20]
        if is_v6 and any(IPv6Address(to) in segment for segment in self._segments):
            protocol, inner = payload_v6(packet)
            return protocol == PROTOCOL_IPV6 and self.takes(inner)
        return to in self._addresses


class Agent:
    """One host."""

    def __init__(self, interface: str, number: int, addresses: Sequence[Address]) -> None:
        """`addresses` are one of IPv4 and one of IPv6, or only the first."""
        self.interface, self.number = socket.if_nametoindex(interface), number
        self.addresses = {address.version: address for address in addresses}
        self.wanted = Wanted(addresses, segments() if 6 in self.addresses else ())
        self.sent: dict[int, int] = {}
        self.sendings: list[Sending] = []
        self.waiting: list[dict[str, Any]] = []
        self.received, self.unwanted = Counter(), Counter()
        self.udp = {
            version: open_udp(self.interface, address)
            for version, address in self.addresses.items()
        }
        ether_types = {4: ETHERTYPE_IPV4, 6: ETHERTYPE_IPV6}
        self.link_bytes = link_bytes(interface)
        self.cards = [
            open_card(self.interface, interface, ether_types[version]) for version in self.addresses
        ]

    def subscribe(self, group: Address, joins: bool) -> None:
        """Subscribes or unsubscribes; the kernel sends the messages of IGMP or MLD."""
        udp = self.udp[group.version]
        if group.version == 6:
            option = socket.IPV6_JOIN_GROUP if joins else socket.IPV6_LEAVE_GROUP
            udp.setsockopt(
                socket.IPPROTO_IPV6, option, group.packed + struct.pack("@I", self.interface)
            )
        else:
            option = socket.IP_ADD_MEMBERSHIP if joins else socket.IP_DROP_MEMBERSHIP
            request = group.packed + self.addresses[4].packed
            udp.setsockopt(socket.IPPROTO_IP, option, request)

    def handle(self, command: dict[str, Any]) -> None:
        """Carries out one command, or begins to."""
        if command["do"] == "join":
            group = ip_address(command["group"])
            self.subscribe(group, True)
            self.wanted.join(group)
        elif command["do"] == "leave":
            group = ip_address(command["group"])
            self.subscribe(group, False)
            self.wanted.leave(group)
        elif command["do"] == "send":
            to = ip_address(command["to"])
            padding = bytes(command["length"] - MIN_LENGTHS[to.version])
            self.sendings.append(
                Sending(
                    to,
                    command["flow"],
                    command["packets"],
                    command["interval"],
                    padding,
                    time.monotonic(),
                    command["ttl"],
                )
            )
            return
        elif self.sendings:
            self.waiting.append(command)
            return
        self.answer(command.get("flows"))

    def answer(self, flows: Sequence[int] | None = None) -> None:
        """Says what has been counted so far, of all flows or of some."""
        counts = {
            "sent": {f: n for f, n in self.sent.items() if flows is None or f in flows},
            "received": self.received.of(flows).report(),
            "unwanted": self.unwanted.of(flows).report(),
            "gaps": self.received.of(flows).gaps(),
        }
        print(json.dumps(counts), flush=True)

    def send_due(self) -> float | None:
        """Sends what is due; gives the seconds until the next packet, None without a stream."""
        for sending in list(self.sendings):
            while sending.sequence < sending.packets and sending.due <= time.monotonic():
                probe = Probe(sending.flow, sending.sequence, self.number)
                self.udp[sending.to.version].sendmsg(
                    [sending.padding, probe.trailer()],
                    time_to_live(sending),
                    0,
                    (str(sending.to), UDP_PORT),
                )
                sending.sequence += 1
                sending.due += sending.interval
                self.sent[sending.flow] = sending.sequence
            if sending.sequence == sending.packets:
                self.sendings.remove(sending)
                self.answer()
        if not self.sendings:
            while self.waiting:
                self.handle(self.waiting.pop(0))
            return None
        return max(0.0, min(sending.due for sending in self.sendings) - time.monotonic())

    def drain(self) -> None:
        """Takes in all that has arrived."""
        for udp in self.udp.values():
            self.take(udp, lambda data, _: self.count(data, self.received))
        for card in self.cards:
            self.take(card, self.count_unwanted)

    @staticmethod
    def take(source: socket.socket, handle: Callable[[bytes, Any], None]) -> None:
        while True:
            try:
                data, origin = source.recvfrom(65535)
            except BlockingIOError:
                return
            handle(data, origin)

    @staticmethod
    def count(data: bytes, counter: Counter) -> None:
        probe = Probe.of(data)
        if probe:
            counter.add(probe)

    def count_unwanted(self, frame: bytes, origin: tuple[Any, ...]) -> None:
        """A frame at the card counts only if nobody here wanted it."""
        if origin[2] != socket.PACKET_OUTGOING and not self.wanted.takes(frame[self.link_bytes :]):
            self.count(frame, self.unwanted)


def serve(agent: Agent) -> None:
    """Does what standard input says until it ends."""
    print(json.dumps({"ready": True}), flush=True)
    selector = selectors.DefaultSelector()
    for source in (sys.stdin, *agent.udp.values(), *agent.cards):
        selector.register(source, selectors.EVENT_READ)
    rest, unread = None, b""
    while True:
        ready = [key.fileobj for key, _ in selector.select(rest)]
        agent.drain()
        if sys.stdin in ready:
            # Not readline: it would keep a second command where no selector sees it.
            data = os.read(sys.stdin.fileno(), 65536)
            if not data:
                return
            *lines, unread = (unread + data).split(b"\n")
            for line in lines:
                agent.handle(json.loads(line))
        rest = agent.send_due()
