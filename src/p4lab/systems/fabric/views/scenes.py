"""Scenes that are worth looking at, by name: what runs, and where the film begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from p4lab.systems.fabric.experiments.drops import SCENES, scenario_6
from p4lab.systems.fabric.runs import Flow, Scenario
from p4lab.systems.fabric.trees import broadcast, direct

LOAD = 99.0


@dataclass(frozen=True)
class Scene:
    """Something to look at; `start` in microseconds."""

    what: str
    scenario: Scenario
    start: float = 0


def scenes() -> Mapping[str, Scene]:
    """Leaves to be watched."""
    flows = (Flow(direct(0, [1, 2, 8, 16]), LOAD),)
    small = {"cache.lines": 32}
    found = {
        "ahead": Scene(
            "local copies get ahead of remote ones and wait", Scenario(3, flows, 2000, 0)
        ),
        "thrash": Scene(
            "the same with a cache of 32 lines and no synchronisation",
            Scenario(3, flows, 2000, 0, {**small, "sync.on": False}),
        ),
    }
    for panel in SCENES:
        words = panel.split(":", 1)[-1].strip()
        what = f"figure 6{panel[0]}, one slow receiver: {words}"
        found[f"slow-{panel[0]}"] = Scene(what, scenario_6(SCENES[panel], ""), 1000)
    return found


def rack_scene(leaves: int, micros: float, gbps: float = LOAD) -> Scene:
    """Figure 14: a broadcast from the first server. Raises ValueError for more leaves than there
    are."""
    flow = Flow(broadcast(leaves), gbps)
    what = f"a broadcast from server 0.0 to {leaves} leaves at {gbps:g} Gb/s"
    return Scene(what, Scenario(leaves, (flow,), micros, 0))
