"""JUnit XML: one test suite per student, one test case per check.

There is no standard; this is what Jenkins, GitLab and GitHub's actions read alike: `testsuites`,
`testsuite` with counts, `testcase` with `failure`, `skipped` or `error`. There is no `time`: what
was measured would be another number in every run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from p4lab.grading.record import CheckResult, Verdict
from p4lab.grading.writers import plain
from p4lab.grading.writers.text import escaped, one_line

_LINE_END = "&#10;"


def as_xml(lab: str, verdicts: Sequence[Verdict]) -> str:
    """From what students may see of verdicts."""
    return "\n".join(_lines(lab, verdicts)) + "\n"


def _lines(lab: str, verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<testsuites name="{escaped(lab)}">'
    for verdict in verdicts:
        # A submission that could not be graded is one more test case: an error.
        trouble = int(bool(verdict.trouble))
        tests = len(verdict.checks) + trouble
        failures = sum(check.status == "failed" for check in verdict.checks)
        skipped = sum(check.status == "skipped" for check in verdict.checks)
        name = escaped(one_line(verdict.student))
        yield (
            f'  <testsuite name="{name}" tests="{tests}" failures="{failures}" '
            f'errors="{trouble}" skipped="{skipped}">'
        )
        if trouble:
            message = escaped(verdict.trouble)
            yield f'    <testcase classname="{escaped(lab)}" name="submission">'
            yield f'      <error type="submission" message="{message}">{message}</error>'
            yield "    </testcase>"
        for check in verdict.checks:
            yield from _case(lab, check)
        yield "  </testsuite>"
    yield "</testsuites>"


def _case(lab: str, check: CheckResult) -> Iterator[str]:
    group = f"{lab}.{check.part}" if check.part else lab
    head = f'    <testcase classname="{escaped(group)}" name="{escaped(check.title)}"'
    if check.status == "passed":
        yield f"{head}/>"
        return
    yield f"{head}>"
    told = plain.told(check)
    if check.status == "skipped":
        yield f'      <skipped message="{_attribute(told)}"/>'
    else:
        story = check.story
        kind = escaped(story.signature) if story else ""
        message = _attribute(story.summary or story.hint) if story else ""
        yield f'      <failure type="{kind}" message="{message}">{escaped(told)}</failure>'
    yield "    </testcase>"


def _attribute(text: str) -> str:
    return escaped(text).replace("\n", _LINE_END)
