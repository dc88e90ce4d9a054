"""Sweeps: an experiment's runs, shared out.

If these fail, an experiment says something else on a cluster than on a laptop, a night's runs are
lost with one crash, or a folder of somebody's results runs a program of theirs.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import typer

from p4lab.cli import sweeps
from p4lab.spread import sweep as spread
from p4lab.spread.sweep import Sweep, SweepError, Task, opened, processes, work_there
from p4lab.systems.bier_tna.recirculation import results
from p4lab.systems.bier_tna.recirculation.simulation import Setup
from p4lab.systems.bng.experiments import latency
from p4lab.systems.fabric.experiments import copies, machine, verbs
from p4lab.systems.fabric.experiments.figure import Point
from p4lab.systems.frr.experiments.sweeps import Scope
from p4lab.systems.frr.experiments.sweeps import measure as restoration
from p4lab.systems.msr6.experiments import comparison, failure, networks
from p4lab.systems.protect.experiments import failure as protect_failure
from p4lab.systems.protect.experiments import goodput, jitter, policies, skew

pytestmark = pytest.mark.beside(seconds=10)


def tasks(fanouts: Sequence[int] = (1, 2)) -> list[Task[list[Point]]]:
    return [Task(f"{n}", copies.run_2c, ("with cache", 128, n, "", 3)) for n in fanouts]


# ---- Where they run


def test_processes_give_what_one_process_gives() -> None:
    wanted = Sweep().all(tasks())
    assert wanted[0][0].curve == "with cache"
    with processes(2) as pool:
        assert Sweep(pool).all(tasks()) == wanted


@pytest.mark.parametrize(("count", "each"), [(1, 6), (2, 3), (4, 1), (9, 1)])
def test_few_tasks_share_the_threads(tmp_path: Path, count: int, each: int) -> None:
    """Without this a single large run with `--threads 2` takes as long as with one."""
    with opened(tmp_path / "kept", threads=6) as sweep:
        found = sweep.all([Task(f"{n}", spread.threads_of_task) for n in range(count)])
    assert found == [each] * count
    assert spread.threads_of_task() == 1


def test_a_cluster_gives_what_one_process_gives(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    local = {"processes": True, "dashboard_address": None, "host": "127.0.0.1"}
    with (
        distributed.LocalCluster(1, threads_per_worker=1, **local) as cluster,
        opened(tmp_path / "kept", dask=cluster.scheduler_address) as sweep,
    ):
        assert sweep.all(tasks()) == Sweep().all(tasks())


def test_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="dask is not installed")
    monkeypatch.setattr("p4lab.spread.cluster.CONNECT_SECONDS", 0.1)
    with (
        pytest.raises(SweepError, match="no Dask scheduler answers at tcp"),
        opened(tmp_path / "kept", dask="tcp://127.0.0.1:9"),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_threads_and_a_cluster_do_not_go_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without this one of them wins without a word."""
    out = tmp_path / "out"
    with pytest.raises(typer.Exit) as ended:
        sweeps.with_sweep(out, "any", 2, "tcp://127.0.0.1:9", lambda sweep: sweep.all(tasks()))
    assert ended.value.exit_code == 2 and not out.exists()
    assert "--threads is for this machine and --dask for a cluster" in capsys.readouterr().err


def test_a_worker_with_another_version_is_found_out() -> None:
    with pytest.raises(SweepError, match="another p4lab"):
        work_there("sha256:0", tasks()[0])


def test_a_process_that_is_killed_is_told_of(tmp_path: Path) -> None:
    with (
        pytest.raises(SweepError, match=r"has ended.*fewer\s+--threads"),
        opened(tmp_path / "kept", threads=2) as sweep,
    ):
        sweep.all([Task("ends", os._exit, (1,))])


KILLED = """
import os, signal
from p4lab.spread.sweep import processes
with processes(1) as pool:
    print(pool.submit(os.getpid).result(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_end_with_one_that_is_killed() -> None:
    """What they inherit stays open as long as one of them lives: here the pipe that is read."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, timeout=60
    )
    assert done.returncode == -signal.SIGKILL and int(done.stdout) > 0


# ---- What is kept

COUNTED: list[int] = []


def counted(number: int, last: int) -> Point:
    """Fails behind the last."""
    if number > last:
        raise KeyboardInterrupt
    COUNTED.append(number)
    return Point("", "", number, number / 3)


def numbers(last: int = 9) -> list[Task[Point]]:
    return [Task(f"{number}", counted, (number, last)) for number in (1, 2, 3)]


