"""Runs of checks of whole networks: who sends to whom is drawn from the seed of a case."""

from __future__ import annotations

import random
from dataclasses import replace

from p4lab import registry
from p4lab.course.labs import LabError, find_link, load_plan
from p4lab.grading.scenario import NetworkCase
from p4lab.model.run import Plan
from p4lab.topology import TopologyError

PACKETS = 2  # of each stream: a copy too many may come with the second only


def make_plan(lab: str, case: NetworkCase) -> Plan:
    """The run of a case. Raises LabError."""
    try:
        plan = load_plan(
            lab,
            topology=case.topology,
            packets=PACKETS,
            seed=case.seed,
            down=(),
            **dict(case.settings),
        )
        system = registry.find(plan.system)
        plan = system.draw(plan, random.Random(case.seed), case.streams, PACKETS)
        down = tuple(find_link(plan.topology, written) for written in case.down)
        plan = replace(plan, down=down)
        system.check(plan)
    except (TopologyError, ValueError) as error:
        raise LabError(f"a network of {lab}: {error}") from error
    return plan
