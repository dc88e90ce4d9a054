"""A class at work, measured: real logins, servers and kernels, and a check of each student every
half minute.

It waits as a browser does, from the message to the kernel until the verdict is there. Students come
at moments of their own, and each hands its check a program that nobody has judged yet. What waiting
depends on is how busy the machine is otherwise; processor time per check does not.
"""

from __future__ import annotations

import asyncio
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from p4lab.bench import measure
from p4lab.bench.grading import variant
from p4lab.bench.measure import Measure, Say
from p4lab.classroom.accounts import INSTRUCTOR
from p4lab.classroom.processes import Processes
from p4lab.classroom.rehearsal import Machine, await_class, missing
from p4lab.classroom.visitor import VisitError, Visitor
from p4lab.grading.course import load
from p4lab.plurals import count_of

GROUP = "a class on one server, lab 01"
LAB = "01-bier"
PER_CORE = 20
"""Students for each core: 80 of them on four"""
EVERY = 30.0  # seconds between two checks of a student
ROUNDS = 3
AT_ONCE = 4  # servers that start at the same time
GOAL = 2.0  # seconds, 95 of 100 checks
PAGE_SECONDS = 10.0  # how often the instructor's page asks
SEED = 1

_OPEN = """%load_ext p4lab
from p4lab.notebook import open_lab
from pathlib import Path
lab = open_lab('{lab}')
mine = Path.home() / 'p4lab' / '{lab}' / '{name}'
lab.check().passed"""
_CHECK = "mine.write_text({text!r})\nprint(lab.check())"


def class_load(say: Say, students: int | None = None) -> Iterator[Measure]:
    """The measures of a class of this size, or of as many as 80 are on four cores."""
    count = students or PER_CORE * (os.cpu_count() or 1)
    if why := missing():
        yield measure.missing(GROUP, "a check, 95 of 100", "s", why, GOAL)
        return
    with tempfile.TemporaryDirectory(prefix="p4lab-class-") as scratch:
        machine = Machine(Path(scratch))
        try:
            yield from _measured(machine, count, say)
        finally:
            machine.close()


def _measured(machine: Machine, count: int, say: Say) -> Iterator[Measure]:
    say(f"making {count_of(count, 'user')}")
    hub = _begin(machine, count)
    settings = machine.place.settings()
    address = f"http://127.0.0.1:{settings.port}"
    await_class(address, hub)
    with machine.place.letters.open(newline="") as file:
        passwords = {row["id"]: row["password"] for row in csv.DictReader(file)}
    visitors = [
        Visitor(address, name, word) for name, word in passwords.items() if name != INSTRUCTOR
    ]
    teacher = Visitor(address, INSTRUCTOR, passwords[INSTRUCTOR])
    yield from asyncio.run(_Load(machine, visitors, teacher, say).run())


