"""A check as plain text, for the systems that show text."""

from __future__ import annotations

from collections.abc import Iterator

from p4lab.grading.attempts import FAILS, MISSING, OTHERS_FAIL, POLICIES, UNPROMISED
from p4lab.grading.record import (
    CheckResult,
    PacketDifference,
    Proof,
    Story,
    Verdict,
    Warned,
)
from p4lab.grading.writers.text import number
from p4lab.plurals import count_of
from p4lab.prove import RATES

WARNINGS = "The compiler warns, which costs no points:"
HIDDEN = "All public cases are right; a hidden case is not."
NOISE = (
    "Hidden cases draw every field of a packet that a check does not fix, and put noise where P4 "
    "leaves a value undefined, such as a variable that was never written."
)
OTHER_NUMBERS = "Hidden cases draw other numbers than those that everyone sees."
PROVED = "All cases are right; a proof found a packet that is not."
RESULTS = {"passed": "passed", "failed": "failed", "skipped": "not run"}
UNTRIED = frozenset({FAILS, MISSING, OTHERS_FAIL, POLICIES, UNPROMISED})
"""What the record of a proof says that was not tried"""
NOTHING = "-"
SHOWN_PACKETS = 4
"""Most differing packets of a case that are told one by one."""


def result(check: CheckResult) -> str:
    """One or two words."""
    return RESULTS[check.status]


def outcome(check: CheckResult, verdict: Verdict) -> str:
    """The same, and for a check that did not run the title of what it waits for."""
    titles = [other.title for other in verdict.checks if other.id in check.waits_for]
    return f"{result(check)}, waits for: {titles[0]}" if titles else result(check)


def score(check: CheckResult) -> str:
    return f"{number(check.points)} of {number(check.max_points)}"


def waiting(check: CheckResult) -> str:
    """Why a check did not run."""
    if not check.waits_for:
        return "It did not run."
    return f"It waits for: {', '.join(check.waits_for)}."


def told(check: CheckResult) -> str:
    """Everything there is to say, several lines; empty for a check that passed."""
    if check.status == "skipped":
        return waiting(check)
    if check.status == "passed" or check.story is None:
        return ""
    return "\n".join(_lines(check, check.story))


def warned(one: Warned) -> str:
    """A warning in a line."""
    where = f"{one.place.file}, line {one.place.line}: " if one.place else ""
    return f"{where}{one.message} [{one.code}]"


def is_tried(found: Proof | None) -> bool:
    """Whether a proof was tried; why not is no business of a student's who did not ask for one."""
    return found is not None and found.told not in UNTRIED


def proof(found: Proof) -> str:
    """What is known of packets that no check has sent."""
    if found.status == "refuted":
        return f"A proof found a packet that is treated wrongly: see the check {found.told}."
    if found.status == "proven":
        apart = ", but for rates and counts," if RATES in found.told else ""
        said = f"Proven equal to the reference{apart} within these bounds: {found.told}."
    else:
        said = f"Sampled, not proven: {found.told}."
    if not found.branches:
        return said
    return f"{said} Packets took {found.taken} of the program's {found.branches} branches."


def lead(check: CheckResult) -> str:
    """Which cases of a failed check are wrong, if not those that everyone sees."""
    if check.proved:
        return PROVED
    return HIDDEN if check.hidden else ""


def _lines(check: CheckResult, story: Story) -> Iterator[str]:
    if lead(check):
        yield lead(check)
    if story.summary:
        yield story.summary
    yield f"Kind: {story.signature}"
    if story.steps:
        yield "Steps:"
        yield from (f"  {count}. {step}" for count, step in enumerate(story.steps, 1))
    for packet in story.differences[:SHOWN_PACKETS]:
        yield headline(packet)
        yield from (f"  {line}" for line in header_lines(packet))
        for item in packet.shown:
            expected, got = item.expected or NOTHING, item.got or NOTHING
            yield f"  {item.field}: expected {expected}, got {got}"
    yield from more(story)
    yield from (f"First wrong: {line}" for line in where(story))
    yield from story.listing
    if story.hint:
        yield f"Hint: {story.hint}"


def headline(packet: PacketDifference) -> str:
    """Which packet this is; a colon if there is more to say of it."""
    more = packet.shown or packet.expected_headers or packet.got_headers
    return f"{_which(packet)}{':' if more else '.'}"


def _which(packet: PacketDifference) -> str:
    expected, got = packet.expected_port, packet.got_port
    if expected is None and got is None:
        return "The packet"
    if got is None:
        return f"Missing: a packet on port {expected}"
    if expected is None:
        return f"Not wanted: a packet on port {got}"
    if expected != got:
        return f"The packet on port {got}, which belongs on port {expected}"
    return f"The packet on port {got}"


def more(story: Story) -> Iterator[str]:
    """How many packets are not told, if any."""
    count = len(story.differences) - SHOWN_PACKETS
    if count > 0:
        yield f"And {count_of(count, 'more packet differs', 'more packets differ')}."


def header_lines(packet: PacketDifference) -> Iterator[str]:
    """The headers; both rows only if they differ."""
    both = packet.expected_headers and packet.got_headers
    if both and packet.expected_headers == packet.got_headers:
        yield f"headers compared: {', '.join(packet.got_headers)}"
        return
    if packet.expected_headers:
        yield f"headers expected: {', '.join(packet.expected_headers)}"
    if packet.got_headers:
        yield f"headers got: {', '.join(packet.got_headers)}"


def where(story: Story) -> Iterator[str]:
    """Router, line and what happened there, as far as they are known."""
    parts = [f"on {story.router}"] if story.router else []
    if story.place:
        parts.append(f"{story.place.file}, line {story.place.line}")
    if parts:
        yield ", ".join(parts)
    if story.place and story.place.text.strip():
        yield story.place.text.strip()
    if story.why:
        yield story.why
