"""Programs at the hosts of an exercise, and its controller: started, heard and ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from p4lab.exercise.taught import CONTROLLER, Act

READY_SECONDS = 15  # until a program must have said that it is ready
SETTLE_SECONDS = 0.7  # from its word until it really listens
QUIET_SECONDS = 1.5  # without a word: a controller has done what it does at first
ACT_SECONDS = 40  # that one call may take
END_SECONDS = 3  # until a program that was asked to end is killed
LOOK_SECONDS = 0.1

Start = Callable[..., "subprocess.Popen[bytes]"]
"""Starts words as `subprocess.Popen` does, at a host or beside the network"""


class Acts(AbstractContextManager["Acts"]):
    """What runs; leaving it ends everything. What is printed goes to files in `records`."""

    def __init__(self, starts: Mapping[str, Start], folder: Path, records: Path) -> None:
        self._starts = starts
        self._folder = folder
        self._records = records
        self._running: list[subprocess.Popen[bytes]] = []
        self._files: dict[str, list[Path]] = {}

    def control(self, command: str) -> None:
        """Starts the controller and waits until it has become quiet."""
        file = self._begin(Act(CONTROLLER, command))
        deadline = time.monotonic() + READY_SECONDS
        size, since = 0, time.monotonic()
        while time.monotonic() < deadline and self._running[-1].poll() is None:
            time.sleep(LOOK_SECONDS)
            if file.stat().st_size != size:
                size, since = file.stat().st_size, time.monotonic()
            elif size and time.monotonic() - since > QUIET_SECONDS:
                return

    def listen(self, act: Act) -> None:
        """Starts a program that stays, and waits until it says that it is ready."""
        file = self._begin(act)
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline and self._running[-1].poll() is None:
            if re.search(act.ready, _text(file)):
                break
            time.sleep(LOOK_SECONDS)
        time.sleep(SETTLE_SECONDS)

    def do(self, act: Act) -> None:
        """Runs a program to its end, or for as long as one call may take."""
        for _ in range(act.times):
            self._begin(act)
            try:
                self._running[-1].wait(ACT_SECONDS)
            except subprocess.TimeoutExpired:
                self._end(self._running[-1])

    def heard(self, at: str) -> str:
        """What has been printed at a host, or by the controller."""
        return "\n".join(map(_text, self._files.get(at, [])))

    def _begin(self, act: Act) -> Path:
        files = self._files.setdefault(act.at, [])
        file = self._records / f"{act.at}-{len(files)}"
        files.append(file)
        typed = self._records / f"{file.name}.in"
        typed.write_text(act.typed, encoding="utf-8")
        with file.open("wb") as out, typed.open("rb") as into:
            started = self._starts[act.at](
                ["sh", "-c", act.run],
                stdin=into,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
            )
        self._running.append(started)
        return file

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """With all that it has started: each is the first of a session of its own."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                break
            try:
                process.wait(END_SECONDS)
                break
            except subprocess.TimeoutExpired:
                continue
        process.wait()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in reversed(self._running):
            self._end(process)


def starts(hosts: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Start]:
    """How programs are started at hosts: Mininet's `popen` makes a session of its own."""

    def at(host: Any) -> Start:
        return lambda words, **how: host.popen(words, env=dict(environment), **how)

    return {name: at(host) for name, host in hosts.items()}


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
