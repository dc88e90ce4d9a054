"""What the experiments run: the gateway's switch in virtual time between an access node and a core.

    access node -- 10 Gb/s -- port 1, switch, port 2 -- 10 Gb/s -- core

One access port has all lines, as behind a fabric: line n has the label of node n / 16 and the tag
n mod 16 + 1, as in the published test bed. Frames have the paper's headers on both sides, so those
to subscribers grow by 30 bytes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from ipaddress import IPv4Address
from pathlib import Path

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.experiment import tidy
from p4lab.model.control import Count
from p4lab.model.entries import Entries, Update
from p4lab.model.layout import CPU_PORT
from p4lab.model.tables import Tables
from p4lab.network.cpu import CpuPort
from p4lab.network.virtual import PICOSECONDS, VirtualDriver
from p4lab.packets.ip import PROTOCOL_UDP, ipv4
from p4lab.packets.pcapng import frames as captured
from p4lab.packets.probe import Probe
from p4lab.paths import ROOT
from p4lab.systems.bng import frames
from p4lab.systems.bng.api import Api
from p4lab.systems.bng.entries import Access, Core, Line, Net, Route, Session
from p4lab.systems.bng.lines import FIRST_LABEL, LINES_OF_A_NODE, SERVICE_VID
from p4lab.systems.bng.pppoe.packets import data_of
from p4lab.systems.bng.subscriber import access
from p4lab.systems.bng.subscriber.access import Inner, inner_of

SOURCE = (
    "Kundel, Nobach et al.: P4-BNG: Central Office Network Functions on Programmable Packet "
    "Pipelines, 2018"
)
PROGRAM = ROOT / "p4" / "bng" / "v1model.p4"
SECOND = 10**9
LINE_RATE = 10 * 10**9
ON_THE_WIRE = 24
"""Bytes of a frame on a cable besides those that it has here: preamble, gap and checksum"""
ACCESS_PORT, CORE_PORT = 1, 2
OWN_MAC, NODE_MAC = 0x02_00_00_00_00_01, 0x02_00_00_00_00_02
CORE_MAC, PEER_MAC = 0x02_00_00_00_00_03, 0x02_00_00_00_00_04
OUTER = (OWN_MAC.to_bytes(6, "big"), NODE_MAC.to_bytes(6, "big"))
CORE_LABELS = (100, 101)
SERVER = IPv4Address("203.0.113.1")
FIRST_ADDRESS = int(IPv4Address("100.64.0.0"))
FRONT = 22
"""Bytes of a frame of the core in front of its IP packet: Ethernet and two labels"""
GROWTH = 30
"""What the gateway puts in front of a packet to a subscriber (p4/bng/README.md)"""

_TO_CORE = Route(0, Net(4, 0, 0), CORE_PORT, *CORE_LABELS, PEER_MAC)


@cache
def program(file: Path = PROGRAM) -> _engine.Program:
    """The gateway's program for the engine. Raises ProgramError."""
    return load_program(file)


@cache
def _origin() -> tidy.Origin:
    return tidy.origin(0, PROGRAM)


def origin(seed: int) -> tidy.Row:
    """The columns that each row of a table begins with."""
    return replace(_origin(), seed=seed).columns


def line(number: int) -> Line:
    """Line `number`, from 1."""
    node, tag = divmod(number, LINES_OF_A_NODE)
    return Line(number, ACCESS_PORT, FIRST_LABEL, FIRST_LABEL + 1 + node, tag + 1, 0)


def cable(number: int) -> access.Line:
    """The same line, from its subscriber's side."""
    return frames.cable(line(number), OUTER, SERVICE_VID)


def mac(number: int) -> bytes:
    """The MAC address of the subscriber on a line."""
    return b"\x02\x10" + number.to_bytes(4, "big")


def to_subscriber(address: IPv4Address, flow: int, length: int, dscp: int = 0) -> bytes:
    """A probe from the core, `length` bytes with its Ethernet header and two labels."""
    return _to_gateway(ipv4(SERVER, address, PROTOCOL_UDP, _probe(flow, length), tos=dscp << 2))


def from_subscriber(address: IPv4Address, flow: int, length: int) -> bytes:
    """The IP packet of a probe to the server; with the core's headers it has `length` bytes."""
    return ipv4(address, SERVER, PROTOCOL_UDP, _probe(flow, length))


def _probe(flow: int, length: int) -> bytes:
    trailer = Probe(flow, 0, 0).trailer()
    return bytes(length - FRONT - 20 - len(trailer)) + trailer


