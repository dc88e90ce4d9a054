"""bmv2, the real one: `p4c-bm2-ss` compiles, a `simple_switch_grpc` per router forwards, P4Runtime
drives it. Nothing of it is imitated: where the tools are missing, the message says so.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from p4lab.model.control import Count, PacketIn
from p4lab.model.entries import Entries, RegisterCell, Update
from p4lab.network.counting import ProbeCounter
from p4lab.network.switches import News, Wire
from p4lab.targets import TargetError, command_line, registers
from p4lab.targets.heard import Heard

COMPILER = "p4c-bm2-ss"
SWITCH = "simple_switch_grpc"
COMPILE_SECONDS = 120
START_SECONDS = 20
STOP_SECONDS = 5
FIRST_THRIFT_PORT = 9090
QUEUE = 65_536
"""Packets that a queue of a port holds, instead of 64: a switch that falls behind for a moment
then delays packets and loses none"""

REMEDY = (
    "Install the packages p4lang-p4c and p4lang-bmv2 (provision/provision.sh does so where the "
    "distribution has them), or use the target engine, which needs nothing."
)


@dataclass(frozen=True)
class Tools:
    """Where the two programs are."""

    compiler: str
    switch: str


def missing() -> list[str]:
    """What is not installed of what the target needs."""
    names = [tool for tool in (COMPILER, SWITCH) if shutil.which(tool) is None]
    try:
        import finsy.proto  # noqa: F401 # heavy: finsy and grpc, which need not be installed
    except ImportError:
        names.append("the Python package finsy")
    return names


def tools() -> Tools:
    """The tools. Raises TargetError with what is missing."""
    if names := missing():
        raise TargetError(f"the target bmv2 needs {', '.join(names)}. {REMEDY}")
    compiler, switch = shutil.which(COMPILER), shutil.which(SWITCH)
    assert compiler and switch
    return Tools(compiler, switch)


@dataclass(frozen=True)
class Compiled:
    """A program as bmv2 wants it."""

    config: bytes
    """JSON for the switch"""
    p4info: str
    """in protobuf's text format"""


