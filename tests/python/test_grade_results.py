"""Without these, a full disk, a second run or Ctrl-C could cost an instructor an evening."""

from __future__ import annotations

import csv
import errno
import fcntl
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from cli_runner import ROOT, p4lab
from grade_verdicts import ANN
from p4lab.cli import grade_verb
from p4lab.grading import classes, journal, results, sandbox
from p4lab.grading.apart import Judged
from p4lab.grading.attempts import sampled
from p4lab.grading.course import load
from p4lab.grading.judge import nothing
from p4lab.grading.sandbox import Limits
from p4lab.grading.seed import make_seed, read_seed
from p4lab.grading.standing import Class
from p4lab.grading.submission import Wanted
from p4lab.grading.workers import GradingError, Task
from p4lab.grading.writers.changes import Change
from p4lab.grading.writers.layout import Graded

pytestmark = pytest.mark.beside(seconds=20)

LAB = "01-bier"
COURSE = load(LAB)


def contents(folder: Path) -> dict[str, str]:
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


OLD = {"records.json": "{}", "grades.csv": "old", "students/ann.md": "old", "students/bob.md": "b"}


# ---- What is written ----------------------------------------------------------------------------


def test_new_results_take_the_place_of_all_old_ones(tmp_path):
    results.write(tmp_path / "out", OLD)
    (tmp_path / "out" / "notes.txt").write_text("an instructor's own")
    new = {"records.json": "[]", "students/ann.md": "new"}
    results.write(tmp_path / "out", new)
    assert contents(tmp_path / "out") == {**new, "notes.txt": "an instructor's own"}


@pytest.mark.parametrize("fails_at", range(1, 5))
def test_a_full_disk_leaves_the_old_results(tmp_path, monkeypatch, fails_at):
    results.write(tmp_path, OLD)
    count, real = 0, Path.write_text

    def write_text(path: Path, *arguments: str, **options: str) -> None:
        nonlocal count
        count += 1
        if count == fails_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", write_text)
    with pytest.raises(OSError, match="No space left"):
        results.write(tmp_path, {name: "new" for name in (*OLD, "summary.md")})
    monkeypatch.undo()
    assert contents(tmp_path) == OLD


def test_a_disk_that_is_really_full_leaves_the_old_results(tmp_path):
    """A file system of 256 KiB, in a namespace of its own."""
    if os.geteuid() != 0:
        pytest.skip("a small file system needs root")
    (tmp_path / "class").mkdir()
    (tmp_path / "disk").mkdir()
    for number in range(30):
        (tmp_path / "class" / f"s{number}.p4").write_text("x y z")
    script = f"""
        set -e
        cd {tmp_path}
        mount -t tmpfs -o size=256k tmpfs disk
        run() {{ {sys.executable} -m p4lab grade {LAB} "$1" --seed 1 --out disk/out; }}
        mkdir one && cp class/s0.p4 one
        run one >&2
        before=$(find disk/out -type f | sort | xargs sha256sum)
        status=0
        run class >&2 || status=$?
        after=$(find disk/out -type f ! -name {journal.JOURNAL} | sort | xargs sha256sum)
        [ "$before" = "$after" ] && echo "status $status, as before"
    """
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare failed" in done.stderr or "permission denied" in done.stderr:
        pytest.skip("no namespaces here")
    assert done.stdout == "status 2, as before\n", done.stderr
    assert "No space left on device" in done.stderr and "Traceback" not in done.stderr


def test_a_seed_is_there_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", full)
        with pytest.raises(GradingError, match="No space left"):
            make_seed(tmp_path / "term.seed")
    assert not list(tmp_path.iterdir())
    make_seed(tmp_path / "term.seed")
    seed = read_seed(tmp_path / "term.seed")
    make_seed(tmp_path / "term.seed")
    assert read_seed(tmp_path / "term.seed") == seed


# ---- What is kept -------------------------------------------------------------------------------

FILES = {"bier/bier.p4": "x y z"}
OTHERS = {"bier/bier.p4": "x y"}


def judged(name: str) -> Judged:
    return Judged(nothing(COURSE, name, ""))


def test_verdicts_are_found_again_for_the_same_files_and_the_same_grading(tmp_path):
    with journal.opened(tmp_path / "out", "key") as kept:
        kept.keep(FILES, judged("ann"))
    with journal.opened(tmp_path / "out", "key") as kept:
        assert kept.find("ann", FILES) == judged("ann")
        assert kept.find("ann", OTHERS) is None
    with journal.opened(tmp_path / "out", "another seed") as kept:
        assert kept.find("ann", FILES) is None
    assert not list((tmp_path / "out").iterdir()), "nothing is left of what is not wanted"


