"""README.md is always true: every command it shows is run here, as a newcomer would type it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from p4lab import rights
from p4lab.paths import ROOT

COMMANDS = re.findall(r"^\./lab .+$", (ROOT / "README.md").read_text(), re.MULTILINE)

# `./lab test` is what runs this test, and test_cli_run.py measures everything once.
RUN_ELSEWHERE = {"./lab test", "./lab bench"}

# Folders that the page names; they are made elsewhere here.
FOLDERS = {"captures", "figure11", "mylab01", "submissions"}

# A starter that nobody has worked on does not pass.
VERDICT_NO = {"./lab check 01-bier mylab01"}


def test_the_readme_shows_commands() -> None:
    assert len(COMMANDS) > 5


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's folders are; what one command makes, a later one finds."""
    place = tmp_path_factory.mktemp("readme")
    (place / "submissions/ada/bier").mkdir(parents=True)
    solution = (ROOT / "p4/bier/bier.p4").read_text()
    (place / "submissions/ada/bier/bier.p4").write_text(solution)
    return place


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in RUN_ELSEWHERE])
def test_the_command_works(command: str, folders: Path) -> None:
    if "--net linux" in command and rights.held() is None and (refused := rights.refusal()):
        pytest.skip(f"no Linux hosts for this user: {refused.reason}")
    words = shlex.split(command)
    arguments = words[words.index("./lab") + 1 :]
    arguments = [str(folders / a) if a in FOLDERS else a for a in arguments]
    if arguments[0] == "grade":
        arguments += ["--out", str(folders / "grades"), "--seed-file", str(folders / "seed")]
    done = subprocess.run(
        [sys.executable, "-m", "p4lab", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,  # a busy machine is no reason to fail
        check=False,
    )
    wanted = 1 if command in VERDICT_NO else 0
    assert done.returncode == wanted, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_the_links_lead_somewhere() -> None:
    for page in ("README.md", "ARCHITECTURE.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
            assert (ROOT / target).exists(), f"{page} links to {target}"
