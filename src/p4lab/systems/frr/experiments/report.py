"""The restoration experiment as a table of numbers, a comparison and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from p4lab import __version__
from p4lab.experiment import footer, tidy
from p4lab.experiment.confidence import Mean, error_bars, mean, runs_in_words, seeds_of
from p4lab.systems.frr.experiments.plan import BSL, MS, PROGRAM, US
from p4lab.systems.frr.experiments.restoration import MODES, PAPER_MS
from p4lab.systems.frr.experiments.sweeps import Row
from p4lab.systems.frr.plane import Family, Stage

SOURCE = (
    "Merling, Lindner, Menth: Hardware-Based Evaluation of Scalable and Resilient Multicast With "
    "BIER in P4, IEEE Access 2021, figure 11"
)
STEPS: dict[str, tuple[Stage, Family | None]] = {
    "detection_ms": ("detection", None),
    "notification_ms": ("notification", None),
    "ip_computation_ms": ("computation", "ip"),
    "ip_update_ms": ("update", "ip"),
    "bier_computation_ms": ("computation", "bier"),
    "bier_update_ms": ("update", "bier"),
    "backup_update_ms": ("update", "backup"),
}
COLOURS = dict(zip(MODES, ("#444444", "#999999", "#1f77b4", "#d62728"), strict=True))
MARKERS = dict(zip(MODES, "sxo^", strict=True))
BAR_MS = 0.2  # where bars begin


def records(rows: Sequence[Row]) -> list[tidy.Row]:
    """One row per run, one column per variable, and where it is from."""
    origin = tidy.origin(0, PROGRAM, [("BSL", str(BSL))])
    records = []
    for row in rows:
        outcome, setting = row.outcome, row.outcome.setting
        records.append(
            {
                **replace(origin, seed=setting.seed).columns,
                "part": row.part,
                "x": row.x,
                "network": setting.network,
                "mode": setting.mode,
                "routers": len(setting.topology.routers),
                "distance_ms": setting.delays.distance / MS,
                "interval_us": setting.interval / US,
                "heartbeat_ms": setting.heartbeat.interval / MS if setting.heartbeat else None,
                "silence_ms": setting.heartbeat.limit / MS if setting.heartbeat else None,
                "outage_ms": outcome.outage / MS,
                "sent": outcome.sent,
                "lost": outcome.lost,
                "duplicates": outcome.duplicates,
                **{
                    name: outcome.duration(stage, family) / MS
                    for name, (stage, family) in STEPS.items()
                },
            }
        )
    return records


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Raises OSError."""
    tidy.write_csv(records(rows), path)


def outages(rows: Sequence[Row], part: str, mode: str) -> dict[float, Mean]:
    """Mean time without delivery in milliseconds, by what the part varies."""
    values: dict[float, list[float]] = {}
    for row in rows:
        if row.part == part and row.outcome.setting.mode == mode:
            values.setdefault(row.x, []).append(row.outcome.outage / MS)
    return {x: mean(runs) for x, runs in sorted(values.items())}


def summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One record per mode: the paper's value beside ours, with losses and duplicates per run."""
    records = []
    for mode in MODES:
        runs = [r.outcome for r in rows if r.part == "figure 11" and r.outcome.setting.mode == mode]
        if not runs:
            continue
        outage = mean([run.outage / MS for run in runs])
        records.append(
            {
                "mode": mode,
                "paper_ms": PAPER_MS[mode],
                "ours_ms": outage.value,
                "half_width_ms": outage.half_width if len(runs) > 1 else None,
                "runs": len(runs),
                "lost": sum(run.lost for run in runs) / len(runs),
                "duplicates": sum(run.duplicates for run in runs),
                **{
                    name: sum(run.duration(stage, family) for run in runs) / len(runs) / MS
                    for name, (stage, family) in STEPS.items()
                },
            }
        )
    return records


