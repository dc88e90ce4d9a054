"""Runs an exercise on Linux hosts, with any target's switches."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.exercise.entries import entities
from p4lab.exercise.files import Cable, End, Exercise, ExerciseError, Switch
from p4lab.exercise.lines import ADDRESS, carry_out, check_thrift
from p4lab.exercise.service import Service
from p4lab.model.entries import Update, diff
from p4lab.model.layout import CPU_PORT
from p4lab.network import NetworkError, namespace
from p4lab.network.mininet import OFFLOADS, check_system
from p4lab.network.switches import EngineSwitches, Switches, Wire
from p4lab.p4runtime.paced import hold
from p4lab.targets import bmv2

PING_SECONDS = 1
Reached = dict[tuple[str, str], bool]
"""Whether a ping from the first host to the second is answered"""


@dataclass(frozen=True)
class Loaded:
    """A switch with its program, compiled by the engine, and its entries."""

    switch: Switch
    program: _engine.Program
    updates: tuple[Update, ...]


def load(
    exercise: Exercise,
    say: Callable[[str], None] = lambda _: None,
    *,
    bmv2_compat: bool = False,
) -> list[Loaded]:
    """Compiles what the switches run and reads their entries. Raises ProgramError and
    ExerciseError."""
    programs: dict[Path, _engine.Program] = {}
    loaded = []
    for switch in exercise.switches:
        if switch.program not in programs:
            say(f"compiling {switch.program.name}")
            programs[switch.program] = load_program(switch.program, bmv2_compat=bmv2_compat)
        program = programs[switch.program]
        wanted = entities(switch.runtime, program.summary) if switch.runtime else []
        if len(set(wanted)) != len(wanted):
            raise ExerciseError(f"{switch.runtime}: an entry appears twice.")
        updates = tuple(diff(frozenset(), frozenset(wanted)))
        loaded.append(Loaded(switch, program, updates))
    return loaded


class ExerciseNetwork(AbstractContextManager["ExerciseNetwork"]):
    """The running network. Needs root, or a user namespace (p4lab.rights); leaving it
    leaves nothing behind."""

    def __init__(
        self,
        exercise: Exercise,
        loaded: list[Loaded],
        makers: Mapping[Path, Switches],
        service: Service | None = None,
    ) -> None:
        """`makers` are what runs each program; with a service, switches of the engine are its
        devices. Raises NetworkError and ExerciseError."""
        check_system(None)
        if shutil.which("ping") is None:
            raise NetworkError("the hosts need ping: apt-get install iputils-ping")
        self.exercise = exercise
        self._makers = makers
        self._service = service
        self._shells: list[Any] = []
        self.hosts: dict[str, Any] = {}
        self._switches: dict[str, Any] = {}
        self._links: list[Any] = []
        self._thrift = ExitStack()
        self._told: list[str] = []
        if any(switch.commands or switch.thrift_port for switch in exercise.switches):
            check_thrift()
        # A network whose controllers live inside is built where this thread is.
        self._home = None if exercise.inside else namespace.enter_own()
        try:
            self._build(loaded)
        except BaseException:
            self._stop()
            raise

    def _build(self, loaded: list[Loaded]) -> None:
        from mininet.log import setLogLevel  # heavy: Mininet, which need not be installed
        from mininet.node import Host as MininetHost
        from mininet.node import Node

        setLogLevel("critical")
        namespace.quiet_ipv6()
        for switch in self.exercise.switches:
            self._switches[switch.name] = Node(switch.name, inNamespace=False)
            self._shells.append(self._switches[switch.name])
            self._switches[switch.name].cmd("ip link set lo up")
        for host in self.exercise.hosts:
            self.hosts[host.name] = MininetHost(host.name)
            self._shells.append(self.hosts[host.name])
        for cable in self.exercise.cables:
            self._lay(cable)
        for switch in self.exercise.switches:
            if switch.cpu_interface is not None:
                self._lay_cpu(switch)
        # Where scripts of the folder are started, and the Python that has scapy for them.
        place = shlex.quote(str(self.exercise.folder.resolve()))
        python = shlex.quote(str(Path(sys.executable).parent))
        for host in self.exercise.hosts:
            shell = self.hosts[host.name]
            shell.cmd(f"cd {place}; export PATH={python}:$PATH")
            shell.cmd("echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; ip link set lo up")
            shell.cmd(f"ip link set {host.interface} address {host.mac}")
            shell.cmd(
                f"ip addr add {host.ip} dev {host.interface}; ip link set {host.interface} up"
            )
            shell.defaultIntf().updateIP()
            for command in host.commands:
                shell.cmd(command)
        for number, item in enumerate(loaded, 1):
            self._start(number, item)

    def _lay(self, cable: Cable) -> None:
        """A veth pair for a link."""
        from mininet.link import Link

        nodes = {**self._switches, **self.hosts}
        ends = [(nodes[end.node], f"{end.node}-eth{end.port}") for end in (cable.a, cable.b)]
        (near, first), (far, second) = ends
        ports = {"port1": cable.a.port, "port2": cable.b.port}
        link = Link(near, far, intfName1=first, intfName2=second, **ports)
        self._links.append(link)
        for node, interface in ends:
            node.cmd(f"ethtool -K {interface} {OFFLOADS} >/dev/null 2>&1")
            if node.name in self._switches:
                node.cmd(f"ip link set {interface} mtu 9000 up")
        names = {host.name: host.interface for host in self.exercise.hosts}
        if cable.a.node in names and names[cable.a.node] != link.intf1.name:
            link.intf1.rename(names[cable.a.node])

    def _lay_cpu(self, switch: Switch) -> None:
        """A cable to an interface of ours, where controllers listen."""
        near, far = (f"{switch.name}-cpu-eth{end}" for end in (0, 1))
        shell = self._switches[switch.name]
        shell.cmd(f"ip link add {near} type veth peer name {far}")
        for interface in (near, far):
            shell.cmd(f"ethtool -K {interface} {OFFLOADS} >/dev/null 2>&1")
            shell.cmd(f"ip link set {interface} mtu 9000 up")

    def _start(self, number: int, item: Loaded) -> None:
        switch = item.switch
        maker = self._makers[switch.program]
        ports = {port: f"{switch.name}-eth{port}" for port in self.exercise.ports(switch.name)}
        if switch.cpu_interface is not None:
            ports[switch.cpu_interface] = f"{switch.name}-cpu-eth0"
        maker.start(switch.name, number, ports)
        try:
            maker.driver(switch.name).write(item.updates)
        except ValueError as error:
            told = f"{switch.runtime}: {switch.name} refuses it: {error}."
            raise ExerciseError(told) from error
        for cable in self.exercise.cables:
            for end, far in ((cable.a, cable.b), (cable.b, cable.a)):
                if end.node == switch.name and (cable.delay or cable.rate):
                    self._emulate(maker, cable, end, both=far.node in self.hosts)
        if isinstance(maker, EngineSwitches):
            self._open(item, maker.forwarder(switch.name), ports)
        elif switch.commands is not None:
            raise NetworkError("cli_input needs our own switch: leave --target bmv2 out.")

    def _open(self, item: Loaded, forwarder: _engine.Forwarder, ports: Mapping[int, str]) -> None:
        """Lets controllers in, and carries out the lines that are meant for the switch."""
        switch = item.switch
        if self._service is not None:
            self._service.add(switch, forwarder)
        if switch.commands is None and (switch.thrift_port is None or self._service is None):
            return
        from p4lab.thrift.serving import serving  # heavy: thrift, which need not be installed

        served = serving(
            forwarder,
            item.program,
            port=switch.thrift_port or 0 if self._service is not None else 0,
            host=ADDRESS,
            ports=ports,
            device_id=switch.device,
        )
        with ExitStack() as stack:
            port = stack.enter_context(served)
            if switch.commands is not None:
                self._told += carry_out(switch.commands, port)
            if self._service is not None:
                self._thrift.push(stack.pop_all())

    def _emulate(self, maker: Switches, cable: Cable, end: End, *, both: bool) -> None:
        """Gives a link what its topology says. Packets wait for a slow one in the switch, where
        programs see the queue; it lets packets out as bmv2's queues do, by their number."""
        if cable.rate and isinstance(maker, EngineSwitches):
            hold(_engine.Runtime(maker.forwarder(end.node)), {end.port: cable.rate})
        maker.emulate(end.node, end.port, Wire(cable.rate, cable.delay), both=both)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user must know about this run."""
        notes = [note for maker in self._makers.values() for note in maker.notes]
        return tuple(dict.fromkeys([*notes, *self._told]))

    def ping(self, say: Callable[[str], None] = lambda _: None) -> Reached:
        """Every host pings every other, once."""
        reached: Reached = {}
        for source in self.exercise.hosts:
            say(f"{source.name} pings the others")
            waiting = {}
            for target in self.exercise.hosts:
                if target.name != source.name:
                    address = target.ip.split("/")[0]
                    command = ["ping", "-c", "1", "-W", str(PING_SECONDS), "-q", address]
                    waiting[target.name] = self.hosts[source.name].popen(command)
            for name, process in waiting.items():
                process.communicate()
                reached[source.name, name] = process.returncode == 0
        return reached

    def cli(self) -> None:
        """Mininet's command line, from a terminal or a pipe: `h1 ping h2`, `pingall`, `exit`."""
        from p4lab.exercise.console import Console

        Console(list(self.hosts.values()), list(self._switches.values()), self._links)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self._thrift.close()
        for maker in self._makers.values():
            maker.stop()
        home, self._home = self._home, None
        namespace.clear(self._shells, home)


def makers(
    loaded: list[Loaded], target: str, say: Callable[[str], None] = lambda _: None
) -> dict[Path, Switches]:
    """What runs each program on a target. Raises NetworkError."""
    found: dict[Path, Switches] = {}
    for item in loaded:
        program = item.switch.program
        if program in found:
            continue
        cpu_port = item.switch.cpu_port or CPU_PORT
        if target == "engine":
            found[program] = EngineSwitches(item.program, cpu_port=cpu_port)
        elif target == "bmv2":
            say(f"compiling {program.name} ({bmv2.COMPILER})")
            found[program] = bmv2.Bmv2Switches(bmv2.compile_program(program, ()), cpu_port)
        else:
            raise NetworkError(f"there is no target {target!r}; choose from engine and bmv2.")
    return found
