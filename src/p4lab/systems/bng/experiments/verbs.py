"""`p4lab experiment bng-...`: the gateway, measured."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import fail
from p4lab.cli.hosts import choose_network
from p4lab.cli.options import Json, NetworkName
from p4lab.cli.results import show, with_status, write
from p4lab.cli.sweeps import Dask, Threads, only_virtual, with_sweep
from p4lab.experiment.confidence import seeds_of
from p4lab.systems.bng.experiments import (
    bench,
    dialling,
    dialling_report,
    latency,
    latency_linux,
    latency_report,
    policing,
    tables,
)
from p4lab.systems.bng.experiments.dialling import Aaa
from p4lab.systems.bng.radius.freeradius import MISSING, FreeRadiusError
from p4lab.systems.bng.radius.freeradius import program as freeradius
from p4lab.systems.bng.subscriber.crowd import Schedule

Users = Enum("Users", {"local": "local", "slow": "slow", "freeradius": "freeradius"})

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the figure and CSV.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Seed of the first run.")
]
Runs = Annotated[int, typer.Option("--runs", min=1, max=100, help="Runs, each with its own seed.")]
Packets = Annotated[
    int, typer.Option("--packets", min=1000, max=10_000_000, help="Packets of a measurement.")
]
Sessions = Annotated[
    int, typer.Option("--sessions", min=2, max=35_000, help="Subscribers that dial in.")
]
Rate = Annotated[
    float, typer.Option("--rate", min=1, max=100_000, help="Subscribers that dial each second.")
]
Outstanding = Annotated[
    int, typer.Option("--outstanding", min=1, max=35_000, help="How many may wait at once.")
]
Who = Annotated[
    list[Users] | None,
    typer.Option("--users", help="Who knows the users; several times for several runs."),
]
Seconds = Annotated[
    float, typer.Option("--seconds", min=0.1, max=60, help="Seconds that are measured.")
]


def bng_latency(
    out: Out = Path("bng-latency"),
    runs: Runs = 3,
    packets: Packets = 50_000,
    seed: Seed = 1,
    net: NetworkName = "virtual",
    seconds: Seconds = 1.0,
    threads: Threads = 1,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """Latency, deviation and loss, by load and number of subscribers (figure 7, tables II, III).

    Downstream, 532 bytes, 10 Gb/s, in virtual time. Writes latency.csv (one row per run),
    latency.png and .svg. Exits 1 if a latency or a loss is off its formula, a packet is in a wrong
    session, or latencies are not the same for all numbers of subscribers. With --net linux it is
    the engine beside the kernel's forwarding on Linux hosts, --seconds for each load.
    The JSON object has `latency` (pattern, load_gbps, subscribers, runs; latency_us with
    half_width_us, deviation_us and loss, each with its formula; chance_us, the standard deviation
    of the mean; processor_ns, wrong_session),
    `flatness` and `processor_flatness` (greatest by least over subscribers), `bound_gbps`, `wrong`,
    `csv` and `figures`; on Linux hosts `latency` (forwarder, load_mbps, offered_mbps, sent,
    received, loss, latency_us, median_us, deviation_us) and `ratio` (of medians), `csv`, `figures`.
    """
    choose_network(net)
    only_virtual(net, threads, dask)
    if net == "linux":
        _on_linux(out, seed, seconds, as_json)
        return
    found = with_sweep(
        out, "latency", threads, dask, lambda sweep: latency.measure(runs, packets, seed, sweep)
    )
    rows, seeds = latency_report.summary(found), seeds_of(seed, runs)
    note = (
        "virtual time: a switch takes none, what is left are cable and queue; "
        f"{packets} packets each, {seeds}, 95 % confidence"
    )
    files = write(
        out,
        "latency",
        latency_report.records(found),
        {"latency": lambda path: latency_report.draw(rows, path, note)},
    )
    flat, costs = latency_report.flatness(rows)
    record = {"latency": rows, "flatness": flat, "processor_flatness": costs}
    said = [
        f"greatest by least over subscribers: latency {flat:.3f}, the engine's time {costs:.1f}",
        latency_report.ERRATA,
        note,
    ]
    show(
        as_json,
        {**record, "bound_gbps": latency.BOUND, **files},
        latency_report.tables(rows),
        said,
        latency_report.wrong(rows),
    )


def _on_linux(out: Path, seed: int, seconds: float, as_json: bool) -> None:
    found = with_status(out, lambda say: latency_linux.measure(seed, seconds, say))
    rows = latency_linux.records(found, seed)
    note = f"one machine for hosts, gateway and Linux; {latency.LENGTH} bytes, {seconds:g} s each"
    files = write(
        out, "latency", rows, {"latency": lambda path: latency_linux.draw(found, path, note)}
    )
    names = list(rows[0])[len(bench.origin(seed)) :]
    shown = [{name: row[name] for name in names} for row in rows]
    ratio = latency_linux.ratio(found)
    said = f"median latency, engine by Linux: {ratio:.1f}" if ratio else "nothing came"
    record = {"latency": shown, "ratio": ratio, **files}
    show(as_json, record, [latency_linux.table(rows)], [said, note])


def bng_setup(
    out: Out = Path("bng-setup"),
    sessions: Sessions = 5000,
    rate: Rate = 2000,
    outstanding: Outstanding = 800,
    users: Who = None,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Calls per second and memory, with local users, slow ones (2 to 5 s) and FreeRADIUS.

    Local and slow users in virtual time, FreeRADIUS in processor time. Ctrl-C ends a run, and
    what it has is kept. Writes setup.csv (one row per point on the way), setup.png and .svg. Exits
    1 if a session does not come up, a packet is lost or comes to a wrong session, one that dials
    again disturbs another, or the process takes more than 1 GB.
    The JSON object has `setup` (aaa, sessions, established, failures, cps, formula_cps,
    wall_s, processor_s by part, per_processor_second, memory_bytes, memory_before_bytes, rows,
    packets, lost, wrong_session, disturbed, stopped), `wrong`, `csv` and `figures`.
    """
    chosen: list[Aaa] = [one.value for one in users or _there()]
    if "freeradius" in chosen and freeradius() is None:
        fail(MISSING)
    schedule = Schedule(start_rate=rate, max_outstanding=outstanding)

    def work(say: dialling.Say) -> list[dialling.Outcome]:
        try:
            return dialling.measure(chosen, sessions, seed, schedule, say)
        except FreeRadiusError as error:
            raise ValueError(str(error)) from error

    found = with_status(out, work)
    note = (
        f"{outstanding} may wait at once; subscribers, switch and gateway in one process on one "
        f"processor; memory is that of all of them; seed {seed}"
    )
    files = write(
        out,
        "setup",
        dialling_report.records(found),
        {"setup": lambda path: dialling_report.draw(found, path, note)},
    )
    show(
        as_json,
        {"setup": dialling_report.summary(found), **files},
        [dialling_report.table(found)],
        [note, *dialling_report.ANCHORS],
        dialling_report.wrong(found),
    )


