"""The scoreboard: every example's tests against our switch, in a network of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as tree
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from p4lab.network import namespace
from p4lab.p4runtime.veths import USUAL, Port, read_ports, veths
from p4lab.plurals import count_of
from p4lab.sde.checkout import Example
from p4lab.sde.environment import Environment
from p4lab.sde.exceptions import Excepted, Exceptions
from p4lab.sde.installed import INSTALLED, install

STARTS = 60  # seconds until the switch must listen
METHOD = 240  # seconds that a method may take: most take one or two
SLACK = 20  # and until one that does not heed that is ended
MOST_TOLD = 300  # characters of an error
PIPES = 4
PATIENCE = {
    "selector_resize": ("--default-timeout", "0.5"),
    "selector_resize.Traffic": (),
    "selector_resize.Shared": (),
    "tna_action_selector": ("--default-negative-timeout", "0.02"),
}
"""How many seconds PTF waits for a packet, and for one that must not come, where examples, or
methods of APART, do so thousands of times: otherwise two and 0.1. Our switch forwards in less than
a millisecond."""
APART = {"selector_resize": ("Resize", "ResizeWithTrans", "Traffic", "Shared")}
"""Methods that take minutes, since they write hundreds of thousands of entries or send thousands of
packets one by one: each has a network and a switch of its own, next to the other methods of its
example"""
LONG = 480
"""Seconds that they may take: most of it is the client's time"""
AT_ONCE = 4
"""Examples; their tests wait more than they compute"""
MODULE = "test."
"""What PTF calls the file test.py"""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Result:
    """What came of one method; `told` is the error's text, `reason` its exception."""

    name: str
    passed: bool
    seconds: float
    told: str = ""
    reason: str | None = None


