"""Where a packet first went wrong: the line of the student's program, by two traces of a packet.

The reference's trace says what should have happened; nothing of its source is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import takewhile
from typing import Any

from p4lab.course import marks
from p4lab.grading import difference
from p4lab.grading.difference import Pair, Wanted
from p4lab.grading.frames import trace_number
from p4lab.grading.record import Place
from p4lab.model.notation import Notation
from p4lab.steps import short

Sources = Mapping[str, str]
"""The student's files: text by path"""

Packets = Sequence[dict[str, Any]]
"""The packets of a trace"""

Culprit = tuple[Place | None, str]
"""A line, and what happened there"""

# The engine's reasons to give up a packet that never ends.
_ENDLESS = {
    "it was resubmitted or recirculated too often",
    "one packet became too many",
    "a control ran for too long (a million steps is the limit)",
}

_EMPTY = ("0", "false", "invalid")

NOWHERE: Culprit = (None, "")


@dataclass(frozen=True)
class Source:
    """A student's program as one reads it: `summary` says what it declares (as that of an
    `_engine.Program`), `notation` how its values are written; `own` are the files that students
    edit, `begun` holds what they began with, and `solved` the solution with its marks, by file."""

    summary: Mapping[str, Any]
    files: Sources
    notation: Notation
    own: tuple[str, ...] = ()
    begun: Sources = field(default_factory=dict)
    solved: Sources = field(default_factory=dict)

    def is_new(self, line: Place | None) -> bool:
        """Whether a student has written a line: others were there from the beginning."""
        if line is None or line.file not in self.own:
            return False
        return line.line in _new_lines(self.begun.get(line.file, ""), self.files[line.file])

    def todo(self, file: str, line: int) -> Place | None:
        """The TODO for a line of the solution, while nothing is written there."""
        file = _plain(file)
        around = (one for one in self._tasks(file) if one.first < line < one.last)
        return next((self._untouched(file, one) for one in around), None)

    def unwritten(self, part: str) -> Place | None:
        """The first TODO of a part of which nothing is written yet."""
        tasks = ((file, one) for file in self.own for one in self._tasks(file) if one.name == part)
        left = [self._untouched(file, one) for file, one in tasks]
        return left[0] if left and None not in left else None

    def part_of(self, line: Place | None) -> str:
        """The part that a TODO is for; empty if the line is none."""
        if line is None or line.file not in self.own:
            return ""
        return next((one.name for one in self._tasks(line.file) if one.todo == line.text), "")

    def _tasks(self, file: str) -> Iterator[marks.Region]:
        if file not in self.own:
            return iter(())
        regions = marks.regions(self.solved.get(file, ""), file)
        return (one for one in regions if one.kind == "SOLUTION")

    def _untouched(self, file: str, task: marks.Region) -> Place | None:
        lines = [one.strip() for one in self.files[file].splitlines()]
        if lines.count(task.todo) != 1:
            return None
        at = lines.index(task.todo) + 1
        new = _new_lines(self.begun.get(file, ""), self.files[file])
        return None if new & {at - 1, at, at + 1} else Place(file, at, task.todo)


@lru_cache(maxsize=64)
def _new_lines(begun: str, text: str) -> frozenset[int]:
    """The numbers of the lines that somebody has added to a text, or changed."""
    before, after = ([line.strip() for line in one.splitlines()] for one in (begun, text))
    kept = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    old = {number for block in kept for number in range(block.b + 1, block.b + block.size + 1)}
    return frozenset(range(1, len(after) + 1)) - old


def place(item: Mapping[str, Any], sources: Sources) -> Place | None:
    """Where a step of a trace, or a declaration of a summary, is in the source."""
    if not item.get("file"):
        return None
    file, line = _plain(str(item["file"])), int(item["line"])
    lines = sources.get(file, "").splitlines()
    return Place(file, line, lines[line - 1].strip() if 0 < line <= len(lines) else "")


