"""Provisioning for a mix of traffic: equation 3 with the R of a whole switch.

The paper counts n - 1 recirculations for n next hops. Its program needs more: one where a packet
gets its BIER header and one where it loses it. So does `p4/bier/tna.p4` at the router where packets
enter; where they leave it needs none. `Mix` counts both for the shares of which one says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from p4lab.systems.bier_tna.recirculation.equations import (
    INTERNAL,
    PORTS,
    Provision,
    exact,
    provision,
)


@dataclass(frozen=True)
class Part:
    """A share (0 to 1) of all packets that come in, and to how many next hops each of them goes."""

    share: float
    next_hops: int


@dataclass(frozen=True)
class Mix:
    """All packets that come in: `parts`, and whatever share they leave to 1, which is unicast and
    not recirculated. `bfir` and `bfer` are the shares that get and lose their BIER header here."""

    parts: tuple[Part, ...]
    bfir: float = 0.0
    bfer: float = 0.0

    def __post_init__(self) -> None:
        for part in self.parts:
            _check_share(part.share, f"the share with {part.next_hops} next hops")
            if part.next_hops < 0:
                raise ValueError(f"{part.next_hops} next hops cannot be; give 0 or more.")
        _check_share(self.bfir, "the share that is encapsulated")
        _check_share(self.bfer, "the share that is decapsulated")
        total = sum((exact(part.share) for part in self.parts), Fraction(0))
        if total > 1:
            raise ValueError(f"the shares of the mix add up to {float(total):g}, more than 1.")
        for share, what in ((self.bfir, "encapsulated"), (self.bfer, "decapsulated")):
            if exact(share) > self._forwarded():
                raise ValueError(
                    f"{share:g} of the packets cannot be {what}: the mix has only "
                    f"{float(self._forwarded()):g}; name the rest with its number of next hops."
                )

    @classmethod
    def parse(cls, text: str, bfir: float = 0.0, bfer: float = 0.0) -> Mix:
        """A mix from `next_hops:share,...`, such as `1:0.7,4:0.2,16:0.1`."""
        parts = []
        for item in filter(None, (piece.strip() for piece in text.split(","))):
            number, colon, share = item.partition(":")
            try:
                parts.append(Part(float(share), int(number)))
            except ValueError:
                raise ValueError(
                    f"{item!r} is not part of a mix; write next hops and share, such as 4:0.2."
                ) from None
            if not colon:
                raise ValueError(f"{item!r} has no share; write next hops and share, as in 4:0.2.")
        if not parts:
            raise ValueError("the mix is empty; write next hops and shares, such as 1:0.9,4:0.1.")
        return cls(tuple(parts), bfir, bfer)

    @property
    def factor_of_the_paper(self) -> float:
        """R, replication alone: the mean of n - 1. A packet to no next hop is not recirculated."""
        return float(self._replication())

    @property
    def factor(self) -> float:
        """R, and one recirculation more for each packet that gets or loses its header."""
        return float(self._replication() + exact(self.bfir) + exact(self.bfer))

    @property
    def encapsulated(self) -> float:
        """The share of the mix's own packets that get their BIER header here."""
        return float(exact(self.bfir) / (self._forwarded() or 1))

    @property
    def decapsulated(self) -> float:
        """The share of them that lose it here."""
        return float(exact(self.bfer) / (self._forwarded() or 1))

    def _forwarded(self) -> Fraction:
        return sum((exact(part.share) for part in self.parts if part.next_hops), Fraction(0))

    def _replication(self) -> Fraction:
        parts = (exact(part.share) * max(0, part.next_hops - 1) for part in self.parts)
        return sum(parts, Fraction(0))


@dataclass(frozen=True)
class Fewer:
    """A switch with fewer recirculation ports than the rule wants."""

    loops: int
    """Recirculation ports that there are"""
    drop_probability: float
    """Of a packet each time that it is sent to recirculation, if all are dropped alike"""
    lost: tuple[tuple[Part, float], ...]
    """For each part of the mix the share of its packets that never reach the last next hop"""
    lost_of_copies: float
    """Of all copies that should leave, the share that does not"""


@dataclass(frozen=True)
class Calculation:
    """What a switch needs for a mix of traffic, and what fewer recirculation ports would cost."""

    mix: Mix
    utilisation: float
    ports: int
    internal: int
    needed: Provision
    of_the_paper: Provision
    """The same without what encapsulation and decapsulation add"""
    with_fewer: Fewer | None


def calculate(
    mix: Mix,
    utilisation: float,
    ports: int = PORTS,
    internal: int = INTERNAL,
    loopback: int | None = None,
    load: float | None = None,
) -> Calculation:
    """The provisioning calculator.

    With `loopback` ports at the front in loopback mode, whatever the rule says, it also computes
    the losses when all other ports carry `load` (0 to 1; without it the most that the rule allows:
    recirculation ports full, others at 1/U of that). Raises ValueError with what cannot be.
    """
    needed = provision(mix.factor, utilisation, ports, internal)
    paper = provision(mix.factor_of_the_paper, utilisation, ports, internal)
    fewer = None
    if loopback is not None:
        if not 0 <= loopback <= ports:
            raise ValueError(f"{loopback} of {ports} ports cannot be in loopback mode.")
        load = 1 / utilisation if load is None else load
        _check_share(load, "the load of a port")
        fewer = with_loops(mix, (ports - loopback) * load, loopback + internal)
    return Calculation(mix, utilisation, ports, internal, needed, paper, fewer)


def with_loops(mix: Mix, traffic: float, loops: int) -> Fewer:
    """What is lost when `traffic` (in ports' rates) meets so many recirculation ports and each
    packet sent to them is dropped with the same probability: equation 1 for a mix.

    A packet that is encapsulated here needs one recirculation before its first copy; one that is
    decapsulated needs it for its last. How these coincide with numbers of next hops is not known,
    so both are spread evenly over the mix.
    """
    p = _drop_probability(mix, traffic, loops)
    kept = 1 - p
    # Of packets that are encapsulated here nothing is sent before they have come back once.
    begin = 1 - mix.encapsulated * p
    end = 1 - mix.decapsulated * p
    lost = []
    copies = wanted = 0.0
    for part in mix.parts:
        if part.next_hops < 1:
            continue
        lost.append((part, 1 - begin * kept ** (part.next_hops - 1) * end))
        got = sum(begin * kept**m for m in range(part.next_hops))
        got -= begin * kept ** (part.next_hops - 1) * (1 - end)
        wanted += part.share * part.next_hops
        copies += part.share * got
    missing = 1 - copies / wanted if wanted else 0.0
    return Fewer(loops, p, tuple(lost), max(0.0, missing))


def _drop_probability(mix: Mix, traffic: float, loops: int) -> float:
    """p at which the recirculation ports carry as much as they can; 0 if they can carry all."""

    def carried(kept: float) -> float:
        begin = 1 - mix.encapsulated * (1 - kept)
        load = mix.bfir * kept
        for part in mix.parts:
            load += part.share * begin * sum(kept**m for m in range(1, part.next_hops))
            if part.next_hops:
                load += part.share * begin * mix.decapsulated * kept**part.next_hops
        return traffic * load

    if carried(1.0) <= loops:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(100):
        kept = (low + high) / 2
        if carried(kept) < loops:
            low = kept
        else:
            high = kept
    return 1 - (low + high) / 2


def _check_share(share: float, what: str) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"{what} is {share}; a share is a number from 0 to 1.")
