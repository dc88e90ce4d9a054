"""The control plane of `p4/msr6`: from topology and listeners to the entries of its tables.

What every router holds does not depend on groups: its SIDs, adjacencies, BIFT and routes. A group
has rows where its packets come in (`trees`) and where they come out (`group_ports`), and none in
between. Without trees (`clone`) every router of the tree has one instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from p4lab.control.igp import Igp, underlay
from p4lab.control.listeners import Membership, working_members
from p4lab.control.rows import delivery, port_macs
from p4lab.model.entries import (
    CloneSession,
    Entity,
    Entries,
    Exact,
    Lpm,
    TableEntry,
    Ternary,
)
from p4lab.model.run import Plan
from p4lab.systems.msr6 import be, rlb
from p4lab.systems.msr6.encoded import Encoded
from p4lab.systems.msr6.groups import Trees
from p4lab.systems.msr6.settings import SEGMENTS, Msr6Settings
from p4lab.systems.msr6.sids import (
    END_DT6,
    END_RGB,
    END_RL,
    END_RLB,
    MOST_ADJACENCIES,
    PREFIX_LENGTH,
    GlobalSet,
    Sid,
    leaf,
    locator_prefix,
    node_numbers,
)
from p4lab.systems.msr6.tree import Node
from p4lab.topology import NO_FAILURES, Failures, Router, Topology
from p4lab.topology.model import PREFIX6_LENGTH

RECIRC_PORT = 509
RECIRC_SESSION = 1
IPV6_BYTES = 40

Sources = frozenset[tuple[int, str]]
"""Groups, as numbers, and routers where packets to them come in"""
NO_SOURCES: Sources = frozenset()


def sources_of(plan: Plan) -> Sources:
    """Where a plan's packets come in."""
    return frozenset((int(stream.destination), stream.source.router) for stream in plan.streams)


def msr6_entries(
    topology: Topology,
    membership: Membership,
    settings: Msr6Settings,
    sources: Sources = NO_SOURCES,
    down: Failures = NO_FAILURES,
) -> dict[str, Entries]:
    """Everything every router needs, by router name. `sources` are the routers where packets to a
    group come in: without trees, state is laid out for these.

    Raises NumberError if a tree cannot be encoded or made, and KeyError for a router that does
    not exist.
    """
    core = _core(topology, down)
    trees = Trees(topology, settings, down)
    rows: dict[str, list[Entity]] = {router.name: [] for router in topology.routers}
    ports: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    listening: dict[int, set[str]] = defaultdict(set)
    for member in working_members(topology, membership, down):
        neighbour = topology.neighbour(member.router, member.port)
        listening[member.group].add(str(neighbour))
        ports[member.router][member.group].add(member.port)
    for group, hosts in listening.items():
        if settings.encoding == "clone":
            entering = {router for of, router in sources if of == group}
            for name, out in trees.shared(hosts, entering).items():
                ports[name][group] |= out
            continue
        for router in topology.routers:
            if topology.hosts_of(router.name):
                packets = trees.packets(router.name, hosts)
                rows[router.name] += _tree_rows(router, group, packets, settings.mtu)
    for router in topology.routers:
        if router.name in ports and (settings.leaves == "routers" or settings.encoding == "clone"):
            rows[router.name] += delivery(ports[router.name])
    return {name: core[name].union(own) for name, own in rows.items()}


def _tree_rows(
    router: Router, group: int, packets: tuple[Encoded, ...], mtu: int
) -> Iterator[TableEntry]:
    """The rows that put a tree in front of packets to a group: one for each packet of the tree."""
    longest = mtu - IPV6_BYTES - max((one.header_length for one in packets), default=0)
    for part, packet in enumerate(packets):
        sids = [*packet.entries, *[0] * (SEGMENTS - len(packet.entries))]
        yield TableEntry(
            "trees",
            (("group", Exact(group)), ("part", Exact(part))),
            "encapsulate",
            (
                ("source", int(router.address6)),
                ("destination", packet.destination.pack()),
                ("last_entry", packet.last_entry),
                ("mtu", longest),
                ("more", int(part + 1 < len(packets))),
                *((f"sid_{index}", sid) for index, sid in enumerate(sids)),
            ),
        )


@lru_cache(maxsize=64)
def _core(topology: Topology, down: Failures) -> dict[str, Entries]:
    """What does not depend on groups, by router."""
    igp = underlay(topology, down)
    nodes = node_numbers(topology)
    bits = rlb.adjacencies(topology)
    session = CloneSession(RECIRC_SESSION, ((RECIRC_PORT, 1),))
    return {
        router.name: frozenset(
            [
                session,
                *_local_sids(router, bits[router.name]),
                *_adjacencies(nodes, bits[router.name]),
                *_bift(topology, igp, nodes, router),
                *_routes(topology, igp, nodes, router, down),
                *port_macs(topology, router),
            ]
        )
        for router in topology.routers
    }