def _plain(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def of_field(
    name: str,
    pair: Pair,
    reference: Mapping[str, Any],
    source: Source,
) -> Culprit:
    """Who gave a field, such as `bier.ttl`, its wrong value: the last line that wrote it, or where
    the reference, a program with its own summary, writes it."""
    assert pair.got is not None
    step = _last_change(name, pair.got.lineage)
    if step is not None:
        steps = [step for packet in pair.got.lineage for step in packet["steps"]]
        earlier = takewhile(lambda one: one is not step, steps)
        return place(step, source.files), f"here {name} {turned_into(name, step, earlier, source)}"
    return _left_out(name, pair, reference, source, f"leaves {name} as it is", f"changes {name}")


def turned_into(
    name: str, step: Mapping[str, Any], earlier: Iterable[Mapping[str, Any]], source: Source
) -> str:
    """What a step made of a variable, and its old value unless that was noise."""
    before, after = (written_as(name, step[side], source) for side in ("before", "after"))
    told = f"became {after}"
    is_known = step["before"] in _EMPTY or any(_sets(one, step["name"], source) for one in earlier)
    return f"{told}; it was {before}" if is_known else told


def _sets(step: Mapping[str, Any], name: str, source: Source) -> bool:
    """Whether a step gives a variable a value."""
    if step["kind"] == "extract":
        return short(step["header"]) == short(name.rpartition(".")[0])
    return bool(step["kind"] == "change" and step["name"] == name and not is_noise(step, source))


def is_noise(step: Mapping[str, Any], source: Source) -> bool:
    """Whether a change is no statement's: checks fill what is declared without a value."""
    line = place(step, source.files) if step["kind"] == "change" else None
    root = str(step.get("name", "")).rpartition(":")[2].split(".")[0]
    return (
        line is not None and re.match(rf"[\w<>, ]+\s{re.escape(root)}\s*;", line.text) is not None
    )


def is_unset(name: str, lineage: Packets) -> bool:
    """Whether nothing on a packet's way has written a field of a header, or read it."""
    header = name.rpartition(".")[0]
    steps = (step for packet in lineage for step in packet["steps"])
    return (
        bool(lineage)
        and "[" not in header
        and not any(
            _is(step["name"], name) if step["kind"] == "change" else short(step["header"]) == header
            for step in steps
            if step["kind"] in ("change", "extract")
        )
    )


def of_validity(
    header: str,
    pair: Pair,
    reference: Mapping[str, Any],
    source: Source,
) -> Culprit:
    """Who made a header valid or invalid, or where it should have been done."""
    assert pair.got is not None
    name = f"{header}.$valid"
    step = _last_change(name, pair.got.lineage)
    if step is not None:
        return place(step, source.files), f"here {header} became {step['after']}"
    there = any(item.name == header for item in pair.got.headers)
    state = "valid" if there else "invalid"
    rest = (f"leaves {header} {state}", f"changes whether {header} is valid")
    return _left_out(name, pair, reference, source, *rest)


def _left_out(
    name: str,
    pair: Pair,
    reference: Mapping[str, Any],
    source: Source,
    leaves: str,
    changes: str,
) -> Culprit:
    """Where the student's program should change a field and does not: in the action where the
    reference does it, behind the last line of the student's that does what the reference has done
    by then, behind the table that it asked last, or in the block that it runs then."""
    assert pair.got is not None
    last, change = _before_change(name, pair.wanted)
    if change is not None and (todo := _todo(change, source)) is not None:
        return todo, f"here nothing {changes}"
    if last is not None and change is not None:
        declared = _declaration(_action_around(change, last, reference), source.summary)
        if declared is not None:
            return place(declared, source.files), f"this action {leaves}"
        own = _same(last, pair.got.lineage)
        if own is not None:
            if not source.is_new(place(own, source.files)):
                line = _last_right(change, pair, source)
                if line is not None:
                    return line, f"after this nothing {changes}"
            what = "after this look-up nothing" if own["kind"] == "table" else "nothing here"
            return place(own, source.files), f"{what} {changes}"
    return None, f"no line of the program {changes}"


def _todo(step: Mapping[str, Any], source: Source) -> Place | None:
    """The TODO in whose place the reference has a step."""
    return source.todo(str(step["file"]), int(step["line"])) if step.get("file") else None


def _last_right(change: Mapping[str, Any], pair: Pair, source: Source) -> Place | None:
    """The last line of the student's that does what the reference does before `change`."""
    assert pair.got is not None and pair.wanted is not None
    done = set()
    for step in (step for packet in pair.wanted.lineage for step in packet["steps"]):
        if step is change:
            break
        done.add(step["text"])
    steps = (step for packet in pair.got.lineage for step in packet["steps"])
    lines = (place(step, source.files) for step in steps if step["text"] in done)
    return next((line for line in reversed([*lines]) if source.is_new(line)), None)


def written_as(name: str, text: str, source: Source) -> str:
    """A field's value in a trace as its readers know it."""
    header, _, field = name.rpartition(".")
    for declared in source.summary["headers"]:
        if short(declared["name"]) == header:
            width = next((one["width"] for one in declared["fields"] if one["name"] == field), 0)
            number = trace_number(text)
            return text if number is None else source.notation.said(name, number, width)
    return text


def _last_change(name: str, lineage: Packets) -> Mapping[str, Any] | None:
    """The last step that changed a field on the packet's way."""
    for packet in reversed(lineage):
        for step in reversed(packet["steps"]):
            if step["kind"] == "change" and _is(step["name"], name):
                found: Mapping[str, Any] = step
                return found
    return None


def _is(full: str, name: str) -> bool:
    return full == name or full.endswith(f".{name}")


def _before_change(
    name: str, wanted: Wanted | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Where the reference last changes a field: the last table or block before that, the change."""
    found = last = change = None
    for packet in wanted.lineage if wanted else ():
        for step in packet["steps"]:
            if step["kind"] in ("table", "block"):
                last = step
            elif step["kind"] == "change" and _is(step["name"], name):
                found, change = last, step
    return found, change


def _action_around(
    change: Mapping[str, Any], table: Mapping[str, Any], reference: Mapping[str, Any]
) -> str | None:
    """The reference's action that a change is in: what the table ran, or what that called; None if
    it is in an apply block. No summary says where an action ends; the next declaration does."""
    if table["kind"] != "table":
        return None
    declared = [
        item
        for item in (*reference["actions"], *reference["tables"])
        if item["file"] == change["file"] and item["line"] <= change["line"]
    ]
    nearest = max(declared, key=lambda item: item["line"], default=None)
    if nearest is None or nearest not in reference["actions"]:
        return None
    ran, around = (str(name).rpartition(".")[0] for name in (table["action"], nearest["name"]))
    return str(nearest["name"]) if ran == around else None


def _same(wanted: Mapping[str, Any], lineage: Packets) -> Mapping[str, Any] | None:
    """The last look-up in the same table, or the last run of the same block, on a packet's way."""
    name = "table" if wanted["kind"] == "table" else "name"
    for packet in reversed(lineage):
        for step in reversed(packet["steps"]):
            if step["kind"] == wanted["kind"] and step[name] == wanted[name]:
                found: Mapping[str, Any] = step
                return found
    return None


def _declaration(action: str | None, summary: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if action is None:
        return None
    return next((item for item in summary["actions"] if item["name"] == action), None)


def of_fate(
    reference: Packets, student: Packets, source: Source
) -> tuple[str, Culprit, dict[str, Any] | None]:
    """Where two traces of one packet part: the kind of the difference (empty if unknown), the place
    in the student's program, and the step of the student's trace, if they part at one."""
    endless = any(is_loop(packet) for packet in student)
    for mine, theirs in zip(decisions(reference), decisions(student), strict=False):
        if mine[0] == theirs[0]:
            continue
        if endless and mine[0][:2] != theirs[0][:2]:  # a table asked otherwise would say more
            break
        packet, step = theirs[1], theirs[2]
        if theirs[0][0] == "table" or mine[0][0] == "table":
            return *_table_parted(mine[2], step, packet, source), step
        return *_fate_parted(mine[1], packet, source), step
    if endless:
        line, action = _first_action(student, source)
        return difference.LOOP, (line, f"pass after pass {action}"), None
    further = list(decisions(reference))[len(list(decisions(student))) :]
    if further:
        line, action = _first_action(student, source)
        told = f"{action}; another packet should follow: {further[0][1]['kind']}"
        return "", (line, told), None
    return "", _last_line(student[-1], source) if student else NOWHERE, None


def decisions(packets: Packets) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]]:
    """What decides about a packet, in order: table results and fates; each with its packet and
    its step."""
    for packet in packets:
        for step in packet["steps"]:
            if step["kind"] == "table":
                key = tuple((item["name"], item["value"]) for item in step["key"])
                args = tuple(item["value"] for item in step["args"])
                said = ("table", step["table"], key, step["hit"], step["action"], args)
                yield said, packet, step
        fate = packet["fate"] or {"kind": "lost"}
        yield ("fate", packet["kind"], fate["kind"], fate.get("port")), packet, fate


def _table_parted(
    mine: dict[str, Any],
    theirs: dict[str, Any],
    packet: dict[str, Any],
    source: Source,
) -> tuple[str, Culprit]:
    if theirs.get("kind") == "dropped":
        told = f"here the packet is dropped: {theirs['reason']}"
        line = place(theirs, source.files) or _last_line(packet, source)[0]
        return "", (line, told)
    if theirs.get("kind") != "table":  # the reference asks a table, the student's packet is through
        table = brief(mine["table"])
        told = f"the packet should meet the table `{table}`, but does not"
        if (todo := _todo(mine, source)) is not None:
            return "", (todo, f"here {told}")
        return "", _after(packet, told, source)
    if mine.get("kind") != "table" or mine["table"] != theirs["table"]:
        table = brief(theirs["table"])
        return "", (place(theirs, source.files), f"the packet meets the table {table} here")
    key = ", ".join(f"{item['name']}={item['text']}" for item in theirs["key"])
    table = brief(theirs["table"])
    for own, other in zip(theirs["key"], mine["key"], strict=False):
        if own["value"] != other["value"]:
            width = _key_width(theirs["table"], own["name"], source.summary)
            asked, right = (
                source.notation.said(own["name"], item["value"], width) for item in (own, other)
            )
            told = f"the table {table} is looked up with {own['name']}={asked} instead of {right}"
            kind = "" if theirs["hit"] else difference.TABLE_MISSED
            return kind, (place(theirs, source.files), told)
    if theirs["hit"] != mine["hit"]:
        word = "hits" if theirs["hit"] else "misses"
        kind = "" if theirs["hit"] else difference.TABLE_MISSED
        return kind, (place(theirs, source.files), f"the table {table} [{key}] {word}")
    action = brief(theirs["action"])
    return "", (place(theirs, source.files), f"the table {table} [{key}] runs {action}")


def _key_width(table: str, key: str, summary: Mapping[str, Any]) -> int:
    """Bits of a key; 0 for a truth value or what is not known."""
    keys = (item["keys"] for item in summary["tables"] if item["name"] == table)
    return next((int(item["width"]) for item in next(keys, []) if item["name"] == key), 0)


def _fate_parted(
    mine: dict[str, Any],
    theirs: dict[str, Any],
    source: Source,
) -> tuple[str, Culprit]:
    fate = theirs["fate"]
    if fate and fate["kind"] == "dropped":
        told = f"here the packet is dropped: {fate['reason']}"
        line = place(fate, source.files) or _last_line(theirs, source)[0]
        return difference.DROPPED, (line, told)
    if mine["kind"] != theirs["kind"]:
        told = f"the packet goes on as a {theirs['kind']} packet"
        return "", _after(theirs, told, source)
    if fate and fate["kind"] == "sent":
        kind = difference.WRONG_PORT if (mine["fate"] or {}).get("kind") == "sent" else ""
        return kind, _after(theirs, f"the packet is sent on port {fate['port']}", source)
    return "", _after(theirs, "the packet takes a different path", source)


def _after(packet: dict[str, Any], told: str, source: Source) -> Culprit:
    """What becomes of a packet after its last line, if it has one."""
    line = _last_line(packet, source)[0]
    return line, told if line is None else f"after this {told}"


def is_loop(packet: dict[str, Any]) -> bool:
    """Whether the switch gave a packet up because there was no end to it."""
    fate = packet["fate"]
    return bool(fate and fate["kind"] == "dropped" and fate["reason"] in _ENDLESS)


def _first_action(packets: Packets, source: Source) -> Culprit:
    """What the last pass began with: the action of its first table, and that in words."""
    for packet in reversed(packets):
        step = next((step for step in packet["steps"] if step["kind"] == "table"), None)
        declared = _declaration(step["action"], source.summary) if step else None
        found = place(declared, source.files) if declared else None
        if step is not None and found is not None and found.file in source.files:
            return found, f"the table {brief(step['table'])} runs this action"
    return None, "the packet meets no table"


def _last_line(packet: dict[str, Any], source: Source) -> Culprit:
    """The last line that did something for a packet in a file of the student: what its last table
    ran, or where a field last changed."""
    for step in reversed(packet["steps"]):
        if step["kind"] in ("table", "change", "reject"):
            found = place(step, source.files)
            if step["kind"] == "table":
                declared = _declaration(step["action"], source.summary)
                own = place(declared, source.files) if declared else None
                found = own if own and own.file in source.files else found  # NoAction is not theirs
                return (
                    found,
                    f"the last table on its path, {brief(step['table'])}, ran this action",
                )
            if found is not None:
                return found, step["text"]
    return NOWHERE


def brief(name: str) -> str:
    return name.rsplit(".", 1)[-1]
