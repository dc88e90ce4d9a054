"""Proofs for a class: each program once, and what is found in one is tried on all.

Nobody's points depend on the luck of the solver with one program: a counterexample of anybody's is
given to everybody whose check has passed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from p4lab.grading.attempts import FAILS, MISSING, Attempt, in_order, sampled, with_attempt
from p4lab.grading.course import Course
from p4lab.grading.folder import Hands, asking, enough
from p4lab.grading.found import Found, as_toml
from p4lab.grading.journal import Journal
from p4lab.grading.workers import Task
from p4lab.grading.writers.layout import Graded
from p4lab.spread.cluster import collect

PROOFS = "proofs.json"
"""The file of results that a regrade takes them from"""

_SPARE = re.compile(r"((?:[ \t\r\f\v]|//[^\n]*|/\*.*?\*/)+)|\"[^\"\n]*\"", re.DOTALL)

Attempts = Mapping[str, Attempt]
"""By program"""


@dataclass(frozen=True)
class Proven:
    """A class after its proofs: the rows, the cases that were found, and what came of each
    program."""

    rows: tuple[Graded, ...]
    cases: tuple[Found, ...]
    attempts: Attempts


def program_of(files: Mapping[str, str]) -> str:
    """Equal for files that are the same but for comments and white space."""
    return _digest(json.dumps([(name, _plain(files[name])) for name in sorted(files)]))


def _plain(text: str) -> str:
    """What a program is made of, line by line, since a preprocessor goes by lines; a text in which
    lines may be continued stays as it is."""
    if "\\" in text:
        return text
    spare = _SPARE.sub(lambda found: " " if found[1] else found[0], text)
    return "\n".join(line.strip() for line in spare.splitlines() if line.strip())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def provable(course: Course, row: Graded) -> Mapping[str, str] | None:
    """The program to prove for a submission: its own if all its cases pass. If what fails is in
    parts that have files of their own, that with the reference's files in place of these, so that a
    mistake in one part hides no other; None if no part is left."""
    if row.verdict.passed:
        return row.files
    homes = {part.id: part.file for part in course.parts}
    failing = {homes.get(one.part) for one in row.verdict.checks if one.status != "passed"}
    finished = {file for file in homes.values() if file and file.endswith(".p4")} - failing
    if row.verdict.trouble or None in failing or not finished:
        return None
    return {
        name: course.sources[name] if name in failing else text for name, text in row.files.items()
    }


def prove(
    course: Course,
    rows: Sequence[Graded],
    task: Task,
    known: Attempts,
    hands: Hands,
    *,
    dask: str | None = None,
    journal: Journal | None = None,
    most: float | None = None,
    begin: Callable[[int], None] = lambda _: None,
    done: Callable[[object], None] = lambda _: None,
) -> Proven:
    """Tries to prove every program that has passed all its cases (`provable`) and that `known` does
    not have, and charges everybody with what was found. `most` seconds of one core are shared by
    all these programs. `begin` hears how many there are to prove, `done` of each. Raises
    GradingError."""
    wanted = filter(None, (provable(course, row) for row in rows))
    passed = {program_of(files): files for files in wanted}
    if task.prove is not None and most is not None and passed:
        task = replace(task, prove=min(task.prove, most / len(passed)))
    attempts = {program: known[program] for program in passed if program in known}
    for program in passed.keys() - attempts.keys():
        kept = journal.find_attempt(program) if journal is not None else None
        if kept is not None:
            attempts[program] = kept
    missing = {name: files for name, files in passed.items() if name not in attempts}
    begin(len(missing))

    def hear(program: str, attempt: Attempt) -> None:
        attempts[program] = attempt
        if journal is not None:
            journal.keep_attempt(program, attempt)
        done(program)

    with asking(hands, len(missing), dask) as ask:
        collect({ask("prove", files, task): name for name, files in missing.items()}, hear)
    cases = in_order([one.found for one in attempts.values() if one.found is not None])
    tried = [_attempt(row, attempts) for row in rows]
    verdicts = {place: row.verdict for place, row in enumerate(rows)}
    judged = [place for place, row in enumerate(rows) if not row.verdict.trouble]
    if cases:
        with asking(hands, enough(len(judged)), dask) as ask:
            waiting = {}
            for place in judged:
                own = _own_first(cases, tried[place])
                waiting[ask("charge", rows[place].files, verdicts[place], own, task)] = place
            verdicts |= collect(waiting, lambda *_: None)
    for place in judged:
        verdicts[place] = with_attempt(verdicts[place], tried[place])
    told = (
        replace(row, verdict=verdicts[place], detail=_joined(row.detail, tried[place].detail))
        for place, row in enumerate(rows)
    )
    return Proven(tuple(told), tuple(cases), attempts)


def _joined(*details: str) -> str:
    return "\n".join(filter(None, details))


def _own_first(cases: Sequence[Found], attempt: Attempt) -> list[Found]:
    return sorted(cases, key=lambda case: case != attempt.found)


def _attempt(row: Graded, attempts: Attempts) -> Attempt:
    return attempts[program_of(row.files)] if row.verdict.passed else sampled(FAILS)


# ---- For the next time --------------------------------------------------------------------------


def files(key: str, proven: Proven) -> dict[str, str]:
    """What an instructor keeps: each case that was found as a scenario for the lab
    (found/CHECK/NAME.toml), and the proofs for the next time."""
    texts = ((case.check, as_toml(case)) for case in proven.cases)
    kept = {f"found/{check}/{_digest(text)[:12]}.toml": text for check, text in texts}
    return {**kept, PROOFS: as_json(key, proven.attempts)}


def as_json(key: str, attempts: Attempts) -> str:
    """The attempts as a file of results; `key` says what they hold for. Without those that the
    grader and not the program has kept from being proven."""
    sound = {
        name: one
        for name, one in sorted(attempts.items())
        if not one.detail and one.proof.told != MISSING
    }
    told = ((name, json.dumps(one.to_json())) for name, one in sound.items())
    inner = ",\n".join(f"{json.dumps(name)}: {text}" for name, text in told)
    return f'{{"key": {json.dumps(key)}, "attempts": {{\n{inner}\n}}}}\n'


def from_json(key: str, text: str) -> dict[str, Attempt]:
    """The attempts of a file that `as_json` wrote; none if they hold for something else, or cannot
    be read."""
    try:
        data = json.loads(text)
        if data["key"] != key:
            return {}
        return {name: Attempt.from_json(one) for name, one in data["attempts"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
