"""`p4lab experiment protection` and what begins with that: 1+1 protection, measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import fail
from p4lab.cli.hosts import choose_network
from p4lab.cli.options import Json, NetworkName
from p4lab.cli.results import carefully, show, with_status, write
from p4lab.cli.sweeps import Dask, Threads, only_virtual, with_sweep
from p4lab.experiment.confidence import runs_in_words, seeds_of
from p4lab.plurals import count_of
from p4lab.systems.protect.experiments import (
    cost,
    cost_report,
    failure,
    failure_report,
    goodput,
    goodput_linux,
    goodput_report,
    jitter,
    policies,
    skew,
)
from p4lab.systems.protect.experiments.goodput import GIGABIT, HOST_RATE

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the figure and CSV.")]
Runs = Annotated[int, typer.Option("--runs", min=1, max=1000, help="Runs, each with its own seed.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Seed of the first run.")
]
Packets = Annotated[
    int, typer.Option("--packets", min=60, max=100_000, help="Packets of each stream.")
]
Pings = Annotated[int, typer.Option("--pings", min=2, max=100_000, help="Pings of each run.")]
Rate = Annotated[int, typer.Option("--pps", min=1000, max=1_000_000, help="Packets per second.")]
Frames = Annotated[
    int, typer.Option("--frames", min=100, max=1_000_000, help="Frames of each measurement.")
]
Native = Annotated[bool, typer.Option("--native/--no-native", help="Also measure native code.")]
HostRate = Annotated[
    float,
    typer.Option("--host-gbps", min=10, max=100, help="What a host can send; virtual time only."),
]
Seconds = Annotated[
    int,
    typer.Option("--seconds", min=1, max=600, help="Seconds of each measurement on Linux hosts."),
]


def protection(
    out: Out = Path("protection"),
    runs: Runs = 5,
    packets: Packets = 600,
    seed: Seed = 1,
    threads: Threads = 1,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """Which acceptance policy loses, doubles or reorders packets in which event.

    Events: losses on either path or both, a path that fails or returns, a restart of the ingress,
    more skew than a history holds, and the wrap-around of sequence numbers. Writes protection.csv
    (one row per run), protection.png and .svg. Exits 1 if a run is not as the policy is defined, or
    a policy that promises not to passes a packet twice.
    The JSON object has `cells`: each with event, policy, runs, sent, lost, duplicates and reordered
    (packets per run, and each with _half_width of the 95 % confidence interval), lost_by_formula,
    and as_defined (runs as the definition has them); `wrong`, `csv` and `figures`.
    """
    found = with_sweep(
        out,
        "protection",
        threads,
        dask,
        lambda sweep: policies.measure(runs, packets, seed, sweep),
    )
    cells, seeds = policies.summary(found), seeds_of(seed, runs)
    files = write(
        out,
        "protection",
        policies.records(found),
        {"protection": lambda path: policies.draw(cells, path, seeds)},
    )
    show(
        as_json,
        {"cells": cells, **files},
        [policies.table(cells)],
        [seeds],
        policies.wrong(found),
    )


def protection_jitter(
    out: Out = Path("protection-jitter"),
    runs: Runs = 10,
    pings: Pings = 200,
    seed: Seed = 1,
    threads: Threads = 1,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """How much of the jitter of two paths is left of round trip times (figure 4).

    Writes jitter.csv (one row per run), jitter.png and .svg.
    The JSON object has `deviations` (jitter_us, mode, runs, deviation_us, half_width_us,
    formula_us), `ratios` (statistic, ratio, half_width, formula, paper), `csv` and `figures`.
    """
    found = with_sweep(
        out, "jitter", threads, dask, lambda sweep: jitter.measure(runs, pings, seed, sweep)
    )
    seeds = seeds_of(seed, runs * len(jitter.JITTERS_US))
    files = write(
        out,
        "jitter",
        jitter.records(found),
        {"jitter": lambda path: jitter.draw(found, path, seeds)},
    )
    ratios = jitter.ratios(found)
    record = {"deviations": jitter.deviations(found), "ratios": ratios, **files}
    said = (
        'The paper\'s "about half" does not follow from independent uniform jitter on two like '
        f"paths: that takes {jitter.paths_for_half()} paths."
    )
    show(as_json, record, [jitter.table(ratios)], [said, seeds])


def protection_goodput(
    out: Out = Path("protection-goodput"),
    runs: Runs = 5,
    seed: Seed = 1,
    host_gbps: HostRate = HOST_RATE / GIGABIT,
    net: NetworkName = "virtual",
    seconds: Seconds = 2,
    threads: Threads = 1,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """TCP goodput of 1 to 4 pairs of hosts over two lines of 100 Gb/s (figure 3).

    Writes goodput.csv (one row per run), goodput.png and .svg. Exits 1 if a mean in virtual time is
    off its formula by more than 1 %. With --net linux it is iperf3 on Linux hosts, at the scale
    of this machine, where links have no rate.
    The JSON object has `goodput` (mode, pairs, runs, gbps, half_width, formula_gbps and paper_gbps,
    which may be null), `wrong`, `csv` and `figures`.
    """
    choose_network(net)
    only_virtual(net, threads, dask)
    if net == "linux" and (reason := goodput_linux.missing()):
        fail(reason)
    rate = round(host_gbps * GIGABIT)

    run, last = (goodput.run, rate) if net == "virtual" else (goodput_linux.run, seconds)
    found = with_sweep(
        out,
        "goodput",
        threads,
        dask,
        lambda sweep: goodput.measure(runs, seed, run, last, sweep),
    )
    rows, seeds = goodput_report.records(found, rate), seeds_of(seed, runs)
    cells = goodput_report.summary(rows)
    scale = (
        f"assumed, since the paper does not say it: a host makes {host_gbps:g} Gb/s; "
        "hosts' MTU 1500, 1472 where protected"
        if net == "virtual"
        else "iperf3 on Linux hosts, links without a rate: what this machine forwards"
    )
    note = f"{scale}; {runs_in_words(runs, f' ({seeds})')}"
    files = write(
        out, "goodput", rows, {"goodput": lambda path: goodput_report.draw(cells, path, note)}
    )
    show(
        as_json,
        {"goodput": cells, **files},
        [goodput_report.table(cells)],
        [goodput_report.ONE_OR_FIFTEEN, note],
        goodput_report.wrong(cells),
    )


def protection_skew(
    out: Out = Path("protection-skew"),
    seed: Seed = 1,
    threads: Threads = 1,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """How much later the slower copy may come, by window and length of packets.

    By formula for 32-bit numbers, and simulated for 8-bit ones on both sides of the edge. Writes
    skew.csv (one row per simulated lag), skew.png and .svg. Exits 1 if a lag does not do what the
    formula says.
    The JSON object has `formula` (rate, packet_bytes, skew_s), `lags` (window, lag_packets,
    allowed_packets, sent, lost, duplicates), `wrong`, `csv` and `figures`.
    """
    found = with_sweep(out, "skew", threads, dask, lambda sweep: skew.measure(seed, sweep))
    rows = skew.records(found)
    files = write(out, "skew", rows, {"skew": lambda path: skew.draw(found, path)})
    names = ("window", "lag_packets", "allowed_packets", "sent", "lost", "duplicates")
    lags = [{name: row[name] for name in names} for row in rows]
    record = {"formula": skew.formulas(), "lags": lags, **files}
    said = [skew.said_aloud(), f"seed {seed}"]
    show(as_json, record, skew.tables(found), said, skew.wrong(found))


def protection_cost(
    out: Out = Path("protection-cost"),
    runs: Runs = 5,
    frames: Frames = 5000,
    native: Native = True,
    as_json: Json = False,
) -> None:
    """What a packet costs a switch: plain, unprotected, protected (table I).

    As cycles of a Tofino's ingress, estimated by `p4lab fit`, and as processor time on the engine.
    Only the order says something. Writes cost.csv (one row per run), cost.png and .svg.
    The JSON object has `percent` (source, end, mode, runs, paper_percent, percent, half_width, and
    nanoseconds or cycles), `cycles` by policy, `disorder` (where the order is not the paper's),
    `csv` and `figures`.
    """
    engines = list(cost.ENGINES) if native else ["interpreter"]
    found = with_status(out, lambda say: list(cost.timings(frames, runs, engines, say)))
    estimates = carefully(out, cost.cycles)
    rows = [*cost_report.estimated(estimates), *cost_report.summary(found)]
    files = write(
        out,
        "cost",
        cost_report.records(found, estimates),
        {"cost": lambda path: cost_report.draw(rows, path, frames)},
    )
    cycles = {one.accept: one.cycles for one in estimates} | {"plain": estimates[0].plain}
    disorder = cost_report.disorder(rows)
    lines = [f"not in the paper's order: {line}" for line in disorder]
    record = {"percent": rows, "cycles": cycles, "disorder": disorder, **files}
    show(
        as_json,
        record,
        cost_report.tables(rows, estimates),
        [*lines, *cost_report.SAID_ALOUD, f"{count_of(runs, 'run')}, seed 1"],
    )


def protection_failure(
    out: Out = Path("protection-failure"),
    runs: Runs = 5,
    pps: Rate = 20_000,
    seed: Seed = 1,
    threads: Threads = 1,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """The same failure with IP-FRR, BIER-FRR and 1+1: packets lost, bandwidth, state.

    Writes failure.csv (one row per run), failure.png and .svg. Exits 1 if 1+1 protection lost a
    packet, or a packet came twice.
    The JSON object has `ways` (way, runs, lost with lost_half_width and lost_by_formula, in packets
    per run; frames_per_packet and bytes_per_packet on links between routers; entries, groups and
    cells; duplicates), `wrong`, `csv` and `figures`.
    """
    found = with_sweep(
        out, "failure", threads, dask, lambda sweep: failure.measure(runs, pps, seed, sweep)
    )
    rows, seeds = failure_report.records(found, pps), seeds_of(seed, runs)
    ways = failure_report.summary(rows)
    files = write(
        out, "failure", rows, {"failure": lambda path: failure_report.draw(ways, path, pps, seeds)}
    )
    show(
        as_json,
        {"ways": ways, **files},
        [failure_report.table(ways)],
        [seeds],
        failure_report.wrong(found),
    )
