"""Who listens to what in a plan, what an ideal tree carries, and whom no program can serve."""

from __future__ import annotations

from p4lab.model.run import Plan
from p4lab.model.system import Rerun
from p4lab.systems.bier.entries import Member, Membership, ideal_copies


def membership(plan: Plan) -> Membership:
    """Who will listen to what, as the control plane will come to know it."""
    return frozenset(
        Member(host.router, host.port, int(stream.destination))
        for stream in plan.streams
        for host in stream.receivers
    )


def ideal(plan: Plan) -> dict[tuple[str, str], int]:
    """Copies that an ideal multicast tree puts on each directed link, over the whole run."""
    total: dict[tuple[str, str], int] = {}
    members = membership(plan)
    for stream in plan.streams:
        copies = ideal_copies(
            plan.topology,
            stream.source.name,
            int(stream.destination),
            members,
            plan.settings.bsl,
        )
        for link, count in copies.items():
            total[link] = total.get(link, 0) + count * stream.packets
    return total


def cut_off(plan: Plan) -> dict[tuple[str, int], str]:
    """Receivers, by host and flow, to whom no way is left at all when the plan's links are down."""
    found = {}
    for stream in plan.streams if plan.down else ():
        near = plan.topology.reached(stream.source.name, plan.down)
        for host in stream.receivers:
            if host.name not in near:
                found[host.name, stream.flow] = "cut off"
    return found


def unprepared(plan: Plan, rerun: Rerun) -> dict[tuple[str, int], str]:
    """Those who are cut off; and where routers help themselves, since nobody has told the control
    plane, those whom the reference's routers do not reach on the ways that were prepared."""
    found = cut_off(plan)
    if plan.down:
        received = rerun(plan).received
        for stream in plan.streams:
            for host in stream.receivers:
                if (host.name, stream.flow) not in received:
                    found.setdefault((host.name, stream.flow), "unprepared")
    return found
