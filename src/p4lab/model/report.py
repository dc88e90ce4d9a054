"""What a run did, next to what it should have done, as data, as a table and as a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Protocol

from p4lab.model.run import Observed, Plan, Received
from p4lab.plurals import count_of

if TYPE_CHECKING:
    from rich.console import RenderableType


class Report(Protocol):
    """The outcome of a run."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What is not as it should be, a sentence each."""

    @property
    def ok(self) -> bool:
        """Whether the run did what it should."""

    def with_problems(self, *first: str) -> Report:
        """The same with problems in front of its own."""

    def to_json(self) -> dict[str, Any]:
        """The report as plain data, with `ok` and `problems`."""

    def render(self, limit: int = 40) -> RenderableType:
        """The report for a terminal; long tables are cut to `limit` rows and say so."""


@dataclass(frozen=True)
class HostRow:
    """One host and one stream. `missing` and `unwanted` are packets; a host that did not
    subscribe should have got nothing."""

    host: str
    destination: str
    subscribed: bool
    sent: int
    received: int
    duplicates: int
    missing: int
    unwanted: int
    unserved: str = ""
    """Why a subscriber may get nothing while links are down"""
    source: str = ""
    """Who sent the stream"""

    @property
    def ok(self) -> bool:
        return not (self.duplicates or self.missing or self.unwanted)


@dataclass(frozen=True)
class LinkRow:
    """Copies on one directed link, and how many an ideal multicast tree would have needed; None
    where links are down, since there is no ideal for ways around them."""

    source: str
    target: str
    copies: int
    ideal: int | None

    @property
    def ok(self) -> bool:
        return self.ideal is None or self.copies <= self.ideal


@dataclass(frozen=True)
class CounterRow:
    """Frames and bytes that a router's switch says it has sent to a neighbour, control packets
    among them; to itself is what had to pass once more."""

    router: str
    neighbour: str
    port: int
    packets: int
    bytes: int


@dataclass(frozen=True)
class DeliveryReport:
    """The outcome of a run whose point is who got what. `ok`: every receiver got every packet
    exactly once, nobody else got any, all packets were sent, and no link carried more copies than
    it has to."""

    lab: str
    topology: str
    network: str
    settings: Mapping[str, Any]
    seed: int
    hosts: tuple[HostRow, ...]
    links: tuple[LinkRow, ...]
    problems: tuple[str, ...]
    target: str = "engine"
    notes: tuple[str, ...] = ()
    down: tuple[str, ...] = ()
    """Links that failed without the control plane's knowledge"""
    counters: tuple[CounterRow, ...] = ()
    """Read from the switches at the end"""

    @property
    def ok(self) -> bool:
        return not self.problems

    def with_problems(self, *first: str) -> DeliveryReport:
        return replace(self, problems=(*first, *self.problems))

    def to_json(self) -> dict[str, Any]:
        """The report as plain data: the keys of the dataclasses, `ok`, and what was set."""
        data = asdict(self)
        data["ok"] = self.ok
        parts: dict[str, Sequence[HostRow | LinkRow]] = {"hosts": self.hosts, "links": self.links}
        for name, rows in parts.items():
            for row, entry in zip(rows, data[name], strict=True):
                entry["ok"] = row.ok
        return {**data.pop("settings"), **data}

    def render(self, limit: int = 40) -> RenderableType:
        """Hosts, links, verdict. Tables longer than `limit` rows show the rows with problems first
        and say how many they leave out."""
        return _render(self, limit)


def deliveries(
    plan: Plan,
    network: str,
    observed: Observed,
    target: str = "engine",
    *,
    counters: tuple[CounterRow, ...] = (),
    ideal: Mapping[tuple[str, str], int] | None = None,
    excused: Mapping[tuple[str, int], str] | None = None,
) -> DeliveryReport:
    """Compares what was observed with the plan. `ideal` are the copies that links have to carry,
    `excused` why receivers, by host and flow, need not get anything."""
    problems = [
        f"only {observed.sent.get(stream.flow, 0)} of {stream.packets} packets to "
        f"{stream.destination} were sent"
        for stream in plan.streams
        if observed.sent.get(stream.flow, 0) != stream.packets
    ]
    hosts = tuple(_host_rows(plan, observed, excused or {}))
    links = tuple(_link_rows(plan, observed, ideal))
    problems += [_host_problem(row) for row in hosts if not row.ok]
    problems += [
        f"{row.source} to {row.target} carried {count_of(row.copies, 'copy', 'copies')}, "
        f"an ideal tree {row.ideal}"
        for row in links
        if not row.ok
    ]
    return DeliveryReport(
        plan.lab,
        plan.topology.name,
        network,
        plan.settings.model_dump(),
        plan.seed,
        hosts,
        links,
        tuple(problems),
        target,
        observed.notes,
        tuple(f"{link.a}-{link.b}" for link in plan.down),
        counters,
    )


