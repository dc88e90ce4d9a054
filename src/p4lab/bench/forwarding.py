"""Between Linux interfaces: packets of 64 bytes from one veth pair to another.

The same load for all: copies of one frame that the kernel itself puts on the first pair, as many as
it can (a flood) or so many a second. All contestants take turns several times, and ratios are of
runs that follow each other, so that a busy machine disturbs both sides.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from p4lab import _engine
from p4lab.bench import bmv2, measure, programs
from p4lab.bench.measure import Measure, Say
from p4lab.bench.programs import Subject

VETH = "between veth pairs, flooded"
OVERLOAD = "the same load that it can carry, and a flood"
BMV2 = "the same IPv4 router on bmv2"
# In less than a second fewer
ROUNDS = 5
BMV2_ROUNDS = 3
# Packets per second offered to bmv2 and to us; None is a flood.
TNA_GOAL = 300_000.0
LOADS: tuple[float | None, ...] = (40e3, 80e3, 120e3, 160e3, 240e3, None)
PER_SECOND = "packets/s"
OF_NOTHING: dict[str, float | None] = {
    "IPv4 router": 0.6,
    "IPv4 router, native code": 0.85,
    "BIER, BSL 64, 1 next hop": None,
    "BIER, BSL 64, 1 next hop, native code": None,
}
"""How many packets at least, as a part of what a loop that only copies forwards"""

Figures = dict[str, Any]
Run = Callable[[], Figures]


def forwarding(seconds: float, say: Say) -> Iterator[Measure]:
    """Switches of ours next to a loop that copies frames and does nothing else."""
    router, bier = programs.router(), programs.bier(64, 1)
    window = seconds / 2
    contestants: dict[str, Run] = {
        "nothing": lambda: _engine.bench_forwarder(router.frame, window),
        "IPv4 router": lambda: ours(router, window),
        "IPv4 router, native code": lambda: ours(router, window, engine=None),
        "BIER, BSL 64, 1 next hop": lambda: ours(bier, window),
        "BIER, BSL 64, 1 next hop, native code": lambda: ours(bier, window, engine=None),
        "IPv4 router by tpacket_v3": lambda: ours(router, window, backend="tpacket_v3"),
        "IPv4 router by plain sockets": lambda: ours(router, window, backend="socket"),
    }
    try:
        runs = take_turns(contestants, measure.part(ROUNDS, seconds), say)
    except OSError as error:
        yield measure.missing(VETH, "IPv4 router", PER_SECOND, refusal(error))
        return
    rates = {name: [rate(run) for run in found] for name, found in runs.items()}
    costs = {name: [cost(run) for run in found] for name, found in runs.items()}
    for name, values in rates.items():
        goal = 200_000.0 if name.startswith("BIER") else None
        yield measure.of(VETH, name, PER_SECOND, values, goal)
    for name, values in costs.items():
        yield measure.of(VETH, f"{name}: processor time of a packet", "ns", values)
    for name, least in OF_NOTHING.items():
        ratio = measure.ratios(rates[name], rates["nothing"])
        yield measure.of(VETH, f"{name} / nothing", "", ratio, least)
    carried = measure.of("", "", "", rates["IPv4 router"])
    yield from overload(router, carried, window, measure.part(ROUNDS, seconds), say)


def on_tna(seconds: float, say: Say) -> Iterator[Measure]:
    """A Tofino's BIER router by native code and by the interpreter, next to a loop that copies."""
    subjects, window = [programs.bier_tna(hops) for hops in (1, 2)], seconds / 2
    contestants: dict[str, Run] = {
        "nothing": lambda: _engine.bench_forwarder(subjects[0].frame, window)
    }
    for own in subjects:
        contestants[f"{own.name}, native"] = partial(ours, own, window, engine=None)
        contestants[f"{own.name}, interpreted"] = partial(ours, own, window)
    try:
        runs = take_turns(contestants, measure.part(ROUNDS, seconds), say)
    except OSError as error:
        yield measure.missing(VETH, subjects[0].name, PER_SECOND, refusal(error), TNA_GOAL)
        return
    rates = {name: [rate(run) for run in found] for name, found in runs.items()}
    nothing = rates.pop("nothing")
    for name, values in rates.items():
        goal = TNA_GOAL if name.endswith("1 next hop, native") else None
        yield measure.of(VETH, name, PER_SECOND, values, goal)
        costs = [cost(run) for run in runs[name]]
        yield measure.of(VETH, f"{name}: processor time of a packet", "ns", costs)
        yield measure.of(VETH, f"{name} / nothing", "", measure.ratios(values, nothing))


