"""The way of a packet through a program with probes: which statements ran, and what each did.

Two ways are compared from one table, extern call or parser state to the next: what a program has
written by then has to be alike, in whatever order it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from p4lab.grading.probes import PROBE, Statement
from p4lab.steps import short

Sync = tuple[Any, ...]
"""What two programs have to do alike: a table with its key and result, an extern call, a state"""

END: Sync = ("end",)

Packets = Sequence[Mapping[str, Any]]


@dataclass(eq=False)
class Ran:
    """A statement that ran, with the steps of the trace that are its own."""

    statement: Statement
    steps: list[Mapping[str, Any]] = field(default_factory=list)


Change = tuple[Mapping[str, Any], Ran | None]


@dataclass
class Stretch:
    """What happened up to a `sync` event, in order: the statements that `ran`; the `steps` that are
    changes, each with the statement that made it; the `last` of each variable, and those of them
    that are still to be seen at the end, the `changes`: a variable may be again what it was. `step`
    is that of the event, `owner` the statement that it belongs to (None: an architecture's own)."""

    ran: list[Ran] = field(default_factory=list)
    last: dict[str, Change] = field(default_factory=dict)
    changes: dict[str, Change] = field(default_factory=dict)
    steps: list[Change] = field(default_factory=list)
    sync: Sync = END
    step: Mapping[str, Any] | None = None
    owner: Ran | None = None
    _before: dict[str, str] = field(default_factory=dict)

    def note(self, step: Mapping[str, Any], owner: Ran | None) -> None:
        name = step["name"]
        self.last[name] = (step, owner)
        self.steps.append((step, owner))
        if self._before.setdefault(name, step["before"]) == step["after"]:
            self.changes.pop(name, None)
        else:
            self.changes[name] = (step, owner)


def stretches(
    packets: Packets, statements: Mapping[int, Statement], ignore: frozenset[str]
) -> Iterator[Stretch]:
    """The way of a packet and of all that was made from it, packet by packet; fields of `ignore` do
    not matter."""
    for packet in packets:
        found = [Stretch()]
        ran: list[Ran] = []
        for step in packet["steps"]:
            number = probe_of(step)
            if number is not None:
                if number in statements:
                    ran.append(Ran(statements[number]))
                    found[-1].ran.append(ran[-1])
                continue
            owner = _owner(step, ran)
            step = _scoped(step, owner)
            if owner is not None and step["kind"] not in ("block", "state"):
                owner.steps.append(step)
            if step["kind"] == "change":
                found[-1].note(step, owner)
            elif (sync := sync_of(step, ignore)) is not None:
                last = found[-1]
                last.sync, last.step, last.owner = sync, step, owner
                found.append(Stretch())
        fate = packet["fate"] or {"kind": "lost"}
        last = found[-1]
        last.sync = ("fate", packet["kind"], fate["kind"], fate.get("port"))
        last.step, last.owner = fate, ran[-1] if ran else None
        yield from found
    yield Stretch()


def probe_of(step: Mapping[str, Any]) -> int | None:
    """The number that a probe has left, if the step is one's."""
    if step["kind"] != "change" or step["name"].rpartition(".")[2] != PROBE:
        return None
    return int(step["after"], 0)


def _owner(step: Mapping[str, Any], ran: Sequence[Ran]) -> Ran | None:
    """The statement that a step is in, the last such one; else the last that ran at all."""
    if not ran or step["kind"] in ("block", "state"):
        return ran[-1] if ran else None
    line = step.get("line")
    for item in reversed(ran):
        here = item.statement
        if line is not None and here.line <= line <= here.last and _same_file(step, here.file):
            return item
    return ran[-1]


def _scoped(step: Mapping[str, Any], owner: Ran | None) -> Mapping[str, Any]:
    """The step; a local variable has the name of its control or function in front, since several
    have one of the same name, and a parameter that of what is called."""
    if step["kind"] != "change" or "." in step["name"] or owner is None:
        return step
    statement, name = owner.statement, step["name"]
    is_own = statement.target == name or not statement.called
    return {**step, "name": f"{statement.unit if is_own else statement.called}:{name}"}


def unscoped(name: str) -> str:
    """A variable's name as its source has it."""
    return name.rpartition(":")[2]


def _same_file(step: Mapping[str, Any], file: str) -> bool:
    return str(step.get("file", "")).rpartition("/")[2] == file.rpartition("/")[2]


def sync_of(step: Mapping[str, Any], ignore: frozenset[str]) -> Sync | None:
    """What a step asks two programs to do alike; None for one that may be anywhere."""
    kind = step["kind"]
    if kind == "table":
        key = tuple((item["name"], item["value"]) for item in step["key"])
        args = tuple(item["value"] for item in step["args"])
        return kind, step["table"], key, step["hit"], step["action"], args
    if kind == "extract":
        header = short(step["header"])
        told = step["fields"].items()
        fields = tuple(item for item in told if not ignored(f"{header}.{item[0]}", ignore))
        return kind, step["header"], fields
    if kind == "extern":  # a checksum depends on fields that may not matter
        name, _, said = step["text"].partition("(")
        return kind, name, "" if "checksum" in name else said
    if kind in ("state", "block"):
        return kind, step["name"]
    return (kind, step["text"]) if kind == "reject" else None


def ignored(name: str, ignore: frozenset[str]) -> bool:
    """Whether a field such as `hdr.bier.ttl`, or the validity of a header, does not matter."""
    header, field = name.split(".")[-2:]
    if field == "$valid":
        return header in ignore
    return bool({f"{header}.{field}", f"{header}.*", header} & ignore)


@dataclass(frozen=True)
class Parting:
    """A stretch in which a student's way is not the reference's: the two, the variables that hold
    something else at its end, and what ran `before` in the student's and `until` then in the
    reference's. `at` is the number of the stretch, from 0."""

    mine: Stretch
    theirs: Stretch
    names: tuple[str, ...]
    before: tuple[Ran, ...]
    until: tuple[Ran, ...]
    at: int


def partings(
    mine: Iterable[Stretch], theirs: Iterable[Stretch], matters: Callable[[str], bool]
) -> Iterator[Parting]:
    """Where two ways part, in order, up to where they go apart for good. Only variables that
    matter count."""
    before: list[Ran] = []
    until: list[Ran] = []
    for at, (right, own) in enumerate(zip(mine, theirs, strict=False)):
        names = tuple(
            name
            for name in dict.fromkeys([*right.changes, *own.changes])
            if after(right, name) != after(own, name) and matters(name)
        )
        if names or right.sync != own.sync:
            yield Parting(right, own, names, tuple(before), tuple(until), at)
        if right.sync[:2] != own.sync[:2]:
            return
        before += own.ran
        until += right.ran


def after(stretch: Stretch, name: str) -> str | None:
    """What a variable was changed to; None if it was not."""
    change = stretch.changes.get(name)
    return str(change[0]["after"]) if change else None
