"""Why a packet is wrong, as a story: sentence, difference, line and hint from two traces of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from p4lab import _engine
from p4lab.grading import culprit, difference
from p4lab.grading.consequences import marked
from p4lab.grading.course import Check, Course, Defines, Judged, inject, inject_traced
from p4lab.grading.culprit import Source
from p4lab.grading.difference import Pair, Wanted
from p4lab.grading.own_lines import moved, strayed, turned
from p4lab.grading.record import PacketDifference, Place, Story
from p4lab.grading.returned import returned
from p4lab.grading.scenario import Case
from p4lab.grading.work import Work
from p4lab.model.notation import Notation

NO_END = "The packet never leaves: it loops in the switch."
NO_ACTION = "NoAction"
PACKET_IN = "packet_in"  # P4Runtime's name of the header in front of what goes to a control plane
MAX_DIFFERENCES = 8  # of one packet that became many
_ENTRY = re.compile(r"table ([\w.]+): .* -> ([\w.]+\(.*\))", re.DOTALL)


def alike(
    case: Case, number: int, got: list[tuple[int, bytes]], wanted: tuple[tuple[int, bytes], ...]
) -> bool:
    """Whether for packet `number` everything came out to the byte as it does of the reference,
    which meets what a scenario expects."""
    if case.expected is None and not case.forbids_others(number):
        return not Counter(wanted) - Counter(got)
    return tuple(sorted(got)) == wanted


def traced(course: Course, program: _engine.Program, judged: Judged, upto: int) -> dict[str, Any]:
    """The trace of packet number `upto` after all before it."""
    switch = course.set_up(program, judged.case)
    for sending in judged.case.sendings[: upto - 1]:
        inject(switch, sending)
    return inject_traced(switch, judged.case.sendings[upto - 1])


def source_of(course: Course, program: _engine.Program, work: Work) -> Source:
    """A student's program as the lab's readers know it."""
    own = tuple(course.student.edit)
    notation = course.system.notation
    return Source(program.summary, work.files, notation, own, course.begun, course.sources)


def reference_of(course: Course, program: _engine.Program, student: Source) -> Source:
    """The reference, read with the same eyes."""
    return replace(student, summary=program.summary, files=course.sources)


def compare(
    course: Course,
    check: Check,
    judged: Judged,
    work: Work,
    program: _engine.Program,
    number: int,
) -> Story | None:
    """What is wrong with what became of packet `number` (from 1), if anything that matters is."""
    case = judged.case
    reference = course.program(case.defines)
    ours, theirs = (traced(course, p, judged, number) for p in (reference, program))
    notation = course.system.notation
    rank = partial(_rank, _met(reference.summary, [*ours["packets"], *theirs["packets"]], notation))
    steps = case.told(number, rank)
    story = compare_traces(
        course, check, case, (reference, ours), (program, theirs), steps, work, number
    )
    return story and replace(story, packet=number)


_Met = Mapping[str, Container[str]]
"""The tables that a packet meets, as a source calls them, with what is told of entries it hits"""


def _met(summary: Mapping[str, Any], packets: Sequence[dict[str, Any]], notation: Notation) -> _Met:
    widths = {
        action["name"]: {one["name"]: one["width"] for one in action["params"]}
        for action in summary["actions"]
    }
    found: dict[str, set[str]] = {}
    for step in (one for packet in packets for one in packet["steps"] if one["kind"] == "table"):
        known = widths.get(step["action"], {})
        args = (
            f"{one['name']}={notation.said(one['name'], one['value'], known.get(one['name'], 0))}"
            for one in step["args"]
        )
        hits = found.setdefault(step["table"].rpartition(".")[2], set())
        if step["hit"]:
            hits.add(f"{step['action'].rpartition('.')[2]}({', '.join(args)})")
    return found


def _rank(met: _Met, step: str) -> int:
    """How far back something that a switch holds may stand for a packet: what is no entry and the
    entries that it hits come first, then others of the tables that it meets."""
    entry = _ENTRY.fullmatch(step)
    if entry is None:
        return 0
    table, action = (text.rpartition(".")[2] for text in entry.groups())
    if table not in met:
        return 2
    return 0 if action in met[table] else 1


def compare_traces(
    course: Course,
    check: Check,
    case: Case,
    ours: tuple[_engine.Program, dict[str, Any] | _engine.Arrival],
    theirs: tuple[_engine.Program, dict[str, Any] | _engine.Arrival],
    steps: tuple[str, ...],
    work: Work,
    number: int = 1,
) -> Story | None:
    """The story of two traces of one packet, the reference's and the student's; None if all that
    matters is alike."""
    layout = course.headers(case.defines)
    reference, outs = (
        [difference.settled(out, case.ignore, layout) for out in difference.outs(*side)]
        for side in (ours, theirs)
    )
    got = [difference.without(out, case.ignore) for out in outs]
    if case.expected is None:
        wanted = [difference.wanted(out, case.ignore) for out in reference]
    else:
        # What the file says counts; the reference's way to the same port explains it.
        ways = {out.port: out.lineage for out in reference}
        wanted = [
            Wanted(item.port, item.headers, lineage=ways.get(item.port, ()))
            for item in case.expected
            if item.send == number
        ]
    silent = bool(case.sendings) and case.sendings[number - 1].silent
    pairs = difference.unequal(wanted, got, case.others and not silent)
    endless = any(culprit.is_loop(packet) for packet in theirs[1]["packets"])
    if not pairs and (case.others or not endless):
        return None
    source = source_of(course, theirs[0], work)
    packets = theirs[1]["packets"]
    kind, where, step = culprit.of_fate(ours[1]["packets"], packets, source)
    parted = (where, ours[1]["packets"], packets, step, source)
    where = moved(*parted)
    is_settled = source.is_new(where[0]) or bool(source.part_of(where[0]))
    if kind in ("", difference.TABLE_MISSED) and not is_settled:
        where = turned(*parted) or where
    if endless:
        kind = difference.LOOP
    back = None if endless else returned(ours[1]["packets"], packets, case.ignore)
    if back is not None and pairs and pairs[0].got is None:
        hint = course.hint(check, kind or difference.COPY_MISSING)
        return _returned_story(course, check, case, back, steps, hint, source)
    undone = _undone(ours[0].summary, packets, source)
    if not pairs:  # everything that should come out does, but something runs in circles
        hint = course.hint(check, kind)
        return Story(steps, NO_END + undone, kind, hint, place=where[0], why=where[1])
    told = pair_story(
        course,
        check,
        pairs[0],
        case.defines,
        steps,
        kind,
        where,
        source=source,
        others=tuple(pairs[1:]),
        missed=culprit.brief(step["table"]) if step and step.get("kind") == "table" else "",
    )
    if back is not None and told.place is None:  # no line of the last pass is to blame
        return _returned_story(course, check, case, back, steps, told.hint, source)
    return replace(told, summary=told.summary + undone)


def _undone(reference: Mapping[str, Any], packets: Sequence[dict[str, Any]], source: Source) -> str:
    """The table that finds nothing and has no default action, where the reference's has one."""
    does = {table["name"] for table in reference["tables"] if table["default"] != NO_ACTION}
    idle = {
        table["name"]: culprit.place(table, source.files)
        for table in source.summary["tables"]
        if table["default"] == NO_ACTION and table["name"] in does
    }
    steps = (step for packet in packets for step in packet["steps"] if step["kind"] == "table")
    for step in steps:
        if not step["hit"] and step["table"] in idle:
            line = idle[step["table"]]
            where = f" ({line.file}:{line.line})" if line else ""
            name = step["table"].rsplit(".", 1)[-1]
            return f" The table {name}{where} has no entry for it and no default action."
    return ""


