"""TCP goodput between hosts of a network in virtual time: parallel flows, and windows of them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from p4lab import _engine
from p4lab.experiment.steady import Window

PARALLEL = 15  # flows of each iperf3 connection in the measurements of P4-Protect, section V-B
PICOSECONDS = 10**12  # per second


def parallel(
    net: _engine.Network,
    sender: int,
    receiver: int,
    flows: int = PARALLEL,
    *,
    within: int = 0,
    seed: int = 0,
    **how: Any,
) -> list[int]:
    """Starts several transfers between two hosts with a TCP; gives their numbers.

    Each begins at a random moment from now up to `within` picoseconds later, which `seed` decides,
    so that runs with other seeds are other runs even where no link draws anything. `how` is as for
    `_engine.Network.transfer`. Raises ValueError.
    """
    draw = random.Random(f"{seed} {sender} {receiver}")
    starts = [net.now + draw.randint(0, within) for _ in range(flows)]
    return [net.transfer(sender, receiver, start=start, **how) for start in starts]


def goodput_windows(
    net: _engine.Network, groups: Mapping[str, Sequence[int]], length: int
) -> Window:
    """Windows of `length` picoseconds of a network: what the receivers' programs have read of each
    group of transfers in one, in bits per second. Frames for a controller pass by."""

    def delivered() -> dict[str, int]:
        return {
            name: sum(net.transferred(number)["delivered"] for number in numbers)
            for name, numbers in groups.items()
        }

    def window() -> dict[str, float]:
        before, end = delivered(), net.now + length
        while net.run_until(end) is not None:
            pass
        bits = {name: 8 * (bytes_ - before[name]) for name, bytes_ in delivered().items()}
        return {name: count * PICOSECONDS / length for name, count in bits.items()}

    return window
