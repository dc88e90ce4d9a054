"""A whole network as a check: the student's switches under the lab's own control plane."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import lru_cache
from typing import Any

from p4lab import _engine
from p4lab.course.labs import find_link, load_plan
from p4lab.engine import to_engine
from p4lab.grading import difference
from p4lab.grading.course import Check, Course
from p4lab.grading.elsewhere import Bench
from p4lab.grading.record import Story
from p4lab.grading.scenario import Case, NetworkCase
from p4lab.grading.stages import absent
from p4lab.grading.story import compare_traces
from p4lab.grading.work import Work
from p4lab.model.entries import diff
from p4lab.model.layout import CPU_PORT
from p4lab.model.run import Plan, Stream
from p4lab.network import NetworkError, cpu
from p4lab.network.virtual import VirtualNetwork
from p4lab.packets.probe import Probe
from p4lab.session.run import MILLISECOND, control_plane, cut, send, subscribe, verdict

PACKETS = 2  # of each stream: a copy too many may come with the second only
FIRST_GROUP = 0xEF010101  # 239.1.1.1


def story(
    course: Course,
    check: Check,
    case: Case,
    work: Work,
    program: _engine.Program,
    bench: Bench | None = None,
) -> Story | None:
    """What is wrong with a run, told by the first switch that does something else than the
    reference would with the same packet; None if every subscriber gets each packet once."""
    assert case.network is not None
    plan = make_plan(course.name, case.network)
    steps = _steps(plan)
    tables = [table["name"] for table in course.program(case.defines).summary["tables"]]
    if (missing := absent(tables, program, steps[:1])) is not None:
        return missing
    if bench is not None:
        wrong = bench.network(work, case, plan)
        return (
            Story(steps, f"{bench.name}: {wrong}", difference.COPY_MISSING, "") if wrong else None
        )
    wrong, arrivals, told = _run(plan, program)
    reference = course.program(case.defines)
    for time, router, arrival, entries in arrivals:
        switch = _engine.Switch(reference)
        switch.write(entries)
        for frame in told.get(router, ()):
            switch.process(CPU_PORT, frame, 0)
        if _sent(arrival) == sorted(switch.process(arrival["port"], arrival["data"], time)):
            continue
        source = plan.topology.neighbour(router, arrival["port"]) or "?"
        step = f"a packet reaches {router} on port {arrival['port']}, from {source}"
        ours = switch.trace(arrival["port"], arrival["data"], time)
        found = compare_traces(
            course, check, case, (reference, ours), (program, arrival), (*steps, step), work
        )
        if found is not None:
            summary = f"{wrong} It goes wrong at {router} first. {found.summary}".strip()
            return replace(found, summary=summary, router=router)
    if not wrong:
        return None
    hint = "Check the parts of the lab before this one: here they meet."
    return Story(steps, wrong, difference.COPY_MISSING, hint)


def _sent(arrival: dict[str, Any]) -> list[tuple[int, bytes]]:
    """What a switch sent for a packet, by port."""
    fates = [packet["fate"] for packet in arrival["packets"]]
    return sorted((fate["port"], fate["data"]) for fate in fates if fate and fate["kind"] == "sent")


@lru_cache(maxsize=256)
def make_plan(lab: str, case: NetworkCase) -> Plan:
    """The run of a case: sources, groups and receivers drawn from its seed."""
    plan = load_plan(lab, topology=case.topology, bsl=case.bsl, packets=PACKETS, seed=case.seed)
    chance = random.Random(case.seed)
    hosts = plan.topology.hosts
    streams = []
    for number in range(case.streams):
        source = chance.choice(hosts)
        others = [host for host in hosts if host.name != source.name]
        count = chance.randint(1, len(others))
        receivers = sorted(chance.sample(others, count), key=lambda host: host.id)
        group = type(plan.streams[0].group)(FIRST_GROUP + number)
        streams.append(Stream(number + 1, group, source, tuple(receivers), PACKETS, MILLISECOND))
    down = tuple(find_link(plan.topology, written) for written in case.down)
    return replace(plan, streams=tuple(streams), down=down)


Arrivals = list[tuple[int, str, dict[str, Any], list[tuple[Any, ...]]]]
"""Time, router, what came in with all that became of it, and the router's entries"""

Told = dict[str, list[bytes]]
"""What each switch was told of its ports before the streams, as frames for its CPU port"""


def _run(plan: Plan, program: _engine.Program) -> tuple[str, Arrivals, Told]:
    """What went wrong as a sentence (empty: nothing), the probes that reached routers, and what
    the routers knew of failures."""
    arrivals: Arrivals = []
    told: Told = {}
    with VirtualNetwork(plan.topology, program, seed=plan.seed) as net:
        plane = control_plane(plan, net.driver)
        try:
            plane.start(net.now)
            subscribe(plan, net, plane)
            cut(plan, net, plane)
            net.trace()
            send(plan, net, plane)
            wrong = verdict(plan, net)
        except NetworkError as error:
            wrong = str(error)
        except ValueError as error:
            wrong = f"The control plane cannot write its entries: {error}."
        for router, items in net.take_traces().items():
            updates = to_engine(diff(frozenset(), plane.entries(router)))
            arrivals += [
                (item["time"], router, item, updates) for item in items if Probe.of(item["data"])
            ]
        for link in plan.down:
            for router, port, frame in plane.seen(link, False):
                told.setdefault(router, []).append(cpu.packet_out(port, frame))
    return wrong, sorted(arrivals, key=lambda item: (item[0], item[1])), told


def _steps(plan: Plan) -> tuple[str, ...]:
    told = [f"the network {plan.topology.name} starts, with {plan.bsl} bits in a BitString"]
    for stream in plan.streams:
        names = ", ".join(host.name for host in stream.receivers)
        sends = f"{stream.source.name} sends {stream.packets} packets"
        told.append(f"{names} subscribe to {stream.destination}; {sends}")
    told += [f"before that, the link {link.a}-{link.b} fails" for link in plan.down]
    return tuple(told)
