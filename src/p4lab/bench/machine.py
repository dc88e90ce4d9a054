"""The machine that figures were taken on, without which they mean nothing."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    """What a reader needs to know to compare."""

    processor: str
    cores: int
    kernel: str
    load: float

    def __str__(self) -> str:
        return (
            f"{self.processor}, {self.cores} cores, Linux {self.kernel}, "
            f"{self.load:.1f} other programs busy"
        )


def describe() -> Machine:
    """This machine, with the number of programs that were busy during the last minute."""
    cores = len(os.sched_getaffinity(0))
    return Machine(_processor(), cores, platform.release(), os.getloadavg()[0])


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
