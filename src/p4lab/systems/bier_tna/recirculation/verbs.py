"""`p4lab experiment recirculation` and `provisioning`: what recirculation costs at 100 Gb/s."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from p4lab.cli.console import print_whole
from p4lab.cli.errors import VERDICT_NO, fail, fail_at
from p4lab.cli.options import Json
from p4lab.cli.sweeps import Dask, Threads, with_sweep
from p4lab.engine import ProgramError
from p4lab.network import NetworkError
from p4lab.spread.sweep import Sweep
from p4lab.systems.bier_tna.recirculation import figures, measured, results, tables
from p4lab.systems.bier_tna.recirculation.limits import ARBITRATIONS
from p4lab.systems.bier_tna.recirculation.measured import Measurement
from p4lab.systems.bier_tna.recirculation.simulation import Outcome, Setup

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the figures and CSV.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=(1 << 32) - 1, help="Seed of every run.")]
Arbitrations = Annotated[
    str,
    typer.Option(
        "--arbitration",
        metavar="NAME,...",
        help="tail-drop, equal-drop, random, looped-first, fresh-first, or all.",
    ),
]
Collapsed = Annotated[
    bool,
    typer.Option(
        "--collapsed/--router",
        help="The switch is BFIR, BFR and last BFER, as in the paper; or it is only the BFR.",
    ),
]
Frame = Annotated[int, typer.Option("--frame", help="Bytes of an incoming packet.")]
Precision = Annotated[
    float, typer.Option("--precision", help="Half the confidence interval over the mean.")
]
OnBmv2 = Annotated[
    bool, typer.Option("--bmv2/--no-bmv2", help="Also measure on bmv2, where it is installed.")
]
Bmv2Seconds = Annotated[
    float, typer.Option("--bmv2-seconds", min=1, max=600, help="Seconds of each run on bmv2.")
]
Bmv2Pps = Annotated[
    int, typer.Option("--bmv2-pps", min=50, max=5000, help="Packets per second of a port of bmv2.")
]

TOLERANCE = 0.01
FACTORS = tuple(step / 50 for step in range(0, 301))


def recirculation(
    out: Out = Path("recirculation"),
    arbitration: Arbitrations = "equal-drop,tail-drop",
    collapsed: Collapsed = False,
    frame: Frame = 1500,
    seed: Seed = 1,
    precision: Precision = 0.005,
    bmv2: OnBmv2 = True,
    bmv2_seconds: Bmv2Seconds = 10.0,
    bmv2_pps: Bmv2Pps = 300,
    threads: Threads = 1,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """What each next hop gets of 100 Gb/s with 1 to 3 recirculation ports (table 2, figure 14).

    Writes recirculation.csv (one row per run and next hop), timing.csv (tail drop by the time that
    packets need from a loop back to ingress), figure14.png and figure14.svg. Exits 1 if a simulated
    value at the last next hop is off its fluid limit by more than 1 %.
    The JSON object has `rows` and `timing` as in the CSVs, `errata`, `bmv2` (why it was not
    measured, or empty) and the paths `csv` and `figures`.
    """
    parts = (ARBITRATIONS if part == "all" else (part,) for part in arbitration.split(","))
    names = tuple(dict.fromkeys(name for part in parts for name in part))
    cells = [(n, k) for k in results.LOOPS for n in results.NEXT_HOPS]
    try:
        setup = Setup(2, 1, collapsed=collapsed, frame=frame, seed=seed, precision=precision)
        for name in names:  # before anything runs
            replace(setup, arbitration=name)
        quick = replace(setup, precision=max(precision, 0.01), most_packets=80_000)

        def work(sweep: Sweep) -> tuple[list[Outcome], list[dict[str, Any]]]:
            runs = results.run_table2(cells, names, setup, sweep)
            return runs, results.run_timing(quick, sweep)

        runs, timing = with_sweep(out, "recirculation", threads, dask, work)
        why, on_bmv2 = _on_bmv2(cells, bmv2, bmv2_pps, bmv2_seconds)
        rows = results.table2(runs, on_bmv2)
        csv = out / "recirculation.csv"
        results.write_csv(rows, csv)
        results.write_csv(timing, out / "timing.csv")
        pictures = [out / "figure14.png", out / "figure14.svg"]
        drawings: list[tuple[object, ...]] = [(figures.draw_figure14, rows)]
        drawings += [(figures.draw_next_hops, rows, n, k) for n, k in results.OVERLOADED]
        drawings += [(figures.draw_timing, timing)]
        role = f"collapsed: {setup.offered:.2f} Gb/s are left" if collapsed else "BFR"
        note = f"{frame} bytes, {role}, seed {seed}"
        for picture in pictures:
            figures.save(picture, *drawings, columns=3, note=note)
    except (ValueError, ProgramError) as error:
        fail(str(error))
    except OSError as error:
        fail_at(error, out)
    off = [row for row in rows if _is_off(row)]
    if as_json:
        record = {"rows": rows, "timing": timing, "errata": tables.errata(), "bmv2": why}
        record["csv"] = str(csv)
        typer.echo(json.dumps({**record, "figures": [str(p) for p in pictures]}, indent=2))
    else:
        from rich.console import Console  # heavy: rich

        console = Console(emoji=False)
        print_whole(tables.last(rows), tables.every(rows), tables.timing(timing))
        console.print(
            tables.notes(why), f"seed {seed}; {csv}, {pictures[0]}", sep="\n", highlight=False
        )
        for row in off:
            console.print(
                f"{row['next_hops']} next hops, {row['loops']} recirculation ports, "
                f"{row['arbitration']}: {row['value']:.2f} instead of {row['limit']:.2f} Gb/s",
                highlight=False,
            )
    if off:
        raise typer.Exit(VERDICT_NO)


def provisioning(
    out: Out = Path("provisioning"),
    seed: Seed = 1,
    threads: Threads = 1,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """How many recirculation ports are needed (figures 15 to 17).

    Writes provisioning.csv (one row per point), figures15to17.png and .svg. Points of figures 16
    and 17 are simulated with as many recirculation ports as equation 3 wants, and with one less.
    Exits 1 if packets were lost with as many as it wants.
    The JSON object has `rows` as in the CSV, `errata`, and the paths `csv` and `figures`.
    """
    setup = replace(Setup(2, 1, seed=seed, precision=0.02), most_packets=80_000)

    def work(sweep: Sweep) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        return results.run_figure15(setup, sweep), results.check_provisioning(seed, sweep)

    try:
        losses, checked = with_sweep(out, "provisioning", threads, dask, work)
        curves = [*results.figure16(FACTORS), *results.figure17()]
        csv = out / "provisioning.csv"
        results.write_csv([*losses, *curves, *checked], csv)
        pictures = [out / "figures15to17.png", out / "figures15to17.svg"]
        for picture in pictures:
            figures.save(
                picture,
                (figures.draw_figure15, losses),
                (figures.draw_figure16, [row for row in curves if row["figure"] == 16], checked),
                (figures.draw_figure17, [row for row in curves if row["figure"] == 17], checked),
                columns=3,
                note=f"seed {seed}; squares: simulated, nothing lost",
            )
    except (ValueError, ProgramError) as error:
        fail(str(error))
    except OSError as error:
        fail_at(error, out)
    if as_json:
        record = {"rows": [*losses, *curves, *checked], "errata": tables.errata(), "csv": str(csv)}
        typer.echo(json.dumps({**record, "figures": [str(p) for p in pictures]}, indent=2))
    else:
        from rich.console import Console

        console = Console(emoji=False)
        print_whole(tables.loss(losses), tables.checked(checked), tables.figure17(curves))
        console.print(
            tables.notes(""), f"seed {seed}; {csv}, {pictures[0]}", sep="\n", highlight=False
        )
    if any(row["dropped"] for row in checked):
        raise typer.Exit(VERDICT_NO)


def _on_bmv2(
    cells: Sequence[tuple[int, int]], wanted: bool, pps: int, seconds: float
) -> tuple[str, list[Measurement]]:
    """Why nothing was measured, and what was."""
    from rich.console import Console

    reason = measured.missing() if wanted else "not measured on bmv2: --no-bmv2."
    if reason:
        return reason, []
    try:
        with Console(stderr=True).status("bmv2 ...") as status:
            return "", measured.measure(list(cells), pps, seconds, status.update)
    except NetworkError as error:
        return f"not measured on bmv2: {error}", []


def _is_off(row: dict[str, Any]) -> bool:
    if row["source"] != "engine" or row["next_hop"] != row["next_hops"] or row["limit"] is None:
        return False
    return abs(row["value"] - row["limit"]) > TOLERANCE * max(row["limit"], 1.0)
