"""What a student may see of a verdict."""

from __future__ import annotations

from dataclasses import replace

from p4lab.grading.record import CheckResult, Story, Verdict


def for_student(verdict: Verdict, *, reveal: bool = False) -> Verdict:
    """The verdict without the hidden cases: of a check that failed in hidden cases only, the kind
    of the difference and the hint stay. With `reveal` everything stays."""
    if reveal:
        return verdict
    return replace(verdict, checks=tuple(_public(check) for check in verdict.checks))


def _public(check: CheckResult) -> CheckResult:
    if not check.hidden or check.story is None:
        return check
    story = Story(steps=(), summary="", signature=check.story.signature, hint=check.story.hint)
    return replace(check, story=story)
