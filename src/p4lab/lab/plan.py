"""What a run is to do: program, topology, streams and subscribers, all decided beforehand."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from p4lab.control.bier import Member, ideal_copies
from p4lab.topology import Host, Link, Topology
from p4lab.topology.lines import line_table
from p4lab.topology.units import delay_nanoseconds

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[3]
LABS = ROOT / "labs"

BSLS = (64, 128, 256)
MOST_PACKETS = 10_000_000  # of each stream

Control = Literal["bier", "frr", "tna"]
"""Which control plane runs a lab's programs"""


class LabError(Exception):
    """A lab that cannot be run; the message says what to change, and where."""


@dataclass(frozen=True)
class Stream:
    """A numbered stream: `packets` probes from `source` to `group`, one every `interval_ns`."""

    flow: int
    group: IPv4Address
    source: Host
    receivers: tuple[Host, ...]
    packets: int
    interval_ns: int


@dataclass(frozen=True)
class Plan:
    """A run that can be repeated: the same plan and the same seed give the same run."""

    lab: str
    program: Path
    topology: Topology
    bsl: int
    seed: int
    streams: tuple[Stream, ...]
    bmv2_compat: bool = False
    undefined: int | None = None
    """Seed of the noise for what P4 leaves undefined; None for zeros"""
    control: Control = "bier"
    down: tuple[Link, ...] = ()
    """Links that fail before the streams begin; the routers at their ends see it, the controller
    does not"""

    @property
    def membership(self) -> frozenset[Member]:
        """Who will listen to what, as the control plane will come to know it."""
        return frozenset(
            Member(host.router, host.port, int(stream.group))
            for stream in self.streams
            for host in stream.receivers
        )

    def ideal(self) -> dict[tuple[str, str], int]:
        """Copies that an ideal multicast tree puts on each directed link, over the whole run."""
        total: dict[tuple[str, str], int] = {}
        for stream in self.streams:
            copies = ideal_copies(
                self.topology,
                stream.source.name,
                int(stream.group),
                self.membership,
                self.bsl,
            )
            for link, count in copies.items():
                total[link] = total.get(link, 0) + count * stream.packets
        return total


class _StreamFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    group: IPv4Address
    source: Annotated[int, Field(ge=1)]
    receivers: Literal["all", "half"]


class _RunFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    program: str
    topology: str
    control: Control = "bier"
    bsl: Literal[64, 128, 256]
    packets: Annotated[int, Field(ge=1, le=MOST_PACKETS)]
    interval: str
    down: list[int | str] = []
    stream: Annotated[list[_StreamFile], Field(min_length=1)]


class _LabFile(BaseModel):
    model_config = ConfigDict(extra="ignore")
    run: _RunFile


def load_plan(
    lab: str,
    *,
    program: Path | None = None,
    topology: str | Path | None = None,
    bsl: int | None = None,
    packets: int | None = None,
    seed: int = 1,
    bmv2_compat: bool = False,
    undefined: int | None = None,
    down: Sequence[str] | None = None,
) -> Plan:
    """The plan of the lab named `lab`, with what the caller wants to be different.

    `interval` of the lab becomes nanoseconds, `bsl` is in bits, `down` are numbers or names of
    links (`find_link`). Raises LabError for a lab that does not exist or is not sound, and
    TopologyError for the topology.
    """
    run = read_lab(lab, _LabFile).run
    network = Topology.load(topology or run.topology)
    if bsl is not None and bsl not in BSLS:
        raise LabError(f"the BitStringLength can be 64, 128 or 256 bits, not {bsl}.")
    if packets is not None and packets < 1:
        raise LabError(f"a stream needs at least 1 packet, not {packets}.")
    if packets is not None and packets > MOST_PACKETS:
        raise LabError(f"a stream has at most {MOST_PACKETS:,} packets, not {packets:,}.")
    if len(network.hosts) < 2:
        raise LabError(f"the topology {network.name!r} has fewer than two hosts: add some.")
    draw = random.Random(seed)
    try:
        interval = delay_nanoseconds(run.interval)
    except ValueError as error:
        raise LabError(f"labs/{lab}/lab.toml: interval: {error}") from error
    streams = tuple(
        _stream(number, wanted, network, packets or run.packets, interval, draw)
        for number, wanted in enumerate(run.stream, 1)
    )
    bits = bsl or run.bsl
    source = program or ROOT / run.program
    failing = run.down if down is None else [_number_or_name(written) for written in down]
    links = {link.ends: link for link in (find_link(network, written) for written in failing)}
    return Plan(
        lab,
        source,
        network,
        bits,
        seed,
        streams,
        bmv2_compat,
        undefined,
        run.control,
        tuple(links.values()),
    )


def _number_or_name(written: str) -> int | str:
    return int(written) if written.isascii() and written.isdigit() else written


def find_link(topology: Topology, written: int | str) -> Link:
    """The link between routers called `r1-r2`, or the one with this number, counted from 1 in the
    order of the topology file and again from the first behind the last. Raises LabError."""
    links = [link for link in topology.links if not link.is_access]
    if isinstance(written, int) and links:
        return links[(written - 1) % len(links)]
    for link in links:
        if written in (f"{link.a}-{link.b}", f"{link.b}-{link.a}"):
            return link
    known = ", ".join(f"{link.a}-{link.b}" for link in links[:8]) + ", ..." * (len(links) > 8)
    raise LabError(
        f"the topology {topology.name!r} has no link {written} between routers; "
        f"there is {known or 'none'}."
    )


def _stream(
    number: int,
    wanted: _StreamFile,
    network: Topology,
    packets: int,
    interval_ns: int,
    draw: random.Random,
) -> Stream:
    source = network.hosts[(wanted.source - 1) % len(network.hosts)]
    others = [host for host in network.hosts if host.name != source.name]
    if wanted.receivers == "half":
        chosen = draw.sample(others, max(1, len(others) // 2))
        others = sorted(chosen, key=lambda host: host.id)
    return Stream(number, wanted.group, source, tuple(others), packets, interval_ns)


def names() -> list[str]:
    """The labs there are."""
    return sorted(path.parent.name for path in LABS.glob("*/lab.toml"))


Table = TypeVar("Table", bound=BaseModel)


def read_lab(lab: str, model: type[Table]) -> Table:
    """What `model` describes of a lab.toml. Raises LabError with the line of what is not sound."""
    if lab not in names():
        known = ", ".join(names())
        raise LabError(f"there is no lab named {lab!r}; there is {known}.")
    file = LABS / lab / "lab.toml"
    shown = f"labs/{lab}/lab.toml"
    text = file.read_text(encoding="utf-8")
    try:
        return model.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{shown}: {error}") from error
    except ValidationError as error:
        lines = line_table(text)
        first = error.errors()[0]
        place = tuple(part for part in first["loc"] if isinstance(part, str | int))
        while place and place not in lines:
            place = place[:-1]
        line = lines.get(place, 1)
        name = ".".join(map(str, first["loc"]))
        raise LabError(f"{shown}:{line}: {name}: {first['msg']}") from error
