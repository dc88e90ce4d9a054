"""What the student's program wrote and the reference does not."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from p4lab.grading.blame.conditions import guard_of, kept, writers
from p4lab.grading.blame.parted import Ways, brief, is_own, passes_on, place_of, reads
from p4lab.grading.culprit import Culprit, turned_into
from p4lab.grading.ways import Ran


def written(ways: Ways) -> Culprit | None:
    """A statement that wrote what the reference does not, and that does not pass on what another
    wrote; or the condition under which it ran."""
    own, right = ways.parting.theirs, ways.parting.mine
    for step, ran in own.steps:
        name = step["name"]
        if ran is None or name not in ways.parting.names or step["text"] in ways.usual:
            continue
        # What it is made anew from itself is wrong because of what it was.
        if own.last[name][1] is not ran and not _names(own.last[name][1], name):
            continue
        if passes_on(ran, name, ways.names):
            continue
        last = right.last.get(name)
        if last and last[1] and (found := kept(ways, writers(ways, last[0], last[1]))):
            return found
        if _extra(ways, name) and (guard := guard_of(ways, ran)) is not None:
            return guard
        if is_own(ways, ran.statement):
            return place_of(ways, ran), became(ways, step)
    return None


def _names(ran: Ran | None, name: str) -> bool:
    """Whether a statement reads a variable."""
    return ran is not None and reads(name, ran.statement)


def _extra(ways: Ways, name: str) -> bool:
    """Whether the student's has done with a variable what the reference does, and then more."""
    last = ways.parting.mine.last.get(name)
    done = (step["text"] for ran in ways.parting.theirs.ran for step in ran.steps)
    return last is None or last[0]["text"] in done


def became(ways: Ways, step: Mapping[str, Any]) -> str:
    name = brief(step["name"])
    if name.endswith(".$valid"):
        return f"here {name[: -len('.$valid')]} became {step['after']}"
    ran = (*ways.parting.before, *ways.parting.theirs.ran)
    steps = (one for item in ran for one in item.steps)
    earlier = takewhile(lambda one: one is not step, steps)
    return f"here {name} {turned_into(name, step, earlier, ways.source)}"
