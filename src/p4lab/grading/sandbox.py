"""Runs one piece of work in a process of its own, within limits.

Student P4 is data: the engine compiles and interprets it, and none of it is ever machine code. What
it can do is make the engine take long or take much memory, or find a mistake of the engine. So the
work is done in a fork that may use a bounded time and memory, cannot write a file nor start a
process, and gives its result as bytes over a pipe that nothing else holds. However the fork ends,
the caller gets the result or one sentence, and its own state is as before.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NoReturn

from p4lab.grading.seal import seal

CPU_SECONDS = 10


@dataclass(frozen=True)
class Limits:
    """What one submission may take. Judging lab 01's solution takes a fifth of a second."""

    cpu_seconds: int | None = None
    """None for what the lab gives, and `CPU_SECONDS` for work on no lab"""
    wall_seconds: float = 90.0
    """Much more than the processor time: a busy machine must not change a verdict"""
    memory_bytes: int = 512 << 20
    """Address space beyond what the process has at the fork"""
    open_files: int = 32
    result_bytes: int = 4 << 20

    @property
    def processor(self) -> int:
        """Seconds of a processor."""
        return CPU_SECONDS if self.cpu_seconds is None else self.cpu_seconds


class Stopped(Exception):
    """The work gave no result. The message is one sentence for the student. Where the grader and
    not the work is to blame, `detail` is what is known, which may be what no student may see."""

    def __init__(self, sentence: str, detail: str = "") -> None:
        self.detail = detail
        super().__init__(sentence)


_RESULT, _ERROR, _MEMORY = b"R", b"E", b"M"
_sealed = False
"""In a fork: whether it is sealed"""
_DETAIL_BYTES = 64 << 10
_NEARLY_ALL = 32 << 20  # bytes: who had all memory but this was refused more
_FORK_FAILED = 70  # EX_SOFTWARE


def run(
    work: Callable[[], bytes],
    limits: Limits,
    waiting: AbstractContextManager[object] | None = None,
) -> bytes:
    """What `work` returns, in a fork of this process, which must have one thread only. `waiting` is
    entered after the fork, so it may start threads: a spinner does.

    Raises Stopped if the work breaks a limit, ends by a signal or raises.
    """
    result, send = os.pipe()
    said, say = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(work, limits, send, say)
    os.close(send)
    os.close(say)
    try:
        with waiting or nullcontext():
            data, late = _receive(result, limits, time.monotonic() + limits.wall_seconds)
    finally:
        # No fork outlives its caller, also not an interrupted one. To one whose pipe has closed
        # this does nothing: how it ends is decided before the kernel closes its files.
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.close(result)
        detail = _rest(said)
    if late:
        raise Stopped(f"Judging it took more than {limits.wall_seconds:g} s.")
    return _outcome(data, status, limits, detail)


def can_seal() -> bool:
    """Whether forks can be sealed on this machine. Where they cannot, limits on resources alone
    keep them from starting processes, and those do not bind root."""
    return run(lambda: b"sealed" if _sealed else b"", Limits()) == b"sealed"


def _outcome(data: bytes, status: int, limits: Limits, detail: str) -> bytes:
    kind, body = data[:1], data[1:]
    if kind == _RESULT:
        return body
    mebibytes = limits.memory_bytes >> 20
    memory = (
        f"Judging it takes more than {mebibytes} MiB of memory; look for huge types, tables and "
        "header stacks, and for packets that go around and make more of themselves."
    )
    if kind == _MEMORY:
        raise Stopped(memory)
    if kind == _ERROR:
        raise Stopped("The grader failed on this submission; ask your instructor.", body.decode())
    if not os.WIFSIGNALED(status):
        told = f"exit status {os.waitstatus_to_exitcode(status)}\n{detail}"
        raise Stopped("The grader failed on this submission; ask your instructor.", told)
    number = os.WTERMSIG(status)
    if number == signal.SIGXCPU:
        raise Stopped(
            f"Judging it takes more than {limits.processor} s of processor time; look for what "
            "is very long or never ends: instances, parser states, packets that go around."
        )
    if number == signal.SIGABRT and "memory allocation" in detail:
        raise Stopped(memory)
    if number in (signal.SIGSEGV, signal.SIGBUS):
        raise Stopped(
            "Judging it ended in a memory fault; source that is nested very deeply may be the "
            "reason."
        )
    name = signal.Signals(number).name
    raise Stopped(f"Judging it was ended by {name}; ask your instructor.", f"{name}\n{detail}")


