"""An exercise folder as data.

The form is that of p4lang/tutorials: `topology.json` has hosts (ip, mac, commands), switches
(runtime_json, program) and links ([node, node, latency, bandwidth]; a switch's end is `s1-p2`, a
latency is in ms unless it is text with a unit, a bandwidth in Mbit/s); `sN-runtime.json` has the
entries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from p4lab.topology.units import delay_nanoseconds

TOPOLOGY = "topology.json"
DROP_PORT = 511  # of v1model
FIRST_P4RUNTIME_PORT = 50051  # of the first switch; the tutorials count on from there


class ExerciseError(Exception):
    """A folder that cannot be used; the message says which file and why."""


@dataclass(frozen=True)
class Host:
    """A Linux host; `ip` with its prefix length, `commands` are run in it."""

    name: str
    ip: str
    mac: str
    commands: tuple[str, ...]
    interface: str = "eth0"


@dataclass(frozen=True)
class Switch:
    """A switch, the program it runs, its runtime file and CPU port if there are any, and its
    device number for P4Runtime."""

    name: str
    program: Path
    runtime: Path | None
    cpu_port: int | None = None
    device: int = 0
    commands: Path | None = None
    """Lines for simple_switch_CLI"""
    p4runtime_port: int = FIRST_P4RUNTIME_PORT
    """The TCP port on which controllers look for it"""
    thrift_port: int | None = None
    cpu_interface: int | None = None
    """A port whose cable ends at an interface, where controllers listen"""


@dataclass(frozen=True)
class End:
    """An end of a link; `port` is 0 at a host."""

    node: str
    port: int


@dataclass(frozen=True)
class Cable:
    """A link; delay in nanoseconds, rate in bit/s or None for no limit."""

    a: End
    b: End
    delay: int
    rate: int | None


@dataclass(frozen=True)
class Exercise:
    """A folder, read. Controllers find its switches `inside` the network that is built for it,
    where the interfaces are, or outside, on the machine; `graph` is what they load there."""

    folder: Path
    topology: Path
    hosts: tuple[Host, ...]
    switches: tuple[Switch, ...]
    cables: tuple[Cable, ...]
    inside: bool = False
    graph: str | None = None

    def ports(self, switch: str) -> list[int]:
        """The ports of a switch that have a cable."""
        ends = [end for cable in self.cables for end in (cable.a, cable.b)]
        return sorted(end.port for end in ends if end.node == switch)


def is_tutorial(folder: Path) -> bool:
    """Whether a folder looks like one of the tutorials'."""
    return folder.is_dir() and bool(_topologies(folder))


def read_tutorial(
    folder: Path, topology: str | None = None, program: str | None = None
) -> Exercise:
    """Reads a folder; topology and program are those of its Makefile unless told. Raises
    ExerciseError."""
    makefile = _makefile(folder)
    file = _topology_file(folder, topology or makefile.get("TOPO"))
    data = read_json(file)
    source = _program_file(folder, program or makefile.get("DEFAULT_PROG"))
    hosts = tuple(_host(file, name, item) for name, item in _part(file, data, "hosts").items())
    written = sorted(_part(file, data, "switches").items(), key=lambda item: natural(item[0]))
    switches = tuple(
        _switch(folder, file, name, item, source, device)
        for device, (name, item) in enumerate(written)
    )
    known = {host.name for host in hosts}, {switch.name for switch in switches}
    links = data.get("links")
    if not isinstance(links, list):
        raise ExerciseError(f"{file}: links must be a list of [node, node].")
    cables = tuple(_cable(file, item, *known) for item in links)
    return Exercise(folder, file, hosts, switches, cables)


