"""Queues that wait for each other, and a receiver that is too slow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from p4lab.model.measured import Measured
from p4lab.policies import Program
from p4lab.systems.fabric.parameters import Settings
from p4lab.systems.fabric.policies.answers import carried
from p4lab.systems.fabric.policies.tables import drops, suspends
from p4lab.systems.fabric.ports import terminal
from p4lab.systems.fabric.runs import Flow, Scenario, Seen
from p4lab.systems.fabric.trees import direct

LOAD = 99.0
COPIES = [*(terminal(0, place) for place in range(1, 5)), *map(terminal, range(1, 5))]
"""Four receivers in the sender's leaf, and four in others"""
ALL_IN_ONE = [range(len(COPIES))]
OTHERS = 5
"""The first leaf of those that send to the slow ones, too"""
LEAVES = 12
OTHER_SIZE = 1522
PLAIN: Settings = {"voq.drop": "off"}
MICROS, WARM = 400, 150


def suspended(program: Program, given: Mapping[str, Any]) -> Scenario:
    """One server sends `size` bytes to eight; the cache has `lines`. Queues wait by the policy."""
    settings = {**PLAIN, "cache.lines": given["lines"]}
    flow = Flow(direct(0, COPIES), LOAD, given["size"])
    return Scenario(5, (flow,), MICROS, WARM, settings, tables={"suspend": suspends(program)})


def dropped(program: Program, given: Mapping[str, Any]) -> Scenario:
    """The same with copies to the places in `slow`, each of whose receivers gets `flows` more flows
    of others. With `groups` of places the sender has a flow for each, and they share its line.
    Copies are dropped by the policy, and queues wait by the paper's thresholds."""
    groups = [[COPIES[place] for place in group] for group in given.get("groups", ALL_IN_ONE)]
    flows = [Flow(direct(0, group), LOAD / len(groups), given["size"]) for group in groups]
    for number, place in enumerate(place for place in given["slow"] for _ in range(given["flows"])):
        sender = terminal(OTHERS + number % (LEAVES - OTHERS), number // (LEAVES - OTHERS))
        flows.append(Flow(direct(sender, [COPIES[place]]), LOAD, OTHER_SIZE))
    tables = {"drop": drops(program, (given["size"], OTHER_SIZE))}
    return Scenario(LEAVES, tuple(flows), MICROS, WARM, PLAIN, tables=tables)


def decided(program: Program, given: Mapping[str, Any]) -> Scenario:
    """The same, with a cache of `lines`, and queues wait by the policy, too."""
    plain = dropped(program, given)
    tables = {**plain.tables, "suspend": suspends(program)}
    return replace(plain, settings={**PLAIN, "cache.lines": given["lines"]}, tables=tables)


def suspend(program: Program, given: Mapping[str, Any]) -> Measured:
    """`least` is the Gb/s of the slowest copy, `waits` how often queues stop in a millisecond."""
    seen = carried(program, "suspend", suspended(program, given), given["seed"])
    least = min(seen.gbps(0))
    waits = seen.totals["suspended"] * 1000 / MICROS
    told = f"each copy gets at least {least:.1f} Gb/s; queues stop {waits:,.0f} times a millisecond"
    return Measured({"least": least, "waits": waits}, (told,))


def drop(program: Program, given: Mapping[str, Any]) -> Measured:
    """See `_slow`."""
    return _slow(carried(program, "drop", dropped(program, given), given["seed"]), given)


def both(program: Program, given: Mapping[str, Any]) -> Measured:
    """See `_slow`."""
    return _slow(carried(program, "drop", decided(program, given), given["seed"]), given)


def _slow(seen: Seen, given: Mapping[str, Any]) -> Measured:
    """`fast` and `slow`: Gb/s of the worst of the copies to fast and to slow receivers; `lost`:
    copies, in percent, that were dropped or had no room; `dropped`: the former; `newest`: those of
    them that never got into a queue."""
    slow: Sequence[int] = given["slow"]
    rates = {
        place: rate
        for flow, group in enumerate(given.get("groups", ALL_IN_ONE))
        for place, rate in zip(group, seen.gbps(flow), strict=True)
    }
    fast = min(rate for place, rate in rates.items() if place not in slow)
    told = [f"{'fast' if slow else 'all'} receivers get at least {fast:.1f} Gb/s"]
    held = min((rates[place] for place in slow), default=LOAD)
    if slow:
        who = "the slow receiver gets" if len(slow) == 1 else "slow receivers get at least"
        told.append(f"{who} {held:.1f} Gb/s of this flow")
    numbers = {"fast": fast, "slow": held, "lost": _lost(seen), "dropped": _dropped(seen)}
    numbers["newest"] = _newest(seen)
    return Measured(numbers, tuple(told))


def _lost(seen: Seen) -> float:
    """Copies that are dropped from the head had headers; the others never got one."""
    totals = seen.totals
    refused = totals["no_payload"] + totals["tail_dropped"]
    return 100 * (refused + totals["head_dropped"]) / max(totals["headers"] + refused, 1)


def _dropped(seen: Seen) -> float:
    totals = seen.totals
    return _newest(seen) + 100 * totals["head_dropped"] / _asked(totals)


def _newest(seen: Seen) -> float:
    totals = seen.totals
    return 100 * totals["tail_dropped"] / _asked(totals)


def _asked(totals: Mapping[str, int]) -> int:
    """Copies that a policy was asked about."""
    return max(totals["headers"] + totals["tail_dropped"], 1)
