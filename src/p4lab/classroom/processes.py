"""What the processes of a machine apart take: memory and processor time, by what they are."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

KINDS = {"jupyterhub.singleuser": "server", "ipykernel": "kernel", "p4lab.grading": "judge"}
"""A student's processes, by a word of their command line; all others are `ours`"""
TICKS = os.sysconf("SC_CLK_TCK")


class Processes:
    """Those of a process namespace, as /proc/PID/ns/pid names it."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace

    def seconds(self) -> dict[str, float]:
        """Processor time until now, of them and of what they have started and seen end, by kind."""
        found: dict[str, float] = defaultdict(float)
        for kind, process in self._all():
            with suppress(OSError):
                # After the name in brackets, which may hold spaces: proc(5), fields 14 to 17.
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                found[kind] += sum(map(int, fields[11:15])) / TICKS
        return dict(found)

    def memory(self) -> dict[str, list[float]]:
        """MB of each process, shared pages in parts (proc(5), Pss), by kind."""
        found: dict[str, list[float]] = defaultdict(list)
        for kind, process in self._all():
            with suppress(OSError):
                lines = (process / "smaps_rollup").read_text().splitlines()
                sizes = [int(line.split()[1]) for line in lines if line.startswith("Pss:")]
                found[kind].append(sizes[0] / 1000 * 1.024)
        return dict(found)

    def _all(self) -> Iterator[tuple[str, Path]]:
        for process in Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            with suppress(OSError):
                if os.readlink(process / "ns" / "pid") == self._namespace:
                    words = (process / "cmdline").read_bytes().decode(errors="replace")
                    kinds = [kind for word, kind in KINDS.items() if word in words]
                    yield (kinds[0] if kinds else "ours"), process
