"""The target `tofino-model`: what takes a chip's place (`simulators`), for every router.

The SDE's programs have TCP ports that cannot all be chosen, so each switch lives in a network
namespace of its own, with the interfaces of its router, a veth pair for the CPU port, and one for
the BFRT server.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path

from p4lab.network import namespace
from p4lab.network.counting import ETH_P_ALL, PACKET_OUTGOING, ProbeCounter
from p4lab.network.switches import News, Wire
from p4lab.targets import TargetError
from p4lab.targets.heard import Heard
from p4lab.targets.tofino import client, tools
from p4lab.targets.tofino.driver import TofinoDriver
from p4lab.targets.tofino.journal import Journal
from p4lab.targets.tofino.plan import Hardware
from p4lab.targets.tofino.rack import BFRT_PORT, SwitchSetup
from p4lab.targets.tofino.simulators import Simulator, simulator
from p4lab.targets.tofino.wedge import end

CPU, CONTROLLER = "cpu0", "cpu1"  # the model's end of the CPU port's cable, and ours
# RFC 2544's network for benchmarks: four addresses for each router's server, by its number.
SERVERS = int(IPv4Address("198.18.0.0"))
LONGEST = 10_000  # bytes of a frame
LOOK = 0.1  # seconds between looks at whether to stop
BORN_SECONDS = 5


class ModelSwitch:
    """The switch of one router, with its interfaces, in a namespace."""

    def __init__(
        self,
        simulator: Simulator,
        hardware: Hardware,
        router: str,
        number: int,
        ports: Mapping[int, str],
        folder: Path,
    ) -> None:
        """Starts it with what was compiled into the folder; `connect` waits for it. Raises
        TargetError, NetworkError, OSError."""
        self.router = router
        self.setup = hardware.setups[router]
        self.interfaces = dict(ports)
        self._hardware = hardware
        self.header = hardware.cpu
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._simulator = simulator
        self._holder = _namespace()
        self._pid = str(self._holder.pid)
        self._near = str(IPv4Address(SERVERS + 4 * number + 1))
        self.address = f"{IPv4Address(SERVERS + 4 * number + 2)}:{BFRT_PORT}"
        with inside(self._holder.pid):
            namespace.quiet_ipv6()
        self._cable(number)
        with inside(self._holder.pid):
            self.counter = ProbeCounter(list(ports.values()))
            self.cpu = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            self.cpu.bind((CONTROLLER, ETH_P_ALL))
        self._start()

    def _cable(self, number: int) -> None:
        near, far = f"m{number}", "bfrt"
        for name in self.interfaces.values():
            _ip("link", "set", name, "netns", self._pid)
        _ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", self._pid)
        _ip("addr", "add", f"{self._near}/30", "dev", near)
        _ip("link", "set", near, "up")
        self._ip("addr", "add", f"{self.address.partition(':')[0]}/30", "dev", far)
        self._ip("link", "add", CPU, "mtu", "9000", "type", "veth", "peer", "name", CONTROLLER)
        for name in ("lo", far, CPU, CONTROLLER, *self.interfaces.values()):
            self._ip("link", "set", name, "up")

    def _ip(self, *words: str) -> None:
        _ip(*words, inside=self._pid)

    def _start(self) -> None:
        interfaces = tools.model_interfaces(self.setup, CPU)
        for what, command in self._simulator.commands(
            self.router, interfaces, self._folder, self._hardware.name
        ):
            self._run(what, command)

    def _run(self, what: str, command: list[str]) -> None:
        place = self._folder / f"{self.router}-{what}"
        place.mkdir(exist_ok=True)  # the SDE's programs write logs where they are
        with self._log(what).open("wb") as log:
            within = ["setpriv", "--pdeathsig", "KILL", "nsenter", "-t", self._pid, "-n"]
            process = subprocess.Popen(
                [*within, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=place,
                env=self._simulator.environment,
            )
        self._processes[what] = process

    def _log(self, what: str) -> Path:
        return self._folder / f"{self.router}-{what}.log"

    def connect(self, setup: SwitchSetup | None = None) -> TofinoDriver:
        """A driver, when the switch is up, for the ports of the router or of another set-up.
        Raises TargetError."""

        def send(port: int, frame: bytes) -> None:
            self.cpu.send(self.header.packet_out(port, frame))

        try:
            bfrt = client.connect(
                self.address,
                self._hardware.name,
                alive=lambda: all(process.poll() is None for process in self._processes.values()),
            )
        except TargetError as error:
            told = [f"{self.router}: {error}", self._last_words(), self._simulator.advice()]
            raise TargetError("\n".join(filter(None, told))) from error
        journal = Journal(self._folder / f"{self.router}.journal", self._hardware.name)
        driver = TofinoDriver(
            bfrt,
            setup or self.setup,
            self._hardware.program,
            status=self._hardware.status,
            send=send,
            journal=journal,
        )
        driver.open()
        return driver

    def set_port(self, port: int, up: bool) -> None:
        self._ip("link", "set", self.interfaces[port], "up" if up else "down")

    def stop(self) -> None:
        """Ends the switch's processes and its namespace, and with it the interfaces."""
        self.counter.stop()
        self.cpu.close()
        for process in reversed(self._processes.values()):
            end(process)
        end(self._holder)

    def _last_words(self) -> str:
        told = []
        for what in self._processes:
            lines = self._log(what).read_text(errors="replace").strip().splitlines()
            told += [f"{what}: {line}" for line in lines[-3:]]
        return "\n".join(told)


