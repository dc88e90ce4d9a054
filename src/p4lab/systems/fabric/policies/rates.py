"""A prediction: what each copy gets if there is no cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from p4lab.model.measured import Measured
from p4lab.policies import Program
from p4lab.systems.fabric.parameters import Settings
from p4lab.systems.fabric.policies.answers import number
from p4lab.systems.fabric.ports import terminal
from p4lab.systems.fabric.runs import Flow, Scenario, run
from p4lab.systems.fabric.trees import direct

MICROS, WARM = 400, 100
UNCACHED: Settings = {"voq.drop": "off", "cache.lines": 0, "sync.on": False}


def without_cache(program: Program, given: Mapping[str, Any]) -> Measured:
    """`said` and `got`, in Gb/s, for so many copies of frames of `size` bytes at `load` Gb/s, to
    servers of the sender's leaf first."""
    copies, size, load = given["copies"], given["size"], given["load"]
    said = number(program, "rate", copies, size, load)
    places = [*(terminal(0, place) for place in range(1, 5)), *map(terminal, range(1, 5))]
    flow = Flow(direct(0, places[:copies]), load, size)
    seen = run(Scenario(5, (flow,), MICROS, WARM, UNCACHED), given["seed"])
    rates = seen.gbps(0)
    got = sum(rates) / len(rates)
    return Measured(
        {"said": said, "got": got},
        (f"predicted: {said:.1f} Gb/s for each copy; simulated: {got:.1f} Gb/s",),
    )
