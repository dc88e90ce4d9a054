"""What a grader found, in one neutral form; every report and file format is made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Status = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class Place:
    """A line of the student's source."""

    file: str
    line: int
    text: str = ""


@dataclass(frozen=True)
class FieldDifference:
    """A field that differs, such as `bier.ttl`; None where its header is not there. It is `caused`
    if it differs only because something else does: readers need not see it."""

    field: str
    expected: str | None
    got: str | None
    caused: bool = False


@dataclass(frozen=True)
class PacketDifference:
    """A packet that differs: on another port, with other headers or fields, missing (`got_port` is
    None) or not wanted (`expected_port` is None). Headers are in the order of the packet."""

    expected_port: int | None
    got_port: int | None
    expected_headers: tuple[str, ...] = ()
    got_headers: tuple[str, ...] = ()
    fields: tuple[FieldDifference, ...] = ()

    @property
    def shown(self) -> tuple[FieldDifference, ...]:
        """The fields without those that differ because of others."""
        return tuple(one for one in self.fields if not one.caused)


@dataclass(frozen=True)
class Story:
    """How a case failed, for the student to read from top to bottom."""

    steps: tuple[str, ...]
    """What was done: entries written, packets sent"""
    summary: str
    """One sentence: what is wrong"""
    signature: str
    """The kind of the difference; hints are chosen by it"""
    hint: str
    differences: tuple[PacketDifference, ...] = ()
    router: str = ""
    """Where it went wrong first; empty if there is one switch only"""
    place: Place | None = None
    why: str = ""
    """What happened at `place`"""
    listing: tuple[str, ...] = ()
    """What the compiler prints of a program that does not compile, a block for each error"""
    packet: int = 0
    """The number of the packet, among those of its case, that it is about; 0: it is about all"""

    @property
    def field(self) -> str:
        """The field that it is about; empty if it is about none."""
        named = (one.field for told in self.differences for one in told.shown)
        return next((name for name in named if name in self.summary), "")

    @property
    def header(self) -> str:
        """The header that it is about, which is there and should not be, or is missing; empty if it
        is about none."""
        both = ((set(one.expected_headers), set(one.got_headers)) for one in self.differences)
        named = (name for expected, got in both for name in sorted(expected ^ got))
        return next((name for name in named if f"header {name}." in self.summary), "")


@dataclass(frozen=True)
class Warned:
    """A warning of the compiler about a student's file; it costs no points. `listing` is what the
    compiler prints of it."""

    code: str
    message: str
    place: Place | None = None
    listing: str = ""


@dataclass(frozen=True)
class CheckResult:
    """One check. A skipped one waits for those that it needs and that failed, by their ids, or it
    needs something `beyond` the target, as a noun. A failed one that waits for others may have
    failed because of them."""

    id: str
    title: str
    part: str
    status: Status
    points: float
    max_points: float
    story: Story | None = None
    hidden: bool = False
    """It failed in hidden cases only: the story must not reach the student before the release"""
    waits_for: tuple[str, ...] = ()
    cases: int = 0
    """How many cases ran"""
    beyond: str = ""
    proved: bool = False
    """All its cases passed; a proof found the packet of the story"""
    left: Story | None = None
    """It did run and fail, which is left to the checks of `waits_for`: how, for who asks for it"""


@dataclass(frozen=True)
class Proof:
    """What is known of packets that no check has sent: "proven" equal to the reference within the
    bounds that `told` says, "refuted" by the case of a check (`told` is its id), or "sampled", and
    `told` says why there is no proof. Of a program that was not refuted so many of its `branches`
    were `taken` by packets."""

    status: Literal["proven", "refuted", "sampled"]
    told: str
    taken: int = 0
    branches: int = 0


@dataclass(frozen=True)
class Adjustment:
    """Points that a verdict has beside those of its checks, fewer with a minus, and why."""

    points: float
    why: str


