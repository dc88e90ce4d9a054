"""BIER at 100 Gb/s in virtual time: what each next hop gets when recirculation ports overflow.

The program is `p4/bier/tna.p4`, or another one with its tables. A source sends at line rate to n
next hops, k recirculation ports take turns, and every next hop is measured. A run ends when what
every next hop gets is known well enough. The same setup is the same run, packet by packet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from p4lab import _engine
from p4lab.experiment.confidence import Mean
from p4lab.experiment.steady import LEAST, Progress, Window, steady_state, windows_of
from p4lab.systems.bier_tna.recirculation import bench
from p4lab.systems.bier_tna.recirculation.equations import LINE_RATE
from p4lab.systems.bier_tna.recirculation.limits import ARBITRATIONS, fluid_limit

NANOSECOND = 1_000  # picoseconds

WINDOW = 400  # packets that can come in
SMALL = 0.01 * LINE_RATE  # Gb/s: less than that counts as that when it is known well enough


@dataclass(frozen=True)
class Setup:
    """One experiment."""

    next_hops: int
    loops: int
    arbitration: str = "tail-drop"
    """Of the loops' queues: one of `limits.ARBITRATIONS`"""
    collapsed: bool = False
    """IPv4 multicast comes in, and the switch is BFIR, BFR and the last BFER at the same time, as
    in the paper's section VI-B2. Else BIER packets come in and all next hops are other routers."""
    frame: int = 1500
    """Bytes of an incoming packet, Ethernet header and checksum included"""
    load: float = 1.0
    """Of the line rate"""
    pattern: Literal["constant", "poisson"] = "constant"
    """Of the source"""
    buffer: int = 200
    """Packets that the queue of a loop holds"""
    latency: int = 0
    """Nanoseconds from a loop back to ingress"""
    loop_overhead: int | None = None
    """Bytes of a loop's wire for each packet besides its own. The 6 bytes that packets have in
    front inside the switch make a loop a little slower than other ports, which the paper's formulas
    do not know. So where BIER packets come in these 6 bytes are free by default: 18. In the
    collapsed setup all loops have them, so it is Ethernet's 24."""
    seed: int = 1
    precision: float = 0.005
    """Half the 95 % confidence interval over its mean at every next hop, at which to stop"""
    most_packets: int = 400_000
    """At which to stop anyway"""
    program: Path | _engine.Program | None = None
    """Another program with the tables of `p4/bier/tna.p4`, compiled with BSL=64"""
    engine: str | None = None
    """As for `_engine.Switch`"""

    def __post_init__(self) -> None:
        _check_range("next hops", self.next_hops, 1, bench.MOST_NEXT_HOPS)
        _check_range("recirculation ports", self.loops, 1, bench.MOST_LOOPS)
        _check_range("bytes of a frame", self.frame, bench.SMALLEST, bench.LARGEST)
        _check_range("packets of a queue", self.buffer, 1, 100_000)
        _check_range("nanoseconds of latency", self.latency, 0, 1_000_000)
        _check_range("packets", self.most_packets, LEAST * WINDOW, 100_000_000)
        if not 0 < self.load <= 1:
            raise ValueError(f"a load of {self.load} cannot be sent; give one from 0 to 1.")
        if not 0 < self.precision < 1:
            raise ValueError(f"a precision of {self.precision} cannot be reached; 0.005 can.")
        if self.arbitration not in ARBITRATIONS:
            names = ", ".join(ARBITRATIONS)
            raise ValueError(f"there is no arbitration called {self.arbitration!r}; {names}.")

    @property
    def overhead(self) -> int:
        """Bytes of a loop's wire for each packet besides its own."""
        if self.loop_overhead is not None:
            return self.loop_overhead
        return bench.GAP + bench.FCS - (0 if self.collapsed else bench.INTERNAL_HEADER)

    @property
    def capacity(self) -> float:
        """What a loop carries, in Gb/s as the sinks count them."""
        header = bench.BIER_HEADER if self.collapsed else 0
        inside = self.frame - bench.FCS + header + bench.INTERNAL_HEADER + self.overhead
        return LINE_RATE * (self.frame + bench.GAP) / inside

    @property
    def service(self) -> float:
        """Nanoseconds that a packet takes on a loop's wire."""
        return (self.frame + bench.GAP) * 8 / self.capacity

    @property
    def offered(self) -> float:
        """Gb/s at which packets ask for their first copy, as the sinks count them."""
        arriving = LINE_RATE * self.load
        return min(arriving, self.capacity) if self.collapsed else arriving

    @property
    def limit(self) -> tuple[float, ...] | None:
        """The fluid limit at each next hop in Gb/s. None where there is none: for tail drop that
        has to drop, and for a loop that does not carry exactly what comes in."""
        if self.loops * self.capacity >= (self.next_hops - 1) * self.offered:
            return (self.offered,) * self.next_hops
        if self.arbitration == "tail-drop" or abs(self.capacity - self.offered) > 1e-9:
            return None
        return fluid_limit(self.arbitration, self.next_hops, self.loops, self.offered)


