"""The target `wedge`: the switches of a rack, set up, watched and put back.

Hosts are other machines, so nothing is judged here: who shall receive is taken from the plan
(nobody hears IGMP), and what the chips have counted is shown. Meanwhile the control plane runs:
ports that lose their link are told by the chips.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType

from p4lab import registry
from p4lab.model.control import Count
from p4lab.targets import TargetError
from p4lab.targets.tofino import tools
from p4lab.targets.tofino.agents import PortAgents
from p4lab.targets.tofino.driver import Loop, TofinoDriver
from p4lab.targets.tofino.journal import Journal, Ledger, journal_path, state_folder
from p4lab.targets.tofino.plan import Hardware
from p4lab.targets.tofino.rack import SwitchSetup
from p4lab.targets.tofino.tools import Sde

STOP_SECONDS = 10
LOOK = 1.0  # seconds to find out whether somebody listens
LOCAL = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class Counted:
    """What a switch has counted: frames received and sent by port of the topology, what its loops
    have done, and the cells of the program's own counters that hold something, by name."""

    ports: dict[int, tuple[int, int]]
    loops: tuple[Loop, ...] = ()
    counters: dict[str, dict[int, Count]] = field(default_factory=dict)


Counters = dict[str, Counted]
"""By router"""


def build_folder(hardware: Hardware) -> Path:
    """Where a program is compiled to."""
    return state_folder() / "build" / hardware.name


def run(
    hardware: Hardware,
    wait: Callable[[Callable[[], None]], None],
    say: Callable[[str], None] = lambda _: None,
    told: Callable[[str], None] = lambda _: None,
) -> Counters:
    """Sets all switches up, waits, and puts them back, whatever happens meanwhile. `wait` gets what
    follows the switches' ports until an exception ends it, `told` hears of these ports, `say` of
    the stages. Raises TargetError, and ValueError for entries that a switch refuses."""
    plan = hardware.plan
    with _interruptible(), ExitStack() as stack:
        drivers = _drivers(hardware, stack, say)
        say("writing entries")
        system = registry.find(plan.system)
        plane = system.control_plane(plan, drivers.__getitem__, hardware.layouts)
        agents = PortAgents(plan.topology, plane, drivers, reroute=True, say=told)
        system.assume(plan, plane)
        say("waiting for links")
        agents.expect_links()
        say("ready")
        wait(agents.follow)
        counters = {router: _counted(driver) for router, driver in drivers.items()}
        say("putting everything back")
    return counters


def _counted(driver: TofinoDriver) -> Counted:
    return Counted(driver.frames(), driver.loops(), driver.all_counters())


def undo(hardware: Hardware, say: Callable[[str], None] = lambda _: None) -> dict[str, int]:
    """Puts back what earlier runs have left on the switches: how many rows, by router. Raises
    TargetError."""
    found = {}
    left = {
        router: setup
        for router, setup in hardware.setups.items()
        if journal_path(setup.server).exists()
    }
    if not left:
        return {}
    client = _client()
    for router, setup in left.items():
        say(f"putting {router} back")
        journal = Journal(journal_path(setup.server), hardware.name)
        bfrt = client.connect(setup.server, hardware.name, patience=LOOK)
        try:
            found[router] = Ledger(bfrt, journal).recover()
        finally:
            bfrt.close()
    return found


def _client() -> ModuleType:
    """What talks to a switch. Raises TargetError without gRPC."""
    if lacking := tools.missing("wedge", start=False):
        raise TargetError(f"the target wedge needs {', '.join(lacking)}.")
    from p4lab.targets.tofino import client  # heavy: gRPC, an extra of ours

    return client


def _drivers(
    hardware: Hardware, stack: ExitStack, say: Callable[[str], None]
) -> dict[str, TofinoDriver]:
    """A driver for each switch, which the stack closes."""
    client = _client()
    asleep = [s for s in hardware.setups.values() if not tools.listens(s.server, LOOK)]
    for setup in asleep:
        if setup.server.rpartition(":")[0] not in LOCAL:
            raise TargetError(
                f"{setup.server}: nothing listens there: start bf_switchd on {setup.router} with "
                f"the program {hardware.name} (docs/hardware.md)."
            )
    sde = _compiled(hardware, say) if asleep else None
    drivers = {}
    for router, setup in hardware.setups.items():
        process, patience = None, LOOK
        if sde is not None and setup in asleep:
            say(f"starting bf_switchd of {router}")
            process, patience = _switchd(sde, hardware, setup, stack), client.PATIENCE
        say(f"connecting to {router} at {setup.server}")
        alive = partial(_lives, process)
        try:
            bfrt = client.connect(setup.server, hardware.name, patience=patience, alive=alive)
        except TargetError as error:
            raise TargetError(
                _obituary(error, _log(hardware, setup) if process else None)
            ) from error
        driver = TofinoDriver(bfrt, setup, hardware.program, status=hardware.status)
        stack.callback(driver.close)
        driver.open()
        drivers[router] = driver
    return drivers


def _compiled(hardware: Hardware, say: Callable[[str], None]) -> Sde:
    """The SDE, which has compiled the program. Raises TargetError."""
    sde = tools.find("wedge")
    say(f"compiling {hardware.source.name} ({tools.COMPILER})")
    tools.compile_program(sde, hardware.source, hardware.defines, build_folder(hardware))
    return sde


def _switchd(
    sde: Sde, hardware: Hardware, setup: SwitchSetup, stack: ExitStack
) -> subprocess.Popen[bytes]:
    """A driver for this machine's chip, which the stack ends."""
    if os.geteuid() != 0:
        raise TargetError("bf_switchd opens the chip, which needs root: start it with sudo -E.")
    folder = build_folder(hardware)
    config = folder / f"{setup.router}.conf"
    config.write_text(tools.switchd_json(hardware.name, folder, chip=True), encoding="utf-8")
    with _log(hardware, setup).open("wb") as log:
        process = subprocess.Popen(
            tools.switchd_command(str(sde.home), str(config), setup.port),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=sde.environment,
        )
    stack.callback(end, process)
    return process


def _log(hardware: Hardware, setup: SwitchSetup) -> Path:
    return build_folder(hardware) / f"{setup.router}-switchd.log"


def _obituary(error: TargetError, log: Path | None) -> str:
    """Why nobody answers, with the last words of a driver that we have started."""
    if log is None:
        return str(error)
    lines = log.read_text(errors="replace").strip().splitlines()
    told = [str(error), *lines[-3:], f"All of it is in {log}.", tools.huge_pages()]
    return "\n".join(filter(None, told))


def _lives(process: subprocess.Popen[bytes] | None) -> bool:
    """Whether a driver that we have started still runs; others are not ours to ask."""
    return process is None or process.poll() is None


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process, by force if it does not listen."""
    process.terminate()
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does: by putting everything back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
