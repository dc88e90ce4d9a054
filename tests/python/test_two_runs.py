"""Two runs of pytest share the tests (tests/conftest.py). Without this a test could be run by
neither, and nobody would notice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from p4lab.paths import ROOT

TEST = """
import os
from pathlib import Path
import pytest
{mark}
@pytest.mark.parametrize("number", range(3))
def test_it(number):
    with (Path(__file__).parent / "ran").open("a") as file:
        file.write(f"{{Path(__file__).stem}} {{number}} {{os.environ['RUN']}}\\n")
    assert "P4LAB_TEST_CLAIMS" not in os.environ
"""
MINE = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
MARKS = {
    "test_any": "",
    "test_long": "pytestmark = pytest.mark.beside(seconds=9)",
    "test_one": "pytestmark = pytest.mark.beside(seconds=5, group='both')",
    "test_other": "pytestmark = pytest.mark.beside(seconds=5, group='both')",
    "test_short": "pytestmark = pytest.mark.beside(seconds=1)",
}


def test_fixtures_go_before_a_test_of_another_folder(tmp_path: Path) -> None:
    """What is left to the other run must not keep them: pytest fails the test after it."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = beside\n")
    claims = tmp_path / "claims"
    claims.mkdir()
    for seconds, (folder, name) in enumerate([("b", "c"), ("a", "left"), ("a", "first")]):
        (tmp_path / folder).mkdir(exist_ok=True)
        mark = f"pytestmark = pytest.mark.beside(seconds={seconds}, group='{name}')"
        (tmp_path / folder / f"test_{name}.py").write_text(TEST.format(mark=mark))
    (claims / "left").touch()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**MINE, "RUN": "one", "P4LAB_TEST_CLAIMS": str(claims)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "6 passed" in done.stdout and done.returncode == 0, done.stdout


def test_each_test_is_run_once(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(ROOT / "tests" / "conftest.py", tests)
    (tests / "pytest.ini").write_text("[pytest]\nmarkers = beside\n")
    for name, mark in MARKS.items():
        (tests / f"{name}.py").write_text(TEST.format(mark=mark))
    (tmp_path / "claims").mkdir()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    runs = [
        subprocess.Popen(
            [*command, *chosen],
            cwd=tests,
            env={**MINE, "RUN": name, "P4LAB_TEST_CLAIMS": str(tmp_path / "claims")},
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, chosen in (("first", []), ("second", ["-m", "beside"]))
    ]
    printed = [run.communicate()[0] for run in runs]
    ran = [line.split() for line in (tests / "ran").read_text().splitlines()]
    wanted = [(name, str(number)) for name in MARKS for number in range(3)]
    assert sorted((name, number) for name, number, _ in ran) == wanted, printed
    takers = {name: {run for one, _, run in ran if one == name} for name in MARKS}
    assert takers["test_any"] == {"first"}
    assert takers["test_one"] == takers["test_other"]
    assert [run.returncode for run in runs] == [0, 0], printed