def _receive(result: int, limits: Limits, deadline: float) -> tuple[bytes, bool]:
    """All that the fork sends until it ends, and whether it was too late."""
    chunks: list[bytes] = []
    size = 0
    while size <= limits.result_bytes + 1:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([result], [], [], left)[0]:
            return b"", True
        chunk = os.read(result, 1 << 16)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks), False


def _rest(said: int) -> str:
    """What the fork wrote to standard error, as far as it was kept."""
    os.set_blocking(said, False)
    try:
        data = os.read(said, _DETAIL_BYTES)
    except BlockingIOError:
        data = b""
    os.close(said)
    return data.decode(errors="replace")


# ---- In the fork --------------------------------------------------------------------------------


def _child(work: Callable[[], bytes], limits: Limits, send: int, say: int) -> NoReturn:
    """Does the work, sends one message and ends; nothing of the caller's code runs after it."""
    try:
        # A panic for want of memory would want more to draw its stack.
        os.environ["RUST_BACKTRACE"] = "0"
        _shut(send, say)
        room = _limit(limits)
        global _sealed
        _sealed = seal()
        try:
            message = _RESULT + work()
        except MemoryError:
            message = _MEMORY
        except BaseException:
            # Also what derives from BaseException only, as a panic of the engine does. Not every
            # library has a word of its own for being out of memory.
            message = _ERROR + traceback.format_exc().encode(errors="replace")[-_DETAIL_BYTES:]
            if _peak() > room - _NEARLY_ALL:
                message = _MEMORY
        if len(message) > limits.result_bytes:
            message = _ERROR + b"the result is too large"
        _send(send, message)
    finally:
        os._exit(_FORK_FAILED)


def _send(send: int, message: bytes) -> None:
    view = memoryview(message)
    while view:
        view = view[os.write(send, view) :]


def _shut(send: int, say: int) -> None:
    """Leaves the fork one pipe for its result and one for what libraries print when they die."""
    os.set_blocking(say, False)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(say, 2)
    highest = max(int(fd) for fd in os.listdir(_FDS)) + 1 if os.path.isdir(_FDS) else 1024
    os.closerange(3, send)
    os.closerange(send + 1, max(highest, send + 1))


_FDS = "/proc/self/fd"


def _limit(limits: Limits) -> int:
    """Sets all limits; gives that of the address space, in bytes."""
    seconds = limits.processor
    room = _address_space() + limits.memory_bytes
    _set("RLIMIT_CPU", seconds, seconds + 1)
    _set("RLIMIT_AS", room)
    _set("RLIMIT_FSIZE", 0)
    _set("RLIMIT_CORE", 0)
    _set("RLIMIT_NOFILE", limits.open_files)
    # The kernel does not apply this one to root: for it there is `seal`.
    _set("RLIMIT_NPROC", 0)
    return room


def _set(name: str, soft: int, hard: int | None = None) -> None:
    """Lowers a limit; systems lack some of them, and none may be raised."""
    which = getattr(resource, name, None)
    if which is None:
        return
    _, most = resource.getrlimit(which)
    wanted = (soft, soft if hard is None else hard)
    if most != resource.RLIM_INFINITY:
        wanted = (min(wanted[0], most), min(wanted[1], most))
    resource.setrlimit(which, wanted)


def _address_space() -> int:
    """Of this process now, in bytes."""
    if not sys.platform.startswith("linux"):
        return 0
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _peak() -> int:
    """The most that the address space has been, in bytes; 0 where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return 0
    with open("/proc/self/status", encoding="ascii") as file:
        sizes = [line.split()[1] for line in file if line.startswith("VmPeak:")]
    return int(sizes[0]) << 10
