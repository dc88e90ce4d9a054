"""MSR6 BE: a set of receivers as a global bit string behind one SID (End.RGB), as in BIER.

Each packet has one entry, a BitString: a routing header of 24 bytes. Receivers of different sets
need different packets, however close to each other they are. The paths are those of unicast.

This encoding is p4lab's own profile, not an IETF format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from p4lab.model.control import NumberError
from p4lab.systems.msr6.encoded import Encoded
from p4lab.systems.msr6.sids import END_RGB, GlobalSet, Sid
from p4lab.systems.msr6.tree import Node
from p4lab.topology import Topology

BITS = 128
"""Receivers in a set: the bits of an entry"""


def bfr_ids(topology: Topology) -> dict[Node, int]:
    """Name to BFR-id: a router has its number, hosts count on from the highest of these."""
    ids: dict[Node, int] = {router.name: router.number for router in topology.routers}
    highest = max(ids.values())
    return ids | {host.name: highest + i for i, host in enumerate(topology.hosts, 1)}


def set_identifier(bfr_id: int) -> int:
    """SI: which set a BFR-id is in (RFC 8279, section 3)."""
    return (bfr_id - 1) // BITS


def bit(bfr_id: int) -> int:
    """The BitString that addresses one BFR-id within its set; bit 1 is the lowest."""
    return 1 << (bfr_id - 1) % BITS


def encode(
    root: Node, receivers: Iterable[Node], nodes: Mapping[Node, int], ids: Mapping[Node, int]
) -> tuple[Encoded, ...]:
    """One packet for each set of receivers, in the order of SI.

    `nodes` are the node numbers of SIDs and `ids` the BFR-ids. Raises NumberError if nobody
    receives, or if a set has a number that a SID has no room for.
    """
    sets: dict[int, list[Node]] = {}
    for receiver in sorted(set(receivers), key=ids.__getitem__):
        sets.setdefault(set_identifier(ids[receiver]), []).append(receiver)
    if not sets:
        raise NumberError("a bit string without receivers has no bits")
    return tuple(
        Encoded(
            Sid(nodes[root], END_RGB, GlobalSet(si).pack()),
            (sum(bit(ids[receiver]) for receiver in members),),
            1,
            tuple(members),
        )
        for si, members in sets.items()
    )
