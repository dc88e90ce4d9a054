"""What a platform needs to grade a lab by itself: p4lab, the lab, the seed, and its two scripts.

Gradescope    a zip: setup.sh runs once when the image is built, run_autograder for each hand-in;
              /autograder/source is the zip, /autograder/submission the student's files, and
              results.json goes to /autograder/results
              (https://gradescope-autograders.readthedocs.io/en/latest/specs/, looked at in 2026-11)
PrairieLearn  a folder: a Dockerfile for the grader's image, whose entry point is run once for every
              submission with /grade/student and writes /grade/results/results.json, and a question
              that uses it (docs/externalGrading.md of its repository, looked at in 2026-11)

Both grade a class of one with `p4lab grade --one`, in the same sandbox as everywhere.
"""

from __future__ import annotations

import errno
import json
import shlex
import sys
import uuid
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from p4lab.course.home import HERE
from p4lab.course.labs import LabError, home
from p4lab.grading.course import Course
from p4lab.paths import MATERIAL, PACKAGE, ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_LITTER = frozenset({"__pycache__", MATERIAL.name})
_SECRET, _PROGRAM, _PLAIN = 0o600, 0o755, 0o644

# Finds a Python that has the packages, or makes one that has.
_PYTHON = """\
here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages='import bitwuzla, matplotlib, networkx, numpy, pydantic, rich, scapy, typer'
for python in "$here/venv/bin/python" python3; do
    if "$python" -c "$packages" 2>/dev/null; then break; fi
    python=
done
"""
_SETUP = (
    """\
#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image.
set -euo pipefail
"""
    + _PYTHON
    + """\
if [ -z "$python" ]; then
    apt-get update
    apt-get install -y --no-install-recommends python3 python3-venv
    python3 -m venv "$here/venv"
    python=$here/venv/bin/python
    "$python" -m pip install --no-cache-dir -r "$here/requirements.txt" -c "$here/requirements.lock"
fi
# What cannot run here shall be said now, and not to the first student.
export PYTHONPATH=$here/p4lab/src
"$python" -m p4lab{course} check {lab} "$here/p4lab/starter" >/dev/null || [ $? = 1 ]
"""
)
_RUN = (
    """\
#!/usr/bin/env bash
# {platform} runs this for every submission.
set -uo pipefail
"""
    + _PYTHON
    + """\
export PYTHONPATH=$here/p4lab/src
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p {results}
"$python" -m p4lab{course} grade {lab} {submission} --one --seed-file "$here/course.seed" \\
    --out "$scratch/grades" --format {format}
if ! cp "$scratch/grades/{format}/student/results.json" {results}/results.json; then
    printf '%s\\n' {failed} >{results}/results.json
fi
"""
)
_DOCKERFILE = """\
# docker build -t NAME . && docker push NAME; then name it in question/info.json.
FROM python:3.12-slim
COPY requirements.txt requirements.lock /p4lab/
RUN pip install --no-cache-dir -r /p4lab/requirements.txt -c /p4lab/requirements.lock
COPY . /p4lab/
RUN chmod 600 /p4lab/course.seed
ENTRYPOINT ["/p4lab/run_grader"]
"""
_APOLOGY = "The grader failed on this submission; ask your instructor."


@dataclass(frozen=True)
class Part:
    """A file of what a platform gets."""

    path: str
    data: bytes
    mode: int = _PLAIN


def gradescope(course: Course, seed: int) -> list[Part]:
    """What goes into the zip. Raises LabError."""
    names = {"lab": shlex.quote(course.name), "course": _course_option(course)}
    failed = json.dumps({"score": 0, "output": _APOLOGY})
    run = _filled(
        _RUN,
        **names,
        platform="Gradescope",
        format="gradescope",
        results="/autograder/results",
        submission="/autograder/submission",
        failed=shlex.quote(failed),
    )
    # Gradescope copies run_autograder to /autograder, away from what it needs.
    run = run.replace('here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)',
                      "here=/autograder/source")  # fmt: skip
    return [
        Part("setup.sh", _filled(_SETUP, **names).encode(), _PROGRAM),
        Part("run_autograder", run.encode(), _PROGRAM),
        *_common(course, seed),
    ]


