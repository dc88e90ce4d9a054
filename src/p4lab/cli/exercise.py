"""`p4lab run DIR`: an exercise folder in the form of p4lang/tutorials."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from p4lab.cli.errors import fail
from p4lab.cli.hosts import hosts_refused
from p4lab.cli.running import reporting
from p4lab.exercise.files import Exercise, ExerciseError
from p4lab.exercise.folders import read_exercise
from p4lab.exercise.p4app import GRAPH
from p4lab.exercise.run import ExerciseNetwork, Loaded, Reached, load, makers
from p4lab.exercise.service import ADDRESS, Service
from p4lab.network import namespace
from p4lab.shims import folder as shims

if TYPE_CHECKING:
    from rich.console import RenderableType


def run_exercise(
    folder: Path,
    *,
    target: str,
    topology: str | None,
    program: str | None,
    cli: bool,
    bmv2_compat: bool,
    as_json: bool,
) -> None:
    """Builds the network, writes the entries, lets every host ping every other; with `cli` hands
    over to Mininet's command line, and controllers reach the switches."""
    from rich.console import Console  # heavy: rich

    refused = hosts_refused()
    try:
        exercise = read_exercise(folder, topology, program)
        with reporting() as say:
            loaded = load(exercise, say, bmv2_compat=bmv2_compat)
            if refused:
                order = f"{folder} is in order: its programs compile and its entries fit."
                fail(f"{order} {refused}")
            switches = makers(loaded, target, say)
            say("building the network")
            served = cli and target == "engine"
        with namespace.apart() if exercise.inside else nullcontext(), ExitStack() as stack:
            service = None
            if served:
                service = stack.enter_context(Service(exercise, bmv2_compat=bmv2_compat))
            network = ExerciseNetwork(exercise, loaded, switches, service)
            stack.enter_context(network)
            with reporting() as say:
                reached = network.ping(say)
            if as_json:
                typer.echo(json.dumps(_json(exercise, target, loaded, reached), indent=2))
            else:
                Console(emoji=False).print(
                    _report(exercise, target, loaded, reached, network.notes)
                )
            if cli:
                _tell_ports(exercise, served)
                with _for_controllers(exercise):
                    network.cli()
    except ExerciseError as error:
        fail(str(error))


@contextmanager
def _for_controllers(exercise: Exercise) -> Iterator[None]:
    """What controllers that are started inside find: their Python, and the file that they load."""
    if exercise.graph is None:
        yield
        return
    file, before = exercise.folder / GRAPH, dict(os.environ)
    own = not file.exists()
    with tempfile.TemporaryDirectory(prefix="p4lab-shims-") as tools:
        shims.make_shims(Path(tools))
        os.environ.update(shims.on_path(Path(tools), before))
        if own:
            file.write_text(exercise.graph, encoding="utf-8")
        try:
            yield
        finally:
            os.environ["PATH"] = before.get("PATH", "")
            if own:
                file.unlink(missing_ok=True)


def _tell_ports(exercise: Exercise, served: bool) -> None:
    if served:
        for switch in exercise.switches:
            place = f"{ADDRESS}:{switch.p4runtime_port}, device {switch.device}"
            thrift = f"Thrift on {ADDRESS}:{switch.thrift_port}, " if switch.thrift_port else ""
            typer.echo(f"{switch.name}: {thrift}P4Runtime on {place}")
    if exercise.inside:
        shell = f"sudo nsenter --net=/proc/{threading.get_native_id()}/ns/net ./lab shell"
        typer.echo(f"Controllers: `sh python3 CONTROLLER` here, or in another terminal {shell}")
    typer.echo("Mininet's command line: nodes, net, h1 ping h2, pingall, iperf h1 h2, exit")


def _json(exercise: Exercise, target: str, loaded: list[Loaded], reached: Reached) -> object:
    return {
        "folder": str(exercise.folder),
        "target": target,
        "switches": [
            {
                "name": item.switch.name,
                "program": item.switch.program.name,
                "entries": len(item.updates),
            }
            for item in loaded
        ],
        "pings": [
            {"from": source, "to": goal, "answered": answered}
            for (source, goal), answered in reached.items()
        ],
    }


def _report(
    exercise: Exercise,
    target: str,
    loaded: list[Loaded],
    reached: Reached,
    notes: tuple[str, ...],
) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    switches = Table(title=f"{exercise.folder.name} ({target})", title_style="bold")
    for name in ("switch", "program", "entries"):
        switches.add_column(name, justify="right" if name == "entries" else "left")
    for item in loaded:
        switches.add_row(item.switch.name, item.switch.program.name, str(len(item.updates)))
    pings = Table(title="who answers whose ping", title_style="bold")
    pings.add_column("from \\ to")
    names = [host.name for host in exercise.hosts]
    for name in names:
        pings.add_column(name, justify="center")
    for source in names:
        row = ["·" if goal == source else _mark(reached[source, goal]) for goal in names]
        pings.add_row(source, *row)
    count = sum(reached.values())
    verdict = Text(f"{count} of {len(reached)} pings were answered")
    return Group(switches, pings, *(Text(f"Note: {note}") for note in notes), verdict)


def _mark(answered: bool) -> str:
    return "[green]yes[/]" if answered else "[red]no[/]"
