"""`p4lab experiment msr6-cost`: the slides' tables beside ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from p4lab.cli.console import print_whole
from p4lab.cli.errors import VERDICT_NO, fail, fail_at
from p4lab.cli.options import Json, output_folder
from p4lab.engine import ProgramError
from p4lab.experiment import tidy
from p4lab.fit import TruthMissing
from p4lab.systems.msr6.experiments import cost, cost_report
from p4lab.systems.msr6.experiments.clones import Copy
from p4lab.systems.msr6.experiments.figures import NOT_AN_IETF_FORMAT

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where figure and CSV go.")]
Packets = Annotated[
    int, typer.Option("--packets", min=1, max=100_000, help="Packets of each measurement.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Of all pauses.")]
Compiled = Annotated[
    Path | None,
    typer.Option(
        "--compiled",
        metavar="DIR",
        help="What bf-p4c wrote of p4/msr6/tna.p4 with -D ONLY_TE, to show its memory beside.",
    ),
]


def msr6_cost(
    out: Out = Path("msr6-cost"),
    packets: Packets = 200,
    seed: Seed = 1,
    compiled: Compiled = None,
    as_json: Json = False,
) -> None:
    """What MSR6 takes of a Tofino, and what its copies wait for (tables of IETF 119).

    The slides' numbers, computed again, beside estimates of `p4lab fit` and one router in virtual
    time. Writes cost.csv (one row per copy), cost.png and .svg. Exits 1 if copies do not come in
    the slides' order.
    The JSON object has `resources` (name, slides, recomputed, slides_blocks, of, fit_te, fit_rlb,
    fit_all, compiler_te), `encapsulation`, `copies` (by frame_bytes), `waits`, `conclusions`,
    `wrong`, `csv` and `figures`; what is not known is null.
    """
    from rich.console import Console  # heavy: rich

    output_folder(out)
    try:
        with Console(stderr=True).status("estimating stages ...") as status:
            known = cost.programs(compiled)
            encapsulated = cost.encapsulations(known)
            found = cost.simulated(known, packets, seed, status.update)
        files = _write(out, found, known, packets, seed)
    except (ProgramError, TruthMissing, ValueError) as error:
        fail(str(error))
    except OSError as error:
        fail_at(error, out)
    wrong, said = cost.disorder(found), cost_report.said_aloud(known, found)
    if as_json:
        record = cost_report.to_dict(known, encapsulated, found)
        typer.echo(json.dumps({**record, "conclusions": said, "wrong": wrong, **files}, indent=2))
    else:
        print_whole(*cost_report.tables(known, encapsulated, found))
        console = Console(emoji=False)
        ending = f"{packets} packets each, seed {seed}. {NOT_AN_IETF_FORMAT}."
        for line in ("", *wrong, *said, ending, f"{files['csv']}, {files['figures'][0]}"):
            console.print(line, highlight=False, markup=False)
    if wrong:
        raise typer.Exit(VERDICT_NO)


def _write(
    out: Path, found: list[Copy], known: dict[str, cost.Program], packets: int, seed: int
) -> dict[str, Any]:
    """CSV and figures; where they are."""
    csv, figures = out / "cost.csv", [out / "cost.png", out / "cost.svg"]
    tidy.write_csv(cost_report.records(found, known, packets, seed), csv)
    for figure in figures:
        cost_report.draw(found, known, figure, packets)
    return {"csv": str(csv), "figures": [str(figure) for figure in figures]}
