"""Connections and their protected flows, and the TOML file that names them.

    [[connection]]
    name = "gold"
    from = "r1"                      # PTI: where packets get their numbers
    to = "r5"                        # PTE: where the first copy goes on
    cid = 1                          # how the PTE knows the connection
    mtu = 1500                       # bytes that an IP packet may have on both paths (1500)
    paths = [["r2"], ["r3", "r4"]]   # routers to pass; without it, the cheapest pair

    [[flow]]
    connection = "gold"
    src = "h1"                       # a host, an address or a prefix; what is left out fits always
    dst = "10.0.5.0/24"
    protocol = "udp"                 # or its number
    dst_port = 5004

A packet belongs to the first connection of the file that has a flow for it.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StrictInt

from p4lab.model.control import NumberError
from p4lab.model.run import Plan, Stream
from p4lab.paths import ROOT
from p4lab.systems.protect.paths import disjoint_pair, explicit_pair
from p4lab.systems.protect.settings import STREAMS
from p4lab.topology import Problem, Topology
from p4lab.topology.tomls import (
    FileError,
    Source,
    Strict,
    fill,
    parse_data,
    read_bytes,
    shown,
)

Prefix = IPv4Network | IPv6Network

TUNNEL_BYTES = 28  # an IPv4 header without options and the protection header
LEAST_MTU = 68 + TUNNEL_BYTES  # RFC 791: every link carries 68 bytes
# The switch counts bytes in 16 bits and stops at 65535, so it must take that for too long: a packet
# of any greater length with its new headers would look just as long.
MOST_MTU = 0xFFFE
DEFAULT_MTU = 1500
MOST_CID = (1 << 24) - 1
PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "icmpv6": 58}
PORTED = {PROTOCOLS["tcp"], PROTOCOLS["udp"]}


@dataclass(frozen=True)
class Flow:
    """Packets by addresses, protocol and ports; None fits any. With neither address it is of IPv4
    and IPv6 alike."""

    src: Prefix | None = None
    dst: Prefix | None = None
    protocol: int | None = None
    src_port: int | None = None
    dst_port: int | None = None

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of IP that it can be of."""
        given = {prefix.version for prefix in (self.src, self.dst) if prefix is not None}
        return tuple(given) or (4, 6)


@dataclass(frozen=True)
class Connection:
    """A protection connection from a PTI to a PTE (names of routers). `hops` are the routers that
    its two paths have to pass; None leaves the paths to `disjoint_pair`."""

    name: str
    ingress: str
    egress: str
    cid: int
    hops: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    mtu: int = DEFAULT_MTU
    flows: tuple[Flow, ...] = ()


Port = Annotated[StrictInt, Field(ge=0, le=0xFFFF)]


class ConnectionRow(Strict):
    name: Annotated[str, Field(min_length=1, max_length=40)]
    ingress: Annotated[str, Field(alias="from")]
    egress: Annotated[str, Field(alias="to")]
    cid: Annotated[StrictInt, Field(ge=0, le=MOST_CID)]
    mtu: Annotated[StrictInt, Field(ge=LEAST_MTU, le=MOST_MTU)] = DEFAULT_MTU
    paths: Annotated[list[list[str]], Field(min_length=2, max_length=2)] | None = None


class FlowRow(Strict):
    connection: str
    src: str | None = None
    dst: str | None = None
    protocol: str | StrictInt | None = None
    src_port: Port | None = None
    dst_port: Port | None = None


class ConnectionsFile(Strict):
    """The schema of the file."""

    connection: Annotated[list[ConnectionRow], Field(min_length=1)]
    flow: tuple[FlowRow, ...] = ()


def load(path: Path, topology: Topology) -> tuple[Connection, ...]:
    """The connections of a file. Raises FileError with one sentence per mistake, file and line."""
    return parse(read_bytes(path), shown(path), topology)


def parse(raw: bytes, file: str, topology: Topology) -> tuple[Connection, ...]:
    """The connections in the bytes of a file, which `file` names in errors. Raises FileError."""
    data, source = parse_data(raw, file)
    return _Reader(fill(ConnectionsFile, data, source, _words), source, topology).connections()


