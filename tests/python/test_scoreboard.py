"""`p4lab exercises`: a solution passes what is taught, a starter does not.

If these fail, a teacher is told that an exercise works here which does not, or the other way round.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from cli_runner import p4lab
from little_exercise import PROGRAM, write
from p4lab.exercise.files import ExerciseError
from p4lab.exercise.scoreboard import Outcome, Row, Version, exercises_of
from p4lab.exercise.taught import TUTORIALS, Check, Taught, read_taught

SENDS = "standard.egress_spec = port;"
CHECKS = """
[little]
[[little.check]]
name = "neighbours answer"
reach = ["h1 h2", "h2 h1", "h1 h3"]
cut = ["h2 h3"]
do = [{ at = "h2", run = "cat", input = "typed\\n", times = 2 }]
expect = [
    { at = "h2", pattern = "typed", least = 2, most = 2 },
    { at = "controller", pattern = "primary: 0" },
]
controller = "./mycontroller.py"
[[little.check]]
name = "nothing comes to h3"
starter = "passes"
listen = [{ at = "h3", run = "echo on; exec sleep 60", ready = "on" }]
expect = [{ at = "h3", pattern = "got", most = 0 }]
"""
CONTROLLER = """#!/usr/bin/env python3
import queue, time
import grpc
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

stub = p4runtime_pb2_grpc.P4RuntimeStub(grpc.insecure_channel("127.0.0.1:50052"))
asked = queue.Queue()
hello = p4runtime_pb2.StreamMessageRequest()
hello.arbitration.device_id = 1
hello.arbitration.election_id.low = 1
asked.put(hello)
stream = stub.StreamChannel(iter(asked.get, None), wait_for_ready=True, timeout=60)
print("primary:", next(stream).arbitration.status.code)
time.sleep(60)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Of one exercise; its starter forwards nothing."""
    folder = tmp_path / "exercises" / "little"
    (folder / "solution").mkdir(parents=True)
    write(folder)
    (folder / "solution" / "little.p4").write_text(PROGRAM)
    assert SENDS in PROGRAM
    (folder / "little.p4").write_text(PROGRAM.replace(SENDS, "/* TODO */"))
    (folder / "mycontroller.py").write_text(CONTROLLER)
    (folder / "mycontroller.py").chmod(0o755)
    (tmp_path / "exercises" / "unfinished").mkdir()
    (tmp_path / "checks.toml").write_text(CHECKS)
    return tmp_path


@pytest.mark.skipif(os.geteuid() != 0, reason="Mininet needs root")
@pytest.mark.skipif(shutil.which("mnexec") is None, reason="not installed: mnexec")
@pytest.mark.skipif(shutil.which("ping") is None, reason="not installed: ping")
def test_a_solution_passes_and_a_starter_does_not(checkout: Path) -> None:
    pytest.importorskip("grpc")
    done = p4lab("exercises", checkout, "--checks", checkout / "checks.toml", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(done.stdout)["exercises"]
    assert row["name"] == "little"
    assert row["complaints"] == []
    assert [one["passed"] for one in row["solution"]["checks"]] == [True, True]
    assert [one["passed"] for one in row["starter"]["checks"]] == [False, True]
    told = row["starter"]["checks"][0]["told"]
    assert "h1 does not reach h2" in told
    assert "typed" not in told, "what was typed has been printed"


def test_only_folders_with_a_solution_are_judged(checkout: Path) -> None:
    assert list(exercises_of(checkout)) == ["little"]
    assert list(exercises_of(checkout / "exercises")) == ["little"]
    done = p4lab("exercises", checkout, "--only", "other")
    assert done.returncode == 2
    assert "no exercise other; it has little" in done.stderr


def outcome(passed: bool, *, starter: bool = False) -> Outcome:
    return Outcome(Check("a check", starter=starter), passed, "" if passed else "it was not there")


@pytest.mark.parametrize(
    ("solution", "starter", "complaints"),
    [
        ([outcome(True)], [outcome(False)], []),
        ([outcome(False)], [outcome(False)], ["the solution fails “a check”: it was not there"]),
        ([outcome(True)], [outcome(True)], ["the starter passes “a check” already"]),
        ([outcome(True)], [outcome(True, starter=True)], []),
        (
            [outcome(True)],
            [outcome(False, starter=True)],
            ["the starter fails “a check”: it was not there"],
        ),
    ],
)
def test_the_verdict(
    solution: list[Outcome], starter: list[Outcome], complaints: list[str]
) -> None:
    taught = Taught("x", (Check("a check"),))
    row = Row("x", taught, Version(tuple(solution)), Version(tuple(starter)))
    assert row.complaints == complaints
    assert row.ok == (not complaints)
    excepted = Taught("x", (Check("a check"),), "for a reason")
    assert Row("x", excepted, Version(tuple(solution)), Version(tuple(starter))).ok


def test_an_exercise_without_checks_does_not_count_as_taught() -> None:
    assert not Row("x", None).ok
    assert not Row("x", Taught("x", (Check("a"),)), Version(refused="no program")).ok


def test_the_tutorials_checks_can_be_read() -> None:
    """Each exercise has one that its starter does not pass."""
    taught = read_taught(TUTORIALS)
    assert len(taught) == 13
    for one in taught.values():
        assert any(not check.starter for check in one.checks), one.name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[x]", "has no"),
        ("[[x.check]]\nreach = 'all'", "no name"),
        ("[[x.check]]\nname = 'a'\nreech = 'all'", "reech is not one of"),
        ("[[x.check]]\nname = 'a'\nreach = ['h1']", "a pair is two hosts"),
        ("[[x.check]]\nname = 'a'\ndo = [{ at = 'h1', runs = 'x' }]", "runs is not understood"),
        ("[[x.check]]\nname = 'a'\nexpect = [{ at = 'h1', pattern = '(' }]", "x: check 1"),
        ("[[x.check]]\nname = 'a'\nstarter = 'maybe'", "maybe"),
        ("[x", "cannot be read"),
    ],
)
def test_a_wrong_check_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "checks.toml"
    file.write_text(text)
    with pytest.raises(ExerciseError, match=r"checks\.toml") as caught:
        read_taught(file)
    assert said in str(caught.value)
