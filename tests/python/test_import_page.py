"""docs/import.md is always true: every command it shows is run here, on exercises of ours.

The exercises have the names that the page uses; they are the toy course's router, so that this is
quick and needs no checkout of the tutorials. Lost if this fails: half an hour of an instructor's.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("bitwuzla")

from cli_runner import p4lab
from p4lab.course import marks
from p4lab.paths import ROOT

PAGE = (ROOT / "docs/import.md").read_text()
COMMANDS = re.findall(r"^(?:\./lab|mkdir|cp|sed) .+$", PAGE, re.MULTILINE)
LABS = ("basic", "calc")
# Mutants that the checks do not find yet are what the page is about.
VERDICT_NO = {"./lab --course mycourse mutants basic --generated"}
ROUTER = (ROOT / "tests/toy/p4/router/router.p4").read_text()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `tutorials` is, and `mycourse`, with the lab that the page does not import in so many
    words."""
    place = tmp_path_factory.mktemp("desk")
    for name in LABS:
        folder = place / "tutorials/exercises" / name
        (folder / "solution").mkdir(parents=True)
        (folder / f"{name}.p4").write_text(marks.starter(ROUTER, "router.p4"))
        (folder / "solution" / f"{name}.p4").write_text(marks.solution(ROUTER, "router.p4"))
    done = p4lab("import", place / "tutorials/exercises/calc", "--into", place / "mycourse")
    assert done.returncode == 0, done.stderr
    return place


def test_the_page_shows_commands() -> None:
    assert len(COMMANDS) >= 7


@pytest.mark.beside(seconds=12)
def test_its_commands_work_in_their_order(desk: Path) -> None:
    for command in COMMANDS:
        name, *words = shlex.split(command)
        if name == "./lab":
            done = p4lab(*words, cwd=desk)
        else:
            done = subprocess.run(command, shell=True, cwd=desk, capture_output=True, text=True)
        wanted = 1 if command in VERDICT_NO else 0
        assert done.returncode == wanted, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    grades = (desk / "grades/grades.csv").read_text().splitlines()
    assert [row.split(",")[:2] for row in grades[1:]] == [
        ["ada", "100"],
        ["bob", "50"],
        ["carol", "0"],
    ]
