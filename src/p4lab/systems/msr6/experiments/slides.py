"""What the slides on MSR6 in hardware printed, typed in once, and arithmetic with it.

"Comprehensive Hardware Evaluation of Multicast Source Routing over IPv6 (MSR6) on Experimental
Network", hackathon of IETF 119, March 2024. The rows of table 1 are those of the chip's compiler's
own report of resources. Not in the slides: which chip, the size, rate and number of packets, where
the time was taken, and the program.
"""

from __future__ import annotations

from dataclasses import dataclass

from p4lab.fit import chip

SOURCE = "MSR6 hackathon slides, IETF 119, March 2024"


# ---- Table 1


def share(blocks: int, there_are: int) -> float:
    """So many of all that there are, `there_are` in each stage of the chip, in percent."""
    return 100 * blocks / there_are / chip.STAGES


@dataclass(frozen=True)
class Resource:
    """A row of table 1: percent on average over all stages, and in stages 0 to 3."""

    name: str
    average: float
    stages: tuple[float, float, float, float]
    there_are: int
    """In each stage of a Tofino, as the compiler's report counts them (bf-p4c 9.13.4, `logging/
    resources.cpp`)"""
    fit: str | None = None
    """What `p4lab fit` calls it (`StageUse`); None if it does not estimate it"""

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many of them that is, by stage: all percentages are those of whole numbers."""
        return tuple(round(percent * self.there_are / 100) for percent in self.stages)

    @property
    def recomputed(self) -> float:
        """Percent on average: what the four stages take, over all that the chip's stages have."""
        return share(sum(self.blocks), self.there_are)

    @property
    def agrees(self) -> bool:
        """Whether that is the average in the slides."""
        return f"{self.recomputed:.1f}" == f"{self.average:.1f}"


HASH_BITS = 8 * (4 * 10 + 12)
ACTION_BUS_BYTES = 128
VLIW_ROWS = 32
BUSES = 16

TABLE_1 = (
    Resource("Action Data Bus Bytes", 6.1, (3.1, 0.0, 1.6, 68.8), ACTION_BUS_BYTES),
    Resource(
        "Exact Match Input Xbar", 2.5, (14.8, 0.8, 1.6, 12.5), chip.EXACT_BYTES, "exact_bytes"
    ),
    Resource("Gateway", 1.0, (6.3, 0.0, 6.3, 0.0), chip.GATEWAYS, "gateways"),
    Resource("Hash Bit", 2.0, (12.0, 2.4, 0.0, 9.6), HASH_BITS),
    Resource(
        "Logical Table ID", 4.2, (25.0, 6.3, 12.5, 6.3), chip.LOGICAL_TABLES, "logical_tables"
    ),
    Resource("SRAM", 3.8, (7.5, 1.3, 1.3, 35.0), chip.SRAMS, "srams"),
    Resource("Stash", 2.1, (12.5, 6.3, 0.0, 6.3), BUSES),
    Resource("TCAM", 2.1, (0.0, 0.0, 25.0, 0.0), chip.TCAM_ROWS * chip.TCAM_COLUMNS, "tcams"),
    Resource(
        "Ternary Match Input Xbar", 2.0, (0.0, 0.0, 24.2, 0.0), chip.TERNARY_BYTES, "ternary_bytes"
    ),
    Resource("VLIW Instruction", 2.1, (6.3, 6.3, 6.3, 6.3), VLIW_ROWS),
    Resource("Exact Match Search Bus", 2.1, (12.5, 6.3, 6.3, 6.3), BUSES),
    Resource("Exact Match Result Bus", 2.1, (12.5, 6.3, 0.0, 6.3), BUSES),
    Resource("Ternary Result Bus", 2.1, (12.5, 0.0, 12.5, 0.0), BUSES),
)


# ---- Delays


@dataclass(frozen=True)
class Delay:
    """In nanoseconds; the variance in their squares."""

    average: float
    variance: float
    least: float | None = None
    most: float | None = None


IPV6, TE, RLB = "IPv6", "TE", "TE with RLB"
WAYS = (IPV6, TE, RLB)

ENCAPSULATION = {
    TE: Delay(286.59, 0.9619, 284, 289),
    RLB: Delay(318.53, 1.2704, 316, 321),
    IPV6: Delay(274.96, 1.7062, 273, 279),
}
SAID_PERCENT = {TE: 3.5, RLB: 15.0}
"""How much higher than IPv6 the slide says these are"""
CLONES = {
    TE: (Delay(296.92, 0.3336), Delay(378.97, 5.6691)),
    RLB: (Delay(328.08, 0.2692), Delay(402.87, 9.7433)),
    IPV6: (Delay(270.70, 2.3508), Delay(285.14, 0.1254)),
}
"""Tables 2 to 4: first and second clone"""


def above_ipv6(way: str) -> float:
    """Percent that the encapsulation delay is above IPv6's: 100 (d / d of IPv6 - 1)."""
    return 100 * (ENCAPSULATION[way].average / ENCAPSULATION[IPV6].average - 1)


def gap(way: str) -> float:
    """Nanoseconds from the first clone to the second."""
    first, second = CLONES[way]
    return second.average - first.average


def cycles(nanoseconds: float) -> float:
    """Of a Tofino's clock."""
    return nanoseconds * chip.CLOCK_GHZ
