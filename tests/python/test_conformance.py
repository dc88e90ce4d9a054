"""`p4lab conformance`: a score that says yes when something changed is worse than none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runner import ROOT, p4lab

TREE = ROOT / "crates" / "p4-conformance" / "tests" / "p4c"

ACCEPTED = """\
accepted-core:p4_16_samples/garbage.p4 parse E0001 it is not text
accepted-core:p4_16_samples/unknown-name.p4 check E0201 it uses a name that nobody declares
"""


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "manifest.txt"
    path.write_text(ACCEPTED)
    return path


def test_exits_0_when_everything_is_as_the_manifest_says(manifest: Path) -> None:
    done = p4lab(
        "conformance", "--p4c", TREE, "--only", "accepted-*", "--manifest", manifest, "--json"
    )
    assert done.returncode == 0, done.stdout
    report = json.loads(done.stdout)
    assert report["ok"] is True
    assert report["p4c"] == {"release": "0.0.1", "commit": None}
    boards = {board["board"]: board for board in report["boards"]}
    assert boards["accepted-core"] == {
        "board": "accepted-core",
        "total": 3,
        "passed": 1,
        "expected": 2,
        "unexpected": 0,
    }
    reasons = [case["reason"] for case in report["expected_failures"]]
    assert reasons == ["it is not text", "it uses a name that nobody declares"]


def test_a_failure_without_a_line_exits_1_and_says_what_to_paste(manifest: Path) -> None:
    manifest.write_text(ACCEPTED.splitlines()[0])
    arguments = ["conformance", "--p4c", TREE, "--only", "accepted-*", "--manifest", manifest]
    done = p4lab(*arguments)
    assert done.returncode == 1
    assert "UNEXPECTED accepted-core:p4_16_samples/unknown-name.p4  check  E0201" in done.stdout
    missing = p4lab(*arguments, "--missing")
    assert missing.returncode == 1
    assert missing.stdout.split() == [
        "accepted-core:p4_16_samples/unknown-name.p4",
        "check",
        "E0201",
    ]


def test_a_pass_with_a_line_and_a_line_about_nothing_exit_1(manifest: Path) -> None:
    manifest.write_text(
        ACCEPTED
        + "accepted-core:p4_16_samples/fine.p4 check E0201 no more\n"
        + "accepted-core:p4_16_samples/gone.p4 check E0201 moved away\n"
    )
    done = p4lab("conformance", "--p4c", TREE, "--only", "accepted-*", "--manifest", manifest)
    assert done.returncode == 1
    assert "PASSES accepted-core:p4_16_samples/fine.p4" in done.stdout
    assert "NOT THERE accepted-core:p4_16_samples/gone.p4" in done.stdout


def test_files_that_no_board_judges_are_listed() -> None:
    done = p4lab("conformance", "--p4c", TREE, "--excluded")
    assert "p4_14_samples/unscripted.p4: P4_14 program without a script" in done.stdout
    assert "p4_16_samples/other.stf: script for psa" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--p4c", "nowhere"], "nowhere: no such directory"),
        (["--p4c", ROOT / "p4"], "is not a checkout of p4c"),
        (["--p4c", TREE, "--only", "stf-fast:*"], "Nothing matches --only stf-fast:*"),
        (["--p4c", TREE, "--manifest", "none.txt"], "none.txt: no such manifest"),
        (["--p4c", TREE, "--manifest", TREE / "Version.txt"], "Line 1 of the manifest"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[object], said: str) -> None:
    done = p4lab("conformance", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
