"""Steady state: the means are right, and their intervals hold what they promise.

If these fail, a figure shows a mean that is off, or an interval that says it is not.
"""

import random
from itertools import pairwise

import pytest

from p4lab.experiment.steady import Progress, steady_state, truncation


def autoregressive(seed, *, mean=10.0, memory=0.8, transient=0.0):
    """Windows that remember: a process whose mean is known, from a start far away from it."""
    draw = random.Random(seed)
    state = [transient]

    def window():
        state[0] = memory * state[0] + draw.gauss(0, 1)
        return {"rate": mean + state[0]}

    return window


def test_the_interval_holds_the_mean_as_often_as_it_says():
    runs = [steady_state(autoregressive(seed), target=0.02) for seed in range(60)]
    hits = sum(abs(r.means["rate"].value - 10) <= r.means["rate"].half_width for r in runs)
    # 95 % of 60 are 57; fewer than 51 would be one in a hundred thousand.
    assert hits >= 51, f"{hits} of 60, seeds 0 to 59"
    assert all(run.stopped == "narrow" and run.relative <= 0.02 for run in runs)


def test_the_warm_up_is_found_and_left_out():
    window = autoregressive(3, memory=0.97, transient=400.0)
    run = steady_state(window, target=0.05)
    # After 100 windows 5 % of the start are left, after 200 0.2 %.
    assert 80 <= run.warm_up <= run.windows / 2
    assert run.means["rate"].value == pytest.approx(10, rel=0.1)
    given = steady_state(autoregressive(3, memory=0.97, transient=400.0), target=0.05, warm_up=250)
    assert given.warm_up == 250
    assert truncation([5.0] * 100) == 0


def test_it_stops_at_the_bound_and_says_so():
    run = steady_state(autoregressive(1), target=1e-6, most=500)
    assert (run.stopped, run.windows) == ("bound", 500)
    assert len(run.values["rate"]) == 500
    still = steady_state(lambda: {"a": 7.0, "b": 0.0}, target=0.01)
    assert (still.stopped, still.windows, still.relative) == ("narrow", 100, 0.0)


def test_every_quantity_must_be_narrow():
    quiet, loud = autoregressive(1, memory=0.0), autoregressive(2, memory=0.9)
    alone = steady_state(quiet, target=0.02)

    def both():
        return {"quiet": quiet()["rate"], "loud": loud()["rate"]}

    together = steady_state(both, target=0.02)
    assert together.windows > alone.windows
    assert together.relative <= 0.02


def test_what_hardly_ever_happens_need_not_be_known_as_well():
    draw = random.Random(4)

    def window():
        return {"rate": 10.0 + draw.gauss(0, 0.1), "rare": float(draw.random() < 0.05)}

    assert steady_state(window, target=0.05, most=1000).stopped == "bound"
    run = steady_state(window, target=0.05, small=1.0)
    assert run.stopped == "narrow" and run.means["rare"].half_width <= 0.05


def test_progress_grows_until_it_is_done():
    seen: list[Progress] = []
    steady_state(autoregressive(5), target=0.01, progress=seen.append)
    assert len(seen) > 3
    assert all(a.windows < b.windows for a, b in pairwise(seen))
    assert all(0 <= step.share <= 1 for step in seen)
    assert seen[-1].share == 1.0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"target": 0.0}, "one percent"),
        ({"most": 10}, "too few"),
        ({"most": 150, "warm_up": 60}, "160 is the least"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        steady_state(autoregressive(1), **arguments)
    with pytest.raises(ValueError, match="each quantity"):
        steady_state(dict)
