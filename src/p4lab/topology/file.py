"""From a TOML file to a checked Topology, with one sentence and a line per mistake.

    name = "two"
    description = "Two routers, a host each"
    router = [ { number = 1 }, { number = 2, name = "r2", bfr_id = 2 } ]
    host = [ { name = "h1", router = "r1" }, { name = "h2", router = "r2", number = 1 } ]
    link = [ { a = "r1", b = "r2", rate = "100 Mbit/s", delay = "1 ms", cost = 1 } ]

A link may also have `jitter = "1 ms"` and `loss = 0.01`. `[[router]]` tables say the same. Every
host has its access link without being told; a `link` between a host and its router gives that link
a port or properties. Ports not given are assigned from 1: hosts first, then links, each in the
order of the file.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, StrictInt

from p4lab.paths import ROOT
from p4lab.topology.model import MAX_HOST_NUMBER, MAX_PORT, Host, Link, Router, Topology, reached
from p4lab.topology.tomls import (
    FileError,
    Problem,
    Source,
    Strict,
    fill,
    parse_data,
    read_bytes,
    shown,
)
from p4lab.topology.units import delay_nanoseconds, loss_fraction, rate_bits_per_second

# Linux allows 15 characters for an interface; "-eth255" takes seven of them, less one to spare.
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=8)]
Number16 = Annotated[StrictInt, Field(ge=1, le=0xFFFF)]
Port = Annotated[StrictInt, Field(ge=1, le=MAX_PORT)]


class RouterRow(Strict):
    """A router. Further keys are numbers that systems know it by; without one it is `number`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Number16]
    number: Number16
    name: Name | None = None


class HostRow(Strict):
    name: Name
    router: str
    number: Annotated[StrictInt, Field(ge=1, le=MAX_HOST_NUMBER)] | None = None


class LinkRow(Strict):
    a: str
    b: str
    a_port: Port | None = None
    b_port: Port | None = None
    rate: Annotated[int, BeforeValidator(rate_bits_per_second)] | None = None
    delay: Annotated[int, BeforeValidator(delay_nanoseconds)] = 0
    jitter: Annotated[int, BeforeValidator(delay_nanoseconds)] = 0
    loss: Annotated[float, BeforeValidator(loss_fraction)] = 0.0
    cost: Annotated[StrictInt, Field(ge=1, le=0xFFFFFF)] = 1


class TopologyFile(Strict):
    """The schema of a topology file. `host.number` defaults to the next free on its router."""

    name: Annotated[str, Field(min_length=1, max_length=40)]
    description: str
    router: Annotated[list[RouterRow], Field(min_length=1)]
    host: tuple[HostRow, ...] = ()
    link: tuple[LinkRow, ...] = ()


class TopologyError(FileError):
    """A topology that cannot be used. `problems` has every mistake found, in file order; `network`
    what the file has of routers, if only its rows contradict each other."""

    def __init__(self, problems: Sequence[Problem], network: Topology | None = None) -> None:
        super().__init__(problems)
        self.network = network


def names() -> tuple[str, ...]:
    """The names of the lab's own topologies, sorted."""
    return tuple(sorted(path.stem for path in _library().glob("*.toml")))


def load(path_or_name: str | Path) -> Topology:
    """See Topology.load."""
    path = Path(path_or_name)
    if path.suffix != ".toml" and len(path.parts) == 1:
        path = _library() / f"{path.name}.toml"
        if path.stem not in names():
            raise TopologyError([_no_topology(str(path_or_name))])
    try:
        raw = read_bytes(path)
    except FileError as error:
        if isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError)):
            raise TopologyError([_no_topology(str(path_or_name))]) from error
        raise TopologyError(error.problems) from error
    return parse(raw, shown(path))


