"""Sweeps: an experiment's points, each a task, one after the other or many at a time.

A task is a function of a module with arguments that decide its result, seed included. So it does
not matter where a task runs, in what order, or whether it ran before: results come in the order of
the tasks, and are the same for one process, several, and a cluster.
"""

from __future__ import annotations

import base64
import hashlib
import io
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from functools import cache
from multiprocessing import connection
from pathlib import Path
from typing import Any, Generic, TypeVar

from p4lab import __version__, _engine
from p4lab.paths import PACKAGE, ROOT
from p4lab.spread import journal
from p4lab.spread.cluster import ClusterError, cluster, results
from p4lab.spread.journal import BusyError, Journal

Result = TypeVar("Result")


class SweepError(ValueError):
    """A sweep that cannot be carried out; the message says why."""


@dataclass(frozen=True)
class Task(Generic[Result]):
    """One point. `what` is what its progress says; `work` is a function of a module."""

    what: str
    work: Callable[..., Result]
    arguments: tuple[Any, ...] = ()

    @property
    def place(self) -> str:
        """Equal for tasks that have the same result."""
        parts = (self.work.__module__, self.work.__qualname__, repr(self.arguments))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Heard:
    """Who hears how many tasks there are more, which one begins here, and which one is done."""

    more: Callable[[int], object] = lambda count: None
    begins: Callable[[str], object] = lambda what: None
    done: Callable[[str], object] = lambda what: None


@dataclass(frozen=True)
class Sweep:
    """A way to have tasks carried out."""

    pool: Executor | None = None
    """None for this process"""
    kept: Journal | None = None
    heard: Heard = field(default_factory=Heard)
    build: str = ""
    """That workers must have; none has to be compared on the same machine"""
    threads: int = 1
    """Of this machine, for all tasks together: with fewer tasks each has several"""

    def all(self, tasks: Sequence[Task[Result]]) -> list[Result]:
        """The results in the order of the tasks. Raises what a task raises, and SweepError."""
        found = dict(self.each(tasks))
        return [found[place] for place in range(len(tasks))]

    def each(self, tasks: Sequence[Task[Result]]) -> Iterator[tuple[int, Result]]:
        """The number of each task and its result, as they come: first what is known already.
        Raises what a task raises, and SweepError."""
        self.heard.more(len(tasks))
        known = _known(self.kept)
        missing = []
        for number, task in enumerate(tasks):
            if task.place in known:
                self.heard.done(task.what)
                yield number, known[task.place]
            else:
                missing.append(number)
        for number, result in self._carried_out(tasks, missing):
            if self.kept is not None:
                self.kept.write({"task": tasks[number].place, "result": _packed(result)})
            self.heard.done(tasks[number].what)
            yield number, result

    def _carried_out(
        self, tasks: Sequence[Task[Result]], numbers: Sequence[int]
    ) -> Iterator[tuple[int, Result]]:
        if self.pool is None:
            for number in numbers:
                self.heard.begins(tasks[number].what)
                yield number, tasks[number].work(*tasks[number].arguments)
            return
        each = max(1, self.threads // max(1, len(numbers)))
        futures = {
            self.pool.submit(work_there, self.build, tasks[number], each): number
            for number in numbers
        }
        try:
            yield from results(futures)
        except BrokenProcessPool:
            raise SweepError(
                "a process that ran a point has ended, perhaps for want of memory: try fewer "
                "--threads; what is done is kept."
            ) from None


def work_there(build: str, task: Task[Result], threads: int = 1) -> Result:
    """What a worker does, with so many threads. Raises what the task raises, and SweepError."""
    if build and build != build_here():
        raise SweepError("a worker has another p4lab than this one: install the same on all.")
    before = _threads.set(threads)
    try:
        return task.work(*task.arguments)
    finally:
        _threads.reset(before)


_threads: ContextVar[int] = ContextVar("threads", default=1)


def threads_of_task() -> int:
    """How many threads the task at hand may use. Its result must not depend on them."""
    return _threads.get()


@cache
def build_here() -> str:
    """Equal for installations that give the same results: engine, package, programs."""
    files = [Path(_engine.__file__)]
    files += sorted(PACKAGE.rglob("*.py"))
    files += sorted((ROOT / "p4").rglob("*.p4"))
    parts = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    return hashlib.sha256("\n".join([__version__, *parts]).encode()).hexdigest()


# ---- Where tasks run


@contextmanager
def opened(
    path: Path, threads: int = 1, dask: str | None = None, heard: Heard | None = None
) -> Iterator[Sweep]:
    """A sweep with its journal at `path`, which is deleted when all goes well. Tasks run here one
    after the other, `threads` of them at a time in processes (fewer tasks have several threads
    each, if they use them), or on the Dask cluster at an address. Raises SweepError, OSError."""
    try:
        build = build_here()
        with journal.opened(path, build) as kept, _pool(threads, dask) as pool:
            many = 1 if dask else threads
            yield Sweep(pool, kept, heard or Heard(), build if dask else "", many)
            kept.finished = True
    except BusyError:
        raise SweepError(
            f"{path.parent}: the same experiment is running there already; wait for it, or give "
            "another folder with --out."
        ) from None
    except ClusterError as error:
        raise SweepError(str(error)) from error


@contextmanager
def _pool(threads: int, dask: str | None) -> Iterator[Executor | None]:
    if dask is not None:
        with cluster(dask) as pool:
            yield pool
    elif threads == 1:
        yield None
    else:
        with processes(threads) as own:
            yield own


@contextmanager
def processes(count: int) -> Iterator[Executor]:
    """So many processes of this machine. They end with an error or Ctrl-C here, whatever they are
    doing."""
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, context, initializer=_begin)
    try:
        yield pool
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    # Ctrl-C ends a process without a word: the one that asked says what there is to say.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Nobody waits for a result of a process whose parent was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


# ---- What is kept


def _packed(result: Any) -> str:
    return base64.b64encode(pickle.dumps(result)).decode()


def _known(kept: Journal | None) -> dict[str, Any]:
    """Results by their tasks' places."""
    found = {}
    for line in kept.known if kept is not None else ():
        try:
            data = base64.b64decode(line["result"])
            found[line["task"]] = _Unpickler(io.BytesIO(data)).load()
        except (KeyError, TypeError, ValueError, EOFError, AttributeError, pickle.PickleError):
            continue  # is carried out again
    return found


PLAIN = {"builtins", "collections", "ipaddress", "pathlib", "types"}
PLAIN_TYPES = frozenset(
    {"frozenset", "set", "range", "complex", "bytearray", "OrderedDict", "Counter"}
    | {"IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network", "PosixPath"}
)


class _Unpickler(pickle.Unpickler):
    """Reads data and nothing that does something: a folder of results may come from others."""

    def find_class(self, module: str, name: str) -> Any:
        if module in PLAIN and name in PLAIN_TYPES:
            return super().find_class(module, name)
        if module.startswith("p4lab."):
            found = super().find_class(module, name)
            if isinstance(found, type) and (is_dataclass(found) or issubclass(found, Enum)):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not data")
