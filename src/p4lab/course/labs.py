"""Labs as data: what their `lab.toml` says of a run, and the plan that it makes."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from p4lab import registry
from p4lab.course.home import Home, command, home_of, names
from p4lab.course.words import TextError, line_of, refused, text_of
from p4lab.errors import Plain
from p4lab.model.run import Address, Plan, Stream
from p4lab.model.system import Settings, System
from p4lab.topology import Link, Topology, TopologyError
from p4lab.topology.units import delay_nanoseconds

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_PACKETS = 10_000_000  # of each stream


class LabError(Plain, Exception):
    """A lab that cannot be run; the message says what to change, and where."""


def home(lab: str) -> Home:
    """Where a lab lives. Raises LabError."""
    found = home_of(lab)
    if found is None:
        known = ", ".join(names())
        if lab and Path(lab).is_dir():
            raise LabError(
                f"{lab} is a folder, not a lab: give the lab first and then the folder; "
                f"choose from {known}."
            )
        if "/" in lab:
            raise LabError(f"{lab}: no such folder.")
        raise LabError(f"there is no lab named {lab!r}; choose from {known}.")
    return found


class _StreamFile(BaseModel):
    """A stream to a group, or to one host: hosts are counted from 1 in the topology's order. `ip`
    is the version of IP by which that host is reached; a group's address says its own."""

    model_config = ConfigDict(extra="forbid")
    source: Annotated[int, Field(ge=1)]
    group: Address | None = None
    receivers: Literal["all", "half"] = "all"
    to: Annotated[int, Field(ge=1)] | None = None
    ip: Literal[4, 6] | None = None

    @model_validator(mode="after")
    def _one_destination(self) -> _StreamFile:
        if (self.group is None) == (self.to is None):
            raise ValueError("say either group, for multicast, or to, the number of a host")
        if self.group is not None and not self.group.is_multicast:
            raise ValueError(
                f"{self.group} is not the address of a group: write one from 224.0.0.0/4, or for "
                "IPv6 one that begins with ff"
            )
        if self.group is not None and self.ip is not None:
            raise ValueError("ip goes with to: a group's address says which version it is of")
        return self


class _RunFile(BaseModel):
    """The table [run]; what is not here belongs to the system."""

    model_config = ConfigDict(extra="allow")
    program: str
    topology: str
    system: str
    packets: Annotated[int, Field(ge=1, le=MOST_PACKETS)]
    interval: str
    down: list[int | str] = []
    stream: Annotated[list[_StreamFile], Field(min_length=1)]


class _Head(BaseModel):
    """The table [lab]; `system` is that of a lab without a [run]."""

    model_config = ConfigDict(extra="ignore")
    system: str | None = None


class _LabFile(BaseModel):
    model_config = ConfigDict(extra="ignore")
    lab: _Head = _Head()
    run: _RunFile | None = None


def load_plan(
    lab: str,
    *,
    program: Path | None = None,
    topology: str | Path | None = None,
    packets: int | None = None,
    seed: int = 1,
    bmv2_compat: bool = False,
    undefined: int | None = None,
    down: Sequence[str] | None = None,
    **settings: Any,
) -> Plan:
    """The plan of the lab named `lab`, with what the caller wants to be different.

    `interval` of the lab becomes nanoseconds, `down` are numbers or names of links (`find_link`),
    `settings` are the system's; None is as if it was not said. Raises LabError for a lab that does
    not exist or is not sound, and TopologyError for the topology.
    """
    run = _run(lab)
    system = _system(lab, run.system)
    place = home(lab)
    try:
        network = place.topology(topology or run.topology)
    except TopologyError as error:
        if error.network is not None:
            _known_numbers(error.network)  # a misspelt one may be all that is wrong
        raise
    if packets is not None and packets < 1:
        raise LabError(f"a stream needs at least 1 packet, not {packets}.")
    if packets is not None and packets > MOST_PACKETS:
        raise LabError(f"a stream has at most {MOST_PACKETS:,} packets, not {packets:,}.")
    if len(network.hosts) < 2:
        raise LabError(f"the topology {network.name!r} has fewer than two hosts: add some.")
    _known_numbers(network)
    own = _settings(lab, system.settings, run.model_extra or {}, settings)
    draw = random.Random(seed)
    try:
        interval = delay_nanoseconds(run.interval)
    except ValueError as error:
        raise LabError(f"labs/{lab}/lab.toml: interval: {error}") from error
    streams = tuple(
        _stream(number, wanted, network, packets or run.packets, interval, draw)
        for number, wanted in enumerate(run.stream, 1)
    )
    failing = run.down if down is None else [_number_or_name(written) for written in down]
    links = {link.ends: link for link in (find_link(network, written) for written in failing)}
    reference = place.root / run.program
    try:
        plan: Plan = replace(
            system.plan(lab, reference, network, own, seed, streams),
            program=program or reference,
            bmv2_compat=bmv2_compat,
            undefined=undefined,
            down=tuple(links.values()),
        )
        system.check(plan)
    except ValueError as error:
        raise LabError(str(error)) from error
    return plan


def set_to(plan: Plan, **settings: Any) -> Plan:
    """The plan with other settings of its system."""
    system = registry.find(plan.system)
    own = plan.settings.model_copy(update=settings)
    return replace(plan, settings=own, defines=system.defines(own))


