"""Where the kernel holds an interface back, packets wait in the switch.

Mininet's `TCLink` gives interfaces a rate with the queueing discipline htb. What the switch sends
faster would wait in the kernel, where no program sees it. bmv2 stands still then, and its own queue
grows; this switch gives the port a queue with as many full packets a second.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from p4lab import _engine

FULL_FRAME = 1538
"""Bytes of an Ethernet frame on the wire with a packet of 1500 bytes, preamble and gap"""
QUEUE = 64
"""Packets that a port's queue holds, as bmv2's do"""
SYSTEM = ":/usr/sbin:/sbin"
_RATE = re.compile(r"\bclass htb .*?\brate (\d+)([KMG]?)bit\b")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def packets_per_second(rate: int) -> int:
    """Full packets that a link of `rate` bit/s carries; at least one."""
    return max(1, rate // (8 * FULL_FRAME))


def rates(ports: Sequence[tuple[int, str]]) -> dict[int, int]:
    """Bit/s of the ports whose interface is held back; none where there is no tc."""
    if (tc := shutil.which("tc", path=os.environ.get("PATH", "") + SYSTEM)) is None:
        return {}
    found = {port: rate_of(_shown(tc, interface)) for port, interface in ports}
    return {port: rate for port, rate in found.items() if rate is not None}


def rate_of(shown: str) -> int | None:
    """The least bit/s of what `tc class show` prints; None if there is no class of htb."""
    return min((int(n) * _UNITS[unit] for n, unit in _RATE.findall(shown)), default=None)


def hold(runtime: _engine.Runtime, rates: Mapping[int, int]) -> None:
    """Gives ports their queues; a program that has come since then has none yet."""
    for port, rate in rates.items():
        runtime.set_queue(port=port, rate=packets_per_second(rate), depth=QUEUE)


def _shown(tc: str, interface: str) -> str:
    words = [tc, "class", "show", "dev", interface]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout
