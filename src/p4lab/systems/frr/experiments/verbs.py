"""`p4lab experiment restoration` and `storm`: fast reroute, measured and put to the test."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from p4lab.cli.console import print_whole
from p4lab.cli.errors import VERDICT_NO, fail, fail_at, fail_in_file
from p4lab.cli.hosts import choose_network
from p4lab.cli.options import Json, NetworkName
from p4lab.cli.sweeps import Dask, Threads, only_virtual, with_sweep
from p4lab.experiment.confidence import seeds_of, with_interval
from p4lab.network.base import NetworkError
from p4lab.plurals import count_of
from p4lab.systems.frr.experiments import restoration as restored
from p4lab.systems.frr.experiments.report import draw, summary, write_csv
from p4lab.systems.frr.experiments.storm import HEARTBEATS, Storm
from p4lab.systems.frr.experiments.sweeps import Scope, measure
from p4lab.systems.frr.heartbeat import Heartbeat
from p4lab.topology import Topology, TopologyError

if TYPE_CHECKING:
    from rich.table import Table

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the figure and CSV.")]
Runs = Annotated[int, typer.Option("--runs", min=1, max=1000, help="Runs, each with its own seed.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=(1 << 32) - 1, help="Seed of the first run.")
]
Rate = Annotated[int, typer.Option("--pps", min=1000, max=1_000_000, help="Probes per second.")]
Ip = Annotated[float, typer.Option("--ip-ms", help="Time until the controller restores unicast.")]
Bier = Annotated[float, typer.Option("--bier-ms", help="Time until the controller restores BIER.")]
Sweeps = Annotated[
    bool, typer.Option("--sweeps/--no-sweeps", help="Also vary distance and network size.")
]

Events = Annotated[
    int,
    typer.Option(
        "--events",
        min=1,
        max=100_000,
        help="Failures and repairs; what is down after them is repaired besides.",
    ),
]
Detection = Annotated[
    str,
    typer.Option(
        "--detection",
        metavar="link|heartbeat",
        help="What detects a failure: the ends of the link, or heartbeats in the data plane.",
    ),
]
HeartbeatMs = Annotated[
    float | None,
    typer.Option(
        "--heartbeat-ms",
        min=0.001,
        max=1000,
        help="Time between two heartbeats [restoration: 0.2, storm: 1; on Linux hosts: 20].",
    ),
]
TopologyName = Annotated[
    str,
    typer.Option(
        "--topology", metavar="NAME", help="A topology from topologies/, or a .toml file."
    ),
]

LONGEST_MS = 60_000.0


def restoration(
    out: Out = Path("restoration"),
    runs: Runs = 10,
    seed: Seed = 1,
    pps: Rate = 100_000,
    ip_ms: Ip = 36.0,
    bier_ms: Bier = 76.0,
    sweeps: Sweeps = True,
    net: NetworkName = "virtual",
    detection: Detection = "link",
    heartbeat_ms: HeartbeatMs = None,
    threads: Threads = 1,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """How long multicast stops after a link failure, with and without fast reroute (figure 11).

    Writes restoration.csv (one row per run) and restoration.svg. Exits 1 if a packet came twice.
    On Linux hosts (--net linux) the kernel detects the failure, there are no sweeps, and at most
    5,000 probes a second. With --detection heartbeat a neighbour is down when three heartbeats are
    missing (on Linux hosts five), and the sweep is over the time between two of them.
    The JSON object has `modes`: each with mode, paper_ms, ours_ms, half_width_ms (of the 95 %
    confidence interval), runs, lost (packets per run), duplicates (in all runs) and the mean
    durations of the steps in milliseconds; `heartbeat` (null, or interval_ms, silence_ms, and the
    computed detection_least_ms and detection_most_ms); and the paths `csv` and `figure`.
    half_width_ms is null for one run, which has no interval.
    """
    from rich.console import Console  # heavy: rich

    choose_network(net)
    only_virtual(net, threads, dask)
    heartbeat = _heartbeat(detection, heartbeat_ms, restored.HEARTBEATS[net])
    sums = (_milliseconds("--ip-ms", ip_ms), _milliseconds("--bier-ms", bier_ms))
    scope = Scope(runs, seed, pps, *sums, sweeps, net, heartbeat)
    csv, figure = out / "restoration.csv", out / "restoration.svg"
    try:
        rows = with_sweep(out, "restoration", threads, dask, lambda sweep: measure(scope, sweep))
        write_csv(rows, csv)
        draw(rows, figure)
    except (restored.ExperimentError, NetworkError) as error:
        fail(str(error))
    except OSError as error:
        fail_at(error, out)
    modes = summary(rows)
    if as_json:
        beats = None if heartbeat is None else _described(heartbeat)
        record = {"modes": modes, "heartbeat": beats, "csv": str(csv), "figure": str(figure)}
        typer.echo(json.dumps(record, indent=2))
    else:
        console = Console(emoji=False)
        print_whole(_table(modes))
        if heartbeat is not None:
            console.print(_within(heartbeat), highlight=False)
        console.print(f"{seeds_of(seed, runs)}; {csv}, {figure}", highlight=False)
    if any(row.outcome.duplicates for row in rows):
        raise typer.Exit(VERDICT_NO)


def storm(
    events: Events = 1000,
    seed: Seed = 1,
    topology: TopologyName = "ring",
    net: NetworkName = "virtual",
    detection: Detection = "link",
    heartbeat_ms: HeartbeatMs = None,
    as_json: Json = False,
) -> None:
    """Let links fail and come back at random under load; exits 0 only if the network got over it.

    After each event every subscriber with a way left must get every packet once, nobody else any,
    and after the last repair the tables must be those of a fresh start. Links that are down after
    the last event are repaired, which is judged like events but not counted among them. The JSON
    object has ok, seed, events, repairs (at the end), failed (number, link, up, missed, wrong,
    duplicates), lost (packets of the load) and tables_equal.
    """
    from rich.console import Console

    choose_network(net)
    try:
        network = Topology.load(topology)
    except TopologyError as error:
        fail_in_file(error)
    if len(network.hosts) < 2:
        fail(f"the topology {network.name!r} has fewer than two hosts: add some.")
    heartbeat = _heartbeat(detection, heartbeat_ms, HEARTBEATS[net])
    repairs, failed, lost = 0, [], 0
    try:
        with (
            Console(stderr=True).status("starting") as status,
            Storm(network, seed, net, heartbeat=heartbeat) as run,
        ):
            for event in run.events(events):
                repairs, lost = repairs + (event.number >= events), lost + event.lost
                failed += [] if event.ok else [event]
                status.update(f"event {event.number + 1}, {len(failed)} not survived ...")
            equal = run.tables() == run.fresh_tables()
    except NetworkError as error:
        fail(str(error))
    ok = equal and not failed
    if as_json:
        keys = ("number", "up", "missed", "wrong", "duplicates")
        rows = [
            {"link": [event.link.a, event.link.b], **{key: getattr(event, key) for key in keys}}
            for event in failed
        ]
        record = {"ok": ok, "seed": seed, "events": events, "repairs": repairs, "failed": rows}
        typer.echo(json.dumps({**record, "lost": lost, "tables_equal": equal}, indent=2))
    else:
        for event in failed:
            what = "repaired" if event.up else "failed"
            typer.echo(
                f"event {event.number}: {event.link.a}-{event.link.b} {what}: "
                f"not served {', '.join(event.missed) or 'nobody'}; "
                f"served without wish {', '.join(event.wrong) or 'nobody'}; "
                f"{event.duplicates} duplicates"
            )
        tables = "as after a fresh start" if equal else "not those of a fresh start"
        typer.echo(
            f"seed {seed}: {count_of(events, 'event')} and {count_of(repairs, 'repair')} at the "
            f"end, {len(failed)} not survived, {count_of(lost, 'packet')} lost on the way; "
            f"tables {tables}."
        )
    if not ok:
        raise typer.Exit(VERDICT_NO)


def _milliseconds(option: str, value: float) -> float:
    if not 0 <= value <= LONGEST_MS:  # nor is nan
        fail(f"{option} {value:g}: give milliseconds from 0 to {LONGEST_MS:g}.")
    return value


def _heartbeat(detection: str, interval_ms: float | None, usual: Heartbeat) -> Heartbeat | None:
    """What the options say; status 2 if they cannot go together."""
    if detection not in ("link", "heartbeat"):
        fail(f"there is no detection called {detection!r}; choose from link and heartbeat.")
    if detection == "link":
        if interval_ms is not None:
            fail("--heartbeat-ms is for --detection heartbeat: add that.")
        return None
    if interval_ms is None:
        return usual
    try:
        return replace(usual, interval=round(interval_ms * 1_000_000))
    except ValueError as error:
        fail(f"--heartbeat-ms {interval_ms:g}: {error}")


def _described(heartbeat: Heartbeat) -> dict[str, float]:
    least, most = heartbeat.detection
    return {
        "interval_ms": heartbeat.interval / 1e6,
        "silence_ms": heartbeat.limit / 1e6,
        "detection_least_ms": least / 1e6,
        "detection_most_ms": most / 1e6,
    }


def _within(heartbeat: Heartbeat) -> str:
    least, most = heartbeat.detection
    return (
        f"a heartbeat every {heartbeat.interval / 1e6:g} ms, silence after "
        f"{heartbeat.limit / 1e6:g} ms: the data plane acts within {least / 1e6:g} to "
        f"{most / 1e6:g} ms, and those who tell the controller know at their next heartbeat"
    )


def _table(modes: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table(box=None, title="time without delivery")
    table.add_column("prepared")
    for column in ("paper, ms", "here, ms", "detection, ms", "lost per run", "duplicates"):
        table.add_column(column, justify="right")
    for row in modes:
        table.add_row(
            row["mode"],
            f"{row['paper_ms']:g}",
            with_interval(row["ours_ms"], row["half_width_ms"], row["runs"]),
            f"{row['detection_ms']:.2f}",
            f"{row['lost']:.0f}",
            f"{row['duplicates']}",
        )
    return table
