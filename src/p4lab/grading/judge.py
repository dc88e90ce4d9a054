"""The verdict on a submission: every check that its needs allow, with the story of what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from p4lab import _engine
from p4lab.grading import (
    breaks,
    counts,
    culprit,
    elsewhere,
    frugal,
    loops,
    networks,
    numbers,
    policies,
    printed,
    scripts,
    stages,
    wire,
)
from p4lab.grading.blame.pointed import pointed
from p4lab.grading.course import (
    Check,
    Course,
    Judged,
    inject,
    public_seeds,
)
from p4lab.grading.elsewhere import Bench, BeyondTargetError
from p4lab.grading.record import CheckResult, Story, Verdict, Warned
from p4lab.grading.scenario import Case
from p4lab.grading.story import alike, compare
from p4lab.grading.submission import Submission
from p4lab.grading.work import Work
from p4lab.grading.writers.text import clean
from p4lab.model.entries import DefaultAction, TableEntry

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
    """The verdict on the student's files (text by path, such as `bier/bier.p4`). Files of the lab
    that students do not edit are taken from the lab whatever is handed in, and from the starter
    those that they have not handed in, or empty.

    With a seed hidden cases are drawn, too. With a `bench` it says what comes out, in place of the
    engine, whose traces then only explain; checks beyond it are skipped. `say` hears each check
    before it runs. Raises LabError if the lab itself is not sound.
    """
    mine = {name: text for name, text in files.items() if name in course.student.edit}
    if not mine:
        trouble = f"There is no {course.student.edit[0]} in the submission."
        return nothing(course, student, trouble)
    if not any(text.strip() for text in mine.values()):
        return nothing(course, student, f"{next(iter(mine))} is empty.")
    work = work_of(course, files)
    results: list[CheckResult] = []
    for check in course.checks:
        say(check.title)
        results.append(_result(course, check, work, results, seed, bench))
    checks = course.in_order(blamed(course.checks, results))
    failed = any(check.status == "failed" for check in checks)
    warnings = _warnings(course, work) if failed or course.kit.lints else ()
    return Verdict(course.name, student, checks, warnings=warnings)


def work_of(course: Course, files: Mapping[str, str]) -> Work:
    """The student's files with those of the lab."""
    own = {name: files[name] for name in course.student.edit if files.get(name, "").strip()}
    if len(own) < len(course.student.edit):
        own = {**course.starter, **own}
    return Work(course.student.program, {**course.sources, **own}, course.kit.lints)


def nothing(course: Course, student: str, trouble: str) -> Verdict:
    """No points, for a reason that no check can tell."""
    checks = course.in_order(
        CheckResult(check.id, check.title, check.part, "skipped", 0, check.points)
        for check in course.checks
    )
    return Verdict(course.name, student, checks, trouble)


def unread(course: Course, student: str, found: Submission) -> Verdict:
    """The verdict on what cannot be read."""
    return nothing(course, student, clean(found.trouble))


def _result(
    course: Course,
    check: Check,
    work: Work,
    before: list[CheckResult],
    seed: int | None,
    bench: Bench | None,
) -> CheckResult:
    # What fails in hidden cases only does not stop the checks behind it: a student sees it pass.
    # But what policies bring about may be right by chance if what it rests on is wrong.
    met = {
        result.id
        for result in before
        if result.status == "passed" or result.beyond or (result.hidden and not check.measure)
    }
    met |= policies.spared(course, check, work, before)
    waits = tuple(need for need in check.needs if need not in met)
    head = (check.id, check.title, check.part)
    if waits:
        return CheckResult(*head, "skipped", 0, check.points, waits_for=waits)
    try:
        story, cases, hidden = _run(course, check, work, seed, bench)
    except BeyondTargetError as error:
        return CheckResult(*head, "skipped", 0, check.points, beyond=str(error))
    if story is None:
        return CheckResult(*head, "passed", check.points, check.points, cases=cases)
    return CheckResult(*head, "failed", 0, check.points, story, hidden, cases=cases)


def blamed(checks: Iterable[Check], results: Sequence[CheckResult]) -> Iterator[CheckResult]:
    """The results, each failure left to the check that it comes of: one that a check suffers from,
    or needs and has seen fail in hidden cases only, as it does itself. A file of
    answers that cannot be read is reported once."""
    failed = {result.id for result in results if result.status == "failed"}
    unreadable: dict[str, str] = {}  # the first check to say so of a file
    for check, result in zip(checks, results, strict=True):
        story = result.story
        if story is not None and story.signature == numbers.UNREADABLE:
            first = unreadable.setdefault(story.summary, result.id)
            if first != result.id:
                result = replace(result, status="skipped", story=None, waits_for=(first,))
        causes = [*check.suffers, *(check.needs if result.hidden else ())]
        left = tuple(cause for cause in causes if cause in failed)
        if result.status == "failed" and left:
            # What only hidden cases show is not told before the release, whoever asks.
            own = None if result.hidden else result.story
            result = replace(
                result, status="skipped", story=None, hidden=False, waits_for=left, left=own
            )
        yield result


def _run(
    course: Course,
    check: Check,
    work: Work,
    seed: int | None,
    bench: Bench | None,
    *,
    is_told: bool = True,
) -> Found:
    if check.stage and not course.is_p4:
        look = policies.reads if check.stage == "compiles" else policies.contract
        return look(course, check, work), 1, False
    if check.stage == "compiles":
        return stages.compiles(course, check, work), 1, False
    if check.stage == "contract":
        return stages.contract(course, check, work), 1, False
    if check.numbers:
        return numbers.story(course, check, work), 1, False
    if check.measure:
        return policies.story(course, check, work, seed)
    if check.breaks:
        return breaks.story(course, check, work), 1, False
    if check.stf:
        return scripts.run(course, check, work, is_told=is_told)
    return _cases(course, check, work, seed, bench, is_told)