def _begin(machine: Machine, count: int) -> subprocess.Popen[bytes]:
    """Makes the class and starts it."""
    machine.place.path.mkdir()
    machine.place.settings_file.write_text(machine.free_settings())
    rows = ["id", *(f"s{number:03}" for number in range(count))]
    (machine.srv / "roster.csv").write_text("\n".join(rows) + "\n")
    made = machine.run("class", "make", "/srv/roster.csv")
    if made.returncode:
        raise VisitError(made.stderr.strip())
    words = [sys.executable, "-m", "p4lab", "class", "serve"]
    return machine.start(*words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


class _Load:
    def __init__(
        self, machine: Machine, visitors: Sequence[Visitor], teacher: Visitor, say: Say
    ) -> None:
        self._machine, self._visitors, self._teacher = machine, visitors, teacher
        self._say = say
        self._started: list[float] = []
        self._waited: list[float] = []
        self._paged: list[float] = []
        self._random = random.Random(SEED)
        course = load(LAB)
        (self._name,) = course.student.edit
        self._solution = course.sources[self._name]

    async def run(self) -> list[Measure]:
        """All figures. Raises VisitError."""
        processes = Processes(self._machine.namespace)
        before = processes.seconds()
        await self._arrive()
        arrived = processes.seconds()
        memory = processes.memory()
        watching = asyncio.create_task(self._teach())
        begun = time.monotonic()
        await asyncio.gather(*(self._work(one) for one in self._visitors))
        took = time.monotonic() - begun
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        worked = processes.seconds()
        return [
            *self._waiting(),
            *self._costs(before, arrived, worked, took),
            *_memory(memory, len(self._visitors)),
        ]

    async def _arrive(self) -> None:
        """Everybody logs in and opens the lab; some at the same time."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def come(visitor: Visitor) -> None:
            async with gate:
                if not await visitor.log_in():
                    raise VisitError(f"{visitor.name} is not let in")
                self._started.append(await visitor.start())
                await visitor.open_kernel()
                await visitor.run(_OPEN.format(lab=LAB, name=self._name))
                self._say(f"{len(self._started)} of {len(self._visitors)} students are at work")

        await asyncio.gather(*map(come, self._visitors))

    async def _work(self, visitor: Visitor) -> None:
        """A student's checks, from a moment of their own on."""
        start = time.monotonic() + self._random.random() * EVERY
        texts = [variant(self._solution, self._random) for _ in range(ROUNDS)]
        for number, text in enumerate(texts):
            await asyncio.sleep(max(0.0, start + number * EVERY - time.monotonic()))
            asked = time.monotonic()
            if "points" not in await visitor.run(_CHECK.format(text=text)):
                raise VisitError(f"{visitor.name} got no verdict")
            self._waited.append(time.monotonic() - asked)
            self._say(f"check {len(self._waited)} of {ROUNDS * len(self._visitors)}")

    async def _teach(self) -> None:
        """The instructor's page stays open."""
        await self._teacher.log_in()
        while True:
            asked = time.monotonic()
            await self._teacher.ask("/services/dashboard/")
            self._paged.append(time.monotonic() - asked)
            await asyncio.sleep(PAGE_SECONDS)

    def _waiting(self) -> Iterator[Measure]:
        waited = sorted(self._waited)
        late = waited[min(len(waited) - 1, int(0.95 * len(waited)))]
        many = f"{count_of(len(self._visitors), 'student')}, each every {EVERY:g} s"
        yield measure.of(GROUP, f"a check: {many}", "s", waited)
        yield measure.of(GROUP, "95 of 100 checks answer within", "s", [late], GOAL, at_most=True)
        yield measure.of(GROUP, f"a server's start, {AT_ONCE} at once", "s", self._started)
        if self._paged:
            yield measure.of(GROUP, "the instructor's page", "s", self._paged)

    def _costs(
        self,
        before: dict[str, float],
        arrived: dict[str, float],
        worked: dict[str, float],
        took: float,
    ) -> Iterator[Measure]:
        """Processor time, which does not depend on who else is busy."""
        students = len(self._visitors)
        came = sum(arrived.values()) - sum(before.values())
        yield measure.of(GROUP, "processor time to log in and open a lab", "s", [came / students])
        spent = {kind: worked[kind] - arrived.get(kind, 0.0) for kind in worked}
        own = sum(spent[kind] for kind in spent if kind != "ours")
        checks = len(self._waited)
        yield measure.of(GROUP, "processor time per check", "s", [own / checks])
        ours = spent.get("ours", 0.0)
        yield measure.of(GROUP, "hub, proxy and page: share of a core", "", [ours / took])


def _memory(found: dict[str, list[float]], students: int) -> Iterator[Measure]:
    for kind, values in found.items():
        if kind != "ours":
            yield measure.of(GROUP, f"memory of a student's {kind}", "MB", values)
    yield measure.of(GROUP, "memory of hub, proxy and page", "MB", [sum(found["ours"])])
    all_of_them = sum(sum(values) for kind, values in found.items() if kind != "ours")
    yield measure.of(GROUP, "memory of a student", "MB", [all_of_them / students])