@dataclass(frozen=True)
class Row:
    """An example of the scoreboard. `refused`: why it could not be run to its end, `left_out`: why
    the manifest has it not run."""

    name: str
    results: tuple[Result, ...]
    seconds: float
    refused: str | None = None
    left_out: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing fails but what may."""
        return not self.failed and not (self.refused and not self.results)

    @property
    def passed(self) -> int:
        """How many methods pass."""
        return sum(result.passed for result in self.results)

    @property
    def excepted(self) -> list[Result]:
        """Those that fail and may."""
        return [one for one in self.results if not one.passed and one.reason]

    @property
    def failed(self) -> list[Result]:
        """Those that fail without an exception."""
        return [one for one in self.results if not one.passed and not one.reason]

    @property
    def stale(self) -> list[Result]:
        """Those that pass although the manifest has them."""
        return [one for one in self.results if one.passed and one.reason]

    def joined(self, other: Row) -> Row:
        """With the results of methods that ran next to those."""
        refused = self.refused or other.refused
        results = (*self.results, *other.results)
        seconds = max(self.seconds, other.seconds)
        return Row(self.name, results, seconds, refused, self.left_out)


class _SwitchError(Exception):
    """Why the switch did not start."""


def judge_all(
    examples: Sequence[Example],
    environment: Environment,
    exceptions: Exceptions,
    logs: Path,
    say: Say,
) -> list[Row]:
    """A row for each example, several at once. Raises NetworkError and PortsError."""
    # What takes minutes begins first, and the others run next to it.
    first = sorted(examples, key=lambda one: one.name not in PATIENCE)
    parts: list[tuple[Example, str | None]] = [
        (one, method) for one in first for method in APART.get(one.name, ())
    ]
    parts += [(one, None) for one in first]
    rows: dict[str, Row] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for row in pool.map(
            lambda part: judge(part[0], environment, exceptions, logs, say, part[1]), parts
        ):
            rows[row.name] = rows[row.name].joined(row) if row.name in rows else row
    return [rows[one.name] for one in examples]


def judge(
    example: Example,
    environment: Environment,
    exceptions: Exceptions,
    logs: Path,
    say: Say,
    only: str | None = None,
) -> Row:
    """Runs an example's methods but those of APART, or only one method, the switch anew after each
    that fails, since that may leave anything behind. What switch and tests print is below `logs`.
    Raises NetworkError and PortsError."""
    excepted = exceptions.get(example.name, Excepted())
    if excepted.left_out:
        return Row(example.name, (), 0, left_out=excepted.left_out)
    began = time.monotonic()
    own = logs / (f"{example.name}.{only}" if only else example.name)
    own.mkdir(parents=True)
    without = {*excepted.not_run, *APART.get(example.name, ())} - {only}
    ports = read_ports(example.ports) if example.ports else USUAL
    done = [Result(name, False, 0, "not run") for name in sorted(excepted.not_run) if not only]
    refused = None
    with namespace.apart(), veths(ports):
        namespace.quiet_ipv6()
        run = _Run(example, environment, ports, own, without, only)
        try:
            for found in run.until_all_ran(say):
                done += found
        except _SwitchError as error:
            refused = str(error)
            ran = {one.name for one in done}
            done += [Result(name, False, 0, refused) for name in run.names() if name not in ran]
    results = tuple(
        Result(one.name, one.passed, one.seconds, one.told, excepted.methods.get(one.name))
        for one in done
    )
    return Row(example.name, results, time.monotonic() - began, refused)


class _Run:
    """One example in the namespace where this is made."""

    def __init__(
        self,
        example: Example,
        environment: Environment,
        ports: Sequence[Port],
        logs: Path,
        without: Iterable[str] = (),
        only: str | None = None,
    ) -> None:
        self.example = example
        self.environment = environment
        self.ports = ports
        self.logs = logs
        self.without = tuple(without)
        self.only = only

    def names(self) -> list[str]:
        """The methods that it has, without running them."""
        if self.only:
            return [self.only]
        words = [*self._ptf(), "--list-test-names", "standard"]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.logs,
            env=self.environment.variables,
        )
        lines = done.stdout.splitlines()
        names = [line.removeprefix(MODULE) for line in lines if line.startswith(MODULE)]
        return [name for name in names if name not in self.without]

    def until_all_ran(self, say: Say) -> Iterator[list[Result]]:
        """The results, up to the next failure each time. Raises _SwitchError."""
        ran = list(self.without)
        while True:
            what = self.only or f"{count_of(len(ran) - len(self.without), 'method')} done"
            say(f"{self.example.name}, {what}")
            place = self.logs / str(len(ran))
            place.mkdir()
            with self._switch(place):
                found = self._tests(place, ran)
            yield found
            ran += [one.name for one in found]
            if self.only or all(one.passed for one in found):
                return

    @contextmanager
    def _switch(self, place: Path) -> Iterator[None]:
        """Our switch with the example's programs."""
        ports = place / "ports.json"
        ports.write_text(json.dumps(_as_interfaces(self.ports)))
        words = [
            sys.executable,
            "-m",
            "p4lab",
            "switch",
            "--arch",
            "tna",
            "--ports-json",
            str(ports),
        ]
        if self.example.looped:
            words += ["--int-port-loop", hex(sum(1 << pipe for pipe in self.example.looped))]
        words += ["--conf", str(self.example.conf)] if self.example.conf else []
        words += map(str, self.example.programs)
        with (place / "switch.log").open("w") as log:
            switch = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
        assert switch.stdout is not None
        try:
            if not switch.stdout.readline().startswith("Server listening"):
                told = (place / "switch.log").read_text().strip().splitlines()
                raise _SwitchError(told[0] if told else "the switch ends and says nothing")
            yield
        finally:
            switch.terminate()
            try:
                switch.wait(10)
            except subprocess.TimeoutExpired:
                switch.kill()
                switch.wait()
            switch.stdout.close()

    def _ptf(self) -> list[str]:
        known = ["--test-params", _parameters(self.example.name)]
        return [*self.environment.ptf, "--test-dir", str(self.example.folder), *known]

    def _install(self, place: Path) -> None:
        """What tests read of the programs, below the folder where they run; compiled once."""
        if not (self.logs / INSTALLED).exists():
            install(self.example.programs, self.logs)
        (place / INSTALLED).symlink_to((self.logs / INSTALLED).resolve())

    def _tests(self, place: Path, ran: Sequence[str]) -> list[Result]:
        """Runs what has not run yet, up to the first failure."""
        self._install(place)
        words = [*self._ptf(), "--log-dir", str(place / "ptf"), "--xunit"]
        words += ["--xunit-dir", str(place / "xunit")]
        limit = LONG if self.only else METHOD
        words += ["--test-case-timeout", str(limit), "--socket-recv-size", "10240"]
        usual = PATIENCE.get(self.example.name, ())
        words += PATIENCE.get(f"{self.example.name}.{self.only}", usual)
        for port in self.ports:
            if port.far:
                words += ["--interface", f"0-{port.number}@{port.far}{_settings(port)}"]
        not_again = ["standard", *(f"^{MODULE}{name}" for name in ran)]
        words += [MODULE + self.only] if self.only else not_again
        with (place / "tests.log").open("w") as log:
            tests = subprocess.Popen(
                words,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=place,
                env=self.environment.variables,
                start_new_session=True,
            )
        stuck = _wait(tests, place / "ptf", limit + SLACK)
        found = list(_results(place / "xunit"))
        if stuck:
            started = [one.stem.removeprefix(MODULE) for one in _by_age(place / "ptf")]
            started = [name for name in started if name != "main" and name not in ran]
            found = [Result(name, True, 0) for name in started[:-1]]
            found += [Result(name, False, limit, "it does not end") for name in started[-1:]]
        if not found and tests.returncode:
            told = (place / "tests.log").read_text(errors="replace").strip().splitlines()
            if "did not match" in "".join(told[-1:]) or (ran and not told):
                return []
            raise _SwitchError(f"its tests do not run: {told[-1] if told else 'PTF ended'}")
        return found


