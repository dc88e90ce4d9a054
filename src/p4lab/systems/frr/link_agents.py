"""On Linux, what sees that a cable is dead: the kernel says so (rtnetlink), and the switch is told.

A thread waits in the namespace of the switches. It tells a switch about its port at once; the
controller hears of it when it next looks, and both moments are kept.
"""

from __future__ import annotations

import queue
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from p4lab.model.control import Driver, PacketIn
from p4lab.systems.bier.plane import BierControlPlane
from p4lab.systems.frr.entries import port_status

RTMGRP_LINK = 1
RTM_NEWLINK = 16
IFLA_IFNAME = 3
IFF_LOWER_UP = 1 << 16  # there is a carrier: both ends of the cable are up
LOOK = 1_000_000  # nanoseconds between two looks of the controller
QUANTUM = 0.2  # seconds by which the thread sees that it shall end

_HEADER = struct.Struct("=IHHII")  # nlmsghdr
_LINK = struct.Struct("=BxHiII")  # ifinfomsg
_ATTRIBUTE = struct.Struct("=HH")  # rtattr


@dataclass(frozen=True)
class PortNews:
    """A port that has changed: `told` is when its switch, or who tells the controller, knew of it.
    By the clock of the agents that keep it: time.monotonic_ns in this file."""

    router: str
    port: int
    up: bool
    told: int


def carriers(message: bytes) -> Iterator[tuple[str, bool]]:
    """Interface names and whether they have a carrier, from what an rtnetlink socket gave."""
    at = 0
    while at + _HEADER.size <= len(message):
        length, kind, _, _, _ = _HEADER.unpack_from(message, at)
        if length < _HEADER.size or at + length > len(message):
            return
        if kind == RTM_NEWLINK and length >= _HEADER.size + _LINK.size:
            flags = _LINK.unpack_from(message, at + _HEADER.size)[3]
            name = _name(message[at + _HEADER.size + _LINK.size : at + length])
            if name:
                yield name, bool(flags & IFF_LOWER_UP)
        at += length + 3 & ~3


def _name(attributes: bytes) -> str:
    at = 0
    while at + _ATTRIBUTE.size <= len(attributes):
        length, kind = _ATTRIBUTE.unpack_from(attributes, at)
        if length < _ATTRIBUTE.size:
            break
        if kind == IFLA_IFNAME:
            return (
                attributes[at + _ATTRIBUTE.size : at + length]
                .rstrip(b"\0")
                .decode(errors="replace")
            )
        at += length + 3 & ~3
    return ""


class LinuxLinkAgents:
    """Pass it to a network in place of the control plane; use it as a context manager.

    It must be made in the namespace where the switches' interfaces are.
    """

    def __init__(
        self,
        plane: BierControlPlane,
        driver_for_router: Callable[[str], Driver],
        interfaces: Mapping[str, tuple[str, int]],
    ) -> None:
        """`interfaces` are names with the router and port that they are. Raises OSError."""
        self.plane = plane
        self.news: list[PortNews] = []
        """All that has changed so far"""
        self._interfaces = dict(interfaces)
        routers = {router for router, _ in self._interfaces.values()}
        self._drivers = {router: driver_for_router(router) for router in routers}
        self._up = dict.fromkeys(self._interfaces, True)
        self._waiting: queue.SimpleQueue[PortNews] = queue.SimpleQueue()
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, RTMGRP_LINK))
        self._socket.settimeout(QUANTUM)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="link agents", daemon=True)

    def __enter__(self) -> LinuxLinkAgents:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while not self._ending.is_set():
            try:
                message = self._socket.recv(1 << 16)
            except TimeoutError:
                continue
            for name, up in carriers(message):
                if self._up.get(name, up) != up:
                    self._up[name] = up
                    router, port = self._interfaces[name]
                    self._drivers[router].packet_out(*port_status(port, not up))
                    self._waiting.put(PortNews(router, port, up, time.monotonic_ns()))

    def packet_in(self, now: int, router: str, packet: PacketIn) -> None:
        """As a network tells its controller."""
        self.plane.packet_in(now, router, packet)

    def timer(self, now: int) -> None:
        """The controller looks whether there is something new."""
        topology = self.plane.topology
        while not self._waiting.empty():
            news = self._waiting.get()
            self.news.append(news)
            neighbour = topology.neighbour(news.router, news.port)
            if neighbour is not None:
                self.plane.link_changed(now, topology.link(news.router, neighbour), news.up)
        self.plane.timer(now)
        self._next = now + LOOK

    _next = 0

    def next_timer(self) -> int:
        """When `timer` must be called at the latest."""
        due = self.plane.next_timer()
        return self._next if due is None else min(due, self._next)
