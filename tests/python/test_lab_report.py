"""The report of a run: a student trusts its verdict, so every way to be wrong must show in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from p4lab.course.labs import LabError, load_plan
from p4lab.model.report import deliveries
from p4lab.model.run import Observed, Plan, Received


@pytest.fixture
def plan() -> Plan:
    return load_plan("01-bier", packets=10, seed=7)


def perfect(plan: Plan) -> Observed:
    received = {
        (host.name, stream.flow): Received(stream.packets, 0)
        for stream in plan.streams
        for host in stream.receivers
    }
    return Observed({s.flow: s.packets for s in plan.streams}, received, plan.ideal())


def test_a_perfect_run_is_ok(plan: Plan) -> None:
    report = deliveries(plan, "virtual", perfect(plan))
    assert report.ok, report.problems
    assert all(row["ok"] for row in report.to_json()["hosts"])


def test_every_deviation_is_a_problem(plan: Plan) -> None:
    good = perfect(plan)
    first = plan.streams[0]
    host = first.receivers[0].name
    key = (host, first.flow)
    link, ideal = next(iter(good.copies.items()))
    outsider = next(
        h.name
        for h in plan.topology.hosts
        if h not in plan.streams[1].receivers and h != plan.streams[1].source
    )
    wrong = {
        "misses 1 of 10": replace(good, received={**good.received, key: Received(9, 0)}),
        "2 duplicates": replace(good, received={**good.received, key: Received(10, 2)}),
        "without a subscription": replace(
            good,
            received={**good.received, (outsider, plan.streams[1].flow): Received(3, 0)},
        ),
        f"carried {ideal + 1} copies": replace(good, copies={**good.copies, link: ideal + 1}),
        "only 9 of 10 packets": replace(good, sent={**good.sent, first.flow: 9}),
    }
    for text, observed in wrong.items():
        report = deliveries(plan, "virtual", observed)
        assert not report.ok
        assert any(text in problem for problem in report.problems), (text, report.problems)


def test_a_copy_on_a_link_that_needs_none_is_a_problem(plan: Plan) -> None:
    good = perfect(plan)
    stray = next(
        (link.a, link.b)
        for link in plan.topology.links
        if (link.a, link.b) not in good.copies and not link.is_access
    )
    report = deliveries(plan, "virtual", replace(good, copies={**good.copies, stray: 1}))
    assert [f"{stray[0]} to {stray[1]}" in problem for problem in report.problems] == [True]


def test_the_ideal_counts_one_copy_per_set(plan: Plan) -> None:
    """More receivers than bits: a link needs one copy for each set behind it, not one in all."""
    wide = load_plan("01-bier", topology="sets", bsl=64, packets=1)
    narrow = load_plan("01-bier", topology="sets", bsl=256, packets=1)
    assert max(wide.ideal().values()) > max(narrow.ideal().values())


def test_the_seed_decides_who_subscribes() -> None:
    again = [load_plan("01-bier", topology="fanout64", seed=3).membership for _ in range(2)]
    other = load_plan("01-bier", topology="fanout64", seed=4).membership
    assert again[0] == again[1] != other


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"bsl": 100}, "64, 128 or 256 bits, not 100"),
        ({"packets": 0}, "at least 1 packet"),
    ],
)
def test_bad_wishes_get_a_sentence(change: dict[str, int], sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        load_plan("01-bier", **change)  # type: ignore[arg-type]


def test_an_unknown_lab_names_the_known_ones() -> None:
    with pytest.raises(LabError, match="no lab named '99-none'; there is 01-bier"):
        load_plan("99-none")