def _words(error: Any, what: str, value: str) -> str:
    """What only this file says of an error of pydantic's."""
    place, kind = error["loc"], error["type"]
    if kind in ("too_short", "too_long") and place[-1] == "paths":
        return "`paths` has two lists of routers, one for each path"
    if kind == "too_short":
        return "the file has no connection: write a [[connection]]"
    if kind.startswith("string_too"):
        return f"{what} must have 1 to 40 characters"
    expected = {"list_type": "an array", "string_type": "text in quotes"}
    if kind in (*expected, "model_type"):
        return f"{what} must be {expected.get(kind, 'a table of keys and values')}"
    return ""


@dataclass
class _Reader:
    """The checks that look at more than one value."""

    file: ConnectionsFile
    source: Source
    topology: Topology
    problems: list[Problem] = field(default_factory=list)

    def connections(self) -> tuple[Connection, ...]:
        flows: dict[str, list[Flow]] = {}
        names = [row.name for row in self.file.connection]
        for i, row in enumerate(self.file.flow):
            if row.connection not in names:
                self.unknown(("flow", i, "connection"), row.connection, names, "connection")
            flows.setdefault(row.connection, []).append(self.flow(i, row))
        rows = enumerate(self.file.connection)
        found = tuple(self.connection(i, row, flows.get(row.name, [])) for i, row in rows)
        self.unlike()
        if self.problems:
            raise FileError(self.problems)
        return found

    def wrong(self, place: tuple[str | int, ...], text: str) -> None:
        self.problems.append(self.source.problem(place, text))

    def unknown(self, place: tuple[str | int, ...], name: str, known: list[str], kind: str) -> None:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known[:8])}"
        self.wrong(place, f"there is no {kind} {name!r}: {hint}")

    def connection(self, i: int, row: ConnectionRow, flows: list[Flow]) -> Connection:
        place = ("connection", i)
        before = len(self.problems)
        for key, name in (("from", row.ingress), ("to", row.egress)):
            self.router((*place, key), name)
        for number, path in enumerate(row.paths or ()):
            for at, name in enumerate(path):
                self.router((*place, "paths", number, at), name)
        hops = None
        if row.paths is not None:
            hops = (tuple(row.paths[0]), tuple(row.paths[1]))
        made = Connection(row.name, row.ingress, row.egress, row.cid, hops, row.mtu, tuple(flows))
        if row.ingress == row.egress:
            self.wrong(place, f"{row.name} leads from {row.ingress} to itself: name two routers")
        elif len(self.problems) == before:
            try:
                pair_of(self.topology, made)
            except NumberError as error:
                self.wrong((*place, "paths"), str(error))
        return made

    def router(self, place: tuple[str | int, ...], name: str) -> None:
        known = [router.name for router in self.topology.routers]
        if name not in known:
            self.unknown(place, name, known, f"router of {self.topology.name}")

    def unlike(self) -> None:
        """No name twice, and no CID twice at one PTE."""
        names: dict[str, int] = {}
        cids: dict[tuple[str, int], str] = {}
        for i, row in enumerate(self.file.connection):
            if names.setdefault(row.name, i) != i:
                self.wrong(("connection", i, "name"), f"two connections are named {row.name!r}")
            first = cids.setdefault((row.egress, row.cid), row.name)
            if first != row.name:
                self.wrong(("connection", i, "cid"), same_cid(first, row.name, row.egress, row.cid))

    def flow(self, i: int, row: FlowRow) -> Flow:
        place = ("flow", i)
        before = len(self.problems)
        src, dst = (self.prefix((*place, key), getattr(row, key)) for key in ("src", "dst"))
        if src and dst and src.version != dst.version:
            self.wrong(place, "a flow is of IPv4 or of IPv6: give it two addresses of one kind")
        protocol = self.protocol((*place, "protocol"), row.protocol)
        if (row.src_port, row.dst_port) != (None, None) and protocol not in PORTED:
            self.wrong(place, 'only TCP and UDP have ports: add `protocol = "udp"` or "tcp"')
        for connection in self.file.connection:
            if connection.name == row.connection and len(self.problems) == before:
                self.not_in_circles(place, connection.ingress, src, dst)
        return Flow(src, dst, protocol, row.src_port, row.dst_port)

    def not_in_circles(
        self, place: tuple[str | int, ...], ingress: str, src: Prefix | None, dst: Prefix | None
    ) -> None:
        """A flow must not take what is for hosts of the PTI itself: from the PTE it would come
        back, be protected again, and so on until its TTL ends."""
        for host in self.topology.hosts:
            near = IPv4Network(host.ip), IPv6Network(host.ip6)
            same = [own for own in near if src is None or own.version == src.version]
            if host.router == ingress and any(_has(dst, own) for own in same):
                self.wrong(
                    (*place, "dst"),
                    f"this flow takes what is for {host.name}, too, which is at {ingress} where "
                    "the connection begins: it would go in circles; give it another dst",
                )
                return

    def prefix(self, place: tuple[str | int, ...], text: str | None) -> Prefix | None:
        if text is None:
            return None
        for host in self.topology.hosts:
            if host.name == text:
                return IPv4Network(host.ip)
        try:
            return ip_network(text)
        except ValueError as error:
            reason = f"{text!r} is not a host, address or prefix: write h1, 10.0.5.1 or 10.0.5.0/24"
            if "host bits" in str(error):
                reason = f"{text!r} has bits beyond its prefix: {ip_network(text, strict=False)}?"
            self.wrong(place, reason)
            return None

    def protocol(self, place: tuple[str | int, ...], value: str | int | None) -> int | None:
        if isinstance(value, str):
            number = PROTOCOLS.get(value.lower())
            if number is None:
                self.wrong(place, f"{value!r} is none of {', '.join(PROTOCOLS)}: give its number")
            return number
        if value is not None and not 0 <= value <= 255:
            self.wrong(place, f"`protocol` is {value}, but it must be 0 to 255")
        return value


