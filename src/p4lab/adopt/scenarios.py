"""Scenarios of a solution: one for each way that packets take through it.

The prover finds a packet and entries for each way. What does not decide the way is then let go:
each field of the packet, each parameter of an entry and the port stay as they are only if other
values of theirs lead elsewhere. So hidden cases draw all that may be drawn.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

from p4lab import _engine
from p4lab.adopt.changes import changes, drawn, place
from p4lab.adopt.titles import Data, Found, told_apart
from p4lab.grading import frames
from p4lab.grading.course import inject, inject_traced
from p4lab.grading.found import fixed
from p4lab.grading.rows import ScenarioError
from p4lab.grading.scenario import Case, Kit, Scenario, make_case
from p4lab.model.entries import DontCare, Range
from p4lab.prove.compare import Bounds, Example, compare
from p4lab.prove.solver import Solver

Way = tuple[Any, ...]
Shows = Callable[[Case, Data], bool]
"""Whether a case shows what a scenario is for, by the trace of its first packet"""
SEEDS = ("1", "2", "3")  # of the cases that tell programs apart
BOUNDS = Bounds(entries=1, passes=2, cables=(1, 508), undefined=False)
MOST = 40  # ways that are looked at
MISSED = 2  # of those tries that may show nothing by chance
TRIES = 4  # other values, for students and for the grader, before a field counts as free
MOST_SENT = 9  # packets of a scenario
_VALUES = {"change", "note", "undefined"}
"""Steps that there are or are not by the values: what is stored where it stands already is none"""


@dataclass(frozen=True)
class Layouts:
    """A program without macros, as scenarios ask for it."""

    compiled: _engine.Program

    def program(self, defines: object) -> _engine.Program:
        return self.compiled

    def headers(self, defines: object) -> dict[str, dict[str, int]]:
        return frames.layout_of(self.compiled)


def scenarios(
    program: _engine.Program, others: Sequence[_engine.Program], seconds: float
) -> list[Found]:
    """A scenario for each way, the longest ways first, and for each of the `others` that no such
    scenario tells from the program."""
    layouts = Layouts(program)
    found: dict[Way, Found] = {}
    for data in _claimed(layouts, seconds):
        loosened = _loosened(layouts, data)
        if loosened is not None:
            found.setdefault(loosened[0], loosened[1])
    _add_branches(layouts, found, seconds)
    _add_differences(layouts, found, others, seconds)
    ways = [found[way] for way in sorted(found, key=lambda way: (-len(way), str(way)))]
    return list(told_apart(ways, layouts.headers(())))


def _add_branches(layouts: Layouts, found: dict[Way, Found], seconds: float) -> None:
    """Ways to lines that none of those found reaches. The prover follows branches that only assign
    as one way, and what they store decides which of them was taken."""
    program = layouts.compiled
    seen = {line for one in found.values() for line in _lines(layouts, one.data)}
    visits = _engine.cover(program, program, Solver(), BOUNDS, seconds)["visits"]
    for data in _written(layouts, visits):
        lines = _lines(layouts, data) - seen
        meets = partial(_meets, lines)
        loosened = _loosened(layouts, data, meets) if lines else None
        if loosened is not None:
            found.setdefault((*loosened[0], *sorted(lines)), loosened[1])
            seen |= lines


def _add_differences(
    layouts: Layouts, found: dict[Way, Found], others: Sequence[_engine.Program], seconds: float
) -> None:
    """What the prover finds to tell other programs from this one by."""
    program = layouts.compiled
    for number, other in enumerate(others):
        if any(is_told(program, other, one) for one in found.values()):
            continue
        try:
            example = compare(program, other, BOUNDS, seconds).example
        except ValueError:  # other tables: the check of the contract tells them apart
            continue
        if example is None or example.before or any(cell[-1] for cell in example.registers):
            continue
        data = {"say": "", **fixed(example, program, layouts.headers(()))}
        loosened = _loosened(layouts, data, partial(_tells, program, other))
        if loosened is not None and is_told(program, other, loosened[1]):
            found.setdefault((*loosened[0], number), loosened[1])


def is_told(program: _engine.Program, other: _engine.Program, found: Found) -> bool:
    """Whether a check with this scenario would fail with the other program."""
    layouts = Layouts(program)
    cases = (_case(layouts, found.data, seed, hidden) for hidden in (False, True) for seed in SEEDS)
    return any(_tells(program, other, case, {}) for case in cases)


def _tells(program: _engine.Program, other: _engine.Program, case: Case, _: Data) -> bool:
    try:
        return sent(program, case) != sent(other, case)
    except ValueError:  # tables that it has not
        return True


def _meets(lines: Set[int], case: Case, trace: Data) -> bool:
    return lines <= _met(trace)


def _is_there(case: Case, trace: Data) -> bool:
    return True


def _lines(layouts: Layouts, data: Data) -> set[int]:
    """The lines that the packet meets; none if its state cannot be written down."""
    try:
        case = _case(layouts, data, "1", False)
        return _met(_traced(layouts.compiled, case))
    except (ScenarioError, ValueError):
        return set()


def _met(trace: Data) -> set[int]:
    steps = (step for packet in trace["packets"] for step in packet["steps"])
    return {step["line"] for step in steps if "line" in step}


def _claimed(layouts: Layouts, seconds: float) -> Iterator[Data]:
    """The prover's packets, and those for the other entries of the program that they might hit."""
    program = layouts.compiled
    followed = _engine.follow(program, Solver(), BOUNDS, seconds, MOST)
    for data in _written(layouts, followed):
        yield data
        yield from _for_entries(program, data)
        yield from _for_defaults(layouts, data)


