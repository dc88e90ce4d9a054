"""The leaf of a check of lab 07, with a student's policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from p4lab.errors import ArgumentError
from p4lab.policies import PolicyError, Program
from p4lab.systems.fabric.policies import queues
from p4lab.systems.fabric.runs import Scenario
from p4lab.systems.fabric.views.leaf import MORE, LeafView
from p4lab.systems.fabric.views.leaf import leaf_view as view_of

SCENARIOS: Mapping[str, Callable[[Program, Mapping[str, Any]], Scenario]] = {
    "suspend": queues.suspended,
    "drop": queues.dropped,
    "both": queues.decided,
}
"""By measure"""


class Lab(Protocol):
    """What a notebook's lab knows of the cases of its checks, and of the student's policies."""

    def case(self, check: str) -> tuple[str, Mapping[str, Any]]: ...

    @property
    def program(self) -> Program: ...


@dataclass(frozen=True)
class NoLeaf:
    """Why a leaf cannot be shown."""

    why: str

    def __repr__(self) -> str:
        return self.why


def leaf_view(lab: Lab, check: str, start: float = 20, slots: int = MORE) -> LeafView | NoLeaf:
    """The sender's leaf in the first case of a check, from `start` microseconds on; or why the
    policies cannot be asked. Raises ValueError for a check without a leaf."""
    measure, given = lab.case(check)
    if measure not in SCENARIOS:
        raise ArgumentError(f"{check} has no leaf to be watched: its policy decides beforehand.")
    try:
        scenario = SCENARIOS[measure](lab.program, given)
    except PolicyError as error:
        return NoLeaf(f"The leaf cannot be shown: {error}")
    return view_of(scenario, start=start, slots=slots, seed=given["seed"])
