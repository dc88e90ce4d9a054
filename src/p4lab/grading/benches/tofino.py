"""Cases of a check on the model of the chip, or on our own switch in its place: entries by BFRT,
packets through veth pairs.

A model takes minutes to start, so it serves many cases. What a case has written is undone
after it, and registers begin anew.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType

from p4lab.course.labs import load_plan
from p4lab.grading.course import Course, Judged, public_seeds
from p4lab.grading.elsewhere import Outcome, clock_lacks, counted
from p4lab.grading.scenario import Case
from p4lab.grading.work import Work
from p4lab.model.entries import (
    CloneSession,
    Entity,
    Exact,
    MulticastGroup,
    TableEntry,
    Update,
    key,
)
from p4lab.model.layout import TNA_CPU_PORT
from p4lab.model.run import Observed, Plan
from p4lab.network import NetworkError, namespace
from p4lab.network.cpu import CpuPort
from p4lab.session import pace
from p4lab.session.opening import hardware_session, model_network
from p4lab.session.run import trial
from p4lab.targets import TargetError
from p4lab.targets.cables import Cables, Frames
from p4lab.targets.tofino.chip import LANES, LOCAL_PORTS, SOCKET_PORTS, chassis, local
from p4lab.targets.tofino.driver import TofinoDriver
from p4lab.targets.tofino.model import ModelSwitch
from p4lab.targets.tofino.plan import Hardware, prepare
from p4lab.targets.tofino.rack import BFRT_PORT, Port, SwitchSetup
from p4lab.targets.tofino.rows import metadata_row
from p4lab.targets.tofino.schema import Program
from p4lab.targets.tofino.simulators import Simulator, simulator

NAME = "bench"
QUIET = 0.5  # seconds without a packet: nothing more comes
LONGEST = 5.0  # seconds for one packet, for programs that never end
NETWORK_SECONDS = 900.0  # for a network of models, each of which takes minutes to start
END_SECONDS = 10.0  # for its process to put away what it has made
LINKS_SECONDS = 30.0  # for the ports of a model to come up
PAUSE = 0.05


class TofinoBench:
    """One model at a time, with a cable at every port that a lab's cases use. Needs root."""

    name = "tofino-model"

    def __init__(self, course: Course, *, quiet: float = QUIET) -> None:
        """`quiet` in seconds. Raises TargetError with what is missing."""
        self._simulator = simulator()
        self.notes = self._simulator.notes
        if os.geteuid() != 0:
            raise TargetError(f"the target {self.name} makes network interfaces: start with sudo.")
        self._quiet = quiet
        self._course = course
        self._plan = load_plan(course.name)
        self._ports = _front(_ports_of(course))
        self._stack = ExitStack()
        folder = tempfile.TemporaryDirectory(prefix="p4lab-bench-")
        self._folder = Path(self._stack.enter_context(folder))
        self._stack.callback(namespace.leave, namespace.enter_own())
        namespace.quiet_ipv6()
        self._serving: tuple[object, _Model] | None = None
        self._count = 0

    def __enter__(self) -> TofinoBench:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._stop()
        finally:
            self._stack.close()

    def lacks(self, case: Case) -> str:
        """What a case needs that a model cannot do, as a noun; empty if nothing."""
        return clock_lacks(case)

    def outcome(self, work: Work, case: Case, likely: Sequence[Sequence[int]]) -> Outcome:
        """What comes of a case; `likely` are the ports where each packet should come out. Raises
        TargetError if compiler or driver refuse, ValueError for entries that do not fit."""
        entities = [update.entity for update in case.updates]
        ports = _ports(case, entities) | set(chain(*likely))
        with ExitStack() as stack:
            model = self._model(work, case.defines)
            driver = model.connect(self._setup(ports, case.loops))
            stack.callback(driver.close)
            stack.callback(driver.reset)
            driver.put([metadata_row(port, bits) for port, bits in case.loops])
            writer = _Writer(driver)
            writer.write(entities)
            model.expect_links(driver)
            model.cables.drain()
            found: list[Frames] = []
            for sending, wanted in zip(case.sendings, likely, strict=True):
                if sending.updates:
                    writer.write([update.entity for update in sending.updates])
                model.cables.send(sending.port, sending.data)
                frames, ended = model.cables.collect(
                    self._quiet,
                    LONGEST,
                    ports=_front(ports) | {TNA_CPU_PORT},
                    least=len(wanted),
                )
                found.append(frames)
                if not ended:  # packets without an end would meet those of the next case
                    stack.callback(self._stop)
            return Outcome(found, counted(driver, case))

    def network(self, work: Work, case: Case, plan: Plan) -> str:
        """What goes wrong with a plan on a network of models under Mininet; empty if nothing."""
        self._stop()  # its memory is wanted
        # A process can be ended, whatever a student's network waits for.
        return in_another_process(_network, work.program, dict(work.files), plan)

    def _model(self, work: Work, defines: tuple[tuple[str, str], ...]) -> _Model:
        """The model that runs a submission. Raises TargetError."""
        wanted = work.content(defines)
        if self._serving is None or self._serving[0] != wanted:
            self._stop()
            self._count += 1
            folder = self._folder / str(self._count)
            compiled = work.runnable(defines)
            folder.mkdir()
            with work.unpacked() as program:
                setups = {NAME: self._setup(self._ports, ())}
                plan = replace(self._plan, program=program)
                cpu = CpuPort.of(compiled, self._course.cpu_port(compiled))
                hardware = Hardware(plan, program, defines, Program.of(compiled), setups, cpu)
                self._simulator.compile(program, defines, folder, hardware.name)
            model = _Model(self._simulator, hardware, self._count, self._ports, folder)
            self._serving = wanted, model
        return self._serving[1]

    def _setup(self, ports: Collection[int], loops: Sequence[tuple[int, int]]) -> SwitchSetup:
        """A switch whose ports are called as the chip calls them."""
        looped = [port for port, _ in loops]
        cables = sorted(_front(ports) - set(looped))
        inner = sorted(p for p in ports if SOCKET_PORTS + LANES <= local(p) < LOCAL_PORTS)
        return SwitchSetup(
            NAME,
            chassis(),
            f"{NAME}:{BFRT_PORT}",
            tuple(inner),
            tuple(_port(port, "") for port in looped),
            tuple((port, _port(port, "bench")) for port in cables),
        ).with_cpu()

    def _stop(self) -> None:
        serving, self._serving = self._serving, None
        if serving is not None:
            serving[1].stop()


