"""A proof of a submission: what came of it, and what it costs.

A counterexample is a case of the check that it belongs to, as if its seed had drawn it. So it can
be given to every submission, and what decides on points is the engine, not the solver.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from p4lab import _engine
from p4lab.course.labs import LabError
from p4lab.grading import counts, found, nearest
from p4lab.grading.course import Check, Course, Defines, inject
from p4lab.grading.found import Found
from p4lab.grading.judge import endless, work_of
from p4lab.grading.nearest import Rule
from p4lab.grading.record import CheckResult, Proof, Story, Verdict, of_part
from p4lab.grading.scenario import Case
from p4lab.grading.story import alike, compare, traced
from p4lab.grading.work import Work

if TYPE_CHECKING:  # not everybody has the solver
    from p4lab.grading.proofs import Compared, Setting
    from p4lab.prove.compare import Example

FAILS = "some of its cases fail already"
OTHERS_FAIL = "the proof is of the whole lab, and cases of other parts fail already"
MISSING = "bitwuzla is missing, which answers the prover's questions"
REGISTER = "wrong register"
POLICIES = "policies are measured, and nothing is proven of them"
UNPROMISED = "the lab does not say what a program may rely on ([prove] in lab.toml)"
UNSEEN = "what differs is nothing that a check looks at"


@dataclass(frozen=True)
class Attempt:
    """What came of trying to prove a program: of a refuted one the case that tells it apart.
    `detail` is for instructors only: how the prover failed."""

    proof: Proof
    found: Found | None = None
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        shown = self.found and self.found.to_json()
        return {**asdict(self.proof), "found": shown, "detail": self.detail}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Attempt:
        """What `to_json` gave. Raises KeyError for anything else."""
        case = Found.from_json(data["found"]) if data["found"] else None
        proof = Proof(data["status"], data["told"], data["taken"], data["branches"])
        return cls(proof, case, data["detail"])


def sampled(why: str, detail: str = "") -> Attempt:
    """No proof, for a reason."""
    return Attempt(Proof("sampled", why), detail=detail)


def prepare() -> None:
    """Imports the prover, if it is there: who forks for each proof does so before."""
    with suppress(ImportError):
        from p4lab.grading import proofs  # noqa: F401  # heavy: bitwuzla, which may be missing


def attempt(course: Course, files: Mapping[str, str], seconds: float) -> Attempt:
    """Compares a student's files with the reference for all packets, with so many seconds of one
    core. Raises LabError if the lab itself is not sound."""
    if not course.is_p4:
        return sampled(POLICIES)
    try:
        from p4lab.grading import proofs  # heavy: bitwuzla, which may be missing
    except ImportError:
        return sampled(MISSING)
    if not proofs.is_provable(course.name):
        return sampled(UNPROMISED)
    work = work_of(course, files)
    try:
        compared = proofs.compared(course, work.files, seconds)
    except proofs.ProofError as error:
        return sampled(str(error))
    return judged(course, work, compared)


def judged(course: Course, work: Work, compared: Compared) -> Attempt:
    """What the prover's answer means for the grader. Raises LabError."""
    from p4lab.grading import proofs

    outcome = compared.outcome
    if outcome.example is not None:
        defines, rules = compared.decisive.defines, proofs.rules_of(course.name)
        return _refuted(course, work, outcome.example, defines, rules)
    taken = sum(branch.fate == "taken" for branch in compared.branches)
    counts = (taken, len(compared.branches))
    if outcome.verdict == "equal":
        return Attempt(Proof("proven", compared.bounds, *counts))
    return Attempt(Proof("sampled", compared.why, *counts))


def _refuted(
    course: Course, work: Work, example: Example, defines: Defines, rules: Sequence[Rule]
) -> Attempt:
    reference, program = course.program(defines), work.runnable(defines)
    example = found.smallest([reference, program], course, example)
    noticed: dict[str, tuple[Check, Story]] = {}
    for check in nearest.candidates(course, defines):
        story = told(course, found.found_for(course, check, example, defines), work)
        if story is not None:
            noticed[check.id] = check, story
    if not noticed:
        return sampled(UNSEEN)
    first = next(iter(noticed.values()))[0]
    case = found.judged(course, found.found_for(course, first, example, defines))
    last = len(case.case.sendings)
    traces = [traced(course, one, case, last) for one in (reference, program)]
    fitting = nearest.blamed(course, [*noticed.values()], rules, *traces)
    if fitting is None:
        return sampled(UNSEEN)
    return Attempt(Proof("refuted", fitting.id), found.found_for(course, fitting, example, defines))


