"""The control plane of a network of Tofinos: the usual one, laid out for p4/bier/tna.p4."""

from __future__ import annotations

from p4lab.control.bier_tna import TnaLayout, tna_entries
from p4lab.control.entries import Entries
from p4lab.control.plane import ControlPlane

LAYOUT = TnaLayout(loops=(68, 69, 70, 71))
"""The recirculation ports of the first pipe take turns"""


class TnaControlPlane(ControlPlane):
    """BIER, IGMP, and loops in turn; backups by loop-free alternates."""

    def _compute(self) -> dict[str, Entries]:
        return tna_entries(self.topology, self.membership, self.bsl, self.failures, LAYOUT)
