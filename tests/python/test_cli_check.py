"""`p4lab check` and `watch` as a student uses them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli_runner import ROOT, p4lab
from p4lab.course.material import start as begin
from p4lab.grading import asked
from p4lab.targets.bmv2 import missing


def begun(tmp_path: Path) -> Path:
    folder = tmp_path / "mylab"
    assert p4lab("start", "01-bier", folder).returncode == 0
    return folder


def test_the_starter_fails_with_a_story_and_the_solution_passes(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    done = p4lab("check", "01-bier", folder)
    assert done.returncode == 1
    for part in ("PASSED", "FAILED", "total", "a packet comes in", "expected", "Hint:"):
        assert part in done.stdout
    done = p4lab("check", "01-bier", ROOT / "p4")
    assert done.returncode == 0
    assert "100/100" in done.stdout


def test_json_is_the_neutral_record(tmp_path: Path) -> None:
    done = p4lab("check", "01-bier", begun(tmp_path), "--json")
    assert done.returncode == 1
    record = json.loads(done.stdout)
    assert {"lab", "student", "trouble", "checks"} <= set(record)
    assert record["checks"][0]["status"] == "passed"


def test_an_unreadable_folder_is_a_record_too(tmp_path: Path) -> None:
    """Whoever reads the JSON must not have to guess from an empty output."""
    (tmp_path / "bier").mkdir()
    os.mkfifo(tmp_path / "bier/bier.p4")
    done = p4lab("check", "01-bier", tmp_path, "--json")
    assert done.returncode == 2 and "is a pipe" in done.stderr
    record = json.loads(done.stdout)
    assert "is a pipe" in record["trouble"]
    assert {check["status"] for check in record["checks"]} == {"skipped"}


def test_a_program_that_takes_all_memory_costs_a_sentence(tmp_path: Path) -> None:
    """It used to end the process without a word."""
    folder = begun(tmp_path)
    source = folder / "bier/bier.p4"
    wide = "const bit<2000> W = 1;\n" + "".join(
        f"const int Q{n} = {f'Q{n - 1} * Q{n - 1}' if n else '1 << 1000'};\n" for n in range(30)
    )
    source.write_text(wide + (ROOT / "p4/bier/bier.p4").read_text())
    done = p4lab("check", "01-bier", folder, "--json")
    record = json.loads(done.stdout)
    failed = [check for check in record["checks"] if check["status"] == "failed"]
    assert done.returncode == 1
    assert record["trouble"] or failed[0]["id"] == "compiles"


@pytest.mark.parametrize(
    "text",
    ["k = [" * 200_000, "x = 1\n" * 170_000, "a." * 400_000 + "b = 1", "k = " + "9" * 900_000],
)
def test_a_huge_file_of_answers_costs_a_sentence(tmp_path: Path, text: str) -> None:
    """Lab 05 reads a TOML file of the student's."""
    folder = tmp_path / "work"
    (folder / "bier").mkdir(parents=True)
    (folder / "bier/tna.p4").write_text((ROOT / "p4/bier/tna.p4").read_text())
    (folder / "bier/ports.toml").write_text(text)
    done = p4lab("check", "05-recirculation", folder, "--json")
    record = json.loads(done.stdout)
    assert done.returncode == 1 and not record["trouble"]
    failed = [check["id"] for check in record["checks"] if check["status"] == "failed"]
    assert failed and all(name.startswith("ports-") for name in failed), "the answers alone"


def test_a_compile_error_is_told_with_its_line(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    source = folder / "bier/bier.p4"
    text = source.read_text()
    source.write_text("control Broken( {\n" + text)
    done = p4lab("check", "01-bier", folder)
    assert done.returncode == 1
    assert "bier/bier.p4:1:17" in done.stdout
    assert "SKIPPED" in done.stdout
    assert "p4lab explain" in done.stdout
    # All errors, as `compile` prints them: line, caret, hint.
    source.write_text(
        text.replace("carried.source_port =", "carried.port =", 1) + "const bit<8> x = y;"
    )
    compiled = p4lab("compile", folder / "bier/v1model.p4").stderr
    shown = p4lab("check", "01-bier", folder).stdout
    assert compiled.count("Error:") == shown.count("Error:") == 2
    for line in compiled.splitlines():
        if "│" in line and "included from" not in line and "Help:" not in line:
            assert line.strip(" │") in shown


def test_the_warning_that_explains_a_failure_is_part_of_its_story(tmp_path: Path) -> None:
    """64 in a field of 4 bits is 0: the compiler knows, and `check` kept it to itself."""
    folder = begun(tmp_path)
    wrong = (ROOT / "p4/bier/bier.p4").read_text().replace("= BSL_CODE;", "= 64;")
    (folder / "bier/bier.p4").write_text(wrong)
    shown = p4lab("check", "01-bier", folder).stdout
    assert "64 does not fit in `bit<4>`: it becomes 0." in shown and "─┬" in shown
    assert shown.index("bier.bsl is wrong") < shown.index("W0505") < shown.index("Hint:")


def test_a_changed_file_of_the_lab_is_reported_by_every_verb(tmp_path: Path) -> None:
    """An emit deleted in parser.p4 gave 100 of 100 while `run` lost every packet."""
    folder = begun(tmp_path)
    (folder / "bier/bier.p4").write_text((ROOT / "p4/bier/bier.p4").read_text())
    told = "include/parser.p4 differs from the starter's"
    done = p4lab("check", "01-bier", folder)
    assert "100/100" in done.stdout and told not in done.stdout
    parser = folder / "include/parser.p4"
    parser.write_text(parser.read_text().replace("packet.emit(hdr.bier);", ""))
    done = p4lab("check", "01-bier", folder)
    assert "100/100" in done.stdout and f"{told} and is not judged" in done.stdout
    record = json.loads(p4lab("check", "01-bier", folder, "--json").stdout)
    assert record["notes"][0].startswith(told)
    assert told in p4lab("run", "01-bier", folder, "--packets", "2").stderr
    assert told in p4lab("trace", "01-bier", folder).stderr
    out = tmp_path / "grades"
    assert p4lab("grade", "01-bier", folder, "--one", "--seed", "1", "--out", out).returncode == 0
    assert told in (out / "summary.md").read_text() + (out / "records.json").read_text()


def test_what_is_not_there_is_said_with_its_remedy(tmp_path: Path) -> None:
    done = p4lab("check", "01-bier", tmp_path)
    assert done.returncode == 2
    assert "p4lab start 01-bier" in done.stderr
    done = p4lab("check", "99-none", tmp_path)
    assert done.returncode == 2
    assert "01-bier" in done.stderr
    (tmp_path / "bier").mkdir()
    (tmp_path / "bier/bier.p4").write_bytes(b"\xff\xfe")
    done = p4lab("check", "01-bier", tmp_path)
    assert done.returncode == 2
    assert "UTF-8" in done.stderr


def test_a_folder_of_other_things_is_no_place_to_begin_a_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who forgets the folder checks a whole home."""
    monkeypatch.setenv("P4LAB_FOLDER", str(tmp_path / "not-begun"))
    (tmp_path / "notes.txt").write_text("shopping\n")
    done = p4lab("check", "01-bier", cwd=tmp_path)
    assert done.returncode == 2
    assert "p4lab check 01-bier FOLDER" in done.stderr
    assert "To begin the lab: p4lab start 01-bier." in done.stderr
    done = p4lab("check", "01-bier", tmp_path)
    assert "p4lab start 01-bier mylab01" in done.stderr


def test_without_a_folder_the_files_are_those_here_or_the_notebooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notebook and `check` count the same hints, and nothing is left where nobody works."""
    mine, here = tmp_path / "mine", tmp_path / "here"
    monkeypatch.setenv("P4LAB_FOLDER", str(mine))
    here.mkdir()
    assert p4lab("start", "00-p4", cwd=here).returncode == 0
    done = p4lab("check", "00-p4", "--hint", cwd=here)
    assert "Your files are those in ../mine." in done.stdout
    assert asked.kept(mine) == {"drop-unwanted": 1} and not list(here.iterdir())
    list(begin("01-bier", here))
    (here / "bier.p4").write_text((here / "bier/bier.p4").read_text())
    shutil.rmtree(here / "bier")
    assert "Your files are" not in p4lab("check", "01-bier", cwd=here).stdout


def test_hints_and_progress_lie_with_the_work_that_was_judged(tmp_path: Path) -> None:
    """Who names the folder above it gets one line about all files, not one for each."""
    mine = tmp_path / "work" / "00-p4"
    list(begin("00-p4", mine))
    right = (ROOT / "p4" / "levels" / "1-drop.p4").read_text()
    (mine / "levels" / "1-drop.p4").write_text(right)
    done = p4lab("check", "00-p4", tmp_path)
    assert done.stdout.startswith("All files are taken from work/00-p4.\n")
    assert done.stdout.count("taken from") == 1
    p4lab("check", "00-p4", tmp_path, "--hint")
    assert asked.kept(mine) == {"forward-both": 1}
    assert (mine / "progress.toml").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["work"]


def test_a_file_that_is_empty_or_gone_comes_back(tmp_path: Path) -> None:
    list(begin("00-p4", tmp_path))
    (tmp_path / "levels" / "1-drop.p4").write_text("")
    (tmp_path / "levels" / "2-forward.p4").unlink()
    done = p4lab("check", "00-p4", tmp_path).stdout
    again = f"p4lab start 00-p4 {tmp_path}"
    assert f"1-drop.p4 is empty. To begin with the starter again, delete it, then: {again}" in done
    assert f"2-forward.p4 is missing. To begin with the starter again: {again}" in done


def test_a_target_that_is_not_there_is_all_that_is_said(tmp_path: Path) -> None:
    if not missing():
        pytest.skip("bmv2 is there")
    done = p4lab("check", "01-bier", begun(tmp_path), "--target", "bmv2")
    assert done.stderr.startswith("p4lab: the target bmv2 needs ")


def test_modules_in_the_current_folder_are_not_imported(tmp_path: Path) -> None:
    """An instructor may stand in a student's folder; what lies there is data. This is how ./lab
    starts p4lab."""
    for name in ("json", "typing", "rich", "pydantic", "tomllib"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a student was here')\n")
    script = (ROOT / "lab").read_text()
    start = re.search(r"exec \"\$python\" -c '(import os, sys.*?)' \"\$@\"", script, re.DOTALL)
    assert start is not None
    code = start[1].replace("'\"$module\"'", "__main__")
    done = subprocess.run(
        [sys.executable, "-c", code, "check", "01-bier", str(ROOT / "p4"), "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["lab"] == "01-bier"


def test_watch_checks_again_when_a_file_is_saved(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
    log = tmp_path / "log"
    with log.open("w") as file:
        child = subprocess.Popen(
            [sys.executable, "-m", "p4lab", "watch", "01-bier", str(folder)],
            stdout=file,
            stderr=subprocess.STDOUT,
            env=env,
            stdin=subprocess.DEVNULL,
        )
        try:
            wait_for(log, "Waiting for changes", 1)
            solution = (ROOT / "p4/bier/bier.p4").read_text()
            (folder / "bier/bier.p4").write_text("broken {")
            wait_for(log, "Waiting for changes", 2)
            (folder / "bier/bier.p4").write_text(solution)
            wait_for(log, "Everything passes.", 1)
        finally:
            child.terminate()
            child.wait()
    assert "Traceback" not in log.read_text()


def wait_for(log: Path, text: str, times: int) -> None:
    deadline = time.monotonic() + 60
    while log.read_text().count(text) < times:
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)


@pytest.mark.parametrize(("target", "told"), [("bmv2", "is empty"), ("engine", "is empty")])
def test_another_target_gets_what_the_engine_could_judge(
    tmp_path: Path, target: str, told: str
) -> None:
    """p4c and bmv2 have no limits: what breaks those of the sandbox does not come to them, and this
    needs neither of the two."""
    (tmp_path / "bier").mkdir()
    (tmp_path / "bier/bier.p4").write_text("\n")
    done = p4lab("check", "01-bier", tmp_path, "--target", target)
    assert done.returncode == 1, done.stderr
    assert told in done.stdout
