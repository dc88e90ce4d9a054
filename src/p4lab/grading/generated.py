"""Mutants that nobody wrote: the solution with one small mistake each, by operators over its text.

Each is judged with all hidden cases. One that survives is compared with the solution by the prover,
and where that cannot decide, judged with the hidden cases of further seeds. What is left tells
where the checks have a gap, with a packet that goes through it, or what nobody could decide.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from p4lab import _engine
from p4lab.course import marks
from p4lab.course.labs import LabError, home
from p4lab.grading.course import Check, Course, Defines, compile_files, hidden_seeds
from p4lab.grading.judge import first_failed, story_of
from p4lab.grading.proofs import bounds_in, bounds_of, notes_of, unnoted
from p4lab.grading.work import Work
from p4lab.model.entries import Update
from p4lab.model.entries_json import to_json

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = Literal["refused", "same", "killed", "equal", "apart", "undecided"]

FURTHER_SEEDS = 5
"""How many times as many hidden cases are drawn for a mutant that survives the first ones"""


@dataclass(frozen=True)
class Mutant:
    """The solution with one mistake. `text` is the whole of `file`; `digest` names the mistake as
    long as its lines stay as they are."""

    file: str
    line: int
    operator: str
    title: str
    text: str = field(repr=False)
    digest: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.operator}) {self.title}"


@dataclass(frozen=True)
class Fate:
    """What became of a mutant. It is

    - refused by the compiler, or the `same` program to the last instruction,
    - killed by a `check`, the first that it fails,
    - proven equal to the solution, or said to be so in equal.toml, where `why` is from,
    - told apart from it by a case that the checks do not have: `seed` and `check` of one that was
      drawn, or the prover's `example`,
    - undecided, and `why`.
    """

    kind: Kind
    check: str = ""
    why: str = ""
    seed: str = ""
    example: Mapping[str, Any] | None = None

    @property
    def survives(self) -> bool:
        """Whether the checks have a gap, as far as anybody knows."""
        return self.kind in ("apart", "undecided")

    def to_json(self) -> dict[str, Any]:
        """What `of` reads, without what is empty."""
        told = {name: value for name, value in vars(self).items() if value or name == "kind"}
        plain: dict[str, Any] = json.loads(json.dumps(told, default=_plain))
        return plain

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Fate:
        """What `to_json` wrote."""
        return cls(**told)


def _plain(value: Any) -> Any:
    if isinstance(value, Update):
        return to_json(value)
    return value.hex() if isinstance(value, bytes) else list(value)


class _Equal(BaseModel):
    """A table [[equal]]: a mutant that does what the solution does, which the prover cannot see."""

    model_config = ConfigDict(extra="forbid")
    digest: str
    title: str
    reason: Annotated[str, Field(min_length=20)]


class _EqualFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    equal: list[_Equal] = []


@dataclass
class Trial:
    """A lab whose checks are tried: the solution, and the mutants of it."""

    course: Course
    seed: int
    seconds: float = 10.0
    """How long the prover may work on a mutant"""

    @cached_property
    def reference(self) -> dict[str, str]:
        """The solution's files by path, without marks. Raises LabError, MarkError."""
        return {
            name: marks.solution(self.course.sources[name], f"p4/{name}")
            for name in self.course.student.edit
        }

    @cached_property
    def files(self) -> dict[str, str]:
        """All files of the program."""
        return {**self.course.sources, **self.reference}

    @cached_property
    def programs(self) -> dict[Defines, _engine.Program]:
        """The solution, with every set of macros. Raises LabError."""
        _has_mistakes(self.course)
        made = {}
        for defines in self.course.offered:
            program = compile_files(self.course.student.program, self.files, defines).program
            if program is None:
                raise LabError(f"labs/{self.course.name}: the solution does not compile.")
            made[defines] = program
        return made

    @cached_property
    def mutants(self) -> list[Mutant]:
        """All of them, in the order of the text; of what only some macros make part of the program,
        behind the others."""
        seen: Counter[str] = Counter()
        made = []
        for item in self._edits():
            old = self.files[item["file"]]
            text = old[: item["start"]] + item["text"] + old[item["end"] :]
            digest = _digest(item["file"], *_lines(old, item), item["title"])
            seen[digest] += 1
            made.append(
                Mutant(
                    item["file"],
                    item["line"],
                    item["operator"],
                    item["title"],
                    text,
                    _digest(digest, str(seen[digest])),
                )
            )
        return made

    def _edits(self) -> Iterator[Mapping[str, Any]]:
        """Each edit that an operator makes, once, whatever the macros."""
        _has_mistakes(self.course)
        name = self.course.student.program
        edited = [file for file in self.course.student.edit if file.endswith(".p4")]
        known = set()
        for defines in self.course.offered:
            found = _engine.mutations(name, self.files[name], self.files, defines, only=edited)
            for item in found:
                edit = item["file"], item["start"], item["end"], item["text"], item["title"]
                if edit not in known:
                    yield item
                known.add(edit)

    @cached_property
    def reasons(self) -> dict[str, str]:
        """Why mutants are equal to the solution, by digest, as solutions/LAB/equal.toml says.
        Raises LabError."""
        path = home(self.course.name).solutions / self.course.name / "equal.toml"
        return {item.digest: item.reason for item in _equal(path)}

    def answer(self, mutant: Mutant) -> dict[str, str]:
        """What a student would hand in."""
        return {**self.reference, mutant.file: mutant.text}

    def work(self, answer: Mapping[str, str]) -> Work:
        """The program of an answer."""
        files = {**self.course.sources, **answer}
        return Work(self.course.student.program, files, self.course.kit.lints)

    def fate(self, mutant: Mutant) -> Fate:
        """What becomes of a mutant. Raises LabError."""
        files = {**self.files, mutant.file: mutant.text}
        others: dict[Defines, _engine.Program] = {}
        for defines, own in self.programs.items():
            program = compile_files(self.course.student.program, files, defines).program
            if program is None:
                return Fate("refused")
            if not program.is_same_code(own):
                others[defines] = program
        if not others:
            return Fate("same")
        work = self.work(self.answer(mutant))
        check = first_failed(self.course, work, self.seed)
        if check is not None:
            return Fate("killed", check=check.id)
        fate = self._proof(mutant, others)
        return (fate.kind == "undecided" and self._search(work)) or fate

    def _search(self, work: Work) -> Fate | None:
        """Further hidden cases, but for those of networks: they take long, and differ least."""
        checks = [
            check for check in drawn_checks(self.course) if not is_network(self.course, check)
        ]
        for seed in range(self.seed + 1, self.seed + 1 + FURTHER_SEEDS):
            for check in checks:
                for label in hidden_seeds(check, seed):
                    if story_of(self.course, check, label, work) is not None:
                        return Fate("apart", check=check.id, seed=label)
        return None

    def _proof(self, mutant: Mutant, others: Mapping[Defines, _engine.Program]) -> Fate:
        """What the prover says of the programs with those macros that make a difference; they
        share its time."""
        if mutant.digest in self.reasons:
            return Fate("equal", why=self.reasons[mutant.digest])
        fates = []
        for defines, program in others.items():
            fates.append(self._compared(defines, program, self.seconds / len(others)))
            if fates[-1].kind == "apart":
                return fates[-1]
        return next((fate for fate in fates if fate.kind == "undecided"), fates[0])

    def _compared(self, defines: Defines, program: _engine.Program, seconds: float) -> Fate:
        from p4lab.prove.compare import compare  # heavy: the solver, which may be missing

        own = self.programs[defines]
        try:
            bounds = bounds_in(bounds_of(self.course.name), own)
            outcome = compare(own, program, bounds, seconds)
        except ValueError as error:
            return Fate("undecided", why=str(error))
        outcome = unnoted(outcome, notes_of(self.course.name, own))
        if outcome.verdict == "equal":
            return Fate("equal")
        if outcome.example is None:
            return Fate("undecided", why=outcome.why)
        return Fate("apart", example={**vars(outcome.example), "defines": dict(defines)})