def system_of(lab: str) -> System:
    """The system of a lab; one that forwards packets and has nothing to add where it names none.
    Raises LabError."""
    file = read_lab(lab, _LabFile)
    if file.run is not None:
        return _system(lab, file.run.system)
    return _system(lab, file.lab.system) if file.lab.system else System()


def _run(lab: str) -> _RunFile:
    """Raises LabError."""
    run = read_lab(lab, _LabFile).run
    if run is None:
        raise LabError(
            f"{lab} has no network of P4 switches. What its students write is judged by: "
            f"{command()} check {lab}"
        )
    return run


def _system(lab: str, name: str) -> System:
    try:
        registry.load_folder(home(lab).labs / lab)
        return registry.find(name)
    except registry.UnusableSystemError as error:
        raise LabError(f"labs/{lab}/lab.toml: system: {error}") from error


def _settings(
    lab: str,
    model: type[Settings],
    written: Mapping[str, Any],
    given: Mapping[str, Any],
) -> Settings:
    """The system's settings as the lab writes them, and as the caller wants them instead."""
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        if name not in model.model_fields:
            known = (
                ", ".join(f"--{field}" for field in model.model_fields) or "no options of its own"
            )
            raise LabError(f"{lab} does not know --{name}; its system has {known}.")
        try:
            model.model_validate({**written, name: value})
        except ValidationError as error:
            for each in error.errors():
                if each["loc"][:1] == (name,):
                    raise LabError(_refused(model, name, value, each["msg"])) from error
    try:
        model.model_validate(written)
    except ValidationError as error:
        text = author_text(home(lab).labs / lab / "lab.toml", shown := f"labs/{lab}/lab.toml")
        raise LabError(f"{shown}:{refused(error, model, text, ('run',))}") from error
    try:
        return model.model_validate({**written, **given})
    except ValidationError as error:
        told = error.errors()[0]["msg"].removeprefix(_OWN_WORDS)
        wishes = ", ".join(f"--{name} {value}" for name, value in given.items())
        raise LabError(f"{wishes}: {told}.") from error


_OWN_WORDS = "Value error, "
"""What pydantic puts in front of a system's own sentence"""


def _refused(model: type[Settings], name: str, value: Any, told: str) -> str:
    """Why a field cannot have a value; `told` is what pydantic says."""
    field = model.model_fields[name]
    about = f" ({field.description})" if field.description else ""
    said = name.replace("_", "-")
    if choices := getattr(field.annotation, "__args__", ()):
        named = f"{', '.join(map(str, choices[:-1]))} or {choices[-1]}"
        return f"{said} can be {named}, not {value}{about}."
    if told.startswith(_OWN_WORDS):
        return f"{said} {value}: {told.removeprefix(_OWN_WORDS)}."
    wanted = told.removeprefix("Input should be ").partition(", ")[0]
    return f"{said} must be {wanted}, not {value}{about}."


def _known_numbers(network: Topology) -> None:
    """Raises LabError for a number of a router that no system knows: it is misspelt."""
    used = {name for router in network.routers for name, _ in router.numbers}
    known: set[str] = set()
    for system in registry.all_systems():  # each is imported when its turn comes
        if used <= known:
            return
        known.update(system.router_numbers)
    for router in network.routers:
        for name, _ in router.numbers:
            if name not in known:
                raise LabError(
                    f"the topology {network.name!r}: router {router.name} has {name}, which no "
                    f"system knows; choose from {', '.join(sorted(known))}."
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
    if wanted.to is not None:
        target = network.hosts[(wanted.to - 1) % len(network.hosts)]
        if target == source:
            raise LabError(f"stream {number}: {source.name} cannot send to itself.")
        destination = target.ip_of(wanted.ip or 4)
        return Stream(number, destination, source, (target,), packets, interval_ns)
    assert wanted.group is not None
    others = [host for host in network.hosts if host.name != source.name]
    if wanted.receivers == "half":
        chosen = draw.sample(others, max(1, len(others) // 2))
        others = sorted(chosen, key=lambda host: host.id)
    return Stream(number, wanted.group, source, tuple(others), packets, interval_ns)


Table = TypeVar("Table", bound=BaseModel)


@lru_cache(maxsize=16)
def _parsed(text: str) -> dict[str, Any]:
    """A lab.toml, which several models are made from, and which many ask for again."""
    return tomllib.loads(text)


def read_lab(lab: str, model: type[Table]) -> Table:
    """What `model` describes of a lab.toml. Raises LabError with the line of what is not sound."""
    text = author_text(home(lab).labs / lab / "lab.toml", shown := f"labs/{lab}/lab.toml")
    try:
        return model.model_validate(_parsed(text))
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{shown}: {error}") from error
    except ValidationError as error:
        raise LabError(f"{shown}:{refused(error, model, text)}") from error


def author_text(file: Path, shown: str) -> str:
    """The text of an author's file, which is shown by this name. Raises LabError, and OSError where
    the file cannot be read."""
    try:
        return text_of(file)
    except TextError as error:
        raise LabError(f"{shown}: {error}") from error


def at_key(lab: str, *place: str | int) -> str:
    """A key of a lab.toml as messages name it, with its line. Raises LabError."""
    text = author_text(home(lab).labs / lab / "lab.toml", shown := f"labs/{lab}/lab.toml")
    key = ".".join(part for part in place if isinstance(part, str))
    return f"{shown}:{line_of(text, *place)}: {key}"
