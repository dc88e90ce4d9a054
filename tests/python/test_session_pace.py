"""Without these a run blames a student's program for what a busy machine loses, or takes minutes
for a program that delivers nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from p4lab.course.labs import load_plan
from p4lab.model.run import Observed, Plan, Received
from p4lab.session import pace


@pytest.fixture(scope="module")
def plan() -> Plan:
    return load_plan("01-bier")


def test_a_run_is_repeated_more_slowly_and_says_so(plan: Plan) -> None:
    paced = list(pace.plans(plan))
    assert paced[0] == (plan, ())
    assert [notes == () for _, notes in paced] == [True, False, False]
    for (before, _), (after, (note,)) in pairwise(paced):
        assert replace(after, streams=before.streams) == before
        for slow, fast in zip(after.streams, before.streams, strict=True):
            assert slow.interval_ns >= 4 * fast.interval_ns
            assert replace(slow, interval_ns=fast.interval_ns) == fast
            assert f"every {slow.interval_ns / 1e6:.3g} ms" in note
            assert f"every {paced[0][0].streams[0].interval_ns / 1e6:.3g} ms" in note


def test_a_repeated_run_takes_no_hours(plan: Plan) -> None:
    """Each stream ends in a minute, and the note says that it has fewer packets."""
    many = replace(plan, streams=tuple(replace(one, packets=10**6) for one in plan.streams))
    first, *slower = pace.plans(many)
    assert first == (many, ())
    for paced, (note,) in slower:
        for stream in paced.streams:
            assert stream.packets * stream.interval_ns <= pace.LONGEST * 10**9
            assert stream.packets > 1000
        assert "with fewer of them" in note
    assert not any("fewer" in note for _, notes in pace.plans(plan) for note in notes)


def test_the_first_rate_is_one_that_bmv2_carries(plan: Plan, monkeypatch) -> None:
    """A slow stream stays as it is; a fast one waits for the copies of each packet."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    hasty = replace(plan, streams=tuple(replace(one, interval_ns=1) for one in plan.streams))
    calm = replace(plan, streams=tuple(replace(one, interval_ns=10**9) for one in plan.streams))
    first = pace.for_bmv2(hasty)
    # Each packet crosses the access link of its source, and at least that of each receiver.
    least = sum(1 + len(stream.receivers) for stream in plan.streams)
    assert all(one.interval_ns >= least * 1e9 / (2 * pace.COPIES) for one in first.streams)
    assert pace.for_bmv2(calm) == calm


def test_gaps_are_a_reason_to_repeat_and_silence_is_none(plan: Plan) -> None:
    stream = plan.streams[0]
    sent = {one.flow: 10 for one in plan.streams}
    whole = {
        (host.name, one.flow): Received(10, 0) for one in plan.streams for host in one.receivers
    }
    host = stream.receivers[0].name
    assert not pace.is_lossy(plan, Observed(sent, whole, {}))
    assert pace.is_lossy(plan, Observed(sent, {**whole, (host, stream.flow): Received(9, 0)}, {}))
    twice = {**whole, (host, stream.flow): Received(10, 3)}
    assert not pace.is_lossy(plan, Observed(sent, twice, {}))
    for nothing in ({}, {(host, stream.flow): Received(0, 0)}):
        without = {key: got for key, got in whole.items() if key != (host, stream.flow)}
        assert not pace.is_lossy(plan, Observed(sent, {**without, **nothing}, {}))


def test_links_that_are_to_lose_packets_are_not_the_machine() -> None:
    plan = load_plan("03-protect", topology="protect-lossy")
    some = {(host.name, one.flow): Received(5, 0) for one in plan.streams for host in one.receivers}
    assert some
    assert not pace.is_lossy(plan, Observed({one.flow: 10 for one in plan.streams}, some, {}))


def test_a_trial_that_loses_packets_is_repeated_and_another_mistake_is_not(plan: Plan) -> None:
    """On fifty hosts and two cores half of all packets were lost, and each receiver was told."""
    sent = {one.flow: 10 for one in plan.streams}

    def observed(got: int) -> Observed:
        every = [(host.name, one.flow) for one in plan.streams for host in one.receivers]
        return Observed(sent, {key: Received(got, 0) for key in every}, {})

    tried: list[int] = []

    def busy(paced: Plan) -> tuple[str, Observed]:
        tried.append(paced.streams[0].interval_ns)
        right = len(tried) == 2
        return ("", observed(10)) if right else ("h2 misses 3 of 10 packets", observed(7))

    assert pace.problem(plan, busy) == ""
    assert len(tried) == 2 and tried[1] == 4 * tried[0]
    tried.clear()

    def wrong(paced: Plan) -> tuple[str, Observed]:
        tried.append(paced.streams[0].interval_ns)
        return "h2 got a packet twice", observed(10)

    assert pace.problem(plan, wrong) == "h2 got a packet twice"
    assert len(tried) == 1
