"""`p4lab experiment msr6-cost`: the slides' tables beside ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import fail
from p4lab.cli.options import Json
from p4lab.cli.results import show, with_status, write
from p4lab.fit import TruthMissing
from p4lab.systems.msr6.experiments import cost, cost_report
from p4lab.systems.msr6.experiments.clones import Copy
from p4lab.systems.msr6.experiments.cost import Encapsulation, Program
from p4lab.systems.msr6.experiments.figures import NOT_AN_IETF_FORMAT

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the figure and CSV.")]
Packets = Annotated[
    int, typer.Option("--packets", min=1, max=100_000, help="Packets of each measurement.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Seed of all pauses.")]
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

    def work(
        say: Callable[[str], object],
    ) -> tuple[dict[str, Program], list[Encapsulation], list[Copy]]:
        say("estimating stages ...")
        try:
            known = cost.programs(compiled)
        except TruthMissing as error:
            fail(str(error))
        return known, cost.encapsulations(known), cost.simulated(known, packets, seed, say)

    known, encapsulated, found = with_status(out, work)
    files = write(
        out,
        "cost",
        cost_report.records(found, known, packets, seed),
        {"cost": lambda path: cost_report.draw(found, known, path, packets)},
    )
    said = cost_report.said_aloud(known, found)
    ending = f"{packets} packets each, seed {seed}. {NOT_AN_IETF_FORMAT}."
    show(
        as_json,
        {**cost_report.to_dict(known, encapsulated, found), "conclusions": said, **files},
        [*cost_report.tables(known, encapsulated, found), ""],
        [*said, ending],
        cost.disorder(found),
    )
