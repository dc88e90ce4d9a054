"""Each platform's way of grading, as it runs it. Without these a whole class would be told by
Gradescope or PrairieLearn that `the autograder failed to execute`.

There is no Docker here: a root directory of bind mounts in a namespace stands for the container, so
that the scripts see /autograder and /grade. apt-get and pip are not run: the machine has the
packages, and setup.sh looks for them first.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cli_runner import p4lab
from p4lab.grading.course import load

pytestmark = pytest.mark.beside(seconds=30)

LAB = "05-recirculation"
COURSE = load(LAB)

# A root with everything of this machine, and a folder of ours at one more place.
CONTAINER = """
set -e
root=$1 place=$2 inside=$3
mount -t tmpfs tmpfs "$root"
for entry in /*; do
    if [ -d "$entry" ]; then mkdir "$root$entry"; mount --rbind "$entry" "$root$entry"; fi
done
mkdir "$root$inside"
mount --bind "$place" "$root$inside"
shift 3
exec chroot "$root" "$@"
"""


def contained(tmp_path: Path, place: Path, inside: str, *command: str):
    """Runs a command that finds the folder `place` at the path `inside`."""
    (tmp_path / "root").mkdir(exist_ok=True)
    arguments = [str(tmp_path / "root"), str(place), inside, *command]
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", CONTAINER, "sh", *arguments],
        env={"PATH": path, "HOME": "/root", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module", autouse=True)
def namespaces():
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("bind mounts need root")


@pytest.fixture(scope="module")
def seed(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("seed") / "course.seed"
    path.write_text("20261122\n")
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def gradescope(tmp_path_factory, seed) -> Path:
    """/autograder, as Gradescope makes it of the zip, after setup.sh has run."""
    work = tmp_path_factory.mktemp("gradescope")
    archive = work / "autograder.zip"
    done = p4lab("autograder", LAB, "--for", "gradescope", "--out", archive, "--seed-file", seed)
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600, "it holds the seed"
    box = work / "autograder"
    for name in ("source", "submission", "results"):
        (box / name).mkdir(parents=True)
    subprocess.run(["unzip", "-q", archive, "-d", box / "source"], check=True)
    (box / "run_autograder").write_bytes((box / "source/run_autograder").read_bytes())
    (box / "run_autograder").chmod(0o755)
    done = contained(work, box, "/autograder", "bash", "/autograder/source/setup.sh")
    assert done.returncode == 0, done.stderr
    return box


def on_gradescope(tmp_path: Path, box: Path) -> dict:
    """results.json, after what is in /autograder/submission was graded."""
    (box / "results" / "results.json").unlink(missing_ok=True)
    command = ("sh", "-c", "cd /autograder && ./run_autograder > results/stdout 2>&1")
    contained(tmp_path, box, "/autograder", *command)
    return json.loads((box / "results" / "results.json").read_text())


def emptied(folder: Path) -> Path:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    return folder


def test_gradescope_grades_uploads(tmp_path, gradescope):
    """A student drops the files of the lab into the form: no folders."""
    inbox = emptied(gradescope / "submission")
    for name in COURSE.student.edit:
        (inbox / Path(name).name).write_text(COURSE.sources[name])
    result = on_gradescope(tmp_path, gradescope)
    assert result["score"] == sum(check.points for check in COURSE.checks)
    assert {test["status"] for test in result["tests"]} == {"passed"}
    (inbox / "ports.toml").unlink()
    assert 0 < on_gradescope(tmp_path, gradescope)["score"] < result["score"]


def test_gradescope_hears_of_what_is_hostile_in_a_sentence(tmp_path, gradescope):
    inbox = emptied(gradescope / "submission")
    os.mkfifo(inbox / "tna.p4")
    result = on_gradescope(tmp_path, gradescope)
    assert result["score"] == 0 and "is a pipe" in result["output"]


def test_gradescope_gets_an_answer_when_the_grader_itself_fails(tmp_path, gradescope):
    emptied(gradescope / "submission")
    seed = gradescope / "source" / "course.seed"
    text = seed.read_text()
    seed.write_text("no number")
    try:
        result = on_gradescope(tmp_path, gradescope)
    finally:
        seed.write_text(text)
    assert result == {
        "score": 0,
        "output": "The grader failed on this submission; ask your instructor.",
    }


def test_a_zip_that_is_made_again_is_the_same(tmp_path, gradescope, seed):
    again = tmp_path / "again.zip"
    arguments = ("--for", "gradescope", "--out", again, "--seed-file", seed)
    assert p4lab("autograder", LAB, *arguments).returncode == 0
    assert again.read_bytes() == (gradescope.parent / "autograder.zip").read_bytes()
    with zipfile.ZipFile(again) as archive:
        names = archive.namelist()
        assert archive.getinfo("run_autograder").external_attr >> 16 & 0o111
    assert {"setup.sh", "run_autograder"} <= set(names), "at the root of the zip"
    assert not [name for name in names if re.search(r"__pycache__|/solutions/|/tests/.*\.py", name)]


# ---- PrairieLearn -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def image(tmp_path_factory, seed) -> Path:
    folder = tmp_path_factory.mktemp("image") / "p4lab"
    options = ("--out", folder, "--seed-file", seed, "--image", "school/p4lab")
    done = p4lab("autograder", LAB, "--for", "prairielearn", *options)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(("given", "gradable"), [("solution", True), ("nothing", False)])
def test_prairielearn_grades_a_submission(tmp_path, image, given, gradable):
    grade = tmp_path / "grade"
    (grade / "student").mkdir(parents=True)
    (grade / "data").mkdir()
    (grade / "data" / "data.json").write_text("{}")
    for name in COURSE.student.edit if given == "solution" else ():
        (grade / "student" / Path(name).name).write_text(COURSE.sources[name])
    done = contained(tmp_path, grade, "/grade", str(image / "run_grader"))
    assert done.returncode == 0, done.stderr
    result = json.loads((grade / "results" / "results.json").read_text())
    assert result["gradable"] is gradable
    assert result["score"] == (1 if gradable else 0)
    assert bool(result["format_errors"]) is not gradable
    assert (grade / "results" / "results.json").stat().st_size < 1 << 20


def test_the_question_asks_for_the_files_of_the_lab(image):
    info = json.loads((image / "question" / "info.json").read_text())
    options = info["externalGradingOptions"]
    assert options["enabled"] and options["image"] == "school/p4lab" and options["timeout"] <= 600
    assert 'file-names="tna.p4, ports.toml"' in (image / "question/question.html").read_text()


def test_the_image_starts_what_was_tested(image):
    """What a Dockerfile names must be in the folder, and its entry point is the script above."""
    lines = (image / "Dockerfile").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY")]
    assert all((image / name).exists() for names in copied for name in names)
    assert 'ENTRYPOINT ["/p4lab/run_grader"]' in lines
    assert stat.S_IMODE((image / "run_grader").stat().st_mode) == 0o755
    assert stat.S_IMODE((image / "course.seed").stat().st_mode) == 0o600
    script = (image / "run_grader").read_text()
    checked = subprocess.run(["bash", "-n"], input=script, text=True, check=False)
    assert checked.returncode == 0


def test_a_folder_with_something_in_it_is_not_mixed_with(image, seed):
    options = ("--for", "prairielearn", "--out", image, "--seed-file", seed)
    done = p4lab("autograder", LAB, *options)
    assert done.returncode == 2 and "there is something in it already" in done.stderr
