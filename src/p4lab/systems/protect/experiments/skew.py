"""How much later the second copy may come: by the window and the length of packets.

A copy that comes k packets late lies 2^n - k steps ahead on the circle of sequence numbers, and is
taken for new once that is within the window W. So k < 2^n - W is allowed (the paper, section III-E:
"SNmax - W later"), and what k packets are in seconds depends on their length and the rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.experiment import tidy
from p4lab.experiment.panels import GREY, RED
from p4lab.spread.sweep import Sweep, Task
from p4lab.systems.protect.experiments.events import Event, Outcome, run
from p4lab.systems.protect.experiments.figures import save
from p4lab.systems.protect.experiments.setup import origin

if TYPE_CHECKING:
    from rich.table import Table

BITS = 32
WINDOW = 1 << 31  # the paper's
PAPER_SECONDS, PAPER_BYTES, PAPER_RATE = 1.6, 40, 10**12
LENGTHS = (40, 94, 576, 1500, 9000)
# 94: 40 bytes behind a tunnel's IPv4 and P (28), on Ethernet (14), with preamble and FCS (8 + 4)
RATES = {"10 Gb/s": 10**10, "100 Gb/s": 10**11, "1 Tb/s": 10**12}

SMALL_BITS = 8
SMALL_WINDOWS = (64, 128, 192)
BESIDE_EDGE = (-8, -4, -2, -1, 0, 1, 2, 4, 8)  # packets from the first lag that is too long
LAPS = 3  # of the circle, in a stream


def allowed_packets(bits: int, window: int) -> int:
    """The longest lag, in packets, of a copy that is still known as old."""
    return (1 << bits) - window - 1


def allowed_seconds(bits: int, window: int, length: float, rate: float) -> float:
    """The first skew that is too long, for a line full of packets of `length` bytes at `rate` bits
    per second."""
    return ((1 << bits) - window) * length * 8 / rate


def bytes_for(seconds: float, bits: int, window: int, rate: float) -> float:
    """The length of packets, in bytes, that would allow a skew."""
    return seconds * rate / 8 / ((1 << bits) - window)


def formulas() -> list[dict[str, Any]]:
    """One record per rate and length, for 32 bits and the paper's window."""
    return [
        {
            "rate": name,
            "packet_bytes": length,
            "skew_s": allowed_seconds(BITS, WINDOW, length, rate),
        }
        for name, rate in RATES.items()
        for length in LENGTHS
    ]


# ---- The same with 8 bits, in virtual time


def measure(seed: int, sweep: Sweep) -> list[Outcome]:
    """Lags on both sides of the edge for each window. Raises NetworkError, ProgramError,
    SweepError."""
    tasks = []
    for window in SMALL_WINDOWS:
        edge = allowed_packets(SMALL_BITS, window) + 1
        for more in BESIDE_EDGE:
            event = Event(
                "lag",
                skew=edge + more + 0.5,
                sn_bits=SMALL_BITS,
                window=window,
                reset_ms=0,
            )
            what = f"window {window} of {1 << SMALL_BITS}, lag {edge + more}"
            tasks.append(Task(what, run, (event, "highest", LAPS << SMALL_BITS, seed)))
    return sweep.all(tasks)


def lag(outcome: Outcome) -> int:
    """How many packets the slow copies came late."""
    return int(outcome.event.skew)


def records(outcomes: Iterable[Outcome]) -> list[tidy.Row]:
    """One row per run."""
    return [
        {
            **origin(outcome.seed, outcome.event.settings(outcome.accept)),
            "sn_bits": SMALL_BITS,
            "window": outcome.event.window,
            "lag_packets": lag(outcome),
            "allowed_packets": allowed_packets(SMALL_BITS, outcome.event.window),
            "sent": outcome.sent,
            "lost": outcome.delivered.lost,
            "duplicates": outcome.delivered.duplicates,
        }
        for outcome in outcomes
    ]


def wrong(outcomes: Iterable[Outcome]) -> list[str]:
    """Lags that do not do what the formula says: none wrong up to the edge, some wrong beyond."""
    found = []
    for outcome in outcomes:
        allowed = lag(outcome) <= allowed_packets(SMALL_BITS, outcome.event.window)
        if allowed != (outcome.delivered.lost + outcome.delivered.duplicates == 0):
            found.append(f"W = {outcome.event.window}, lag {lag(outcome)}: {outcome.delivered}")
    return found