def _warnings(course: Course, work: Work) -> tuple[Warned, ...]:
    """What the compiler warns of in the student's own files. A program that does not compile has
    its warnings among its errors."""
    if not course.is_p4:
        return ()
    compilation = work.compiled(course.defines)
    if compilation.program is None:
        return ()
    mine = [
        item
        for item in compilation.diagnostics
        if item["severity"] == "warning" and item["file"] in course.student.edit
    ]
    blocks = printed.blocks(compilation) if mine else []
    return tuple(
        Warned(
            item["code"] or "",
            item["message"],
            culprit.place(item, work.files),
            printed.block_of(item, blocks),
        )
        for item in mine
    )


def first_failed(course: Course, work: Work, seed: int) -> Check | None:
    """The first check in which a program fails and points are lost. Sooner known than a verdict,
    since no line is looked for, and what takes long comes last: networks, and whether the program
    compiles with all macros, which most cases show that use them. Raises LabError."""
    for check in sorted(course.checks, key=lambda check: _takes_long(course, check)):
        story, _, hidden = _run(course, check, work, seed, None, is_told=False)
        if story is not None and (check.points or not hidden):
            return check
    return None


def _takes_long(course: Course, check: Check) -> bool:
    file = check.scenario or check.parses
    is_network = file is not None and course.scenario(file).network is not None
    return is_network or check.stage == "compiles"


def failing(course: Course, check: Check, work: Work) -> tuple[Judged, Story] | None:
    """The first of a check's cases that students see which a program fails, with its story; None
    for a check without cases, and if all pass. Raises LabError."""
    if not (check.scenario or check.parses):
        return None
    for label in public_seeds(check):
        judged = course.case(check, label)
        story = _case(course, check, judged, work, None)
        if story is not None:
            return _told(course, check, judged, work, story)
    return None


def _told(
    course: Course, check: Check, judged: Judged, work: Work, story: Story
) -> tuple[Judged, Story]:
    """The case to tell, and its story with the line to look at. Without noise if a program fails
    then, too: the values of noise are not the student's mistake."""
    if judged.plain is not judged:
        plain = _case(course, check, judged.plain, work, None)
        if plain is not None:
            judged, story = judged.plain, plain
    return judged, pointed(course, check, judged, work, story)


def story_of(course: Course, check: Check, label: str, work: Work) -> Story | None:
    """What is wrong with one case of a check for a student's program; None if nothing is. Raises
    LabError."""
    return _case(course, check, course.case(check, label), work, None)


# ---- Scenarios --------------------------------------------------------------------------------


def _cases(
    course: Course,
    check: Check,
    work: Work,
    seed: int | None,
    bench: Bench | None,
    is_told: bool,
) -> Found:
    count = 0
    for hidden, labels in ((False, public_seeds(check)), (True, course.hidden(check, seed))):
        for label in labels:
            count += 1
            judged = course.case(check, label)
            story = _case(course, check, judged, work, bench)
            if story is not None and bench is None and is_told:
                _, story = _told(course, check, judged, work, story)
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
        return networks.story(course, check, judged, work, program, bench)
    tables = _tables(case)
    if (story := stages.absent(tables, program, ())) is not None:
        return story
    try:
        switch = course.set_up(program, case)
    except ValueError as error:
        return _misfit(case, 0, error)
    if check.parses:
        return stages.parses(course, check, judged, work, program)
    if bench is not None:
        story = elsewhere.story(course, check, judged, work, program, bench)
        # What looped ports carry stays inside of a switch: there the engine judges.
        if story is None and case.shares:
            story = loops.story(course, check, judged, work, program)
        return story or frugal.story(course, check, judged, work, program)
    for number, sending in enumerate(case.sendings, 1):
        try:
            got = inject(switch, sending)
        except ValueError as error:
            return _misfit(case, number, error)
        same = alike(case, number, got, judged.outputs[number - 1])
        same = same or wire.all_fit(course, judged, number, got)
        if same and (case.others or not endless(switch)):
            continue
        story = compare(course, check, judged, work, program, number)
        if story is not None:
            return story
    if (story := counts.engine_story(course, check, judged, switch)) is not None:
        return story
    if case.shares and (story := loops.story(course, check, judged, work, program)) is not None:
        return story
    return frugal.story(course, check, judged, work, program)


def _tables(case: Case) -> list[str]:
    """The tables that a case writes to, at first or later."""
    later = [update for sending in case.sendings for update in sending.updates]
    written = [update.entity for update in [*case.updates, *later]]
    return [row.table for row in written if isinstance(row, TableEntry | DefaultAction)]


def _misfit(case: Case, upto: int, error: ValueError) -> Story:
    """What is written into the switch, at first or before a packet, does not fit the program."""
    hint = "Tables, keys, actions and parameters keep the names and widths of the starter."
    return Story(case.told(upto), f"The entries do not fit: {error}.", "contract", hint)


def endless(switch: _engine.Switch) -> bool:
    """Whether the switch has given up a packet because there was no end to it."""
    stats = switch.stats
    return any(stats[name] for name in ("too_many_passes", "too_many_packets", "out_of_fuel"))
