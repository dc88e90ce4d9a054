"""Every exercise of a checkout: does its solution behave as taught, and its starter not?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from p4lab.engine import ProgramError
from p4lab.exercise.acts import Acts, Start, starts
from p4lab.exercise.files import Exercise, ExerciseError
from p4lab.exercise.folders import is_exercise, read_exercise
from p4lab.exercise.p4app import GRAPH
from p4lab.exercise.run import ExerciseNetwork, Loaded, load, makers
from p4lab.exercise.service import Service
from p4lab.exercise.taught import CONTROLLER, Check, Expected, Pair, Taught
from p4lab.network import NetworkError, namespace
from p4lab.plurals import count_of
from p4lab.shims import compiler
from p4lab.shims import folder as shims

SOLUTION = "solution"
COMPILER = "p4c-bm2-ss"
PINGS = ("-c", "2", "-i", "0.3", "-W", "1", "-q")
IPERF_SECONDS = 5  # until a connection of one second must have come about
IPERF_STARTS = 0.5

PACKAGES = {
    "p4utils": "git clone https://github.com/nsg-ethz/p4-utils, and set PYTHONPATH to that folder",
}
"""How packages are had that no `pip install` brings"""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What came of a check; `told` says what was missing."""

    check: Check
    passed: bool
    told: str


@dataclass(frozen=True)
class Version:
    """A solution or a starter: its outcomes, or why it does not even run."""

    outcomes: tuple[Outcome, ...] = ()
    refused: str | None = None

    @property
    def passed(self) -> int:
        """How many checks it passes."""
        return sum(outcome.passed for outcome in self.outcomes)


