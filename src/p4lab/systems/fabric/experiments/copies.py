"""Figures 2c and 4: what the payload cache and the synchronisation of VOQs are for."""

from __future__ import annotations

from collections.abc import Iterator

from p4lab.systems.fabric.experiments.figure import Claim, Figure, Point, Points, Scope
from p4lab.systems.fabric.paper import LOAD, SYNC_SIZES
from p4lab.systems.fabric.ports import terminal
from p4lab.systems.fabric.runs import INTERVAL, Flow, Scenario, run
from p4lab.systems.fabric.trees import direct

SLOT_NS = 17.621
CELL = 256
FANOUTS = tuple(range(1, 9))
LINES = (16, 32, 48, 64, 96, 128)
LOCAL = [terminal(0, place) for place in range(1, 5)]
REMOTE = [terminal(leaf) for leaf in range(1, 5)]
FOUR_AND_FOUR = [*LOCAL, *REMOTE]
ROUND_TRIP_CELLS = 1100 / (CELL * 8 / 100)
"""What a port at 100 Gb/s sends in the remote copies' round trip"""
PLAIN = {"voq.drop": "off"}
"""Drops at VOQs come with figure 6"""


def interface(size: int) -> float:
    """Gb/s of frames that a port's payload interface carries: a slot for each cell."""
    return size * 8 / (-(-size // CELL) * SLOT_NS)


def without_cache(fanout: int, size: int = 1522) -> float:
    """Gb/s of each copy if every one needs the payload interface."""
    return min(LOAD, interface(size) / fanout)


# ---- Figure 2c


def measure_2c(scope: Scope, seed: int) -> Iterator[Point]:
    """Gb/s of a copy by the number of copies, with and without a cache."""
    for curve, lines in (("with cache", 128), ("without cache", 0)):
        settings = {**PLAIN, "cache.lines": lines, "sync.on": lines > 0}
        for fanout in FANOUTS:
            flow = Flow(direct(0, FOUR_AND_FOUR[:fanout]), LOAD)
            scenario = Scenario(5, (flow,), 1000, 250, settings, scope.extra)
            seen = run(scenario, seed, scope.telling(f"2c, {curve}, {fanout} copies"))
            got = seen.gbps(0)
            formula = LOAD if lines else without_cache(fanout)
            paper = 100.0 if lines else None
            yield Point("", curve, fanout, sum(got) / fanout, formula, paper)


def claims_2c(points: Points) -> Iterator[Claim]:
    """Flat with the cache; as 1/|f| without."""
    with_cache = points.curve("", "with cache")
    without = points.curve("", "without cache")
    least = min(with_cache.values())
    yield Claim("with the cache all fan-outs get 99 Gb/s", least > 98, f"least {least:.1f}")
    off = max(abs(without[n] / without_cache(n) - 1) for n in FANOUTS)
    text = "without it, each copy gets its share of the payload interface, to within 2 %"
    yield Claim(text, off < 0.02, f"off by up to {off:.1%}")


FIGURE_2C = Figure(
    "2c",
    "throughput by fan-out, 1522 bytes, 99 Gb/s offered",
    "local fan-out",
    "throughput of a copy [Gb/s]",
    measure_2c,
    claims_2c,
    2 * len(FANOUTS),
)


# ---- Figure 4

VARIANTS = (
    ("no synchronisation", False, 10),
    ("synchronised", True, 10),
    ("synchronised, no line kept free", True, 0),
)


def measure_4(scope: Scope, seed: int) -> Iterator[Point]:
    """Gb/s of the slowest copy, by the lines of the cache and the bytes of a frame."""
    for panel, sync, spare in VARIANTS:
        for size in SYNC_SIZES:
            for lines in LINES:
                settings = {
                    **PLAIN,
                    "cache.lines": lines,
                    "cache.spare": spare,
                    "sync.on": sync,
                }
                flow = Flow(direct(0, FOUR_AND_FOUR), LOAD, size)
                scenario = Scenario(5, (flow,), 400, 100, settings, scope.extra)
                what = f"4, {panel}, {size} bytes, {lines} lines"
                seen = run(scenario, seed, scope.telling(what))
                yield Point(panel, f"{size} bytes", lines, min(seen.gbps(0)))


def claims_4(points: Points) -> Iterator[Claim]:
    """Where each variant gets to full throughput."""
    (plain, synced, all_lines) = (panel for panel, _, _ in VARIANTS)
    for size in (512, 1522):
        curve = points.curve(plain, f"{size} bytes")
        small = max(curve[lines] for lines in LINES if lines < 64)
        large = min(curve[lines] for lines in LINES if lines >= 64)
        yield Claim(
            f"{size} bytes, not synchronised: below 64 lines at most half, from 64 on all",
            small < 60 and large > 98,
            f"up to {small:.1f} below, {large:.1f} from 64 lines on",
        )
        least = min(points.curve(all_lines, f"{size} bytes").values())
        text = f"{size} bytes, synchronised: 16 lines are enough if none is kept free"
        yield Claim(text, least > 98, f"least {least:.1f}")
    least = min(
        points.at(synced, f"{size} bytes", lines) for size in SYNC_SIZES for lines in LINES[1:]
    )
    yield Claim("synchronised: 32 lines are enough", least > 97, f"least {least:.1f}")
    jumbo = points.at(all_lines, "9022 bytes", 16)
    yield Claim("16 lines are too few for Jumbo frames", jumbo < 60, f"{jumbo:.1f}")


FIGURE_4 = Figure(
    "4ab",
    "throughput by cache size, 4 local and 4 remote copies, 99 Gb/s offered",
    "lines of the cache",
    "throughput of the slowest copy [Gb/s]",
    measure_4,
    claims_4,
    len(VARIANTS) * len(SYNC_SIZES) * len(LINES),
)


def measure_4c(scope: Scope, seed: int) -> Iterator[Point]:
    """Lines in use over time."""
    for lines, sync in ((128, False), (128, True), (32, False)):
        curve = f"{lines} lines, {'synchronised' if sync else 'not synchronised'}"
        settings = {**PLAIN, "cache.lines": lines, "sync.on": sync}
        flow = Flow(direct(0, FOUR_AND_FOUR), LOAD)
        scenario = Scenario(5, (flow,), 4000, 1000, settings, scope.extra)
        seen = run(scenario, seed, scope.telling(f"4c, {curve}"))
        for place, occupied in enumerate(seen.cache):
            yield Point("", curve, place * INTERVAL / 1000, occupied)


def claims_4c(points: Points) -> Iterator[Claim]:
    """How full the cache is."""
    most = max(points.curve("", "128 lines, synchronised").values())
    yield Claim("synchronised: fewer than 40 lines in use", most < 40, f"at most {most:.0f}")
    plain = list(points.curve("", "32 lines, not synchronised").values())[10:]
    middle = sum(plain) / len(plain)
    text = "32 lines, not synchronised: full, which is about 20"
    yield Claim(text, 17 < middle < 24, f"{middle:.1f} on average")


FIGURE_4C = Figure(
    "4c",
    "lines of the cache in use, 1522 bytes",
    "time [ms]",
    "lines in use",
    measure_4c,
    claims_4c,
    3,
    series=True,
)