def _has(prefix: Prefix | None, address: Prefix) -> bool:
    if prefix is None:
        return True
    return prefix.version == address.version and address.network_address in prefix


def same_cid(first: str, second: str, egress: str, cid: int) -> str:
    """What to say of two connections that a PTE could not tell apart."""
    return (
        f"connections {first} and {second} both end at {egress} with CID {cid}: "
        "give one of them another CID"
    )


def pair_of(topology: Topology, connection: Connection) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The two paths of a connection, as names of routers. Raises NumberError."""
    if connection.hops is None:
        return disjoint_pair(topology, connection.ingress, connection.egress)
    return explicit_pair(topology, connection.ingress, connection.egress, connection.hops)


def connections_of(plan: Plan) -> tuple[Connection, ...]:
    """The connections of a plan: those of the file that its settings name, or else one for each
    pair of routers between which it sends. Raises NumberError, FileError."""
    return _connections(plan.settings.connections, plan.topology, plan.streams)


@lru_cache(maxsize=64)
def _connections(
    named: str, topology: Topology, streams: tuple[Stream, ...]
) -> tuple[Connection, ...]:
    if named == STREAMS:
        return of_streams(topology, streams)
    path = Path(named)
    return load(path if path.exists() else ROOT / path, topology)


def of_streams(topology: Topology, streams: Sequence[Stream]) -> tuple[Connection, ...]:
    """A connection for each ordered pair of routers between whose hosts there are streams, if two
    paths lead from one to the other, with a flow for each stream.

    Raises NumberError if none of the streams can be protected.
    """
    flows: dict[tuple[str, str], dict[Flow, None]] = {}
    reason = "no stream leads from one router to another, so there is nothing to protect."
    for stream in streams:
        (receiver,) = stream.receivers
        ends = stream.source.router, receiver.router
        if ends[0] == ends[1]:
            continue
        try:
            disjoint_pair(topology, *ends)
        except NumberError as error:
            reason = str(error)
            continue
        flow = Flow(IPv4Network(stream.source.ip), IPv4Network(receiver.ip))
        flows.setdefault(ends, {})[flow] = None
    if not flows:
        raise NumberError(reason)
    return tuple(
        Connection(f"{ingress}-{egress}", ingress, egress, cid, flows=tuple(found))
        for cid, ((ingress, egress), found) in enumerate(flows.items(), 1)
    )
