"""Searches a small fabric, with more and more frames, and films what it finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from p4lab import _engine
from p4lab.plurals import count_of, noun_of
from p4lab.systems.fabric.exploring.cases import STEP, Case
from p4lab.systems.fabric.parameters import in_force
from p4lab.systems.fabric.views import words
from p4lab.systems.fabric.views.film import Film, Recorder
from p4lab.systems.fabric.views.words import Waiting

STATES = 200_000
"""That a search may see, unless told"""
SLOTS_OF_STEP = 8
"""Moments of a film in a step, which they divide: a little less than a slot"""


@dataclass(frozen=True)
class Finding:
    """What is known of a case. Schedules have an item for each step: the flows of which a frame
    comes, as bits. `frames` is how many were tried, `evicted` the most cells that caches lost in
    one way, `timeouts` the most suspensions that only the timeout ended."""

    case: Case
    frames: int
    states: int
    complete: bool
    stuck: tuple[int, ...] | None
    evicted: int
    thrashing: tuple[int, ...]
    timeouts: int

    @property
    def is_expected(self) -> bool:
        return (self.stuck is not None) == self.case.stuck


def search(
    case: Case,
    states: int = STATES,
    seed: int = 1,
    extra: str = "",
    say: Callable[[str], object] = lambda text: None,
) -> Finding:
    """Tries one frame, two, and so on, so that a deadlock is found with the fewest; a random search
    begins with all. Raises ValueError for parameters that the engine refuses."""
    seen, evicted, timeouts = 0, 0, 0
    thrashing: tuple[int, ...] = ()
    frames = case.frames if case.runs else 1
    while True:
        say(f"{case.name}: {count_of(frames, 'frame')}")
        left = max(states - seen, 1)
        fabric = case.fabric(extra)
        found = fabric.explore(frames, STEP, left, runs=case.runs, seed=seed)
        seen += found["states"]
        timeouts = max(timeouts, found["timeouts"])
        if found["evicted"] > evicted:
            evicted, thrashing = found["evicted"], tuple(found["thrashing"])
        complete = found["complete"]
        if found["stuck"] is not None or frames == case.frames or not complete or seen >= states:
            break
        frames += 1
    stuck = None if found["stuck"] is None else tuple(found["stuck"])
    return Finding(case, frames, seen, complete, stuck, evicted, thrashing, timeouts)


def told(schedule: Sequence[int]) -> str:
    """`step 1: flow 0; step 4: flows 0 and 1`"""
    parts = []
    for step, chosen in enumerate(schedule, 1):
        if flows := _flows(chosen):
            parts.append(f"step {step}: {noun_of(len(flows), 'flow')} {words.listed(flows)}")
    return "; ".join(parts)


def circle(case: Case, schedule: Sequence[int], extra: str = "") -> tuple[Waiting, ...]:
    """Who waits for whom after a schedule, in a circle; empty if there is none."""
    fabric = case.fabric(extra)
    for step, flows in enumerate(schedule):
        _offer(fabric, flows)
        fabric.run(STEP * (step + 1))
    return tuple(fabric.circle())


def filmed(case: Case, schedule: Sequence[int], ending: str, extra: str = "") -> Film:
    """The case's leaf while a schedule is carried out."""
    fabric = case.fabric(extra)
    film = Film(case.leaf, case.trees, in_force(case.values, extra), ending=ending)
    recorder = Recorder(fabric, film, every=STEP // SLOTS_OF_STEP, closely=True)
    numbers = [0] * len(case.trees)
    for flows in schedule:
        for flow in _offer(fabric, flows):
            recorder.say("came", f"frame {numbers[flow]} of flow {flow} comes")
            numbers[flow] += 1
        for _ in range(SLOTS_OF_STEP):
            recorder.step()
    film.circle = tuple(fabric.circle())
    return film


def _flows(chosen: int) -> list[int]:
    """The flows of which a frame comes in a step."""
    return [flow for flow in range(chosen.bit_length()) if chosen >> flow & 1]


def _offer(fabric: _engine.Fabric, chosen: int) -> list[int]:
    """Has the frames of a step come; their flows."""
    for flow in (flows := _flows(chosen)):
        if not fabric.offer(flow):
            raise ValueError(f"flow {flow} cannot send now: this schedule is of another case.")
    return flows
