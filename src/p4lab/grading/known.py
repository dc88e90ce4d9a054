"""What a course hands out or publishes: texts that say nothing about who wrote a submission."""

from __future__ import annotations

from pathlib import Path

from p4lab.course import marks
from p4lab.course.labs import LabError, home
from p4lab.course.material import source
from p4lab.grading.course import Course
from p4lab.grading.submission import Wanted, digest

SOLUTION = "the lab's solution"


def answers(course: Course) -> dict[str, dict[str, str]]:
    """The right answers that lie beside the lab, the student's files by path: the solution and its
    variants, by what they are called. Raises LabError."""
    edit = course.student.edit
    found = {SOLUTION: {name: marks.solution(course.sources[name], name) for name in edit}}
    for folder in _variants(home(course.name).solutions / course.name / "variants"):
        files = [(name, folder / name) for name in edit]
        try:
            texts = {name: path.read_text("utf-8") for name, path in files if path.is_file()}
        except (OSError, UnicodeDecodeError) as error:
            raise LabError(f"{folder}: {error}") from error
        if texts:
            found[f"the variant {folder.name}"] = texts
    return found


def _variants(folder: Path) -> list[Path]:
    """What is in a folder of variants: nothing where it is closed to students (provision.sh)."""
    try:
        return sorted(folder.glob("*"))
    except PermissionError:
        return []


def digests(course: Course) -> frozenset[str]:
    """Of the student's files as they are in the starter and in the answers, with marks and
    without. Raises LabError."""
    texts = [*course.starter.values(), *(course.sources[name] for name in course.student.edit)]
    for files in answers(course).values():
        texts += files.values()
    return frozenset(map(digest, texts))


def wanted(course: Course) -> Wanted:
    """What a submission to a lab is looked through for. Raises LabError."""
    return Wanted(tuple(course.student.edit), digests(course), _given(course))


def _given(course: Course) -> dict[str, frozenset[str]]:
    """Digests of the files that the lab gives, by path: as students get them, and with the marks
    that they have in a checkout."""
    found = {}
    for name in course.student.files:
        try:
            marked = source(course.name, name).read_text("utf-8")
        except OSError as error:
            raise LabError(f"labs/{course.name}: p4/{name}: {error.strerror}") from error
        found[name] = frozenset(map(digest, (course.sources[name], marked)))
    return found
