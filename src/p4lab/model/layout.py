"""How the ports of a switch are laid out: those of the topology as the chip counts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from p4lab.model.control import NumberError

FRONT_PORTS = 64  # of one pipe of a Tofino
PIPES = 4
MOST_LOOPS = 64

CPU_PORT = 510
"""The port to the control plane on v1model, unless a system says otherwise"""

TNA_CPU_PORT = 64
"""The same on a Tofino: its Ethernet port to the CPU"""

Backups = Literal["none", "loop_free", "downstream"]


def front_port(number: int) -> int:
    """Front port 0 to 255, 64 in each pipe, as the chip counts its ports: the pipe is in bits 7
    and 8. Ports below 64 keep their number. Raises NumberError."""
    pipe, local = divmod(number, FRONT_PORTS)
    if not 0 <= pipe < PIPES:
        raise NumberError(
            f"port {number} is none of a Tofino's front ports 0 to {PIPES * FRONT_PORTS - 1}"
        )
    return pipe << 7 | local


def front_number(port: int) -> int:
    """What `front_port` was given; other ports (for the CPU, loops) are not front ports and have
    no number: ValueError."""
    pipe, local = port >> 7, port & 0x7F
    if local >= FRONT_PORTS or pipe >= PIPES:
        raise ValueError(f"port {port} of a Tofino is not a front port")
    return pipe * FRONT_PORTS + local


@dataclass(frozen=True)
class TnaLayout:
    """How one Tofino is set up.

    `loops` are the ports that lead back to ingress, in the order in which they take turns: 68 to 71
    of each pipe always do, front ports in loopback too. k is their number. `backups` says which
    neighbours may be a detour: none; every loop-free alternate (RFC 5286, inequality 1), of which
    several failures at a time can make a loop that only the TTL ends; or only those nearer to the
    receiver (inequality 2), which never do. `port` gives the chip's number of a port of the
    topology.
    """

    loops: tuple[int, ...] = (68,)
    backups: Backups = "loop_free"
    port: Callable[[int], int] = front_port

    def __post_init__(self) -> None:
        if not 1 <= len(self.loops) <= MOST_LOOPS:
            raise ValueError(f"there can be 1 to {MOST_LOOPS} loops, not {len(self.loops)}")
        if len(set(self.loops)) != len(self.loops):
            raise ValueError("a port can be in the loops once only")


Layouts = Mapping[str, TnaLayout]
"""By router name"""
