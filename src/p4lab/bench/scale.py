"""Networks in virtual time: how fast, how large, and next to ns-3."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from p4lab.bench import chain, measure
from p4lab.bench.measure import Measure, Say
from p4lab.paths import ROOT

CHAIN = "10 routers in a row, 1,000 bytes"
FRAME_BYTES = 1000
SMALL_BYTES = 100  # of frames that measure the network rather than the copying of bytes
GROWTH = "routers in rows of 10, 100 bytes"
BIER_GROWTH = "BIER routers in rows of 10"
ROUTERS, BIER = "router", "bier"
SWITCHES = (10, 100, 1000)
NS3 = ROOT / "benches" / "ns3" / "chain.cc"
LIBRARIES = ("applications", "internet", "point-to-point", "traffic-control", "network", "core")
ROUNDS = 3
TURNS = 9  # of short runs: on a busy machine their times differ twofold
PER_SECOND = "packet-hops/s"
CLOCK = f"{PER_SECOND} of the clock"
NATIVE = "native code"
BOTH = "native code, two threads"
INTERPRETER = "interpreter"
ENGINES = {NATIVE: ("jit", 1), BOTH: ("jit", 2), INTERPRETER: ("interpreter", 1)}
# Two threads need more to do than ten routers have between two times that they wait for each other
# (docs/virtual-time.md). No packet lives for more hops.
LONG_CHAIN = "250 routers in a row, 1,000 bytes"
CHAINS = ((CHAIN, chain.LENGTH, (NATIVE, INTERPRETER, BOTH)), (LONG_CHAIN, 250, (NATIVE, BOTH)))
# Times ns-3, which has one thread
GOALS = {(CHAIN, NATIVE): 30, (LONG_CHAIN, BOTH): 50}
# With 100 times as many, what is linear costs the same each, but for caches: a thousand switches do
# not fit into those that ten fit into. Anything quadratic would cost 100 times as much.
LINEAR_TIME = 1.5
LINEAR = 2.0
MEGABYTES = 150  # of a whole process with the most BIER routers
GUESS = 1e6  # packet-hops per second of ours, to begin with
NS3_GUESS = 1e5


def speed(seconds: float, say: Say) -> Iterator[Measure]:
    """The same chains on our engines and on ns-3, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        say("compiling the chain for ns-3")
        program = compiled(Path(folder))
        for name, length, engines in CHAINS:
            yield from beside(name, length, engines, program, seconds, say)


def beside(
    name: str,
    length: int,
    engines: Sequence[str],
    program: Path | str,
    seconds: float,
    say: Say,
) -> Iterator[Measure]:
    """One chain of so many routers on some of our engines and on ns-3, in turns."""
    packets, few = (max(1000, int(seconds * guess / length)) for guess in (GUESS, NS3_GUESS))
    runs: dict[str, Callable[[], float]] = {
        engine: partial(ours, *ENGINES[engine], length, packets) for engine in engines
    }
    if isinstance(program, Path):
        runs["ns-3"] = partial(theirs, program, length, few)
    rates: dict[str, list[float]] = {engine: [] for engine in runs}
    for number in range(ROUNDS):
        for engine, run in runs.items():
            say(f"{name}, round {number + 1} of {ROUNDS}: {engine}")
            rates[engine].append(run())
    for engine, values in rates.items():
        yield measure.of(name, engine, CLOCK if engine == BOTH else PER_SECOND, values)
    if isinstance(program, str):
        yield measure.missing(name, "ns-3", PER_SECOND, program)
    for engine in engines:
        if engine == INTERPRETER:
            continue
        goal = GOALS.get((name, engine))
        what = f"{engine} / ns-3"
        if isinstance(program, str):
            yield measure.missing(name, what, "", program, goal)
        else:
            ratios = measure.ratios(rates[engine], rates["ns-3"])
            yield measure.of(name, what, "", ratios, goal)


def ours(engine: str, threads: int, length: int, packets: int) -> float:
    """Packet-hops per second of processor time, or of the clock with several threads. Raises
    RuntimeError if packets are lost."""
    run = chain.in_process(ROUTERS, engine, length, packets, FRAME_BYTES, threads, length)
    if run.received != run.packets:
        raise RuntimeError(f"{run.received} of {run.packets} packets went through the chain")
    return run.hops_per_second


def theirs(program: Path, length: int, packets: int) -> float:
    """The same of ns-3. Raises RuntimeError if packets are lost."""
    arguments = (length, packets, FRAME_BYTES, chain.GAP_NS)
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    received, seconds = done.stdout.split()
    if int(received) != packets:
        raise RuntimeError(f"{received} of {packets} packets went through ns-3's chain")
    return packets * length / float(seconds)