@dataclass(frozen=True)
class Verdict:
    """All checks of one submission. `trouble` is the one sentence to read first if it could not be
    judged as it is: not readable, too large, out of time. `adjustments` are for what no check
    knows: deadlines, and what an instructor has decided. Without a `proof` nobody asked for one."""

    lab: str
    student: str
    checks: tuple[CheckResult, ...]
    trouble: str = ""
    warnings: tuple[Warned, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()
    proof: Proof | None = None

    @property
    def points(self) -> float:
        """Of the checks, with the adjustments."""
        return self.checked_points + sum(one.points for one in self.adjustments)

    @property
    def checked_points(self) -> float:
        """Of the checks alone."""
        return sum(check.points for check in self.checks)

    @property
    def max_points(self) -> float:
        return sum(check.max_points for check in self.checks)

    @property
    def passed(self) -> bool:
        """Whether nothing failed of what could be judged."""
        judged = [check for check in self.checks if not check.beyond]
        return not self.trouble and all(check.status == "passed" for check in judged)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """The verdict that `to_json` gave. Raises KeyError or TypeError for anything else."""
        checks = tuple(_check(item) for item in data["checks"])
        warnings = tuple(_warned(item) for item in data["warnings"])
        adjustments = tuple(Adjustment(**item) for item in data["adjustments"])
        proof = Proof(**data["proof"]) if data["proof"] else None
        head = (data["lab"], data["student"])
        return cls(*head, checks, data["trouble"], warnings, adjustments, proof)


def _warned(data: Mapping[str, Any]) -> Warned:
    place = data["place"]
    return Warned(**{**data, "place": Place(**place) if place else None})


def _check(data: Mapping[str, Any]) -> CheckResult:
    told = {key: story_of(data[key]) if data.get(key) else None for key in ("story", "left")}
    return CheckResult(**{**data, "waits_for": tuple(data["waits_for"]), **told})


def story_of(data: Mapping[str, Any]) -> Story:
    """The story that is plain data (`asdict`). Raises KeyError or TypeError for anything else."""
    place = data["place"]
    return Story(
        **{
            **data,
            "steps": tuple(data["steps"]),
            "differences": tuple(_packet(item) for item in data["differences"]),
            "place": Place(**place) if place else None,
            "listing": tuple(data["listing"]),
        }
    )


def _packet(data: Mapping[str, Any]) -> PacketDifference:
    return PacketDifference(
        data["expected_port"],
        data["got_port"],
        tuple(data["expected_headers"]),
        tuple(data["got_headers"]),
        tuple(FieldDifference(**item) for item in data["fields"]),
    )


def by_part(checks: Iterable[CheckResult]) -> dict[str, tuple[CheckResult, ...]]:
    """Checks by their part, in the order of the lab."""
    parts: dict[str, list[CheckResult]] = {}
    for check in checks:
        parts.setdefault(check.part, []).append(check)
    return {part: tuple(found) for part, found in parts.items()}


def of_part(verdict: Verdict, part: str | None) -> Sequence[CheckResult]:
    """The checks of a part, and what stands before all parts as far as it has not passed; without a
    `part` all checks."""
    if part is None:
        return verdict.checks
    return [c for c in verdict.checks if c.part == part or (not c.part and c.status != "passed")]


def opened(verdict: Verdict, part: str | None, check: str | None = None) -> Verdict:
    """The verdict for one who asks for a part, or for a check: what fails there is told although
    failures elsewhere may be the cause, which `waits_for` still names."""
    own = {one.id for one in verdict.checks if part is not None and one.part == part}
    asked = {one.id for one in verdict.checks if one.id in own and not own & set(one.waits_for)}
    asked |= {check} if check else set()
    checks = (
        replace(one, status="failed", story=one.left, left=None)
        if one.id in asked and one.left is not None
        else one
        for one in verdict.checks
    )
    return replace(verdict, checks=tuple(checks))


def cause(verdict: Verdict, check: CheckResult) -> CheckResult:
    """The failed check that one waits for in the end, or that it may have failed because of."""
    by_id = {one.id: one for one in verdict.checks}
    seen: set[str] = set()
    while check.waits_for and check.id not in seen and (check.status == "skipped" or not seen):
        seen.add(check.id)
        check = by_id[check.waits_for[0]]
    return check


def before(verdict: Verdict, part: str | None) -> str:
    """The part to do first, if a whole part waits for another; else empty."""
    own = [one for one in verdict.checks if part is not None and one.part == part]
    if not own or any(one.status != "skipped" or one.beyond for one in own):
        return ""
    first = cause(verdict, own[0]).part
    return "" if first == part else first


def to_tell(verdict: Verdict, part: str | None) -> CheckResult:
    """The check to tell of if nobody names one: the first that fails, of all or of a part; else the
    first that waits, else the last."""
    checks = of_part(verdict, part)
    failed = (one for one in checks if one.story is not None)
    waiting = (one for one in checks if one.status == "skipped")
    return next(failed, None) or next(waiting, checks[-1])
