"""How fast streams are where time is real, so that the program is judged and not the machine.

A machine keeps up with so many packets a second, fewer when it has other work, and what comes
faster it loses. simple_switch keeps up with some thousand, so a run on it begins at a rate that it
should carry. A run that loses packets is repeated more slowly before anything is blamed: what the
machine loses comes through then, what the program loses does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace

from p4lab.model.run import Observed, Plan
from p4lab.session.run import reference_run

COPIES = 4_000
"""How many copies of probes simple_switch makes per second and core of a busy machine: a
tenth of what an optimised build does with an idle one (docs/speed.md), halved since a copy may
take a second pass"""

SLOWER = 4
"""How many times as slow a run is when it is repeated"""

REPEATED = 2
"""How often it is"""

LONGEST = 60
"""How many seconds a stream then takes: it has fewer packets if it has to"""


def for_bmv2(plan: Plan) -> Plan:
    """The plan at a rate that simple_switch should carry. Raises as `reference_run` does."""
    seen = reference_run(plan)
    rounds = max(seen.sent.values(), default=1) or 1
    interval = round(sum(seen.copies.values()) / rounds * 1e9 / (COPIES * (os.cpu_count() or 1)))
    return _at_least(plan, interval)


def plans(plan: Plan) -> Iterator[tuple[Plan, tuple[str, ...]]]:
    """The plan at one rate after the other, each slower, and what a reader of its report must know.
    The caller stops at the first run that is right, or that is wrong without gaps."""
    yield plan, ()
    before = f"one packet every {_told(plan)}"
    for _ in range(REPEATED):
        longest = max(stream.interval_ns for stream in plan.streams)
        slower = _at_least(plan, SLOWER * longest)
        plan = _at_most(slower, LONGEST * 10**9)
        fewer = (
            f", and with fewer of them, to end within {LONGEST} seconds" if plan != slower else ""
        )
        yield (
            plan,
            (
                f"with {before} of each stream, packets were lost; so the run was repeated with "
                f"one every {_told(plan)}{fewer}.",
            ),
        )


def problem(plan: Plan, once: Callable[[Plan], tuple[str, Observed]]) -> str:
    """What goes wrong with a plan, also when it is repeated more slowly; empty if nothing. `once`
    carries it out and says what goes wrong, and what was observed."""
    wrong = ""
    for paced, _ in plans(plan):
        wrong, observed = once(paced)
        if not wrong or not is_lossy(paced, observed):
            break
    return wrong


def is_lossy(plan: Plan, observed: Observed) -> bool:
    """Whether a receiver got a stream with gaps. Who got nothing of it lacks it at any rate, and
    links that are to lose packets do so, too."""
    return not any(link.loss for link in plan.topology.links) and any(
        0 < observed.received[host.name, stream.flow].unique < observed.sent.get(stream.flow, 0)
        for stream in plan.streams
        for host in stream.receivers
        if (host.name, stream.flow) in observed.received
    )


def _at_least(plan: Plan, interval: int) -> Plan:
    """The plan with so many nanoseconds between two packets of a stream."""
    slow = [
        replace(stream, interval_ns=max(stream.interval_ns, interval)) for stream in plan.streams
    ]
    return replace(plan, streams=tuple(slow))


def _at_most(plan: Plan, length: int) -> Plan:
    """The plan with streams of at most so many nanoseconds."""
    short = [
        replace(stream, packets=min(stream.packets, max(1, length // stream.interval_ns)))
        for stream in plan.streams
    ]
    return replace(plan, streams=tuple(short))


def _told(plan: Plan) -> str:
    return f"{max(stream.interval_ns for stream in plan.streams) / 1e6:.3g} ms"
