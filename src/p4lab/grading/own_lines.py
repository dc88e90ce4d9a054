"""A culprit among the files that a student edits: what goes wrong in a file that was given has its
cause in what the student's lines did before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from p4lab.grading.culprit import Culprit, Packets, Source, place
from p4lab.grading.record import Place

_KINDS = ("change", "extern", "table", "reject")


def moved(
    found: Culprit,
    reference: Packets,
    student: Packets,
    until: Mapping[str, Any] | None,
    source: Source,
) -> Culprit:
    """The culprit, if it is in one of the student's own files. Else the last own line that did
    something else than any line of the reference did, or the last one at all, before the step
    `until` of the student's trace (None: before the end). Where there is none, the sentence says
    that the file was given."""
    line, why = found
    if line is None or line.file in source.own or not source.own:
        return found
    usual = {step["text"] for packet in reference for step in packet["steps"]}
    last = special = None
    for step in _before(student, until):
        here = _place(step, source)
        last = here or last
        if step["text"] not in usual:
            special = here or special
    if special is not None:
        return special, f"this leads to: {why}, in {line.file}:{line.line}"
    if last is not None:
        return last, f"after this, the last of your lines: {why}, in {line.file}:{line.line}"
    return line, f"{why} (in a file that you were given)"


def turned(
    found: Culprit,
    reference: Packets,
    student: Packets,
    until: Mapping[str, Any] | None,
    source: Source,
) -> Culprit | None:
    """The line of the student's that a packet's way hangs on, if it goes another way at a line that
    was there from the beginning: the one that first gave a field of a header or of another
    structure a value that the reference never gave it, or the last one before an extern is called
    as the reference never calls it, before such a value elsewhere, and before the step `until`.
    If none of them has left a step, the last line of the student's files; None without that."""
    line, why = found
    if line is None:
        return None
    where = f"this leads to: {why}, in {line.file}:{line.line}"
    usual = {step["text"] for packet in reference for step in packet["steps"]}
    last = near = None
    for step in _before(student, until):
        here = _place(step, source)
        shared = step["kind"] == "extern" or (step["kind"] == "change" and "." in step["name"])
        special = shared and step["text"] not in usual
        if source.is_new(here):
            if special:
                return here, f"here {step['text']}; {where}"
            last = here
        elif special:
            break
        near = here or near
    if last is None:
        return near and (near, f"after this: {why}, in {line.file}:{line.line}")
    return last, f"after this, the last of your lines: {why}, in {line.file}:{line.line}"


def strayed(found: Culprit, reference: Packets, student: Packets, source: Source) -> Culprit | None:
    """The first line of the student's that gave a variable of the reference's, or a field of a
    header or of another structure, a value that the reference never gave it, for a field that is
    wrong although the lines at `found` are not the student's; None if there is none."""
    changes = [s for packet in reference for s in packet["steps"] if s["kind"] == "change"]
    names, usual = {step["name"] for step in changes}, {step["text"] for step in changes}
    for step in _before(student, None):
        if step["kind"] != "change" or step["text"] in usual:
            continue
        here = _place(step, source)
        if source.is_new(here) and (step["name"] in names or "." in step["name"]):
            return here, f"here {step['text']}; later {found[1]}"
        if step["name"] in names:
            return None
    return None


def _before(packets: Packets, until: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    for packet in packets:
        for step in packet["steps"]:
            if step is until:
                return
            if step["kind"] in _KINDS:
                yield step
        if packet["fate"] is until and until is not None:
            return


def _place(step: Mapping[str, Any], source: Source) -> Place | None:
    """Where a step is in an own file; a table's is in the action that it ran, if that is own."""
    declared = next(
        (item for item in source.summary["actions"] if item["name"] == step.get("action")), None
    )
    for item in (declared, step):
        here = place(item, source.files) if item else None
        if here is not None and here.file in source.own:
            return here
    return None
