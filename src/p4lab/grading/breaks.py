"""Packets that a student has found, in a TOML file of theirs: they must tell a faulty program,
which the lab gives, from a right one, which it keeps.

    [[packet]]
    port = 1
    times = 2
    like = "tagged"
    ipv4 = { ttl = 0, src_addr = "10.0.1.66" }

`port` says where it comes in, `times` how often, `like` is a packet of the lab's, the first unless
told, and headers are fields with numbers and addresses. Nothing in the file is evaluated.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError

from p4lab.course.labs import LabError
from p4lab.course.material import Inside
from p4lab.grading.course import Check, Course, Defines
from p4lab.grading.frames import PAYLOAD, dissect
from p4lab.grading.record import Story
from p4lab.grading.rows import ScenarioError
from p4lab.grading.scenario import Case, Scenario, in_words, make_case, read
from p4lab.grading.work import Work
from p4lab.plurals import count_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

UNBROKEN = "nothing breaks"
UNREADABLE = "no packets"

LARGEST_FILE = 16 << 10  # characters
LONGEST_PAYLOAD = 1400  # characters

_VALUE = re.compile(r"[0-9A-Za-z.:]{1,64}")
"""Numbers, addresses, "checksum" and "length": nothing that a scenario would compute"""


class BreaksFile(BaseModel):
    """The file of a check. `packets` is the student's; `faulty` and `right` are the macros by which
    the lab's own files become either program; `most` is how many packets may be sent."""

    model_config = ConfigDict(extra="forbid")
    say: str
    packets: Inside
    most: Annotated[int, Field(ge=1, le=100)]
    faulty: dict[str, str | int]
    right: dict[str, str | int]


class _Packet(BaseModel):
    """A table [[packet]] of a student; further keys are headers."""

    model_config = ConfigDict(extra="allow")
    port: Annotated[StrictInt, Field(ge=0, le=511)]
    times: Annotated[StrictInt, Field(ge=1, le=1000)] = 1
    like: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,30}$")] | None = None
    payload: Annotated[str, Field(max_length=LONGEST_PAYLOAD)] | None = None


class _Packets(BaseModel):
    model_config = ConfigDict(extra="forbid")
    packet: Annotated[list[_Packet], Field(min_length=1, max_length=1000)]


class _Unusable(Exception):
    """A file that cannot be read as packets: a sentence, without its full stop."""


def story(course: Course, check: Check, work: Work) -> Story | None:
    """Why a student's packets do not break the faulty program; None if they do. Raises LabError."""
    file = _read(course, check)
    right, faulty = (course.defines_with(given) for given in (file.right, file.faulty))
    try:
        case = _case(course, file, work.files[file.packets], right)
    except _Unusable as error:
        hint = course.hint(check, UNREADABLE)
        return Story((file.say,), f"{file.packets}: {error}.", UNREADABLE, hint)
    sent = len(case.sendings)
    steps = case.told(sent)
    if sent > file.most:
        most = count_of(file.most, "packet is", "packets are")
        summary = f"{most} enough, and {file.packets} sends {sent}."
        return Story(steps, summary, UNBROKEN, course.hint(check, UNBROKEN))
    programs = course.program(right), course.program(faulty)
    switches = [course.set_up(program, case) for program in programs]
    out: list[tuple[int, bytes]] = []
    for sending in case.sendings:
        out, other = (sorted(s.process(sending.port, sending.data)) for s in switches)
        if out != other:
            return None
    what = "it. What" if sent == 1 else "each of them. What"
    whose = "" if sent == 1 else " for the last one"
    told = "; ".join(_told(course, right, out)) or "nothing"
    summary = f"Both programs do the same with {what} comes out{whose}: {told}."
    return Story(steps, summary, UNBROKEN, course.hint(check, UNBROKEN))


def _told(course: Course, defines: Defines, out: Sequence[tuple[int, bytes]]) -> Iterator[str]:
    """What came out, in words."""
    program, known = course.program(defines), course.known(defines)
    for port, data in out:
        headers = {header.name: header.fields for header in dissect(program, data)}
        yield f"on port {port} {in_words(headers, known)}"


def _read(course: Course, check: Check) -> BreaksFile:
    shown = f"labs/{course.name}/{check.breaks}"
    try:
        file = BreaksFile.model_validate(read(Path(course.folder, str(check.breaks))))
    except ScenarioError as error:
        raise LabError(f"{shown}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise LabError(f"{shown}: {where}: {first['msg']}") from error
    if file.packets not in course.student.edit:
        raise LabError(f"{shown}: students do not edit {file.packets}.")
    return file


def _case(course: Course, file: BreaksFile, text: str, defines: Defines) -> Case:
    """What a student wants to be sent, as a case. Raises _Unusable."""
    try:
        rows = [_row(course, packet) for packet in _parsed(text).packet]
        data = {"say": file.say, "defines": dict(defines), "send": rows}
        scenario = Scenario.model_validate(data)
        return make_case(scenario, course.kit, course, file.packets)
    except ScenarioError as error:
        raise _Unusable(str(error).rstrip(".")) from error


def _parsed(text: str) -> _Packets:
    """Raises _Unusable."""
    if len(text) > LARGEST_FILE:
        raise _Unusable("it is too large for a handful of packets")
    try:
        return _Packets.model_validate(tomllib.loads(text))
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"] == ("packet",):
            raise _Unusable("it has no [[packet]]") from error
        where = ".".join(str(part) for part in first["loc"] if isinstance(part, str))
        raise _Unusable(f"{where}: {first['msg']}") from error
    except tomllib.TOMLDecodeError as error:
        raise _Unusable(f"it is not TOML: {error}") from error
    except (ValueError, RecursionError) as error:  # a number of many digits, a thousand brackets
        raise _Unusable("it cannot be read as TOML") from error


def _row(course: Course, packet: _Packet) -> dict[str, Any]:
    """A packet as a [[send]] of a scenario. Raises _Unusable."""
    like = packet.like or next(iter(course.kit.packets), None)
    row: dict[str, Any] = {"port": packet.port, "like": like}
    row["packet"] = dict(_headers(packet.model_extra or {}))
    if packet.payload is not None:
        row["packet"][PAYLOAD] = f"hex:{packet.payload.encode().hex()}"
    if packet.times > 1:
        row["each"] = f"n in range({packet.times})"
    return row


def _headers(written: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, int | str]]]:
    for header, fields in written.items():
        if not isinstance(fields, Mapping):
            raise _Unusable(f"{header}: write its fields as {header} = {{ field = value }}")
        for field, value in fields.items():
            is_number = isinstance(value, int) and not isinstance(value, bool)
            if not is_number and not (isinstance(value, str) and _VALUE.fullmatch(value)):
                raise _Unusable(f"{header}.{field}: write a number, or an address in quotes")
        yield header, dict(fields)
