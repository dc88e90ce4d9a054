"""What crossed the links, and when, from the traces of a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from p4lab.notebook.running import Sent
from p4lab.systems.bier.bitstrings import emitted_bits
from p4lab.tracing import Hop

MAX_FLIGHTS = 1500
"""More than a picture can show; what is left out is said."""

_ACCESS = 0.6  # how long a frame takes to or from a host in the picture, in usual flights


@dataclass(frozen=True)
class Flight:
    """A frame on a link. Times are nanoseconds since the first router got the first packet; `bits`
    is its BitString, None without a BIER header; `lost` says why it never arrived."""

    source: str
    target: str
    start: int
    end: int
    packet: int
    bits: int | None
    lost: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data; BitStrings as text, as they can be longer than JavaScript's numbers."""
        return {**asdict(self), "bits": None if self.bits is None else f"{self.bits:b}"}


def flights(sent: Sent) -> list[Flight]:
    """Every frame of what was sent, in the order of time.

    Links to hosts have no delay of their own; a picture gives them one, which is added before the
    first router and behind the last and moves nothing else.
    """
    hops = sent.all_hops()
    if not hops:
        return []
    zero = hops[0].time
    delays = sorted(link.delay_ns for link in sent.topology.links if link.delay_ns)
    access = int(_ACCESS * delays[len(delays) // 2]) if delays else 1_000_000
    found: list[Flight] = []
    for number, first in enumerate(sent.hops):
        at = first.time - zero
        found.append(Flight(first.source, first.router, at - access, at, number, None))
        for hop in sent.all_hops(number):
            found.extend(_sent_by(sent, hop, number, zero, access))
    return sorted(found, key=lambda flight: (flight.start, flight.end))


def _sent_by(sent: Sent, hop: Hop, number: int, zero: int, access: int) -> Iterator[Flight]:
    """The frames that one arrival made a switch send."""
    for packet in hop.packets:
        fate = packet["fate"]
        if not fate or fate["kind"] != "sent":
            continue
        neighbour = sent.topology.neighbour(hop.router, fate["port"])
        if neighbour is None:
            continue
        link = sent.topology.link(hop.router, neighbour)
        start = hop.time - zero
        end = start + (max(link.delay_ns, access) if link.is_access else link.delay_ns)
        lost = ""
        if link.ends in sent.down:
            lost = "the link is down"
        elif packet["id"] in hop.next:
            end = hop.next[packet["id"]].time - zero
        elif packet["id"] not in hop.delivered:
            lost = "lost on the link"
        yield Flight(hop.router, neighbour, start, end, number, emitted_bits(packet), lost)