def test_proofs_are_found_again_after_an_interrupt(tmp_path):
    with pytest.raises(KeyboardInterrupt), journal.opened(tmp_path, "key") as kept:
        kept.keep_attempt("a program", sampled("it is too long"))
        raise KeyboardInterrupt
    with journal.opened(tmp_path, "key") as kept:
        assert kept.find_attempt("a program") == sampled("it is too long")


def test_a_line_that_was_cut_costs_one_verdict(tmp_path):
    with journal.opened(tmp_path, "key") as kept:
        kept.keep(FILES, judged("ann"))
        kept.keep(OTHERS, judged("bob"))
    path = tmp_path / journal.JOURNAL
    path.write_text(path.read_text()[:-20])
    with journal.opened(tmp_path, "key") as kept:
        assert kept.find("ann", FILES) == judged("ann") and kept.find("bob", OTHERS) is None
        kept.keep(OTHERS, judged("bob"))
    with journal.opened(tmp_path, "key") as kept:
        assert kept.find("bob", OTHERS) == judged("bob")
        kept.finish()
    assert not path.exists()


def test_what_the_grader_failed_on_is_judged_again(tmp_path):
    """The next time it may be corrected, or the machine less busy."""
    failed = Judged(nothing(COURSE, "ann", "The grader failed."), "a traceback")
    with journal.opened(tmp_path, "key") as kept:
        kept.keep(FILES, failed)
        kept.keep(OTHERS, judged("bob"))
    with journal.opened(tmp_path, "key") as kept:
        assert kept.find("ann", FILES) is None and kept.find("bob", OTHERS)


def test_who_hands_in_the_same_gets_the_same_verdict_under_their_own_name(tmp_path):
    """Without this twenty starters are judged twenty times, and near a limit not alike."""
    with journal.opened(tmp_path, "key") as kept:
        kept.keep(FILES, judged("ann"))
        assert kept.find("bob", FILES) == judged("bob")
        assert kept.find("ann", FILES) == judged("ann")


def test_what_a_verdict_hangs_on_is_part_of_the_key():
    task = Task(LAB, Wanted(("bier/bier.p4",)), 1)
    keys = {
        journal.key_of(COURSE, one)
        for one in (
            task,
            Task(LAB, task.wanted, 2),
            Task(LAB, task.wanted, 1, Limits(cpu_seconds=3)),
        )
    }
    assert len(keys) == 3 and journal.key_of(COURSE, task) in keys


def test_only_its_owner_reads_the_hidden_cases_of_a_journal(tmp_path):
    with journal.opened(tmp_path, "key"):
        assert (tmp_path / journal.JOURNAL).stat().st_mode & 0o077 == 0


def test_two_gradings_into_one_folder_do_not_mix(tmp_path):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ann.p4").write_text("x y z")
    with journal.opened(tmp_path / "out", "key"):
        done = p4lab("grade", LAB, tmp_path / "class", "--seed", 1, "--out", tmp_path / "out")
    assert done.returncode == 2 and "another grading is at work there" in done.stderr