def told(course: Course, case: Found, work: Work) -> Story | None:
    """How a submission fails a case that a proof found, None if it does not."""
    check = next((one for one in course.checks if one.id == case.check), None)
    if check is None:
        raise LabError(f"labs/{course.name}: there is no check {case.check} any more.")
    judged = found.judged(course, case)
    program = work.compiled(judged.case.defines).program
    if program is None:
        return None
    try:
        switch = course.set_up(program, judged.case)
        for number, sending in enumerate(judged.case.sendings, 1):
            got = inject(switch, sending)
            same = alike(judged.case, number, got, judged.outputs[number - 1])
            if same and not endless(switch):
                continue
            if story := compare(course, check, judged, work, program, number):
                return story
        counted = counts.engine_story(course, check, judged, switch)
        return counted or _other_cells(course, judged.case, case.cells, switch)
    except ValueError:  # the entries do not fit: the contract's check tells that
        return None


def _other_cells(
    course: Course, case: Case, cells: Sequence[tuple[str, int]], switch: _engine.Switch
) -> Story | None:
    """The first register in which a switch that has had the case's packets holds something else
    than the reference's."""
    if not cells:
        return None
    reference = course.set_up(course.program(case.defines), case)
    for sending in case.sendings:
        inject(reference, sending)
    for name, index in cells:
        wanted, got = (one.read_register(name, index) for one in (reference, switch))
        if wanted != got:
            brief = name.rsplit(".", 1)[-1]
            summary = f"Afterwards {brief}[{index}] is {got} instead of {wanted}."
            hint = "What should this packet leave behind for the next one?"
            return Story(case.told(1), summary, REGISTER, hint)
    return None


def charged(
    course: Course, files: Mapping[str, str], verdict: Verdict, cases: Sequence[Found]
) -> Verdict:
    """The verdict after cases that proofs have found, each of which fails its check if that has
    passed. What comes of the mistake of another check, or of a line that has cost already, costs
    nothing."""
    work = work_of(course, files)
    results = {check.id: check for check in verdict.checks}
    blamed = {check.story.place for check in verdict.checks if check.story} - {None}
    for case in cases:
        result = results.get(case.check)
        if result is None or result.status != "passed":
            continue
        check = next(one for one in course.checks if one.id == case.check)
        if any(results[cause].status != "passed" for cause in (*check.needs, *check.suffers)):
            continue
        story = told(course, case, work)
        if story is None or story.place in blamed:
            continue
        results[case.check] = _failed(result, story)
        if story.place is not None:
            blamed.add(story.place)
    return replace(verdict, checks=tuple(results.values()))


def with_attempt(verdict: Verdict, attempt: Attempt, part: str | None = None) -> Verdict:
    """The verdict with what is known of other packets than its cases. A case that was found for a
    check which fails anyway tells nothing new, and of a `part` that passes it says that others
    fail."""
    if verdict.proof is not None:  # it could not be tried
        return verdict
    refuted = [check.id for check in verdict.checks if check.proved]
    if refuted:
        return replace(verdict, proof=Proof("refuted", ", ".join(refuted)))
    if attempt.found is None:
        return replace(verdict, proof=attempt.proof)
    asked = of_part(verdict, part)
    passes = part is not None and all(check.status == "passed" for check in asked)
    return replace(verdict, proof=sampled(OTHERS_FAIL if passes else FAILS).proof)


def _failed(result: CheckResult, story: Story) -> CheckResult:
    return replace(
        result, status="failed", points=0, story=story, cases=result.cases + 1, proved=True
    )


def examined(
    course: Course,
    files: Mapping[str, str],
    seconds: float,
    entries: int | None = None,
    passes: int | None = None,
) -> dict[str, Any]:
    """What the prover says of a submission, as plain data (`told.as_json`) of the macros that
    decide (`defines`), with the verdict and stages of all sets (`settings`), `covered` in words and
    the `check` that a counterexample belongs to with its `story`; or the `fault`, why it can say
    nothing. Raises LabError."""
    from p4lab.grading import proofs
    from p4lab.prove.told import as_json, branches_told

    work = work_of(course, files)
    bounds = proofs.bounds_of(course.name)
    bounds = replace(bounds, entries=entries or bounds.entries, passes=passes or bounds.passes)
    try:
        compared = proofs.compared(course, work.files, seconds, bounds)
    except proofs.ProofError as error:
        return {"fault": str(error)}
    lines = [*branches_told(compared.branches), *compared.covered()]
    shown = as_json(compared.outcome) | {
        "why": compared.why,
        "bounds": compared.bounds,
        "defines": dict(compared.decisive.defines),
        "settings": [_setting(one) for one in compared.settings],
    }
    shown |= {"covered": lines, "check": None, "story": None}
    case = judged(course, work, compared).found
    if case is not None:
        story = told(course, case, work)
        shown |= {"check": case.check, "story": story and asdict(story)}
    return shown


def _setting(one: Setting) -> dict[str, Any]:
    stages = [vars(stage) for stage in one.outcome.stages]
    return {"defines": dict(one.defines), "verdict": one.outcome.verdict, "stages": stages}


def in_order(cases: Sequence[Found]) -> list[Found]:
    """Each case once, the shortest first, in the same order whoever found them."""
    unique = {json.dumps(case.to_json(), sort_keys=True): case for case in cases}
    return [unique[text] for text in sorted(unique, key=lambda text: (len(text), text))]
