"""The control API of the paper (section V, `p4_runtime_mgr.py`), with deletes that work.

    api = Api()
    api.enable_access_port(Access(port=1, label=16, mac=..., peer=...))
    api.add_line(Line(number=1, port=1, label0=16, label1=17, outer_vid=5, inner_vid=0))
    api.add_class(bandwidth("50M", down=50_000_000, up=10_000_000))
    api.add_session(Session(index=1, line=1, ...))
    api.add_net(1, Net(4, address, 32))
    switch.write(api.take())

| paper | here |
|---|---|
| `enableLabelPortAccess`, `enableLabelPortCore` | `enable_access_port`, `enable_core_port` |
| `addSubscLine` | `add_line`, `delete_line` |
| `addSubscSession`, `delSubscSession` | `add_session`, `delete_session`, `change_class` |
| `addSubscNetV4`, `V6`, `delSubscNetV4`, `V6` | `add_net`, `delete_net` |
| `addUpstreamRouteV4`, `V6` | `add_route`, `delete_route` |
| `createMeterBucket` | `add_class`, `delete_class`: the meters are those of the sessions |

`connectCP` has no place here: how the control plane reaches its switch is the driver's affair.
Every call changes `known` and collects what the switch has to be told. A refused call raises
ApiError and changes nothing.
"""

from __future__ import annotations

from ipaddress import IPv4Address

from p4lab.model.entries import Entity, Entries, MeterCell, Update, diff
from p4lab.systems.bng.entries import (
    DELEGATED_BITS,
    HOST_BITS,
    LINK_BITS,
    SESSIONS,
    Access,
    Bandwidth,
    Core,
    Known,
    Line,
    Net,
    Rate,
    Route,
    Session,
    access_rows,
    core_mac,
    core_row,
    group_rows,
    hop_row,
    line_rows,
    owner_row,
    route_row,
    session_meters,
    session_rows,
    traffic_row,
)

GROUPS = 1024
"""Multicast groups that the switch has room for"""
BURST_SECONDS = 0.05
LEAST_BURST = 3000
"""Bytes: a bucket must hold the longest packet (RFC 2698, section 3), here two"""


class ApiError(ValueError):
    """A call that cannot be done; the message says why, and what to do."""


def bandwidth(
    name: str, down: int | None = None, up: int | None = None, classes: tuple[int, ...] = ()
) -> Bandwidth:
    """A class with rates in bits per second; `classes` are those of the classes 0, 1, ... of
    traffic. Raises ApiError."""
    if len(classes) > 4 or any(rate <= 0 for rate in (*classes, down or 1, up or 1)):
        raise ApiError(f"class {name}: rates are above 0, and there are four classes of traffic.")
    rates = [_rate(rate) for rate in classes] + [None] * (4 - len(classes))
    return Bandwidth(name, _rate(down), _rate(up), tuple(rates))  # type: ignore[arg-type]


