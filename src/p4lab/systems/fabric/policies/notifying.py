"""Who is told to slow down: QCN at a port with flows whose receivers are too slow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from p4lab.model.measured import Measured
from p4lab.policies import Program
from p4lab.systems.fabric.parameters import Settings
from p4lab.systems.fabric.policies.answers import carried
from p4lab.systems.fabric.policies.tables import weights
from p4lab.systems.fabric.ports import terminal
from p4lab.systems.fabric.runs import Flow, Scenario
from p4lab.systems.fabric.trees import direct

LOAD = 99.0
LEAVES = 7
SETTINGS: Settings = {"qcn.points": "inputs"}
MICROS, WARM = 1500, 600


def neighbour(program: Program, given: Mapping[str, Any]) -> Measured:
    """One server has flows for the first `guilty` servers of its leaf, to each of which `others`
    send, too, and one for server 4 (and 3, unless that is guilty) that nothing holds up. `free` is
    the Gb/s of the latter, `culprit` that of the first."""
    guilty = range(1, given["guilty"] + 1)
    flows = [
        _flow(terminal(0), terminal(0, 1), terminal(1, 1)),
        _flow(terminal(0), *(terminal(0, place) for place in (3, 4) if place not in guilty)),
    ]
    flows += [_flow(terminal(0), terminal(0, place)) for place in guilty[1:]]
    for place in guilty:
        senders = (terminal(2 + number, place - 1) for number in range(given["others"]))
        flows += [_flow(sender, terminal(0, place)) for sender in senders]
    tables = {"notify": weights(program)}
    scenario = Scenario(LEAVES, tuple(flows), MICROS, WARM, SETTINGS, tables=tables)
    seen = carried(program, "weight", scenario, given["seed"])
    culprit, free = (min(seen.gbps(flow)) for flow in (0, 1))
    told = (
        f"the flow to server 1 gets {culprit:.1f} Gb/s",
        f"the flow that nothing holds up gets {free:.1f} Gb/s",
    )
    return Measured({"free": free, "culprit": culprit}, told)


def _flow(sender: int, *receivers: int) -> Flow:
    return Flow(direct(sender, receivers), LOAD, lossless=True)
