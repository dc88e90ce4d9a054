"""Without these one test that watches a clock would cost a day's work, or a test that is wrong
would be called unsteady and nobody would hear of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import again
import run

PROJECT = """
import pathlib, pytest

COUNTS = pathlib.Path(__file__).parent

def count(name):
    with open(COUNTS / name, "a") as file:
        file.write("x")
    return len((COUNTS / name).read_text())

def test_always(): pass
def test_once_then_never(): assert count("never") == 1 and False, "it was wrong " + "twice"
@pytest.mark.parametrize("way", ["a b - c::d", "e"])
def test_second_time(way): assert count(f"second {way}"[:8]) > 1, "the first time"
def test_skips_the_second_time():
    if count("skips") > 1: pytest.skip("no more")
    assert False
@pytest.fixture
def ends_badly():
    yield
    assert count("ends") > 1
def test_and_then(ends_badly): pass
def test_drawn(): assert count("drawn") > 1, "Falsifying example: f(x=0)"
"""
PASS_ALONE = {"test_second_time[a b - c::d]", "test_second_time[e]", "test_and_then"}
FAIL = {"test_once_then_never", "test_skips_the_second_time", "test_drawn"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tests of its own; steps of run.py are carried out there."""
    (tmp_path / ".lab").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -ra -p no:cacheprovider\n")
    shutil.copy(run.ROOT / "tests" / "conftest.py", tmp_path)
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "LOGS", tmp_path / ".lab")
    return tmp_path


def carry_out(project: Path, tests: str) -> tuple[bool, run.Tally]:
    (project / "test_it.py").write_text(tests)
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # it begins a second earlier
    ok, tally = run.run_pytest("pytest", [*run.PYTEST, "test_it.py"], env)
    return ok and run.try_again(tally, env), tally


def named(printed: str, word: str) -> set[str]:
    lines = [line for line in printed.splitlines() if line.startswith(f"  {word}: ")]
    return {line.split("::", 1)[1] for line in lines}


def test_a_test_that_passes_alone_is_named_and_the_others_fail(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ok, tally = carry_out(project, PROJECT)
    printed = capfd.readouterr().out
    assert not ok
    assert named(printed, "unsteady") == PASS_ALONE
    assert named(printed, "failed") == FAIL
    assert tally.failed == len(FAIL)
    assert "      E   AssertionError: the first time" in printed
    assert len((project / "never").read_text()) == 2  # once more, and not until it passes
    assert len((project / "drawn").read_text()) == 1


def test_a_run_is_green_where_all_pass_alone(project: Path) -> None:
    only = "import pathlib\nFILE = pathlib.Path(__file__).parent / 'seen'\n" + (
        "def test_it():\n    seen = FILE.exists()\n    FILE.touch()\n    assert seen\n"
    )
    ok, tally = carry_out(project, only)
    assert ok
    assert (tally.passed, tally.failed) == (1, 0)


SEEN = """
import os, pathlib, pytest
FILE = pathlib.Path(__file__).parent / "seen"

@pytest.mark.parametrize("number", range(%d))
def test_it(number):
    with FILE.open("a") as seen: seen.write("x")
    assert False
"""


@pytest.mark.parametrize(
    ("tests", "carried_out"),
    [
        (SEEN % (again.MOST + 1), again.MOST + 1),
        (SEEN % 1 + "\ndef test_the_process_dies(): os._exit(1)\n", 1),
    ],
)
def test_what_is_no_accident_is_not_tried(project: Path, tests: str, carried_out: int) -> None:
    ok, _ = carry_out(project, tests)
    assert not ok
    assert len((project / "seen").read_text()) == carried_out


def test_rust_tests_are_tried_as_well(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "Cargo.toml").write_text(
        '[package]\nname = "small"\nedition = "2021"\n[workspace]\n'
    )
    (project / "Cargo.lock").write_text(
        'version = 4\n[[package]]\nname = "small"\nversion = "0.0.0"\n'
    )
    for folder in ("src", "tests"):
        (project / folder).mkdir()
    (project / "src" / "lib.rs").write_text("#[test] fn passes() {}\n")
    body = (
        '{ let seen = std::path::Path::new("seen").exists(); '
        'std::fs::write("seen", "").unwrap(); assert!(seen, "too early"); }'
    )
    (project / "tests" / "early.rs").write_text(
        f"mod deep {{ #[test] fn once() {body} }}\n#[test] fn passes() {{}}\n"
    )
    (project / "tests" / "wrong.rs").write_text("#[test] fn always() { assert!(false); }\n")
    env = dict(os.environ)
    env.pop("CARGO_TARGET_DIR", None)
    monkeypatch.setattr(run, "owner", dict)
    done = run.run(
        "cargo test",
        ["cargo", *("test", "--release", "--locked", "--offline", "--no-fail-fast")],
        env,
    )
    tally = run.cargo_tally(done.log)
    assert not run.try_again(tally, env)
    printed = capfd.readouterr().out
    assert "  unsteady: passed when run again alone: deep::once\n" in printed
    assert "too early" in printed.split("  unsteady: ")[1]
    assert "  failed: always\n" in printed
    assert (tally.passed, tally.failed) == (3, 1)
