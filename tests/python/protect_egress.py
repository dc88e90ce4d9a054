"""The egress of a connection alone: the P4 program on one switch of the engine, copy by copy."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.model.entries import Exact, Lpm, Match, RegisterCell, TableEntry, Update
from p4lab.packets.ip import ETHERTYPE_IPV4, PROTOCOL_UDP, ethernet, ipv4, udp
from p4lab.paths import ROOT
from p4lab.systems.protect.oracle import Verdict
from p4lab.systems.protect.settings import ProtectSettings

PROGRAM = ROOT / "p4" / "protect" / "v1model.p4"
MICROSECOND = 1_000_000  # in picoseconds
TUNNELS = {1: IPv4Address("172.16.1.1"), 2: IPv4Address("172.16.1.2")}
OUT = 3

_HOSTS = IPv4Address("10.0.1.1"), IPv4Address("10.0.5.1")
_INNER = ipv4(*_HOSTS, PROTOCOL_UDP, udp(*_HOSTS, (1, 2), b"hello"))


def copy(
    cid: int, sn: int, path: int = 1, *, inner: bytes = _INNER, next_protocol: int = 4
) -> bytes:
    """A frame of a tunnel."""
    header = cid.to_bytes(3, "big") + struct.pack("!IB", sn, next_protocol)
    outer = ipv4(IPv4Address("10.0.1.254"), TUNNELS[path], 253, header + inner)
    return ethernet(0x020000000501, 0x020000000201, ETHERTYPE_IPV4, outer)


class Egress:
    """A switch at which connections with the CIDs and indices 0, 1, 2, ... end."""

    def __init__(self, settings: ProtectSettings, connections: int = 1) -> None:
        self.settings = settings
        program = load_program(PROGRAM, settings.macros())
        self.switch = _engine.Switch(program)
        reset = settings.reset_us
        self.switch.write(
            [
                _row("tunnel_end", "dst_addr", Exact(int(address)), "arrived_on", path=path)
                for path, address in TUNNELS.items()
            ]
            + [
                _row("connections", "cid", Exact(cid), "connection", index=cid, reset_time=reset)
                for cid in range(connections)
            ]
            + [_row("ipv4_routes", "destination", Lpm(int(_HOSTS[1]), 32), "route", port=OUT)]
        )

    def takes(self, sn: int, *, cid: int = 0, path: int = 1, now: int = 0) -> bool:
        """Whether a copy goes on; `now` is in microseconds."""
        out = self.switch.process(1, copy(cid, sn, path), now * MICROSECOND)
        assert [port for port, _ in out] in ([], [OUT])
        return bool(out)

    def verdict(self, sn: int, now: int = 0) -> Verdict:
        """What becomes of a copy, by the switch's own counters."""
        names = {"accepted": Verdict.ACCEPTED, "discarded": Verdict.DUPLICATE}
        names["rogue"] = Verdict.ROGUE
        before = {name: self.switch.read_counter(name, 0)[0] for name in names}
        taken = self.takes(sn, now=now)
        counted = [
            verdict
            for name, verdict in names.items()
            if self.switch.read_counter(name, 0)[0] == before[name] + 1
        ]
        assert len(counted) == 1 and taken == (counted[0] is Verdict.ACCEPTED), counted
        return counted[0]

    def remember(self, cells: Iterable[tuple[str, int, int]]) -> None:
        """Writes registers: name, index, value."""
        self.switch.write([Update("modify", RegisterCell(*cell)) for cell in cells])


def _row(table: str, key: str, match: Match, action: str, **params: int) -> Update:
    return Update("insert", TableEntry(table, ((key, match),), action, tuple(params.items())))


@dataclass(frozen=True)
class Trace:
    """What happens to a stream on two paths. Times are in microseconds. `jitter` is uniform and
    reorders; `cuts` are (path, from, to) in which a path carries nothing."""

    packets: int
    interval: int
    delays: tuple[int, int]
    loss: tuple[float, float] = (0.0, 0.0)
    jitter: tuple[int, int] = (0, 0)
    cuts: tuple[tuple[int, int, int], ...] = ()
    seed: int = 0

    def arrivals(self) -> list[tuple[int, int]]:
        """Numbers from 1 on, not around the circle, and when their copies come, in this order."""
        draw = random.Random(self.seed)
        found = []
        for number in range(1, self.packets + 1):
            sent = number * self.interval
            for path in (0, 1):
                lost = draw.random() < self.loss[path]
                late = draw.randint(0, self.jitter[path])
                cut = any(p == path and begin <= sent < end for p, begin, end in self.cuts)
                if not (lost or cut):
                    found.append((number, sent + self.delays[path] + late))
        return sorted(found, key=lambda arrival: arrival[1])


def overtaken(numbers: Iterable[int]) -> int:
    """The most steps by which a copy is behind the newest number when it comes."""
    newest, most = 0, 0
    for number in numbers:
        newest = max(newest, number)
        most = max(most, newest - number)
    return most


def longest_jump(numbers: Iterable[int]) -> int:
    """The most steps by which the newest number ever moves on."""
    newest, most = None, 0
    for number in numbers:
        if newest is not None:
            most = max(most, number - newest)
        newest = number if newest is None else max(newest, number)
    return most