def in_another_process(
    found: Callable[..., str], *arguments: object, seconds: float = NETWORK_SECONDS
) -> str:
    """What a function gives in a process that has done nothing else, and that ends with it. Raises
    NetworkError if it takes longer, or if the process ends without an answer."""
    context = multiprocessing.get_context("spawn")
    answer, told = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(told, found, arguments), daemon=True)
    process.start()
    told.close()
    try:
        if not answer.poll(seconds):
            raise NetworkError(f"the network of models took more than {seconds:g} seconds.")
        return str(answer.recv())
    except EOFError:
        process.join(END_SECONDS)
        raise NetworkError(
            f"the process with the network of models ended with status {process.exitcode}."
        ) from None
    finally:
        _end(process)
        answer.close()


def _tell(told: Connection, found: Callable[..., str], arguments: Sequence[object]) -> None:
    told.send(found(*arguments))


def _end(process: BaseProcess) -> None:
    """Asks a process to end, and ends it if it does not."""
    process.join(END_SECONDS)
    for end in (process.terminate, process.kill):
        if process.is_alive():
            end()
            process.join(END_SECONDS)


def _network(program: str, files: dict[str, str], plan: Plan) -> str:
    """What goes wrong with a plan, also when it is repeated more slowly, in a process that has done
    nothing else."""

    def once(paced: Plan) -> tuple[str, Observed]:
        with Work(program, files).unpacked() as path:
            hardware = prepare(replace(paced, program=path), TofinoBench.name, None)
            network = model_network(hardware)  # compiles the files
        with network as net:
            return trial(hardware_session(hardware, net), TofinoBench.name), net.observed()

    try:
        return pace.problem(plan, once)
    except (NetworkError, ValueError) as error:
        return str(error)


class _Model:
    """A running model, and our ends of its cables."""

    def __init__(
        self,
        simulator: Simulator,
        hardware: Hardware,
        number: int,
        ports: Collection[int],
        folder: Path,
    ) -> None:
        self.cables = Cables(lambda port: f"{NAME}-eth{port}")
        try:
            interfaces = {port: self.cables.lay(port) for port in sorted(ports)}
            self._switch = ModelSwitch(simulator, hardware, NAME, number, interfaces, folder)
        except BaseException:
            self.cables.close()
            raise
        self.cables.add(TNA_CPU_PORT, self._switch.cpu)

    def connect(self, setup: SwitchSetup) -> TofinoDriver:
        """A driver for one case. Raises TargetError."""
        return self._switch.connect(setup)

    def expect_links(self, driver: TofinoDriver) -> None:
        """Waits for the ports of a case. Raises TargetError."""
        deadline = time.monotonic() + LINKS_SECONDS
        while not all(driver.links().values()):
            if time.monotonic() > deadline:
                raise TargetError("ports of the model do not come up.")
            time.sleep(PAUSE)

    def stop(self) -> None:
        self.cables.forget(TNA_CPU_PORT)
        self._switch.stop()
        self.cables.close()


class _Writer:
    """Says to a driver what is new and what has changed, as it wants to know it."""

    def __init__(self, driver: TofinoDriver) -> None:
        self._driver = driver
        self._held: set[tuple[object, ...]] = set()

    def write(self, entities: Sequence[Entity]) -> None:
        """Raises ValueError for what does not fit."""
        batch = {key(entity): entity for entity in entities}
        self._driver.write(
            [
                Update("modify" if name in self._held else "insert", entity)
                for name, entity in batch.items()
            ]
        )
        self._held |= batch.keys()


def _port(dev_port: int, to: str) -> Port:
    """Every lane a port of its own."""
    front, lane = divmod(dev_port, LANES)
    return Port(front, lane, dev_port, "25G", "none", "default", to)


def _front(ports: Iterable[int]) -> frozenset[int]:
    """Those that may have a cable."""
    return frozenset(port for port in ports if local(port) < SOCKET_PORTS)


def _ports_of(course: Course) -> set[int]:
    """All ports of all cases that everybody sees."""
    found: set[int] = set()
    for check in course.checks:
        if check.scenario is None:
            continue
        for seed in public_seeds(check):
            judged: Judged = course.case(check, seed)
            entities = [update.entity for update in judged.case.updates]
            found |= _ports(judged.case, entities)
            found |= {port for outputs in judged.outputs for port, _ in outputs}
    return found


def _ports(case: Case, entities: Sequence[Entity]) -> set[int]:
    """Ports that a case names: where packets come in, and where entries send them."""
    ports = {sending.port for sending in case.sendings} | {port for port, _ in case.loops}
    for item in entities:
        if isinstance(item, TableEntry):
            ports |= {value for name, value in item.params if "port" in name}
            ports |= {
                match.value
                for name, match in item.match
                if name == "port" and isinstance(match, Exact)
            }
        elif isinstance(item, MulticastGroup | CloneSession):
            ports |= {port for port, _ in item.replicas}
    return {port for port in ports if local(port) < LOCAL_PORTS and port < 1 << 9}
