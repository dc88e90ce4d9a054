"""Checks of policies as data: what is measured, with what, and what has to hold of it.

A file of such a check names a measure of the lab's system (`System.measures`) and draws what that
is given. `holds` lists conditions over what was drawn, over the numbers that were measured, and
over those of the lab's own policies, which have `best_` in front.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from pydantic import BaseModel, ConfigDict

from p4lab.grading import drawing
from p4lab.model.measured import Measure, Measured
from p4lab.model.system import System
from p4lab.policies import Program

MEASURED = "measured"
"""The signature of a condition that names none"""
BEST = "best_"


class Condition(BaseModel):
    """What has to hold, what is said if it does not, with `{...}` computed, and the kind of the
    mistake."""

    model_config = ConfigDict(extra="forbid")
    that: str
    told: str
    signature: str = MEASURED


class MeasureFile(BaseModel):
    """The file of a check. `policy` is the method that it is about. Nothing has to hold if it is
    enough that the measure takes the policy's answers."""

    model_config = ConfigDict(extra="forbid")
    say: str
    measure: str
    policy: str
    draw: dict[str, Any] = {}
    holds: list[Condition] = []


@dataclass(frozen=True)
class Workload:
    """A case: what was drawn, and what the lab's own policies make of it."""

    file: MeasureFile
    given: Mapping[str, Any]
    best: Measured

    @property
    def say(self) -> str:
        return drawing.filled(self.file.say, self.given)

    def broken(self, measured: Measured) -> tuple[str, str] | None:
        """Kind and sentence of the first condition that does not hold; None if all do. Raises
        DrawError."""
        best = {f"{BEST}{name}": number for name, number in self.best.numbers.items()}
        names = {**self.given, **measured.numbers, **best}
        for condition in self.file.holds:
            if not drawing.evaluate(condition.that, names):
                return condition.signature, drawing.filled(condition.told, names)
        return None


def drawn(file: MeasureFile, label: str, hidden: bool) -> dict[str, Any]:
    """What a check gives to its measure in the case of this label. Hidden cases are few, so those
    of a seed take what a value is picked from in turn, not by chance. Raises DrawError."""
    chance, given = random.Random(label), {drawing.HIDDEN: hidden}
    names = drawing.draw(file.draw, chance, given, _in_turn(label) if hidden else None)
    del names[drawing.HIDDEN]
    return names


def _in_turn(label: str) -> drawing.Pick:
    """Picks for the hidden case `SEED/CHECK/NUMBER`: so many after the first of a shuffled list."""
    begun, _, number = label.rpartition("/")

    def pick(name: str, values: Sequence[Any]) -> Any:
        order = random.Random(f"{begun}/{name}").sample(values, len(values))
        return order[int(number) % len(order)]

    return pick


def measure_of(system: System, name: str) -> Measure:
    """What a system measures under a name. Raises ValueError if there is nothing."""
    place = system.measures.get(name)
    if place is None:
        known = ", ".join(system.measures) or "nothing"
        raise ValueError(f"the system {system.name} does not measure {name!r}; it has {known}")
    module, _, attribute = place.partition(":")
    found: Measure = getattr(import_module(module), attribute)
    return found


def measured(
    system: System, file: MeasureFile, program: Program, given: Mapping[str, Any]
) -> Measured:
    """What a policy makes of a case. Raises PolicyError and ValueError."""
    return measure_of(system, file.measure)(program, given)
