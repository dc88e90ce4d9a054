"""Without these, the same class could get other grades tomorrow or on another machine, a student
could learn a hidden case, or an instructor could lose a file or the secret."""

import csv
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from cli_runner import ROOT, p4lab
from p4lab.course.home import HERE
from p4lab.grading.course import hidden_seeds, load, public_seeds
from p4lab.grading.submission import Wanted

pytestmark = pytest.mark.beside(seconds=30)

LAB = "01-bier"
SEED = "20261121"


@pytest.fixture(scope="session")
def course():
    return load(LAB)


@pytest.fixture(scope="session")
def solution(course):
    return course.sources["bier/bier.p4"]


@pytest.fixture(scope="session")
def handed_in(tmp_path_factory, course, solution):
    """A small class: right, wrong in one place each, the starter, and what cannot be read."""
    folder = tmp_path_factory.mktemp("class")
    starter = (HERE.labs / LAB / "starter" / "bier" / "bier.p4").read_text()
    remaining = "carried.remaining = carried.remaining & ~fbm;"
    copied = "hdr.bier.bit_string = carried.remaining & fbm;"
    proto = "hdr.bier.proto      = BIER_PROTO_IPV4;"
    assert [solution.count(text) for text in (remaining, copied, proto)] == [2, 1, 1]
    wrong = f"{copied} if (hdr.bier.ttl == {hidden_ttl(course)}) {{ hdr.bier.bit_string = 0; }}"
    for name, text in {
        "ann": solution,
        "bob": starter,
        # Wrong in one hidden case.
        "cat": solution.replace(copied, wrong),
        "dan": solution.replace(remaining, "carried.remaining = 0;", 1),
        "eve": "x y z\n",
        "fay": solution.replace(proto, "hdr.bier.proto = 5;"),
    }.items():
        (folder / name / "bier").mkdir(parents=True)
        (folder / name / "bier" / "bier.p4").write_text(text)
    (folder / "gus.p4").symlink_to("/etc/passwd")
    return folder


def hidden_ttl(course) -> int:
    """A TTL that the copies of a hidden case have and those of no public one."""
    course.prepare(int(SEED))
    found: dict[bool, set[int]] = {True: set(), False: set()}
    for check in course.checks:
        for hidden, seeds in ((False, public_seeds(check)), (True, hidden_seeds(check, int(SEED)))):
            for seed in seeds if check.scenario or check.parses else ():
                for step in told(course.case(check, seed)):
                    found[hidden] |= {
                        int(ttl) for ttl in re.findall(r"bier\([^)]* ttl=(\d+)", step)
                    }
    return min(ttl for ttl in found[True] - found[False] if ttl > 1)


def grade(folder, out, *options):
    return p4lab("grade", LAB, folder, "--out", out, *options)


ALL = [part for name in ("gradescope", "prairielearn", "junit") for part in ("--format", name)]


@pytest.fixture(scope="session")
def graded(handed_in, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "grades"
    done = grade(handed_in, out, "--seed", SEED, "--workers", "1", *ALL)
    assert done.returncode == 0, done.stderr
    return out


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_everybody_gets_their_points(graded, course):
    rows = {row["student"]: row for row in csv.DictReader((graded / "grades.csv").open())}
    most = sum(check.points for check in course.checks)
    assert float(rows["ann"]["points"]) == most == float(rows["ann"]["max_points"])
    assert float(rows["bob"]["points"]) == course.starter_points
    assert 0 < float(rows["dan"]["points"]) < most
    assert 0 < float(rows["fay"]["points"]) < most
    assert rows["eve"]["points"] == rows["gus"]["points"] == "0"
    assert "symbolic link" in rows["gus"]["trouble"] and not rows["eve"]["trouble"]


def test_two_workers_write_the_same_bytes_as_one(handed_in, graded, tmp_path):
    done = grade(handed_in, tmp_path / "out", "--seed", SEED, "--workers", "2", *ALL)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "out") == contents(graded)


