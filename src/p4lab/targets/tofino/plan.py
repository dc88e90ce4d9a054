"""All that is to be done to the switches of a run, in order, before anything is done.

`--dry-run` prints it; the targets carry it out. So what is printed is what happens.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from p4lab import _engine, registry
from p4lab.engine import load_program
from p4lab.model.entries import Entity, Match
from p4lab.model.layout import Layouts
from p4lab.model.run import Plan
from p4lab.network.cpu import CpuPort
from p4lab.paths import ROOT
from p4lab.targets import TargetError
from p4lab.targets.tofino import rack as racks
from p4lab.targets.tofino.journal import ENABLE, Change
from p4lab.targets.tofino.rack import Rack, SwitchSetup
from p4lab.targets.tofino.rows import (
    Row,
    Value,
    cell_row,
    entity_rows,
    free,
    port_row,
    setting_rows,
)
from p4lab.targets.tofino.schema import GROUP, MIRROR, NODE, Program

ENTRY_FILE = "tna.p4"  # beside the entry file for v1model
# What rows need must be there before them, and go after them; and which ports are down is told when
# there is somewhere else to go.
_RANKS = {NODE: 0, GROUP: 1, MIRROR: 1}
_OTHERS, _CELLS = 2, 3


@dataclass(frozen=True)
class Hardware:
    """A run on Tofinos: the program, and each router on its switch. The plan has the program for
    TNA and its control plane."""

    plan: Plan
    source: Path
    defines: tuple[tuple[str, str], ...]
    program: Program
    setups: dict[str, SwitchSetup]
    cpu: CpuPort
    """The port to the control plane, with the headers of the program"""

    @property
    def name(self) -> str:
        """What the program is called on the switch."""
        named = "".join(f"_{name}{value}".lower() for name, value in self.defines)
        return f"p4lab_{self.plan.lab.replace('-', '_')}{named}"

    @property
    def status(self) -> str:
        """The register that says which ports are down; empty where the program has none."""
        return registry.find(self.plan.system).port_status

    @property
    def layouts(self) -> Layouts:
        """How the control plane lays entries out, switch by switch."""
        return {router: setup.layout for router, setup in self.setups.items()}


def prepare(plan: Plan, target: str, rack: Rack | None) -> Hardware:
    """What a run needs to know, with ports from a rack or, without one, for models. Models hear
    IGMP, by the port to the CPU. Raises TargetError, ProgramError."""
    if plan.undefined is not None or plan.bmv2_compat:
        raise TargetError("--undefined and --bmv2-compat are for the engine, not for a Tofino.")
    source = entry_file(plan)
    system = registry.find(plan.system)
    if target == "wedge" and system.programs(plan):
        raise TargetError(
            f"the hosts of {plan.lab} are attached by its control plane, which hears nothing "
            "of a rack's hosts: take --target tofino-model."
        )
    program = load_program(source, plan.defines)
    cpu = CpuPort.of(program, system.cpu_port(program.summary["package"]))
    setups = (rack or racks.every_port(plan.topology)).setups(plan.topology)
    if target == "tofino-model":
        setups = {router: setup.with_cpu() for router, setup in setups.items()}
    reference = entry_file(replace(plan, program=plan.reference))
    plan = replace(plan, program=source, reference=reference, system=system.tna or system.name)
    return Hardware(plan, source, plan.defines, Program.of(program), setups, cpu)


def entry_file(plan: Plan) -> Path:
    """The program's entry file for TNA: itself, or the one beside it. Raises TargetError."""
    compiled: _engine.Program = load_program(plan.program, plan.defines)
    if compiled.summary["package"] != "V1Switch":
        return plan.program
    beside = plan.program.with_name(ENTRY_FILE)
    if not beside.is_file():
        raise TargetError(
            f"{_shown(plan.program)} is for v1model, and there is no {ENTRY_FILE} beside it: "
            "a Tofino needs a program for TNA (docs/tna.md)."
        )
    return beside


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(ROOT))
    except ValueError:
        return str(path)


# ---- One switch: changes in order -------------------------------------------------------------


def wanted_rows(entities: Collection[Entity], program: Program) -> list[Row]:
    """What the control plane's entries are on a switch, in the order in which they can be written.
    Raises ValueError for what the program has no place for."""
    rows = [row for entity in entities for row in entity_rows(entity, program)]
    return sorted(rows, key=lambda row: (_rank(row), repr(row.name)))


def _rank(row: Row) -> int:
    return _CELLS if row.is_cell else _RANKS.get(row.table, _OTHERS)


def changes(old: Iterable[Row], new: Iterable[Row]) -> list[Change]:
    """What turns rows into others, so that nothing refers to what is not there."""
    before = {row.name: row for row in old}
    after = {row.name: row for row in new}
    puts = [row for name, row in after.items() if before.get(name) != row]
    drops = [row for name, row in before.items() if name not in after]
    puts.sort(key=lambda row: (_rank(row), repr(row.name)))
    drops.sort(key=lambda row: (-_rank(row), repr(row.name)))
    return [Change("put", row) for row in puts] + [_gone(row) for row in drops]


def _gone(row: Row) -> Change:
    """A cell is always there, with or without a value of ours."""
    return Change("put", free(row)) if row.is_cell else Change("drop", row)


def opening(setup: SwitchSetup, program: Program, status: str) -> list[Change]:
    """Ports, still disabled, and what the chip needs beside tables; `status` is the register that
    says which are down."""
    ports = []
    for port in setup.ports:
        row = port_row(port)
        data = tuple((name, False if name == ENABLE else value) for name, value in row.data)
        ports.append(Change("put", Row(row.table, row.key, data, row.action)))
    rows = [*setting_rows(setup), *status_rows(setup, program, status)]
    return ports + [Change("put", row) for row in rows]


def status_rows(setup: SwitchSetup, program: Program, register: str) -> list[Row]:
    """That no port is down: what the program's register of that held is somebody else's past. None
    for programs that have no such register."""
    if not register:
        return []
    try:
        return [cell_row(program, register, port.dev_port, 0) for _, port in setup.cables]
    except ValueError:
        return []


def enabling(setup: SwitchSetup) -> list[Change]:
    """The same ports, enabled: last, so that no packet meets half a configuration."""
    return [Change("put", port_row(port)) for port in setup.ports]


# ---- In words -----------------------------------------------------------------------------------


def row_text(row: Row) -> str:
    """A row in one line."""
    key = ", ".join(f"{name}={_match(name, match)}" for name, match in row.key) or "default"
    data = ", ".join(f"{name}={_value(name, value)}" for name, value in row.data)
    action = f" {row.action}" if row.action else ""
    return f"{row.table} [{key}] ->{action} ({data})"


def _match(name: str, match: Match) -> str:
    values = [_value(name, value) for value in astuple(match)]
    return ("/" if hasattr(match, "prefix_len") else "&&&").join(values)


def _value(name: str, value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{' '.join(map(str, value))}]"
    if isinstance(value, bool | str):
        return str(value)
    return hex(value) if value > 0xFFFF else str(value)
