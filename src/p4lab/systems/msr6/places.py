"""What every node of a topology knows, for the reference walk: from the profile and from unicast's
paths alone, without the control plane under test and without the encoders."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from p4lab.control.igp import underlay
from p4lab.systems.msr6.walk import BITS, DT6, LOCATOR, RGB, Place, Way
from p4lab.topology import NO_FAILURES, Failures, Router, Topology

_HOSTS = 0x8000
_ADJACENCIES = 16


@lru_cache(maxsize=64)
def places(topology: Topology, down: Failures = NO_FAILURES) -> Mapping[str, Place]:
    """All nodes, by name; what is down is in nobody's tables. Kept for those who ask again: a
    control plane does for each packet that is refused."""
    numbers = {host.name: _HOSTS | index for index, host in enumerate(topology.hosts, 1)}
    known = {name: Place(number, is_router=False) for name, number in numbers.items()}
    for router in topology.routers:
        known[router.name] = Place(
            router.number,
            routes=_routes(topology, router, numbers, down),
            bits=_bits(topology, router, numbers),
            bift=_bift(topology, router, numbers, down),
        )
    return known


def _next(topology: Topology, router: Router, node: str, down: Failures) -> str | None:
    """Where a router sends what is for a node: itself, a neighbour, or nowhere."""
    igp = underlay(topology, down)
    hosts = {host.name: host.router for host in topology.hosts}
    home = hosts.get(node, node)
    if node in hosts and down.has(topology.link(home, node)):
        return None
    if home == router.name:
        return node
    return igp.next_hop(router.name, home)


def _routes(
    topology: Topology, router: Router, numbers: dict[str, int], down: Failures
) -> dict[int, str]:
    every = {other.name: other.number for other in topology.routers} | numbers
    found = {
        number: _next(topology, router, name, down)
        for name, number in every.items()
        if name != router.name
    }
    return {number: target for number, target in found.items() if target is not None}


def _bits(topology: Topology, router: Router, numbers: dict[str, int]) -> dict[int, Way]:
    """Neighbouring routers in the order of their ports, then hosts, then the router itself."""
    around = topology.ports(router.name).values()
    ways = [Way(name) for name in around if name not in numbers]
    ways += [Way(name, _sid(numbers[name], DT6)) for name in around if name in numbers]
    ways.append(Way(router.name))
    return dict(enumerate(ways[:_ADJACENCIES], 1))


def _bift(
    topology: Topology, router: Router, numbers: dict[str, int], down: Failures
) -> dict[tuple[int, int], Way]:
    """A row for each receiver that can be reached: routers by their number, hosts after them."""
    ids = {other.name: other.number for other in topology.routers}
    ids |= {name: max(ids.values()) + index for index, name in enumerate(numbers, 1)}
    targets: dict[tuple[int, int], str] = {}
    for name, bfr_id in ids.items():
        target = _next(topology, router, name, down)
        if target is not None:
            targets[(bfr_id - 1) // BITS, (bfr_id - 1) % BITS + 1] = target
    rows: dict[tuple[int, int], Way] = {}
    for (si, number), target in targets.items():
        mask = sum(1 << n - 1 for (s, n), other in targets.items() if (s, other) == (si, target))
        if target == router.name:
            sid = None
        elif target in numbers:
            sid = _sid(numbers[target], DT6)
        else:
            sid = _sid(topology.router(target).number, RGB, si << 24)
        rows[si, number] = Way(target, sid, mask)
    return rows


def _sid(node: int, function: int, argument: int = 0) -> int:
    return LOCATOR << 64 | node << 48 | function << 32 | argument
