"""Scenarios of a solution: one for each way that packets take through it.

The prover finds a packet and entries for each way. What does not decide the way is then let go:
each field of the packet, each parameter of an entry and the port stay as they are only if other
values of theirs lead elsewhere. So hidden cases draw all that may be drawn.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import Any

from p4lab import _engine
from p4lab.grading import frames
from p4lab.grading.course import inject, inject_traced
from p4lab.grading.found import fixed
from p4lab.grading.frames import PAYLOAD
from p4lab.grading.scenario import Case, Kit, Scenario, ScenarioError, make_case
from p4lab.model.notation import Notation
from p4lab.prove.compare import Bounds, Example
from p4lab.prove.solver import Solver

Data = dict[str, Any]
Way = tuple[Any, ...]
BOUNDS = Bounds(entries=1, passes=2, cables=(1, 508), undefined=False)
MOST = 40  # ways that are looked at
TRIES = 4  # other values, for students and for the grader, before a field counts as free
LAST_PORT = 508
MOST_SENT = 9  # packets of a scenario
SHOWN_BITS = 8  # fields from this width on have numbers that students see
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


@dataclass(frozen=True)
class Found:
    """A scenario, and what its packet meets: names of tables, and how it ends. `about` is the
    clause that tells it from the others."""

    data: Data
    tables: tuple[str, ...]
    fate: str
    about: str = ""


def scenarios(program: _engine.Program, seconds: float) -> list[Found]:
    """A scenario for each way, the longest ways first."""
    layouts = Layouts(program)
    found: dict[Way, Found] = {}
    for data in _claimed(layouts, seconds):
        loosened = _loosened(layouts, data)
        if loosened is not None:
            found.setdefault(loosened[0], loosened[1])
    ways = [found[way] for way in sorted(found, key=lambda way: (-len(way), str(way)))]
    return list(_told_apart(ways, layouts.headers(())))


def _claimed(layouts: Layouts, seconds: float) -> Iterator[Data]:
    """The prover's packets, and those for the other entries of the program that they might hit."""
    program = layouts.compiled
    for claimed in _engine.follow(program, Solver(), BOUNDS, seconds, MOST):
        if any(value for _, _, value in claimed["registers"]):
            continue  # what packets before it have left behind is not drawn
        updates = tuple(claimed["updates"])
        example = Example(claimed["port"], claimed["packet"], updates, (), ([], []))
        data = {"say": "", **fixed(example, program, layouts.headers(()))}
        yield data
        yield from _for_entries(program, data)
        yield from _for_defaults(layouts, data)


def _for_defaults(layouts: Layouts, data: Data) -> Iterator[Data]:
    """The packet with other default actions for those of its tables that have no key: such a table
    does only what the control plane says."""
    program = layouts.compiled
    actions = {action["name"]: action for action in program.summary["actions"]}
    try:
        met = _way(program, _case(layouts, data, "1", False))[1]
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
                param["name"]: _drawn(other, param["name"].lower(), param["width"])
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
                header, field = _place(key)
                if match[0] != "any" and field in packet.get(header, {}):
                    packet[header][field] = match[1]
            if other != data:
                yield other


def _place(key: str) -> tuple[str, str]:
    """Header and field of a key's name; of hdr.ipv4.ttl these are ipv4 and ttl."""
    path, _, field = key.rpartition(".")
    return path.rpartition(".")[2], field


def _loosened(layouts: Layouts, data: Data) -> tuple[Way, Found] | None:
    try:
        case = _case(layouts, data, "1", False)
        way, tables, fate = _way(layouts.compiled, case)
        if _is_vague(layouts.compiled, case):
            return None
    except (ScenarioError, ValueError):  # a state that a scenario cannot write down
        return None
    for change in _changes(layouts.compiled, data):
        other = copy.deepcopy(data)
        change(other)
        if other != data and _leads(layouts, other, way):
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


def _leads(layouts: Layouts, data: Data, way: Way) -> bool:
    """Whether all that may be drawn of a scenario takes the same way."""
    for hidden in (False, True):
        for seed in range(TRIES * (1 + 2 * hidden)):
            try:
                case = _case(layouts, data, str(seed), hidden)
                if _way(layouts.compiled, case)[0] != way or _is_vague(layouts.compiled, case):
                    return False
            except (ScenarioError, ValueError):
                return False
    return True


def _way(program: _engine.Program, case: Case) -> tuple[Way, tuple[str, ...], str]:
    """What happens to the packet of a case, without values: where each step stands."""
    switch = _engine.Switch(program)
    switch.write(list(case.updates))
    trace = inject_traced(switch, case.sendings[0])
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


