"""Cases of a check on the real bmv2: entries by P4Runtime, packets through veth pairs."""

from __future__ import annotations

import queue
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from types import TracebackType

from p4lab import rights
from p4lab.grading.course import Course
from p4lab.grading.elsewhere import Outcome, clock_lacks, counted
from p4lab.grading.scenario import Case
from p4lab.grading.work import Content, Work
from p4lab.model.control import PacketIn
from p4lab.model.entries import Entity, MulticastGroup, RegisterCell, TableEntry
from p4lab.model.run import Observed, Plan
from p4lab.network import NetworkError, namespace
from p4lab.network.cpu import CpuPort
from p4lab.session import pace
from p4lab.session.opening import bmv2_network
from p4lab.session.run import Session, trial
from p4lab.targets import TargetError, bmv2, command_line
from p4lab.targets.cables import Cables, Frames

QUIET = 0.25  # seconds without a packet: nothing more comes
LONGEST = 3.0  # seconds for one packet, for programs that never end


class Bmv2Bench:
    """One switch at a time, with a cable at every port that a case uses. Needs root, or a user
    namespace (p4lab.rights)."""

    name = "bmv2"

    def __init__(self, course: Course) -> None:
        """Raises TargetError with what is missing."""
        bmv2.tools()
        if rights.held() is None:
            raise TargetError("the target bmv2 makes network interfaces: start it with sudo.")
        self._course = course
        self._home = namespace.enter_own()
        namespace.quiet_ipv6()
        self._cables = Cables(lambda port: f"sw{port}")
        self._compiled: dict[Content, bmv2.Compiled] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="p4lab-bench-")

    def __enter__(self) -> Bmv2Bench:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cables.close()
        namespace.leave(self._home)
        self._folder.cleanup()

    def lacks(self, case: Case) -> str:
        """What a case needs that bmv2 cannot do, as a noun; empty if nothing."""
        if missing := clock_lacks(case):
            return missing
        if _writes_registers(case) and not command_line.is_there():
            return f"{command_line.PROGRAM}, which is not installed, to write into registers"
        return ""

    def outcome(self, work: Work, case: Case, likely: Sequence[Sequence[int]]) -> Outcome:
        """What comes of a case; `likely` are the ports where each packet should come out. Raises
        TargetError if p4c or the switch refuses, ValueError for entries that do not fit."""
        compiled = self.compiled(work, case.defines)
        program = work.runnable(case.defines)
        cpu = CpuPort.of(program, self._course.cpu_port(program))
        entities = [update.entity for update in case.updates]
        ports = sorted(_ports(case, entities) | set(chain(*likely)) - {cpu.number})
        interfaces = {port: self._cables.lay(port) for port in ports}
        heard: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()

        def to_cpu(packet: PacketIn) -> None:
            heard.put((cpu.number, packet.header + packet.frame))

        switch = bmv2.Bmv2Switch(
            "bench",
            compiled,
            interfaces,
            to_cpu,
            cpu_port=cpu.number,
            number=1,
            folder=Path(self._folder.name),
        )
        try:
            switch.write(case.updates)
            found = []
            for sending, wanted in zip(case.sendings, likely, strict=True):
                if sending.updates:
                    switch.write(sending.updates)
                if sending.port == cpu.number:
                    switch.packet_out(*cpu.packet_out_of(sending.data))
                else:
                    self._cables.send(sending.port, sending.data)
                frames, _ = self._cables.collect(
                    QUIET, LONGEST, heard=lambda: _taken(heard), least=len(wanted)
                )
                found.append(frames)
            return Outcome(found, counted(switch, case))
        finally:
            switch.stop()

    def network(self, work: Work, case: Case, plan: Plan) -> str:
        """What goes wrong with a plan on a network of bmv2 under Mininet, also when it is repeated
        more slowly; empty if nothing."""

        def once(paced: Plan) -> tuple[str, Observed]:
            with bmv2_network(paced, self.compiled(work, case.defines)) as net:
                return trial(Session(paced, net), self.name), net.observed()

        try:
            return pace.problem(pace.for_bmv2(plan), once)
        except (NetworkError, ValueError) as error:
            return str(error)

    def compiled(self, work: Work, defines: tuple[tuple[str, str], ...]) -> bmv2.Compiled:
        """A submission as p4c compiles it. Raises TargetError."""
        key = work.content(defines)
        if key not in self._compiled:
            with work.unpacked() as program:
                self._compiled[key] = bmv2.compile_program(program, defines)
        return self._compiled[key]


def _writes_registers(case: Case) -> bool:
    later = [update for sending in case.sendings for update in sending.updates]
    return any(isinstance(update.entity, RegisterCell) for update in [*case.updates, *later])


def _taken(heard: queue.SimpleQueue[tuple[int, bytes]]) -> Frames:
    found = []
    while not heard.empty():
        found.append(heard.get())
    return found


def _ports(case: Case, entities: Sequence[Entity]) -> set[int]:
    """Ports that a case names: where packets come in, and where entries send them."""
    ports = {sending.port for sending in case.sendings}
    for item in entities:
        if isinstance(item, TableEntry):
            ports |= {value for name, value in item.params if "port" in name}
        elif isinstance(item, MulticastGroup):
            ports |= {port for port, _ in item.replicas}
    return {port for port in ports if 0 < port < 256}