def test_no_hidden_case_reaches_a_student(graded, course):
    """Whatever is drawn for a hidden case: its seed, its steps, its packets, their bytes. What
    public cases or the student's own program show is not a secret."""
    course.prepare(int(SEED))
    public = "".join(
        step
        for check in course.checks
        if check.scenario or check.parses
        for seed in public_seeds(check)
        for step in told(course.case(check, seed))
    )
    secrets = {SEED}
    for check in course.checks:
        for seed in hidden_seeds(check, int(SEED)) if check.scenario or check.parses else ():
            case = course.case(check, seed)
            for step in told(case):
                secrets |= {word for word in re.findall(r"\w{6,}", step) if re.search(r"\d", word)}
                secrets.add(step)
            for sending in case.case.sendings:
                secrets.add(sending.data.hex())
            for outputs in case.outputs:
                secrets |= {data.hex() for _, data in outputs}
    secrets = {secret for secret in secrets if secret not in public}
    assert len(secrets) > 100
    records = (graded / "records.json").read_text()
    assert any(
        check["hidden"] for row in json.loads(records)["verdicts"] for check in row["checks"]
    )
    assert any(json.dumps(secret)[1:-1] in records for secret in secrets)
    for path in graded.rglob("*"):
        if path.is_file() and path.name != "records.json":
            text = path.read_text()
            if path.parent.parent.name == "gradescope":
                result = json.loads(text)
                tests = [test for test in result["tests"] if test["visibility"] != "hidden"]
                text = json.dumps({**result, "tests": tests})
            found = sorted(secret for secret in secrets if secret in text)
            assert not found, f"{path.name} shows {found[:3]}"


def told(judged) -> list[str]:
    return [*judged.case.steps, *(sending.text for sending in judged.case.sendings)]


def test_after_the_release_the_case_is_shown(handed_in, tmp_path):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "cat.p4").write_text((handed_in / "cat/bier/bier.p4").read_text())
    assert grade(tmp_path / "class", tmp_path / "hidden", "--seed", SEED).returncode == 0
    before = (tmp_path / "hidden/students/cat.md").read_text()
    assert "All public cases are right; a hidden case is not." in before
    assert "Kind: bits lost" in before and "a packet comes in" not in before
    done = grade(tmp_path / "class", tmp_path / "shown", "--seed", SEED, "--reveal")
    assert done.returncode == 0
    assert "a packet comes in" in (tmp_path / "shown/students/cat.md").read_text()


def test_the_secret_is_made_once_and_for_its_owner(handed_in, tmp_path):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "bob.p4").write_text("x y z")
    secret = tmp_path / "class" / "term.seed"
    first = grade(tmp_path / "class", tmp_path / "out", "--seed-file", secret)
    assert first.returncode == 0 and "Keep it from students" in first.stderr
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    number = secret.read_text().strip()
    assert number.isdecimal() and len(number) > 10
    files = contents(tmp_path / "out")
    again = grade(tmp_path / "class", tmp_path / "out", "--seed-file", secret)
    assert again.returncode == 0 and "Keep it" not in again.stderr
    assert secret.read_text().strip() == number
    assert contents(tmp_path / "out") == files
    assert not any(number.encode() in content for content in files.values())
    assert number not in first.stdout + first.stderr + again.stdout + again.stderr
    secret.chmod(0o644)
    warned = grade(tmp_path / "class", tmp_path / "out", "--seed-file", secret)
    assert "chmod 600" in warned.stderr
    secret.write_text("tomorrow\n")
    broken = grade(tmp_path / "class", tmp_path / "out", "--seed-file", secret)
    assert broken.returncode == 2 and "a seed is one whole number" in broken.stderr


