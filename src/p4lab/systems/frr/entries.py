"""The control plane of `p4/bier-frr`: BIER entries, unicast routes, and the backups of both.

Every backup is computed beforehand for the failure of one link or one router. Routers use them on
their own, as long as they see the port of the primary way down.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from p4lab.control.igp import underlay
from p4lab.control.listeners import Member
from p4lab.model.entries import Entity, Entries, Exact, Lpm, TableEntry, Ternary
from p4lab.model.layout import CPU_PORT
from p4lab.systems.bier.entries import (
    bfers_of,
    bier_entries,
    bift_id,
    bit,
    bit_priority,
    forwarding_masks,
    set_identifier,
)
from p4lab.systems.frr.lfa import Alternate, alternate, downstream_alternate
from p4lab.topology import NO_FAILURES, Failures, Router, Topology
from p4lab.topology.model import PREFIX_LENGTH


@dataclass(frozen=True)
class Protection:
    """What is prepared for a failure: BIER-FRR of a kind, and IP-FRR for the unicast network."""

    bier: Literal["none", "link", "node"] = "node"
    ip: bool = True


FULL = Protection()


def frr_entries(
    topology: Topology,
    membership: frozenset[Member],
    bsl: int,
    down: Failures = NO_FAILURES,
    protection: Protection = FULL,
) -> dict[str, Entries]:
    """Everything every router needs, by router name. Raises as `bier_entries` does."""
    multicast = bier_entries(topology, membership, bsl, down)
    unicast = route_entries(topology, down)
    backups = backup_entries(topology, bsl, down, protection)
    return {name: multicast[name] | unicast[name] | backups[name] for name in multicast}


@lru_cache(maxsize=64)
def backup_entries(
    topology: Topology, bsl: int, down: Failures, protection: Protection
) -> dict[str, Entries]:
    """BIER-FRR and IP-FRR: what routers use on their own, by router name."""
    bier = _bier_backups(topology, bsl, down, protection.bier)
    return {
        router.name: frozenset(bier[router.name])
        | frozenset(_alternates(topology, down, router) if protection.ip else ())
        for router in topology.routers
    }


def _bier_backups(
    topology: Topology, bsl: int, down: Failures, kind: Literal["none", "link", "node"]
) -> dict[str, set[Entity]]:
    """BIER-FRR: one row per BFER behind a neighbour, by router name.

    Link protection tunnels the copy to the neighbour itself, with its F-BM. Node protection
    tunnels it to the neighbour's own next hops, each with the receivers that both F-BMs hold, so
    that the backup F-BMs are a partition of the neighbour's F-BM; only the neighbour's own bit
    is tunnelled to the neighbour, which may be alive behind a failed link.
    """
    igp = underlay(topology, down)
    bfers = bfers_of(topology, bsl)
    masks = {r.name: forwarding_masks(igp, r.name, bfers) for r in topology.routers}
    rows: dict[str, set[Entity]] = {router.name: set() for router in topology.routers}
    for router in topology.routers if kind != "none" else ():
        for bfer in topology.routers:
            next_hop = igp.next_hop(router.name, bfer.name)
            if next_hop is None:
                continue
            si, own = set_identifier(bfer.own("bfr_id"), bsl), bit(bfer.own("bfr_id"), bsl)
            end, mask = next_hop, masks[router.name][si, next_hop]
            if kind == "node":
                beyond = igp.next_hop(next_hop, bfer.name)
                end = beyond or next_hop
                mask &= masks[next_hop][si, beyond]
            rows[router.name].add(
                TableEntry(
                    "bier_backup",
                    (("bift_id", Exact(bift_id(bsl, si))), ("bit_string", Ternary(own, own))),
                    "tunnel_bier",
                    (("fbm", mask), *_tunnel(router, topology.router(end))),
                    bit_priority(own, bsl),
                )
            )
    return rows


@lru_cache(maxsize=64)
def route_entries(topology: Topology, down: Failures = NO_FAILURES) -> dict[str, Entries]:
    """Unicast routes to all routers and hosts, by router name."""
    return {
        router.name: frozenset(_routes(topology, down, router))
        if router.name not in down.nodes
        else frozenset()
        for router in topology.routers
    }


def _routes(topology: Topology, down: Failures, router: Router) -> Iterator[TableEntry]:
    own = (("destination", Lpm(int(router.address), 32)),)
    yield TableEntry("routes", own, "deliver", ())
    for host in topology.hosts_of(router.name):
        if not down.has(topology.link(host.name, router.name)):
            match = (("destination", Lpm(int(host.ip), 32)),)
            yield TableEntry("routes", match, "route", (("port", host.port),))
    igp = underlay(topology, down)
    for other in topology.routers:
        next_hop = igp.next_hop(router.name, other.name)
        if next_hop is not None:
            params = (("port", topology.port(router.name, next_hop)),)
            yield TableEntry("routes", (("destination", _prefix(other)),), "route", params)


def _alternates(topology: Topology, down: Failures, router: Router) -> Iterator[TableEntry]:
    """For a packet on its first way an alternate of any kind, for one on a detour a safe one."""
    for other in topology.routers:
        first = alternate(topology, router.name, other.name, down)
        second = downstream_alternate(topology, router.name, other.name, down)
        for detoured, chosen in enumerate((first, second)):
            if chosen is not None:
                match = (("destination", _prefix(other)), ("detoured", Exact(detoured)))
                action, params = _action(topology, router, chosen)
                yield TableEntry("ip_backup", match, action, params)


def _action(
    topology: Topology, router: Router, chosen: Alternate
) -> tuple[str, tuple[tuple[str, int], ...]]:
    port = ("port", topology.port(router.name, chosen.neighbour))
    if chosen.tunnel is not None:
        return "tunnel_ip", (port, *_tunnel(router, topology.router(chosen.tunnel)))
    return ("downstream" if chosen.downstream else "detour"), (port,)


def _tunnel(source: Router, end: Router) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("src", int(source.address)), ("dst", int(end.address))


def _prefix(router: Router) -> Lpm:
    """The addresses of a router and its hosts."""
    return Lpm(int(router.address) & ~0xFF, PREFIX_LENGTH)


def port_status(port: int, down: bool) -> tuple[int, bytes]:
    """A message to the switch itself, for `Driver.packet_out`: port and frame (`port_status_t`)."""
    return CPU_PORT, (port << 7 | int(down)).to_bytes(2, "big")


def coverage(topology: Topology, down: Failures = NO_FAILURES) -> dict[str, float]:
    """Shares of (router, destination) pairs with a next hop that have an alternate, by kind.

    Keys: `lfa` and `remote` (which kind was chosen), `any`, `node` (good if the next hop itself
    fails) and `downstream` (for packets on a detour).
    """
    counts: dict[str, int] = defaultdict(int)
    pairs = 0
    for source in topology.routers:
        for destination in underlay(topology, down).next_hops[source.name]:
            pairs += 1
            chosen = alternate(topology, source.name, destination, down)
            second = downstream_alternate(topology, source.name, destination, down)
            counts["downstream"] += second is not None
            if chosen is not None:
                counts["any"] += 1
                counts["node"] += chosen.node_protecting
                counts["lfa" if chosen.tunnel is None else "remote"] += 1
    kinds = ("lfa", "remote", "any", "node", "downstream")
    return {kind: counts[kind] / pairs if pairs else 1.0 for kind in kinds}
