"""A whole network as a check: a student's switches under the control plane of the lab's system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from p4lab import _engine
from p4lab.grading import difference
from p4lab.grading.course import Check, Course, Judged
from p4lab.grading.elsewhere import Bench
from p4lab.grading.record import Story
from p4lab.grading.replay import Record, Recorder, Twins
from p4lab.grading.stages import absent
from p4lab.grading.story import compare_traces
from p4lab.grading.work import Work
from p4lab.model.run import Plan, Stream
from p4lab.network import NetworkError
from p4lab.packets.probe import Probe
from p4lab.session.run import Session, trial, virtual_network


def story(
    course: Course,
    check: Check,
    judged: Judged,
    work: Work,
    program: _engine.Program,
    bench: Bench | None = None,
) -> Story | None:
    """What is wrong with a run, told by the first switch that does something else than the
    reference would with the same packet; None if all comes to whom it is for."""
    assert judged.plan is not None
    case, plan = judged.case, judged.plan
    steps = _steps(course, plan)
    reference = course.program(case.defines)
    tables = [table["name"] for table in reference.summary["tables"]]
    if (missing := absent(tables, program, steps[:1])) is not None:
        return missing
    if bench is not None:
        wrong = bench.network(work, case, plan)
        return (
            Story(steps, f"{bench.name}: {wrong}", difference.COPY_MISSING, "") if wrong else None
        )
    noisy = program if case.undefined is None else program.with_undefined(case.undefined)
    wrong, record = _run(plan, noisy)
    seen = _culprit(course, check, judged, work, program, record, steps)
    if seen is not None:
        found = seen.story
        summary = f"{wrong} It goes wrong at {found.router} first. {found.summary}".strip()
        return replace(found, summary=summary)
    if not wrong:
        return None
    hint = "Check the parts of the lab before this one: here they meet."
    return Story(steps, wrong, difference.COPY_MISSING, hint)


@dataclass(frozen=True)
class Seen:
    """The first packet of a stream of which a router does not make what it should: its packets in
    the reference and in the student's program."""

    story: Story
    router: str
    mine: Sequence[Mapping[str, Any]]
    theirs: Sequence[Mapping[str, Any]]


def watched(
    course: Course, check: Check, judged: Judged, work: Work, program: _engine.Program
) -> Seen | None:
    """The packet that the story of a network's run is about; None if it is about none."""
    assert judged.plan is not None
    noise = judged.case.undefined
    noisy = program if noise is None else program.with_undefined(noise)
    _, record = _run(judged.plan, noisy)
    return _culprit(course, check, judged, work, program, record, ())


def _run(plan: Plan, program: _engine.Program) -> tuple[str, Record]:
    """What went wrong as a sentence (empty: nothing), and what the switches were given."""
    with virtual_network(plan, program) as net:
        recorder = Recorder(net)
        try:
            wrong = trial(Session(plan, net, driver=recorder.driver))
        except NetworkError as error:
            wrong = str(error)
        except ValueError as error:
            wrong = f"The control plane cannot write its entries: {error}."
        return wrong, recorder.record()


def _culprit(
    course: Course,
    check: Check,
    judged: Judged,
    work: Work,
    program: _engine.Program,
    record: Record,
    steps: tuple[str, ...],
) -> Seen | None:
    """The first packet of a stream of which a router does not make what it should."""
    assert judged.plan is not None
    reference = course.program(judged.case.defines)
    twins = Twins(record, lambda: course.switch(reference), course.cpu(judged.case.defines))
    for event, ours in twins.unlike(lambda data: Probe.of(data) is not None):
        arrival = event.arrival
        assert arrival is not None
        source = judged.plan.topology.neighbour(event.router, arrival["port"]) or "?"
        step = f"a packet reaches {event.router} on port {arrival['port']}, from {source}"
        traces = (reference, ours), (program, arrival)
        found = compare_traces(course, check, judged.case, *traces, (*steps, step), work)
        if found is not None:
            told = replace(found, router=event.router)
            return Seen(told, event.router, ours["packets"], arrival["packets"])
    return None


def _steps(course: Course, plan: Plan) -> tuple[str, ...]:
    told = [course.system.describe(plan)]
    told += [_sends(stream) for stream in plan.streams]
    told += [f"before that, the link {link.a}-{link.b} fails" for link in plan.down]
    return tuple(told)


def _sends(stream: Stream) -> str:
    names = ", ".join(host.name for host in stream.receivers)
    sends = f"{stream.source.name} sends {stream.packets} packets"
    if stream.destination.is_multicast:
        subscribe = "subscribes" if len(stream.receivers) == 1 else "subscribe"
        return f"{names} {subscribe} to {stream.destination}; {sends}"
    return f"{sends} to {names} ({stream.destination})"
