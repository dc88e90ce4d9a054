"""BIER (RFC 8279): bit strings, F-BMs, replication by recirculation; the program in `p4/bier`."""

from __future__ import annotations

from typing import ClassVar

from p4lab.systems.bier.base import BierSystem


class Bier(BierSystem):
    """BIER on v1model."""

    name: ClassVar[str] = "bier"