def compile_program(program: Path, defines: Sequence[tuple[str, str]]) -> Compiled:
    """Compiles with p4c. Raises TargetError with what p4c said."""
    compiler = tools().compiler
    with tempfile.TemporaryDirectory(prefix="p4lab-bmv2-") as folder:
        config, info = Path(folder) / "program.json", Path(folder) / "program.p4info.txtpb"
        command = [compiler, "--p4runtime-files", str(info), "-o", str(config)]
        command += [f"-D{name}={value}" for name, value in defines]
        try:
            done = subprocess.run(
                [*command, str(program)],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=COMPILE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TargetError(f"{COMPILER} took more than {COMPILE_SECONDS} s") from None
        if done.returncode != 0 or not config.is_file():
            raise TargetError(f"{COMPILER} does not accept {program}:\n{done.stderr.strip()}")
        return Compiled(config.read_bytes(), info.read_text(encoding="utf-8"))


class Bmv2Switch:
    """A running simple_switch_grpc on Linux interfaces, in the network namespace of the caller."""

    def __init__(
        self,
        name: str,
        compiled: Compiled,
        ports: Mapping[int, str],
        on_cpu: Callable[[PacketIn], None],
        *,
        cpu_port: int,
        number: int,
        folder: Path,
    ) -> None:
        """`ports` are numbers and interface names, `cpu_port` is that of its controller. `on_cpu`
        is called from a thread with what the switch sends there. `number` tells
        switches of one namespace apart; log and socket are put in `folder`. Raises TargetError."""
        from p4lab.control.p4runtime import P4RuntimeDriver

        self.name = name
        # A socket of the file system: network namespaces do not matter to it.
        address = f"unix:{folder / f'{name}.sock'}"
        self._log = folder / f"{name}.log"
        self._thrift_port = FIRST_THRIFT_PORT + number
        command = [tools().switch, "--no-p4", "--device-id", "1"]
        command += ["--thrift-port", str(self._thrift_port)]
        for port, interface in ports.items():
            command += ["-i", f"{port}@{interface}"]
        command += ["--", "--grpc-server-addr", address, "--cpu-port", str(cpu_port)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._driver = P4RuntimeDriver(address, compiled.p4info, on_packet=on_cpu)
        self._open(compiled.config)
        if command_line.is_there():
            command_line.ask(self._thrift_port, [f"set_queue_depth {QUEUE}"])

    def _open(self, config: bytes) -> None:
        """Connects, as long as the process lives and has not used up its time."""
        from p4lab.control.p4runtime import P4RuntimeError

        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self._driver.open(config, patience=1.0)
                return
            except P4RuntimeError as error:
                if self._process.poll() is None and time.monotonic() < deadline:
                    continue
                words = self._last_words()
                self.stop()
                raise TargetError(f"{self.name}: {error}\n{words}".rstrip()) from error

    def write(self, updates: Sequence[Update]) -> None:
        """Applies a batch by P4Runtime, then its cells of registers by Thrift. Raises ValueError
        with what was refused."""
        self._driver.write([item for item in updates if not isinstance(item.entity, RegisterCell)])
        if cells := list(_cells(updates)):
            registers.write(self._thrift_port, cells)

    def entries(self) -> Entries:
        """What the switch holds, read from it. Raises ValueError if it does not answer."""
        return self._driver.entries()

    def counters(self, name: str, cells: Sequence[int]) -> dict[int, Count]:
        """What these cells of a counter hold, read from the switch. Raises ValueError."""
        return self._driver.counters(name, cells)

    def packet_out(self, port: int, frame: bytes) -> None:
        """Sends a frame out of a port."""
        self._driver.packet_out(port, frame)

    def stop(self) -> None:
        """Ends the connection and the process."""
        self._driver.close()
        self._process.terminate()
        try:
            self._process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return "\n".join(lines[-5:])


def _cells(updates: Sequence[Update]) -> Iterator[RegisterCell]:
    """What cells of registers hold after a batch: 0 where none is ours any more."""
    for update in updates:
        if isinstance(update.entity, RegisterCell):
            yield replace(update.entity, value=0) if update.kind == "delete" else update.entity


class Bmv2Switches:
    """A simple_switch_grpc for every router of a network."""

    target = "bmv2"

    def __init__(self, compiled: Compiled, cpu_port: int) -> None:
        """`cpu_port` is the program's port to its control plane."""
        self._compiled = compiled
        self._cpu_port = cpu_port
        self.notes: tuple[str, ...] = ()
        self._folder = tempfile.TemporaryDirectory(prefix="p4lab-bmv2-")
        self._heard = Heard()
        self._switches: dict[str, Bmv2Switch] = {}
        self._ports: dict[tuple[str, int], str] = {}
        self._counters: list[ProbeCounter] = []
        if not command_line.is_there():
            self._note(
                f"{command_line.PROGRAM} is not installed, so bmv2's queues hold 64 packets and "
                "lose the rest."
            )

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes = (*self.notes, note)

    @property
    def now(self) -> int:
        return self._heard.now

    def start(self, router: str, number: int, ports: Mapping[int, str]) -> None:
        def heard(packet: PacketIn) -> None:
            self._heard.put(router, packet)

        self._ports |= {(router, port): interface for port, interface in ports.items()}
        self._counters.append(ProbeCounter(list(ports.values())))
        folder = Path(self._folder.name)
        self._switches[router] = Bmv2Switch(
            router,
            self._compiled,
            ports,
            heard,
            cpu_port=self._cpu_port,
            number=number,
            folder=folder,
        )

    def driver(self, router: str) -> Bmv2Switch:
        return self._switches[router]

    def news(self, timeout: float) -> News | None:
        return self._heard.next(timeout)

    def set_port(self, router: str, port: int, up: bool) -> None:
        """The interface itself goes down: bmv2 has no other way to lose a port."""
        state = "up" if up else "down"
        command = ["ip", "link", "set", self._ports[router, port], state]
        subprocess.run(command, check=True, capture_output=True)

    def emulate(self, router: str, port: int, wire: Wire, *, both: bool) -> None:
        """By the kernel, where it can (netem); elsewhere the links stay as they are, and a note
        says so. `both` is not for a kernel: a queue has one direction. netem's jitter is to both
        sides of the delay."""
        command = ["tc", "qdisc", "replace", "dev", self._ports[router, port], "root", "netem"]
        middle, half = (wire.delay + wire.jitter // 2) // 1000, wire.jitter // 2000
        command += ["delay", f"{middle}us", f"{half}us", "loss", f"{100 * wire.loss}%"]
        command += ["rate", f"{wire.rate}bit"] if wire.rate else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self._note(
                "links have no rate, delay, jitter, loss with bmv2 here: this kernel has no netem."
            )

    def probes(self) -> dict[tuple[str, int], tuple[int, int]]:
        found = {}
        for counter, router in zip(self._counters, self._switches, strict=True):
            counter.check()
            for (name, port), interface in self._ports.items():
                if name == router:
                    found[name, port] = counter.probes(interface)
        return found

    def stop(self) -> None:
        for switch in self._switches.values():
            switch.stop()
        self._switches.clear()
        for counter in self._counters:
            counter.stop()
        self._counters.clear()
        self._folder.cleanup()
