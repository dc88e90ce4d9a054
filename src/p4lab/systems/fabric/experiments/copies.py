"""Figures 2c and 4: what the payload cache and the synchronisation of VOQs are for."""

from __future__ import annotations

from collections.abc import Iterator

from p4lab.spread.sweep import Task
from p4lab.systems.fabric.experiments.figure import Claim, Figure, Point, Points
from p4lab.systems.fabric.paper import LOAD, SYNC_SIZES
from p4lab.systems.fabric.parameters import Settings
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


def run_2c(curve: str, lines: int, fanout: int, extra: str, seed: int) -> list[Point]:
    """Gb/s of a copy, with a cache of so many lines or without."""
    settings: Settings = {**PLAIN, "cache.lines": lines, "sync.on": lines > 0}
    flow = Flow(direct(0, FOUR_AND_FOUR[:fanout]), LOAD)
    got = run(Scenario(5, (flow,), 1000, 250, settings, extra), seed).gbps(0)
    formula = LOAD if lines else without_cache(fanout)
    return [Point("", curve, fanout, sum(got) / fanout, formula, 100.0 if lines else None)]


def runs_2c(extra: str, seed: int) -> Iterator[Task[list[Point]]]:
    """By the number of copies, with and without a cache."""
    for curve, lines in (("with cache", 128), ("without cache", 0)):
        for fanout in FANOUTS:
            what = f"2c, {curve}, {fanout} copies, seed {seed}"
            yield Task(what, run_2c, (curve, lines, fanout, extra, seed))


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
    runs_2c,
    claims_2c,
    own=("cache.lines", "sync.on", "voq.drop", "line.gbps", "cell.bytes", "cell.slot_ps"),
)


# ---- Figure 4

VARIANTS = (
    ("no synchronisation", False, 10),
    ("synchronised", True, 10),
    ("synchronised, no line kept free", True, 0),
)


def run_4(panel: str, settings: Settings, size: int, extra: str, seed: int) -> list[Point]:
    """Gb/s of the slowest copy."""
    flow = Flow(direct(0, FOUR_AND_FOUR), LOAD, size)
    seen = run(Scenario(5, (flow,), 400, 100, {**PLAIN, **settings}, extra), seed)
    return [Point(panel, f"{size} bytes", float(settings["cache.lines"]), min(seen.gbps(0)))]


def runs_4(extra: str, seed: int) -> Iterator[Task[list[Point]]]:
    """By the lines of the cache and the bytes of a frame."""
    for panel, sync, spare in VARIANTS:
        for size in SYNC_SIZES:
            for lines in LINES:
                settings = {"cache.lines": lines, "cache.spare": spare, "sync.on": sync}
                what = f"4, {panel}, {size} bytes, {lines} lines, seed {seed}"
                yield Task(what, run_4, (panel, settings, size, extra, seed))


def claims_4(points: Points) -> Iterator[Claim]:
    """Where each variant gets to full throughput."""
    (plain, synced, all_lines) = (panel for panel, _, _ in VARIANTS)
    for size in SYNC_SIZES[:-1]:
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
    curve = points.curve(plain, "9022 bytes")
    small, large = curve[16], min(curve[lines] for lines in LINES if lines > 16)
    text = "9022 bytes, not synchronised: 16 lines give at most half, 32 all"
    yield Claim(text, small < 60 and large > 98, f"{small:.1f}, then {large:.1f}")
    jumbo = points.at(all_lines, "9022 bytes", 16)
    yield Claim("16 lines are too few for Jumbo frames", jumbo < 60, f"{jumbo:.1f}")


FIGURE_4 = Figure(
    "4ab",
    "throughput by cache size, 4 local and 4 remote copies, 99 Gb/s offered",
    "lines of the cache",
    "throughput of the slowest copy [Gb/s]",
    runs_4,
    claims_4,
    own=("cache.lines", "cache.spare", "sync.on", "voq.drop"),
)


def run_4c(lines: int, sync: bool, extra: str, seed: int) -> list[Point]:
    """Lines in use over time."""
    curve = f"{lines} lines, {'synchronised' if sync else 'not synchronised'}"
    settings: Settings = {**PLAIN, "cache.lines": lines, "sync.on": sync}
    flow = Flow(direct(0, FOUR_AND_FOUR), LOAD)
    seen = run(Scenario(5, (flow,), 4000, 1000, settings, extra), seed)
    return [
        Point("", curve, place * INTERVAL / 1000, occupied)
        for place, occupied in enumerate(seen.cache)
    ]


def runs_4c(extra: str, seed: int) -> Iterator[Task[list[Point]]]:
    """By the lines of the cache, with and without synchronisation."""
    for lines, sync in ((128, False), (128, True), (32, False)):
        what = f"4c, {lines} lines{', synchronised' * sync}, seed {seed}"
        yield Task(what, run_4c, (lines, sync, extra, seed))


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
    runs_4c,
    claims_4c,
    series=True,
    own=("cache.lines", "sync.on", "voq.drop"),
)