def _changes(program: _engine.Program, data: Data) -> Iterator[Any]:
    """What may be let go, one after the other: keys with their fields, parameters, fields, port."""
    widths = frames.layout_of(program)
    params = {
        action["name"].rsplit(".", 1)[-1]: {
            param["name"]: param["width"] for param in action["params"]
        }
        for action in program.summary["actions"]
    }
    packet = data["send"][0]["packet"]
    for kind in ("session", "group", "cell"):
        yield _without(kind)
    for at in reversed(range(len(data.get("entry", [])))):
        yield _without_entry(at)
    for at, entry in enumerate(data.get("entry", [])):
        for key, value in entry["match"].items():
            header, field = _place(key)
            width = widths.get(header, {}).get(field)
            if width is not None and field in packet.get(header, {}):
                yield _key(at, key, value, header, field, width)
        for name in entry["params"]:
            width = params.get(entry["action"], {}).get(name)
            if width is not None:
                yield _param(at, name, width)
    for header, fields in packet.items():
        if isinstance(fields, Mapping):
            for field in fields:
                yield _field(header, field, widths.get(header, {}).get(field, 0))
    yield _payload
    yield _port


def _without(kind: str) -> Any:
    def change(data: Data) -> None:
        data.pop(kind, None)

    return change


def _without_entry(at: int) -> Any:
    """An entry that is in the way of none stays an empty place, so that numbers stay."""

    def change(data: Data) -> None:
        data["entry"][at] = None

    return change


def _drawn(data: Data, name: str, width: int, most: int | None = None) -> str:
    """A number of so many bits to be drawn; gives how it is written."""
    draw = data.setdefault("draw", {})
    own = name
    while own in draw or iskeyword(own):
        own += "_"
    draw[own] = {"from": 1, "to": most or (1 << width) - 1}
    return f"={own}"


def _key(at: int, key: str, value: Any, header: str, field: str, width: int) -> Any:
    """The entry is for whatever the packet has there."""

    def change(data: Data) -> None:
        if data["entry"][at] is None:
            return
        name = _drawn(data, field.lower(), width)
        is_prefix = isinstance(value, str) and "/" in value
        written = f"=({name[1:]}, {width})" if is_prefix else name
        if isinstance(value, str) and "&&&" in value:
            written = f"=({name[1:]}, {(1 << width) - 1})"
        data["entry"][at]["match"][key] = written
        data["send"][0]["packet"][header][field] = name

    return change


def _param(at: int, name: str, width: int) -> Any:
    def change(data: Data) -> None:
        most = LAST_PORT if width == 9 else None
        if data["entry"][at] is None:
            return
        data["entry"][at]["params"][name] = _drawn(data, name.lower(), width, most)

    return change


def _field(header: str, field: str, width: int) -> Any:
    """Small numbers for students, anything for the grader; flags are 0 for students."""

    def change(data: Data) -> None:
        fields = data["send"][0]["packet"][header]
        if isinstance(fields[field], str) and fields[field].startswith("="):
            return
        if width >= SHOWN_BITS:
            fields[field] = "any"
        else:
            del fields[field]

    return change


def _payload(data: Data) -> None:
    if PAYLOAD in data["send"][0]["packet"]:
        data["send"][0]["packet"][PAYLOAD] = {"shown": "P4", "from": 0, "to": 100}


def _port(data: Data) -> None:
    data["send"][0]["port"] = _drawn(data, "port_in", 9, LAST_PORT)


def _told_apart(ways: Sequence[Found], widths: Mapping[str, Mapping[str, int]]) -> Iterator[Found]:
    """What each is about. Of those that meet and become the same, it names the fields whose numbers
    are not the same in all."""
    alike: dict[tuple[str, str], list[Found]] = {}
    for one in ways:
        alike.setdefault((_told(one, {}), one.fate), []).append(one)
    for one in ways:
        others = [_decided(other) for other in alike[_told(one, {}), one.fate]]
        named: dict[str, list[str]] = {}
        for (header, field), value in _decided(one).items():
            if any(other.get((header, field)) != value for other in others):
                text = Notation().text(field, value, widths[header][field])
                named.setdefault(header, []).append(f"{field} {text}")
        yield replace(one, about=_told(one, named))


def _decided(found: Found) -> dict[tuple[str, str], int]:
    """The numbers in the packet that decide its way, by header and field."""
    packet = found.data["send"][0]["packet"].items()
    return {
        (header, field): value
        for header, fields in packet
        if header != PAYLOAD and isinstance(fields, Mapping)
        for field, value in fields.items()
        if isinstance(value, int)
    }


def _told(found: Found, named: Mapping[str, Sequence[str]]) -> str:
    packet = [name for name in found.data["send"][0]["packet"] if name != PAYLOAD]
    headers = [f"{one} ({', '.join(named[one])})" if one in named else one for one in packet]
    what = f"A packet with {', '.join(headers)} comes in" if packet else "A short packet comes in"
    entries = list(dict.fromkeys(entry["table"] for entry in found.data.get("entry", [])))
    if not entries:
        return what
    has = "has an entry" if len(entries) == 1 else "have entries"
    return f"{what}; {' and '.join(entries)} {has}"
