"""Real Linux hosts: Mininet's namespaces, the kernel's sockets, IGMP and MLD, switches on veth.

Everything lives in a network namespace of this process, apart from the machine's own network.
When the process ends, in whatever way, the kernel takes away that namespace, the interfaces in it
and with them their ends in the hosts; the hosts' shells and agents end with their standard input.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from p4lab import rights
from p4lab.hosts.interfaces import set_up
from p4lab.model.control import Controller, CountingDriver
from p4lab.model.run import Address, Observed, Received, Stream
from p4lab.network import linux_host, namespace
from p4lab.network.agents import ForkServer, HostAgent
from p4lab.network.base import NetworkError
from p4lab.network.linux_host import LinuxHosts
from p4lab.network.switches import Switches, Wire
from p4lab.network.taken import Taken
from p4lab.topology import Host, Link, Topology

PROBE_LENGTH = 100
PANEL_MAC = 0x02 << 32  # what makes 02:02:... of a router's 02:00:...
NOT_TAKEN = "the kernel found nothing in them for its host"
QUIET = 300_000_000  # nanoseconds without a probe at any switch: none is under way
LONGEST_QUEUE = 30_000_000_000  # nanoseconds that are waited for that
CORE_MTU = 9000  # room for what encapsulation adds
TOOLS = {"mnexec": "mininet", "ifconfig": "net-tools", "ip": "iproute2", "ethtool": "ethtool"}
# Switches get whole frames whatever hosts leave undone; captures of hosts shall show them as well.
OFFLOADS = "tx off rx off sg off tso off gso off gro off"


class MininetNetwork:
    """Hosts in namespaces, and switches. Needs root, or a user namespace (p4lab.rights)."""

    name = "linux"

    def __init__(
        self,
        topology: Topology,
        switches: Switches,
        *,
        pcap: Path | None = None,
        patched: bool = False,
        hosts: LinuxHosts | None = None,
    ) -> None:
        """`hosts` says what they need besides IPv4.

        With `patched`, cables between routers run through a patch panel, where `set_link` pulls
        them: both ends lose their carrier, which rtnetlink tells. Taking the interface of a switch
        down instead would do more than that: simple_switch stops to listen at all its ports.

        Raises NetworkError if something is missing, or the system or a host refuses.
        """
        check_system(pcap)
        self.topology = topology
        self._patched = patched
        self._linux = hosts or LinuxHosts()
        self._fork_server: ForkServer | None = None
        self._agents: dict[str, HostAgent] = {}
        self._shells: list[Any] = []
        self._inside: dict[str, Any] = {}
        self._switches = switches
        self._captures: list[subprocess.Popen[bytes]] = []
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._notes: list[str] = []
        self._streams: list[Stream] = []
        self._pending: list[tuple[int, Stream]] = []
        self._home: int | None = namespace.enter_own()
        try:
            with _readable_errors():
                self._build(pcap)
        except BaseException:
            self._stop()
            raise

    def _build(self, pcap: Path | None) -> None:
        from mininet.log import setLogLevel  # heavy: Mininet, which need not be installed
        from mininet.node import Host as MininetHost
        from mininet.node import Node

        setLogLevel("critical")
        namespace.quiet_ipv6()
        self._fork_server = ForkServer()  # it imports while the network is built
        root = Node("root", inNamespace=False)
        self._shells.append(root)
        shells = {}
        for host in self.topology.hosts:
            shells[host.name] = MininetHost(host.name)
            self._shells.append(shells[host.name])
            linux_host.prepare(host, shells[host.name], self._linux)
        self._inside = shells
        for link in self.topology.links:
            self._lay(link, root, shells)
        if pcap:
            self._capture(pcap)
        for host in self.topology.hosts:
            peers = self.topology.hosts_of(host.router)
            linux_host.configure(host, shells[host.name], peers, self._linux)
            if host.name not in self._linux.programs:
                self._agents[host.name] = self._agent(host, host.interface)
        for router in self.topology.routers:
            ports = self.topology.ports(router.name)
            interfaces = {port: _interface(router.name, port) for port in ports}
            self._switches.start(router.name, router.number, interfaces)
        for link in self.topology.links:
            self._emulate(link)
        for agent in self._agents.values():
            agent.answers()  # until it is ready, packets for its host are lost

    def _agent(self, host: Host, interface: str) -> HostAgent:
        assert self._fork_server is not None
        inside = self._inside[host.name].pid
        return self._fork_server.start(host, inside, interface, self._linux.ipv6)

    def _emulate(self, link: Link) -> None:
        """Rate, delay, jitter and loss of a link, by the switches at its ends: veth has none."""
        wire = Wire(link.rate, link.delay_ns, link.jitter_ns, link.loss)
        if wire == Wire(None):
            return
        ends = [(link.a, link.a_port)]
        if not link.is_access:
            ends.append((link.b, link.b_port))
        for router, port in ends:
            self._switches.emulate(router, port, wire, both=link.is_access)

    def _lay(self, link: Link, root: Any, shells: dict[str, Any]) -> None:
        """One veth pair, with its ends where they belong."""
        from mininet.link import Link as MininetLink

        near = _interface(link.a, link.a_port)
        far = _interface(link.b, link.b_port)  # port 0 is a host's
        mtu = 1500 if link.is_access else CORE_MTU
        macs = {
            near: self.topology.mac(link.a, link.a_port),
            far: self.topology.mac(link.b, link.b_port),
        }
        macs |= {_panel(end): mac | PANEL_MAC for end, mac in macs.items()}
        pairs = [(root, near, shells.get(link.b, root), far)]
        if self._patched and not link.is_access:
            pairs = [(root, near, root, _panel(near)), (root, _panel(far), root, far)]
        for node, interface, other, end in pairs:
            MininetLink(
                node,
                other,
                intfName1=interface,
                intfName2=end,
                addr1=_mac(macs[interface]),
                addr2=_mac(macs[end]),
            )
            for place, name in ((node, interface), (other, end)):
                for command in (
                    f"ip link set {name} mtu {mtu} up",
                    f"ethtool -K {name} {OFFLOADS}",
                ):
                    place.cmd(command + " >/dev/null 2>&1")
        if len(pairs) > 1:
            self._patch(root, near, far, mtu)

    def _patch(self, root: Any, near: str, far: str, mtu: int) -> None:
        """Joins two sockets of the panel: a bridge that learns nothing and holds nothing back."""
        bridge = _bridge(near)
        options = "stp_state 0 forward_delay 0 mcast_snooping 0"
        root.cmd(f"ip link add {bridge} type bridge {options} && ip link set {bridge} mtu {mtu} up")
        for name in (_panel(near), _panel(far)):
            root.cmd(f"ip link set {name} master {bridge}")
            root.cmd(f"ip link set {name} type bridge_slave learning off")

    @property
    def interfaces(self) -> dict[str, tuple[str, int]]:
        """Interfaces of the switches, with router and port."""
        return {
            _interface(router.name, port): (router.name, port)
            for router in self.topology.routers
            for port in self.topology.ports(router.name)
        }

    def _capture(self, folder: Path) -> None:
        """One file per link, written by dumpcap, which dies with this process."""
        folder.mkdir(parents=True, exist_ok=True)
        for link in self.topology.links:
            safe = re.sub(r"[^A-Za-z0-9._-]", "_", f"{link.a}-{link.b}")
            interface = _interface(link.a, link.a_port)
            command = ["setpriv", "--pdeathsig", "KILL", "dumpcap", "-q", "-i", interface]
            command += ["-w", str(folder / f"{safe}.pcapng")]
            quiet = subprocess.DEVNULL
            self._captures.append(subprocess.Popen(command, stdout=quiet, stderr=quiet))

    @property
    def now(self) -> int:
        return self._switches.now

    def driver(self, router: str) -> CountingDriver:
        """What writes a router's entries."""
        return self._switches.driver(router)

    def popen(self, host: Host, command: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
        """Starts a program in a host; `how` is as for `subprocess.Popen`. Who starts it ends it; if
        the thread that has started it ends first, the kernel does."""
        inside = self._inside[host.name]
        attach = ["setpriv", "--pdeathsig", "KILL", "mnexec", "-da", str(inside.pid)]
        process: subprocess.Popen[bytes] = inside.popen(list(command), mncmd=attach, **how)
        return process

    def attach(self) -> None:
        """The programs of hosts that have to dial in begin to."""
        package = str(Path(__file__).resolve().parents[2])
        for name, program in self._linux.programs.items():
            self._programs[name] = self.popen(
                self.topology.host(name),
                program.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": package},
            )

    def _meet_attached(self) -> None:
        """An agent for every host that has its address by now."""
        for name in self._programs.keys() - self._agents.keys():
            host, interface = self.topology.host(name), self._linux.programs[name].interface
            shown = self._inside[name].cmd(f"ip -4 -o addr show dev {interface} 2>&1")
            if f"{host.ip}/" in shown:
                self._agents[name] = self._agent(host, interface)
                self._agents[name].answers()

    def join(self, host: Host, group: Address) -> None:
        """The host subscribes through a socket; its kernel speaks IGMP or MLD."""
        self._meet_attached()
        if host.name in self._agents:
            self._agents[host.name].ask({"do": "join", "group": str(group)})

    def leave(self, host: Host, group: Address) -> None:
        """The host unsubscribes."""
        self._agents[host.name].ask({"do": "leave", "group": str(group)})

    def set_link(self, link: Link, up: bool) -> None:
        """Take a link down or up: at the patch panel, or at the switches that it joins, whose
        interfaces stay as they are."""
        if self._patched and not link.is_access:
            for end in (_interface(link.a, link.a_port), _interface(link.b, link.b_port)):
                set_up(_panel(end), up)
            return
        self._switches.set_port(link.a, link.a_port, up)
        if not link.is_access:
            self._switches.set_port(link.b, link.b_port, up)

    def set_middle(self, link: Link, up: bool) -> None:
        """Let a patched cable carry nothing, or again, while both ends keep their carrier: what
        fails is behind a converter."""
        set_up(_bridge(_interface(link.a, link.a_port)), up)

    def start(self, stream: Stream, at: int) -> None:
        """The source sends from `at` on, as soon as `run_until` gets there. Raises NetworkError
        for a stream with a tag, which no socket of a host puts there."""
        if stream.vlan is not None:
            raise NetworkError("real hosts send no VLAN headers here: leave out --net linux.")
        self._meet_attached()
        if stream.source.name not in self._agents:
            self._notes.append(f"{stream.source.name} is not online and sends nothing.")
            return
        self._streams.append(stream)
        self._pending.append((at, stream))

    def run_until(self, end: int, controller: Controller) -> None:
        """Real time passes; the controller acts on frames and timers meanwhile."""
        while True:
            self._start_due()
            due = controller.next_timer()
            moments = [end, *(at for at, _ in self._pending)]
            target = min(moments if due is None else [*moments, due])
            news = self._switches.news(max(0.0, (target - self.now) / 1e9))
            if news:
                controller.packet_in(*news)
            if due is not None and due <= self.now:
                controller.timer(self.now)
            if self.now >= end and not news:
                return

    def settle(self, controller: Controller) -> None:
        """Waits until no probe moves any more: a switch that is slower than its streams still has
        them in its queues when they have ended."""
        deadline = self.now + LONGEST_QUEUE
        before = None
        while before != (seen := self._switches.probes()) and self.now < deadline:
            before = seen
            self.run_until(self.now + QUIET, controller)

    def _start_due(self) -> None:
        for at, stream in [item for item in self._pending if item[0] <= self.now]:
            self._pending.remove((at, stream))
            self._agents[stream.source.name].tell(
                {
                    "do": "send",
                    "to": str(stream.destination),
                    "flow": stream.flow,
                    "packets": stream.packets,
                    "interval": stream.interval_ns / 1e9,
                    "length": PROBE_LENGTH,
                    "ttl": stream.ttl,
                }
            )

    def observed(self, streams: Sequence[Stream] | None = None) -> Observed:
        """What has been sent, received and carried, of all streams or of some; waits for those that
        are still under way."""
        command: dict[str, Any] = {"do": "count"}
        if streams is not None:
            command["flows"] = [stream.flow for stream in streams]
        sent: dict[int, int] = {}
        taken = Taken(self._streams if streams is None else streams)
        for name, agent in self._agents.items():
            counts = agent.ask(command)
            sent |= {int(flow): number for flow, number in counts["sent"].items()}
            for flow, got in counts["received"].items():
                taken.add(name, int(flow), Received(*got), {})
            for flow, (unique, _) in counts["unwanted"].items():
                if self._linux.takes_all:
                    taken.add(name, int(flow), Received(unique, 0), {})
                else:
                    taken.add(name, int(flow), Received(0, 0), {NOT_TAKEN: unique})
        notes = (*self._switches.notes, *self._notes, *taken.notes)
        return Observed(sent, taken.received, self._copies(), notes)

    def entered(self, host: Host) -> int:
        """Probes that have come in from a host so far; does not wait for its streams to end."""
        return self._switches.probes()[host.router, host.port][1]

    def longest_gap(self, host: Host, flow: int) -> int:
        """The most packets of a stream in a row that a subscriber has missed so far."""
        gaps = self._agents[host.name].ask({"do": "count"})["gaps"]
        return int(gaps.get(str(flow), 0))

    def _copies(self) -> dict[tuple[str, str], int]:
        copies: dict[tuple[str, str], int] = defaultdict(int)
        for (router, port), (sent, received) in self._switches.probes().items():
            neighbour = self.topology.ports(router)[port]
            copies[router, neighbour] = sent
            if any(host.name == neighbour for host in self.topology.hosts):
                copies[neighbour, router] = received
        return dict(copies)

    def __enter__(self) -> MininetNetwork:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        """Ends switches, agents, captures and hosts, and goes back to the machine's network."""
        self._switches.stop()
        for agent in self._agents.values():
            agent.close()
        self._agents.clear()
        if self._fork_server is not None:
            self._fork_server.stop()
        for program in self._programs.values():
            program.kill()
            program.wait()
        self._programs.clear()
        for capture in self._captures:
            capture.terminate()
            capture.wait()
        self._captures.clear()
        home, self._home = self._home, None
        namespace.clear(self._shells, home)


def check_system(pcap: Path | None) -> None:
    """Raises NetworkError with what is missing and how to get it."""
    if rights.held() is None:
        raise NetworkError("Linux hosts need root or a user namespace: start it with sudo.")
    tools = {**TOOLS, "dumpcap": "tshark"} if pcap else TOOLS
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = sorted({package for tool, package in tools.items() if shutil.which(tool) is None})
    if missing:
        raise NetworkError(
            f"Mininet needs programs that are not installed: apt-get install {' '.join(missing)}"
        )
    try:
        import mininet.node  # noqa: F401
    except ImportError as error:
        raise NetworkError("the Python package mininet is not installed.") from error


def _panel(interface: str) -> str:
    """The socket in the patch panel where the cable of an interface ends."""
    return f"{interface}p"


def _bridge(near: str) -> str:
    """What joins the sockets of a patched cable, of whose two interfaces `near` is the first."""
    return f"b-{near}"


def _interface(router: str, port: int) -> str:
    return f"{router}-eth{port}"


def _mac(number: int) -> str:
    return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))


@contextmanager
def _readable_errors() -> Iterator[None]:
    """Turns the system's refusals and Mininet's way of exiting into NetworkError."""
    try:
        yield
    except OSError as error:
        raise NetworkError(f"the network cannot be built: {error}") from error
    except SystemExit as error:
        raise NetworkError("Mininet cannot start on this system.") from error
