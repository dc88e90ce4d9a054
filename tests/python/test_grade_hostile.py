"""Without these, one student could stop, slow down or fool the grading of everybody."""

import json
import re

import pytest

from cli_runner import p4lab
from hostile.corpus import build
from p4lab.grading.apart import judge_apart, prove_apart, read_apart
from p4lab.grading.attempts import sampled
from p4lab.grading.course import load
from p4lab.grading.judge import unread
from p4lab.grading.known import wanted
from p4lab.grading.sandbox import Limits

pytestmark = pytest.mark.beside(seconds=300)

LAB = "01-bier"
GOOD = ("good-1", "good-2")
# What only a mistake of the grader would make it say.
FAULT = re.compile("grader|ended by|ask your instructor|Traceback")
LIMIT = re.compile("takes more than|memory fault")


@pytest.fixture(scope="module")
def course():
    return load(LAB)


@pytest.fixture(scope="module")
def corpus(course, tmp_path_factory):
    """The folder, the corpus, the verdicts by student, and the output folder."""
    folder = tmp_path_factory.mktemp("hostile") / "class"
    folder.mkdir()
    solution = course.sources["bier/bier.p4"]
    for name in GOOD:
        (folder / name).mkdir()
        (folder / name / "bier.p4").write_text(solution)
    hostile = build(folder, solution)
    out = folder.parent / "out"
    done = p4lab("grade", LAB, folder, "--seed", "5", "--seconds", "3", "--workers", "2",
                 "--out", out, "--format", "junit", "--prove", "0.3", timeout=580)  # fmt: skip
    assert done.returncode == 0, done.stderr
    records = json.loads((out / "records.json").read_text())["verdicts"]
    return folder, hostile, {row["student"]: row for row in records}, out


def points(row) -> float:
    return sum(check["points"] for check in row["checks"])


def test_there_are_enough_of_them(corpus):
    _, hostile, rows, _ = corpus
    assert len(hostile) >= 25
    assert len(rows) == len(hostile) + len(GOOD)
    assert {one.student for one in hostile} | set(GOOD) == set(rows)


def test_each_gets_a_clear_verdict(corpus, course):
    _, hostile, rows, _ = corpus
    most = sum(check.points for check in course.checks)
    wrong = []
    for one in hostile:
        row = rows[one.student]
        trouble = row["trouble"]
        failed = [check for check in row["checks"] if check["status"] == "failed"]
        if FAULT.search(trouble) or trouble.count("\n") or len(trouble) > 300:
            wrong.append((one.name, trouble))
        elif LIMIT.search(trouble):
            if one.expect == "right" or points(row):
                wrong.append((one.name, trouble))
        elif one.expect == "right":
            if trouble or points(row) != most:
                wrong.append((one.name, trouble, points(row)))
        elif one.expect == "compiles not":
            if trouble or points(row) or not failed or failed[0]["id"] != "compiles":
                wrong.append((one.name, trouble, [check["id"] for check in failed]))
        elif one.expect == "runs":
            if trouble:
                wrong.append((one.name, trouble))
        elif not re.search(one.expect, trouble) or points(row):
            wrong.append((one.name, one.expect, trouble))
    assert not wrong


def patience(row) -> Limits:
    """How long to look at a submission again: at one that has run into a limit before, no longer
    than it takes to run into one again."""
    return Limits(cpu_seconds=1 if LIMIT.search(row["trouble"]) else 2)


def public(row) -> list[tuple[str, str]]:
    """What a student is told of each check without the hidden cases."""
    return [
        (check["id"], "passed" if check["hidden"] else check["status"]) for check in row["checks"]
    ]


def each_once(work):
    """The same work, done once for files that are alike: many differ only in how they come."""
    done = {}

    def once(files, limits):
        key = tuple(sorted(files.items()))
        if key not in done:
            done[key] = work(files, limits)
        return done[key]

    return once


