"""A student pastes what p4lab prints. A line that begins with another command than the one that was
typed ends in "command not found"."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from cli_runner import p4lab
from p4lab import __version__
from p4lab.cli import PANELS, app
from p4lab.cli.reading import TO_BE_RUN
from p4lab.command import ENVIRONMENT, command, pasted
from p4lab.paths import ROOT

COMMANDS = ["p4lab", "./lab", "../lab"]


@pytest.fixture(params=COMMANDS)
def typed(request, monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    if request.param != "p4lab":
        monkeypatch.setenv(ENVIRONMENT, request.param)
    return request.param


def test_the_first_screen(typed):
    lines = p4lab().stdout.splitlines()
    verbs = [line for line in lines if line.startswith("  ")]
    assert len(verbs) >= 10
    assert all(line.split()[0] == typed for line in verbs)
    assert max(map(len, lines)) <= 80


def test_what_start_check_and_compile_print(typed, tmp_path):
    folder = tmp_path / "my lab"
    started = p4lab("start", "01-bier", folder).stdout
    (then,) = re.findall(r"^Then: (.*)$", started, re.MULTILINE)
    assert then == f"{typed} check 01-bier '{folder}'"
    checked = p4lab("check", "01-bier", folder).stdout
    assert re.search(
        rf"^\d+ more failed checks?:\n{re.escape(typed)} check ", checked, re.MULTILINE
    )
    broken = folder / "bier" / "bier.p4"
    broken.write_text(broken.read_text(encoding="utf-8").replace(";", "", 1), encoding="utf-8")
    for said in (
        p4lab("check", "01-bier", folder).stdout,
        p4lab("compile", broken).stderr,
    ):
        assert re.search(rf"(?<!\S){re.escape(typed)} explain E\d{{4}}", said)
        assert typed == "p4lab" or "p4lab explain" not in said


def test_a_path_with_a_space_is_pasted_as_one_word(monkeypatch, tmp_path):
    monkeypatch.setenv(ENVIRONMENT, "/opt/p4 lab ü/lab")
    started = p4lab("start", "01-bier", tmp_path / "mine").stdout
    (then,) = re.findall(r"^Then: (.*)$", started, re.MULTILINE)
    assert shlex.split(then) == ["/opt/p4 lab ü/lab", "check", "01-bier", str(tmp_path / "mine")]


def test_help_is_written_with_the_command(typed):
    for verb in ("check", "run", "trace", "strengthen"):
        said = p4lab(verb, "--help").stdout
        assert f"Usage: {typed} {verb} " in said
        assert "<bool>" not in said, "a flag takes nothing"
        commands = re.findall(r"(\S*)(?<![/\w])(?:lab|p4lab) (?:start|run|trace|mutants)\b", said)
        assert all((f"{before}lab" if "/" in before else "p4lab") == typed for before in commands)


@pytest.mark.parametrize("verb", [name for verbs in PANELS.values() for name in verbs])
def test_no_word_of_a_help_is_broken_in_a_terminal_of_80_columns(verb):
    def words(columns: int) -> set[str]:
        shown = CliRunner().invoke(app, [verb, "--help"], env={"COLUMNS": str(columns)}).stdout
        assert "Usage" in shown
        return set(re.findall(r"[^\s│╭╮╰╯─]+", shown))

    assert words(300) - words(80) == set()


SHARED = ["README.md", "labs/*/README.md", "docs/checks.md", "docs/grading.md", "docs/prove.md"]


def test_pages_of_the_checkout_have_one_name_for_the_command():
    """Who has a checkout has `./lab`. A handout that says p4lab costs a class the first minutes."""
    written = re.compile(r"(?<![\w./-])p4lab (?:start|check|watch|run|trace|grade|compile) ")
    pages = [page for pattern in SHARED for page in ROOT.glob(pattern)]
    assert len(pages) >= 8
    assert [page for page in pages if written.search(page.read_text(encoding="utf-8"))] == []


def test_sentences_of_errors(typed):
    assert f"({typed} explain lists all" in p4lab("explain", "E9999").stderr
    assert f"{typed} run 01-bier DIR" in p4lab("run", ROOT / "docs").stderr


def test_records_are_the_same_whoever_reads_them(monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, "./lab")
    assert command() == "./lab"
    assert pasted("More: p4lab explain E0305", "explain") == "More: ./lab explain E0305"


def test_the_script_is_called_as_it_is_typed(tmp_path):
    """The usage line, from another folder and by its name alone. The script runs without its
    set-up, which would make the packages of this very run anew."""
    _, mark, rest = (ROOT / "lab").read_text(encoding="utf-8").partition("# As it was typed")
    named, set_up, rest = rest.partition("\npart=$(part_for ")
    assert mark and set_up
    end = f"{named}\n{rest.splitlines()[-1]}\n"
    script = tmp_path / "lab"
    script.write_text(f"#!/usr/bin/env bash\npython={shlex.quote(sys.executable)}\n{mark}{end}")
    script.chmod(0o755)
    (tmp_path / "docs").mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "COLUMNS": "100"}
    for words, folder, name in (
        (["./lab"], tmp_path, "./lab"),
        (["../lab"], tmp_path / "docs", "../lab"),
        (["bash", "lab"], tmp_path, "./lab"),
    ):
        done = subprocess.run(
            [*words, "check", "--help"],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"Usage: {name} check" in done.stdout


def test_the_version_is_said():
    assert p4lab("--version").stdout == f"p4lab {__version__}\n"


READ = [
    (("bench", "scale", "--seconds", "0"), 2, "Invalid value for '--seconds'"),
    (("experiment", "fabric", "--runs", "0"), 2, "Invalid value for '--runs'"),
    (("experiment", "nosuch"), 2, "No such command 'nosuch'"),
    (("bench", "--help"), 0, "Measure the engine on this machine"),
    (("bench", "scale"), TO_BE_RUN, ""),
    (("mutants", "01-bier", "--json"), TO_BE_RUN, ""),
]


@pytest.mark.parametrize(("arguments", "status", "told"), READ)
def test_a_command_line_is_read_and_not_run(
    arguments: tuple[str, ...], status: int, told: str
) -> None:
    """Else a mistake is refused only when what the verb needs has been built, for minutes."""
    done = subprocess.run(
        [sys.executable, "-c", "from p4lab.cli.reading import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert told in done.stdout + done.stderr and bool(told) == bool(done.stdout + done.stderr)
