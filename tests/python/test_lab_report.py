"""The report of a run: a student trusts its verdict, so every way to be wrong must show in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from p4lab import registry
from p4lab.control.listeners import membership
from p4lab.course import home
from p4lab.course.labs import LabError, load_plan
from p4lab.model.report import DeliveryReport, deliveries
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
    return Observed({s.flow: s.packets for s in plan.streams}, received, ideal(plan))


def ideal(plan: Plan) -> Mapping[tuple[str, str], int]:
    """Copies that links have to carry at the least."""
    found = registry.find(plan.system).ideal(plan)
    assert found is not None
    return found


def judged(plan: Plan, observed: Observed) -> DeliveryReport:
    return deliveries(plan, "virtual", observed, ideal=ideal(plan))


def test_a_perfect_run_is_ok(plan: Plan) -> None:
    report = judged(plan, perfect(plan))
    assert report.ok, report.problems
    assert all(row["ok"] for row in report.to_json()["hosts"])


def test_a_destination_with_two_sources_is_told_apart() -> None:
    plan = load_plan("06-bng", packets=1)
    shown = Console(width=120)
    with shown.capture() as capture:
        shown.print(deliveries(plan, "virtual", Observed({}, {}, {})).render())
    rows = re.findall(r"│ (\w+) +│ 10.0.1.5 +│ web ", capture.get())
    assert rows == ["alice", "bob"]


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
        report = judged(plan, observed)
        assert not report.ok
        assert any(text in problem for problem in report.problems), (text, report.problems)


def test_a_copy_on_a_link_that_needs_none_is_a_problem(plan: Plan) -> None:
    good = perfect(plan)
    stray = next(
        (link.a, link.b)
        for link in plan.topology.links
        if (link.a, link.b) not in good.copies and not link.is_access
    )
    report = judged(plan, replace(good, copies={**good.copies, stray: 1}))
    assert [f"{stray[0]} to {stray[1]}" in problem for problem in report.problems] == [True]


def test_the_ideal_counts_one_copy_per_set(plan: Plan) -> None:
    """More receivers than bits: a link needs one copy for each set behind it, not one in all."""
    wide = load_plan("01-bier", topology="sets", bsl=64, packets=1)
    narrow = load_plan("01-bier", topology="sets", bsl=256, packets=1)
    assert max(ideal(wide).values()) > max(ideal(narrow).values())


def test_the_seed_decides_who_subscribes() -> None:
    plans = [load_plan("01-bier", topology="fanout64", seed=seed) for seed in (3, 3, 4)]
    *again, other = map(membership, plans)
    assert again[0] == again[1] != other


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"bsl": 100}, "64, 128 or 256, not 100"),
        ({"packets": 0}, "at least 1 packet"),
    ],
)
def test_bad_wishes_get_a_sentence(change: dict[str, int], sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        load_plan("01-bier", **change)  # type: ignore[arg-type]


LAB = """
[run]
program = "p4/bier/v1model.p4"
topology = "ring"
system = "kettle"
packets = 1
interval = "1 ms"
litres = 1

[[run.stream]]
source = 1
group = "239.1.1.1"
"""

KETTLE = """
from pydantic import Field, field_validator, model_validator
from p4lab.model.system import Settings, System

class Wishes(Settings):
    litres: int = Field(1, ge=1, description="litres of water")
    cups: int = 2

    @field_validator("cups")
    @classmethod
    def _pairs(cls, cups):
        if cups % 2:
            raise ValueError("cups come in pairs")
        return cups

    @model_validator(mode="after")
    def _enough(self):
        if self.cups > 4 * self.litres:
            raise ValueError("a litre is four cups")
        return self

class Kettle(System):
    name = "kettle"
    settings = Wishes
"""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"litres": 0}, "litres must be greater than or equal to 1, not 0 (litres of water)."),
        ({"litres": "some"}, "litres must be a valid integer, not some (litres of water)."),
        ({"cups": 3}, "cups 3: cups come in pairs."),
        ({"cups": 6}, "--cups 6: a litre is four cups."),
        ({"sugar": 1}, "90-tea does not know --sugar; its system has --litres, --cups."),
    ],
)
def test_bad_wishes_of_any_system_get_a_sentence(
    change: dict[str, object], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "labs" / "90-tea"
    own.mkdir(parents=True)
    (own / "system.py").write_text(KETTLE)
    (own / "lab.toml").write_text(LAB)
    monkeypatch.setenv(home.ENVIRONMENT, str(tmp_path))
    monkeypatch.setattr(registry, "_folders", {})
    with pytest.raises(LabError) as refused:
        load_plan("90-tea", **change)  # type: ignore[arg-type]
    assert str(refused.value) == sentence
    assert load_plan("90-tea", litres=2, cups=8).settings.cups == 8


def test_an_unknown_lab_names_the_known_ones() -> None:
    with pytest.raises(LabError, match="no lab named '99-none'; choose from 00-p4"):
        load_plan("99-none")
