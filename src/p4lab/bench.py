"""How fast the engine is on this machine, next to what the project promises."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from p4lab import _engine
from p4lab.control.bier import BSL_CODES, bift_id
from p4lab.control.entries import (
    CloneSession,
    Entity,
    Exact,
    TableEntry,
    Ternary,
    Update,
)
from p4lab.engine import load_program, to_engine

PROGRAM = Path(__file__).resolve().parents[2] / "p4" / "bier" / "v1model.p4"
IN_PORT = 0
OUT_PORT = 1
OTHER_PORT = 2
FRAME_BYTES = 64


@dataclass(frozen=True)
class Measure:
    """One number with its unit. `goal` is what it should reach (or stay under, where `at_most`);
    `value` is None where it could not be measured, and `note` says why."""

    name: str
    unit: str
    value: float | None
    goal: float | None = None
    at_most: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without a goal or a value."""
        if self.value is None or self.goal is None:
            return None
        return self.value <= self.goal if self.at_most else self.value >= self.goal


def measure(seconds: float, say: Callable[[str], None] = lambda _: None) -> Iterator[Measure]:
    """All measures, one after the other; `say` hears what is under way. Each takes `seconds`."""
    say("compiling")
    yield compile_time()
    for bsl in BSL_CODES:
        say(f"interpreting, BSL {bsl}")
        yield from interpreting(bsl, seconds)
    say("forwarding between veth pairs")
    yield from forwarding(seconds)
    say("ten switches")
    yield memory_of_switches(10)


def compile_time(repeats: int = 9) -> Measure:
    """From the source of p4/bier to a switch that takes packets: the median, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        _engine.Switch(load_program(PROGRAM))
        times.append((time.perf_counter() - start) * 1000)
    return Measure("compile p4/bier", "ms", sorted(times)[repeats // 2], 50, at_most=True)


def interpreting(bsl: int, seconds: float) -> Iterator[Measure]:
    """BIER packets per second through one switch on one core, for one and for two next hops."""
    program = load_program(PROGRAM, [("BSL", str(bsl))])
    for hops, goal in ((1, 500_000), (2, None)):
        switch = _engine.Switch(program)
        switch.write(to_engine(bier_router(bsl)))
        frame = bier_frame(bsl, hops)
        sent = {port for port, _ in switch.process(IN_PORT, frame)}
        if sent != {OUT_PORT, OTHER_PORT}.intersection(range(hops + 1)):
            raise RuntimeError(f"the benchmark's packet went to ports {sorted(sent)}")
        plural = "s" if hops > 1 else ""
        name = f"interpret BIER, BSL {bsl}, {hops} next hop{plural}"
        yield Measure(name, "packets/s", _process_rate(switch, frame, seconds), goal)


def forwarding(seconds: float) -> Iterator[Measure]:
    """64-byte packets per second between two veth pairs, and the ratio to doing nothing."""
    frame = bier_frame(64, 1)
    try:
        nothing = _rate(_engine.bench_forwarder(None, [], frame, seconds))
        program = load_program(PROGRAM, [("BSL", "64")])
        updates = to_engine(bier_router(64))
        rate = _rate(_engine.bench_forwarder(program, updates, frame, seconds))
    except OSError as error:
        note = "needs root" if os.geteuid() != 0 else str(error)
        yield Measure("forward BIER between veth pairs", "packets/s", None, 200_000, note=note)
        return
    yield Measure("do nothing between veth pairs", "packets/s", nothing)
    yield Measure("forward BIER between veth pairs", "packets/s", rate, 200_000)
    yield Measure("ratio to doing nothing", "", rate / nothing if nothing else None)


def memory_of_switches(number: int) -> Measure:
    """Resident memory of this process with so many BIER routers in it, in MB."""
    program = load_program(PROGRAM)
    switches = [_engine.Switch(program) for _ in range(number)]
    for switch in switches:
        switch.write(to_engine(bier_router(256)))
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    megabytes = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return Measure(f"memory with {number} switches", "MB", megabytes, 300, at_most=True)


def bier_router(bsl: int) -> list[Update]:
    """A router in the middle: the lower half of the receivers behind one port, the upper half
    behind another, all bits of one set in use."""
    half = bsl // 2
    lower = (1 << half) - 1
    entities: list[Entity] = [CloneSession(1, ((509, 0),))]
    for index in range(bsl):
        port, fbm = (OUT_PORT, lower) if index < half else (OTHER_PORT, lower << half)
        key = (
            ("bift_id", Exact(bift_id(bsl, 0))),
            ("remaining", Ternary(1 << index, 1 << index)),
        )
        params = (("fbm", fbm), ("port", port))
        entities.append(TableEntry("bift", key, "forward", params, priority=bsl - index))
    for port in (OUT_PORT, OTHER_PORT):
        macs = (("src", 0x020000000100 | port), ("dst", 0x020000000200 | port))
        entities.append(TableEntry("port_mac", (("port", Exact(port)),), "rewrite", macs))
    return [Update("insert", entity) for entity in entities]


def bier_frame(bsl: int, hops: int) -> bytes:
    """A 64-byte BIER frame (RFC 8296 over Ethernet) for receivers behind one port or both."""
    half = bsl // 2
    bit_string = 1 << (half - 1) | (1 << half if hops > 1 else 0)
    first = bift_id(bsl, 0) << 12 | 1 << 8 | 64
    second = BSL_CODES[bsl] << 20
    third = 4 << 16 | 1
    header = b"".join(word.to_bytes(4, "big") for word in (first, second, third))
    header += bit_string.to_bytes(bsl // 8, "big")
    ethernet = (0x020000000001).to_bytes(6, "big") + (0x020000000002).to_bytes(6, "big")
    return (ethernet + b"\xab\x37" + header).ljust(FRAME_BYTES, b"\0")


def _rate(measured: dict[str, float]) -> float:
    return measured["forwarded"] / measured["seconds"]


def _process_rate(switch: _engine.Switch, frame: bytes, seconds: float) -> float:
    """Packets per second over a run of about `seconds`, after a short one to learn its length."""
    count = 5_000
    for _ in range(2):
        taken, _ = switch.bench(IN_PORT, frame, count)
        rate = count / taken
        count = max(count, int(rate * seconds))
    return rate
