"""A case as a file: everything is fixed, by the names of headers and fields, so that a person can
read what tells a wrong program from the solution.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from pydantic import BaseModel, ConfigDict

from p4lab.course.labs import read_lab
from p4lab.grading import drawing, frames
from p4lab.grading.course import Course, Defines
from p4lab.grading.frames import FrameError
from p4lab.grading.scenario import MICROSECOND, Case, Scenario, Sending
from p4lab.grading.toml import MOST, brief, inline, is_named, key, quoted
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    DontCare,
    Entity,
    Exact,
    Lpm,
    Match,
    MeterCell,
    MulticastGroup,
    Optional,
    Range,
    RegisterCell,
    TableEntry,
    Ternary,
)
from p4lab.model.entries_json import from_json


class UnwritableError(Exception):
    """A case that the form of a scenario cannot hold; the message says why."""


class Cell(BaseModel):
    """The table [[found]]: how a packet writes a cell of a register that is the student's own, so
    that another program may not have it. Fields see its `index` and `value`."""

    model_config = ConfigDict(extra="forbid")
    cell: str
    port: int
    packet: dict[str, dict[str, Any]]

    def sending(self, course: Course, defines: Defines, index: int, value: int) -> Sending:
        """The packet for one cell, of the program with these macros."""
        names = {"index": index, "value": value}
        packet = {
            header: {field: drawing.value(item, names) for field, item in fields.items()}
            for header, fields in self.packet.items()
        }
        return Sending(self.port, frames.build(packet, course.headers(defines)))


class _LabFile(BaseModel):
    model_config = ConfigDict(extra="ignore")
    found: list[Cell] = []


def case_of(course: Course, example: Mapping[str, Any], base: Scenario) -> Case:
    """The case of a packet that the prover found, judged as those of `base`. Raises LabError."""
    updates, sendings = [], []
    defines = course.defines_with(example.get("defines", {}))
    cells = {cell.cell: cell for cell in read_lab(course.name, _LabFile).found}
    for update in map(from_json, example["updates"]):
        written = update.entity
        if not isinstance(written, RegisterCell):
            updates.append(update)
            continue
        own = next((cell for end, cell in cells.items() if is_named(written.register, end)), None)
        if own is not None and written.value:
            sendings.append(own.sending(course, defines, written.index, written.value))
        elif written.value:  # cells begin as 0
            updates.append(update)
    data = bytes.fromhex(example["packet"])
    return Case(
        say="",
        defines=defines,
        updates=tuple(updates),
        steps=(),
        sendings=(*sendings, Sending(example["port"], data)),
        expected=None,
        ignore=frozenset(base.ignore),
        others=base.others == "ignore",
        undefined=example.get("undefined") or 0,
    )


def text_of(course: Course, case: Case, say: str, why: str) -> str:
    """The file of a case: `why` is told to people who read it, `say` to students. Raises
    UnwritableError."""
    if case.network is not None or case.shares or case.counts or case.expected is not None:
        raise UnwritableError("it is more than packets that come out as they do of the solution")
    lines = [*(f"# {line}" for line in why.splitlines()), f"say = {quoted(say)}"]
    if case.ignore:
        lines.append(f"ignore = {json.dumps(sorted(case.ignore))}")
    if case.undefined is not None:
        lines.append(f"undefined = {case.undefined or 'true'}")
    if case.others:
        lines.append('others = "ignore"')
    defines = ", ".join(f"{name} = {quoted(value)}" for name, value in case.defines)
    if defines:
        lines.append(f"defines = {{ {defines} }}")
    blocks = ["\n".join(lines)]
    blocks += [f"[[loop]]\nport = {port}\nmetadata = {_number(data)}" for port, data in case.loops]
    program = course.program(case.defines)
    blocks += [_written(update.entity, 1, program.summary) for update in case.updates]
    for at, sending in enumerate(case.sendings, 1):
        blocks += [_written(update.entity, at, program.summary) for update in sending.updates]
    before = 0
    for sending in case.sendings:
        blocks.append(_send(course, case, sending, before))
        before = sending.now
    return "\n\n".join(blocks) + "\n"


# ---- What is written into the switch -------------------------------------------------------------


def _written(entity: Entity, at: int, summary: Mapping[str, Any]) -> str:
    later = [f"at = {at}"] if at > 1 else []
    match entity:
        case CloneSession(number, ((port, _),)):
            lines = ["[[session]]", f"id = {number}", f"port = {port}"]
        case MulticastGroup(number, replicas):
            ports, instances = ([pair[at] for pair in replicas] for at in (0, 1))
            lines = ["[[group]]", f"id = {number}", f"ports = {ports}"]
            if instances != list(range(len(replicas))):
                lines.append(f"instances = {instances}")
        case RegisterCell(register, index, value):
            lines = ["[[cell]]", f"register = {quoted(register)}", f"index = {index}"]
            lines += [f"value = {value}" if value < MOST else f'value = "={value:#x}"', *later]
        case MeterCell(meter, index):
            lines = ["[[meter]]", f"meter = {quoted(meter)}", f"index = {index}", *_rates(entity)]
            lines += later
        case DefaultAction():
            lines = ["[[default]]", *_row(entity, summary), *later]
        case TableEntry():
            lines = ["[[entry]]", *_row(entity, summary), *later]
        case _:
            raise UnwritableError(f"no scenario writes {entity}")
    return "\n".join(lines)


def _rates(cell: MeterCell) -> list[str]:
    return [
        f"rate = {cell.committed_rate}",
        f"burst = {cell.committed_burst}",
        f"peak_rate = {cell.peak_rate}",
        f"peak_burst = {cell.peak_burst}",
    ]


def _row(row: TableEntry | DefaultAction, summary: Mapping[str, Any]) -> Iterator[str]:
    """The lines of an entry or of a default action."""
    known = next(item for item in summary["tables"] if is_named(item["name"], row.table))
    offered = [item for item in summary["actions"] if item["name"] in known["actions"]]
    yield f"table = {quoted(brief(known['name'], (item['name'] for item in summary['tables'])))}"
    if isinstance(row, TableEntry):
        widths = {key["name"]: key["width"] for key in known["keys"]}
        keys = [(name, _match(name, want, widths[name])) for name, want in row.match]
        yield f"match = {inline(keys)}"
        if row.priority:
            yield f"priority = {row.priority}"
    chosen = next(item for item in offered if is_named(item["name"], row.action))
    yield f"action = {quoted(brief(chosen['name'], (item['name'] for item in offered)))}"
    widths = {param["name"]: param["width"] for param in chosen["params"]}
    if row.params:
        values = [(name, _value(name, value, widths[name])) for name, value in row.params]
        yield f"params = {inline(values)}"


def _match(name: str, want: Match, width: int) -> str:
    match want:
        case DontCare():
            return '"*"'
        case Ternary(value, mask):
            if mask == (1 << width) - 1:
                return _value(name, value, width)
            return quoted(f"{value:#x} &&& {mask:#x}")
        case Lpm(value, length):
            return quoted(f"{_value(name, value, width).strip(chr(34))}/{length}")
        case Range(low, high):
            return quoted(f"{low}..{high}")
        case Exact(value) | Optional(value):
            return _value(name, value, width)


# ---- What is sent --------------------------------------------------------------------------------


def _send(course: Course, case: Case, sending: Sending, before: int) -> str:
    lines = ["[[send]]", f"port = {sending.port}"]
    if sending.now > before:
        lines.append(f"wait = {(sending.now - before) // MICROSECOND}")
    lines.append("[send.packet]")
    return "\n".join([*lines, *_packet(course, case, sending)])


def _packet(course: Course, case: Case, sending: Sending) -> Iterator[str]:
    """The headers that the solution's parser finds, and the rest as bytes."""
    layout = course.headers(case.defines)
    headers = _headers(course, case, sending)
    packet = {header.name: dict(header.fields) for header in headers}
    built = frames.build(packet, layout)
    rest = sending.data[len(built) :]
    computed = _computed(packet, rest, layout, sending.data)
    stacks: dict[str, list[str]] = {}
    for name, fields in packet.items():
        stack = re.fullmatch(r"(.*)\[\d+\]", name)
        if stack and len(layout[name]) == 1:
            ((field, width),) = layout[name].items()
            stacks.setdefault(stack[1], []).append(_value(field, fields[field], width))
            continue
        # A field that has a value of its own in lab.toml is named even where it is 0.
        usual = course.kit.defaults.get(name, {})
        values = [
            (field, computed.get((name, field)) or _value(field, fields[field], width))
            for field, width in layout[name].items()
            if fields.get(field, 0) or field in usual
        ]
        yield f"{key(name)} = {inline(values)}"
    for name, items in stacks.items():
        yield f"{key(name)} = [{', '.join(items)}]"
    if rest:
        yield f'payload = "hex:{rest.hex()}"'


