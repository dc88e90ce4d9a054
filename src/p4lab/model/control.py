"""What stands between a control plane and the switches: drivers below it, networks beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from p4lab.model.entries import Entries, Update
from p4lab.topology import Link


class RefusedError(ValueError):
    """A router's program has no place for its entries: a table or an action is missing."""


class NumberError(ValueError):
    """Numbers that do not fit where a system has to put them; the message says which, and what to
    change."""


class PacketIn(NamedTuple):
    """A frame for the control plane: where it came in, and the program's own header, which stands
    in front of it at the CPU port."""

    port: int
    frame: bytes
    header: bytes = b""


class Count(NamedTuple):
    """What a cell of a counter holds."""

    packets: int
    bytes: int


class Driver(Protocol):
    """What a target has to offer for one router."""

    def write(self, updates: Sequence[Update]) -> None:
        """Apply all updates between two packets, or none of them and raise."""

    def entries(self) -> Entries:
        """What the switch holds now."""

    def packet_out(self, port: int, frame: bytes) -> None:
        """Send an Ethernet frame (without FCS, not padded) out of a port."""


@runtime_checkable
class CountingDriver(Driver, Protocol):
    """A driver that can also look at what its switch counts."""

    def counters(self, name: str, cells: Sequence[int]) -> dict[int, Count]:
        """What these cells of a counter hold, read from the switch now. Raises ValueError if the
        program has no such counter or the counter no such cell."""


class Controller(Protocol):
    """What a network calls while time passes: a control plane, or what stands in front of it."""

    def packet_in(self, now: int, router: str, packet: PacketIn) -> None:
        """`router` has sent a packet to its CPU port. `now` is in nanoseconds."""

    def timer(self, now: int) -> None:
        """Do what is due at `now`."""

    def next_timer(self) -> int | None:
        """When `timer` must be called at the latest; None for never."""


class ControlPlane(Controller, Protocol):
    """A running control plane. It reads no clock, opens no connection and knows no target: times
    are nanoseconds that it is told, and a `Driver` per router does what it says."""

    def start(self, now: int) -> None:
        """Write what can be written before anything was heard, and ask what has to be asked."""

    def entries(self, router: str) -> Entries:
        """What has been written to a router so far."""

    def reconcile(self, routers: Sequence[str]) -> None:
        """Start from what these switches really hold: they, or this control plane, were started
        anew."""

    def link_changed(self, now: int, link: Link, up: bool) -> None:
        """The news that a link has failed or is back has arrived at `now`."""

    def link_seen(self, link: Link, up: bool) -> None:
        """The routers at the link's ends see it fail or come back. This is not news to the
        controller: that is `link_changed`."""

    def port_seen(self, router: str, port: int, up: bool) -> None:
        """A router sees one of its own ports go down or come back, which concerns it alone."""

    def seen(self, link: Link, up: bool) -> tuple[tuple[str, int, bytes], ...]:
        """What tells the switches at a link's ends that it has failed or is back: router, port and
        frame for `Driver.packet_out`. Nothing where no switch can act on it."""