def tables(outcomes: Sequence[Outcome]) -> list[Table]:
    """The formula in seconds, and the edge."""
    from rich.table import Table  # heavy: rich

    seconds = Table(box=None, title="longest skew in seconds, 2^31 packets")
    seconds.add_column("packet")
    for name in RATES:
        seconds.add_column(name, justify="right")
    for length in LENGTHS:
        cells = [f"{allowed_seconds(BITS, WINDOW, length, rate):.3f}" for rate in RATES.values()]
        seconds.add_row(f"{length} bytes", *cells)
    edge = Table(box=None, title=f"{SMALL_BITS} bits: lost | twice, of {outcomes[0].sent} packets")
    edge.add_column("window", no_wrap=True)
    edge.add_column("allowed", justify="right", no_wrap=True)
    for more in BESIDE_EDGE:
        edge.add_column(f"lag {more:+d}", justify="right", no_wrap=True)
    for window in SMALL_WINDOWS:
        own = [o.delivered for o in outcomes if o.event.window == window]
        last = str(allowed_packets(SMALL_BITS, window))
        edge.add_row(str(window), last, *(f"{got.lost} | {got.duplicates}" for got in own))
    edge.caption = "lags are counted from the first that the formula does not allow"
    return [seconds, edge]


def said_aloud() -> str:
    """What of the paper does not follow."""
    right = allowed_seconds(BITS, WINDOW, PAPER_BYTES, PAPER_RATE)
    length = bytes_for(PAPER_SECONDS, BITS, WINDOW, PAPER_RATE)
    return (
        f"The paper (section IV-D) has {PAPER_SECONDS} s for {PAPER_BYTES} bytes and 1 Tb/s. "
        f"2^31 packets of {8 * PAPER_BYTES} bits take {right:.3f} s; {PAPER_SECONDS} s need "
        f"packets of {length:.0f} bytes."
    )


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Longest skew by length, and the edge. Raises OSError, ValueError."""
    note = (
        f"left: formula for a full line; right: {outcomes[0].sent} packets with {SMALL_BITS}-bit "
        f"numbers in virtual time, seed {outcomes[0].seed}, dashed: 2^{SMALL_BITS} - W"
    )
    drawings: list[Callable[[Any], None]] = [_draw_seconds, partial(_draw_edge, outcomes=outcomes)]
    save(path, drawings, note=note)


def _draw_seconds(axis: Any) -> None:
    for name, rate in RATES.items():
        skews = [allowed_seconds(BITS, WINDOW, length, rate) for length in LENGTHS]
        axis.loglog(LENGTHS, skews, "o-", markersize=3, label=name)
    axis.axhline(PAPER_SECONDS, linestyle=":", color=GREY, label="1.6 s (paper, 40 B, 1 Tb/s)")
    for length in (PAPER_BYTES, bytes_for(PAPER_SECONDS, BITS, WINDOW, PAPER_RATE)):
        skew = allowed_seconds(BITS, WINDOW, length, PAPER_RATE)
        axis.plot(length, skew, "o", color=RED, markersize=6, markerfacecolor="none")
        axis.annotate(
            f"{length:.0f} B: {skew:.3g} s", (length * 1.1, skew * 0.5), fontsize=7, color=RED
        )
    axis.set_ylim(0.2)
    axis.set_xlabel("length of packets [bytes]")
    axis.set_ylabel("longest skew between the paths [s]")
    axis.legend(fontsize=7)
    axis.set_title("32 bits, W = 2^31", fontsize=9)


def _draw_edge(axis: Any, *, outcomes: Sequence[Outcome]) -> None:
    for shade, window in enumerate(SMALL_WINDOWS):
        own = [o for o in outcomes if o.event.window == window]
        shares = [100 * (o.delivered.lost + o.delivered.duplicates) / o.sent for o in own]
        axis.plot(
            [lag(o) for o in own],
            shares,
            "o-",
            markersize=3,
            color=f"C{shade}",
            label=f"W = {window}",
        )
        edge = allowed_packets(SMALL_BITS, window) + 1
        axis.axvline(edge, linestyle="--", linewidth=0.8, color=f"C{shade}")
    axis.set_xlabel("lag of the slower copies [packets]")
    axis.set_ylabel("packets lost or delivered twice [%]")
    axis.legend(fontsize=7)
    axis.set_title(f"{SMALL_BITS} bits, highest number", fontsize=9)
