"""What looped ports carry: whether those who take turns carry alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from p4lab import _engine
from p4lab.grading import culprit, hints
from p4lab.grading.course import Check, Course, Judged, come_traced, set_up
from p4lab.grading.record import Place, Story
from p4lab.grading.scenario import Share
from p4lab.grading.work import Work

UNUSED = "looped port unused"
STRANGE = "wrong looped port"
UNFAIR = "looped ports unfair"


def story(
    course: Course, check: Check, judged: Judged, work: Work, program: _engine.Program
) -> Story | None:
    """What is wrong with what the looped ports of a case carry; None if nothing is."""
    case = judged.case
    switch = set_up(program, case)
    traces = [come_traced(switch, sending) for sending in case.sendings]
    for share in case.shares:
        chosen = traces[share.since - 1 : share.until]
        carried = _carried(chosen)
        kind, summary = _wrong(share, carried)
        if not kind:
            continue
        where = _chooser(chosen, work.files)
        return Story(
            case.told(share.until),
            summary,
            kind,
            hints.choose(course.hints, check.id, kind, ""),
            place=where,
            why="here it is decided which looped port a packet takes" if where else "",
        )
    return None


def _carried(traces: Sequence[Mapping[str, Any]]) -> Counter[int]:
    """Packets that came back, by the looped port."""
    return Counter(
        packet["ingress_port"]
        for trace in traces
        for packet in trace["packets"]
        if packet["kind"] == "recirculated"
    )


def _wrong(share: Share, carried: Counter[int]) -> tuple[str, str]:
    """The kind of what is wrong, and a sentence; both empty if nothing is."""
    own = {port: carried[port] for port in share.ports}
    listed = ", ".join(f"port {port}: {count}" for port, count in own.items())
    strangers = {port: count for port, count in carried.items() if port not in own}
    told = f"Of the looped ports that take turns, these came back, {listed}."
    if sum(strangers.values()) > share.late:
        port = max(strangers, key=lambda port: (strangers[port], port))
        return STRANGE, (
            f"Port {port}, which does not take turns any more or never did, carried "
            f"{_packets(strangers[port])}. {told}"
        )
    low, high = min(own.values()), max(own.values())
    if high - low <= share.spread:
        return "", ""
    if low == 0:
        idle = next(port for port, count in own.items() if not count)
        return UNUSED, f"Port {idle} carried no packet at all. {told}"
    return UNFAIR, f"One looped port carried more than another. {told}"


def _packets(count: int) -> str:
    return "one packet" if count == 1 else f"{count} packets"


def _chooser(traces: Sequence[Mapping[str, Any]], files: Mapping[str, str]) -> Place | None:
    """The line that asked a register last, of those that led to another pass."""
    found = None
    for trace in traces:
        for packet in trace["packets"]:
            for step in packet["steps"]:
                if step["kind"] == "extern" and str(step["name"]).endswith(".execute"):
                    found = step if _changes_after(packet, step) else found
    return culprit.place(found, files) if found else None


def _changes_after(packet: Mapping[str, Any], step: Mapping[str, Any]) -> bool:
    """Whether the register action changed something: one that only reads decides no turn."""
    steps = packet["steps"]
    after = steps[steps.index(step) + 1 :][:1]
    return bool(after) and after[0]["kind"] == "change"