@dataclass(frozen=True)
class Outcome:
    """What the sinks and the loops counted, without the time in which queues filled.

    Throughput is in Gb/s of line rate: packets per second times the bits that an incoming packet
    takes on the wire, so that a sink that gets all of a saturated line gets 100.
    """

    setup: Setup
    throughput: tuple[Mean, ...]
    """At next hop 1 to n"""
    packets: int
    """Packets that came in while it was measured"""
    nanoseconds: int
    """Of virtual time"""
    loops: tuple[dict[str, int], ...] = field(repr=False)
    """For each loop: offered, dropped, returned (packets), with _bytes, and peak"""

    @property
    def last(self) -> Mean:
        """Throughput at the last next hop."""
        return self.throughput[-1]

    @property
    def arbitration(self) -> str:
        """In words, for tables."""
        if self.setup.arbitration == "tail-drop":
            return "tail drop, whoever comes first"
        return self.setup.arbitration


def simulate(setup: Setup, progress: Callable[[float], None] | None = None) -> Outcome:
    """Runs the experiment; `progress` is told how far it is, from 0 to 1.

    Raises ProgramError for a program that does not compile, ValueError for one without the tables.
    """
    run = _Run(setup)
    warm = 6 * setup.buffer * (setup.next_hops + setup.loops)
    run.go(warm)
    run.begin()

    def told(steady: Progress) -> None:
        if progress:
            progress(steady.share)

    found = steady_state(
        run.window(),
        target=setup.precision,
        small=SMALL,
        most=setup.most_packets // WINDOW,
        warm_up=0,  # it is over
        progress=told,
    )
    throughput = tuple(found.means.values())
    packets = found.windows * WINDOW
    return Outcome(setup, throughput, packets, run.elapsed // NANOSECOND, run.loops())


class _Run:
    """A switch, its sinks and its source."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        program = bench.program(setup.program)
        self._net = net = _engine.Network(setup.seed)
        self._switch = net.add_switch("s1", program, seed=setup.seed, engine=setup.engine)
        net.write(self._switch, bench.updates(setup.next_hops, setup.loops, setup.collapsed))
        inside = bench.BIER_HEADER * setup.collapsed + 2 * bench.INTERNAL_HEADER
        self._ports = bench.make_loops(
            net,
            self._switch,
            setup.loops,
            queue=setup.buffer * (setup.frame + inside),
            overhead=setup.overhead,
            latency=setup.latency * NANOSECOND,
            arbitration=setup.arbitration,
        )
        if setup.collapsed:
            encapsulating = bench.ENCAPSULATION_LOOP
            net.set_loop(self._switch, encapsulating, rate=bench.LINE, overhead=setup.overhead)
            net.set_port_metadata(self._switch, encapsulating, bench.LOOPED)
        self._sinks = [self._sink(i) for i in range(setup.next_hops)]
        net.generate(
            self._switch,
            bench.frame(setup.next_hops, setup.frame, setup.collapsed),
            port=bench.SOURCE_PORT,
            rate=int(bench.LINE * setup.load),
            layer=1,
            overhead=bench.GAP + bench.FCS,
            pattern=setup.pattern,
            flow=1,
            seed=setup.seed,
        )
        # Of the line, which the source fills or not
        self._slot = bench.slot(setup.frame)
        self._begin = 0

    def _sink(self, i: int) -> int:
        host = self._net.add_host(f"h{i + 1}", 0x0200_0000_0100 + i)
        self._net.set_promiscuous(host, True)
        port = bench.FIRST_NEXT_HOP + i
        overhead = bench.GAP + bench.FCS
        self._net.connect((self._switch, port), (host, 0), rate=bench.LINE, overhead=overhead)
        return host

    def go(self, packets: int) -> None:
        """Lets pass the time in which so many packets can come in."""
        self._net.run_until(self._net.now + round(packets * self._slot))

    def begin(self) -> None:
        """Forgets what was measured."""
        self._begin = self._net.now
        self._before = [self._loop(port) for port in self._ports]

    def window(self) -> Window:
        """What each next hop gets in Gb/s while the line can carry `WINDOW` packets."""
        sinks = {f"next hop {i}": sink for i, sink in enumerate(self._sinks, start=1)}

        def rate(measured: dict[str, Any]) -> float:
            return LINE_RATE * measured["frames"] / WINDOW

        return windows_of(self._net, sinks, round(WINDOW * self._slot), rate)

    @property
    def elapsed(self) -> int:
        """Picoseconds since the beginning."""
        return self._net.now - self._begin

    def loops(self) -> tuple[dict[str, int], ...]:
        """What each loop has counted since the beginning."""
        found = []
        for port, before in zip(self._ports, self._before, strict=True):
            now = self._loop(port)
            counted = {name: now[name] - before[name] for name in now}
            found.append({**counted, "peak": now["peak"]})
        return tuple(found)

    def _loop(self, port: int) -> dict[str, int]:
        stats = self._net.loop_stats(self._switch, port)
        assert stats is not None
        return stats


def _check_range(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{value} {what} cannot be simulated; give {low} to {high}.")