def test_results_are_for_their_owner(tmp_path):
    """records.json discloses the hidden cases, as the seed does."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada.p4").write_text("")
    out, open_one = tmp_path / "new" / "results", tmp_path / "mine"
    open_one.mkdir(mode=0o750)
    for folder in (out, open_one):
        assert grade(tmp_path / "class", folder, "--no-prove", "--seed", "7").returncode == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert stat.S_IMODE(open_one.stat().st_mode) == 0o750, "its owner has opened it"
    assert grade(tmp_path / "nothing", tmp_path / "none", "--seed", "7").returncode == 2
    assert not (tmp_path / "none").exists()


def test_results_never_mix_with_other_files(tmp_path):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "bob.p4").write_text("x y z")
    (tmp_path / "class" / "ann.p4").write_text("x y z")
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    refused = grade(tmp_path / "class", out, "--seed", "1")
    assert refused.returncode == 2 and "holds other files" in refused.stderr
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]
    (out / "thesis.txt").unlink()
    assert grade(tmp_path / "class", out, "--seed", "1", *ALL).returncode == 0
    (tmp_path / "class" / "ann.p4").unlink()
    assert grade(tmp_path / "class", out, "--seed", "1").returncode == 0
    assert not [path for path in contents(out) if "ann" in path or "gradescope" in path]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("no-such-folder",), "give the folder of submissions"),
        (("empty",), "has no submissions"),
        (("class", "--seed", "1", "--seed-file", "x"), "not both"),
    ],
)
def test_what_the_instructor_got_wrong_is_one_sentence(tmp_path, monkeypatch, arguments, told):
    (tmp_path / "empty").mkdir()
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "bob.p4").write_text("x y z")
    monkeypatch.chdir(tmp_path)
    done = p4lab("grade", LAB, *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_cluster_that_does_not_answer_is_one_sentence(course, monkeypatch):
    pytest.importorskip("distributed", reason="dask is not installed")
    from p4lab.grading import folder
    from p4lab.grading.workers import GradingError, Task
    from p4lab.spread import cluster

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    for address in ("tcp://127.0.0.1:1", "nonsense://x", ""):
        with pytest.raises(GradingError, match="no Dask scheduler answers at"):
            task = Task(LAB, Wanted(("bier/bier.p4",)), 1)
            folder.grade(course, [], task, folder.Hands(1), dask=address)


def test_what_several_hand_in_is_judged_once(course, tmp_path, monkeypatch):
    """Near a limit, who hands in the same could get another verdict."""
    from p4lab.grading import folder
    from p4lab.grading.apart import Judged
    from p4lab.grading.handins import Entry
    from p4lab.grading.judge import nothing
    from p4lab.grading.workers import Hand, Task

    def slow(_hand, student, files, _task):
        asked.append(files["bier/bier.p4"])
        return Judged(nothing(course, student, f"run {len(asked)} takes too long"))

    asked: list[str] = []
    found = []
    for name, text in (("ann", "x"), ("bob", "y"), ("cy", "x")):
        (tmp_path / f"{name}.p4").write_text(text)
        found.append(Entry(name, (("bier.p4", tmp_path / f"{name}.p4"),)))
    monkeypatch.setattr(Hand, "judge", slow)
    heard = []
    with folder.Hands(1) as hands:
        task = Task(LAB, Wanted(("bier/bier.p4",)), 1)
        graded = folder.grade(course, found, task, hands, done=heard.append)
    assert asked == ["x", "y"]
    verdicts = [row.verdict for row in graded]
    assert [one.student for one in verdicts] == ["ann", "bob", "cy"]
    assert verdicts[0].trouble == verdicts[2].trouble != verdicts[1].trouble
    assert sorted(one.student for one in heard) == ["ann", "bob", "cy"]


def test_a_module_that_a_student_handed_in_is_not_imported(tmp_path, monkeypatch, solution):
    """A worker is a Python process, and Python looks for modules where it is started."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "bob.p4").write_text("x y z")
    for name in ("json", "signal", "resource", "select", "p4lab"):
        (tmp_path / "class" / f"{name}.py").write_text("open('owned', 'w')\n")
    from p4lab.grading.sandbox import Limits
    from p4lab.grading.workers import Task, Worker

    monkeypatch.chdir(tmp_path / "class")
    worker = Worker()
    try:
        task = Task(LAB, Wanted(("bier/bier.p4",)), 1, Limits())
        assert worker.read([("bob.p4", Path("bob.p4"))], task).files == {"bier/bier.p4": "x y z"}
        assert worker.judge("bob", {"bier/bier.p4": "x y z"}, task).verdict.points == 0
    finally:
        worker.close()
    assert not (tmp_path / "class" / "owned").exists()