def _host_rows(
    plan: Plan, observed: Observed, excused: Mapping[tuple[str, int], str]
) -> list[HostRow]:
    rows = []
    for stream in plan.streams:
        receivers = {host.name for host in stream.receivers}
        for host in plan.topology.hosts:
            if host.name == stream.source.name:
                continue
            got = observed.received.get((host.name, stream.flow), Received(0, 0))
            wanted = stream.packets if host.name in receivers else 0
            excuse = excused.get((host.name, stream.flow), "")
            rows.append(
                HostRow(
                    host=host.name,
                    destination=str(stream.destination),
                    subscribed=host.name in receivers,
                    sent=observed.sent.get(stream.flow, 0),
                    received=got.unique,
                    duplicates=got.duplicates,
                    missing=0 if excuse else max(0, wanted - got.unique),
                    unwanted=max(0, got.unique - wanted),
                    unserved=excuse,
                    source=stream.source.name,
                )
            )
    return rows


def _link_rows(
    plan: Plan, observed: Observed, ideal: Mapping[tuple[str, str], int] | None
) -> list[LinkRow]:
    least = ideal or {}
    used = [
        link for link in {*least, *observed.copies} if least.get(link) or observed.copies.get(link)
    ]
    order = {node: i for i, node in enumerate(_nodes(plan))}
    used.sort(key=lambda link: (order.get(link[0], 0), order.get(link[1], 0)))
    return [
        LinkRow(
            source,
            target,
            observed.copies.get((source, target), 0),
            None if plan.down or ideal is None else least.get((source, target), 0),
        )
        for source, target in used
    ]


def _nodes(plan: Plan) -> list[str]:
    hosts, routers = plan.topology.hosts, plan.topology.routers
    return [*(host.name for host in hosts), *(router.name for router in routers)]


def _host_problem(row: HostRow) -> str:
    parts = []
    if row.missing:
        sent = max(row.sent, row.missing)  # what was to be sent, where its source could not
        parts.append(f"misses {row.missing} of {sent} packets")
    if row.duplicates:
        parts.append(f"got {row.duplicates} duplicates")
    if row.unwanted:
        lacks = "without a subscription" if _is_group(row) else "that were not for it"
        parts.append(f"got {count_of(row.unwanted, 'packet')} {lacks}")
    return f"{row.host} {' and '.join(parts)} of {row.destination}"


def _is_group(row: HostRow) -> bool:
    return ip_address(row.destination).is_multicast


def _groups(report: DeliveryReport) -> bool:
    """Whether groups are among the destinations."""
    return any(_is_group(row) for row in report.hosts)


def _only_groups(report: DeliveryReport) -> bool:
    """Whether all destinations are groups."""
    return bool(report.hosts) and all(_is_group(row) for row in report.hosts)


def _asked(report: DeliveryReport) -> str:
    """What routers ask hosts about, and by which protocol."""
    versions = {ip_address(row.destination).version for row in report.hosts if _is_group(row)}
    protocols = {4: "IGMP", 6: "MLD"}
    return f"groups ({', '.join(protocols[version] for version in sorted(versions))})."


