"""What the switches of a run have counted of its connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from p4lab.model.control import CountingDriver
from p4lab.model.layout import Layouts
from p4lab.model.report import CounterRow
from p4lab.model.run import Plan
from p4lab.model.system import DriverOf, sent_by_port
from p4lab.systems.protect.entries import Placed
from p4lab.systems.protect.expected import Counted
from p4lab.systems.protect.placement import placements

REASONS = {
    1: "unknown packet",
    2: "malformed",
    3: "bad IPv4 checksum",
    4: "TTL expired",
    5: "no route",
    6: "not a tunnel",
    7: "unknown CID",
    8: "next protocol",
    9: "tunnel in tunnel",
    10: "duplicate",
    11: "rogue",
    12: "no path",
    13: "no tag",
    14: "unknown stream",
    15: "back to source",
}
"""Why packets are given up: cells of the counter `dropped`, and of `dropped_copies`"""
NO_PATH = 12

LATENT_ERROR = 100
"""The difference beyond which IEEE 802.1CB raises an alarm (frerSeqRcvyLatentErrorDifference, as
switches have it by default)"""


@dataclass(frozen=True)
class ConnectionCounts:
    """What the two ends of a connection have counted; None where the program counts nothing."""

    sent: int | None
    paths: tuple[Counted, Counted] | None

    @property
    def latent_error(self) -> int | None:
        """Each accepted packet should have made one duplicate: how many are missing. It grows when
        a path delivers nothing, which nobody would notice otherwise."""
        if self.paths is None:
            return None
        return sum(path.accepted - path.discarded - path.rogue for path in self.paths)

    @property
    def lost(self) -> int | None:
        """Packets that went in and did not come out."""
        if self.paths is None or self.sent is None:
            return None
        return self.sent - sum(path.accepted for path in self.paths)


@dataclass(frozen=True)
class Collected:
    """All that a report reads from the switches. `dropped` is by router and reason."""

    ports: tuple[CounterRow, ...]
    connections: Mapping[str, ConnectionCounts]
    dropped: Mapping[str, Mapping[str, int]]


def collect(plan: Plan, drivers: DriverOf, layouts: Layouts | None = None) -> Collected:
    """Reads the counters of a plan's switches, while they still run."""
    return Collected(
        sent_by_port(plan.topology, drivers, layouts),
        {placed.connection.name: of_connection(placed, drivers) for placed in placements(plan)},
        {router.name: _dropped(drivers(router.name)) for router in plan.topology.routers},
    )


def of_connection(placed: Placed, drivers: DriverOf) -> ConnectionCounts:
    """What the ends of a connection have counted."""
    ingress = drivers(placed.connection.ingress)
    sent = _packets(ingress, "protected_packets", [placed.pti_index])
    egress, cells = drivers(placed.connection.egress), [placed.cell(1), placed.cell(2)]
    received = _packets(egress, "received", cells)
    accepted = _packets(egress, "accepted", cells)
    discarded = _packets(egress, "discarded", cells)
    rogue = _packets(egress, "rogue", cells) or [0, 0]  # on a Tofino they are among the discarded
    if sent is None or received is None or accepted is None or discarded is None:
        return ConnectionCounts(sent[0] if sent else None, None)
    first, second = (
        Counted(*numbers, lost=sent[0] - numbers[0])
        for numbers in zip(received, accepted, discarded, rogue, strict=True)
    )
    return ConnectionCounts(sent[0], (first, second))


def _dropped(driver: CountingDriver) -> dict[str, int]:
    """Packets that a switch gave up, by reason; without those that did not happen."""
    reasons = list(REASONS)
    ingress = _packets(driver, "dropped", reasons) or [0] * len(reasons)
    found = dict(zip(reasons, ingress, strict=True))
    found[NO_PATH] += (_packets(driver, "dropped_copies", [NO_PATH]) or [0])[0]
    return {REASONS[reason]: count for reason, count in found.items() if count}


def _packets(driver: CountingDriver, name: str, cells: Sequence[int]) -> list[int] | None:
    """The packets in cells of a counter; None if the program, or the driver, has none."""
    if not isinstance(driver, CountingDriver):
        return None
    try:
        found = driver.counters(name, cells)
    except ValueError:  # programs of one's own need not count
        return None
    return [found[cell].packets for cell in cells]
