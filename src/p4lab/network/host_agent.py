"""Runs inside a Mininet host: joins groups with real sockets, sends probes, counts what arrives.

Commands come on standard input, one JSON object a line, and each is answered by one: a stream when
it has been sent, a count when all streams have. Streams are sent side by side:

    {"do": "join" | "leave", "group": "239.1.1.1"}
    {"do": "send", "to": "10.0.2.1", "flow": n, "packets": n, "interval": seconds, "length": bytes}
    {"do": "count"}

The end of standard input ends the agent, so that none outlives its network. What arrives at the
kernel's UDP socket counts as received; what reaches the network card, but neither its address nor
a group it has joined, is seen by a packet socket and counted as unwanted.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from p4lab.packets.probe import MIN_LENGTHS, UDP_PORT, Probe

RECEIVE_BUFFER = 8 << 20
ETH_P_IP = 0x0800
SO_RCVBUFFORCE = 33  # not in Python's socket module


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

    to: str
    flow: int
    packets: int
    interval: float
    padding: bytes
    due: float
    sequence: int = 0


class Agent:
    """One host."""

    def __init__(self, address: str, interface: str, number: int) -> None:
        self.address, self.number = address, number
        self.groups: set[str] = set()
        self.sent: dict[int, int] = {}
        self.sendings: list[Sending] = []
        self.waiting: list[dict[str, Any]] = []
        self.received, self.unwanted = Counter(), Counter()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        self.udp.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
        self.udp.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 64)
        self.udp.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
        self.udp.bind(("", UDP_PORT))
        self.udp.setblocking(False)
        self.card = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP))
        self.card.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        self.card.bind((interface, 0))
        self.card.setsockopt(  # PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC
            263, 1, struct.pack("iHH8s", socket.if_nametoindex(interface), 1, 0, b"")
        )
        self.card.setblocking(False)

    def membership(self, group: str, option: int) -> None:
        """Subscribes or unsubscribes; the kernel sends the IGMP messages."""
        request = socket.inet_aton(group) + socket.inet_aton(self.address)
        self.udp.setsockopt(socket.IPPROTO_IP, option, request)

    def handle(self, command: dict[str, Any]) -> None:
        """Carries out one command, or begins to."""
        if command["do"] == "join":
            self.membership(command["group"], socket.IP_ADD_MEMBERSHIP)
            self.groups.add(command["group"])
        elif command["do"] == "leave":
            self.membership(command["group"], socket.IP_DROP_MEMBERSHIP)
            self.groups.discard(command["group"])
        elif command["do"] == "send":
            padding = bytes(command["length"] - MIN_LENGTHS[4])
            self.sendings.append(
                Sending(
                    command["to"],
                    command["flow"],
                    command["packets"],
                    command["interval"],
                    padding,
                    time.monotonic(),
                )
            )
            return
        elif self.sendings:
            self.waiting.append(command)
            return
        self.answer()

    def answer(self) -> None:
        """Says what has been counted so far."""
        counts = {
            "sent": self.sent,
            "received": self.received.report(),
            "unwanted": self.unwanted.report(),
            "gaps": self.received.gaps(),
        }
        print(json.dumps(counts), flush=True)

    def send_due(self) -> float | None:
        """Sends what is due; gives the seconds until the next packet, None without a stream."""
        for sending in list(self.sendings):
            while sending.sequence < sending.packets and sending.due <= time.monotonic():
                probe = Probe(sending.flow, sending.sequence, self.number)
                self.udp.sendto(sending.padding + probe.trailer(), (sending.to, UDP_PORT))
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
        self.take(self.udp, lambda data, _: self.count(data, self.received))
        self.take(self.card, self.count_unsubscribed)

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

    def count_unsubscribed(self, frame: bytes, origin: tuple[Any, ...]) -> None:
        """A frame at the card counts only if nobody here wanted it."""
        address = socket.inet_ntoa(frame[30:34])
        wanted = address == self.address or address in self.groups
        if origin[2] != socket.PACKET_OUTGOING and not wanted:
            self.count(frame, self.unwanted)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the network ends its agents, not the terminal
    agent = Agent(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    print(json.dumps({"ready": True}), flush=True)
    selector = selectors.DefaultSelector()
    for source in (sys.stdin, agent.udp, agent.card):
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


if __name__ == "__main__":
    main()
