"""docs/instructors.md stays true: a new instructor who does what it says gets what it says.

The page is carried out from top to bottom in a copy of the project: its files are written, its
commands run.
"""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from p4lab.paths import ROOT

pytestmark = pytest.mark.beside(seconds=40)

PAGE = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")

BLOCK = re.compile(
    r"^(?:<!-- (?P<note>file|exits) (?P<value>\S+) -->\n)?"
    r"(?P<fence>`{3,})(?P<language>\w+)\n(?P<text>.*?)^(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)


# test_solutions.py judges the same answers; here the verb judges those of the new lab.
RUN_ELSEWHERE = {"./lab mutants 01-bier"}


@dataclass(frozen=True)
class Done:
    """A command of the page and what came of it."""

    command: str
    wanted: int
    status: int
    output: str


def copy_project(target: Path) -> None:
    """What the page works on, as a repository of its own; the engine is not copied but linked."""
    for name in ("labs", "p4", "solutions", "topologies", "src", "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(ROOT / name, target / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", target)
    for engine in (ROOT / "src" / "p4lab").glob("_engine*.so"):
        (target / "src" / "p4lab" / engine.name).symlink_to(engine)
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", "A course"],
    ):
        subprocess.run(["git", *command], cwd=target, check=True, capture_output=True)
    # For twenty commands at once; not in the repository, so not in what students get.
    subprocess.run([sys.executable, "-m", "compileall", "-q", target / "src"], check=True)


def carry_out(folder: Path) -> list[Done]:
    """Writes the page's files and runs its commands, in order."""
    done = []
    for block in BLOCK.finditer(PAGE):
        if block["note"] == "file":
            path = folder / block["value"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"], encoding="utf-8")
        elif block["language"] == "sh":
            wanted = int(block["value"]) if block["note"] == "exits" else 0
            lines = [line for line in block["text"].splitlines() if line not in RUN_ELSEWHERE]
            done += [run(folder, line, wanted) for line in lines]
    return done


def run(folder: Path, line: str, wanted: int) -> Done:
    words = shlex.split(line)
    if words[0] == "./lab":
        words = [sys.executable, "-m", "p4lab", *words[1:]]
    finished = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Done(line, wanted, finished.returncode, finished.stdout + finished.stderr)


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> tuple[Path, list[Done]]:
    folder = tmp_path_factory.mktemp("course")
    copy_project(folder)
    return folder, carry_out(folder)


def test_every_command_does_what_the_page_says(course) -> None:
    _, done = course
    assert len(done) > 15
    for command in done:
        if command.command == "./lab doctor":  # it judges this machine, not the page
            continue
        assert command.status == command.wanted, f"{command.command}\n{command.output[-3000:]}"


def points(path: Path) -> dict[str, float]:
    with path.open(encoding="utf-8") as file:
        return {row["student"]: float(row["points"]) for row in csv.DictReader(file)}


def test_the_three_submissions_are_graded(course) -> None:
    folder, _ = course
    # With the list and the rules: carol's 5 points by hand, and dan is in bob's team.
    wanted = {"ada": 0, "bob": 100, "carol": 5, "dan": 100}
    for results in ("grades", "returned"):
        assert points(folder / results / "grades.csv") == wanted
    assert (folder / "course.seed").is_file()
    for name in ("records.json", "summary.html", "summary.md", "heatmap.svg", "junit.xml"):
        assert (folder / "grades" / name).is_file(), name
    for student in ("ada", "bob", "carol", "dan"):
        assert list((folder / "returned" / "students").rglob(f"{student}*.html"))


def test_the_new_lab_is_graded(course) -> None:
    folder, _ = course
    assert points(folder / "hop-grades" / "grades.csv") == {"ada": 100, "bob": 0}


def test_the_new_lab_passes_the_tests_of_the_project(course) -> None:
    """If this fails, who adds a lab must edit a test or a list."""
    folder, _ = course
    files = ["tests/python/test_solutions.py", "tests/python/test_handouts.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", "80-hop"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) >= 12, done.stdout


def test_the_archive_for_students_has_no_solutions_folder(course) -> None:
    import zipfile

    folder, _ = course
    with zipfile.ZipFile(folder / "p4lab-course.zip") as archive:
        names = archive.namelist()
    assert "p4lab/labs/01-bier/README.md" in names
    assert not [name for name in names if name.startswith("p4lab/solutions")]


def test_the_new_lab_in_the_handout_quotes_the_starter(course) -> None:
    folder, _ = course
    handout = (folder / "labs/80-hop/README.md").read_text(encoding="utf-8")
    assert "// TODO forward: send the packet where the entry says" in handout
    assert "egress_spec" not in handout


def test_the_page_links_to_what_is_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    for name in ("labs/01-bier/README.md", "solutions/01-bier/README.md"):
        assert name in PAGE
        assert (ROOT / name).is_file()