def overload(
    subject: Subject, flooded: Measure, window: float, rounds: int, say: Say
) -> Iterator[Measure]:
    """Whether it does more when it is asked for less."""
    carried = flooded.value or 1.0
    contestants: dict[str, Run] = {
        "offered what it carries": lambda: ours(subject, window, rate=carried),
        "flooded": lambda: ours(subject, window),
    }
    runs = take_turns(contestants, rounds, say)
    rates = {name: [rate(run) for run in found] for name, found in runs.items()}
    for name, values in rates.items():
        yield measure.of(OVERLOAD, f"{subject.name}, {name}", PER_SECOND, values)
    ratio = measure.ratios(rates["flooded"], rates["offered what it carries"])
    yield measure.of(OVERLOAD, "flooded / offered what it carries", "", ratio, 0.9)


def side_by_side(seconds: float, say: Say) -> Iterator[Measure]:
    """The same router on simple_switch, if that is on the machine, at several loads."""
    goal_name = "ours flooded / bmv2 at its best"
    router, window = programs.router(), seconds / 2
    say("compiling for bmv2")
    with bmv2.compiled(programs.ROUTER) as found:
        if isinstance(found, str):
            yield measure.missing(BMV2, goal_name, "", found, 5)
            return
        contestants: dict[str, Run] = {}
        for load in LOADS:
            contestants[f"ours, {text(load)}"] = partial(ours, router, window, rate=load)
            contestants[f"{found.name}, {text(load)}"] = partial(
                _engine.bench_forwarder, router.frame, window, rate=load, command=found.command()
            )
        try:
            runs = take_turns(contestants, measure.part(BMV2_ROUNDS, seconds), say)
        except OSError as error:
            yield measure.missing(BMV2, goal_name, "", refusal(error), 5)
            return
    rates = {name: [rate(run) for run in found] for name, found in runs.items()}
    for name, values in rates.items():
        yield measure.of(BMV2, name, PER_SECOND, values)
    theirs = [values for name, values in rates.items() if name.startswith(found.name)]
    best = max(theirs, key=lambda values: sorted(values)[len(values) // 2])
    flood = text(None)
    yield measure.of(BMV2, goal_name, "", measure.ratios(rates[f"ours, {flood}"], best), 5)
    drop = measure.ratios(rates[f"{found.name}, {flood}"], best)
    yield measure.of(BMV2, "bmv2 flooded / bmv2 at its best", "", drop)


def take_turns(contestants: dict[str, Run], rounds: int, say: Say) -> dict[str, list[Figures]]:
    """Every contestant once, then every contestant again. Raises OSError."""
    found: dict[str, list[Figures]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name, run in contestants.items():
            say(f"forwarding, round {number + 1} of {rounds}: {name}")
            found[name].append(run())
    return found


def ours(subject: Subject, window: float, **how: Any) -> Figures:
    """One run of a switch of ours."""
    return _engine.bench_forwarder(
        subject.frame, window, program=subject.program, updates=subject.updates, **how
    )


def rate(run: Figures) -> float:
    """Packets per second that came out."""
    return float(run["forwarded"] / run["seconds"])


def cost(run: Figures) -> float:
    """Nanoseconds of processor time per packet that came out."""
    return float(run["busy"] * 1e9 / max(1, run["forwarded"]))


def text(load: float | None) -> str:
    """An offered load in words."""
    return "flooded" if load is None else f"{load:,.0f} offered"


def refusal(error: OSError) -> str:
    """Why nothing could be measured."""
    return "needs root" if os.geteuid() != 0 else str(error)
