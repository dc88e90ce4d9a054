"""What the layers above the engine cost as networks grow: whole commands, each a process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from p4lab.bench import measure
from p4lab.bench.measure import Measure, Say

RUNS = "./lab run 01-bier, a tree with a host on each router"
STORMS = "./lab experiment storm"
ROUTERS = (50, 200, 400)
EVENTS = (300, 1200, 4800)
PACKETS = 10  # of each stream: what grows here is the control plane
ROUNDS = 3
# What is linear costs the same each, but for what does not fit into caches.
LINEAR = 2.0


@dataclass(frozen=True)
class Cost:
    """Of one process: seconds of processor time, and the most bytes in memory."""

    seconds: float
    bytes_peak: int


def layers(seconds: float, say: Say) -> Iterator[Measure]:
    """Runs by routers, storms by events."""
    with tempfile.TemporaryDirectory() as folder:
        runs = {size: _run(_tree(Path(folder), size)) for size in ROUTERS}
        costs = _costs(RUNS, "routers", runs, say)
    yield from _growth(RUNS, "routing entry", "routers", costs, {n: n * n for n in ROUTERS})
    storms = {events: ["experiment", "storm", "--events", str(events)] for events in EVENTS}
    costs = _costs(STORMS, "events", storms, say)
    yield from _growth(STORMS, "event", "events", costs, {n: n for n in EVENTS})


def _run(topology: Path) -> list[str]:
    return ["run", "01-bier", "--topology", str(topology), "--packets", str(PACKETS)]


def _costs(name: str, unit: str, commands: dict[int, list[str]], say: Say) -> dict[int, list[Cost]]:
    """Of each command less that of one which does nothing but start, in turns."""
    costs: dict[int, list[Cost]] = {size: [] for size in commands}
    for number in range(ROUNDS):
        start = cost(["--version"])
        for size, words in commands.items():
            say(f"{name}, round {number + 1} of {ROUNDS}: {size:,} {unit}")
            whole = cost(words)
            costs[size].append(Cost(whole.seconds - start.seconds, whole.bytes_peak))
    return costs


def _growth(
    name: str, one: str, unit: str, costs: dict[int, list[Cost]], parts: dict[int, int]
) -> Iterator[Measure]:
    """Time of one of the parts that a command has by its size, and memory of the largest."""
    each = {
        size: [1e6 * cost.seconds / parts[size] for cost in several]
        for size, several in costs.items()
    }
    for size, values in each.items():
        yield measure.of(name, f"time per {one}, {size:,} {unit}", "µs", values)
    few, most = sorted(each)[-2:]  # what a process costs by itself hides growth in the smallest
    ratio = measure.ratios(each[most], each[few])
    what = f"time per {one}, {most:,} {unit} / {few:,}"
    yield measure.of(name, what, "", ratio, LINEAR, at_most=True)
    sizes = [cost.bytes_peak / 1e6 for cost in costs[most]]
    yield measure.of(name, f"memory, {most:,} {unit}", "MB", sizes)


def cost(words: list[str]) -> Cost:
    """Of `p4lab WORDS`. Raises RuntimeError if it fails."""
    command = [sys.executable, "-m", "p4lab", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"p4lab {' '.join(words)} ended with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def _tree(folder: Path, routers: int) -> Path:
    """A tree of routers with a host on each, as a topology file."""
    names = [(f"r{number}", f"h{number}") for number in range(1, routers + 1)]
    cables = [(f"r{(number + 2) // 4}", f"r{number}") for number in range(2, routers + 1)] + names
    lines = [f'name = "tree-{routers}"', 'description = "A tree of routers with four children"']
    lines += [f"[[router]]\nnumber = {number}" for number in range(1, routers + 1)]
    lines += [f'[[host]]\nname = "{host}"\nrouter = "{router}"' for router, host in names]
    lines += [f'[[link]]\na = "{a}"\nb = "{b}"' for a, b in cables]
    path = folder / f"tree-{routers}.toml"
    path.write_text("\n".join(lines))
    return path
