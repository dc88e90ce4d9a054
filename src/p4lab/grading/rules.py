"""What an instructor has decided beside the checks: deadlines, late days, which attempt counts, and
changes by hand. A TOML file of theirs, so that it survives whatever is graded anew.

    attempt = "best"                    # or "last", which it is if nothing is said
    due = 2026-11-20T23:59:00+01:00
    grace = 15                          # minutes that nobody counts
    free_days = 2                       # late days that cost nothing
    per_day = 10                        # per cent of the lab's points for each day beyond
    most_days = 5                       # later than that: no points

    [days]                              # the free days of single students
    ada = 4

    [canvas]
    assignment = "Lab 1 (4314282)"      # the column of the grade book

    [[adjust]]
    student = "ada"
    points = 3                          # more, or with a minus less; or `to`: so many
    reason = "The handout was wrong."

Several changes of one student are made in the order of the file.
"""

from __future__ import annotations

import math
import re
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from p4lab.course.words import PlacedError, TextError, refused, text_of
from p4lab.grading.workers import GradingError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DAY = timedelta(days=1)
_MOMENT = "2026-11-20T23:59:00+01:00"
_TIMES = re.compile(r"\s*due\b")


class Adjust(BaseModel):
    """A table [[adjust]]: a change of one student's points, by hand."""

    model_config = ConfigDict(extra="forbid")
    student: Annotated[str, Field(min_length=1)]
    points: Annotated[float, Field(ge=-10_000, le=10_000)] | None = None
    to: Annotated[float, Field(ge=0, le=10_000)] | None = None
    reason: Annotated[str, Field(min_length=1, max_length=500)]

    @model_validator(mode="after")
    def _one(self) -> Adjust:
        if (self.points is None) == (self.to is None):
            raise ValueError("say either `points` or `to`")
        return self


class Canvas(BaseModel):
    """The table [canvas]."""

    model_config = ConfigDict(extra="forbid")
    assignment: str = ""


class Rules(BaseModel):
    """The whole file; without one nothing is late and the last attempt counts."""

    model_config = ConfigDict(extra="forbid")
    attempt: Literal["best", "last"] = "last"
    due: datetime | None = None
    grace: Annotated[float, Field(ge=0, le=1_000_000)] = 0
    free_days: Annotated[int, Field(ge=0)] = 0
    per_day: Annotated[float, Field(ge=0, le=100)] = 0
    most_days: Annotated[int, Field(ge=0)] | None = None
    days: dict[str, Annotated[int, Field(ge=0)]] = {}
    canvas: Canvas = Canvas()
    adjust: list[Adjust] = []

    @model_validator(mode="after")
    def _late_for_something(self) -> Rules:
        name = "per_day" if self.per_day else "most_days" if self.most_days is not None else ""
        if name and self.due is None:
            raise PlacedError((name,), "without `due` nothing is late; write the deadline, too")
        return self

    @field_validator("due", mode="before")
    @classmethod
    def _day_and_time(cls, value: Any) -> Any:
        # A day alone would be its first moment, a number the seconds since 1970.
        if not isinstance(value, datetime):
            raise ValueError(f"write day and time without quotes, such as {_MOMENT}")
        return value

    def days_late(self, when: datetime | None) -> int:
        """Days that have begun since the deadline; 0 if there is none or the time is not known."""
        if self.due is None or when is None:
            return 0
        if when.tzinfo is None or self.due.tzinfo is None:  # both as clocks on one wall
            late = when.replace(tzinfo=None) - self.due.replace(tzinfo=None)
        else:
            late = when - self.due
        late -= timedelta(minutes=self.grace)
        return max(0, math.ceil(late / DAY))


def read(path: Path) -> Rules:
    """The rules of a file. Raises GradingError with the place of what is wrong."""
    text = ""
    try:
        text = text_of(path)
        return Rules.model_validate(tomllib.loads(text))
    except OSError as error:
        raise GradingError(f"{path}: {error.strerror}.") from error
    except ValidationError as error:
        raise GradingError(sentence(f"{path}:{refused(error, Rules, text)}")) from error
    except TextError as error:
        raise GradingError(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise GradingError(f"{path}: this is not TOML: {error}{_remedy(text, error)}.") from error


def sentence(told: str) -> str:
    """With a full stop, unless the sentence has an end."""
    return told if told.endswith((".", "?", "!")) else f"{told}."


def _remedy(text: str, error: Exception) -> str:
    """How a deadline is written, if that is what TOML does not read: it wants the seconds, too."""
    line = re.search(r"at line (\d+)", str(error))
    wrong = line and text.splitlines()[int(line[1]) - 1]
    return f"; a deadline is written {_MOMENT}" if wrong and _TIMES.match(wrong) else ""