def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch):
    """As some network file systems are: without a lock two gradings could mix."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError) as refused, journal.opened(tmp_path, "key"):
        pass
    assert refused.value.filename == str(tmp_path)
    assert refused.value.strerror.endswith("give a folder on another one with --out")
    assert not list(tmp_path.iterdir()), "what was only there to be locked goes again"
    (tmp_path / journal.JOURNAL).write_text("judged before")
    with pytest.raises(OSError), journal.opened(tmp_path, "key"):
        pass
    assert (tmp_path / journal.JOURNAL).read_text() == "judged before"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_judged_is_not_judged_again(tmp_path, number):
    """Ctrl-C in the middle of a class, and then the same command once more."""
    endless = endless_program()
    (tmp_path / "class").mkdir()
    for name, text in {"ann": "x y z", "bob": endless, "cat": "x y"}.items():
        (tmp_path / "class" / f"{name}.p4").write_text(text)
    out = tmp_path / "out"
    arguments = ["grade", LAB, str(tmp_path / "class"), "--seed", "1", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "p4lab", *arguments, "--seconds", "3600", "--workers", "2"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    path = out / journal.JOURNAL
    while not path.exists() or path.read_text().count("\n") < 3:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130, told
    assert "the same command continues from there" in told
    assert "Traceback" not in told and "BrokenPipe" not in told
    (tmp_path / "class" / "bob.p4").write_text("x")
    again = p4lab(*arguments, "--seconds", "3600")
    assert again.returncode == 0, again.stderr
    assert "2 were judged before, in a run that did not finish." in again.stdout
    assert not path.exists()
    (tmp_path / "whole").mkdir()
    fresh = p4lab(*arguments[:-1], str(tmp_path / "whole" / "out"), "--seconds", "3600")
    assert fresh.returncode == 0
    assert contents(out) == contents(tmp_path / "whole" / "out")


def endless_program() -> str:
    solution = COURSE.sources["bier/bier.p4"]
    mark = "    Bfir() bfir;\n    Bfr() bfr;\n\n    apply {\n"
    assert solution.count(mark) == 1
    loops = "".join(f"for (bit<32> i{n} in 32w0 .. 32w0xffffffff) {{" for n in range(5))
    return solution.replace(mark, f"bit<64> z = 0;\n{mark}{loops} z = z + 1; {'}' * 5}\n")


# ---- What is said -------------------------------------------------------------------------------


def test_a_regrade_tells_whose_points_changed(tmp_path):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ann.p4").write_text("x y z")
    (tmp_path / "class" / "bob.p4").write_text("x y z")
    out = tmp_path / "out"
    command = ("grade", LAB, tmp_path / "class", "--seed", "1", "--out", out)
    first = json.loads(p4lab(*command, "--json").stdout)
    assert [row["points"] for row in first["students"]] == [0, 0] and first["changed"] == []
    (tmp_path / "rules.toml").write_text(
        '[[adjust]]\nstudent = "bob"\npoints = 5\nreason = "Shown in class."\n'
    )
    (tmp_path / "class" / "ann.p4").write_text(COURSE.sources["bier/bier.p4"])
    second = p4lab(*command, "--rules", tmp_path / "rules.toml", "--json")
    changed = {row["student"]: row for row in json.loads(second.stdout)["changed"]}
    assert (changed["ann"]["before"], changed["ann"]["after"]) == (0, 100)
    assert changed["bob"]["why"] == ["By hand: Shown in class."]
    assert "Shown in class" in (out / "changes.csv").read_text()
    assert "Shown in class" in (out / "students" / "bob.md").read_text()
    assert p4lab(*command, "--rules", tmp_path / "rules.toml").returncode == 0
    assert not (out / "changes.csv").exists(), "nothing has changed since"


def test_a_long_grading_says_how_far_it_is_without_a_terminal(capsys):
    """Who reads a file or a log of a batch system could not tell a long grading from one that
    hangs."""
    now = [0.0]
    lines = grade_verb.Lines(lambda: now[0])
    lines.begin(3)
    for _ in range(3):
        now[0] += 25
        lines.done(None)
    assert capsys.readouterr().err == "3 of 3 judged\n"
    lines.begin(3 + 2)
    for _ in range(2):
        now[0] += 60
        lines.done(None)
    assert capsys.readouterr().err == (
        "3 of 3 judged, 1 of 2 proofs tried\n3 of 3 judged, 2 of 2 proofs tried\n"
    )


def test_a_short_grading_says_nothing_on_the_way(capsys):
    """Every log of a small class would have lines that say nothing."""
    lines = grade_verb.Lines(lambda: 0.0)
    lines.begin(1)
    lines.done(None)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("option", "told"),
    [("--roster", "nobody.csv: No such file"), ("--rules", "rules.toml: this is not TOML")],
)
def test_lists_are_read_before_a_seed_is_made(tmp_path, monkeypatch, option, told):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ann.p4").write_text("x y z")
    (tmp_path / "rules.toml").write_text("x = ")
    monkeypatch.chdir(tmp_path)
    file = {"--roster": "nobody.csv", "--rules": "rules.toml"}[option]
    done = p4lab("grade", LAB, "class", option, file)
    assert done.returncode == 2 and told in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["class", "rules.toml"]


def test_a_rule_about_nobody_stops_before_anything_is_judged(tmp_path, monkeypatch):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ann.p4").write_text("x y z")
    (tmp_path / "rules.toml").write_text("[days]\nanne = 1\n")

    def judged(*_: object, **__: object) -> None:
        raise AssertionError("judged")

    monkeypatch.setattr(classes.folder, "grade", judged)
    inbox = classes.Inbox([tmp_path / "class"], rules=tmp_path / "rules.toml")
    with pytest.raises(GradingError, match=r"did you mean ann\?"):
        classes.grade(COURSE, inbox, tmp_path / "out", classes.How(1))
    assert not (tmp_path / "out").exists()


def test_a_file_beside_an_export_is_named_and_not_graded(tmp_path):
    (tmp_path / "class").mkdir()
    for name in ("byteb_7001_90002_bier.p4", "readme.txt", "Thumbs.db"):
        (tmp_path / "class" / name).write_text("x y z")
    out = tmp_path / "out"
    done = p4lab("grade", LAB, tmp_path / "class", "--seed", 1, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "1 submission, median 0" in done.stdout
    assert "Left out as nobody's submission: readme.txt." in done.stderr
    assert "nobody's submission: readme.txt" in (out / "summary.md").read_text()
    assert [row["student"] for row in csv.DictReader((out / "grades.csv").open())] == ["byteb"]


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (1, ("1 submission, ", "1 was judged before", "1 student has different points")),
        (2, ("2 submissions, ", "2 were judged before", "2 students have different points")),
    ],
)
def test_one_is_not_several(tmp_path, capsys, count, told):
    rows = tuple(Graded(replace(ANN, student=str(number))) for number in range(count))
    changed = [Change(row.verdict.student, 0, 1) for row in rows]
    outcome = classes.Outcome(Class(rows, {}, {}), [], changed, count)
    grade_verb._tell(outcome, tmp_path)
    said = capsys.readouterr().out
    assert all(one in said for one in told), said


def test_a_machine_that_cannot_seal_is_said_to_be_one(monkeypatch):
    if not sandbox.can_seal():
        pytest.skip("this one is such a machine")
    monkeypatch.setattr(sandbox, "seal", lambda: False)
    assert not sandbox.can_seal()


# ---- All of it together -------------------------------------------------------------------------


def test_a_canvas_export_becomes_canvas_grade_book(tmp_path):
    """Lab 05, whose answer is two files: uploads one by one, a zipped checkout, a team, somebody
    who is late, somebody who forgot a file, somebody who was not there."""
    lab = "05-recirculation"
    course = load(lab)
    program, ports = (course.sources[name] for name in course.student.edit)
    export, last_year = tmp_path / "submissions.zip", tmp_path / "2025"
    checkout = io.BytesIO()
    with zipfile.ZipFile(checkout, "w") as archive:
        archive.writestr(f"p4lab-main/labs/{lab}/lab.toml", "")
        for name in course.student.edit:
            archive.writestr(f"p4lab-main/labs/{lab}/starter/{name}", course.starter[name])
            archive.writestr(f"p4lab-main/p4/{name}", course.sources[name])
            archive.writestr(f"p4lab-main/mylab/{name}", course.sources[name] + "\n\n")
    with zipfile.ZipFile(export, "w") as archive:
        archive.writestr("lovelaceada_1_11_tna-1.p4", program)
        archive.writestr("lovelaceada_1_12_ports.toml", ports)
        archive.writestr("byteb_LATE_2_13_work.zip", checkout.getvalue())
        archive.writestr("cablecat_3_14_tna.p4", program)
    (last_year / "zed").mkdir(parents=True)
    (last_year / "zed" / "tna.p4").write_text("control X() { apply {} }")
    (tmp_path / "canvas.csv").write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,Lab 5 (77)\n    Points Possible,,,,,100\n"
        '"Lovelace, Ada",1,,al,A,\n"Byte, B",2,,bb,A,\n"Cable, Cat",3,,cc,A,\n"Dot, Dan",4,,dd,A,\n'
    )
    (tmp_path / "rules.toml").write_text(
        'due = 2026-11-20T23:59:00+01:00\nper_day = 10\n[canvas]\nassignment = "Lab 5 (77)"\n'
    )
    out = tmp_path / "out"
    done = p4lab("grade", lab, export, "--seed", 1, "--out", out, "--roster",
                 tmp_path / "canvas.csv", "--rules", tmp_path / "rules.toml", "--format", "canvas",
                 "--format", "dolos", "--cohort", last_year)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Late, but by an unknown time: bb." in done.stderr
    assert "Late, but by an unknown time: bb." in (out / "summary.md").read_text()
    late = {row["student"]: row["late"] for row in csv.DictReader((out / "grades.csv").open())}
    assert [name for name, when in late.items() if when] == ["bb"]
    assert "late, but by an unknown time" in (out / "students/bb.md").read_text()
    assert "late, but by an unknown time" in (out / "records.json").read_text()
    rows = {row["ID"]: row for row in csv.DictReader((out / "canvas.csv").open())}
    assert rows["1"]["Lab 5 (77)"] == rows["2"]["Lab 5 (77)"] == "100"
    assert 0 < float(rows["3"]["Lab 5 (77)"]) < 100, "without ports.toml"
    assert rows["4"]["Lab 5 (77)"] == "", "who was not there keeps what Canvas has"
    assert "was not handed in: the starter's is used." in (out / "students/cc.md").read_text()
    assert "All files are taken from p4lab-main/mylab." in (out / "students/bb.md").read_text()
    assert {"2025/zed.p4", f"{lab}/al.p4"} <= {
        row["filename"] for row in csv.DictReader((out / "dolos/info.csv").open())
    }
    assert {row["student"] for row in csv.DictReader((out / "alike.csv").open())} >= {"al", "bb"}