def prairielearn(course: Course, seed: int, image: str) -> list[Part]:
    """What the image is built from, and a question for it. Raises LabError."""
    failed = json.dumps({"gradable": False, "format_errors": [_APOLOGY]})
    run = _filled(
        _RUN,
        lab=shlex.quote(course.name),
        course=_course_option(course),
        platform="PrairieLearn",
        format="prairielearn",
        results="/grade/results",
        submission="/grade/student",
        failed=shlex.quote(failed),
    )
    info = {
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"p4lab/{course.name}/{seed}")),
        "title": course.title,
        "topic": "P4",
        "tags": [],
        "type": "v3",
        "gradingMethod": "External",
        "externalGradingOptions": {"enabled": True, "image": image, "timeout": 120},
    }
    names = ", ".join(Path(name).name for name in course.student.edit)
    html = (
        "<pl-question-panel>\n"
        f"  <p>Upload your files of the lab {course.name}: {names}.</p>\n"
        f'  <pl-file-upload file-names="{names}"></pl-file-upload>\n'
        "</pl-question-panel>\n"
        "<pl-submission-panel>\n"
        "  <pl-external-grader-results></pl-external-grader-results>\n"
        "</pl-submission-panel>\n"
    )
    return [
        Part("Dockerfile", _DOCKERFILE.encode()),
        Part(".dockerignore", b"question\n"),
        Part("run_grader", run.encode(), _PROGRAM),
        Part("question/info.json", (json.dumps(info, indent=2) + "\n").encode()),
        Part("question/question.html", html.encode()),
        *_common(course, seed),
    ]


def _filled(script: str, **names: str) -> str:
    for name, text in names.items():
        script = script.replace(f"{{{name}}}", text)
    return script


def _course_option(course: Course) -> str:
    return "" if home(course.name) == HERE else ' --course "$here/course"'


def _common(course: Course, seed: int) -> list[Part]:
    """p4lab without its tests and solutions, the lab, what Python needs, and the seed."""
    try:
        parts = [
            *_tree(PACKAGE, "p4lab/src/p4lab"),
            *_tree(ROOT / "topologies", "p4lab/topologies"),
            *_tree(ROOT / "p4", "p4lab/p4"),
        ]
        own = home(course.name)
        inside = "p4lab" if own == HERE else "course"
        parts += _tree(own.labs / course.name, f"{inside}/labs/{course.name}")
        if own != HERE:
            parts += _tree(own.sources, "course/p4")
            parts += _tree(own.root / "topologies", "course/topologies")
        for name, text in course.starter.items():
            parts.append(Part(f"p4lab/starter/{name}", text.encode()))
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        needed = [
            *project["project"]["dependencies"],
            *project["project"]["optional-dependencies"]["prove"],
        ]
        wanted = "".join(f"{line}\n" for line in needed)
        parts.append(Part("requirements.txt", wanted.encode()))
        parts.append(Part("requirements.lock", (ROOT / "requirements.lock").read_bytes()))
    except OSError as error:
        told = f"{error.filename}: {error.strerror}; an autograder is made in a checkout."
        raise LabError(told) from error
    return [*parts, Part("course.seed", f"{seed}\n".encode(), _SECRET)]


def _tree(folder: Path, inside: str) -> Iterator[Part]:
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and _LITTER.isdisjoint(relative.parts):
            yield Part(f"{inside}/{relative.as_posix()}", path.read_bytes())


# ---- Writing ------------------------------------------------------------------------------------


def write_zip(path: Path, parts: list[Part]) -> None:
    """The same bytes for the same parts. Raises OSError; then nothing is there."""
    new = path.with_name(f".{path.name}.new")
    try:
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
            for part in parts:
                info = zipfile.ZipInfo(part.path)
                info.external_attr = (0o100000 | part.mode) << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, part.data)
        new.chmod(_SECRET)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def write_folder(folder: Path, parts: list[Part]) -> None:
    """Raises OSError, FileExistsError if there is something already."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(errno.EEXIST, "there is something in it already", str(folder))
    for part in parts:
        path = folder / part.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(part.mode)
        path.write_bytes(part.data)
        path.chmod(part.mode)
