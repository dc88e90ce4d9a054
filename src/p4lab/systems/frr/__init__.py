"""Fast reroute: IP-FRR and BIER-FRR on v1model; the program in `p4/bier-frr`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from p4lab.model.run import Plan
from p4lab.model.system import Rerun
from p4lab.systems.bier.base import BierSystem
from p4lab.systems.bier.membership import unprepared
from p4lab.systems.frr.plane import FrrControlPlane


class Frr(BierSystem):
    """BIER whose routers act on failures themselves."""

    name: ClassVar[str] = "frr"
    reroutes: ClassVar[bool] = True
    plane: ClassVar[Any] = FrrControlPlane
    experiments: ClassVar[Mapping[str, str]] = {
        "restoration": "p4lab.systems.frr.experiments.verbs:restoration",
        "storm": "p4lab.systems.frr.experiments.verbs:storm",
    }

    def excused(self, plan: Plan, rerun: Rerun) -> Mapping[tuple[str, int], str]:
        return unprepared(plan, rerun)
