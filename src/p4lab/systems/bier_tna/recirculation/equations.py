"""Equations 1 to 3 of the paper. Rates are Gb/s; probabilities and ratios are plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

LINE_RATE = 100.0
"""Gb/s of a port"""
PORTS = 32
"""Ports at the front of the paper's switch"""
INTERNAL = 1
"""Recirculation ports that need no port at the front"""


def drop_probability(next_hops: int, loops: float) -> float:
    """Equation 1: the probability p that a packet sent to recirculation is dropped.

    p solves sum((1 - p)^m for m in 1 .. n-1) = k for n next hops and k recirculation ports. Where
    they suffice (k >= n - 1) the equation has no root between 0 and 1, and p is 0. Without ports
    all is dropped. `loops` may be a fraction, for ports of another rate. Raises ValueError for
    less than one next hop or less than no port.
    """
    check(next_hops, loops)
    if loops >= next_hops - 1:
        return 0.0
    if loops == 0:
        return 1.0
    low, high = 0.0, 1.0  # of 1 - p, in which the sum grows
    for _ in range(100):
        kept = (low + high) / 2
        if sum(kept**m for m in range(1, next_hops)) < loops:
            low = kept
        else:
            high = kept
    return 1 - (low + high) / 2


def throughput(i: int, next_hops: int, loops: float, capacity: float = LINE_RATE) -> float:
    """Equation 2: T(i) = C (1 - p)^(i-1), what next hop i of n gets, in the unit of `capacity`.

    Raises ValueError for a next hop that is not there.
    """
    if not 1 <= i <= next_hops:
        raise ValueError(f"there is no next hop {i} of {next_hops}; they are numbered from 1.")
    return capacity * (1 - drop_probability(next_hops, loops)) ** (i - 1)


def throughputs(next_hops: int, loops: float, capacity: float = LINE_RATE) -> tuple[float, ...]:
    """Equation 2 for all next hops, the first one first."""
    kept = 1 - drop_probability(next_hops, loops)
    return tuple(capacity * kept**m for m in range(next_hops))


def loss_after(p: float, recirculations: int) -> float:
    """Section VII-A: p(n) = 1 - (1 - p)^n, the probability to be lost on the way through n
    recirculations that each lose a packet with probability `p`."""
    if not 0 <= p <= 1:
        raise ValueError(f"{p} is not a probability; give a number from 0 to 1.")
    if recirculations < 0:
        raise ValueError(f"{recirculations} recirculations cannot be; give 0 or more.")
    return 1 - (1 - p) ** recirculations


def loops_needed(ports: int, factor: float, utilisation: float) -> int:
    """Equation 3: m' = ceil(m R / U), the recirculation ports that m ports with traffic need.

    `factor` is R, recirculations per packet on average; `utilisation` is U, how many times as much
    a recirculation port may be used as another one. An R below 0 (the paper's a (n - 1) for n = 0)
    counts as 0. Numbers are taken as the decimals they were written as, so that 32 x 0.125 / 4 is 1
    and needs one port and not two. Raises ValueError for a U that is not above 0.
    """
    if not utilisation > 0:
        raise ValueError(f"a utilisation ratio of {utilisation} leads nowhere; give one above 0.")
    if ports < 0:
        raise ValueError(f"a switch cannot have {ports} ports; give 0 or more.")
    return ceil(ports * max(exact(factor), Fraction(0)) / exact(utilisation))


@dataclass(frozen=True)
class Provision:
    """How the ports of a switch are used."""

    traffic: int
    """m, ports with traffic"""
    loops: int
    """m', recirculation ports that these need, internal ones included"""
    physical: int
    """m' - 1: those of them that are ports at the front, in loopback mode. (The paper once prints
    m - 1.)"""
    unused: int
    """Ports at the front that cannot be used: one more with traffic would need too many others"""


def provision(
    factor: float, utilisation: float, ports: int = PORTS, internal: int = INTERNAL
) -> Provision:
    """Section VII-C: the most ports m with traffic such that m + m' does not exceed `ports` at the
    front and `internal` recirculation ports together (33 in the paper)."""
    if ports < 0 or internal < 0:
        raise ValueError("a switch cannot have less than no ports; give 0 or more.")
    traffic = ports
    while loops_needed(traffic, factor, utilisation) + traffic > ports + internal:
        traffic -= 1
        if traffic < 0:
            raise ValueError("a switch without ports has nothing to provision.")
    loops = loops_needed(traffic, factor, utilisation)
    physical = max(0, loops - internal)
    return Provision(traffic, loops, physical, ports - traffic - physical)


def exact(number: float) -> Fraction:
    """The decimal that a float was written as, up to what a chain of a few operations adds."""
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError(f"{number} is not a number to provision for.")
    return Fraction(number).limit_denominator(10**9)


def check(next_hops: int, loops: float) -> None:
    """Raises ValueError for numbers of next hops and recirculation ports that cannot be."""
    if next_hops < 1:
        raise ValueError(f"{next_hops} next hops cannot be served; give 1 or more.")
    if not loops >= 0:
        raise ValueError(f"{loops} recirculation ports cannot be; give 0 or more.")
