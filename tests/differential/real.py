"""The real tools: p4c-bm2-ss compiles, simple_switch reads and writes capture files."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

COMPILER, SWITCH, SHELL = "p4c-bm2-ss", "simple_switch", "simple_switch_CLI"
COMPILE_SECONDS = 120
START_SECONDS = 20
QUIET = 8
"""Looks at a switch that does nothing before it is done"""
LONGEST_SECONDS = 120
PORTS = range(8)
PIPE_BYTES = 1 << 20

Packet = tuple[int, bytes]
"""Port and bytes"""

GLOBAL_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1)


class RealError(Exception):
    """What kept the real tools from answering, in a sentence."""


class EntryError(RealError):
    """A line that the switch refused: p4c leaves out tables that it takes for unreachable."""


def missing() -> list[str]:
    """The names of the tools that are not installed."""
    return [tool for tool in (COMPILER, SWITCH, SHELL) if shutil.which(tool) is None]


def compiled(program: Path, config: Path) -> str:
    """Compiles into `config`; gives what p4c has against the program, "" if nothing."""
    try:
        done = subprocess.run(
            [COMPILER, "-o", str(config), str(program)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMPILE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"p4c took more than {COMPILE_SECONDS} s"
    return "" if done.returncode == 0 else done.stderr.strip() or f"status {done.returncode}"


def answers(config: Path, lines: Sequence[str], packets: Sequence[Packet]) -> list[list[bytes]]:
    """What comes out of each port when a switch with these CLI lines gets these packets.

    Raises EntryError if a line is refused, RealError if the switch dies."""
    with tempfile.TemporaryDirectory(prefix="p4lab-bmv2-") as name:
        folder = Path(name)
        with _pipes(folder) as pipes, _running(config, folder) as (process, thrift):
            _configure(process, thrift, lines)
            _feed(pipes, packets)
            _settle(process, folder)
            return [_payloads(folder / f"p{port}_out.pcap") for port in PORTS]


@contextmanager
def _pipes(folder: Path) -> Iterator[dict[int, BinaryIO]]:
    """A named pipe per port, with the header of a capture in it: the switch waits for these
    before it listens, and for the end of all of them before it takes a packet."""
    pipes: dict[int, BinaryIO] = {}
    try:
        for port in PORTS:
            path = folder / f"p{port}_in.pcap"
            os.mkfifo(path)
            # Opened for both, which does not wait for a reader.
            pipes[port] = os.fdopen(os.open(path, os.O_RDWR), "wb", buffering=0)
            fcntl.fcntl(pipes[port], fcntl.F_SETPIPE_SZ, PIPE_BYTES)
            pipes[port].write(GLOBAL_HEADER)
        yield pipes
    finally:
        for pipe in pipes.values():
            pipe.close()


@contextmanager
def _running(config: Path, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        thrift = free.getsockname()[1]
    command = [SWITCH, "--use-files", "0", "--thrift-port", str(thrift)]
    command += ["--notifications-addr", f"ipc://{folder}/notifications.ipc"]
    for port in PORTS:
        command += ["-i", f"{port}@p{port}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, str(config.resolve())], cwd=folder, stdout=log, stderr=log
        )
    try:
        yield process, thrift
    finally:
        process.kill()
        process.wait()


def _configure(process: subprocess.Popen[bytes], thrift: int, lines: Sequence[str]) -> None:
    """Gives the switch its CLI lines, as soon as it listens."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", thrift), timeout=1):
            break
        if process.poll() is not None:
            raise RealError(f"simple_switch ended with status {process.returncode} at its start")
        if time.monotonic() > deadline:
            raise RealError(f"simple_switch did not listen within {START_SECONDS} s")
        time.sleep(0.02)
    if not lines:
        return
    done = subprocess.run(
        [SHELL, "--thrift-port", str(thrift)],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=COMPILE_SECONDS,
        check=False,
    )
    refused = [row for row in done.stdout.splitlines() if "Error" in row or "Invalid" in row]
    if done.returncode or refused:
        raise EntryError(f"simple_switch_CLI: {'; '.join(refused[:3]) or done.stderr.strip()}")


def _feed(pipes: Mapping[int, BinaryIO], packets: Iterable[Packet]) -> None:
    """Writes the packets with their order as their times; ValueError if a pipe cannot hold them."""
    captures: dict[int, bytearray] = {port: bytearray() for port in PORTS}
    for number, (port, data) in enumerate(packets):
        captures[port] += struct.pack("<IIII", 0, number, len(data), len(data)) + data
    if max(map(len, captures.values())) > PIPE_BYTES - len(GLOBAL_HEADER):
        raise ValueError(f"more than {PIPE_BYTES} bytes of packets for one port")
    for port, pipe in pipes.items():
        pipe.write(captures[port])
        pipe.close()


def _settle(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Waits until the switch has nothing more to do, however busy the machine is: none of its
    threads runs or would like to, and nothing is written, in QUIET looks one after the other."""
    start, quiet = time.monotonic(), 0
    sizes: list[int] = []
    while quiet < QUIET:
        if process.poll() is not None:
            raise RealError(f"simple_switch died with status {process.returncode}")
        if time.monotonic() - start > LONGEST_SECONDS:
            raise RealError(f"simple_switch was still busy after {LONGEST_SECONDS} s")
        now = [path.stat().st_size for path in sorted(folder.glob("*_out.pcap"))]
        quiet = 0 if now != sizes or _is_busy(process.pid) else quiet + 1
        sizes = now
        time.sleep(0.03)


def _is_busy(pid: int) -> bool:
    """Whether a thread of a process runs, waits for a processor or for a disk."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it may have ended
            if (thread / "stat").read_text().rpartition(")")[2].split()[0] in "RD":
                return True
    return False


def _payloads(capture: Path) -> list[bytes]:
    data, at, found = capture.read_bytes(), len(GLOBAL_HEADER), []
    while at + 16 <= len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        found.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return found