@dataclass(frozen=True)
class Row:
    """An exercise of the scoreboard; `taught` is None if there are no checks for it."""

    name: str
    taught: Taught | None
    solution: Version = Version()
    starter: Version = Version()

    @property
    def complaints(self) -> list[str]:
        """What is not as taught, one sentence each."""
        if self.taught is None:
            return ["there are no checks for it"]
        found = []
        if self.solution.refused:
            found.append(f"the solution does not run: {self.solution.refused}")
        for outcome in self.solution.outcomes:
            if not outcome.passed:
                found.append(f"the solution fails “{outcome.check.name}”: {outcome.told}")
        for outcome in self.starter.outcomes:
            if outcome.passed and not outcome.check.starter:
                found.append(f"the starter passes “{outcome.check.name}” already")
            if not outcome.passed and outcome.check.starter:
                found.append(f"the starter fails “{outcome.check.name}”: {outcome.told}")
        return found

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, or there is a reason why it does not count."""
        return not self.complaints or bool(self.taught and self.taught.exception)


def place_of(checkout: Path) -> Path:
    """Where the exercises of a checkout are: below `exercises` if there is such a folder."""
    inner = checkout / "exercises"
    return inner if inner.is_dir() else checkout


def exercises_of(checkout: Path) -> dict[str, Path]:
    """The folders of exercises with a solution, by their path in the checkout."""
    place = place_of(checkout)
    found = (solution.parent for solution in place.rglob(SOLUTION) if solution.is_dir())
    return {
        folder.relative_to(place).as_posix(): folder
        for folder in sorted(found)
        if is_exercise(folder)
    }


def score(
    name: str,
    folder: Path,
    taught: Taught | None,
    say: Say = lambda _: None,
    utils: Path | None = None,
) -> Row:
    """Judges one exercise on Linux hosts, which have to be allowed; `utils` is what its scripts
    find at `../../utils`. Raises NetworkError."""
    if taught is None or not taught.checks:
        return Row(name, taught)
    versions = [_judge(folder, taught, version, say, utils) for version in (SOLUTION, "starter")]
    return Row(name, taught, *versions)


def _judge(folder: Path, taught: Taught, version: str, say: Say, utils: Path | None) -> Version:
    with tempfile.TemporaryDirectory(prefix="p4lab-exercise-") as name:
        work = _copy(folder, Path(name), utils, with_solution=version == SOLUTION)
        environment = _environment(Path(name))
        try:
            outcomes = []
            for number, check in enumerate(taught.checks):
                exercise = read_exercise(work, check.topology)
                _build(exercise)
                # As on the switch they are written for.
                loaded = load(exercise, bmv2_compat=True)
                say(f"{taught.name}, {version}: {check.name}")
                records = Path(name) / f"records-{number}"
                records.mkdir()
                outcomes.append(_check(exercise, loaded, check, environment, records))
        except (ProgramError, ExerciseError) as error:
            told = str(error).strip().splitlines()[0]
            return Version(refused=told.replace(f"{work}/", ""))
        return Version(tuple(outcomes))


def _copy(folder: Path, place: Path, utils: Path | None, *, with_solution: bool) -> Path:
    """A copy to work in; the solution's files in the place of the starter's."""
    work = place / folder.parent.name / folder.name
    unwanted = shutil.ignore_patterns("build", "logs", "pcaps")
    shutil.copytree(folder, work, ignore=unwanted)
    if utils is not None:
        (place / "utils").symlink_to(utils.resolve())
    if with_solution:
        shutil.copytree(work / SOLUTION, work, ignore=unwanted, dirs_exist_ok=True)
    return work


def _environment(place: Path) -> dict[str, str]:
    """That of scripts and controllers: Python with what the tutorials import."""
    shims.make_shims(place / "shims")
    return {**shims.on_path(place / "shims", os.environ), "PYTHONUNBUFFERED": "1"}


def _build(exercise: Exercise) -> None:
    """What `make` or p4-utils leaves for controllers. Raises ExerciseError."""
    work = exercise.folder
    if exercise.graph is not None:
        (work / GRAPH).write_text(exercise.graph, encoding="utf-8")
        for program in sorted({switch.program for switch in exercise.switches}):
            built = program.with_suffix("")
            _compile(program, Path(f"{built}.json"), Path(f"{built}_p4rt.txt"))
        return
    build = work / "build"
    for folder in (build, work / "logs"):
        folder.mkdir(exist_ok=True)
    for program in sorted(work.glob("*.p4")):
        _compile(program, build / f"{program.stem}.json", build / f"{program.name}.p4info.txtpb")


def _compile(program: Path, into: Path, p4info: Path) -> None:
    with redirect_stderr(StringIO()):
        words = ["--p4runtime-files", str(p4info), "-o", str(into), str(program)]
        status = compiler.main(COMPILER, words)
    if status:
        raise ExerciseError(f"{program.name} does not compile")


@contextmanager
def _beside() -> Iterator[Callable[..., subprocess.Popen[Any]]]:
    """What starts programs where this is entered, also while the network has taken this thread
    into a namespace of its own: a thread that stays."""
    with ThreadPoolExecutor(1) as staying:
        staying.submit(lambda: None).result()

        def start(words: Sequence[str], **how: Any) -> subprocess.Popen[Any]:
            return subprocess.Popen(words, start_new_session=True, **how)

        yield lambda words, **how: staying.submit(start, words, **how).result()


def _check(
    exercise: Exercise,
    loaded: list[Loaded],
    check: Check,
    environment: Mapping[str, str],
    records: Path,
) -> Outcome:
    around = namespace.apart() if exercise.inside else nullcontext()
    with around, _beside() as start, Service(exercise, bmv2_compat=True) as service:
        network = ExerciseNetwork(exercise, loaded, makers(loaded, "engine"), service)
        with network:
            ways: dict[str, Start] = starts(network.hosts, environment)
            ways[CONTROLLER] = lambda words, **how: start(words, env=dict(environment), **how)
            with Acts(ways, exercise.folder, records) as acts:
                told = _faults(exercise, network, acts, check)
    return Outcome(check, not told, "; ".join(told))


def _faults(exercise: Exercise, network: ExerciseNetwork, acts: Acts, check: Check) -> list[str]:
    """What is not as the check wants it."""
    if check.controller:
        acts.control(check.controller)
    for act in check.listen:
        acts.listen(act)
    for act in check.do:
        acts.do(act)
    told = [*_pings(exercise, network, check), *_connections(exercise, network, check)]
    deadline = time.monotonic() + check.within
    wanted = [expected for expected in check.expect if expected.least]
    while time.monotonic() < deadline and any(_fault(acts, one) for one in wanted):
        time.sleep(0.2)
    told += filter(None, (_fault(acts, expected) for expected in check.expect))
    last = acts.heard(CONTROLLER).strip().splitlines()[-1:]
    return [*told, f"its controller's last words: “{last[0]}”"] if told and last else told


def _fault(acts: Acts, expected: Expected) -> str | None:
    count = len(re.findall(expected.pattern, acts.heard(expected.at)))
    told = f"{expected.at} printed “{expected.pattern}” {count_of(count, 'time')}"
    if count < expected.least:
        return told
    if expected.most is not None and count > expected.most:
        return f"{told}, at most {expected.most}"
    return None


def _address(exercise: Exercise, name: str) -> str:
    for host in exercise.hosts:
        if host.name == name:
            return host.ip.split("/")[0]
    raise ExerciseError(f"there is no host {name}")


def _pings(exercise: Exercise, network: ExerciseNetwork, check: Check) -> Iterator[str]:
    names = [host.name for host in exercise.hosts]
    every = [(one, other) for one in names for other in names if one != other]
    reach = every if check.reach is None else check.reach
    running = {}
    for pair in dict.fromkeys([*reach, *check.cut]):
        words = ["ping", *PINGS, _address(exercise, pair[1])]
        running[pair] = network.hosts[pair[0]].popen(words)
    for pair, process in running.items():
        process.communicate()
        answered = process.returncode == 0
        if not answered and pair in reach:
            yield f"{pair[0]} does not reach {pair[1]}"
        if answered and pair in check.cut:
            yield f"{pair[0]} reaches {pair[1]}"


def _connections(exercise: Exercise, network: ExerciseNetwork, check: Check) -> Iterator[str]:
    for pair in (*check.iperf, *check.no_iperf):
        through = _connects(exercise, network, pair)
        if through != (pair in check.iperf):
            yield f"{pair[0]} {'opens' if through else 'opens no'} connection to {pair[1]}"


def _connects(exercise: Exercise, network: ExerciseNetwork, pair: Pair) -> bool:
    """Whether iperf carries data over TCP from the first host to the second."""
    client, server = (network.hosts[name] for name in pair)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    serving = server.popen(["iperf", "-s"], **quiet)
    time.sleep(IPERF_STARTS)
    asking = client.popen(["iperf", "-t", "1", "-c", _address(exercise, pair[1])], **quiet)
    try:
        through = bool(asking.wait(IPERF_SECONDS) == 0)
    except subprocess.TimeoutExpired:
        through = False
    for process in (asking, serving):
        process.kill()
        process.wait()
    return through


def check_tools(taught: Mapping[str, Taught]) -> None:
    """Raises NetworkError if a check needs iperf or a Python package and there is none."""
    checks = [check for one in taught.values() for check in one.checks]
    modules = sorted({module for one in taught.values() for module in one.needs})
    for module in modules:
        _check_module(module)
    needed = any(
        check.iperf or check.no_iperf or any("iperf" in act.run for act in check.listen)
        for check in checks
    )
    if needed and shutil.which("iperf") is None:
        raise NetworkError("the exercises' checks need iperf: apt-get install iperf")


def _check_module(module: str) -> None:
    """With the Python that controllers get."""
    with tempfile.TemporaryDirectory(prefix="p4lab-exercise-") as name:
        environment = _environment(Path(name))
        words = ["python3", "-c", f"import {module}"]
        done = subprocess.run(words, env=environment, capture_output=True, check=False)
    if done.returncode:
        remedy = PACKAGES.get(module, f"pip install {module}")
        raise NetworkError(f"controllers of these exercises need {module}: {remedy}")