def test_a_worker_that_dies_is_replaced(tmp_path, solution):
    from p4lab.grading.sandbox import Limits
    from p4lab.grading.workers import Hand, Task

    hand, task = Hand(), Task(LAB, Wanted(("bier/bier.p4",)), 1, Limits())
    try:
        first = hand.judge("ann", {"bier/bier.p4": "x y z"}, task)
        process = hand._worker._process
        process.kill()
        process.wait()
        assert hand.judge("ann", {"bier/bier.p4": "x y z"}, task) == first
        assert hand._worker._process.pid != process.pid
    finally:
        hand.stop()


def test_nobody_loses_points_for_a_grader_that_does_not_start(monkeypatch):
    from p4lab.grading import course, workers
    from p4lab.grading.sandbox import Limits

    def broken(*_):
        raise TypeError("an engine of another version")

    monkeypatch.setattr(course.Course, "prepare", broken)
    request = {"judge": {}, "student": "x", "lab": LAB, "seed": 1, "limits": asdict(Limits())}
    answer = workers._Server().answer(request)
    assert answer == {
        "fault": f"the grader cannot get labs/{LAB} ready: TypeError: an engine of another version"
    }


def test_an_interrupt_ends_everything(tmp_path, solution):
    """Ctrl-C while a submission takes all the time it may."""
    mark = "    Bfir() bfir;\n    Bfr() bfr;\n\n    apply {\n"
    assert solution.count(mark) == 1
    loops = "".join(f"for (bit<32> i{n} in 32w0 .. 32w0xffffffff) {{" for n in range(5))
    text = solution.replace(mark, f"bit<64> z = 0;\n{mark}{loops} z = z + 1; {'}' * 5}\n")
    (tmp_path / "class").mkdir()
    for name in ("ann", "bob"):
        (tmp_path / "class" / f"{name}.p4").write_text(f"{text}// {name}\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "p4lab", "grade", LAB, str(tmp_path / "class"), "--seed", "1"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out"), "--seconds", "3600", "--workers", "2"],
        env=environment,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while len(below(process.pid)) < 4:  # two workers, and a fork of each
        assert process.poll() is None
        time.sleep(0.05)
    everyone = below(process.pid)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode != 0 and b"Traceback" not in told
    while any(Path(f"/proc/{pid}").exists() for pid in everyone):
        time.sleep(0.05)
    assert not (tmp_path / "out").exists()


def below(pid: int) -> set[int]:
    """The processes that a process has started, and those that these have."""
    if not list(Path("/proc/self/task").glob("*/children")):
        pytest.skip("this system does not list a process's children")
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = {int(child) for child in task.read_text().split()}
        except OSError:  # it has just ended
            continue
        for child in children:
            found |= {child} | below(child)
    return found


def test_a_worker_has_one_thread(tmp_path):
    """It forks: a lock that another thread holds would never be given back in the fork."""
    from p4lab.grading.sandbox import Limits
    from p4lab.grading.workers import Task, Worker

    worker = Worker()
    try:
        worker.judge(
            "x", {"bier/bier.p4": "x y z"}, Task(LAB, Wanted(("bier/bier.p4",)), 1, Limits())
        )
        tasks = Path(f"/proc/{worker._process.pid}/task")
        if not tasks.is_dir():
            pytest.skip("this system does not list a process's threads")
        assert len(os.listdir(tasks)) == 1
    finally:
        worker.close()


def test_dask_gives_the_same_bytes(handed_in, graded, tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
    ) as cluster:
        done = grade(
            handed_in, tmp_path / "out", "--seed", SEED, "--dask", cluster.scheduler_address, *ALL
        )
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "out") == contents(graded)
