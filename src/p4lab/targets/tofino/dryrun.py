"""A run on Tofinos in words: every command, port, session and entry, in the order of a real run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from p4lab import registry
from p4lab.model.entries import Entity
from p4lab.model.tables import Held
from p4lab.paths import ROOT
from p4lab.plurals import count_of
from p4lab.targets.tofino import tools
from p4lab.targets.tofino.chip import pipe
from p4lab.targets.tofino.plan import Hardware, row_text, status_rows, wanted_rows
from p4lab.targets.tofino.rack import Port, SwitchSetup
from p4lab.targets.tofino.rows import Row, setting_rows
from p4lab.targets.tofino.schema import GROUP, MIRROR, NODE

HOME = "$SDE_INSTALL"
BUILD = Path("$BUILD")
CPU = "cpu0"


def lines(hardware: Hardware, target: str) -> Iterator[str]:
    """The whole run, line by line. Raises ValueError for entries that have no place."""
    plan = hardware.plan
    told = f"{plan.lab} on {plan.topology.name}, target {target}"
    yield f"{told}. Nothing is done; this is what a run does, in this order."
    if target == "tofino-model":
        yield "Without an SDE (SDE_INSTALL is not set) p4lab compiles, and its own switch takes the"
        yield "place of model and driver; all else is the same."
    yield ""
    yield f"Compile ($BUILD is a folder of this machine, called {hardware.name}):"
    compiler = f"{HOME}/bin/{tools.COMPILER}"
    source = _shown(hardware.source)
    yield _command(tools.compile_command(compiler, source, hardware.defines, BUILD))
    system = registry.find(plan.system)
    switches = {router.name: Held() for router in plan.topology.routers}
    plane = system.control_plane(plan, switches.__getitem__, hardware.layouts)
    system.assume(plan, plane)
    entries = {router: switch.entries() for router, switch in switches.items()}
    for router, setup in hardware.setups.items():
        yield from _switch(hardware, setup, target, entries[router])
    yield ""
    yield from _end(target, hardware.status)


def _switch(
    hardware: Hardware, setup: SwitchSetup, target: str, entities: frozenset[Entity]
) -> Iterator[str]:
    name = setup.router
    rows = wanted_rows(entities, hardware.program)
    yield ""
    yield f"---- {name}: {setup.chassis.name}"
    yield from _processes(setup, target, hardware.name)
    yield f"{name}: subscribe, and bind to the program {hardware.name}."
    if target == "wedge":
        yield f"{name}: put back what an earlier run may have left."
        yield f"{name}: before each first change of a row, write down how it was."
    yield f"{name}: make {count_of(len(setup.ports), 'port')}, disabled:"
    yield from (f"    {_port(port)}" for port in setup.ports)
    settings = setting_rows(setup)
    yield from _rows(f"{name}: recirculation ports and port metadata", settings)
    status = status_rows(setup, hardware.program, hardware.status)
    yield from _rows(f"{name}: no port is down yet", status)
    yield f"{name}: subscribe to ports that get or lose their link."
    groups = [row for row in rows if row.table in (NODE, GROUP)]
    sessions = [row for row in rows if row.table == MIRROR]
    tables = [row for row in rows if row.table not in (NODE, GROUP, MIRROR)]
    yield from _rows(f"{name}: multicast groups", groups)
    yield from _rows(f"{name}: mirror sessions", sessions)
    yield from _rows(f"{name}: tables", tables)
    yield f"{name}: enable ports {' '.join(str(port) for port in setup.ports)}; loopbacks begin."


def _processes(setup: SwitchSetup, target: str, program: str) -> Iterator[str]:
    name, model = setup.router, target == "tofino-model"
    config, ports = f"$BUILD/{name}.conf", f"$BUILD/{name}-ports.json"
    yield f"{name}: write {config}, what the driver is to run:"
    told = tools.switchd_json(program, BUILD, chip=not model).splitlines()
    yield from (f"    {line}" for line in told)
    if model:
        yield f"{name}: write {ports}, which interface is at which port of the chip:"
        told = tools.ports_json(tools.model_interfaces(setup, CPU)).splitlines()
        yield from (f"    {line}" for line in told)
        yield f"{name}: start model and driver in a network namespace of their own, the driver with"
        yield f"    {tools.HUGE_PAGES} huge pages of 2 MiB:"
        yield _command(tools.model_command(HOME, config, ports))
        yield _command(tools.switchd_command(HOME, config))
        return
    yield f"{name}: connect to bf_switchd at {setup.server}."
    yield f"{name}: if nothing listens there and it is this machine, start it, which takes"
    yield f"    {tools.HUGE_PAGES} huge pages of 2 MiB:"
    yield _command(tools.switchd_command(HOME, config, setup.port))


def _port(port: Port) -> str:
    where = f"{port!s:5} dev_port {port.dev_port:3} (pipe {pipe(port.dev_port)})  {port.speed:4}"
    if port.looped:
        return f"{where} FEC {port.fec}  loopback (MAC, near end)"
    note = f"  ({port.note})" if port.note else ""
    auto = "" if port.autoneg == "default" else f", auto-negotiation {port.autoneg}"
    return f"{where} FEC {port.fec}{auto}  to {port.to}{note}"


def _rows(title: str, rows: Sequence[Row]) -> Iterator[str]:
    yield f"{title}: {count_of(len(rows), 'row')}" + (":" if rows else ".")
    yield from (f"    {row_text(row)}" for row in rows)


def _end(target: str, status: str) -> Iterator[str]:
    if target == "tofino-model":
        yield "Hosts subscribe by IGMP, streams are sent, and what arrives is judged."
        yield from _failure(status, routes=False)
        yield "Then models and drivers end, and nothing is left of them."
        return
    yield "Give links ten seconds; those that do not come up count as down."
    yield "Wait until Ctrl-C: packets come from the hosts in the rack."
    yield from _failure(status, routes=True)
    yield "Read the counters: frames of ports and loops, drops of loops, the program's own."
    yield "Ask no more for ports, then put every switch back as it was:"
    yield "    ports down, rows in reverse order, ports as they were; the journal goes last."


def _failure(status: str, *, routes: bool) -> Iterator[str]:
    if not status:
        return
    yield f"If a port between switches loses its link, write 1 to its cell of {status}: its"
    if routes:
        yield "    backups take over. Then write the rows of routes around it, and back in the end."
    else:
        yield "    backups take over, and no other routes are computed."


def _command(words: Sequence[str]) -> str:
    """In a form that a shell takes; variables stay variables."""
    plain = [word if word.startswith("$") else shlex.quote(word) for word in words]
    return "    " + " ".join(plain)


def _shown(path: Path) -> Path:
    try:
        return path.resolve().relative_to(ROOT)
    except ValueError:
        return path