def _local_sids(router: Router, bits: Iterable[rlb.Adjacency]) -> Iterator[TableEntry]:
    known = sum(one.bit for one in bits)
    transits = sum(one.bit for one in bits if one.kind is rlb.Kind.TRANSIT)
    actions: dict[int, tuple[str, tuple[tuple[str, int], ...]]] = {
        END_RL: ("rl", ()),
        END_RLB: ("rlb", (("known", known), ("transits", transits))),
        END_RGB: ("rgb", ()),
        END_DT6: ("dt6", ()),
    }
    for function, (action, params) in actions.items():
        sid = Sid(router.number, function).pack() >> 32
        yield TableEntry("local_sids", (("sid", Exact(sid)),), action, params)


def _adjacencies(
    nodes: Mapping[Node, int], adjacencies: Iterable[rlb.Adjacency]
) -> Iterator[TableEntry]:
    """One row per bit; the lowest has precedence."""
    for one in adjacencies:
        own, port = ("own", one.bit), ("port", one.port)
        actions = {
            rlb.Kind.TRANSIT: ("transit", (own, port)),
            rlb.Kind.LEAF: ("leaf", (own, port, ("sid", leaf(nodes[str(one.neighbour)]).pack()))),
            rlb.Kind.LOCAL: ("local", (own,)),
        }
        action, params = actions[one.kind]
        match = (("bits", Ternary(one.bit, one.bit)),)
        priority = MOST_ADJACENCIES + 1 - one.number
        yield TableEntry("adjacencies", match, action, params, priority)


def _bift(
    topology: Topology, igp: Igp, nodes: Mapping[Node, int], router: Router
) -> Iterator[TableEntry]:
    """One row per receiver, routers and hosts; the lowest bit has precedence (RFC 8279, 6.4)."""
    ids = be.bfr_ids(topology)
    homes = {one.name: one.name for one in topology.routers}
    homes |= {host.name: host.router for host in topology.hosts}
    ways: dict[str, str] = {}  # receiver to next node
    masks: dict[tuple[int, str], int] = defaultdict(int)
    for receiver, home in homes.items():
        if home == router.name:
            ways[receiver] = receiver
        elif igp.reaches(router.name, home):
            ways[receiver] = str(igp.next_hop(router.name, home))
        else:
            continue
        masks[be.set_identifier(ids[receiver]), ways[receiver]] |= be.bit(ids[receiver])
    for receiver, way in ways.items():
        si, own = be.set_identifier(ids[receiver]), be.bit(ids[receiver])
        match = (("set", Exact(si)), ("bit_string", Ternary(own, own)))
        priority = be.BITS - own.bit_length() + 1
        fbm = ("fbm", masks[si, way])
        if way == router.name:
            yield TableEntry("bift", match, "decapsulate", (fbm,), priority)
            continue
        port = ("port", topology.port(router.name, way))
        action, sid = "leaf", leaf(nodes[way])
        if homes[way] == way:
            action, sid = "forward", Sid(nodes[way], END_RGB, GlobalSet(si).pack())
        yield TableEntry("bift", match, action, (fbm, port, ("sid", sid.pack())), priority)


def _routes(
    topology: Topology, igp: Igp, nodes: Mapping[Node, int], router: Router, down: Failures
) -> Iterator[TableEntry]:
    """Routes to locators and networks of all routers, and to the router's own hosts."""
    own = (("destination", Lpm(locator_prefix(router.number), PREFIX_LENGTH)),)
    yield TableEntry("ipv6_routes", own, "local", ())
    for host in topology.hosts:
        locator = Lpm(locator_prefix(nodes[host.name]), PREFIX_LENGTH)
        if host.router != router.name:
            hop = igp.next_hop(router.name, host.router)
            if hop is not None:
                yield _route(locator, topology.port(router.name, hop))
        elif not down.has(topology.link(host.name, router.name)):
            yield _route(locator, host.port)
            yield _route(Lpm(int(host.ip6), 128), host.port)
    for other in topology.routers:
        hop = igp.next_hop(router.name, other.name)
        if hop is not None:
            port = topology.port(router.name, hop)
            yield _route(Lpm(locator_prefix(other.number), PREFIX_LENGTH), port)
            yield _route(Lpm(int(other.prefix6.network_address), PREFIX6_LENGTH), port)


def _route(destination: Lpm, port: int) -> TableEntry:
    match = (("destination", destination),)
    return TableEntry("ipv6_routes", match, "route", (("port", port),))