def _rate(bits: int | None) -> Rate | None:
    """One rate: what is peak is committed, too."""
    if bits is None:
        return None
    octets = max(1, bits // 8)
    burst = max(LEAST_BURST, int(octets * BURST_SECONDS))
    return Rate(octets, burst, octets, burst)


class Api:
    """See above."""

    def __init__(self) -> None:
        self.known = Known()
        self._changes: list[Update] = []
        self._places: dict[tuple[int, ...], int] = {}
        self._owners: dict[Net, int] = {}
        self._on_line: dict[int, int] = {}
        self._names: dict[tuple[int, int, int, int], int] = {}
        self._regrouped: dict[int, Entries] = {}
        self._watches: dict[int, set[int]] = {}
        self._free_groups = list(range(GROUPS, 0, -1))

    def take(self) -> list[Update]:
        """What the switch has to be told since the last call, in this order."""
        for group, before in self._regrouped.items():
            self._changes += diff(before, self._rows_of(group))
        self._regrouped.clear()
        changes, self._changes = self._changes, []
        return changes

    # ---- Ports

    def enable_access_port(self, access: Access) -> None:
        """Subscribers come in at a port, behind a label or (0) without."""
        self._check_interface(access.port, access.label)
        for route in self.known.routes.values():
            if (route.port, route.label0) == (access.port, access.label):
                raise ApiError(f"a route to {route.net} uses port {access.port}: delete it first.")
        self.known.access[access.port, access.label] = access
        self._insert(*access_rows(access))

    def disable_access_port(self, port: int, label: int) -> None:
        """Refused while there are lines."""
        access = self.known.access.get((port, label))
        if access is None:
            raise ApiError(f"port {port} has no subscribers behind label {label}.")
        for line in self.known.lines.values():
            if (line.port, line.label0) == (port, label):
                raise ApiError(f"line {line.number} is at port {port}: delete it first.")
        del self.known.access[port, label]
        self._delete(*access_rows(access))

    def enable_core_port(self, core: Core) -> None:
        """The core is at a port; its packets come with a label or (0) without."""
        self._check_interface(core.port, core.label)
        others = {mine.mac for mine in self.known.core.values() if mine.port == core.port}
        if others - {core.mac}:
            raise ApiError(f"port {core.port} has another MAC address for another label.")
        self.known.core[core.port, core.label] = core
        self._insert(core_row(core))

    def disable_core_port(self, port: int, label: int) -> None:
        """Refused while there are routes by it."""
        core = self.known.core.get((port, label))
        if core is None:
            raise ApiError(f"port {port} has no core behind label {label}.")
        for route in self.known.routes.values():
            if route.port == port:
                raise ApiError(f"a route to {route.net} uses port {port}: delete it first.")
        del self.known.core[port, label]
        self._delete(core_row(core))

    def _check_interface(self, port: int, label: int) -> None:
        if (port, label) in self.known.access or (port, label) in self.known.core:
            raise ApiError(f"port {port} has something behind label {label}: disable that first.")

    # ---- Lines

    def add_line(self, line: Line) -> None:
        """A line; its number and its place are its own."""
        if not 0 < line.number < SESSIONS:
            raise ApiError(f"line {line.number}: lines have numbers from 1 to {SESSIONS - 1}.")
        if line.number in self.known.lines:
            raise ApiError(f"line {line.number} is there: delete it first.")
        if line.place in self._places:
            raise ApiError(f"line {line.number} is where line {self._places[line.place]} is.")
        if (line.port, line.label0) not in self.known.access:
            raise ApiError(
                f"line {line.number}: port {line.port} has no subscribers behind label "
                f"{line.label0}; enable it first."
            )
        if line.label0 and line.inner_vid:
            raise ApiError(f"line {line.number} has labels, so its inner tag is the service's.")
        self.known.lines[line.number] = line
        self._places[line.place] = line.number
        self._insert(*line_rows(line))

    def delete_line(self, number: int) -> None:
        """Refused while it has sessions."""
        line = self._line(number)
        if self._on_line.get(number):
            raise ApiError(f"line {number} has sessions: delete them first.")
        del self.known.lines[number]
        del self._places[line.place]
        self._delete(*line_rows(line))

    def _line(self, number: int) -> Line:
        line = self.known.lines.get(number)
        if line is None:
            raise ApiError(f"there is no line {number}.")
        return line

    # ---- Sessions

    def add_session(self, session: Session) -> None:
        """A session on a line, with the addresses that it has from the start."""
        known = self.known
        line = self._line(session.line)
        if not 0 < session.index < SESSIONS or session.index in known.sessions:
            raise ApiError(f"session {session.index}: that number is not free.")
        name = session[1:5]
        if name in self._names:
            raise ApiError(f"session {self._names[name]} has the same line, tag, MAC and id.")
        self._check_class(session.bandwidth)
        for net in session.nets:
            self._check_net(net)
        known.sessions[session.index] = session
        self._names[name] = session.index
        self._on_line[session.line] = self._on_line.get(session.line, 0) + 1
        for net in session.nets:
            self._owners[net] = session.index
        self._insert(*session_rows(session, line), *self._meters(session))

    def delete_session(self, index: int) -> None:
        """A session with all its addresses."""
        session = self._session(index)
        for group in sorted(self._watches.get(index, ())):
            self.unwatch(index, group)
        del self.known.sessions[index]
        del self._names[session[1:5]]
        left = self._on_line.pop(session.line) - 1
        if left:
            self._on_line[session.line] = left
        for net in session.nets:
            del self._owners[net]
        line = self.known.lines[session.line]
        self._delete(*session_rows(session, line), *self._meters(session))

    def add_net(self, index: int, net: Net) -> None:
        """An address or a prefix for a session."""
        session = self._session(index)
        self._check_net(net)
        self._owners[net] = index
        self.known.sessions[index] = session._replace(nets=(*session.nets, net))
        self._insert(owner_row(net, index))

    def delete_net(self, index: int, net: Net) -> None:
        """Take an address or a prefix away."""
        session = self._session(index)
        if net not in session.nets:
            raise ApiError(f"session {index} does not have {net}.")
        del self._owners[net]
        left = tuple(one for one in session.nets if one != net)
        self.known.sessions[index] = session._replace(nets=left)
        self._delete(owner_row(net, index))

    def change_class(self, index: int, name: str) -> None:
        """Give a session another bandwidth; no other one notices."""
        session = self._session(index)
        self._check_class(name)
        changed = session._replace(bandwidth=name)
        self._changes += diff(set(self._meters(session)), set(self._meters(changed)))
        self.known.sessions[index] = changed

    def _session(self, index: int) -> Session:
        session = self.known.sessions.get(index)
        if session is None:
            raise ApiError(f"there is no session {index}.")
        return session

    def _check_net(self, net: Net) -> None:
        if net in self._owners:
            raise ApiError(f"session {self._owners[net]} has {net}.")
        bits = HOST_BITS.get(net.version, 0)
        if not 0 < net.length <= bits or net.address & (1 << bits - net.length) - 1:
            raise ApiError(f"{net} is not a prefix.")
        if net.version == 6 and net.length not in (LINK_BITS, DELEGATED_BITS):
            raise ApiError(f"{net}: subscribers have a /{LINK_BITS} or a /{DELEGATED_BITS}.")

    def owner(self, net: Net) -> int | None:
        """Which session has an address or prefix, if any."""
        return self._owners.get(net)

    # ---- Routes

    def add_route(self, route: Route) -> None:
        """A route of a service; an older one to the same prefix must be deleted first."""
        known = self.known
        if (route.service, route.net) in known.routes:
            raise ApiError(f"service {route.service} has a route to {route.net}: delete it first.")
        if route.port is not None:
            try:
                row = hop_row(route, core_mac(known, route.port))
            except ValueError as error:
                raise ApiError(str(error)) from None
            if (route.port, route.label0) in known.access:
                raise ApiError(f"port {route.port} has subscribers behind label {route.label0}.")
            peers = {other.peer for other in self._beside(route)}
            if peers - {route.peer}:
                raise ApiError(f"port {route.port}, label {route.label0} has another next hop.")
            if not peers:
                self._insert(row)
        known.routes[route.service, route.net] = route
        self._insert(route_row(route))

    def delete_route(self, service: int, net: Net) -> None:
        """Take a route away."""
        route = self.known.routes.pop((service, net), None)
        if route is None:
            raise ApiError(f"service {service} has no route to {net}.")
        self._delete(route_row(route))
        if route.port is not None and not self._beside(route):
            self._delete(hop_row(route, core_mac(self.known, route.port)))

    def _beside(self, route: Route) -> list[Route]:
        """The routes with the same port and first label."""
        place = (route.port, route.label0)
        return [
            other for other in self.known.routes.values() if (other.port, other.label0) == place
        ]

    # ---- Multicast

    def watch(self, index: int, group: int) -> None:
        """A session gets what is sent to a group, an IPv4 address as a number."""
        self._session(index)
        known = self.known
        if group not in known.watched and not self._free_groups:
            raise ApiError(f"the switch has room for {GROUPS} groups.")
        self._regroup(group)
        if group not in known.watched:
            known.watched[group], known.numbers[group] = set(), self._free_groups.pop()
        known.watched[group].add(index)
        self._watches.setdefault(index, set()).add(group)

    def unwatch(self, index: int, group: int) -> None:
        """It does not any more."""
        known = self.known
        if index not in known.watched.get(group, ()):
            raise ApiError(f"session {index} does not watch {IPv4Address(group)}.")
        self._regroup(group)
        known.watched[group].remove(index)
        self._watches[index].remove(group)
        if not known.watched[group]:
            del known.watched[group]
            self._free_groups.append(known.numbers.pop(group))
        if not self._watches[index]:
            del self._watches[index]

    def _regroup(self, group: int) -> None:
        """Before a group changes: what the switch holds of it until `take`."""
        if group not in self._regrouped:
            self._regrouped[group] = self._rows_of(group)

    def _rows_of(self, group: int) -> Entries:
        return frozenset(group_rows(self.known, group) if group in self.known.watched else ())

    # ---- Classes

    def add_class(self, wanted: Bandwidth) -> None:
        """A class of subscribers. One of the same name is changed, and its sessions with it."""
        if not wanted.name:
            raise ApiError("the class without a name is that without limits.")
        old = self.known.bandwidths.get(wanted.name, wanted)
        self.known.bandwidths[wanted.name] = wanted
        for index, session in self.known.sessions.items():
            if session.bandwidth == wanted.name:
                before, after = session_meters(index, old), session_meters(index, wanted)
                self._changes += diff(set(before), set(after))

    def delete_class(self, name: str) -> None:
        """Refused while sessions have it."""
        self._check_class(name)
        used = any(session.bandwidth == name for session in self.known.sessions.values())
        if used or not name:
            raise ApiError(f"class {name!r} is in use.")
        del self.known.bandwidths[name]

    def set_traffic(self, dscp: int, number: int, priority: int) -> None:
        """The class of traffic (0 to 3) and the priority (0 to 7) of a DSCP."""
        if not (0 <= dscp < 64 and 0 <= number < 4 and 0 <= priority < 8):
            raise ApiError("a DSCP is below 64, a class of traffic below 4, a priority below 8.")
        there = dscp in self.known.traffic
        self.known.traffic[dscp] = (number, priority)
        kind = "modify" if there else "insert"
        row = traffic_row(dscp, (number, priority))
        self._changes.append(Update(kind, row))  # type: ignore[arg-type]

    def _check_class(self, name: str) -> None:
        if name not in self.known.bandwidths:
            raise ApiError(f"there is no class {name!r}: add it first.")

    def _meters(self, session: Session) -> list[MeterCell]:
        return session_meters(session.index, self.known.bandwidths[session.bandwidth])

    def _insert(self, *rows: Entity) -> None:
        self._changes += [Update("insert", row) for row in rows]

    def _delete(self, *rows: Entity) -> None:
        self._changes += [Update("delete", row) for row in rows]
