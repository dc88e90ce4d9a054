"""What is known of lines, sessions and routes, and the rows of `p4/bng` that follow from it.

`entries` is the whole: all rows from all that is known. `session_rows` and its like are the rows of
one thing, so that a set-up costs what one session costs; the union of all is `entries`, and no two
things share a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from p4lab.model.entries import (
    Entity,
    Entries,
    Exact,
    Lpm,
    MeterCell,
    MulticastGroup,
    TableEntry,
)

SESSIONS = 36864
"""Room for sessions and for lines; number 0 is no one's"""
MTU = 1492
HOST_BITS = {4: 32, 6: 128}
LINK_BITS, DELEGATED_BITS = 64, 56
TRAFFIC_CLASSES = 4
CONTROL_RATE, CONTROL_BURST = 100, 400
"""Packets of a line that go to the control plane, per second and at once: a set-up takes some ten,
and a line that has lost its power sets all its sessions up again at once"""


class Net(NamedTuple):
    """An IP prefix: version, first address as a number, length."""

    version: int
    address: int
    length: int


class Access(NamedTuple):
    """A port where subscribers are: its first label (0 for QinQ), our MAC and the far end's."""

    port: int
    label: int
    mac: int
    peer: int


class Core(NamedTuple):
    """A port to the core, and the first label of what comes from there (0 for plain IP)."""

    port: int
    label: int
    mac: int


class Line(NamedTuple):
    """A subscriber's line.

    With labels `outer_vid` is its tag and `inner_vid` is 0. Without (both labels 0) they are the
    S-tag and the C-tag, which may be missing: 0.
    """

    number: int
    port: int
    label0: int
    label1: int
    outer_vid: int
    inner_vid: int

    @property
    def place(self) -> tuple[int, int, int, int, int]:
        """Where packets of the line come from."""
        return self[1:]


class Session(NamedTuple):
    """A session as the switch knows it: `index` is its cell in counters and meters.

    `service` is the number of the routes that it uses, `service_vid` its tag (0 for none), and
    `bandwidth` the name of its class.
    """

    index: int  # type: ignore[assignment]
    line: int
    service_vid: int
    mac: int
    pppoe_id: int
    service: int = 0
    mtu: int = MTU
    bandwidth: str = ""
    nets: tuple[Net, ...] = ()


class Route(NamedTuple):
    """Where packets of a service go: to a port, with up to two labels and the next router's MAC.

    `port` None is the gateway itself.
    """

    service: int
    net: Net
    port: int | None
    label0: int = 0
    label1: int = 0
    peer: int = 0


class Rate(NamedTuple):
    """A meter's rates: committed and peak, in bytes a second, each with its burst in bytes."""

    committed: int
    committed_burst: int
    peak: int
    peak_burst: int


class Bandwidth(NamedTuple):
    """A class of subscribers: what they may receive and send, and per class of traffic (0 to 3)
    what they may receive. None is without a limit."""

    name: str
    down: Rate | None
    up: Rate | None
    classes: tuple[Rate | None, Rate | None, Rate | None, Rate | None] = (None, None, None, None)


UNLIMITED = Bandwidth("", None, None)


@dataclass
class Known:
    """All that the control plane knows; whoever changes it is `api.Api`."""

    access: dict[tuple[int, int], Access] = field(default_factory=dict)
    core: dict[tuple[int, int], Core] = field(default_factory=dict)
    lines: dict[int, Line] = field(default_factory=dict)
    sessions: dict[int, Session] = field(default_factory=dict)
    routes: dict[tuple[int, Net], Route] = field(default_factory=dict)
    bandwidths: dict[str, Bandwidth] = field(default_factory=lambda: {"": UNLIMITED})
    traffic: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Class (0 to 3) and priority of a DSCP"""
    watched: dict[int, set[int]] = field(default_factory=dict)
    """The sessions that watch a multicast group, by its IPv4 address"""
    numbers: dict[int, int] = field(default_factory=dict)
    """The number of a group in the switch"""


def entries(known: Known) -> Entries:
    """All rows. This is the slow way, and the oracle of the quick one."""
    rows: set[Entity] = set()
    for access in known.access.values():
        rows.update(access_rows(access))
    for core in known.core.values():
        rows.add(core_row(core))
    for line in known.lines.values():
        rows.update(line_rows(line))
    for session in known.sessions.values():
        rows.update(session_rows(session, known.lines[session.line]))
        rows.update(session_meters(session.index, known.bandwidths[session.bandwidth]))
    for route in known.routes.values():
        rows.add(route_row(route))
    rows.update(next_hops(known))
    for dscp, traffic in known.traffic.items():
        rows.add(traffic_row(dscp, traffic))
    for group in known.watched:
        rows.update(group_rows(known, group))
    return frozenset(rows)


# ---- Ports


def access_rows(access: Access) -> Iterator[TableEntry]:
    """An access port: what comes in there is from subscribers, and what our frames look like."""
    key = (("port", Exact(access.port)), ("label", Exact(access.label)))
    yield TableEntry("interfaces", key, "access", (("mac", access.mac),))
    yield TableEntry("links", key, "link", (("src", access.mac), ("dst", access.peer)))


def core_row(core: Core) -> TableEntry:
    """A port to the core; what our frames there look like is a matter of the routes."""
    key = (("port", Exact(core.port)), ("label", Exact(core.label)))
    return TableEntry("interfaces", key, "core", (("mac", core.mac),))


# ---- Lines and sessions


def line_rows(line: Line) -> list[Entity]:
    """Which line packets come from, and how many of them may ask for the control plane."""
    _, port, label0, label1, outer, inner = line
    key = (
        ("port", Exact(port)),
        ("label0", Exact(label0)),
        ("label1", Exact(label1)),
        ("outer_vid", Exact(outer)),
        ("inner_vid", Exact(inner)),
    )
    rate = (CONTROL_RATE, CONTROL_BURST)
    return [
        TableEntry("lines", key, "known_line", (("line", line.number),)),
        MeterCell("control_meter", line.number, *rate, *rate),
    ]


def session_rows(session: Session, line: Line) -> list[TableEntry]:
    """All rows of a session: who it is, whose addresses these are, how packets get there."""
    index = session.index
    key = (
        ("line", Exact(session.line)),
        ("service_vid", Exact(session.service_vid)),
        ("mac", Exact(session.mac)),
        ("session_id", Exact(session.pppoe_id)),
    )
    params = (("session", index), ("service", session.service))
    by_session = (("session", Exact(index)),)
    where = (("port", line.port), ("mtu", session.mtu))
    rows = [
        TableEntry("sessions", key, "known_session", params),
        TableEntry("subscribers", by_session, "subscriber", where),
        TableEntry("tunnels", by_session, *_tunnel(session, line)),
    ]
    rows += [owner_row(net, index) for net in session.nets]
    return rows


def _tunnel(session: Session, line: Line) -> tuple[str, tuple[tuple[str, int], ...]]:
    """The headers of a session's packets."""
    end = (("session_id", session.pppoe_id), ("mac", session.mac))
    if not line.label0:
        tags = (("outer_vid", line.outer_vid), ("inner_vid", line.inner_vid))
        return "by_tags", tags + end
    labels = (("label0", line.label0), ("label1", line.label1), ("line_vid", line.outer_vid))
    if not session.service_vid:
        return "by_labels", labels + end
    return "by_labels_service", (*labels, ("service_vid", session.service_vid), *end)


