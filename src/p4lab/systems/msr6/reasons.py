"""Why routers gave packets up, as their counters say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from p4lab.model.control import CountingDriver
from p4lab.model.report import CounterRow
from p4lab.model.run import Plan
from p4lab.model.system import DriverOf

REASONS = {
    1: "UNKNOWN_PACKET",
    2: "CUT_OFF",
    3: "LINK_LOCAL",
    4: "HOP_LIMIT",
    5: "NO_LISTENER",
    6: "NOT_MULTICAST",
    7: "NO_SUCH_SID",
    8: "NO_WAY",
    9: "NO_BIFT_ENTRY",
    10: "BACK_TO_SOURCE",
    11: "ROUTED_MULTICAST",
    32: "TOO_BIG",
    33: "TIME_EXCEEDED",
    34: "NO_ROUTE",
    35: "UPPER_LAYER",
    36: "ROUTING_TYPE",
    37: "HDR_EXT_LEN",
    38: "TOO_LONG",
    39: "LAST_ENTRY",
    40: "SEGMENTS_LEFT",
    41: "NO_COPY",
    42: "POINTER",
    43: "TOO_MANY",
    44: "NO_ADJACENCY",
}
"""`drop_reason_t` of p4/msr6/headers.p4: the cells of its counters"""
EXPECTED = frozenset({"LINK_LOCAL", "BACK_TO_SOURCE"})
"""Reasons that need no report: hosts talk to their link, and copies come back to sources"""
COUNTERS = ("dropped", "dropped_copies")


@dataclass(frozen=True)
class Collected:
    """What a report reads from the switches: what they sent, and what they gave up, by router and
    reason."""

    ports: tuple[CounterRow, ...]
    dropped: dict[str, Counter[str]]


def dropped(plan: Plan, drivers: DriverOf) -> dict[str, Counter[str]]:
    """What each router gave up, by reason, where its program counts that."""
    return {router.name: _of(drivers(router.name)) for router in plan.topology.routers}


def notes(collected: Collected) -> Iterator[str]:
    """A sentence for each router that gave packets up."""
    for router, found in collected.dropped.items():
        listed = [
            f"{count} for {reason}" for reason, count in found.items() if reason not in EXPECTED
        ]
        if listed:
            yield f"{router} gave packets up: {', '.join(listed)}."


def _of(driver: object) -> Counter[str]:
    found: Counter[str] = Counter()
    if not isinstance(driver, CountingDriver):
        return found
    for name in COUNTERS:
        try:
            cells = driver.counters(name, list(REASONS))
        except ValueError:  # programs of one's own need not count
            continue
        found.update({REASONS[cell]: count.packets for cell, count in cells.items()})
    return +found
