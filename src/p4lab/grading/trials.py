"""The fates of all generated mutants of a lab, by several processes, remembered from run to run.

What is remembered lies in `.lab/mutants/LAB.jsonl`, a line for each mutant. That a mutant equals
the solution holds as long as the programs and what the lab promises of its entries are as they
were; that it is killed, as long as the checks are, too. Only what survived is tried again when a
case was found since.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from p4lab.grading.course import FOUND, load
from p4lab.grading.generated import Fate, Mutant, Trial
from p4lab.grading.proofs import bounds_of, notes_of
from p4lab.paths import STATE

REMEMBERED = STATE / "mutants"


def fates(
    trial: Trial, mutants: Sequence[Mutant], workers: int | None = None, remember: bool = True
) -> Iterator[tuple[Mutant, Fate]]:
    """Each mutant with its fate, as they become known. Raises LabError."""
    memory = Memory(trial, REMEMBERED / f"{trial.course.name}.jsonl" if remember else None)
    left = []
    for mutant in mutants:
        known = memory.find(mutant)
        if known is None:
            left.append(mutant)
        else:
            yield mutant, known
    if not left:
        return
    count = min(workers or os.cpu_count() or 1, len(left))
    given = (trial.course.name, trial.seed, trial.seconds, [mutant.digest for mutant in left])
    # Spawned, since whoever asks may show progress with a thread, which a fork would not survive.
    context = multiprocessing.get_context("spawn")
    with context.Pool(count, _begin, given) as pool:
        for number, told in pool.imap_unordered(_fate, range(len(left))):
            fate = Fate.of(told)
            memory.keep(left[number], fate)
            yield left[number], fate


_trial: Trial
_mutants: list[Mutant]


def _begin(lab: str, seed: int, seconds: float, digests: list[str]) -> None:
    """In a worker: the lab, and the mutants that are asked for by number."""
    global _trial, _mutants
    _trial = Trial(load(lab), seed, seconds)
    by_digest = {mutant.digest: mutant for mutant in _trial.mutants}
    _mutants = [by_digest[digest] for digest in digests]


def _fate(number: int) -> tuple[int, dict[str, Any]]:
    return number, _trial.fate(_mutants[number]).to_json()


class Memory:
    """Fates of earlier runs, and a place for more; without a `path` nothing is remembered."""

    def __init__(self, trial: Trial, path: Path | None) -> None:
        self._path = path
        program = _digest_of_program(trial)
        checks = _digest([program, _digest_of_checks(trial)])
        self._now = {
            "program": program,
            "checks": checks,
            "found": _digest([checks, _digest_of_found(trial)]),
        }
        self._known = dict(self._read())

    def find(self, mutant: Mutant) -> Fate | None:
        """What became of a mutant, if that still holds."""
        line = self._known.get(self._key(mutant))
        if line is None:
            return None
        fate = Fate.of(line["fate"])
        rests_on = "found" if fate.survives else "checks" if fate.kind == "killed" else "program"
        return fate if line[rests_on] == self._now[rests_on] else None

    def keep(self, mutant: Mutant, fate: Fate) -> None:
        """Writes a fate down; on a full disk it is only known for as long as this runs."""
        key = self._key(mutant)
        line = self._known[key] = {"key": key, **self._now, "fate": fate.to_json()}
        if self._path is not None:
            with suppress(OSError):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")

    def _key(self, mutant: Mutant) -> str:
        return _digest([mutant.digest, mutant.file, mutant.text])

    def _read(self) -> Iterator[tuple[str, dict[str, Any]]]:
        if self._path is None or not self._path.is_file():
            return
        for text in self._path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):  # the last line may be cut
                line = json.loads(text)
                yield line["key"], line


def _digest_of_program(trial: Trial) -> str:
    """Of all that a proof rests on."""
    course = trial.course
    parts = [course.name, repr(bounds_of(course.name)), repr(course.offered)]
    parts += [notes_of(course.name, program) for program in trial.programs.values()]
    for texts in (trial.files, trial.reasons):
        parts += [text for item in sorted(texts.items()) for text in item]
    return _digest(parts)


def _digest_of_checks(trial: Trial) -> str:
    """Of the checks and what they share, but for cases that were found."""
    course = trial.course
    parts = [str(trial.seed)]
    for path in [course.folder / "lab.toml", *sorted((course.folder / "checks").rglob("*"))]:
        name = path.relative_to(course.folder).as_posix()
        if path.is_file() and not name.startswith(FOUND):
            parts += [name, _digest_of_file(path)]
    return _digest(parts)


def _digest_of_found(trial: Trial) -> str:
    course = trial.course
    files = [name for check in course.checks for name in course.found(check)]
    return _digest(
        [text for name in files for text in (name, _digest_of_file(course.folder / name))]
    )


def _digest_of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest(parts: list[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
