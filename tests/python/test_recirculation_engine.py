"""Recirculation on the engine: what is simulated is what the limits and the formulas say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from p4lab import _engine
from p4lab.systems.bier_tna.recirculation import bench, measured
from p4lab.systems.bier_tna.recirculation.equations import throughput
from p4lab.systems.bier_tna.recirculation.mixes import Mix, Part, with_loops
from p4lab.systems.bier_tna.recirculation.overload import overload
from p4lab.systems.bier_tna.recirculation.results import table2, tail_drop_bounds
from p4lab.systems.bier_tna.recirculation.simulation import Outcome, Setup, simulate

SEED = 1
# Half the width of a 95 % confidence interval; a run of the lab takes 0.5 %.
ROUGH = 0.02


def run(n: int, k: int, arbitration: str, **more: object) -> Outcome:
    values = {"precision": ROUGH, "seed": SEED, **more}
    return simulate(Setup(n, k, arbitration, **values))  # type: ignore[arg-type]


@pytest.mark.parametrize(("n", "k"), [(3, 1), (4, 1), (4, 2)])
def test_equal_drop_is_equations_1_and_2(n: int, k: int) -> None:
    """The numbers that the lab stands on: 38.20, 16.07 and 53.25 Gb/s, within 1 %."""
    found = run(n, k, "equal-drop", precision=0.004)
    assert found.last.value == pytest.approx(throughput(n, n, k), rel=0.01), SEED
    assert found.throughput[0].value == pytest.approx(100, rel=0.001)


@pytest.mark.parametrize("arbitration", ["random", "looped-first", "fresh-first"])
@pytest.mark.parametrize(("n", "k"), [(4, 1), (4, 2)])
def test_each_arbitration_has_its_fluid_limit(n: int, k: int, arbitration: str) -> None:
    found = run(n, k, arbitration, precision=0.004)
    limit = found.setup.limit
    assert limit is not None
    values = [one.value for one in found.throughput]
    assert values == pytest.approx(limit, rel=0.01, abs=0.2), SEED


def test_tail_drop_is_between_the_orders() -> None:
    """What hardware has. It has no limit, but it cannot be better or worse than any order."""
    for n, k in ((3, 1), (4, 2)):
        found = run(n, k, "tail-drop")
        assert found.setup.limit is None
        low, high = tail_drop_bounds(n, k)
        assert low - 1 <= found.last.value <= high + 1
        assert sum(one.value for one in found.throughput[1:]) == pytest.approx(100 * k, rel=0.01)
        assert "whoever comes first" in found.arbitration


def test_enough_ports_lose_nothing() -> None:
    for collapsed in (False, True):
        found = run(3, 2, "tail-drop", collapsed=collapsed)
        assert found.setup.limit == pytest.approx((found.setup.offered,) * 3)
        values = [one.value for one in found.throughput]
        assert values == pytest.approx([found.setup.offered] * 3, rel=0.002)
        assert sum(loop["dropped"] for loop in found.loops) == 0


@pytest.mark.parametrize("frame", [400, 1500])
def test_the_header_explains_what_is_missing_from_100(frame: int) -> None:
    """The paper measures 99.32 of 100 Gb/s: packets are longer on the loop for encapsulation."""
    found = run(1, 1, "tail-drop", collapsed=True, frame=frame)
    longer = frame + 20 + bench.BIER_HEADER + bench.INTERNAL_HEADER
    assert found.last.value == pytest.approx(100 * (frame + 20) / longer, rel=0.002)


@pytest.mark.parametrize(
    ("n", "k", "arbitration"),
    [
        (3, 1, "random"),
        (4, 1, "looped-first"),
        (4, 2, "equal-drop"),
        (4, 2, "random"),
        (4, 2, "looped-first"),
        (4, 2, "fresh-first"),
        (5, 3, "random"),
    ],
)
def test_the_collapsed_switch_has_the_same_limits(n: int, k: int, arbitration: str) -> None:
    """There fresh packets come from a loop, too, and have taken a turn for it: whoever looks at one
    next hop would believe in another order if that disturbed the turns of the copies."""
    found = run(n, k, arbitration, collapsed=True, precision=0.006)
    assert found.setup.limit is not None
    values = [one.value for one in found.throughput]
    assert values == pytest.approx(found.setup.limit, rel=0.012, abs=0.2), SEED


def test_the_same_setup_is_the_same_run() -> None:
    """Also on the other engine: whoever repeats a run gets the same numbers."""
    one = run(3, 1, "equal-drop", most_packets=40_000)
    assert run(3, 1, "equal-drop", most_packets=40_000).throughput == one.throughput
    other = run(3, 1, "equal-drop", most_packets=40_000, engine="interpreter")
    assert other.throughput == one.throughput
    assert run(3, 1, "equal-drop", most_packets=40_000, seed=2).throughput != one.throughput


def test_progress_ends_at_1() -> None:
    told: list[float] = []
    simulate(Setup(2, 1, precision=ROUGH), told.append)
    assert told[-1] == 1.0
    assert all(0 <= share <= 1 for share in told)


def test_rows_are_tidy() -> None:
    rows = table2([run(3, 1, "looped-first")])
    assert [row["next_hop"] for row in rows] == [1, 2, 3]
    assert [row["paper_model"] for row in rows] == [None, None, 38.2]
    assert rows[2]["limit"] == pytest.approx(50)
    origin = ("p4lab_version", "engine_build", "program_hash")
    assert all(row["seed"] == SEED and all(row[name] for name in origin) for row in rows)


def test_the_rule_provisions_just_enough() -> None:
    """24 ports at a quarter of their rate, 10 % of it to 16 next hops: the end of figure 17."""
    mix = Mix((Part(0.1, 16),))
    assert overload(mix, 24, 4, 9).dropped == 0
    expected = with_loops(mix, traffic=6, loops=8).drop_probability
    assert overload(mix, 24, 4, 8).share == pytest.approx(expected, rel=0.2)
    assert expected > 0.01


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"next_hops": 0}, "next hops"),
        ({"loops": 99}, "recirculation ports"),
        ({"frame": 20}, "bytes of a frame"),
        ({"load": 1.5}, "load"),
        ({"arbitration": "fifo"}, "no arbitration"),
        ({"precision": 0}, "precision"),
    ],
)
def test_what_cannot_be_simulated_is_said(values: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Setup(**{"next_hops": 3, "loops": 1, **values})  # type: ignore[arg-type]


def test_the_engine_knows_its_arbitrations() -> None:
    network = _engine.Network()
    switch = network.add_switch("s1", bench.program())
    with pytest.raises(ValueError, match="tail-drop, equal-drop"):
        network.set_loop(switch, 68, rate=1, arbitration="fifo")


MISSING = measured.missing()


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_bmv2_overflows_as_it_should() -> None:
    """The real switch, however busy the machine: its queue lets through what it was told."""
    one, two = measured.measure([(2, 1), (3, 1)], pps=200, seconds=4)
    assert one.throughput == pytest.approx((100, 100), abs=8)
    assert two.throughput[0] == pytest.approx(100, abs=8)
    assert 0.5 < two.carried < 1.1


@pytest.mark.skipif(not MISSING, reason="bmv2 is here")
def test_without_bmv2_it_says_so(tmp_path: Path) -> None:
    assert "not measured on bmv2" in MISSING
    assert "sudo" in MISSING or os.geteuid() == 0
