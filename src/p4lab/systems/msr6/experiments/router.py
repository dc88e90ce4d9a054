"""One router on a Tofino, as the experiment on costs has it: its program, entries and frames.

Packets come in at one port and go to three next hops, each with a cable of its own. The tree is
that of the next hops: their SIDs are the three entries of a list, in TE as in TE with RLB, so that
packets of both are equally long. Plain IPv6 has no list, and a group instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv6Address
from pathlib import Path

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    Entity,
    Exact,
    Lpm,
    MulticastGroup,
    TableEntry,
    Ternary,
    Update,
)
from p4lab.packets.ip import (
    ETHERTYPE_IPV6,
    IPV6_BYTES,
    PROTOCOL_ROUTING,
    PROTOCOL_UDP,
    ethernet,
    ipv6,
    multicast_mac,
)
from p4lab.paths import ROOT
from p4lab.systems.msr6.encoded import NEXT_IPV6, Encoded
from p4lab.systems.msr6.experiments.slides import IPV6, RLB, TE
from p4lab.systems.msr6.sids import (
    END_RL,
    END_RLB,
    PREFIX_LENGTH,
    ListArgument,
    LocalBits,
    Sid,
    leaf,
    locator_prefix,
)

TNA = ROOT / "p4" / "msr6" / "tna.p4"
PLAIN = ROOT / "p4" / "msr6" / "plain" / "tna.p4"
Defines = tuple[tuple[str, str], ...]
PROGRAMS: dict[str, tuple[Path, Defines]] = {
    IPV6: (PLAIN, ()),
    TE: (TNA, (("ONLY_TE", "1"),)),
    RLB: (TNA, (("WITHOUT_BE", "1"),)),
}
"""By what is measured: the program that has it and no more than it needs"""

COPIES = 3
NEXT_HOPS = tuple(range(1, COPIES + 1))
"""Their ports"""
SOURCE_PORT = 60
LOOP = 68
"""The recirculation port"""
ETHERNET_BYTES = 14
FCS = 4
GROUP = IPv6Address("ff3e::4:1")

_ROUTER = 1  # its number, and those of the next hops
_NODES = {port: 10 + port for port in NEXT_HOPS}
_MAC = 0x020000000000
_SOURCE, _TARGET = IPv6Address("fd00:0:0:2::1"), IPv6Address("fd00:0:0:b::1")
_ADDRESS = IPv6Address("fd00:0:0:1::fe")
_LOOP_SESSION = 1
_MCAST_GROUP = 2
_MTU = 9000
_LOCAL = 1  # the bit of a next hop for itself


@cache
def program(way: str) -> _engine.Program:
    """Raises ProgramError."""
    file, defines = PROGRAMS[way]
    return load_program(file, defines)


# ---- Entries


@dataclass(frozen=True)
class Task:
    """What the router does with the packets that come in."""

    way: str
    encapsulates: bool = False
    """Packets without a tree come in, and get one; of plain IPv6, unicast packets that are sent on.
    Else packets come in that are to be copied to all next hops."""
    one_port: bool = False
    """Of plain IPv6: all copies leave at the first port"""


def updates(task: Task) -> list[Update]:
    """All that the router needs for it."""
    rows = _plain(task) if task.way == IPV6 else _trees(task.way)
    kinds = ((entity, isinstance(entity, DefaultAction)) for entity in (*rows, *_macs()))
    return [Update("modify" if there else "insert", row) for row, there in kinds]


def _macs() -> Iterator[Entity]:
    for port in NEXT_HOPS:
        macs = (("src", _MAC | port), ("dst", _MAC | 0x100 | port))
        yield TableEntry("port_mac", (("port", Exact(port)),), "rewrite", macs)


def _plain(task: Task) -> Iterator[Entity]:
    ports = [NEXT_HOPS[0]] * COPIES if task.one_port else NEXT_HOPS
    replicas = tuple((port, number) for number, port in enumerate(ports))
    yield MulticastGroup(_MCAST_GROUP, replicas)
    group = (("group", Exact(int(GROUP))),)
    yield TableEntry("group_ports", group, "replicate", (("mcast_grp", _MCAST_GROUP),))
    yield _route(Lpm(int(_TARGET), 128), NEXT_HOPS[0])


def _trees(way: str) -> Iterator[Entity]:
    for port, node in _NODES.items():
        yield _route(Lpm(locator_prefix(node), PREFIX_LENGTH), port)
    tree = encoded(way)
    function = (("sid", Exact(tree.destination.pack() >> 32)),)
    if way == TE:
        yield TableEntry("local_sids", function, "rl", ())
    else:
        bits = sum(_bit(port) for port in NEXT_HOPS)
        both = (("known", bits), ("transits", bits))
        yield TableEntry("local_sids", function, "rlb", both)
        for port in NEXT_HOPS:
            own = _bit(port)
            match = (("bits", Ternary(own, own)),)
            params = (("own", own), ("port", port))
            yield TableEntry("adjacencies", match, "transit", params, COPIES + 1 - port)
    yield from _ingress(tree)
    yield DefaultAction("loop_count", "use_loops", (("last", 0),))
    yield CloneSession(_LOOP_SESSION, ((LOOP, 0),))
    turn = (("loop", Exact(0)),)
    yield TableEntry("loop_sessions", turn, "mirror_to", (("session", _LOOP_SESSION),))
    yield TableEntry("loop_ports", turn, "loop_to", (("port", LOOP),))


def _ingress(tree: Encoded) -> Iterator[Entity]:
    number = 1
    key = (("group", Exact(int(GROUP))), ("part", Exact(0)))
    params = (
        ("tree", number),
        ("source", int(_ADDRESS)),
        ("destination", tree.destination.pack()),
        ("last_entry", tree.last_entry),
        ("mtu", _MTU),
        ("more", 0),
    )
    yield TableEntry("trees", key, "encapsulate", params)
    sids = (*tree.entries, 0)
    names = tuple((f"sid_{index}", sid) for index, sid in enumerate(sids))
    yield TableEntry("tree_sids_0", (("tree", Exact(number)),), "sids_0", names)


def _route(destination: Lpm, port: int) -> TableEntry:
    match = (("destination", destination),)
    return TableEntry("ipv6_routes", match, "route", (("port", port),))


def _bit(port: int) -> int:
    return 1 << (port - 1)


# ---- Frames


def encoded(way: str) -> Encoded:
    """The tree: this router is its root, the next hops its leaves. The first in the list, which is
    the highest entry, is the first next hop."""
    nodes, last = tuple(reversed(_NODES.values())), COPIES - 1
    if way == TE:
        own = Sid(_ROUTER, END_RL, ListArgument(COPIES, last).pack())
        sids = [leaf(node) for node in nodes]
    else:
        bits = sum(_bit(port) for port in NEXT_HOPS)
        own = Sid(_ROUTER, END_RLB, LocalBits(bits, last).pack())
        sids = [Sid(node, END_RLB, LocalBits(_LOCAL, 0).pack()) for node in nodes]
    receivers = tuple(str(port) for port in NEXT_HOPS)
    return Encoded(own, tuple(sid.pack() for sid in sids), COPIES, receivers)


def tree_bytes(way: str) -> int:
    """What the tree makes a packet longer."""
    return 0 if way == IPV6 else IPV6_BYTES + encoded(way).header_length


def frame(task: Task, length: int, number: int) -> bytes:
    """What comes in: a packet whose frame had `length` bytes when it left its sender, the checksum
    (which is not there) included. `number` is at its end."""
    unicast = task.way == IPV6 and task.encapsulates
    payload = bytes(length - FCS - ETHERNET_BYTES - IPV6_BYTES - 8) + number.to_bytes(8, "big")
    target = _TARGET if unicast else GROUP
    packet = ipv6(_SOURCE, target, PROTOCOL_UDP, payload)
    if task.way == IPV6 or task.encapsulates:
        mac = _MAC if unicast else multicast_mac(GROUP)
    else:
        tree, mac = encoded(task.way), _MAC
        behind = tree.header(NEXT_IPV6) + packet
        packet = ipv6(_ADDRESS, tree.destination.address, PROTOCOL_ROUTING, behind)
    return ethernet(mac, _MAC | 0x200, ETHERTYPE_IPV6, packet)


def number_of(frame: bytes) -> int:
    """The number at the end of a frame."""
    return int.from_bytes(frame[-8:], "big")
