"""What a run of the gateway ends with: who got what, who is online, and what each session used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

from p4lab.model.control import Count, CountingDriver
from p4lab.model.entries import Entries, Exact, TableEntry
from p4lab.model.report import DeliveryReport
from p4lab.model.run import Plan
from p4lab.model.system import DriverOf
from p4lab.plurals import count_of
from p4lab.systems.bng.lines import Subscription, subscriptions
from p4lab.systems.bng.notation import DROPPED, IN_WORDS, TO_CONTROL_PLANE
from p4lab.systems.bng.ppp.automaton import State

if TYPE_CHECKING:
    from rich.console import RenderableType

COUNTERS = {
    "up": "upstream_sent",
    "down": "downstream_sent",
    "multicast": "multicast_sent",
    "policed": "policed",
}
"""What is said of a session, and which counter of p4/bng/count.p4 says it"""


@dataclass(frozen=True)
class SubscriberRow:
    """One subscriber. `session` is the number that stands in its packets (PPPoE), `index` that of
    its counters; both and the address are None while it is not online. Counts are packets and
    bytes of frames as they came in, None where the program does not count them."""

    name: str
    line: int
    session: int | None = None
    index: int | None = None
    address: str | None = None
    up: Count | None = None
    down: Count | None = None
    multicast: Count | None = None
    policed: Count | None = None

    @property
    def online(self) -> bool:
        """Whether the switch has its session."""
        return self.session is not None


@dataclass(frozen=True)
class Collected:
    """What a report reads from the switch. Packets are by reason: dropped, and `heard` by the
    control plane."""

    subscribers: tuple[SubscriberRow, ...]
    dropped: Mapping[str, int]
    heard: Mapping[str, int]


@dataclass(frozen=True)
class GatewayReport(DeliveryReport):
    """Deliveries as of any system, with the sessions behind them."""

    subscribers: tuple[SubscriberRow, ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()
    heard: tuple[tuple[str, int], ...] = ()

    def to_json(self) -> dict[str, Any]:
        data = super().to_json()
        for row, entry in zip(self.subscribers, data["subscribers"], strict=True):
            entry["online"] = row.online
            for name in COUNTERS:
                count = getattr(row, name)
                entry[name] = None if count is None else count._asdict()
        data["dropped"], data["heard"] = dict(self.dropped), dict(self.heard)
        return data

    def render(self, limit: int = 40) -> RenderableType:
        from rich.console import Group  # heavy: rich
        from rich.text import Text

        lines = [Text(line) for line in told(self)]
        return Group(super().render(limit), _table(self, limit), *lines)


def collect(plan: Plan, drivers: DriverOf) -> Collected:
    """Reads sessions and counters of the gateway."""
    (router,) = plan.topology.routers
    driver = drivers(router.name)
    rows = (_row(one, driver) for one in subscriptions(plan.topology, plan.settings))
    dropped = _reasons(driver, ("dropped", "dropped_copies"), DROPPED)
    return Collected(tuple(rows), dropped, _reasons(driver, ("punted",), TO_CONTROL_PLANE))


def _row(one: Subscription, driver: Any) -> SubscriberRow:
    found = _session(one, driver.entries())
    if found is None:
        return SubscriberRow(one.host.name, one.number)
    session, index, address = found
    counts = {name: _count(driver, counter, index) for name, counter in COUNTERS.items()}
    return SubscriberRow(one.host.name, one.number, session, index, address, **counts)


def _session(one: Subscription, rows: Entries) -> tuple[int, int, str | None] | None:
    """Session id, index and address of a subscriber, by the rows of the switch."""
    for row in rows:
        if isinstance(row, TableEntry) and row.table == "sessions":
            key = {name: match.value for name, match in row.match if isinstance(match, Exact)}
            if (key["line"], key["mac"]) == (one.number, one.host.mac):
                index = dict(row.params)["session"]
                return key["session_id"], index, _address(index, rows)
    return None


def _address(index: int, rows: Entries) -> str | None:
    for row in rows:
        if not isinstance(row, TableEntry) or row.table != "ipv4_hosts":
            continue
        if dict(row.params)["session"] == index:
            ((_, match),) = row.match
            return str(IPv4Address(match.value)) if isinstance(match, Exact) else None
    return None


def _count(driver: Any, counter: str, cell: int) -> Count | None:
    """What a cell holds; None where a program has no such counter."""
    if not isinstance(driver, CountingDriver):
        return None
    try:
        return driver.counters(counter, (cell,))[cell]
    except ValueError:  # programs of one's own need not count
        return None


def _reasons(driver: Any, counters: Sequence[str], reasons: Mapping[int, str]) -> dict[str, int]:
    """Packets by reason, without those that did not occur."""
    found: dict[str, int] = {}
    for counter in counters:
        for cell, name in reasons.items():
            count = _count(driver, counter, cell)
            if count is not None and count.packets:
                found[name] = found.get(name, 0) + count.packets
    return found


def gateway_report(plan: Plan, base: DeliveryReport, collected: Collected) -> GatewayReport:
    """The deliveries of a run with what the gateway counted."""
    own = {field.name: getattr(base, field.name) for field in fields(base)}
    offline = tuple(row.name for row in collected.subscribers if not row.online)
    if offline:
        verb = "is" if len(offline) == 1 else "are"
        own["problems"] = (f"{_listed(offline)} {verb} not online", *own["problems"])
    dropped, heard = tuple(collected.dropped.items()), tuple(collected.heard.items())
    return GatewayReport(**own, subscribers=collected.subscribers, dropped=dropped, heard=heard)


def told(report: GatewayReport) -> Iterator[str]:
    """What the table of subscribers does not say."""
    for begins, found in (
        ("The gateway dropped", report.dropped),
        ("The control plane heard", report.heard),
    ):
        if found:
            yield f"{begins}:"
            for reason, count in found:
                yield f"  {count_of(count, 'packet')}: {IN_WORDS[reason]}"


def _table(report: GatewayReport, limit: int) -> RenderableType:
    from rich.table import Table

    table = Table(
        title="subscribers", title_style="bold", caption="packets / bytes, counted as they came in"
    )
    for name in ("subscriber", "line", "address", "session"):
        table.add_column(name)
    for name in COUNTERS:
        table.add_column(name, justify="right")
    for row in report.subscribers[:limit]:
        place = (row.address or "-", str(row.session)) if row.online else ("not online", "-")
        counts = [_said(getattr(row, name)) for name in COUNTERS] if row.online else []
        table.add_row(row.name, str(row.line), *place, *counts, style=None if row.online else "red")
    left_out = len(report.subscribers) - limit
    if left_out > 0:
        table.caption = (
            f"{table.caption}; and {count_of(left_out, 'more subscriber')} (all with --json)"
        )
    return table


def _said(count: Count | None) -> str:
    if count is None:
        return "?"
    return f"{count.packets} / {count.bytes}" if count.packets else "-"


# ---- Why somebody is not online


def missing(plane: Any) -> str:
    """Who is not online, and how far each has come: a sentence without its full stop, empty if
    there is no one."""
    online = plane.online
    waiting = [one for one in plane.subscriptions if one.host.name not in online]
    if not waiting:
        return ""
    names: dict[str, list[str]] = {}
    for one in waiting:
        names.setdefault(_far(plane, one), []).append(one.host.name)
    return "; ".join(f"{_listed(who)} never came online: {far}" for far, who in names.items())


def _far(plane: Any, one: Subscription) -> str:
    """How far a subscriber has come, by the states of the gateway's end of its link."""
    sessions = plane.gateway.concentrator.sessions.values()
    own = next((each for each in sessions if each.line[0] == one.number), None)
    if own is None:
        known = {line[0] for line in plane.gateway.concentrator.heard}
        return "no PADR was granted" if one.number in known else "the gateway heard no PADI"
    link = own.link.link
    if link.lcp.state != State.OPENED:
        return f"LCP is in the state {state_name(link.lcp.state)}"
    if not link.network:
        return "LCP is open, authentication is not done"
    if link.ipcp is not None and link.ipcp.state != State.OPENED:
        return f"IPCP is in the state {state_name(link.ipcp.state)}"
    return "IPv4 is open, its rows are not written"


def state_name(state: int) -> str:
    """A state as RFC 1661 writes it: Req-Sent, Opened."""
    return "-".join(part.capitalize() for part in State(state).name.split("_"))


def _listed(names: Any) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else str(last)
