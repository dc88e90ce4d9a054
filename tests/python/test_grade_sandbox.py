"""Without these, one submission could stop the grading of a class, or be told a wrong reason."""

import ctypes
import json
import os
import platform
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from p4lab.grading.sandbox import Limits, Stopped, run

SMALL = Limits(cpu_seconds=1, wall_seconds=20, memory_bytes=64 << 20)


def forever() -> bytes:
    while True:
        pass


def much_memory() -> bytes:
    return bytes(1 << 30)


def panic_for_memory() -> bytes:
    """What a library does that has no word for being out of memory."""
    try:
        kept = [bytes(1 << 20) for _ in range(1000)]
    except MemoryError:
        raise RuntimeError("pointer is null") from None
    return kept[0]


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (forever, "Judging it takes more than 1 s of processor time"),
        (much_memory, "Judging it takes more than 64 MiB of memory"),
        (panic_for_memory, "Judging it takes more than 64 MiB of memory"),
        (lambda: ctypes.string_at(0), "Judging it ended in a memory fault"),
        (lambda: os.kill(os.getpid(), 9), "Judging it was ended by SIGKILL"),
        (lambda: bytes(5 << 20), "The grader failed on this submission"),
        (lambda: 1 // 0, "The grader failed on this submission"),
        (lambda: os._exit(0), "The grader failed on this submission"),
    ],
)
def test_whatever_happens_is_one_sentence(work, told):
    with pytest.raises(Stopped, match=told) as stopped:
        run(work, SMALL)
    assert str(stopped.value).count("\n") == 0
    # Only what the grader is to blame for is a matter for its authors.
    assert bool(stopped.value.detail) == ("ask your instructor" in str(stopped.value))
    assert run(lambda: b"the next one", SMALL) == b"the next one"


def test_a_sleeper_is_ended_and_its_caller_goes_on():
    limits = Limits(wall_seconds=0.2)
    with pytest.raises(Stopped, match=r"more than 0\.2 s"):
        run(lambda: time.sleep(1000) or b"", limits)


def test_an_error_is_for_the_instructor_only():
    with pytest.raises(Stopped) as stopped:
        run(lambda: {}["a hidden value"], SMALL)
    assert "hidden value" not in str(stopped.value)
    assert "hidden value" in stopped.value.detail


def test_a_fork_has_one_pipe_no_way_to_write_and_few_files(tmp_path):
    target = tmp_path / "file"

    def work() -> bytes:
        found = sorted(os.listdir("/proc/self/fd"))
        try:
            with target.open("wb", buffering=0) as file:
                file.write(b"x")
        except OSError as error:
            refused = error.strerror
        opened = []
        try:
            while True:
                opened.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            pass  # what is counted
        return json.dumps([len(found), refused, len(opened)]).encode()

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system does not list a process's files")
    with target.open("wb"):
        held = json.loads(run(work, SMALL))
    # Standard streams, the result's pipe and the folder that is being listed.
    assert held[0] == 5
    assert held[1] == "File too large"
    assert held[2] < SMALL.open_files


def refusals() -> dict[str, str]:
    """What comes of starting a process and of opening a socket."""
    found = {}
    for name, act in (
        ("fork", os.fork),
        ("program", lambda: subprocess.run(["true"], check=False)),
        ("exec", lambda: os.execv("/bin/true", ["true"])),
        ("socket", socket.socket),
        ("unix socket", lambda: socket.socket(socket.AF_UNIX)),
        ("thread", lambda: threading.Thread(target=print).start()),
    ):
        try:
            act()
            found[name] = "done"
        except (OSError, RuntimeError) as error:
            found[name] = type(error).__name__
    return found


def test_a_fork_starts_no_process_and_reaches_no_network():
    """Also where the grader is root, which limits on resources do not bind."""
    if not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("no filter of system calls for this machine")
    found = json.loads(run(lambda: json.dumps(refusals()).encode(), Limits()))
    assert found == {
        "fork": "PermissionError",
        "program": "PermissionError",
        "exec": "PermissionError",
        "socket": "PermissionError",
        "unix socket": "PermissionError",
        "thread": "RuntimeError",
    }
    assert run(lambda: b"its caller still can", Limits()) == b"its caller still can"


def test_nothing_is_left_behind():
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system does not list a process's files")
    before, gone = count(), ended()
    for _ in range(20):
        run(lambda: b"", SMALL)
    assert count() == before
    assert ended() == gone


def ended() -> int:
    """A child that has ended and was not waited for, if there is one; other tests leave some."""
    try:
        child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0
    return child.si_pid if child else 0
