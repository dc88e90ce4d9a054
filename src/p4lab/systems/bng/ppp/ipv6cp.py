"""The IPv6 control protocol (RFC 5072): interface identifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from p4lab.systems.bng.ppp.automaton import CLOSE, Automaton
from p4lab.systems.bng.ppp.codes import IPV6CP, option
from p4lab.systems.bng.ppp.events import V6Down, V6Up
from p4lab.systems.bng.ppp.settings import SERVER

if TYPE_CHECKING:
    from p4lab.systems.bng.ppp.link import Link

INTERFACE_ID = 1
NONE = bytes(8)


class Ipv6cp(Automaton):
    """Two identifiers that differ and are not 0, or no IPv6."""

    __slots__ = ("granted", "own", "peer")
    protocol = IPV6CP
    name = "IPv6CP"

    def __init__(self, link: Link, granted: int = 0) -> None:
        """A server has its client use the identifier `granted`; 0: any."""
        super().__init__(link)
        self.granted = granted.to_bytes(8, "big")
        self.own = self.peer = NONE
        self.reset()

    def reset(self) -> None:
        self.own = self._fresh()

    def _fresh(self) -> bytes:
        """An identifier that is not in use on the link."""
        while True:
            identifier = self.link.random.randbytes(8)
            if identifier not in (NONE, self.peer, self.granted):
                return identifier

    def wishes(self) -> bytes:
        return option(INTERFACE_ID, self.own)

    def judge(self, options: dict[int, bytes]) -> tuple[bytes, list[tuple[int, bytes]]]:
        others = {kind: value for kind, value in options.items() if kind != INTERFACE_ID}
        rejects = b"".join([option(kind, value) for kind, value in others.items()])
        self.peer = options.get(INTERFACE_ID, NONE)
        if self.granted != NONE:
            good = self.peer == self.granted
            right = self.granted
        else:
            good = len(self.peer) == 8 and self.peer != NONE and self.peer != self.own
            right = b"" if good else self._fresh()
        return rejects, [] if good else [(INTERFACE_ID, right)]

    def naked(self, options: dict[int, bytes]) -> None:
        suggested = options.get(INTERFACE_ID, NONE)
        free = len(suggested) == 8 and suggested not in (NONE, self.peer, self.granted)
        self.own = suggested if free else self._fresh()

    def rejected(self, options: dict[int, bytes]) -> None:
        """The only option: without it there are no addresses. What we ask next is the same, and
        the bound on requests ends it."""

    def up(self, now: float) -> None:
        own, peer = int.from_bytes(self.own, "big"), int.from_bytes(self.peer, "big")
        server = self.link.role == SERVER
        self.link.network_up(V6Up(peer, own) if server else V6Up(own, peer))

    def down(self, now: float) -> None:
        self.link.network_down(now, self, V6Down())

    def finished(self, now: float) -> None:
        self.link.network_finished(now, "IPv6CP")

    def give_up(self, now: float, reason: str) -> None:
        self.event(now, CLOSE)
