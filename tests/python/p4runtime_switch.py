"""A switch of ours with P4Runtime in front, for tests; and veth pairs to put it on."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from p4lab import _engine

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "crates" / "p4-runtime" / "tests" / "must" / "everything.p4"
CPU_PORT = 510
DEVICE = 1
_numbers = itertools.count(1)


@contextmanager
def serving(
    program: Path | None = PROGRAM, *, folders: tuple[Path, ...] = (), device: int = DEVICE
) -> Iterator[str]:
    """A switch without interfaces behind a server; gives the server's address."""
    compiled = _engine.compile(str(program)).program if program else None
    forwarder = _engine.Forwarder(compiled, [], _engine.Inbox(), cpu_port=CPU_PORT)
    server = _engine.P4RuntimeServer("127.0.0.1:0", folders=folders)
    try:
        server.add(device, forwarder)
        yield server.address
    finally:
        server.close()
        forwarder.stop()


# Gone when the tests end.
_FOLDER = tempfile.TemporaryDirectory(prefix="p4lab-test-")


@cache
def p4info(program: Path = PROGRAM) -> Path:
    """P4Info of a program, in a file."""
    path = Path(tempfile.mkdtemp(dir=_FOLDER.name), f"{program.stem}.p4info.txt")
    path.write_text(_engine.compile(str(program)).p4info())
    return path


def free_address() -> str:
    """An address on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@contextmanager
def veth_pairs(count: int) -> Iterator[list[tuple[str, str]]]:
    """Pairs of interfaces that are up: the switch's end and the test's."""
    number = next(_numbers)
    stem = f"p{os.getpid() % 100000}x{number}"
    pairs = [(f"{stem}s{index}", f"{stem}t{index}") for index in range(count)]
    try:
        for near, far in pairs:
            _ip("link", "add", near, "type", "veth", "peer", "name", far)
            for name in (near, far):
                quiet = Path("/proc/sys/net/ipv6/conf") / name / "disable_ipv6"
                if quiet.exists():
                    quiet.write_text("1")
                _ip("link", "set", name, "up")
        yield pairs
    finally:
        for near, _ in pairs:
            subprocess.run(["ip", "link", "del", near], capture_output=True, check=False)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Wire:
    """The test's end of an interface."""

    def __init__(self, name: str) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self._socket.bind((name, 3))

    def send(self, frame: bytes) -> None:
        self._socket.send(frame)

    def receive(self, seconds: float = 5.0) -> bytes | None:
        """The next frame that has come in; None if none comes in time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                frame, address = self._socket.recvfrom(65535)
            except TimeoutError:
                return None
            if address[2] != socket.PACKET_OUTGOING:
                return frame
        return None

    def close(self) -> None:
        self._socket.close()


@contextmanager
def switch_process(*words: str, cwd: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """`p4lab switch WORDS --log-console`, as soon as it listens."""
    command = [sys.executable, "-u", "-m", "p4lab", "switch", *words, "--log-console"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        said = []
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if "P4Runtime for device" in line:
                break
        else:
            raise AssertionError("".join(said))
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
