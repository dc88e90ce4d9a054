"""A lab of policies in a notebook: what they bring about, and their verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from p4lab.course.material import differing
from p4lab.errors import ArgumentError, interruptible
from p4lab.grading.course import Check, Course, load, public_seeds
from p4lab.grading.measuring import Workload, measure_of
from p4lab.model.measured import Measured
from p4lab.notebook.folder import Folder
from p4lab.notebook.saying import say
from p4lab.policies import PolicyError, Program, read
from p4lab.widgets.offers import offered

if TYPE_CHECKING:
    from p4lab.notebook.checks import Checked


@dataclass(frozen=True)
class Brought:
    """What policies bring about in a case: `own` by a student's, `best` by the lab's. `wrong` says
    why there is nothing of the student's."""

    case: str
    whose: str
    own: Measured
    best: Measured
    wrong: str = ""

    def __getitem__(self, name: str) -> int:
        """A number that was measured, rounded."""
        return round(self.own.numbers.get(name, 0))

    @property
    def sides(self) -> Mapping[str, str]:
        return {
            self.whose: self.wrong or "; ".join(self.own.told),
            "the lab's": "; ".join(self.best.told),
        }

    def __repr__(self) -> str:
        return "\n".join([self.case, *(f"{side}: {told}" for side, told in self.sides.items())])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(side)}</th>"
            f"<td style='text-align:left'>{escape(told)}</td></tr>"
            for side, told in self.sides.items()
        )
        return f"<p>{escape(self.case)}</p><table>{rows}</table>"


class PolicyLab:
    """A student's policies, read again before each question. The views of the lab's system
    (`System.views`) are methods, too."""

    def __init__(self, name: str, folder: Folder, *, finished: bool = False) -> None:
        self.name = name
        self.folder = folder
        self.finished = finished

    def __repr__(self) -> str:
        return f"Lab {self.name}: {self.whose}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "folder" not in vars(self):
            raise AttributeError(name)
        return offered(self, self.course.system.views, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.course.system.views]

    @cached_property
    def course(self) -> Course:
        return load(self.name)

    @property
    def whose(self) -> str:
        """Whose policies they are, in words."""
        if self.finished:
            return "the finished policies"
        return "the reference solution" if self.folder.is_reference else "your policies"

    @property
    def program(self) -> Program:
        """The policies as the file is now. Raises PolicyError."""
        if self.folder.is_reference:
            return self.course.policies
        text = self.folder.program.read_text(encoding="utf-8", errors="replace")
        return read(text, self.course.student.program)

    def case(self, check: str) -> tuple[str, Mapping[str, Any]]:
        """What is measured in the first case of a check, and what that is given. Raises
        ValueError."""
        workload = self._workload(check)
        return workload.file.measure, workload.given

    def measure(self, check: str) -> Brought:
        """What the policies bring about in the first case of a check. Raises ValueError."""
        workload = self._workload(check)
        measure = measure_of(self.course.system, workload.file.measure)
        own, wrong = Measured({}), ""
        try:
            own = measure(self.program, workload.given)
        except PolicyError as error:
            place = f"{self.course.student.program}:{error.line}: " if error.line else ""
            wrong = f"{place}{error}"
        return Brought(workload.say, self.whose, own, workload.best, wrong)

    def _workload(self, name: str) -> Workload:
        check = next((one for one in self.course.checks if one.id == name and one.measure), None)
        if check is None:
            known = ", ".join(one.id for one in self.course.checks if one.measure)
            raise ArgumentError(f"{self.name} has no check {name!r} that measures; it has {known}.")
        return self._first(check)

    def _first(self, check: Check) -> Workload:
        return self.course.workload(check, public_seeds(check)[0])

    def check(self, part: str | None = None) -> Checked:
        """The verdict of `p4lab check` on the student's folder, of one part or of all."""
        with interruptible("Interrupted: nothing was judged."):
            from p4lab.notebook.checks import check  # heavy: workers

            return check(self.folder, part)


def open_policies(name: str, folder: Folder, finished: bool) -> PolicyLab:
    """The lab, after saying whose policies are measured."""
    lab = PolicyLab(name, folder, finished=finished)
    if finished:
        say(f"Measuring {lab.whose}.")
    else:
        say(f"Measuring {lab.whose}:", folder.program)
    for news in folder.news:
        say(news)
    for changed in differing(name, folder.path):
        say(f"{changed} differs from the starter's: lab.check() judges without it.")
    return lab
