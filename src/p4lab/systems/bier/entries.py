"""The BIER control plane: from topology and membership to the entries of `p4/bier`.

BFR-ids are numbers from 1; SI = (id - 1) div BSL and bit = (id - 1) mod BSL + 1, where bit 1 is
the lowest (RFC 8279, section 3). BIFT-ids are BSL code, sub-domain and SI in 4, 8 and 8 bits,
the static mapping of draft-ietf-bier-non-mpls-bift-encoding; the sub-domain is 0 here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address
from itertools import pairwise
from typing import NamedTuple

from p4lab.control.igp import Igp, underlay
from p4lab.control.listeners import Membership, working_members
from p4lab.control.rows import delivery, port_macs
from p4lab.model.control import NumberError
from p4lab.model.entries import (
    CloneSession,
    Entity,
    Entries,
    Exact,
    Matches,
    TableEntry,
    Ternary,
)
from p4lab.topology import NO_FAILURES, Failures, Router, Topology

RECIRC_PORT = 509
RECIRC_SESSION = 1
MAX_SI = 255  # the BIFT-id has eight bits for it

BSL_CODES = {64: 1, 128: 2, 256: 3}


def set_identifier(bfr_id: int, bsl: int) -> int:
    """SI of a BFR-id (RFC 8279, section 3)."""
    return (bfr_id - 1) // bsl


def bit(bfr_id: int, bsl: int) -> int:
    """The BitString that addresses one BFR-id within its set (RFC 8279, section 3)."""
    return 1 << (bfr_id - 1) % bsl


def bift_id(bsl: int, si: int, sub_domain: int = 0) -> int:
    """The 20-bit BIFT-id of <sub-domain, BSL, SI>."""
    return BSL_CODES[bsl] << 16 | sub_domain << 8 | si


def bit_strings(bfr_ids: Iterable[int], bsl: int) -> dict[int, int]:
    """SI to BitString for a set of BFR-ids, in order of SI: one packet for each."""
    strings: dict[int, int] = defaultdict(int)
    for bfr_id in bfr_ids:
        strings[set_identifier(bfr_id, bsl)] |= bit(bfr_id, bsl)
    return dict(sorted(strings.items()))


def bier_entries(
    topology: Topology,
    membership: Membership,
    bsl: int,
    down: Failures = NO_FAILURES,
) -> dict[str, Entries]:
    """Everything every router needs, by router name; a router that is down needs nothing.

    Membership on ports that are down or lead to no host is not used. Raises NumberError if
    a BFR-id needs an SI above 255 or a router has more groups than 16-bit ids, and KeyError if
    the membership names a router that does not exist.
    """
    core, igp = _core(topology, bsl, down)
    ports: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    # By part of the network, for a failure may cut it in two, and by group: who receives.
    receivers: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for member in working_members(topology, membership, down):
        ports[member.router][member.group].add(member.port)
        bfr_id = topology.router(member.router).own("bfr_id")
        receivers[igp.part(member.router)][member.group].add(bfr_id)
    strings = {
        part: {group: bit_strings(ids, bsl) for group, ids in groups.items()}
        for part, groups in receivers.items()
    }
    entries: dict[str, Entries] = {}
    for router in topology.routers:
        name = router.name
        if name in down.nodes:
            entries[name] = frozenset()
            continue
        rows = delivery(ports[name]) if name in ports else []
        if topology.hosts_of(name):
            rows += _encapsulation(router, strings.get(igp.part(name), {}), bsl)
        entries[name] = core[name].union(rows)
    return entries


def ideal_copies(
    topology: Topology,
    source: str,
    group: int,
    membership: Membership,
    bsl: int,
    down: Failures = NO_FAILURES,
) -> dict[tuple[str, str], int]:
    """Copies of one packet from host `source` on each directed link of an ideal tree.

    Between routers that is one copy per set (SI) of receivers behind the link; on the way to a
    host it is one. Links that need none have no row. Computed as a union of shortest paths,
    without any forwarding table.
    """
    home = topology.host(source)
    igp = underlay(topology, down)
    copies: dict[tuple[str, str], int] = defaultdict(int)
    if down.has(topology.link(source, home.router)):
        return {}
    copies[source, home.router] = 1
    hops_of_set: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for member in working_members(topology, membership, down):
        path = igp.path(home.router, member.router)
        listener = topology.neighbour(member.router, member.port)
        if member.group != group or not path or listener is None or listener == source:
            continue
        si = set_identifier(topology.router(member.router).own("bfr_id"), bsl)
        hops_of_set[si].update(pairwise(path))
        copies[member.router, listener] = 1
    for hops in hops_of_set.values():
        for hop in hops:
            copies[hop] += 1
    return dict(copies)


@lru_cache(maxsize=64)
def _core(topology: Topology, bsl: int, down: Failures) -> tuple[dict[str, Entries], Igp]:
    """What does not depend on membership: BIFTs, port MACs and the recirculation session."""
    for router in topology.routers:
        if set_identifier(router.own("bfr_id"), bsl) > MAX_SI:
            raise NumberError(
                f"router {router.name} has BFR-id {router.own('bfr_id')}, which is in set "
                f"{set_identifier(router.own('bfr_id'), bsl)} at a BitStringLength of {bsl}, but a "
                f"BIFT-id holds sets 0 to {MAX_SI}: use a longer BitString or lower BFR-ids"
            )
    igp = underlay(topology, down)
    session = CloneSession(RECIRC_SESSION, ((RECIRC_PORT, 1),))
    bfers = bfers_of(topology, bsl)
    entries = {
        router.name: frozenset(
            [session, *_bift(topology, igp, router, bfers), *port_macs(topology, router)]
        )
        for router in topology.routers
        if router.name not in down.nodes
    }
    return entries, igp


class Bfer(NamedTuple):
    """A BFER, with what is the same in the rows for it on all routers."""

    name: str
    si: int
    bit: int
    match: Matches
    priority: int


def bfers_of(topology: Topology, bsl: int) -> list[Bfer]:
    """All routers as BFERs, worked out once for the tables of all."""
    bfers: list[Bfer] = []
    for router in topology.routers:
        bfr_id = router.own("bfr_id")
        si, own = set_identifier(bfr_id, bsl), bit(bfr_id, bsl)
        match = (("bift_id", Exact(bift_id(bsl, si))), ("remaining", Ternary(own, own)))
        bfers.append(Bfer(router.name, si, own, match, bit_priority(own, bsl)))
    return bfers


def forwarding_masks(
    igp: Igp, router: str, bfers: Sequence[Bfer]
) -> dict[tuple[int, str | None], int]:
    """F-BMs of a router by SI and next hop (RFC 8279, section 6.4); next hop None is itself."""
    masks: dict[tuple[int, str | None], int] = defaultdict(int)
    next_hops = igp.reached(router)
    for name, si, own, _, _ in bfers:
        if name in next_hops:
            masks[si, next_hops[name]] |= own
    return dict(masks)


def bit_priority(own: int, bsl: int) -> int:
    """The priority of the row for one bit of a BitString: the lowest bit has the largest."""
    return bsl - own.bit_length() + 1


def _bift(topology: Topology, igp: Igp, router: Router, bfers: Sequence[Bfer]) -> Iterable[Entity]:
    """One row per reachable BFER (RFC 8279, section 6.4); the lowest bit has precedence."""
    masks = forwarding_masks(igp, router.name, bfers)
    params = {
        (si, next_hop): (("fbm", mask), ("port", topology.port(router.name, next_hop)))
        for (si, next_hop), mask in masks.items()
        if next_hop is not None
    }
    next_hops = igp.reached(router.name)
    for name, si, own, match, priority in bfers:
        if name not in next_hops:
            continue
        next_hop = next_hops[name]
        if next_hop is None:
            yield TableEntry("bift", match, "decapsulate", (("fbm", own),), priority)
        else:
            yield TableEntry("bift", match, "forward", params[si, next_hop], priority)


def _encapsulation(router: Router, strings: dict[int, dict[int, int]], bsl: int) -> list[Entity]:
    """Rows that put the BIER header on: per group a chain with one row per set of receivers.

    `strings` is the BitString by group and SI.
    """
    return [
        TableEntry(
            "encap",
            (("group", Exact(group)), ("set", Exact(index))),
            "encapsulate",
            (
                ("bift_id", bift_id(bsl, si)),
                ("bfir_id", router.own("bfr_id")),
                ("bit_string", string),
                ("more_sets", int(index + 1 < len(sets))),
            ),
        )
        for group, sets in strings.items()
        for index, (si, string) in enumerate(sets.items())
    ]


def group_number(address: str) -> int:
    """An IPv4 multicast group as the number used here. Raises ValueError with a sentence."""
    group = IPv4Address(address)
    if not group.is_multicast:
        raise ValueError(f"{address} is not an IPv4 multicast group (224.0.0.0 to 239.255.255.255)")
    return int(group)