def _as_interfaces(ports: Sequence[Port]) -> dict[str, list[dict[str, object]]]:
    """The pairs are there: the switch is to leave them when it ends."""
    return {"PortToIf": [{"device_port": port.number, "if": port.near} for port in ports]}


def _settings(port: Port) -> str:
    return "".join(
        f";{name}={value}" for name, value in port.settings.items() if name != "_comment"
    )


def _parameters(name: str) -> str:
    """What run_p4_tests.sh gives tests to know: the chip and where the server is."""
    known = {
        "arch": "tofino",
        "p4_name": name.lower(),
        "target": "asic-model",
        "use_pi": "False",
        "traffic_gen": "None",
        "config_file": "filename",
        "drivers_test_info": "None",
        "test_seed": "1",
        "num_pipes": str(PIPES),
        "pkt_size": "100",
        "port_mode": "100g",
        "counter_byte_adjust": "0",
        "p4c": "",
        "thrift_server": "localhost",
        "grpc_server": "localhost",
        "bfrt_grpc_port": "50052",
        "reboot": "none",
    }
    words = [f"{key}='{value}'" for key, value in known.items()]
    return ";".join([*words, "setup=False", "cleanup=False"])


def _by_age(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"), key=lambda file: file.stat().st_mtime_ns)


def _wait(tests: subprocess.Popen[bytes], logs: Path, limit: int) -> bool:
    """Until PTF ends. Whether it had to be ended, since a method went on past its time."""
    seen, deadline = 0, time.monotonic() + limit
    while tests.poll() is None:
        now = len(list(logs.glob("*.log"))) if logs.is_dir() else 0
        if now != seen:
            seen, deadline = now, time.monotonic() + limit
        if time.monotonic() > deadline:
            os.killpg(tests.pid, 9)
            tests.wait()
            return True
        time.sleep(0.1)
    return False


def _results(folder: Path) -> Iterator[Result]:
    """From what PTF writes: one file for each method."""
    cases = [
        case
        for file in folder.glob("*.xml")
        for case in tree.parse(file).getroot().iter("testcase")
    ]
    # A method that fails in its tearDown, too, is there twice.
    done: set[str] = set()
    for case in sorted(cases, key=lambda case: (case.get("timestamp", ""), not list(case))):
        name = case.get("classname", "").rpartition(".")[2]
        wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
        told = "" if wrong is None else _error_of(wrong)
        seconds = float(case.get("time", 0))
        if case.find("skipped") is None and name not in done:
            done.add(name)
            yield Result(name, wrong is None, seconds, told)


def _error_of(wrong: tree.Element) -> str:
    """What the exception says, without the way to it."""
    lines = (wrong.text or "").strip().splitlines() or [wrong.get("message", "")]
    frames = [at for at, line in enumerate(lines) if line.startswith('  File "')]
    after = lines[frames[-1] if frames else 0 :]
    plain = [at for at, line in enumerate(after) if line and not line[0].isspace()]
    told = " ".join(line.strip() for line in after[plain[0] if plain else 0 :])
    return told[:MOST_TOLD]