def test_a_students_own_check_says_the_same(corpus, course):
    """Without this a file that is harmless in class could stop or fool whoever looks at it at home,
    or score otherwise there."""
    folder, hostile, rows, _ = corpus
    asked = wanted(course)
    course.prepare(None)

    @each_once
    def judged(files, limits):
        return judge_apart(course, "", files, None, limits).verdict

    wrong = []
    for one in hostile:
        row = rows[one.student]
        limits = patience(row)
        found = read_apart(folder / one.name, asked, limits)
        verdict = unread(course, "", found) if found.trouble else judged(found.files, limits)
        if LIMIT.search(row["trouble"]) or LIMIT.search(verdict.trouble):
            # What is near a limit may be on either side of it, and hidden cases take their time.
            if FAULT.search(verdict.trouble) or verdict.trouble.count("\n"):
                wrong.append((one.name, verdict.trouble))
        elif verdict.trouble != row["trouble"] or public(verdict.to_json()) != public(row):
            wrong.append((one.name, row["trouble"], verdict.trouble))
    assert not wrong


def test_a_proof_of_any_of_them_ends_and_costs_no_right_one(corpus, course):
    """Without this `check --prove`, and the grading of what passes all cases, could be stopped."""
    folder, hostile, rows, _ = corpus
    asked = wanted(course)

    @each_once
    def proven(files, limits):
        return prove_apart(course, files, 0.3, limits) if files else sampled("nothing to read")

    wrong = []
    for one in hostile:
        limits = patience(rows[one.student])
        found = proven(read_apart(folder / one.name, asked, limits).files, limits)
        stopped = found.detail or FAULT.search(found.proof.told)
        if stopped or (one.expect == "right" and found.proof.status == "refuted"):
            wrong.append((one.name, found))
    assert not wrong


TYPED = ("pipe.p4", "link-inside", "sparse.p4", "width-2-20.p4", "zip-bomb.zip", "deep-folders",
         "macro-bomb.p4", "new\nline.p4")  # fmt: skip


@pytest.mark.parametrize("name", TYPED)
def test_the_verb_ends_with_a_sentence(corpus, name):
    """A few of them as a student types it."""
    folder = corpus[0]
    done = p4lab("check", LAB, folder / name, "--json", timeout=120)
    assert done.returncode in (1, 2)
    assert json.loads(done.stdout)["lab"] == LAB
    assert len(done.stderr.strip().splitlines()) <= 2  # a name may have a line end


def test_the_grader_itself_never_failed(corpus):
    assert not (corpus[3] / "grader-errors.txt").exists()


def test_a_neighbour_scores_as_if_alone(corpus, course):
    from p4lab.grading.judge import judge

    _, _, rows, _ = corpus
    files = {"bier/bier.p4": course.sources["bier/bier.p4"]}
    for name in GOOD:
        alone = judge(course, files, student=name, seed=5).to_json()
        row = {key: value for key, value in rows[name].items() if key != "notes"}
        assert row.pop("proof")["status"] != "refuted" and alone.pop("proof") is None
        assert row == json.loads(json.dumps(alone))
        assert points(row) == sum(check.points for check in course.checks)


def test_no_file_outside_was_read_or_written(corpus):
    folder, hostile, _, out = corpus
    with open("/etc/passwd") as file:
        passwd = file.read()
    lines = [line for line in passwd.splitlines() if len(line) > 20]
    for path in out.rglob("*"):
        if path.is_file():
            text = path.read_text()
            assert not [line for line in lines if line in text], path
    names = {one.name for one in hostile} | set(GOOD)
    assert {path.name for path in folder.iterdir()} == names
    assert not list(folder.parent.rglob("owned"))


def test_names_became_harmless_files(corpus):
    _, hostile, _, out = corpus
    reports = [path.name for path in (out / "students").iterdir()]
    assert len(reports) == 2 * (len(hostile) + len(GOOD))
    assert all(re.fullmatch(r"[A-Za-z0-9._%-]+", name) and name[0] not in ".-" for name in reports)