def _there() -> list[Users]:
    """All that this machine can do."""
    return [one for one in Users if one.value != "freeradius" or freeradius() is not None]


def bng_policing(
    out: Out = Path("bng-policing"), seconds: Seconds = 1.0, seed: Seed = 1, as_json: Json = False
) -> None:
    """Offered twice the rate, delivered the rate: per session, both ways, and per class.

    In virtual time, with the engine's meters. Writes policing.csv (one row per case), policing.png
    and .svg. Exits 1 if a rate is off by more than 5 %, or a packet is in a wrong session.
    The JSON object has `policing` (case, offered_bps, formula_bps, delivered_bps, wrong_session),
    `wrong`, `csv` and `figures`.
    """
    rows = policing.records(with_status(out, lambda say: policing.measure(seed, seconds)))
    note = f"{policing.LENGTH} bytes, virtual time, {seconds:g} s after the buckets are empty"
    files = write(out, "policing", rows, {"policing": lambda path: policing.draw(rows, path, note)})
    names = ("case", "offered_bps", "formula_bps", "delivered_bps", "wrong_session")
    record = {"policing": [{name: row[name] for name in names} for row in rows], **files}
    show(as_json, record, [policing.table(rows)], [f"{note}; seed {seed}"], policing.wrong(rows))


def bng_tables(out: Out = Path("bng-tables"), as_json: Json = False) -> None:
    """What sessions take of a Tofino's memory, from 1,000 to 64,000, beside table V.

    By `p4lab fit` of p4/bng/tna.p4. Writes tables.csv (one row per size), tables.png and .svg.
    The JSON object has `tables` (sessions, fits, sram_percent, tcam_percent, stages, why_not,
    paper_sram_percent, extrapolated_sram_percent, paper_tcam_percent), `slopes` (percent of SRAM
    for 1,000 sessions more: paper, ours), `csv` and `figures`.
    """
    found = with_status(out, tables.measure)
    rows = tables.records(found)
    paper, ours = tables.slopes(found)
    note = "an estimate: only the chip's own compiler can say whether a program fits"
    files = write(out, "tables", rows, {"tables": lambda path: tables.draw(found, path, note)})
    shown = [{name: value for name, value in row.items() if name in tables.COLUMNS} for row in rows]
    said = f"1,000 sessions more take {paper:.2f} % of the SRAM in the paper and {ours:.2f} % here"
    full = [f"{one.sessions:,}: {one.why_not}" for one in found if one.why_not]
    slopes = {"paper": paper, "ours": ours}
    show(
        as_json,
        {"tables": shown, "slopes": slopes, **files},
        [tables.table(found)],
        [said, *full, note],
    )
