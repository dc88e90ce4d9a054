"""The first checks: it compiles, the control plane finds its tables, packets are parsed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from p4lab import _engine
from p4lab.grading import culprit, difference, frames, printed
from p4lab.grading.course import Check, Course, Defines, Judged, inject_traced
from p4lab.grading.difference import Pair, Wanted
from p4lab.grading.record import Story
from p4lab.grading.work import Work
from p4lab.plurals import count_of


def compiles(course: Course, check: Check, work: Work) -> Story | None:
    """With every set of macros that a case may have; with those of the check if it has its own."""
    settings = [course.defines_of(check)] if check.defines else course.settings
    for defines in settings:
        compilation = work.compiled(defines)
        if compilation.program is None:
            return compile_story(compilation, work, defines)
        try:
            course.switch(compilation.program)
        except ValueError as error:
            steps = (f"a switch is to run {work.program}",)
            hint = "A switch has little memory: what does the program need all of this for?"
            return Story(steps, f"{error}.", "does not fit", hint)
    return None


def compile_story(compilation: _engine.Compilation, work: Work, defines: Defines) -> Story:
    told = "".join(f" -D{name}={value}" for name, value in defines)
    steps = (f"{work.program} is compiled{told}",)
    errors = [item for item in compilation.diagnostics if item["severity"] == "error"]
    if not errors:
        summary = "The program has no package instance called main."
        return Story(steps, summary, "does not compile", "")
    first = errors[0]
    rest = len(errors) - 1
    more = f" ({count_of(rest, 'more error')})" if rest else ""
    hint = " ".join(
        part
        for part in (first["hint"], f"More: p4lab explain {first['code']}" if first["code"] else "")
        if part
    )
    return Story(
        steps,
        f"{first['message']}{more}",
        "does not compile",
        hint,
        place=culprit.place(first, work.files),
        why=f"[{first['code']}]",
        listing=printed.errors(compilation),
    )


def contract(course: Course, check: Check, work: Work) -> Story | None:
    """The control plane writes tables by name: they must be as in the reference."""
    defines = course.defines_of(check)
    program = work.compiled(defines).program
    if program is None:
        return compile_story(work.compiled(defines), work, defines)
    theirs, ours = program.summary, course.program(defines).summary
    steps = ("the control plane looks for the tables and actions that it writes",)
    for summary, where in _broken_contract(ours, theirs, course.contract(defines)):
        line = culprit.place(where, work.files) if where else None
        hint = "Tables, keys, actions and parameters keep the names and widths of the starter."
        return Story(steps, summary, "contract", hint, place=line)
    return None


def _broken_contract(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], needed: Container[str]
) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    tables = {item["name"]: item for item in theirs["tables"]}
    actions = {item["name"]: item for item in theirs["actions"]}
    wanted = {item["name"]: item for item in ours["actions"]}
    for table in ours["tables"]:
        name = table["name"].rsplit(".", 1)[-1]
        found = tables.get(table["name"])
        if found is None:
            if table["name"] in needed:
                yield f"The table {name} is not there ({table['name']}).", None
            continue
        keys = [(key["name"], key["match_kind"], key["width"]) for key in table["keys"]]
        their_keys = [(key["name"], key["match_kind"], key["width"]) for key in found["keys"]]
        if keys != their_keys:
            yield f"The table {name} has the key {_key(their_keys)}, not {_key(keys)}.", found
        for action in table["actions"]:
            short = action.rsplit(".", 1)[-1]
            if action not in found["actions"]:
                yield f"The table {name} does not offer the action {short}.", found
                continue
            params = [(p["name"], p["width"]) for p in wanted[action]["params"]]
            own = [(p["name"], p["width"]) for p in actions[action]["params"]]
            if params != own:
                yield (
                    f"The action {short} has the parameters {_params(own)}, not {_params(params)}.",
                    actions[action],
                )


def absent(tables: Iterable[str], program: _engine.Program, steps: tuple[str, ...]) -> Story | None:
    """The first of the tables that is not part of the program, as a story."""
    there = [table["name"] for table in program.summary["tables"]]
    for table in tables:
        if any(name == table or name.endswith(f".{table}") for name in there):
            continue
        brief = table.rsplit(".", 1)[-1]
        hint = (
            "A table exists only where its control is applied: what should apply the control "
            f"that holds {brief}?"
        )
        return Story(
            (*steps, f"entries are written into the table {brief}"),
            f"The table {brief} is not part of the program.",
            "table not applied",
            hint,
        )
    return None


def _key(keys: list[tuple[str, str, int]]) -> str:
    return ", ".join(f"{name}: {kind} ({width} bits)" for name, kind, width in keys) or "nothing"


def _params(params: list[tuple[str, int]]) -> str:
    return ", ".join(f"bit<{width}> {name}" for name, width in params) or "nothing"


def parses(
    course: Course, check: Check, judged: Judged, work: Work, program: _engine.Program
) -> Story | None:
    """Whether every packet's headers are found as the reference finds them."""
    reference = course.program(judged.case.defines)
    known = course.known(judged.case.defines)
    switches = [course.set_up(one, judged.case) for one in (reference, program)]
    for sending in judged.case.sendings:
        ours, theirs = (inject_traced(one, sending)["packets"][0] for one in switches)
        mine, found = frames.parsed(ours), frames.parsed(theirs)
        if mine == found:
            continue
        pair = Pair(Wanted(sending.port, mine), difference.Out(sending.port, b"", found))
        told = difference.describe(pair, known)
        states = [
            step for step in theirs["steps"] if step["kind"] in ("state", "extract", "reject")
        ]
        return Story(
            (sending.text,),
            "The parser finds different headers from those in the packet.",
            difference.PARSER,
            course.hint(check, difference.PARSER),
            (replace(told, expected_port=None, got_port=None),),
            place=culprit.place(states[-1], work.files) if states else None,
            why=states[-1]["text"] if states else "",
        )
    return None