def _returned_story(
    course: Course,
    check: Check,
    case: Case,
    back: Pair,
    steps: tuple[str, ...],
    hint: str,
    source: Source,
) -> Story:
    """The story of a packet that went wrong in the pass before; `hint` is said if the lab has none
    for that."""
    known = course.known(case.defines)
    signature, name = difference.signature(back, known)
    reference = course.program(case.defines).summary
    where = _written(signature, name, back, reference, source)
    hint = course.own_hint(check, signature, name) or hint
    told = replace(difference.describe(back, known), expected_port=None, got_port=None)
    sentence = _sentence(signature, name, "packet that comes back to the switch")
    return Story(steps, sentence, signature, hint, (told,), place=where[0], why=where[1])


def _written(
    signature: str,
    name: str,
    pair: Pair,
    reference: Mapping[str, Any],
    source: Source,
) -> culprit.Culprit:
    """Who wrote a header or a field as it should not be, as far as it is the student's doing."""
    assert pair.got is not None
    validity = signature in (difference.HEADER_MISSING, difference.HEADER_NOT_REMOVED)
    of = culprit.of_validity if validity else culprit.of_field
    where = of(name, pair, reference, source)
    expected = pair.wanted.lineage if pair.wanted else ()
    where = moved(where, expected, pair.got.lineage, None, source)
    if source.is_new(where[0]) or source.part_of(where[0]):
        return where
    return strayed(where, expected, pair.got.lineage, source) or where


