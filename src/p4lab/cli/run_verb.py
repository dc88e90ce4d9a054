"""`p4lab run`: a lab from beginning to end, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from p4lab.cli.console import print_whole
from p4lab.cli.errors import BAD_INPUT, VERDICT_NO, fail, fail_in_file
from p4lab.cli.explain_verb import pointer
from p4lab.cli.options import (
    Bmv2Compat,
    Json,
    NetworkName,
    Undefined,
    existing_file,
    tell_undefined,
)

if TYPE_CHECKING:
    from p4lab.model.run import Plan

Lab = Annotated[
    str,
    typer.Argument(
        metavar="LAB", help="The lab, such as 01-bier; or a folder with a topology.json."
    ),
]
ProgramName = Annotated[
    str | None,
    typer.Option("--program", metavar="FILE", help="Of a folder with several P4 files, this one."),
]
Cli = Annotated[
    bool, typer.Option("--cli", help="Of a folder: then Mininet's command line, to try things.")
]
Folder = Annotated[
    Path | None,
    typer.Argument(metavar="[DIR]", help="Your folder; without it the lab's solution runs."),
]
TargetName = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="engine|bmv2|tofino-model|wedge",
        help="What runs the program; bmv2 with --net mininet, Tofinos: docs/hardware.md.",
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="interpreter|native|auto",
        help="Of our own switches; native code is for many packets, auto takes it where it can.",
    ),
]
TopologyName = Annotated[
    str | None,
    typer.Option("--topology", metavar="NAME", help="A topology of topologies/, or a .toml file."),
]
Bsl = Annotated[
    int | None, typer.Option("--bsl", metavar="64|128|256", help="Bits of a BitString.")
]
Packets = Annotated[int | None, typer.Option("--packets", help="Packets of each stream.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=(1 << 32) - 1, help="For all that is drawn.")
]
Down = Annotated[
    list[str] | None,
    typer.Option(
        "--down",
        metavar="LINK",
        help="A link between routers that fails before the streams, such as 3 or r3-r4, instead of "
        "the lab's own; several times for several links.",
    ),
]
Pcap = Annotated[
    Path | None, typer.Option("--pcap", metavar="DIR", help="Write one pcapng file per link here.")
]
RackFile = Annotated[
    Path | None,
    typer.Option("--rack", metavar="FILE", help="Of Tofinos: the map of your rack (hw/)."),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Of Tofinos: print every step and do nothing. Needs no SDE."),
]
Undo = Annotated[
    bool,
    typer.Option("--undo", help="Of wedge: only put back what a run that was killed has left."),
]


def run(
    lab: Lab,
    folder: Folder = None,
    net: NetworkName = "virtual",
    target: TargetName = "engine",
    engine: EngineName = "interpreter",
    topology: TopologyName = None,
    bsl: Bsl = None,
    packets: Packets = None,
    seed: Seed = 1,
    pcap: Pcap = None,
    down: Down = None,
    bmv2_compat: Bmv2Compat = False,
    undefined: Undefined = None,
    program: ProgramName = None,
    cli: Cli = False,
    rack: RackFile = None,
    dry_run: DryRun = False,
    undo: Undo = False,
    as_json: Json = False,
) -> None:
    """Run a lab and print who got what; exits 0 only if all is right.

    LAB may also be an exercise folder in the form of p4lang/tutorials (topology.json,
    sN-runtime.json, a P4 file): its network is built of Linux hosts, every host pings every other.

    The JSON object has ok, lab, topology, network, bsl, seed, hosts (host, group, subscribed, sent,
    received, duplicates, missing, unwanted, unserved, ok), links (source, target, copies, ideal,
    ok), counters (router, neighbour, port, packets, bytes), down and problems.
    """

    from p4lab.cli.exercise import run_exercise
    from p4lab.course.labs import names
    from p4lab.exercise.files import is_exercise
    from p4lab.model.report import render
    from p4lab.session.run import run as run_plan
    from p4lab.targets import HARDWARE

    exercise = is_exercise(Path(lab))
    if engine != "interpreter" and (exercise or target != "engine"):
        fail("--engine is for labs on our own switches: leave it away.")
    if exercise:
        run_exercise(
            Path(lab), target=target, topology=topology, program=program, cli=cli, as_json=as_json
        )
        return
    if lab not in names() and Path(lab).is_dir():
        fail(
            f"{lab} is a folder without topology.json, so it is no exercise; for a lab with your "
            "own files, give the lab's name first, as in: p4lab run 01-bier DIR."
        )

    plan = plan_or_fail(lab, folder, topology, bsl, packets, seed, bmv2_compat, undefined, down)
    wired = None
    if target in HARDWARE or rack or dry_run or undo:
        from p4lab.cli import tofino

        wired = tofino.rack_or_fail(target, rack, dry_run=dry_run, undo=undo)
        if dry_run or target == "wedge":
            tofino.run(plan, target, wired, dry_run=dry_run, undo=undo, as_json=as_json)
            return
        net = "mininet"
    with reporting() as say:
        report = run_plan(plan, net, target=target, engine=engine, pcap=pcap, rack=wired, say=say)
    if as_json:
        typer.echo(json.dumps(report.to_json(), indent=2))
    else:
        print_whole(render(report))
    if not report.ok:
        raise typer.Exit(VERDICT_NO)


def plan_or_fail(
    lab: str,
    folder: Path | None,
    topology: str | None,
    bsl: int | None,
    packets: int | None,
    seed: int,
    bmv2_compat: bool = False,
    undefined: int | None = None,
    down: list[str] | None = None,
) -> Plan:
    """The plan of a lab; status 2 and the reason if there is none."""
    tell_undefined(undefined)
    from p4lab.course.labs import LabError, load_plan
    from p4lab.course.material import student
    from p4lab.topology import TopologyError

    try:
        program = None
        if folder is not None:
            program = existing_file(folder / student(lab).program, "P4 program")
        return load_plan(
            lab,
            program=program,
            topology=topology,
            bsl=bsl,
            packets=packets,
            seed=seed,
            bmv2_compat=bmv2_compat,
            undefined=undefined,
            down=down,
        )
    except LabError as error:
        fail(str(error))
    except TopologyError as error:
        fail_in_file(error)


@contextmanager
def reporting() -> Iterator[Callable[[str], None]]:
    """Shows what is under way, and ends the verb with status 2 where it cannot be carried out."""
    from rich.console import Console

    from p4lab.engine import ProgramError
    from p4lab.model.control import NumberError, RefusedError
    from p4lab.network import NetworkError

    try:
        with Console(stderr=True).status("starting") as status:
            yield lambda what: status.update(f"{what} ...")
    except (NetworkError, NumberError, RefusedError) as error:
        fail(str(error))
    except ProgramError as error:  # it shows the places itself
        typer.echo(str(error).rstrip() + "\n" + pointer(error.diagnostics), err=True, nl=False)
        raise typer.Exit(BAD_INPUT) from error