def _render(report: DeliveryReport, limit: int) -> RenderableType:
    from rich.console import Group  # heavy: rich
    from rich.text import Text

    most = ", on no more copies than needed" if any(row.ideal for row in report.links) else ""
    most = ", around what is down" if report.down else most
    who = "subscribers" if _only_groups(report) else "receivers"
    who = f"All other {who}" if _spared(report) else f"All {who}"
    verdict = (
        Text(f"{who} got every packet exactly once{most}.", "green")
        if report.ok
        else Text("\n".join(report.problems[:limit]), "red")
    )
    notes = [Text(f"Note: {note}") for note in report.notes]
    if report.down:
        told = "and the control plane was not notified."
        notes.append(Text(f"Note: {', '.join(report.down)} failed before the streams, {told}"))
    notes += [Text(f"Note: {line}") for line in _spared(report)]
    routers = {row.router for row in report.counters}
    if _groups(report) and any(row.neighbour not in routers for row in report.counters):
        notes.append(Text(f"Towards hosts a switch also counts its queries about {_asked(report)}"))
    if passes := _passes(report):
        notes.append(Text(passes))
    return Group(_host_table(report, limit), _link_table(report, limit), *notes, verdict)


def _spared(report: DeliveryReport) -> list[str]:
    """Who need not be served, and why."""
    words = {
        "cut off": "no way is left to",
        "unprepared": "no way that was prepared leads to",
    }
    lines = []
    for reason, text in words.items():
        hosts = [
            f"{row.host} ({row.destination})" for row in report.hosts if row.unserved == reason
        ]
        if hosts:
            more = f" and {len(hosts) - 12} more" if len(hosts) > 12 else ""
            lines.append(f"{text} {', '.join(hosts[:12])}{more}.")
    return lines


def _host_table(report: DeliveryReport, limit: int) -> RenderableType:
    from rich.table import Table

    where = report.network if report.target == "engine" else f"{report.network}, {report.target}"
    table = Table(title=f"{report.lab} on {report.topology} ({where})", title_style="bold")
    groups = _only_groups(report)
    # Elsewhere the destination alone names a stream.
    streams = {(row.source, row.destination) for row in report.hosts}
    several = len(streams) > len({destination for _, destination in streams})
    if several:
        table.add_column("from", no_wrap=True)
    table.add_column("group" if groups else "to", no_wrap=True)
    table.add_column("host")
    table.add_column("joined" if groups else "receiver")
    for name in ("sent", "received", "twice", "missing", "unwanted"):
        table.add_column(name, justify="right")
    rows = _shown(report.hosts, limit)
    for row in rows:
        table.add_row(
            *([row.source] if several else []),
            row.destination,
            row.host,
            "yes" if row.subscribed else "no",
            str(row.sent),
            _count(row.received),
            _count(row.duplicates),
            _count(row.missing),
            _count(row.unwanted),
            style=None if row.ok else "red",
        )
    _leave_out(table, len(report.hosts) - len(rows))
    return table


def _link_table(report: DeliveryReport, limit: int) -> RenderableType:
    from rich.table import Table

    ideals = any(row.ideal is not None for row in report.links)
    ideals = ideals or (bool(report.down) and _groups(report))
    table = Table(title="copies on each link", title_style="bold")
    table.add_column("link")
    table.add_column("copies", justify="right")
    if ideals:
        table.add_column("ideal tree", justify="right")
    counted = {(row.router, row.neighbour): str(row.packets) for row in report.counters}
    if counted:
        table.add_column("the switch counted", justify="right")
    rows = _shown(report.links, limit)
    for row in rows:
        style = None if row.ok else "red"
        ideal = "-" if row.ideal is None else str(row.ideal)
        cells = [f"{row.source} → {row.target}", str(row.copies), *([ideal] if ideals else [])]
        if counted:
            cells.append(counted.get((row.source, row.target), "-"))
        table.add_row(*cells, style=style)
    _leave_out(table, len(report.links) - len(rows))
    return table


def _passes(report: DeliveryReport) -> str:
    """How often packets went around, by the switches' own counters; empty if they never did."""
    again = [row for row in report.counters if row.neighbour == row.router and row.packets]
    shown = ", ".join(f"{row.router} {row.packets}" for row in again[:10])
    more = f" and {len(again) - 10} more" if len(again) > 10 else ""
    return f"Packets that passed once more through a switch: {shown}{more}." if again else ""


def _shown(rows: tuple[Any, ...], limit: int) -> list[Any]:
    """All rows, or if they are too many the first `limit` with those that have problems first."""
    if len(rows) <= limit:
        return list(rows)
    return sorted(rows, key=lambda row: row.ok)[:limit]


def _leave_out(table: Any, count: int) -> None:
    if count > 0:
        table.caption = f"and {count_of(count, 'more row')} without problems (all with --json)"


def _count(number: int) -> str:
    return str(number) if number else "-"
