"""STF scripts as checks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from p4lab import _engine
from p4lab.course.labs import LabError, home
from p4lab.grading import difference, frames
from p4lab.grading.blame.pointed import pointed_by_script
from p4lab.grading.course import Check, Course, Defines
from p4lab.grading.difference import Pair, Wanted
from p4lab.grading.endless import MOST_MORE, passes
from p4lab.grading.record import Story
from p4lab.grading.stages import compile_story
from p4lab.grading.story import NO_END, pair_story
from p4lab.grading.work import Work
from p4lab.scripts import defines_of


def run(
    course: Course, check: Check, work: Work, *, is_told: bool = True
) -> tuple[Story | None, int, bool]:
    """What is wrong with the first script that fails, with its line if that `is_told`, how many
    ran, and that none was hidden."""
    for number, file in enumerate(check.stf, 1):
        script = _found(course, file)
        # A script that names no macros is for those of the lab.
        defines = tuple({**dict(course.defines), **dict(defines_of(script))}.items())
        compilation = work.compiled(defines)
        if compilation.program is None:
            return compile_story(compilation, work, defines), number, False
        report = _engine.stf(compilation.program, str(script))
        if not report["passed"]:
            story, line = _stf_story(course, check, report, file)
            if is_told:
                story = pointed_by_script(course, work, defines, script, line, story)
            return story, number, False
        if _is_endless(course, work, defines, script):
            steps = (f"the script {file} runs, and all that it expects comes out",)
            hint = course.hint(check, difference.LOOP)
            return Story(steps, NO_END, difference.LOOP, hint), number, False
    return None, len(check.stf), False


def _is_endless(course: Course, work: Work, defines: Defines, script: Path) -> bool:
    """Whether a packet of a script runs in circles in the student's program."""
    name = course.student.program
    mine = passes(course.program(defines), name, course.sources, defines, script)
    theirs = passes(work.runnable(defines), name, work.files, defines, script)
    return theirs > mine + MOST_MORE


def _found(course: Course, file: str) -> Path:
    """The script below the lab's folder, or else below p4/. Raises LabError."""
    for folder in (course.folder, home(course.name).sources):
        if (folder / file).is_file():
            return folder / file
    raise LabError(f"labs/{course.name}/lab.toml: there is no script {file}, nor p4/{file}.")


def _stf_story(
    course: Course, check: Check, report: Mapping[str, Any], file: str
) -> tuple[Story, int]:
    """What a script says of what it found first, and in which line of it."""
    finding = next(item for item in report["findings"] if not item["passed"])
    told = finding["difference"]
    steps = (f"the script {file} runs, up to its line {finding['line']}",)
    if not told or not told.get("received") or not told.get("expected"):
        kind = _kind(told or {})
        return Story(steps, finding["message"], kind, course.hint(check, kind)), finding["line"]
    pair = _stf_pair(course, told)
    story = pair_story(course, check, pair, course.defines, steps, "", (None, ""))
    return story, finding["line"]


def _kind(told: Mapping[str, Any]) -> str:
    """What kind of difference it is where there are not two packets to compare."""
    if told.get("expected"):
        return difference.COPY_MISSING
    return difference.COPY_TOO_MANY if told.get("received") else difference.UNMET


def _stf_pair(course: Course, told: Mapping[str, Any]) -> Pair:
    """The packets of a failed `expect`, parsed by the reference; digits `*` do not matter."""
    program = course.program(course.defines)
    received = bytes.fromhex(told["received"])
    mask = told["expected"].replace(" ", "")
    expected = bytes(
        int(digits.replace("*", "0"), 16) if "*" not in digits else received[index]
        for index, digits in enumerate(mask[i : i + 2] for i in range(0, len(mask), 2))
        if index < len(received) or "*" not in digits
    )
    port = told["port"]
    return Pair(
        Wanted(port, frames.dissect(program, expected)),
        difference.Out(port, received, frames.dissect(program, received)),
    )