def _headers(course: Course, case: Case, sending: Sending) -> tuple[frames.Header, ...]:
    """As many headers as can be built from their fields."""
    layout = course.headers(case.defines)
    packets = course.switch(course.program(case.defines)).trace(sending.port, sending.data)
    headers = frames.parsed(packets["packets"][0]) if packets["packets"] else ()
    while headers:
        packet = {header.name: header.fields for header in headers}
        try:
            fixed = {
                name: {field: fields[field] for field in layout[name]}
                for name, fields in packet.items()
            }
            if len(fixed) == len(headers) and sending.data.startswith(frames.build(fixed, layout)):
                return tuple(frames.Header(name, fields) for name, fields in fixed.items())
        except (FrameError, KeyError):  # a length that varies, or a header that lacks a field
            pass
        headers = headers[:-1]
    return ()


def _computed(
    packet: Mapping[str, Mapping[str, int]],
    rest: bytes,
    layout: frames.Layout,
    data: bytes,
) -> dict[tuple[str, str], str]:
    """The lengths and checksums that are as they should be, which is said instead of a number."""
    found = {}
    for name, fields in packet.items():
        for field, width in layout[name].items():
            what = "checksum" if "checksum" in field else "length" if "len" in field else ""
            if width != 16 or not what:
                continue
            tried: dict[str, Any] = {**packet, name: {**fields, field: what}}
            tried[frames.PAYLOAD] = f"hex:{rest.hex()}"
            try:
                if frames.build(tried, layout) == data:
                    found[name, field] = quoted(what)
            except FrameError:
                continue
    return found


# ---- Values --------------------------------------------------------------------------------------


def _value(name: str, value: int, width: int) -> str:
    """A value as one writes it: addresses, types in hexadecimal, numbers."""
    if width == 48:
        digits = f"{value:012x}"
        return quoted(":".join(digits[at : at + 2] for at in range(0, 12, 2)))
    if width == 32 and re.search("addr|group|destination", name):
        return quoted(str(IPv4Address(value)))
    if width == 128:
        return quoted(str(IPv6Address(value)))
    return _number(value) if "type" not in name else f"{value:#06x}"


def _number(value: int) -> str:
    if value < 1 << 12:
        return str(value)
    return f"{value:#x}" if value < MOST else quoted(f"{value:#x}")
