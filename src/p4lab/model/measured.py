"""What a system measures of policies that a student has written (p4lab.policies)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from p4lab.policies import Program


@dataclass(frozen=True)
class Measured:
    """Numbers by name, which a check's conditions are about, and what happened, as sentences
    without a full stop."""

    numbers: Mapping[str, float]
    told: tuple[str, ...] = ()


Measure = Callable[["Program", Mapping[str, Any]], Measured]
"""Measures a policy with what a check has drawn, by name. Depends on nothing else. Raises
PolicyError for what the policy does wrong, and ValueError for what the check does."""
