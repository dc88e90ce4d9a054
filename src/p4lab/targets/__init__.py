"""What may run a program: the engine of this package, or tools that are really there."""

from __future__ import annotations

from p4lab.network.base import NetworkError

NAMES = ("engine", "bmv2", "tofino-model", "wedge")
HARDWARE = NAMES[2:]  # programs for TNA, ports from a rack


class TargetError(NetworkError):
    """A target that cannot be used here; the message says what is missing and what to do."""