def pair_story(
    course: Course,
    check: Check,
    pair: Pair,
    defines: Defines,
    steps: tuple[str, ...],
    kind: str,
    where: tuple[Place | None, str],
    *,
    source: Source | None = None,
    others: tuple[Pair, ...] = (),
    missed: str = "",
) -> Story:
    """The story of a packet that is not as wanted. `kind` and `where` are what two traces say of
    it; without a `source` no line is looked for. `missed` is the table that missed, if one did."""
    known = course.known(defines)
    pair = difference.inside(pair)
    signature, name = difference.signature(pair, known)
    if kind == difference.LOOP or (kind and signature in (difference.COPY_MISSING,)):
        signature, name = kind, ""
    elif name and pair.got is not None and source is not None:
        where = _written(signature, name, pair, course.program(defines).summary, source)
    shown = (pair, *others[:MAX_DIFFERENCES])
    if signature == difference.LOOP:  # one of the endless copies says as much as all
        shown = (next((item for item in shown if item.wanted is None), pair),)
    differences = tuple(difference.describe(item, known) for item in shown)
    if source is not None:
        mine = reference_of(course, course.program(defines), source)
        both = zip(differences, shown, strict=True)
        differences = tuple(marked(_unset(told, item), item, mine, source) for told, item in both)
    told = _sent_up(pair, signature, name, course.sources)
    told = told or _fate_sentence(signature, name or missed, pair)
    return Story(
        steps,
        told + _of_port_0(course, signature, shown),
        signature,
        course.hint(check, signature, name),
        differences,
        place=where[0],
        why=where[1],
    )


def _unset(told: PacketDifference, pair: Pair) -> PacketDifference:
    """The difference with what it says of fields that hold noise."""
    lineage = pair.got.lineage if pair.got else ()
    fields = (
        replace(one, got=f"{one.got} (nothing has set it)")
        if one.got not in (None, "0") and culprit.is_unset(one.field, lineage)
        else one
        for one in told.fields
    )
    return replace(told, fields=tuple(fields))


def _of_port_0(course: Course, signature: str, pairs: tuple[Pair, ...]) -> str:
    """What port 0 means where a packet leaves there that should not: nobody says it otherwise."""
    got = None if signature == difference.LOOP else pairs[0].got
    known = {pair.wanted.port for pair in pairs if pair.wanted is not None}
    if got is None or got.port != 0 or 0 in known or not course.is_v1model:
        return ""
    return " A packet for which no port was chosen leaves on port 0."


def _sent_up(pair: Pair, signature: str, name: str, sources: Mapping[str, str]) -> str:
    """What became of a packet that a program gives to the control plane and should not; empty for
    another difference. It has not kept a header: that was put in front, perhaps with a reason."""
    expected, got = pair.wanted, pair.got
    if signature != difference.HEADER_NOT_REMOVED or name != PACKET_IN:
        return ""
    if expected is None or got is None or expected.port == got.port:
        return ""
    should = f"it should leave on port {expected.port}"
    fields = next(header.fields for header in got.headers if header.name == PACKET_IN)
    if reason := fields.get("reason", 0):
        return f"The packet was refused with reason {_reason(reason, got, sources)}; {should}."
    return f"The packet was sent to the control plane, on port {got.port}; {should}."


def _reason(number: int, got: difference.Out, sources: Mapping[str, str]) -> str:
    """A reason with the name that the program gives it, if a value of an enum on the packet's way
    is this number."""
    changes = [s for packet in got.lineage for s in packet["steps"] if s["kind"] == "change"]
    names = dict.fromkeys(s["after"].partition(".")[2] for s in reversed(changes))
    for name in filter(str.isidentifier, names):
        value = re.compile(rf"\b{name}\s*=\s*{number}\b")
        if any(value.search(text) for text in sources.values()):
            return f"{name} ({number})"
    return str(number)


def _fate_sentence(signature: str, name: str, pair: Pair) -> str:
    """The difference of what came out in one sentence."""
    expected = pair.wanted.port if pair.wanted else None
    port = pair.got.port if pair.got else expected
    packet = f"packet on port {port}"
    if pair.wanted and port != expected:
        packet += f" (which belongs on port {expected})"
    table = f"the table {name}" if name else "a table"
    sentences = {
        difference.LOOP: NO_END,
        difference.TABLE_MISSED: f"No packet leaves on port {expected}: {table} missed.",
        difference.DROPPED: f"No packet leaves on port {expected}: it was dropped.",
        difference.COPY_MISSING: f"No packet leaves on port {expected}.",
        difference.COPY_TOO_MANY: f"A packet leaves on port {port} that no one should get.",
        difference.WRONG_PORT: f"The packet leaves on port {port} instead of port {expected}.",
    }
    return sentences.get(signature) or _sentence(signature, name, packet)


def _sentence(signature: str, name: str, packet: str) -> str:
    """What is wrong in a packet, in one sentence; `packet` says which it is."""
    sentences = {
        difference.HEADER_NOT_REMOVED: f"The {packet} still has the header {name}.",
        difference.HEADER_MISSING: f"The {packet} lacks the header {name}.",
        difference.BITS_NOT_CLEARED: f"In the {packet}, {name} has bits that it should not have.",
        difference.BITS_LOST: f"In the {packet}, {name} lacks bits.",
        difference.TTL: f"In the {packet}, {name} was not decremented.",
        difference.CHECKSUM: f"In the {packet}, {name} does not fit the header.",
        difference.PAYLOAD: f"The {packet} has a different payload.",
    }
    return sentences.get(signature, f"In the {packet}, {name} is wrong.")
