"""The verdict on a submission: every check that its needs allow, with the story of what failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from p4lab import _engine
from p4lab.grading import elsewhere, scripts, stages
from p4lab.grading.course import Check, Course, Judged, hidden_seeds, public_seeds, switch_of
from p4lab.grading.elsewhere import Bench
from p4lab.grading.record import CheckResult, Story, Verdict
from p4lab.grading.story import alike, compare
from p4lab.grading.work import Work

Found = tuple[Story | None, int, bool]
"""What is wrong (None: nothing), how many cases ran, and whether the failing one was hidden"""


def judge(
    course: Course,
    files: Mapping[str, str],
    *,
    student: str = "",
    seed: int | None = None,
    bench: Bench | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Verdict:
    """The verdict on the student's files (text by path, such as `bier/bier.p4`); files of the lab
    that students do not edit are taken from the lab whatever is handed in.

    With a seed hidden cases are drawn, too. With a `bench` it says what comes out, in place of the
    engine, whose traces then only explain. `say` hears each check before it runs. Raises LabError
    if the lab itself is not sound.
    """
    own = {name: text for name, text in files.items() if name in course.student.edit}
    missing = [name for name in course.student.edit if name not in own]
    if missing:
        trouble = f"There is no {missing[0]} in the submission."
        return nothing(course, student, trouble)
    if not any(text.strip() for text in own.values()):
        return nothing(course, student, f"{next(iter(own))} is empty.")
    work = Work(course.student.program, {**course.sources, **own})
    results: list[CheckResult] = []
    for check in course.checks:
        say(check.title)
        results.append(_result(course, check, work, results, seed, bench))
    return Verdict(course.name, student, tuple(results))


def nothing(course: Course, student: str, trouble: str) -> Verdict:
    """No points, for a reason that no check can tell."""
    checks = tuple(
        CheckResult(check.id, check.title, check.part, "skipped", 0, check.points)
        for check in course.checks
    )
    return Verdict(course.name, student, checks, trouble)


def _result(
    course: Course,
    check: Check,
    work: Work,
    before: list[CheckResult],
    seed: int | None,
    bench: Bench | None,
) -> CheckResult:
    passed = {result.id for result in before if result.status == "passed"}
    waits = tuple(need for need in check.needs if need not in passed)
    head = (check.id, check.title, check.part)
    if waits:
        return CheckResult(*head, "skipped", 0, check.points, waits_for=waits)
    story, cases, hidden = _run(course, check, work, seed, bench)
    if story is None:
        return CheckResult(*head, "passed", check.points, check.points, cases=cases)
    return CheckResult(*head, "failed", 0, check.points, story, hidden, cases=cases)


def _run(course: Course, check: Check, work: Work, seed: int | None, bench: Bench | None) -> Found:
    if check.stage == "compiles":
        return stages.compiles(course, work), 1, False
    if check.stage == "contract":
        return stages.contract(course, work), 1, False
    if check.stf:
        return scripts.run(course, check, work)
    return _cases(course, check, work, seed, bench)


# ---- Scenarios --------------------------------------------------------------------------------


def _cases(
    course: Course, check: Check, work: Work, seed: int | None, bench: Bench | None
) -> Found:
    count = 0
    for hidden, labels in ((False, public_seeds(check)), (True, hidden_seeds(check, seed))):
        for label in labels:
            count += 1
            judged = course.case(check, label)
            story = _case(course, check, judged, work, bench)
            if story is not None:
                return story, count, hidden
    return None, count, False


def _case(
    course: Course, check: Check, judged: Judged, work: Work, bench: Bench | None
) -> Story | None:
    case = judged.case
    compilation = work.compiled(case.defines)
    if compilation.program is None:
        return stages.compile_story(compilation, work, case.defines)
    program = compilation.program
    if case.network is not None:
        from p4lab.grading import networks

        return networks.story(course, check, case, work, program, bench)
    tables = [update[2] for update in case.updates if update[1] == "entry"]
    if (story := stages.absent(tables, program, ())) is not None:
        return story
    switch = switch_of(program)
    try:
        switch.write(list(case.updates))
    except ValueError as error:
        hint = "Tables, keys, actions and parameters keep the names and widths of the starter."
        return Story(case.steps, f"The entries do not fit: {error}.", "contract", hint)
    if check.parses:
        return stages.parses(course, judged, work, program)
    if bench is not None:
        return elsewhere.story(course, check, judged, work, program, bench)
    for number, sending in enumerate(case.sendings, 1):
        got = switch.process(sending.port, sending.data)
        if alike(case, got, judged.outputs[number - 1]) and (case.others or not _endless(switch)):
            continue
        story = compare(course, check, judged, work, program, number)
        if story is not None:
            return story
    return None


def _endless(switch: _engine.Switch) -> bool:
    """Whether the switch has given up a packet because there was no end to it."""
    stats = switch.stats
    return any(stats[name] for name in ("too_many_passes", "too_many_packets", "out_of_fuel"))
