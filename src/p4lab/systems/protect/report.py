"""What a run of 1+1 protection ends with: who got what, and what became of the copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from p4lab.model.report import DeliveryReport
from p4lab.model.run import Plan
from p4lab.systems.protect.counters import LATENT_ERROR, Collected, ConnectionCounts
from p4lab.systems.protect.entries import Placed
from p4lab.systems.protect.expected import Counted, counted, sent
from p4lab.systems.protect.placement import placements

if TYPE_CHECKING:
    from rich.console import RenderableType

EXPECTED_DROPS = {"duplicate"}
"""What every run gives up"""


@dataclass(frozen=True)
class PathRow:
    """One path of a connection: what the PTE counted, None if it counts nothing, and beside it what
    it would have in a network that loses nothing (expected.py)."""

    path: int
    routers: tuple[str, ...]
    counted: Counted | None
    reference: Counted


@dataclass(frozen=True)
class ConnectionRow:
    """One connection. `lost` are packets of which no copy was accepted; `latent_error` is that of
    IEEE 802.1CB, whose reference is 0 while both paths work."""

    name: str
    ingress: str
    egress: str
    cid: int
    sent: int | None
    sent_reference: int
    lost: int | None
    latent_error: int | None
    paths: tuple[PathRow, PathRow]

    @property
    def arrived(self) -> bool:
        """Whether any copy has come to the end of a tunnel."""
        return any(row.counted is not None and row.counted.received for row in self.paths)

    @property
    def alarm(self) -> bool:
        """Whether 802.1CB would raise an alarm: a path delivers much less than the other."""
        return self.latent_error is not None and abs(self.latent_error) > LATENT_ERROR


@dataclass(frozen=True)
class ProtectReport(DeliveryReport):
    """Deliveries as of any system, with the connections behind them, and what routers gave up, by
    router and reason."""

    protected: tuple[ConnectionRow, ...] = ()
    dropped: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()

    def to_json(self) -> dict[str, Any]:
        data = super().to_json()
        data["dropped"] = {router: dict(reasons) for router, reasons in self.dropped}
        for row, entry in zip(self.protected, data["protected"], strict=True):
            entry["alarm"] = row.alarm
        return data

    def render(self, limit: int = 40) -> RenderableType:
        from rich.console import Group  # heavy: rich
        from rich.text import Text

        lines = [Text(line) for line in (*_losses(self), *_alarms(self), *_given_up(self))]
        return Group(super().render(limit), _table(self), *lines)


def connection_rows(
    plan: Plan, connections: Mapping[str, ConnectionCounts]
) -> tuple[ConnectionRow, ...]:
    """What was counted, beside what should have been."""
    return tuple(
        _connection_row(plan, placed, connections[placed.connection.name])
        for placed in placements(plan)
    )


def _connection_row(plan: Plan, placed: Placed, counts: ConnectionCounts) -> ConnectionRow:
    connection = placed.connection
    seen = counts.paths or (None, None)
    rows = [
        PathRow(path, routers, seen[path - 1], reference)
        for path, (routers, reference) in enumerate(
            zip(placed.pair, counted(plan, placed), strict=True), 1
        )
    ]
    return ConnectionRow(
        connection.name,
        connection.ingress,
        connection.egress,
        connection.cid,
        counts.sent,
        sent(plan, placed),
        counts.lost,
        counts.latent_error,
        (rows[0], rows[1]),
    )


def protect_report(plan: Plan, base: DeliveryReport, collected: Collected) -> ProtectReport:
    """The deliveries of a run with what its switches counted."""
    own = {field.name: getattr(base, field.name) for field in fields(base)}
    dropped = tuple(
        (router, tuple(reasons.items())) for router, reasons in collected.dropped.items() if reasons
    )
    rows = connection_rows(plan, collected.connections)
    return ProtectReport(**own, protected=rows, dropped=dropped)


def _table(report: ProtectReport) -> RenderableType:
    from rich.table import Table

    table = Table(
        title="copies by connection and path",
        title_style="bold",
        caption="numbered: packets that were given a number, whether copies of them left or not\n"
        "reference: if nothing is lost but on links that are down",
    )
    table.add_column("path")
    names = [field.name for field in fields(Counted)]
    for name in ("numbered", *names):
        table.add_column(name, justify="right")
    for row in report.protected:
        table.add_row(f"{row.name} (CID {row.cid})", style="bold")
        for path in row.paths:
            seen = asdict(path.counted) if path.counted else {}
            counts = [_number(seen.get(name)) for name in names]
            table.add_row("-".join(path.routers), _number(row.sent), *counts)
            wanted = [str(number) for number in asdict(path.reference).values()]
            table.add_row("  reference", str(row.sent_reference), *wanted, style="dim")
        table.add_section()
    return table


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


def _losses(report: ProtectReport) -> list[str]:
    """Packets lost for receivers, beside what 1+1 protection promises."""
    lines = []
    known = [row for row in report.protected if row.lost is not None]
    lost = [f"{row.name} {row.lost}" for row in known if row.arrived]
    if idle := [row.name for row in known if not row.arrived and row.sent]:
        lines.append(f"No copy of {', '.join(idle)} has reached the end of a tunnel.")
    if lost:
        lines.append(f"Lost for good: {', '.join(lost)}. A packet is lost if both its copies are.")
        if report.settings["accept"] == "highest":
            lines.append(
                "The rule of the highest number also loses what only the faster path has lost."
            )
    return lines


def _alarms(report: ProtectReport) -> list[str]:
    found = [f"{row.name} {row.latent_error}" for row in report.protected if row.alarm]
    known = [row for row in report.protected if row.latent_error is not None]
    if not known:
        return []
    if not found:
        worst = max(abs(row.latent_error or 0) for row in known)
        return [f"Latent error: at most {worst}; IEEE 802.1CB raises an alarm at {LATENT_ERROR}."]
    return [
        f"Latent error: {', '.join(found)}, beyond the {LATENT_ERROR} at which IEEE 802.1CB raises "
        "an alarm: packets come by one path only, and the next failure would be felt."
    ]


def _given_up(report: ProtectReport) -> list[str]:
    """Packets that routers dropped, apart from duplicates."""
    parts = []
    for router, reasons in report.dropped:
        told = [f"{reason} {count}" for reason, count in reasons if reason not in EXPECTED_DROPS]
        if told:
            parts.append(f"{router}: {', '.join(told)}")
    return [f"Given up by {'; '.join(parts)}."] if parts else []