def _to_gateway(packet: bytes) -> bytes:
    gateway = Route(0, Net(4, 0, 0), CORE_PORT, *CORE_LABELS, CORE_MAC)
    return frames.core_frame(gateway, PEER_MAC, packet)


class Watch:
    """Processor seconds by what they were spent on."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(("crowd", "gateway", "switch", "radius"), 0.0)
        self._since = time.process_time()
        self._now = "crowd"

    def on(self, what: str) -> str:
        """From now on it is spent on this; gives what it was before."""
        at = time.process_time()
        self.seconds[self._now] += at - self._since
        self._since, before, self._now = at, self._now, what
        return before


class TimedDriver(VirtualDriver):
    """What the gateway writes and sends is time of the switch."""

    def __init__(
        self, engine: _engine.Network, node: int, tables: Tables, cpu: CpuPort, watch: Watch
    ) -> None:
        super().__init__(engine, node, tables, cpu)
        self._watch = watch

    def write(self, updates: Sequence[Update]) -> None:
        before = self._watch.on("switch")
        super().write(updates)
        self._watch.on(before)

    def packet_out(self, port: int, frame: bytes) -> None:
        before = self._watch.on("switch")
        super().packet_out(port, frame)
        self._watch.on(before)


class Bench:
    """`access` and `core` are the numbers of the nodes at both sides, `cables` those of the links
    to them. `queue` is the room of the access port, in bytes."""

    def __init__(self, seed: int, *, queue: int | None = None, engine: str | None = None) -> None:
        """Raises ProgramError."""
        self.watch = Watch()
        self.engine = _engine.Network(seed)
        self.cpu = CpuPort.of(program(), CPU_PORT)
        self.switch = self.engine.add_switch(
            "gateway", program(), cpu_port=CPU_PORT, seed=seed, engine=engine
        )
        self.access = self.engine.add_host("access", NODE_MAC)
        self.core = self.engine.add_host("core", PEER_MAC)
        self.cables = {
            port: self.engine.connect(
                (self.switch, port),
                (node, 0),
                rate=LINE_RATE,
                queue=queue if port == ACCESS_PORT else None,
                overhead=ON_THE_WIRE,
            )
            for port, node in ((ACCESS_PORT, self.access), (CORE_PORT, self.core))
        }
        self.tables = Tables()
        self.driver = TimedDriver(self.engine, self.switch, self.tables, self.cpu, self.watch)

    @property
    def now(self) -> int:
        """Nanoseconds of virtual time."""
        return self.engine.now // PICOSECONDS

    @property
    def entries(self) -> Entries:
        """What the switch holds."""
        return self.tables.entries

    def counter(self, name: str, cell: int) -> Count:
        """A cell of a counter."""
        return self.driver.counters(name, (cell,))[cell]


def ports(api: Api) -> None:
    """The two ports, and the way to the core."""
    api.enable_access_port(Access(ACCESS_PORT, FIRST_LABEL, OWN_MAC, NODE_MAC))
    api.enable_core_port(Core(CORE_PORT, CORE_LABELS[0], CORE_MAC))
    api.add_route(_TO_CORE)


def address(number: int) -> IPv4Address:
    """The address of the subscriber on a line, where no gateway gives one."""
    return IPv4Address(FIRST_ADDRESS + number)


def sessions(bandwidth: str, numbers: Sequence[int]) -> Iterator[Session]:
    """Sessions that were not dialled: the one on line n has number n and address n."""
    for number in numbers:
        nets = (Net(4, int(address(number)), 32),)
        owner = int.from_bytes(mac(number), "big")
        yield Session(number, number, SERVICE_VID, owner, number, bandwidth=bandwidth, nets=nets)


def misplaced(capture: bytes) -> tuple[int, int]:
    """Probes to subscribers of `sessions` in a capture of the access cable: how many there are, and
    how many have the line, the MAC address or the session of another than their address."""
    to = NODE_MAC.to_bytes(6, "big")
    found = [one for _, one in captured(capture) if one[:6] == to and Probe.of(one)]
    return len(found), sum(not _is_in_place(inner_of(frame)) for frame in found)


def _is_in_place(found: Inner | None) -> bool:
    said = None if found is None else data_of(found.packet)
    if found is None or said is None:
        return False
    session, _, packet = said
    number = int.from_bytes(packet[16:20], "big") - FIRST_ADDRESS
    place = cable(number).carries(found)
    return place and found.destination == mac(number) and session == number