@pytest.fixture(autouse=True)
def _nothing_counted() -> None:
    COUNTED.clear()


def test_what_is_done_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same arguments make the same task: here the third run is the one that fails."""
    monkeypatch.setattr(Task, "place", property(lambda task: task.what))
    with pytest.raises(KeyboardInterrupt):
        sweeps.with_sweep(tmp_path, "x", 1, None, lambda sweep: sweep.all(numbers(2)))
    assert COUNTED == [1, 2]
    assert f"goes on from {tmp_path}/x.unfinished.jsonl" in capsys.readouterr().err
    found = sweeps.with_sweep(tmp_path, "x", 1, None, lambda sweep: sweep.all(numbers()))
    assert COUNTED == [1, 2, 3]
    assert found == [Point("", "", number, number / 3) for number in (1, 2, 3)]
    assert not list(tmp_path.iterdir()), "nobody needs it any more"


def test_other_arguments_are_another_run(tmp_path: Path) -> None:
    with opened(tmp_path / "kept") as sweep:
        sweep.all(numbers())
        sweep.all(numbers(10))
    assert COUNTED == [1, 2, 3, 1, 2, 3]


def test_two_do_not_write_into_one_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(tmp_path / "x.unfinished.jsonl"), pytest.raises(typer.Exit) as left:
        sweeps.with_sweep(tmp_path, "x", 1, None, lambda sweep: sweep.all(numbers()))
    assert left.value.exit_code == 2 and "running there already" in capsys.readouterr().err


class Trap:
    """What somebody may have put into a folder."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return COUNTED.append, (666,)


@pytest.mark.parametrize("bad", [pickle.dumps(Trap()), b"cos\nsystem\n(S'true'\ntR.", b"x", b""])
def test_what_is_kept_is_data(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "kept"
    row = {"task": numbers()[0].place, "result": base64.b64encode(bad).decode()}
    path.write_text("\n".join(json.dumps(one) for one in ({"key": spread.build_here()}, row)))
    with opened(path) as sweep:
        sweep.all(numbers())
    assert COUNTED == [1, 2, 3]


# ---- Every experiment


class Told(Exception):
    """Ends a sweep that is only asked for its tasks."""


class Asked(Sweep):
    tasks: ClassVar[list[Task[Any]]] = []

    def all(self, tasks: Sequence[Task[Any]]) -> list[Any]:
        self.tasks[:] = tasks
        raise Told


ENCODINGS = comparison.Scope(networks.sources(20), 1, 1, 4, "cheapest", (50,))
RESTORATION = Scope(1, 1, 100_000, 36, 76, True, "virtual", None)
EXPERIMENTS: dict[str, Callable[[Sweep], object]] = {
    "restoration": lambda sweep: restoration(RESTORATION, sweep),
    "encodings": lambda sweep: comparison.measure(ENCODINGS, sweep),
    "msr6-failure": lambda sweep: failure.measure(1, 1000, 1, True, sweep),
    "recirculation": lambda sweep: results.run_table2([(2, 1)], ["tail-drop"], Setup(2, 1), sweep),
    "timing": lambda sweep: results.run_timing(Setup(2, 1), sweep),
    "provisioning": lambda sweep: results.check_provisioning(1, sweep),
    "protection": lambda sweep: policies.measure(1, 60, 1, sweep),
    "jitter": lambda sweep: jitter.measure(1, 2, 1, sweep),
    "skew": lambda sweep: skew.measure(1, sweep),
    "failure": lambda sweep: protect_failure.measure(1, 1000, 1, sweep),
    "goodput": lambda sweep: goodput.measure(1, 1, goodput.run, 10**10, sweep),
    "latency": lambda sweep: latency.measure(1, 1000, 1, sweep),
    "fabric": lambda sweep: sweep.all(
        [task for figure in verbs.figures(machine.Size()).values() for task in figure.runs("", 1)]
    ),
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_runs_can_be_sent_and_found_again(name: str) -> None:
    """A run that cannot be pickled has no other process; one that is called by where it lies in
    memory is done again."""
    with pytest.raises(Told):
        EXPERIMENTS[name](Asked())
    asked = Asked.tasks
    assert asked and len({task.place for task in asked}) == len(asked)
    for task in asked:
        assert " at 0x" not in repr(task.arguments), task.what
    there = pickle.loads(pickle.dumps(asked))
    assert [task.place for task in there] == [task.place for task in asked]
