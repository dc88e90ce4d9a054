"""The IPv4 control protocol (RFC 1332) with name servers (RFC 1877)."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from p4lab.systems.bng.ppp.automaton import CLOSE, Automaton
from p4lab.systems.bng.ppp.codes import IPCP, option
from p4lab.systems.bng.ppp.events import V4Down, V4Up
from p4lab.systems.bng.ppp.settings import SERVER

if TYPE_CHECKING:
    from p4lab.systems.bng.ppp.link import Link

ADDRESS = 3
PRIMARY_DNS = 129
SECONDARY_DNS = 131
NONE = bytes(4)


class Ipcp(Automaton):
    """NBNS (130, 132), header compression (2) and all that is unknown is rejected: a peer that
    asks for 0.0.0.0 there must not be sent round in circles."""

    __slots__ = ("granted", "peer", "wanted")
    protocol = IPCP
    name = "IPCP"

    def __init__(
        self, link: Link, address: IPv4Address | None = None, dns: tuple[IPv4Address, ...] = ()
    ) -> None:
        """A server grants `address` and up to two name servers."""
        super().__init__(link)
        self.granted: dict[int, bytes] = {}
        if address is not None:
            self.granted[ADDRESS] = address.packed
            for kind, server in zip((PRIMARY_DNS, SECONDARY_DNS), dns, strict=False):
                self.granted[kind] = server.packed
        self.peer = NONE
        """The peer's own address, NONE if it did not say"""
        self.wanted: dict[int, bytes] = {}
        self.reset()

    def reset(self) -> None:
        if self.link.role == SERVER:
            self.wanted = {ADDRESS: self.link.settings.address.packed}
        else:
            self.wanted = {ADDRESS: NONE, PRIMARY_DNS: NONE, SECONDARY_DNS: NONE}

    def wishes(self) -> bytes:
        return b"".join([option(kind, value) for kind, value in self.wanted.items()])

    def judge(self, options: dict[int, bytes]) -> tuple[bytes, list[tuple[int, bytes]]]:
        if self.link.role == SERVER:
            return self._judge_client(options)
        self.peer = options.get(ADDRESS, NONE)
        others = {kind: value for kind, value in options.items() if kind != ADDRESS}
        if len(self.peer) != 4:
            others[ADDRESS] = self.peer
        return b"".join([option(kind, value) for kind, value in others.items()]), []

    def _judge_client(self, options: dict[int, bytes]) -> tuple[bytes, list[tuple[int, bytes]]]:
        granted, rejects, naks = self.granted, b"", []
        for kind, value in options.items():
            right = granted.get(kind)
            if right is None:
                rejects += option(kind, value)
            elif value != right:
                naks.append((kind, right))
        if ADDRESS not in options:
            naks.append((ADDRESS, granted[ADDRESS]))
        return rejects, naks

    def naked(self, options: dict[int, bytes]) -> None:
        if self.link.role == SERVER:
            return  # Our address is not the client's to choose.
        for kind, value in options.items():
            if kind in self.wanted and len(value) == 4:
                self.wanted[kind] = value

    def rejected(self, options: dict[int, bytes]) -> None:
        for kind in options:
            self.wanted.pop(kind, None)

    def up(self, now: float) -> None:
        wanted = self.wanted
        if self.link.role == SERVER:
            address, gateway = self.granted[ADDRESS], wanted.get(ADDRESS, NONE)
        else:
            address, gateway = wanted.get(ADDRESS, NONE), self.peer
            if address == NONE:
                self.give_up(now, "IPCP: no address was granted")
                return
        servers = [wanted.get(kind, NONE) for kind in (PRIMARY_DNS, SECONDARY_DNS)]
        self.link.network_up(
            V4Up(
                IPv4Address(address),
                IPv4Address(gateway) if gateway != NONE else None,
                tuple(IPv4Address(server) for server in servers if server != NONE),
            )
        )

    def down(self, now: float) -> None:
        self.link.network_down(now, self, V4Down())

    def finished(self, now: float) -> None:
        self.link.network_finished(now, "IPCP")

    def give_up(self, now: float, reason: str) -> None:
        self.event(now, CLOSE)