def _written(layouts: Layouts, claimed: Iterable[Data]) -> Iterator[Data]:
    """Scenarios of the prover's packets. What packets before them have left behind is not drawn."""
    program = layouts.compiled
    for one in claimed:
        if not any(value for _, _, value in one["registers"]):
            updates = tuple(one["updates"])
            example = Example(one["port"], one["packet"], updates, (), ([], []))
            yield {"say": "", **fixed(example, program, layouts.headers(()))}


def _for_defaults(layouts: Layouts, data: Data) -> Iterator[Data]:
    """The packet with other default actions for those of its tables that have no key: such a table
    does only what the control plane says."""
    program = layouts.compiled
    actions = {action["name"]: action for action in program.summary["actions"]}
    try:
        met = _way(_traced(program, _case(layouts, data, "1", False)))[1]
    except (ScenarioError, ValueError):  # a state that a scenario cannot write down
        return
    for table in program.summary["tables"]:
        if table["keys"] or table["name"] not in met:
            continue
        for name in table["actions"]:
            if not actions[name]["params"]:
                continue
            other = copy.deepcopy(data)
            params = {
                param["name"]: drawn(other, param["name"].lower(), param["width"])
                for param in actions[name]["params"]
            }
            row = {"table": table["name"], "action": name.rpartition(".")[2], "params": params}
            other["default"] = [row]
            yield other


def _for_entries(program: _engine.Program, data: Data) -> Iterator[Data]:
    """The packet with the fields that the program's own entries ask for."""
    for table in program.summary["tables"]:
        if not table["const_entries"]:
            continue
        for entry in _engine.Switch(program).entries(table["name"]):
            other = copy.deepcopy(data)
            packet = other["send"][0]["packet"]
            for key, match in entry["matches"].items():
                header, field = place(key)
                if field in packet.get(header, {}) and not isinstance(match, DontCare):
                    packet[header][field] = match.low if isinstance(match, Range) else match.value
            if other != data:
                yield other


