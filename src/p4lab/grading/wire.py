"""Whether packets differ only in what does not matter, by their bytes alone.

Most packets of right programs differ from the reference's, if at all, in fields that a check leaves
free. To know that no trace is needed: the bytes are cut as the reference's own packet was put
together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from p4lab.grading import difference
from p4lab.grading.course import Course, Judged
from p4lab.grading.difference import Out, Wanted
from p4lab.grading.frames import Header, Layout
from p4lab.grading.story import traced


def all_fit(course: Course, judged: Judged, number: int, got: Sequence[tuple[int, bytes]]) -> bool:
    """Whether what came out for packet `number` (from 1) is what the reference sends, up to fields
    that do not matter. False also where bytes do not say so: a header that may be missing, or one
    of a length of its own; two traces do."""
    case = judged.case
    if len(got) != len(judged.outputs[number - 1]):
        return False
    layout = course.headers(case.defines)
    known = course.outs.get((judged.seed, number))
    if known is None or known[0] is not judged:
        known = judged, _wanted(course, judged, number)
        course.outs[judged.seed, number] = known
    left = list(known[1])
    for port, data in got:
        fitting = (one for one in left if _fits(one, port, data, case.ignore, layout))
        same = next(fitting, None)
        if same is None:
            return False
        left.remove(same)
    return not left


@dataclass(frozen=True)
class _Wanted:
    """A packet that the reference sends, and what of it matters."""

    sent: Out
    wanted: Wanted


def _wanted(course: Course, judged: Judged, number: int) -> tuple[_Wanted, ...]:
    """What the reference sends, its headers as they were cut; none if bytes do not say which."""
    program, case = course.program(judged.case.defines), judged.case
    layout = course.headers(case.defines)
    outs = difference.outs(program, traced(course, program, judged, number))
    outs = [replace(out, lineage=()) for out in outs]
    if any(_cut(out.data, out, layout) != out for out in outs):
        return ()
    if case.expected is None:
        settled = (difference.settled(out, case.ignore, layout) for out in outs)
        return tuple(_Wanted(out, difference.wanted(out, case.ignore)) for out in settled)
    found = []
    for item in (one for one in case.expected if one.send == number):
        wanted = Wanted(item.port, item.headers)
        fitting = (o for o in outs if difference.fits(wanted, difference.without(o, case.ignore)))
        same = next(fitting, None)
        if same is None:
            return ()
        outs.remove(same)
        # What follows the headers is the reference's, too: there may be more headers in it.
        found.append(_Wanted(same, replace(wanted, rest=same.rest)))
    return () if outs else tuple(found)


def _fits(mine: _Wanted, port: int, data: bytes, ignore: frozenset[str], layout: Layout) -> bool:
    if port != mine.sent.port or len(data) != len(mine.sent.data):
        return False
    own = _cut(data, mine.sent, layout)
    if own is None:
        return False
    own = difference.without(difference.settled(own, ignore, layout), ignore)
    return difference.fits(mine.wanted, own)


def _cut(data: bytes, like: Out, layout: Layout) -> Out | None:
    """A packet with the headers of another one; None if they have no fixed length."""
    headers, at = [], 0
    for header in like.headers:
        widths = layout.get(header.name, {})
        if header.fields.keys() != widths.keys():
            return None
        size = sum(widths.values()) // 8
        headers.append(Header(header.name, _fields(data[at : at + size], widths)))
        at += size
    return Out(like.port, data, tuple(headers), data[at:])


def _fields(data: bytes, widths: Mapping[str, int]) -> dict[str, int]:
    """The fields of a header, by their widths in bits."""
    bits, fields = int.from_bytes(data, "big"), {}
    left = len(data) * 8
    for name, width in widths.items():
        left -= width
        fields[name] = bits >> left & (1 << width) - 1
    return fields
