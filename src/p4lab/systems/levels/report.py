"""What came of a run of a level: who got how much, beside what they should get."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from p4lab.model.run import Observed, Plan, Received, Stream
from p4lab.plurals import count_of
from p4lab.systems.levels.scenes import Scene, Sends

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class Row:
    """One host and the packets of one stream, which are described in `what`."""

    source: str
    what: str
    host: str
    sent: int
    wanted: int
    got: int
    twice: int

    @property
    def ok(self) -> bool:
        return self.got == self.wanted and not self.twice

    @property
    def problem(self) -> str:
        """What is wrong, as a sentence without its full stop."""
        packets = f"{self.what} from {self.source}"
        if self.twice:
            return f"{self.host} got {self.twice} of the packets {packets} more than once"
        got = f"{self.got}" if self.got else "none"
        wanted = f"{self.wanted}" if self.wanted else "none"
        return f"{self.host} got {got} of {self.sent} packets {packets}, and should get {wanted}"


@dataclass(frozen=True)
class CellRow:
    """What a cell of a level's counter holds, in packets."""

    counter: str
    index: int
    wanted: int
    got: int

    @property
    def ok(self) -> bool:
        return self.got == self.wanted

    @property
    def problem(self) -> str:
        cell = f"{self.counter}[{self.index}]"
        got = count_of(self.got, "packet")
        return f"{cell} has counted {got}, and should have counted {self.wanted}"


@dataclass(frozen=True)
class LevelReport:
    """The outcome of a run of a level. `ok`: every host got what it should, and nobody else got
    anything."""

    lab: str
    level: int
    title: str
    topology: str
    network: str
    target: str
    seed: int
    rows: tuple[Row, ...]
    cells: tuple[CellRow, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems

    def with_problems(self, *first: str) -> LevelReport:
        return replace(self, problems=(*first, *self.problems))

    def to_json(self) -> dict[str, Any]:
        """The report as plain data, with `ok` of all and of every row."""
        data = asdict(self)
        for name, rows in (("rows", self.rows), ("cells", self.cells)):
            data[name] = [{**asdict(row), "ok": row.ok} for row in rows]
        return {**data, "ok": self.ok}

    def render(self, limit: int = 40) -> RenderableType:
        """The hosts that got something or should, and the verdict."""
        from rich.console import Group  # heavy: rich
        from rich.table import Table
        from rich.text import Text

        where = self.network if self.target == "engine" else f"{self.network}, {self.target}"
        title = f"{self.lab}, level {self.level}: {self.title} ({where})"
        table = Table(title=title, title_style="bold", title_justify="left")
        for name in ("from", "packets"):
            table.add_column(name)
        table.add_column("sent", justify="right")
        table.add_column("at")
        for name in ("should get", "got"):
            table.add_column(name, justify="right")
        shown = self.rows[:limit]
        for row in shown:
            numbers = (str(row.sent), row.host, str(row.wanted), str(row.got))
            table.add_row(row.source, row.what, *numbers, style=None if row.ok else "red")
        cells = [
            Text(
                f"{row.counter}[{row.index}]: {count_of(row.got, 'packet')}",
                "" if row.ok else "red",
            )
            for row in self.cells[:limit]
        ]
        notes = [Text(f"Note: {note}") for note in self.notes]
        verdict = (
            Text("Everyone got what they should.", "green")
            if self.ok
            else Text("\n".join(f"{problem}." for problem in self.problems[:limit]), "red")
        )
        return Group(table, *cells, *notes, verdict)


def report_of(
    plan: Plan,
    scene: Scene,
    network: str,
    target: str,
    observed: Observed,
    counted: Mapping[int, int],
) -> LevelReport:
    """What was observed in a run of a scene; `counted` are packets by cell of its counter."""
    rows = tuple(_rows(plan, scene, observed))
    cells = tuple(
        CellRow(scene.counter, index, _arriving(plan, index), got) for index, got in counted.items()
    )
    unsent = [
        f"only {observed.sent.get(stream.flow, 0)} of {stream.packets} packets were sent"
        for stream in plan.streams
        if observed.sent.get(stream.flow, 0) != stream.packets
    ]
    judged: tuple[Row | CellRow, ...] = (*rows, *cells)
    wrong = [one.problem for one in judged if not one.ok]
    return LevelReport(
        plan.lab,
        plan.settings.level,
        scene.title,
        plan.topology.name,
        network,
        target,
        plan.seed,
        rows,
        cells,
        (*unsent, *wrong),
        observed.notes,
    )


def _rows(plan: Plan, scene: Scene, observed: Observed) -> Iterator[Row]:
    """Of every stream the hosts that should get some of it, and those that got some."""
    for stream, sends in zip(plan.streams, scene.sends, strict=True):
        told = 0
        for place, host in enumerate(plan.topology.hosts, 1):
            seen = observed.received.get((host.name, stream.flow), Received(0, 0))
            wanted = sends.wanted(place, stream.packets)
            if wanted or seen.unique:
                told += 1
                yield _row(stream, sends, host.name, wanted, seen)
        if not told:
            yield _row(stream, sends, "nobody", 0, Received(0, 0))


def _row(stream: Stream, sends: Sends, host: str, wanted: int, seen: Received) -> Row:
    what = f"to {stream.destination}"
    if sends.ttl != Sends.ttl:
        what += f", TTL {sends.ttl}"
    if sends.vlan is not None:
        what += f", VLAN {sends.vlan}"
    source, sent = stream.source.name, stream.packets
    return Row(source, what, host, sent, wanted, seen.unique, seen.duplicates)


def _arriving(plan: Plan, port: int) -> int:
    """Packets that come in by a port."""
    return sum(stream.packets for stream in plan.streams if stream.source.port == port)
