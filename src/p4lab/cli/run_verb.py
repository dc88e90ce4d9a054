"""`p4lab run`: a lab from beginning to end, and the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli import tofino
from p4lab.cli.console import print_whole
from p4lab.cli.errors import VERDICT_NO, fail, fail_at
from p4lab.cli.exercise import run_exercise
from p4lab.cli.hosts import choose_network
from p4lab.cli.measured import is_measured, run_measured
from p4lab.cli.options import Bmv2Compat, Json, NetworkName, Undefined
from p4lab.cli.running import plan_or_fail, reporting, tell_of_given
from p4lab.cli.settings import SystemOptions, no_settings
from p4lab.cli.verbs import registered
from p4lab.command import command
from p4lab.course.home import names
from p4lab.exercise.folders import is_exercise
from p4lab.session.opening import run as run_plan
from p4lab.targets import HARDWARE

Lab = Annotated[
    str,
    typer.Argument(
        metavar="LAB", help="The lab, such as 01-bier; or a folder with a topology.json."
    ),
]
ProgramName = Annotated[
    str | None,
    typer.Option(
        "--program", metavar="FILE", help="Which P4 file to run, if a folder has several."
    ),
]
Cli = Annotated[
    bool, typer.Option("--cli", help="For a folder: open Mininet's command line at the end.")
]
Folder = Annotated[
    Path | None,
    typer.Argument(metavar="[DIR]", help="Your folder; default: the lab's solution."),
]
TargetName = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="TARGET",
        help="What runs the program: engine, bmv2 (with --net linux), tofino-model or wedge "
        "(docs/hardware.md).",
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="interpreter|native|auto",
        help="For our own switches: auto is native code where the program has some.",
    ),
]
TopologyName = Annotated[
    str | None,
    typer.Option(
        "--topology", metavar="NAME", help="A topology from topologies/, or a .toml file."
    ),
]
Packets = Annotated[int | None, typer.Option("--packets", help="Packets of each stream.")]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, max=(1 << 32) - 1, help="Seed for everything that is drawn at random."
    ),
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
    typer.Option("--rack", metavar="FILE", help="For Tofinos: the map of your rack (hw/)."),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="For Tofinos: print every step and do nothing. Needs no SDE."),
]
Undo = Annotated[
    bool,
    typer.Option("--undo", help="For wedge: only undo what a killed run has left."),
]


@registered(cls=SystemOptions)
def run(
    ctx: typer.Context,
    lab: Lab,
    folder: Folder = None,
    net: NetworkName = "virtual",
    target: TargetName = "engine",
    engine: EngineName = "auto",
    topology: TopologyName = None,
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
    """Run a lab and print the result; exits 0 only if everything is right.

    A lab's system has its own options: p4lab run LAB --help lists them below these.

    LAB may also be an exercise folder laid out like those of p4lang/tutorials (topology.json,
    sN-runtime.json, a P4 file): its network is built of Linux hosts, every host pings every other.

    The JSON object has ok, problems, lab, topology, network, seed and the system's options. A
    report of deliveries also has hosts (host, destination, subscribed, sent, received, duplicates,
    missing, unwanted, unserved, ok), links (source, target, copies, ideal, ok), counters (router,
    neighbour, port, packets, bytes) and down. That of a lab of policies has ok, lab and measured.
    """
    exercise = is_exercise(Path(lab))
    if not exercise:
        choose_network(net)
    if engine != "auto" and (exercise or target != "engine"):
        fail("--engine is for labs on our own switches: leave it out.")
    if exercise:
        no_settings(ctx)
        _for_exercises_only(ctx)
        if bmv2_compat and target != "engine":
            fail("--bmv2-compat is for our own switches; bmv2 does as it does: leave it away.")
        run_exercise(
            Path(lab),
            target=target,
            topology=topology,
            program=program,
            cli=cli,
            bmv2_compat=bmv2_compat,
            as_json=as_json,
        )
        return
    if lab not in names() and Path(lab).is_dir():
        fail(
            f"{lab} is a folder without topology.json, so it is not an exercise; for a lab with "
            f"your own files, give the lab's name first, as in: {command()} run 01-bier DIR."
        )

    if program or cli:
        fail(f"--{'program' if program else 'cli'} is for a folder with a topology.json.")
    if lab in names() and is_measured(lab):
        no_settings(ctx)
        _for_programs_only(ctx, lab)
        run_measured(lab, folder, as_json)
        return
    plan = plan_or_fail(
        ctx,
        lab,
        folder,
        topology=topology,
        packets=packets,
        seed=seed,
        bmv2_compat=bmv2_compat,
        undefined=undefined,
        down=down,
    )
    wired = None
    if target in HARDWARE or rack or dry_run or undo:
        wired = tofino.rack_or_fail(target, rack, dry_run=dry_run, undo=undo)
        if dry_run or target == "wedge":
            tofino.run(plan, target, wired, dry_run=dry_run, undo=undo, as_json=as_json)
            return
        net = "linux"
    try:
        with reporting() as say:
            report = run_plan(
                plan, net, target=target, engine=engine, pcap=pcap, rack=wired, say=say
            )
    except OSError as error:  # where a disk is full it has no name
        fail_at(error, pcap)
    if as_json:
        typer.echo(json.dumps(report.to_json(), indent=2))
    else:
        print_whole(report.render())
    tell_of_given(lab, folder)
    if not report.ok:
        raise typer.Exit(VERDICT_NO)


def _for_programs_only(ctx: typer.Context, lab: str) -> None:
    """Ends the verb if an option was given that says nothing of a lab without a P4 program."""
    for name in sorted(set(ctx.params) - {"lab", "folder", "as_json"}):
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            fail(f"{option} is for P4 programs, and {lab} has none: leave it out.")


def _for_exercises_only(ctx: typer.Context) -> None:
    """Ends the verb if an option was given that says nothing of an exercise folder."""
    known = {"lab", "target", "topology", "program", "cli", "bmv2_compat", "as_json", "engine"}
    for name in sorted(set(ctx.params) - known):
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            if name == "folder":
                fail("an exercise is one folder: give no other; --program names another P4 file.")
            fail(f"--{name.replace('_', '-')} is for labs; an exercise's folder says all of that.")
