"""Whether packets differ only in what does not matter, by their bytes alone.

Most packets of right programs differ from the reference's, if at all, in fields that a check leaves
free. To know that no trace of the student's program is needed: the bytes are cut as the reference's
own packet was put together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from p4lab import _engine
from p4lab.grading import difference
from p4lab.grading.course import Course, Judged
from p4lab.grading.difference import Out, Wanted
from p4lab.grading.frames import Header, Layout, trace_number
from p4lab.grading.story import traced
from p4lab.steps import emits, short


@dataclass(frozen=True)
class _Usual:
    """A packet that the reference sends, and what of it matters."""

    sent: Out
    wanted: Wanted


def all_fit(course: Course, judged: Judged, number: int, got: Sequence[tuple[int, bytes]]) -> bool:
    """Whether what came out for packet `number` (from 1) is what the reference sends, up to fields
    that do not matter. False also where bytes do not say so: a header that may be missing, or one
    of a length of its own; two traces do."""
    case = judged.case
    layout = course.headers(case.defines)
    known = course.outs.get((judged.seed, number))
    if known is None or known[0] is not judged:
        known = judged, _usual(course, judged, number)
        course.outs[judged.seed, number] = known
    if known[1] is None:
        return False
    left = list(known[1])
    for port, data in got:
        fitting = (one for one in left if _fits(one, port, data, case.ignore, layout))
        same = next(fitting, None)
        if same is not None:
            left.remove(same)
        elif case.forbids_others(number):
            return False
    return not left


def _usual(course: Course, judged: Judged, number: int) -> tuple[_Usual, ...] | None:
    """What the reference sends, as far as it is expected; None if bytes do not say which headers
    are in it."""
    program, case = course.program(judged.case.defines), judged.case
    layout, varying = course.headers(case.defines), _varying(program)
    outs = []
    for packet in traced(course, program, judged, number)["packets"]:
        fate = packet["fate"]
        if not fate or fate["kind"] != "sent":
            continue
        steps = emits(packet)
        if not all(_is_plain(step, varying) for step in steps):
            return None
        names = [short(step["header"]) for step in steps]
        outs.append(_cut(fate["port"], fate["data"], names, layout))
    if case.expected is None:
        settled = (difference.settled(out, case.ignore, layout) for out in outs)
        return tuple(_Usual(out, difference.wanted(out, case.ignore)) for out in settled)
    found = []
    for item in (one for one in case.expected if one.send == number):
        wanted = Wanted(item.port, item.headers)
        fitting = (o for o in outs if difference.fits(wanted, difference.without(o, case.ignore)))
        same = next(fitting, None)
        if same is None:
            return None
        outs.remove(same)
        # What follows the headers is the reference's, too: there may be more headers in it.
        found.append(_Usual(same, replace(wanted, rest=same.rest)))
    return tuple(found)


def _varying(program: _engine.Program) -> dict[str, list[str]]:
    """The fields of varying length, by header."""
    return {
        short(header["name"]): [field["name"] for field in header["fields"] if field["varbit"]]
        for header in program.summary["headers"]
    }


def _is_plain(step: Mapping[str, Any], varying: Mapping[str, Sequence[str]]) -> bool:
    """Whether an emitted header has its fields of fixed length and nothing else."""
    names = varying[short(step["header"])]
    return all(trace_number(step["fields"][name]) is None for name in names)


def _fits(mine: _Usual, port: int, data: bytes, ignore: frozenset[str], layout: Layout) -> bool:
    if port != mine.sent.port or len(data) != len(mine.sent.data):
        return False
    own = _cut(port, data, [header.name for header in mine.sent.headers], layout)
    own = difference.without(difference.settled(own, ignore, layout), ignore)
    return difference.fits(mine.wanted, own)


def _cut(port: int, data: bytes, names: Sequence[str], layout: Layout) -> Out:
    """A packet that begins with these headers."""
    headers, at = [], 0
    for name in names:
        size = sum(layout[name].values()) // 8
        headers.append(Header(name, dict(_fields(data[at : at + size], layout[name]))))
        at += size
    return Out(port, data, tuple(headers), data[at:])


def _fields(data: bytes, widths: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """The fields of a header, by their widths in bits."""
    bits, left = int.from_bytes(data, "big"), len(data) * 8
    for name, width in widths.items():
        left -= width
        yield name, bits >> left & (1 << width) - 1
