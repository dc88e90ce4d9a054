"""`p4lab run --target tofino-model|wedge`: what is not as on other targets."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from p4lab.cli.errors import fail, fail_in_file
from p4lab.cli.options import existing_file
from p4lab.plurals import count_of

if TYPE_CHECKING:
    from p4lab.model.run import Plan
    from p4lab.targets.tofino.plan import Hardware
    from p4lab.targets.tofino.rack import Rack
    from p4lab.targets.tofino.wedge import Counted, Counters


def rack_or_fail(target: str, file: Path | None, *, dry_run: bool, undo: bool) -> Rack | None:
    """The map of the rack; status 2 with the reason if it is not sound, or the options do not go
    together."""
    from p4lab.targets import HARDWARE  # heavy: what drives a Tofino
    from p4lab.targets.tofino.rack import load
    from p4lab.targets.tofino.toml import HardwareError

    if target not in HARDWARE:
        option = "--rack" if file else "--dry-run" if dry_run else "--undo"
        fail(f"{option} is for --target {' and '.join(HARDWARE)}.")
    if undo and target != "wedge":
        fail("--undo is for --target wedge: of models nothing is left.")
    if undo and dry_run:
        fail("--undo does something and --dry-run does not: choose one.")
    if file is None:
        if target == "wedge":
            fail(
                "the target wedge needs the map of your rack: --rack FILE; "
                "hw/rack.example.toml is one to begin with."
            )
        return None
    try:
        return load(existing_file(file, "map of a rack"))
    except HardwareError as error:
        fail_in_file(error)


def run(
    plan: Plan, target: str, rack: Rack | None, *, dry_run: bool, undo: bool, as_json: bool
) -> None:
    """What is done, in words; or the switches of a rack."""
    from p4lab.cli.running import reporting
    from p4lab.targets.tofino import wedge
    from p4lab.targets.tofino.dryrun import lines
    from p4lab.targets.tofino.plan import prepare

    with reporting():
        hardware = prepare(plan, target, rack)
    if dry_run:
        try:
            typer.echo("\n".join(lines(hardware, target)))
        except ValueError as error:
            fail(str(error))
        return
    with reporting() as say:
        if undo:
            _tell_undone(wedge.undo(hardware, say))
            return
        try:
            counters = wedge.run(
                hardware,
                lambda follow: _hold(hardware, as_json, follow),
                say,
                lambda what: typer.echo(what, err=as_json),
            )
        except ValueError as error:
            fail(str(error))
    _tell_counters(hardware, counters, as_json)


def _hold(hardware: Hardware, as_json: bool, follow: Callable[[], None]) -> None:
    """Until Ctrl-C, or SIGTERM; a second one while things are put back is not heard."""
    advice = "".join(f"  {line}\n" for line in _advice(hardware))
    told = (
        f"\nThe switches are ready. What hosts may do now:\n{advice}"
        "Ctrl-C reads the counters and puts everything back."
    )
    try:
        typer.echo(told, err=as_json)
        follow()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _advice(hardware: Hardware) -> list[str]:
    """What to type on which host."""
    notes = {
        port.to: port.note or f"front port {port} of {router}"
        for router, setup in hardware.setups.items()
        for _, port in setup.cables
    }
    told = []
    for stream in hardware.plan.streams:
        source = stream.source.name
        told += [
            f"{host.name} ({notes[host.name]}): "
            f"sudo tcpdump -ni INTERFACE dst host {stream.destination}"
            for host in stream.receivers
        ]
        told.append(
            f"{source} ({notes[source]}): ping -I INTERFACE -t 16 -c 10 {stream.destination}"
        )
    return told


def _tell_undone(found: dict[str, int]) -> None:
    if not found:
        typer.echo("Nothing to put back: no run has left a journal.")
    for router, rows in found.items():
        typer.echo(f"{router}: {count_of(rows, 'row is as it was', 'rows are as they were')}.")


def _tell_counters(hardware: Hardware, counters: Counters, as_json: bool) -> None:
    if as_json:
        all_told = {router: _json(counted) for router, counted in counters.items()}
        typer.echo(json.dumps({"target": "wedge", "counters": all_told}, indent=2))
        return
    for router, counted in counters.items():
        setup = hardware.setups[router]
        for number, port in setup.cables:
            received, sent = counted.ports[number]
            typer.echo(f"{router} {port!s:5} to {port.to:8} {received:12} in {sent:12} out")
        names = {port.dev_port: str(port) for port in setup.loops}
        for loop in counted.loops:
            frames = "not counted" if loop.frames is None else f"{loop.frames:12} round"
            name = names.get(loop.port, str(loop.port))
            drops = "drops not told" if loop.dropped is None else f"{loop.dropped:12} dropped"
            typer.echo(f"{router} {name:5} loop        {frames} {drops}")
        for name, cells in counted.counters.items():
            for cell, count in cells.items():
                told = f"{count.packets:12} packets {count.bytes:12} bytes"
                typer.echo(f"{router} {name}[{cell}] {told}")
    typer.echo("The switches are as they were. Hosts are other machines: nothing was judged.")


def _json(counted: Counted) -> dict[str, object]:
    ports = {
        str(port): {"received": received, "sent": sent}
        for port, (received, sent) in counted.ports.items()
    }
    counters = {
        name: {str(cell): count._asdict() for cell, count in cells.items()}
        for name, cells in counted.counters.items()
    }
    return {"ports": ports, "loops": [loop._asdict() for loop in counted.loops], "own": counters}
