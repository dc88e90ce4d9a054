"""The multicast of a server-rack fabric with 640 ports of 100 Gb/s: docs/fabric.md.

The paper's hardware is not a P4 switch, so this system has no P4 program: it is a model of its own
in virtual time (crates/p4-fabric), with its experiments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from p4lab.model.run import Plan
from p4lab.model.system import System


class FabricSystem(System):
    """The fabric of Chrysos et al., ANCS 2014."""

    name: ClassVar[str] = "fabric"
    experiments: ClassVar[Mapping[str, str]] = {
        "fabric": "p4lab.systems.fabric.experiments.verbs:fabric",
    }
    views: ClassVar[Mapping[str, str]] = {
        "leaf_view": "p4lab.systems.fabric.views.lab:leaf_view",
    }
    measures: ClassVar[Mapping[str, str]] = {
        "rate": "p4lab.systems.fabric.policies.rates:without_cache",
        "tree": "p4lab.systems.fabric.policies.shape:measure",
        "broadcast": "p4lab.systems.fabric.policies.shape:carry",
        "suspend": "p4lab.systems.fabric.policies.queues:suspend",
        "drop": "p4lab.systems.fabric.policies.queues:drop",
        "both": "p4lab.systems.fabric.policies.queues:both",
        "neighbour": "p4lab.systems.fabric.policies.notifying:neighbour",
    }
    verbs: ClassVar[Mapping[str, str]] = {
        "fabric-parameters": "p4lab.systems.fabric.experiments.verbs:fabric_parameters",
        "fabric-explore": "p4lab.systems.fabric.verbs:fabric_explore",
        "fabric-view": "p4lab.systems.fabric.views.verbs:fabric_view",
    }

    def check(self, plan: Plan) -> None:
        raise ValueError(
            "the fabric has no P4 program to run: see `p4lab experiment fabric --help`."
        )