def draw(rows: Sequence[Row], path: Path) -> None:
    """The figure, in the format that the file's name ends in. Raises OSError, ValueError."""
    import matplotlib  # heavy: matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    parts = ("distance", "size", "heartbeat")
    sweeps = [part for part in parts if any(row.part == part for row in rows)]
    figure, axes = pyplot.subplots(
        1, 1 + len(sweeps), figsize=(4.6 * (1 + len(sweeps)), 4.2), squeeze=False
    )
    _bars(axes[0][0], rows)
    labels = {
        "distance": "one way between router and controller [ms]",
        "size": "routers in the network",
        "heartbeat": "between two heartbeats [ms]",
    }
    for axis, part in zip(axes[0][1:], sweeps, strict=True):
        _lines(axis, rows, part, labels[part])
        if part == "heartbeat":
            _computed(axis, rows)
            axis.legend(fontsize=7)
    below = footer.add(figure, [*_assumed(rows), f"p4lab {__version__}; paper: {SOURCE}"])
    figure.tight_layout(rect=(0, below, 1, 1))
    figure.savefig(path)
    pyplot.close(figure)


def _assumed(rows: Sequence[Row]) -> list[str]:
    """Without which the numbers mean nothing, in a line; none without runs."""
    settings = [row.outcome.setting for row in rows]
    if not settings:
        return []
    seeds = sorted({setting.seed for setting in settings})
    first = settings[0]
    times = "virtual time, steps of the controller assumed"
    return [
        f"{seeds_of(seeds[0], len(seeds))}; a probe every {first.interval / US:g} us; "
        + (times if first.network == "virtual" else "Linux hosts")
    ]


def _bars(axis: Any, rows: Sequence[Row]) -> None:
    records = summary(rows)
    for place, record in enumerate(records):
        axis.bar(place - 0.2, record["paper_ms"], 0.38, color="#dddddd", edgecolor="#888888")
        axis.bar(
            place + 0.2,
            record["ours_ms"],
            0.38,
            yerr=record["half_width_ms"],
            capsize=4,
            error_kw={"elinewidth": 1},
            color=COLOURS[record["mode"]],
        )
        ours = record["ours_ms"]
        top = ours + (record["half_width_ms"] or 0)  # numbers stand above error bars
        for shift, value, at in ((-0.2, paper := record["paper_ms"], paper), (0.2, ours, top)):
            axis.annotate(
                f"{value:.3g}",
                (place + shift, max(at, BAR_MS)),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=7,
            )
    axis.set_yscale("log")
    tops = [record["ours_ms"] + (record["half_width_ms"] or 0) for record in records]
    axis.set_ylim(BAR_MS, max(300, 2 * max(tops, default=0)))
    axis.set_xticks(range(len(records)))
    axis.set_xticklabels([record["mode"].replace(" ", "\n", 1) for record in records], fontsize=7)
    axis.set_ylabel("time without delivery [ms]")
    runs = records[0]["runs"] if records else 0
    axis.set_title(f"paper (grey) and here, {runs_in_words(runs)}", fontsize=9)


def _lines(axis: Any, rows: Sequence[Row], part: str, label: str) -> None:
    seeds = {row.outcome.setting.seed for row in rows if row.part == part}
    for mode in MODES:
        points = outages(rows, part, mode)
        axis.errorbar(
            list(points),
            [point.value for point in points.values()],
            yerr=error_bars([point.half_width for point in points.values()], len(seeds)),
            label=mode,
            color=COLOURS[mode],
            marker=MARKERS[mode],
            linestyle="--" if mode == "IP-FRR only" else "-",
            capsize=3,
            markersize=4,
        )
    axis.set_yscale("log")
    axis.set_xlabel(label)
    axis.set_ylabel("time without delivery [ms]")
    axis.legend(fontsize=7)
    axis.set_title(f"by {part}", fontsize=9)


def _computed(axis: Any, rows: Sequence[Row]) -> None:
    """Within which time after a failure heartbeats must show it, from interval and limit alone."""
    used = {row.x: row.outcome.setting.heartbeat for row in rows if row.part == "heartbeat"}
    bounds = {x: heartbeat.detection for x, heartbeat in sorted(used.items()) if heartbeat}
    axis.fill_between(
        list(bounds),
        [least / MS for least, _ in bounds.values()],
        [most / MS for _, most in bounds.values()],
        color="#d62728",
        alpha=0.2,
        label="detection, computed",
    )
