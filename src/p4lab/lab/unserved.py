"""Who cannot be served when links are down, however well a program does: nobody has told the
control plane, so there are only the ways that were prepared before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from p4lab.engine import load_program
from p4lab.lab.plan import Plan, load_plan
from p4lab.network.virtual import VirtualNetwork

PACKETS = 2  # of each stream


@dataclass(frozen=True)
class Unserved:
    """Subscribers by name and flow: those to whom no way is left at all, and those to whom the
    reference's routers find none among the prepared ones."""

    cut_off: frozenset[tuple[str, int]] = frozenset()
    unprepared: frozenset[tuple[str, int]] = frozenset()

    @property
    def all(self) -> frozenset[tuple[str, int]]:
        return self.cut_off | self.unprepared


@lru_cache(maxsize=256)
def unserved(plan: Plan) -> Unserved:
    """Who is cut off; and where routers help themselves, whom the reference's do not reach with a
    few packets of the plan, in virtual time. Raises as a run does."""
    cut_off: set[tuple[str, int]] = set()
    unprepared: set[tuple[str, int]] = set()
    received = _reached(plan) if plan.down and plan.control != "bier" else None
    for stream in plan.streams if plan.down else ():
        near = plan.topology.reached(stream.source.name, plan.down)
        for host in stream.receivers:
            if host.name not in near:
                cut_off.add((host.name, stream.flow))
            elif received is not None and (host.name, stream.flow) not in received:
                unprepared.add((host.name, stream.flow))
    return Unserved(frozenset(cut_off), frozenset(unprepared))


def _reached(plan: Plan) -> set[tuple[str, int]]:
    from p4lab.lab.runner import control_plane, cut, send, subscribe
    from p4lab.targets.tofino.plan import entry_file

    streams = tuple(replace(stream, packets=PACKETS) for stream in plan.streams)
    short = replace(plan, program=load_plan(plan.lab).program, streams=streams)
    if plan.control == "tna":  # also of labs whose own program is for v1model
        short = replace(short, program=entry_file(short))
    program = load_program(short.program, [("BSL", str(plan.bsl))])
    with VirtualNetwork(plan.topology, program, seed=plan.seed) as net:
        plane = control_plane(short, net.driver)
        plane.start(net.now)
        subscribe(short, net, plane)
        cut(short, net, plane)
        send(short, net, plane)
        return set(net.observed().received)