def compiled(folder: Path) -> Path | str:
    """The chain for ns-3, or what is missing."""
    compiler = shutil.which("g++")
    if compiler is None:
        return "needs a C++ compiler: sudo apt-get install g++ libns3-dev"
    program = folder / "chain"
    command = [compiler, "-O3", "-DNDEBUG", "-std=c++17", str(NS3), "-o", str(program)]
    command += [f"-lns3-{library}" for library in LIBRARIES]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return program
    if "ns3/" in done.stderr and "No such file" in done.stderr:
        return "needs ns-3: sudo apt-get install libns3-dev"
    reason = next((line for line in done.stderr.splitlines() if "error" in line), "no reason given")
    return f"the chain for ns-3 does not compile: {reason}"


def growth(seconds: float, say: Say) -> Iterator[Measure]:
    """Time and memory with the number of switches and of packets."""
    hops = int(max(200_000, seconds * GUESS))

    def run(what: str, switches: int, packets: int) -> chain.Run:
        return chain.in_process(what, "jit", switches, packets, SMALL_BYTES)

    by_switches: dict[str, dict[int, list[chain.Run]]] = {
        what: {count: [] for count in SWITCHES} for what in (ROUTERS, BIER)
    }
    by_packets: dict[int, list[chain.Run]] = {hops // 100: [], hops // 10: [], hops: []}
    turns = measure.part(TURNS, seconds)
    for number in range(turns):
        for what, counts in by_switches.items():
            for switches, runs in counts.items():
                say(f"growth, round {number + 1} of {turns}: {switches} switches ({what})")
                runs.append(run(what, switches, hops // chain.LENGTH))
        for packets, runs in by_packets.items():
            say(f"growth, round {number + 1} of {turns}: {packets:,} packets")
            runs.append(run(ROUTERS, chain.LENGTH, packets))
    yield from of_switches(GROWTH, by_switches[ROUTERS])
    yield from of_switches(BIER_GROWTH, by_switches[BIER])
    yield from of_packets(by_packets)


def of_switches(name: str, by_switches: dict[int, list[chain.Run]]) -> Iterator[Measure]:
    """Time of a hop and memory of a router, and what both come to with the most of them."""
    few, many, most = SWITCHES
    for switches, runs in by_switches.items():
        yield measure.of(name, f"time per hop, {switches:,} routers", "ns", times(runs))
    ratio = measure.ratios(times(by_switches[most]), times(by_switches[few]))
    yield measure.of(
        name, f"time per hop, {most:,} routers / {few}", "", ratio, LINEAR_TIME, at_most=True
    )
    for switches in (many, most):
        runs = by_switches[switches]
        sizes = [(run.bytes_built - run.bytes_before) / switches / 1e3 for run in runs]
        yield measure.of(name, f"memory of one of {switches:,} routers", "kB", sizes)
    if name == BIER_GROWTH:
        whole = [run.bytes_peak / 1e6 for run in by_switches[most]]
        what = f"memory of the process, {most:,} routers"
        yield measure.of(name, what, "MB", whole, MEGABYTES, at_most=True)
    own = {
        switches: [(run.bytes_peak - run.bytes_before) / switches for run in by_switches[switches]]
        for switches in (many, most)
    }
    ratio = measure.ratios(own[most], own[many])
    yield measure.of(
        name, f"memory of one, {most:,} routers / {many}", "", ratio, LINEAR, at_most=True
    )


def of_packets(by_packets: dict[int, list[chain.Run]]) -> Iterator[Measure]:
    """Time of a hop and memory of a packet."""
    fewest, most = min(by_packets), max(by_packets)
    for packets, runs in by_packets.items():
        yield measure.of(GROWTH, f"time per hop, {packets:,} packets", "ns", times(runs))
    ratio = measure.ratios(times(by_packets[most]), times(by_packets[fewest]))
    name = f"time per hop, {most:,} packets / {fewest:,}"
    yield measure.of(GROWTH, name, "", ratio, LINEAR, at_most=True)
    more = [
        (many.bytes_peak - few.bytes_peak) / (most - fewest)
        for many, few in zip(by_packets[most], by_packets[fewest], strict=True)
    ]
    yield measure.of(GROWTH, "memory of a further packet", "bytes", more, 16, at_most=True)


def times(runs: list[chain.Run]) -> list[float]:
    """Nanoseconds of processor time of one packet at one switch."""
    return [1e9 / run.hops_per_second for run in runs]