def _no_topology(name: str) -> Problem:
    close = difflib.get_close_matches(Path(name).stem, names(), n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    known = ", ".join(names())
    told = f"there is no topology {name!r}: give a .toml file or one of {known}{hint}"
    return Problem(name, 0, told)


def parse(raw: bytes, file: str) -> Topology:
    """A topology from the bytes of a TOML file; `file` names it in errors.

    Raises TopologyError.
    """
    try:
        data, source = parse_data(raw, file)
    except FileError as error:
        raise TopologyError(error.problems) from error
    return build(data, source)


def build(data: dict[str, Any], source: Source) -> Topology:
    """Check plain data and give every node its numbers and ports. Raises TopologyError."""
    try:
        parsed = fill(TopologyFile, data, source, _words)
    except FileError as error:
        raise TopologyError(error.problems) from error
    return _Builder(parsed, source).topology()


def _library() -> Path:
    return ROOT / "topologies"


def _words(error: Any, what: str, value: str) -> str:
    """What only a topology says of an error of pydantic's."""
    place, kind = error["loc"], error["type"]
    if kind in ("string_pattern_mismatch", "string_too_long", "string_too_short"):
        if len(place) == 1:
            return f"{what} must have 1 to 40 characters"
        return (
            f"{what} is {value}, but the name of a node has 1 to 8 letters, digits or _ "
            "and starts with a letter"
        )
    if kind == "too_short":
        return f"{what} is empty: a topology needs at least one"
    expected = dict.fromkeys(("list_type", "tuple_type"), "an array of tables")
    expected["string_type"] = "text in quotes"
    if kind in (*expected, "model_type"):
        return f"{what} must be {expected.get(kind, 'a table of keys and values')}"
    return ""


@dataclass
class _Builder:
    """The checks that look at more than one row, and the numbers nobody wrote down."""

    file: TopologyFile
    source: Source
    problems: list[Problem] = field(default_factory=list)

    def topology(self) -> Topology:
        routers = self.routers()
        by_name = {router.name: router for router in routers}
        numbers = self.host_numbers(by_name)
        rows = self.link_rows(by_name)
        links = () if self.problems else self.cabled(rows)
        if self.problems:
            read = Topology(self.file.name, self.file.description, routers, (), ())
            raise TopologyError(self.problems, read)
        ports = {link.b: link.a_port for link in links}
        hosts = tuple(
            Host(row.name, numbers[i], row.router, by_name[row.router].number, ports[row.name])
            for i, row in enumerate(self.file.host)
        )
        return Topology(
            self.file.name,
            self.file.description,
            routers,
            hosts,
            links,
            tuple(_unreachable(self.source.file, routers, links)),
        )

    def wrong(self, place: tuple[str | int, ...], text: str) -> None:
        self.problems.append(self.source.problem(place, text))

    def routers(self) -> tuple[Router, ...]:
        routers: list[Router] = []
        seen: dict[tuple[str, object], Router] = {}
        kinds = sorted({key for row in self.file.router for key in row.model_extra or {}})
        for i, row in enumerate(self.file.router):
            numbers = tuple(sorted((row.model_extra or {}).items()))
            router = Router(row.number, row.name or f"r{row.number}", numbers)
            routers.append(router)
            for key in ("number", "name", *kinds):
                value = router.own(key) if key in kinds else getattr(router, key)
                other = seen.setdefault((key, value), router)
                if other is not router:
                    self.wrong(("router", i, key), _clash(key, value, router, other))
                    break  # what is derived from the number clashes too, which nobody wants to read
        return tuple(routers)

    def host_numbers(self, routers: dict[str, Router]) -> list[int]:
        """The number of every host, given or the next free one on its router."""
        taken: dict[tuple[str, int], str] = {}
        names = set(routers)
        for i, row in enumerate(self.file.host):
            if row.name in names:
                self.wrong(("host", i, "name"), f"the name {row.name!r} is used twice: rename one")
            names.add(row.name)
            if row.router not in routers:
                self.unknown(("host", i, "router"), row.router, list(routers), "router")
            if row.number is not None:
                other = taken.setdefault((row.router, row.number), row.name)
                if other != row.name:
                    self.wrong(
                        ("host", i, "number"),
                        f"hosts {other} and {row.name} both have number {row.number} on "
                        f"{row.router}: give one another number",
                    )
        numbers = []
        for i, row in enumerate(self.file.host):
            number = row.number or next(n for n in range(1, 0xFFFF) if (row.router, n) not in taken)
            taken[row.router, number] = row.name
            if number > MAX_HOST_NUMBER:
                self.wrong(
                    ("host", i),
                    f"router {row.router} has more than {MAX_HOST_NUMBER} hosts: move some",
                )
            numbers.append(number)
        return numbers

    def link_rows(self, routers: dict[str, Router]) -> list[tuple[int | None, LinkRow]]:
        """Every link with the router first: access links in host order, then the others.

        The number beside a row is its place in the file, None for an access link that the file
        does not mention.
        """
        homes = {row.name: row.router for row in self.file.host}
        access: dict[str, tuple[int | None, LinkRow]] = {
            host: (None, LinkRow(a=router, b=host)) for host, router in homes.items()
        }
        core: list[tuple[int | None, LinkRow]] = []
        seen: set[frozenset[str]] = set()
        for i, row in enumerate(self.file.link):
            unknown = [end for end in ("a", "b") if getattr(row, end) not in routers | homes]
            for end in unknown:
                self.unknown(("link", i, end), getattr(row, end), [*routers, *homes], "node")
            if unknown:
                continue
            if row.a in homes and row.b in routers:
                row = row.model_copy(
                    update={"a": row.b, "b": row.a, "a_port": row.b_port, "b_port": row.a_port}
                )
            ends = frozenset((row.a, row.b))
            if row.a == row.b:
                self.wrong(("link", i), f"{row.a} is linked to itself: name two nodes")
            elif ends in seen:
                self.wrong(("link", i), f"there is already a link {row.a} - {row.b}: remove one")
            elif row.b in homes:
                self.check_access(i, row, homes)
                access[row.b] = (i, row)
            else:
                core.append((i, row))
            seen.add(ends)
        return [*access.values(), *core]

    def check_access(self, i: int, row: LinkRow, homes: dict[str, str]) -> None:
        if row.a in homes:
            self.wrong(("link", i), f"{row.a} and {row.b} are both hosts: link one to a router")
        elif homes[row.b] != row.a:
            self.wrong(
                ("link", i),
                f"host {row.b} is on router {homes[row.b]}, so it cannot be linked to {row.a}",
            )
        elif row.b_port is not None:
            self.wrong(("link", i), f"host {row.b} has one interface: give a port for {row.a} only")

    def unknown(self, place: tuple[str | int, ...], name: str, known: list[str], kind: str) -> None:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known[:8])}"
        self.wrong(place, f"there is no {kind} {name!r}: {hint}")

    def cabled(self, rows: list[tuple[int | None, LinkRow]]) -> tuple[Link, ...]:
        """Links with all their ports: those given, then the lowest free ones in order."""
        used: dict[tuple[str, int], str] = {}
        for i, row in rows:
            for router, port, other in ((row.a, row.a_port, row.b), (row.b, row.b_port, row.a)):
                if i is None or port is None:
                    continue
                first = used.setdefault((router, port), other)
                if first != other:
                    self.wrong(
                        ("link", i),
                        f"port {port} of {router} is used twice, for {first} and for {other}: "
                        "choose another port",
                    )
        next_port: dict[str, int] = {}

        def assigned(router: str, port: int | None, other: str) -> int:
            if port is not None:
                return port
            port = next_port.get(router, 1)
            while (router, port) in used:
                port += 1
            next_port[router] = port + 1
            if port == MAX_PORT + 1:
                self.wrong(("router",), f"router {router} has more than {MAX_PORT} links")
            return port

        hosts = {row.name for row in self.file.host}
        return tuple(
            Link(
                row.a,
                assigned(row.a, row.a_port, row.b),
                row.b,
                0 if row.b in hosts else assigned(row.b, row.b_port, row.a),
                row.rate,
                row.delay,
                row.loss,
                row.cost,
                row.jitter,
            )
            for _, row in rows
        )


def _clash(key: str, value: object, router: Router, other: Router) -> str:
    if key == "name":
        return f"two routers are named {value!r}: rename one"
    if key == "number":
        return f"two routers have number {value}: give one another number"
    default = next((one for one in (other, router) if key not in dict(one.numbers)), None)
    own = f" ({default.name} by its number)" if default else ""
    return f"routers {other.name} and {router.name} both have {key} {value}{own}: give one another"


def _unreachable(file: str, routers: tuple[Router, ...], links: tuple[Link, ...]) -> list[str]:
    """A sentence naming the routers that the first router has no path to, if there are any."""
    found = reached(links, routers[0].name)
    lost = [router.name for router in routers if router.name not in found]
    if not lost:
        return []
    shown = ", ".join(lost[:8]) + (f" and {len(lost) - 8} more" if len(lost) > 8 else "")
    return [
        f"{file}: {routers[0].name} has no path to {shown}: "
        "nothing is delivered between the parts of this network"
    ]
