"""What an ideal tree carries, and whom no program can serve."""

from __future__ import annotations

from p4lab.control.listeners import cut_off, membership
from p4lab.model.run import Plan
from p4lab.model.system import Rerun
from p4lab.systems.bier.entries import ideal_copies


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
