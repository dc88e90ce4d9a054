"""What looped ports carry: whether those who take turns carry alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from p4lab import _engine
from p4lab.grading import culprit
from p4lab.grading.course import Check, Course, Judged, came_back, inject_traced
from p4lab.grading.record import Place, Story
from p4lab.grading.scenario import Share
from p4lab.grading.work import Work
from p4lab.plurals import count_of

UNUSED = "looped port unused"
STRANGE = "wrong looped port"
UNFAIR = "looped ports unfair"
TOO_MANY = "too many passes"
TOO_FEW = "too few passes"


def story(
    course: Course, check: Check, judged: Judged, work: Work, program: _engine.Program
) -> Story | None:
    """What is wrong with what the looped ports of a case carry; None if nothing is."""
    case = judged.case
    switch = course.set_up(program, case)
    traces = [inject_traced(switch, sending) for sending in case.sendings]
    for share in case.shares:
        window = slice(share.since - 1, share.until)
        chosen = traces[window]
        carried = Counter(port for trace in chosen for port in came_back(trace))
        kind, summary = _wrong(share, carried, sum(judged.came_back[window]))
        if not kind:
            continue
        where = None if kind in (TOO_MANY, TOO_FEW) else _chooser(chosen, work.files)
        return Story(
            case.told(share.until),
            summary,
            kind,
            course.hint(check, kind),
            place=where,
            why="here it is decided which looped port a packet takes" if where else "",
        )
    return None


def _wrong(share: Share, carried: Counter[int], enough: int) -> tuple[str, str]:
    """The kind of what is wrong, and a sentence; both empty if nothing is. `enough` packets have to
    come back in all."""
    if (total := carried.total()) != enough:
        kind = TOO_MANY if total > enough else TOO_FEW
        return kind, f"{count_of(total, 'packet')} came back by looped ports; {enough} have to."
    own = {port: carried[port] for port in share.ports}
    listed = ", ".join(f"port {port}: {count}" for port, count in own.items())
    strangers = {port: count for port, count in carried.items() if port not in own}
    told = f"Of the looped ports that take turns, these came back, {listed}."
    if sum(strangers.values()) > share.late:
        port = max(strangers, key=lambda port: (strangers[port], port))
        return STRANGE, (
            f"Port {port}, which does not take turns any more or never did, carried "
            f"{count_of(strangers[port], 'packet')}. {told}"
        )
    low, high = min(own.values()), max(own.values())
    if high - low <= share.spread:
        return "", ""
    if low == 0:
        idle = next(port for port, count in own.items() if not count)
        return UNUSED, f"Port {idle} carried no packet at all. {told}"
    return UNFAIR, f"One looped port carried more than another. {told}"


def _chooser(traces: Sequence[Mapping[str, Any]], files: Mapping[str, str]) -> Place | None:
    """The line where the last packet that came back asked a register, the last before it left."""
    found = None
    for trace in traces:
        packets = {packet["id"]: packet for packet in trace["packets"]}
        for packet in trace["packets"]:
            if packet["kind"] == "recirculated":
                asked = [step for step in _entered(packet, packets)["steps"] if _asks(step)]
                found = asked[-1] if asked else found
    return culprit.place(found, files) if found else None


def _entered(packet: Mapping[str, Any], packets: Mapping[int, Any]) -> Mapping[str, Any]:
    """The packet of which one that came back was made, as it came in before."""
    packet = packets[packet["parent"]]
    while packet["ingress_port"] is None:
        packet = packets[packet["parent"]]
    return packet


def _asks(step: Mapping[str, Any]) -> bool:
    return step["kind"] == "extern" and str(step["name"]).endswith(".execute")