def owner_row(net: Net, session: int) -> TableEntry:
    """Whose address or prefix this is."""
    params = (("session", session),)
    version, address, length = net
    if version == 6:
        table = "ipv6_links" if length == LINK_BITS else "ipv6_delegations"
        return TableEntry(table, (("prefix", Exact(address >> 128 - length)),), "owner", params)
    if length == 32:
        return TableEntry("ipv4_hosts", (("address", Exact(address)),), "owner", params)
    return TableEntry("ipv4_prefixes", (("address", Lpm(address, length)),), "owner", params)


def session_meters(index: int, bandwidth: Bandwidth) -> list[MeterCell]:
    """The rates of a session; a cell without one lets everything pass."""
    cells = [("session_meter", index, bandwidth.down), ("upstream_meter", index, bandwidth.up)]
    cells += [
        ("class_meter", TRAFFIC_CLASSES * index + number, rate)
        for number, rate in enumerate(bandwidth.classes)
    ]
    return [MeterCell(meter, cell, *rate) for meter, cell, rate in cells if rate is not None]


# ---- The core


def route_row(route: Route) -> TableEntry:
    """Where packets of a service to a prefix go."""
    version, address, length = route.net
    key = (("service", Exact(route.service)), ("destination", Lpm(address, length)))
    table = f"ipv{version}_routes"
    if route.port is None:
        return TableEntry(table, key, "local", ())
    port = (("port", route.port),)
    if not route.label0:
        return TableEntry(table, key, "to_ip", port)
    labels = (("label0", route.label0), ("label1", route.label1))
    return TableEntry(table, key, "to_mpls", port + labels)


def hop_row(route: Route, mac: int) -> TableEntry:
    """The addresses of frames by a route; routes with the same port and label share the row."""
    assert route.port is not None
    key = (("port", Exact(route.port)), ("label", Exact(route.label0)))
    return TableEntry("links", key, "link", (("src", mac), ("dst", route.peer)))


def next_hops(known: Known) -> Iterator[TableEntry]:
    """The rows of `links` of all routes."""
    for route in known.routes.values():
        if route.port is not None:
            yield hop_row(route, core_mac(known, route.port))


def core_mac(known: Known, port: int) -> int:
    """Our MAC address on a port to the core. Raises ValueError if it is none."""
    for core in known.core.values():
        if core.port == port:
            return core.mac
    raise ValueError(f"port {port} leads to no core: enable it first.")


def traffic_row(dscp: int, traffic: tuple[int, int]) -> TableEntry:
    """The class of traffic and the priority of a DSCP."""
    params = (("class", traffic[0]), ("priority", traffic[1]))
    return TableEntry("classes", (("dscp", Exact(dscp)),), "class_of", params)


# ---- Multicast


def group_rows(known: Known, group: int) -> tuple[MulticastGroup, TableEntry]:
    """A group that someone watches: a replica for each session, whose number the egress finds in
    the replica's instance."""
    sessions = [known.sessions[index] for index in sorted(known.watched[group])]
    number = known.numbers[group]
    replicas = tuple((known.lines[one.line].port, one.index) for one in sessions)
    params = (("mcast_grp", number), ("mtu", min(one.mtu for one in sessions)))
    row = TableEntry("ipv4_groups", (("group", Exact(group)),), "replicate", params)
    return MulticastGroup(number, replicas), row
