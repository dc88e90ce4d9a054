"""What a film is: plain data, for a terminal and for a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from p4lab.grading.record import Place


@dataclass(frozen=True)
class Row:
    """A value of a frame, as it should be and as it is, in words; empty where there is none (yet).
    Of a set of bits both are binary text, too."""

    name: str
    label: str
    expected: str
    got: str
    expected_bits: str = ""
    got_bits: str = ""

    @property
    def differs(self) -> bool:
        return self.expected != self.got


@dataclass(frozen=True)
class Frame:
    """One step: what happened, in which pass of which packet, at which line of the student's, and
    what is known then. `changed` are the names of rows that the step has written."""

    text: str
    where: str
    rows: tuple[Row, ...]
    place: Place | None = None
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Film:
    """The frames of a failed check; the last but one is where the ways part, the last is what came
    of it. Without frames `missing` says why there are none. `said` is what was done before, as in
    the story; `why` is what happened where they part."""

    check: str
    title: str
    said: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    why: str = ""
    hint: str = ""
    missing: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Film:
        """The film that `to_json` gave. Raises KeyError or TypeError for anything else."""
        frames = tuple(_frame(item) for item in data["frames"])
        return cls(**{**data, "said": tuple(data["said"]), "frames": frames})


def _frame(data: Mapping[str, Any]) -> Frame:
    place = data["place"]
    rows = tuple(Row(**row) for row in data["rows"])
    changed = tuple(data["changed"])
    return Frame(
        **{**data, "rows": rows, "place": Place(**place) if place else None, "changed": changed}
    )