def _loosened(layouts: Layouts, data: Data, shows: Shows = _is_there) -> tuple[Way, Found] | None:
    """The way of a scenario, and the scenario with all let go that does not lead off the way and
    `shows` what it is for."""
    try:
        case = _case(layouts, data, "1", False)
        way, tables, fate = _way(_traced(layouts.compiled, case))
        if _is_vague(layouts.compiled, case):
            return None
    except (ScenarioError, ValueError):  # a state that a scenario cannot write down
        return None
    for change in changes(layouts.compiled, data):
        other = copy.deepcopy(data)
        change(other)
        if other != data and _leads(layouts, other, way, shows):
            data = other
    for send in _nearby(layouts, data):
        other = {**data, "send": [*data["send"], send]}
        if len(other["send"]) <= MOST_SENT and not _is_ever_vague(layouts, other):
            data = other
    return way, Found(_whole(data), tables, fate)


def _nearby(layouts: Layouts, data: Data) -> Iterator[Data]:
    """The packet with the next number below and above in each field that decides its way: what is
    compared with the wrong sign shows there."""
    widths = layouts.headers(())
    for header, fields in data["send"][0]["packet"].items():
        for field, value in fields.items() if header in widths else ():
            if isinstance(value, int):
                most = (1 << widths[header][field]) - 1
                for near in (value - 1, value + 1):
                    if 0 <= near <= most:
                        send = copy.deepcopy(data["send"][0])
                        send["packet"][header][field] = near
                        yield send


def _case(layouts: Layouts, data: Data, seed: str, hidden: bool) -> Case:
    scenario = Scenario.model_validate(_whole(data))
    return make_case(scenario, Kit({}, {}, {}), layouts, seed, hidden=hidden)


def _whole(data: Data) -> Data:
    """Without entries that were let go."""
    left = [entry for entry in data.get("entry", []) if entry is not None]
    rest = {name: value for name, value in data.items() if name != "entry"}
    return {**rest, "entry": left} if left else rest


def _leads(layouts: Layouts, data: Data, way: Way, shows: Shows) -> bool:
    """Whether all that may be drawn of a scenario takes the same way, and nearly all of it shows
    what it is for: what is stored where it stands already cannot be seen."""
    missed = 0
    for hidden in (False, True):
        for seed in range(TRIES * (1 + 2 * hidden)):
            try:
                case = _case(layouts, data, str(seed), hidden)
                trace = _traced(layouts.compiled, case)
                if _way(trace)[0] != way or _is_vague(layouts.compiled, case):
                    return False
            except (ScenarioError, ValueError):
                return False
            missed += not shows(case, trace)
    return missed <= MISSED


def _traced(program: _engine.Program, case: Case) -> dict[str, Any]:
    switch = _engine.Switch(program)
    switch.write(list(case.updates))
    return inject_traced(switch, case.sendings[0])


def _way(trace: Data) -> tuple[Way, tuple[str, ...], str]:
    """What happens to a packet, without values: where each step stands, which tables it meets, and
    how it ends."""
    steps: list[Any] = []
    tables: dict[str, None] = {}
    for packet in trace["packets"]:
        for step in packet["steps"]:
            if step["kind"] in _VALUES:
                continue
            steps.append((step["kind"], step.get("line"), step.get("action"), step.get("hit")))
            if step["kind"] == "table":
                tables[step["table"]] = None
        steps.append(packet["fate"]["kind"])
    return tuple(steps), tuple(tables), trace["packets"][0]["fate"]["kind"]


def _is_ever_vague(layouts: Layouts, data: Data) -> bool:
    for hidden in (False, True):
        for seed in range(TRIES):
            try:
                if _is_vague(layouts.compiled, _case(layouts, data, str(seed), hidden)):
                    return True
            except (ScenarioError, ValueError):
                return True
    return False


def _is_vague(program: _engine.Program, case: Case) -> bool:
    """Whether what is sent depends on what P4 leaves undefined: no answer could be right."""
    return any(sent(program.with_undefined(seed), case) != sent(program, case) for seed in (1, 2))


def sent(program: _engine.Program, case: Case) -> list[list[tuple[int, bytes]]]:
    """What comes out for each packet of a case. Raises ValueError for entries that do not fit."""
    switch = _engine.Switch(program)
    switch.write(list(case.updates))
    return [sorted(inject(switch, sending)) for sending in case.sendings]