def drawn_checks(course: Course) -> Iterator[Check]:
    """The checks whose cases are drawn."""
    return (check for check in course.checks if check.scenario or check.parses)


def is_network(course: Course, check: Check) -> bool:
    """Whether the cases of a check are networks."""
    return course.scenario(check.scenario or check.parses or "").network is not None


def sample(mutants: Sequence[Mutant], most: int, chance: Any) -> list[Mutant]:
    """So many of the mutants, in their order."""
    chosen = set(chance.sample(range(len(mutants)), min(most, len(mutants))))
    return [mutant for number, mutant in enumerate(mutants) if number in chosen]


def _lines(text: str, item: Mapping[str, Any]) -> tuple[str, str]:
    """The lines that an edit touches, before and after, without what stands around them."""
    start = text.rfind("\n", 0, item["start"]) + 1
    end = text.find("\n", item["end"])
    end = len(text) if end < 0 else end
    after = text[start : item["start"]] + item["text"] + text[item["end"] : end]
    return " ".join(text[start:end].split()), " ".join(after.split())


def _has_mistakes(course: Course) -> None:
    """Raises LabError for a lab whose students write no P4."""
    if not course.is_p4:
        raise LabError(f"{course.name} has no P4 program in which mistakes could be made.")


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _equal(path: Path) -> list[_Equal]:
    if not path.is_file():
        return []
    try:
        return _EqualFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).equal
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LabError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise LabError(f"{path}: {where}: {first['msg']}") from error
