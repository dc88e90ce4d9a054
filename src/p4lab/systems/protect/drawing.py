"""Streams for the check of a whole network: between any hosts, and at least one protected."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations

from p4lab.model.control import NumberError
from p4lab.model.run import Plan, Stream
from p4lab.systems.protect.entries import Placed
from p4lab.systems.protect.expected import journey
from p4lab.systems.protect.placement import placements
from p4lab.topology import Host


def draw(plan: Plan, chance: random.Random, streams: int, packets: int) -> Plan:
    """The plan with other streams. The first goes through a connection; the others as it comes.

    Raises NumberError if there are no hosts between which anything is protected.
    """
    pairs = list(permutations(plan.topology.hosts, 2))
    chance.shuffle(pairs)
    interval = plan.streams[0].interval_ns

    def stream(number: int, source: Host, target: Host) -> Stream:
        return Stream(number, target.ip, source, (target,), packets, interval)

    for first in pairs:
        alone = replace(plan, streams=(stream(1, *first),))
        if _is_protected(alone):
            rest = [pair for pair in pairs if pair != first][: streams - 1]
            more = [stream(number, *pair) for number, pair in enumerate(rest, 2)]
            return replace(plan, streams=(*alone.streams, *more))
    raise NumberError(f"in {plan.topology.name}, no stream between hosts can be protected.")


def _is_protected(plan: Plan) -> bool:
    try:
        placed = placements(plan)
    except NumberError:
        return False
    steps = journey(plan.topology, placed, plan.streams[0])
    return any(isinstance(step, Placed) for step in steps)