def natural(name: str) -> list[tuple[int, str]]:
    """A key that puts s2 before s10, as Mininet numbers switches."""
    parts = re.findall(r"\d+|\D+", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _makefile(folder: Path) -> dict[str, str]:
    """What the Makefile sets: NAME = VALUE."""
    path = folder / "Makefile"
    if not path.is_file():
        return {}
    text = path.read_text(encoding="utf-8", errors="replace")
    return dict(re.findall(r"^(\w+)\s*:?\??=\s*(\S+)\s*$", text, re.MULTILINE))


def _topologies(folder: Path) -> list[Path]:
    return sorted([*folder.glob(TOPOLOGY), *folder.glob(f"*/{TOPOLOGY}")])


def _topology_file(folder: Path, wanted: str | None) -> Path:
    if wanted is not None:
        file = folder / wanted
        if not file.is_file():
            raise ExerciseError(f"there is no topology {file}.")
        return file
    found = _topologies(folder)
    if len(found) != 1:
        listed = ", ".join(str(path.relative_to(folder)) for path in found) or "none"
        raise ExerciseError(
            f"{folder} has {len(found)} topologies ({listed}): add --topology FILE."
        )
    return found[0]


def _program_file(folder: Path, wanted: str | None) -> Path | None:
    """The exercise's P4 file; None if that is not clear and switches may say it themselves."""
    if wanted is not None:
        file = folder / wanted
        if not file.is_file():
            raise ExerciseError(f"there is no program {file}.")
        return file
    found = sorted(folder.glob("*.p4"))
    return found[0] if len(found) == 1 else None


def read_json(file: Path) -> dict[str, Any]:
    """The object in a file. Raises ExerciseError."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ExerciseError(f"{file} cannot be read: {error}") from error
    except json.JSONDecodeError as error:
        raise ExerciseError(f"{file}:{error.lineno}: {error.msg}.") from error
    if not isinstance(data, dict):
        raise ExerciseError(f"{file} must hold an object.")
    return data


def _part(file: Path, data: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = data.get(name)
    if not isinstance(part, dict) or not part:
        raise ExerciseError(f"{file}: there are no {name}.")
    for key, item in part.items():
        if not isinstance(item, dict):
            raise ExerciseError(f"{file}: {name}.{key} must be an object.")
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,9}", key):
            raise ExerciseError(f"{file}: {name}.{key}: a name has up to ten letters and digits.")
    return part


def _host(file: Path, name: str, item: Mapping[str, Any]) -> Host:
    for field in ("ip", "mac"):
        if not isinstance(item.get(field), str):
            raise ExerciseError(f"{file}: hosts.{name} needs a text {field}.")
    commands = item.get("commands", [])
    if not isinstance(commands, list) or not all(isinstance(c, str) for c in commands):
        raise ExerciseError(f"{file}: hosts.{name}.commands must be a list of texts.")
    return Host(name, item["ip"], item["mac"], tuple(commands))


def _switch(
    folder: Path, file: Path, name: str, item: Mapping[str, Any], source: Path | None, device: int
) -> Switch:
    program = source
    if "program" in item:  # the JSON that p4c would make
        program = folder / f"{Path(str(item['program'])).stem}.p4"
    if program is None:
        raise ExerciseError(f"{folder} has several P4 files: add --program FILE.")
    if not program.is_file():
        raise ExerciseError(f"{file}: switches.{name}: there is no program {program}.")
    runtime, commands = (
        folder / str(item[key]) if key in item else None for key in ("runtime_json", "cli_input")
    )
    for needed in (runtime, commands):
        if needed is not None and not needed.is_file():
            raise ExerciseError(f"{file}: switches.{name}: there is no {needed}.")
    port = FIRST_P4RUNTIME_PORT + device
    return Switch(name, program, runtime, _cpu_port(file, name, item), device, commands, port)


def _cpu_port(file: Path, name: str, item: Mapping[str, Any]) -> int | None:
    """A number, or text with one, as the tutorials have it."""
    written = item.get("cpu_port")
    if written is None:
        return None
    if not re.fullmatch(r"\d{1,3}", str(written)) or not 0 < int(written) < DROP_PORT:
        raise ExerciseError(
            f"{file}: switches.{name}: cpu_port is a number from 1 to {DROP_PORT - 1}."
        )
    return int(written)


def _cable(file: Path, item: Any, hosts: set[str], switches: set[str]) -> Cable:
    if not isinstance(item, list) or not 2 <= len(item) <= 4:
        raise ExerciseError(f"{file}: a link is [node, node, latency, bandwidth], not {item}.")
    ends = [_end(file, str(name), hosts, switches) for name in item[:2]]
    if ends[1].port == 0:  # the host first, as Mininet has it
        ends.reverse()
    if ends[1].port == 0:
        raise ExerciseError(f"{file}: the link {item[:2]} joins two hosts.")
    latency = item[2] if len(item) > 2 else 0
    try:
        text = latency.strip() if isinstance(latency, str) else f"{latency} ms"
        # Text without a unit goes to tc as it is, which takes it for microseconds.
        delay = delay_nanoseconds(f"{text} us" if text.isdigit() else text)
    except ValueError as error:
        raise ExerciseError(f"{file}: the link {item[:2]}: latency: {error}") from error
    rate = item[3] if len(item) > 3 else None
    if rate is not None and (not isinstance(rate, int | float) or rate <= 0):
        raise ExerciseError(f"{file}: the link {item[:2]}: bandwidth is in Mbit/s, not {rate}.")
    return Cable(ends[0], ends[1], delay, None if rate is None else int(rate * 1_000_000))


def _end(file: Path, name: str, hosts: set[str], switches: set[str]) -> End:
    if name in hosts:
        return End(name, 0)
    match = re.fullmatch(r"(\w+)-p(\d{1,3})", name)
    if match is None or match[1] not in switches:
        raise ExerciseError(f"{file}: {name} is neither a host nor a switch's port like s1-p1.")
    return End(match[1], int(match[2]))


def read_runtime(file: Path) -> dict[str, Any]:
    """A runtime file as plain data. Raises ExerciseError."""
    data = read_json(file)
    if data.get("target", "bmv2") != "bmv2":
        raise ExerciseError(f"{file}: target is {data['target']!r}; only bmv2 can be run.")
    return data