class ModelSwitches:
    """A switch for every router of a network (see `network.switches.Switches`)."""

    target = "tofino-model"

    def __init__(self, hardware: Hardware) -> None:
        """Compiles. Raises TargetError."""
        self._simulator = simulator()
        self.notes: tuple[str, ...] = self._simulator.notes
        self._hardware = hardware
        self._temporary = tempfile.TemporaryDirectory(prefix="p4lab-tofino-")
        self._folder = Path(self._temporary.name)
        self._simulator.compile(hardware.source, hardware.defines, self._folder, hardware.name)
        self._heard = Heard()
        self._switches: dict[str, ModelSwitch] = {}
        self._drivers: dict[str, TofinoDriver] = {}
        self._stopping = threading.Event()
        self._listeners: list[threading.Thread] = []

    @property
    def now(self) -> int:
        return self._heard.now

    def start(self, router: str, number: int, ports: Mapping[int, str]) -> None:
        switch = ModelSwitch(self._simulator, self._hardware, router, number, ports, self._folder)
        self._switches[router] = switch
        listener = threading.Thread(target=self._listen, args=(switch,), daemon=True)
        listener.start()
        self._listeners.append(listener)

    def _listen(self, switch: ModelSwitch) -> None:
        """What a switch sends to its CPU port, for the control plane."""
        numbers = {port.dev_port: number for number, port in switch.setup.cables}
        switch.cpu.settimeout(LOOK)
        while not self._stopping.is_set():
            try:
                frame, address = switch.cpu.recvfrom(LONGEST)
            except TimeoutError:
                continue
            if address[2] == PACKET_OUTGOING:
                continue
            packet = switch.header.packet_in(frame)
            if packet.port in numbers:
                self._heard.put(switch.router, packet._replace(port=numbers[packet.port]))

    def driver(self, router: str) -> TofinoDriver:
        """Waits until the router's switch is up: minutes, for a model."""
        if router not in self._drivers:
            self._drivers[router] = self._switches[router].connect()
        return self._drivers[router]

    def news(self, timeout: float) -> News | None:
        return self._heard.next(timeout)

    def set_port(self, router: str, port: int, up: bool) -> None:
        self._switches[router].set_port(port, up)

    def emulate(self, router: str, port: int, wire: Wire, *, both: bool) -> None:
        """Links have no rate, delay, jitter or loss: a model has no time. A note says so."""

    def probes(self) -> dict[tuple[str, int], tuple[int, int]]:
        found = {}
        for router, switch in self._switches.items():
            switch.counter.check()
            for port, interface in switch.interfaces.items():
                found[router, port] = switch.counter.probes(interface)
        return found

    def stop(self) -> None:
        self._stopping.set()
        for listener in self._listeners:
            listener.join()
        for switch in self._switches.values():
            switch.stop()
        self._switches.clear()
        self._drivers.clear()
        self._temporary.cleanup()


def _namespace() -> subprocess.Popen[bytes]:
    """A process that does nothing in a network namespace of its own, and ends when we do. Raises
    TargetError."""
    ours = os.readlink("/proc/thread-self/ns/net")
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"],
        stdin=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + BORN_SECONDS
    while os.readlink(f"/proc/{process.pid}/ns/net") == ours:
        if time.monotonic() > deadline or process.poll() is not None:
            end(process)
            raise TargetError("the system makes no network namespace: start with sudo.")
        time.sleep(LOOK / 10)
    return process


@contextmanager
def inside(pid: int) -> Iterator[None]:
    """This thread is in the network namespace of a process. Sockets stay where they were made."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    namespace.leave(os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC))
    try:
        yield
    finally:
        namespace.leave(home)


def _ip(*words: str, inside: str = "") -> None:
    """`ip`, here or in the namespace of a process. Raises TargetError with what it says."""
    within = ["nsenter", "-t", inside, "-n"] if inside else []
    done = subprocess.run([*within, "ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TargetError(f"ip {' '.join(words)}: {done.stderr.strip()}")
