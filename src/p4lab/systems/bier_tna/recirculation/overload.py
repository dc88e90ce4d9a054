"""Whether a switch with a mix of traffic loses packets with so many recirculation ports.

Equation 3 is about averages. Here the mix goes through the program on the engine: each part is a
stream of its own, all recirculation ports take turns, and what their queues drop is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from p4lab import _engine
from p4lab.systems.bier_tna.recirculation import bench
from p4lab.systems.bier_tna.recirculation.mixes import Mix, Part

FRAME = 500
BUFFER = 32  # packets of each queue
WARM, SLOTS = 6_000, 4_000  # times that a packet takes on a cable; more if queues fill slowly
MOST_SLOTS = 60_000


@dataclass(frozen=True)
class Loss:
    """What the recirculation ports did."""

    loops: int
    offered: int
    """Packets"""
    dropped: int

    @property
    def share(self) -> float:
        """Of the packets that were to be recirculated, those that were dropped."""
        return self.dropped / self.offered if self.offered else 0.0


def mix_of(factor: float) -> Mix:
    """A mix with R = `factor`: packets for two neighbouring numbers of next hops."""
    below = floor(factor)
    above = round(factor - below, 9)
    parts = [Part(1 - above, below + 1)] if below else []
    return Mix((*parts, *([Part(above, below + 2)] if above else [])))


def overload(mix: Mix, ports: int, utilisation: float, loops: int, seed: int = 1) -> Loss:
    """The losses when `ports` ports carry as much as the rule allows, 1 / `utilisation` of their
    rate, and `loops` ports recirculate. Raises ValueError for more than the switch has."""
    hops = max((part.next_hops for part in mix.parts), default=0)
    if hops > bench.MOST_NEXT_HOPS or loops > bench.MOST_LOOPS:
        raise ValueError(
            f"{hops} next hops on {loops} recirculation ports are too many; "
            f"{bench.MOST_NEXT_HOPS} on {bench.MOST_LOOPS} can be simulated."
        )
    network = _engine.Network(seed)
    switch = network.add_switch("s1", bench.program(), seed=seed, engine=None)
    network.write(switch, bench.updates(max(1, hops), loops, collapsed=False))
    overhead = bench.GAP + bench.FCS
    taking_part = bench.make_loops(
        network,
        switch,
        loops,
        queue=BUFFER * (FRAME + 2 * bench.INTERNAL_HEADER),
        overhead=overhead - bench.INTERNAL_HEADER,
    )
    for number, part in enumerate(mix.parts):
        rate = int(bench.LINE * ports / utilisation * part.share)
        if part.next_hops > 1 and rate:
            network.generate(
                switch,
                bench.frame(part.next_hops, FRAME, False),
                port=bench.SOURCE_PORT,
                rate=rate,
                layer=1,
                overhead=overhead,
                flow=number,
                seed=seed + number,
            )
    warm = WARM
    excess = ports / utilisation * mix.factor_of_the_paper - loops
    if excess > 0:
        warm = min(MOST_SLOTS, WARM + round(4 * BUFFER * loops / excess))
    slot = bench.slot(FRAME)
    network.run_until(round(warm * slot))
    before = [network.loop_stats(switch, port) for port in taking_part]
    network.run_until(round((warm + max(SLOTS, warm // 2)) * slot))
    after = [network.loop_stats(switch, port) for port in taking_part]
    counts = [
        sum(now[name] - then[name] for now, then in zip(after, before, strict=True) if now and then)
        for name in ("offered", "dropped")
    ]
    return Loss(loops, *counts)
