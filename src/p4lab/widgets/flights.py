"""What crossed the links, and when, from the traces of a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from p4lab.model.notation import HEADERS
from p4lab.model.system import Carried
from p4lab.steps import emits, extracts, short
from p4lab.tracing import Hop
from p4lab.widgets.sent import Sent

MAX_FLIGHTS = 1500
"""More than a picture can show; what is left out is said."""

_ACCESS = 0.6  # how long a frame takes to or from a host in the picture, in usual flights


MOST_LABEL = 20  # characters that fit beside others on a link

PLAIN = "plain"
"""The kind of a label that only names headers"""

NO_PORT = 0
"""The port of a packet for which a program has not chosen any; cables begin at 1"""

UNCHOSEN = "nobody chose a port"
"""What is said of such a packet"""

STOPPED = "the network was stopped before it arrived"
"""What is said of a frame that was on its way then"""


@dataclass(frozen=True)
class Flight:
    """A frame on a link. Times are nanoseconds since the first router got the first packet; `label`
    stands on it, drawn as its `kind` says (that of `Carried`, or PLAIN); `said` is what a sentence
    tells of it, if anything; `lost` says why it never arrived."""

    source: str
    target: str
    start: int
    end: int
    packet: int
    label: str
    kind: str
    said: str = ""
    lost: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def carried(sent: Sent, headers: Sequence[Mapping[str, Any]]) -> tuple[str, str, str]:
    """Label, kind and sentence for a frame with these headers, as steps of a trace."""
    found: Carried | None = sent.system.carried(sent.plan, headers)
    if found is not None:
        return found.label, found.kind, found.said
    return layers([short(step["header"]) for step in headers]), PLAIN, ""


def layers(headers: Sequence[str]) -> str:
    """The names of a frame's headers, without Ethernet if there are others."""
    if not headers:
        return "no header"
    names = [HEADERS.get(name.lower(), name) for name in headers]
    above = names[1:] if names[0] == HEADERS["ethernet"] and len(names) > 1 else names
    label = " > ".join(above)
    return label if len(label) <= MOST_LABEL else f"{above[0]} > … > {above[-1]}"


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
        told = carried(sent, extracts(first.packets[0]))
        found.append(Flight(first.source, first.router, at - access, at, number, *told))
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
            lost = STOPPED if sent.problem else "lost on the link"
        told = carried(sent, emits(packet))
        yield Flight(hop.router, neighbour, start, end, number, *told, lost)
