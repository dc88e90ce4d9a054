"""MSR6: IPv6 multicast that carries its tree; the program in `p4/msr6`.

The drafts' layouts are not public. This encoding is p4lab's own profile, not an IETF format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from p4lab.control.listeners import cut_off, membership
from p4lab.model.control import Driver
from p4lab.model.layout import Layouts
from p4lab.model.notation import Notation
from p4lab.model.report import DeliveryReport
from p4lab.model.run import Plan
from p4lab.model.system import Carried, DriverOf, Rerun, Seen, Settings, System, sent_by_port
from p4lab.plurals import count_of
from p4lab.systems.msr6.entries import RECIRC_PORT, msr6_entries, sources_of
from p4lab.systems.msr6.groups import Trees
from p4lab.systems.msr6.linux import leaf_commands
from p4lab.systems.msr6.notation import NOTATION
from p4lab.systems.msr6.plane import Msr6ControlPlane
from p4lab.systems.msr6.reasons import Collected, dropped, notes
from p4lab.systems.msr6.settings import Msr6Settings
from p4lab.systems.msr6.sids import leaf, node_numbers
from p4lab.systems.msr6.words import carried
from p4lab.topology import NO_FAILURES


class Msr6(System):
    """MSR6 on v1model."""

    name: ClassVar[str] = "msr6"
    settings: ClassVar[type[Settings]] = Msr6Settings
    notation: ClassVar[Notation] = NOTATION
    followed: ClassVar[Mapping[str, str]] = {
        "ipv6.dst_addr": "destination",
        "routing.segments_left": "segments left",
        "bits": "bits",
        "bit_string": "bit string",
        "child": "children served",
    }
    experiments: ClassVar[Mapping[str, str]] = {
        "encodings": "p4lab.systems.msr6.experiments.verbs:encodings",
        "msr6-cost": "p4lab.systems.msr6.experiments.cost_verb:msr6_cost",
        "msr6-failure": "p4lab.systems.msr6.experiments.verbs:msr6_failure",
    }
    views: ClassVar[Mapping[str, str]] = {
        "tree_view": "p4lab.systems.msr6.views.tree:TreeView",
        "own_tree": "p4lab.systems.msr6.views.own:own_tree",
    }
    answers: ClassVar[Mapping[str, str]] = {
        name: f"p4lab.systems.msr6.views.questions:{name}"
        for name in ("entries", "outcome", "segments_left", "tree_bytes")
    }
    probes: ClassVar[Mapping[str, str]] = {"seg6local": "p4lab.systems.msr6.probes:seg6local"}

    def check(self, plan: Plan) -> None:
        if not all(stream.destination.is_multicast for stream in plan.streams):
            raise ValueError("MSR6 is for streams to a group: say `group`, not `to`.")
        if any(stream.destination.version != 6 for stream in plan.streams):
            raise ValueError("MSR6 is IPv6: take a group such as ff3e::4:1.")
        _check_settings(plan)
        msr6_entries(plan.topology, membership(plan), plan.settings, sources_of(plan))

    def describe(self, plan: Plan) -> str:
        said = {
            "te": "lists of SIDs",
            "rlb": "local bit strings",
            "be": "global bit strings",
            "clone": "no trees in packets",
        }
        return f"{super().describe(plan)}, with {said[plan.settings.encoding]}"

    def host_commands(self, plan: Plan) -> Mapping[str, Sequence[Sequence[str]]]:
        """Real hosts that are leaves take the headers off by themselves."""
        if plan.settings.leaves != "hosts" or plan.settings.encoding == "clone":
            return {}
        nodes = node_numbers(plan.topology)
        return {
            host.name: leaf_commands(leaf(nodes[host.name]).address, host.interface)
            for host in plan.topology.hosts
        }

    def control_plane(
        self, plan: Plan, driver_for_router: Callable[[str], Driver], layouts: Layouts | None = None
    ) -> Msr6ControlPlane:
        return Msr6ControlPlane(
            plan.topology, driver_for_router, plan.settings, sources_of(plan), layouts=layouts
        )

    def waiting(self, plan: Plan, plane: Msr6ControlPlane) -> str:
        missing = len(membership(plan) - plane.membership)
        return count_of(missing, "subscription") if missing else ""

    def carried(self, plan: Plan, headers: Sequence[Mapping[str, Any]]) -> Carried | None:
        """Where in its list a packet is, or the receivers it is for."""
        return carried(headers)

    def ideal(self, plan: Plan) -> Mapping[tuple[str, str], int]:
        """Each packet once on each link of its tree."""
        trees = Trees(plan.topology, plan.settings, NO_FAILURES)
        found: Counter[tuple[str, str]] = Counter()
        for stream in plan.streams:
            receivers = [host.name for host in stream.receivers]
            for a, b in trees.copies(stream.source.name, receivers):
                found[str(a), str(b)] += stream.packets
        return found

    def collect(self, plan: Plan, drivers: DriverOf, layouts: Layouts | None = None) -> Collected:
        ports = sent_by_port(plan.topology, drivers, layouts, inner=(RECIRC_PORT,))
        return Collected(ports, dropped(plan, drivers))

    def report(self, plan: Plan, seen: Seen) -> DeliveryReport:
        found = self.deliveries(plan, seen, seen.collected.ports)
        return replace(found, notes=(*found.notes, *notes(seen.collected)))

    def excused(self, plan: Plan, rerun: Rerun) -> Mapping[tuple[str, int], str]:
        return cut_off(plan)


def _check_settings(plan: Plan) -> None:
    """Raises ValueError for links that are not there, and for settings without effect."""
    found, names = plan.settings, {link.ends for link in plan.topology.links}
    for a, b in found.avoided:
        if frozenset((a, b)) not in names:
            raise ValueError(f"{plan.topology.name} has no link {a}-{b} that trees could avoid.")
    if found.encoding == "be" and (found.avoid or found.delay_ns or found.tree == "steiner"):
        raise ValueError(
            "a bit string names receivers and no tree: its packets go where unicast goes. Leave "
            "tree, avoid and delay as they are, or take another encoding."
        )
    if found.encoding == "clone" and (found.delay_ns or found.tree == "steiner"):
        raise ValueError(
            "without trees in packets there is one tree for all sources of a group, by least cost. "
            "Leave tree and delay as they are, or take another encoding."
        )
    if found.encoding == "clone" and found.leaves == "hosts":
        raise ValueError(
            "without trees in packets there are no headers for hosts to take off: leave leaves as "
            "it is, or take another encoding."
        )
