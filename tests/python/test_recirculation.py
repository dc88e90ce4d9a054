"""The formulas and limits of recirculation, each against something that computes it another way."""

from __future__ import annotations

import json
import random
from collections import deque
from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from cli_runner import p4lab
from p4lab.systems.bier_tna.recirculation.equations import (
    drop_probability,
    loops_needed,
    loss_after,
    provision,
    throughput,
    throughputs,
)
from p4lab.systems.bier_tna.recirculation.limits import ARBITRATIONS, fluid_limit
from p4lab.systems.bier_tna.recirculation.mixes import Mix, Part, calculate, with_loops
from p4lab.systems.bier_tna.recirculation.overload import mix_of
from p4lab.systems.bier_tna.recirculation.results import PAPER_TABLE2, figure17, tail_drop_bounds

SEED = 20210304

# ---- Equations 1 and 2 ----


def test_the_model_of_the_paper_but_for_its_rounding() -> None:
    """Without this the lab teaches other numbers than equations 1 and 2 have."""
    assert throughput(3, 3, 1) == pytest.approx(38.1966, abs=1e-4)
    assert throughput(4, 4, 1) == pytest.approx(16.0713, abs=1e-4)
    assert throughput(4, 4, 2) == pytest.approx(53.2496, abs=1e-4)
    # What the paper printed comes from a p of two digits.
    assert PAPER_TABLE2[4, 1][0] == pytest.approx(100 * (1 - 0.46) ** 3, abs=0.01)
    assert PAPER_TABLE2[4, 2][0] == pytest.approx(100 * (1 - 0.19) ** 3, abs=0.01)
    for (n, k), (model, _) in PAPER_TABLE2.items():
        assert throughput(n, n, k) == pytest.approx(model, abs=0.4)


def test_equation_1_has_the_root_of_its_polynomial() -> None:
    """An oracle that knows no bisection: the eigenvalues of the companion matrix."""
    for next_hops in range(3, 20):
        for loops in range(1, next_hops - 1):
            roots = np.roots([1.0] * (next_hops - 1) + [-float(loops)])
            real = [root.real for root in roots if abs(root.imag) < 1e-9 and 0 < root.real < 1]
            assert len(real) == 1
            p = drop_probability(next_hops, loops)
            assert p == pytest.approx(1 - real[0], abs=1e-9), (next_hops, loops)
            assert sum(throughputs(next_hops, loops)[1:]) == pytest.approx(100 * loops)


def test_where_there_is_no_root_nothing_is_lost() -> None:
    for next_hops, loops in ((1, 1), (2, 1), (3, 2), (4, 7), (1, 0)):
        assert drop_probability(next_hops, loops) == 0.0
    assert drop_probability(2, 0) == 1.0
    assert throughputs(3, 0) == (100.0, 0.0, 0.0)
    assert 0 < drop_probability(3, 1.9) < drop_probability(3, 1.5) < 1
    for next_hops, loops in ((0, 1), (3, -1), (3, float("nan"))):
        with pytest.raises(ValueError, match="cannot be"):
            drop_probability(next_hops, loops)
    with pytest.raises(ValueError, match="no next hop 4 of 3"):
        throughput(4, 3, 1)


def test_loss_adds_up() -> None:
    assert loss_after(0.1, 4) == pytest.approx(0.3439)
    assert loss_after(0.001, 10) == pytest.approx(0.009955, abs=1e-6)
    assert loss_after(0.3, 0) == 0.0
    with pytest.raises(ValueError, match="is not a probability"):
        loss_after(1.2, 1)


# ---- Equation 3 ----

# (R, U): m, m', physical; from a table made by hand and another program
FIGURE16 = {
    (0.25, 1): (26, 7, 6),
    (1, 1): (16, 16, 15),
    (3, 1): (8, 24, 23),
    (4, 1): (6, 24, 23),
    (6, 1): (4, 24, 23),
    (0.5, 2): (26, 7, 6),
    (5, 2): (9, 23, 22),
    (3, 3): (16, 16, 15),
    (6, 3): (11, 22, 21),
    (0.25, 4): (31, 2, 1),
    (6, 4): (13, 20, 19),
    (3, 10): (25, 8, 7),
}


def test_equation_3_and_figure_16() -> None:
    """Without this the calculator provisions another switch than the rule."""
    for (factor, utilisation), expected in FIGURE16.items():
        found = provision(factor, utilisation)
        assert (found.traffic, found.loops, found.physical) == expected, (factor, utilisation)
    # It falls where R grows: both numbers are whole.
    for below, above, u in ((1.20, 1.21, 1), (2.12, 2.13, 2), (3.18, 3.19, 3), (4.25, 4.26, 4)):
        assert provision(above, u).physical == provision(below, u).physical - 1


def test_no_other_number_of_ports_is_better() -> None:
    """By trying all of them, with fractions."""
    draw = random.Random(SEED)
    for _ in range(300):
        factor = Fraction(draw.randrange(0, 700), 100)
        utilisation = Fraction(draw.randrange(50, 1000), 100)
        ports, internal = draw.randrange(1, 70), draw.randrange(0, 4)
        best = max(
            m
            for m in range(ports + 1)
            if m + max(0, ceil(m * factor / utilisation) - internal) <= ports
            and m + ceil(m * factor / utilisation) <= ports + internal
        )
        found = provision(float(factor), float(utilisation), ports, internal)
        assert found.traffic == best, (SEED, factor, utilisation, ports, internal)
        assert found.traffic + found.physical + found.unused == ports
        assert found.loops == ceil(best * factor / utilisation)


def test_figure_17_and_what_the_paper_says_of_it() -> None:
    rows = {
        a: [row["physical"] for row in figure17() if row["a"] == a and row["n"] > 0]
        for a in (0.01, 0.025, 0.05, 0.1)
    }
    assert rows[0.01] == [0] * 13 + [1] * 3
    assert rows[0.025] == [0] * 6 + [1] * 5 + [2] * 5  # the paper: none up to 5
    assert rows[0.05] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5]
    assert rows[0.1] == [0, 0, 1, 2, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8]


def test_the_clamps_of_equation_3() -> None:
    assert loops_needed(32, 0.125, 4) == 1  # exactly 1, and not a little more
    assert loops_needed(32, 0.025 * 5, 4) == 1
    assert loops_needed(32, -0.1, 4) == 0
    assert provision(-0.1, 4).physical == 0
    for factor, utilisation in ((1, 0), (1, -2), (float("inf"), 1)):
        with pytest.raises(ValueError):
            loops_needed(32, factor, utilisation)


# ---- Mixes ----


def test_a_mix_counts_what_the_paper_leaves_out() -> None:
    mix = Mix.parse("1:0.7,4:0.2,16:0.1", bfir=0.1, bfer=0.05)
    assert mix.factor_of_the_paper == pytest.approx(0.2 * 3 + 0.1 * 15)
    assert mix.factor == pytest.approx(0.2 * 3 + 0.1 * 15 + 0.15)
    assert Mix.parse("0:0.5,2:0.5").factor == pytest.approx(0.5)
    assert calculate(mix, 4).needed == provision(2.25, 4)
    assert calculate(mix, 4).of_the_paper == provision(2.1, 4)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("4", "write next hops and share"),
        ("x:0.1", "not part of a mix"),
        ("4:1.5", "from 0 to 1"),
        ("4:0.6,2:0.6", "add up to 1.2"),
        ("-1:0.1", "cannot be"),
        ("4:nan", "share"),
    ],
)
def test_what_is_no_mix_is_said(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Mix.parse(text)


def test_losses_of_one_kind_of_traffic_are_those_of_equation_1() -> None:
    for n, k in ((3, 1), (4, 1), (4, 2), (9, 5)):
        found = with_loops(Mix((Part(1.0, n),)), traffic=1.0, loops=k)
        assert found.drop_probability == pytest.approx(drop_probability(n, k), abs=1e-9)
        assert found.lost[0][1] == pytest.approx(1 - throughput(n, n, k) / 100, abs=1e-9)
        assert found.lost_of_copies == pytest.approx(1 - sum(throughputs(n, k)) / 100 / n)


def test_losses_of_a_mix_against_packets_that_are_drawn() -> None:
    """Packet by packet: each is dropped at random with the p that was found; what gets through must
    just fill the recirculation ports."""
    mix = Mix.parse("1:0.3,3:0.4,8:0.3", bfir=0.5, bfer=0.2)
    traffic, loops = 1.5, 2
    found = with_loops(mix, traffic, loops)
    draw, packets = random.Random(SEED), 60_000
    carried = 0
    lost = dict.fromkeys((part.next_hops for part in mix.parts), 0)
    seen = dict.fromkeys(lost, 0)
    for _ in range(packets):
        hops = draw.choices([part.next_hops for part in mix.parts], [0.3, 0.4, 0.3])[0]
        need = (draw.random() < 0.5) + hops - 1 + (draw.random() < 0.2)
        passed = 0
        while passed < need and draw.random() >= found.drop_probability:
            passed += 1
        carried += passed
        seen[hops] += 1
        lost[hops] += passed < need
    assert traffic * carried / packets == pytest.approx(loops, rel=0.02), SEED
    for part, share in found.lost:
        assert lost[part.next_hops] / seen[part.next_hops] == pytest.approx(share, abs=0.02)


def test_as_many_loops_as_the_rule_wants_lose_nothing() -> None:
    draw = random.Random(SEED)
    for _ in range(50):
        mix = mix_of(draw.randrange(1, 500) / 100)
        utilisation = draw.randrange(10, 60) / 10
        needed = calculate(mix, utilisation).needed
        full = with_loops(mix, needed.traffic / utilisation, needed.loops)
        assert full.drop_probability == 0.0, (SEED, mix, utilisation)


# ---- Fluid limits ----


def slotted(n: int, k: int, order: str, slots: int, seed: int) -> list[float]:
    """The queues themselves: k of them, each sends one packet per slot, one fresh packet comes."""
    draw = random.Random(seed)
    queues: list[deque[int]] = [deque() for _ in range(k)]
    turn, got = 0, [0] * (n + 1)
    for slot in range(slots):
        back = [queue.popleft() for queue in queues if queue]
        if slot >= slots // 5:
            for stage in back:
                got[stage + 1] += 1
        fresh, asking = [1], [stage + 1 for stage in back if stage < n - 1]
        draw.shuffle(asking)
        if order == "random":
            asking += fresh
            draw.shuffle(asking)
        else:
            asking = asking + fresh if order == "looped-first" else fresh + asking
        for stage in asking:
            if len(queues[turn]) < 50:
                queues[turn].append(stage)
            turn = (turn + 1) % k
    return [100 * count / (slots - slots // 5) for count in got[2:]]


@pytest.mark.parametrize("order", ["random", "looped-first", "fresh-first"])
@pytest.mark.parametrize(("n", "k"), [(3, 1), (4, 1), (4, 2), (5, 2), (5, 3), (7, 3)])
def test_limits_are_those_of_queues(n: int, k: int, order: str) -> None:
    """Without this "the fluid limit" is a number that no queue has."""
    expected = fluid_limit(order, n, k)
    assert expected[0] == 100
    found = slotted(n, k, order, 40_000, SEED)
    assert found == pytest.approx(expected[1:], abs=1.2), SEED


def test_limits_that_can_be_written_down() -> None:
    assert fluid_limit("random", 3, 1)[1:] == pytest.approx((200 / 3, 100 / 3))
    assert fluid_limit("random", 4, 1)[1:] == pytest.approx((400 / 7, 200 / 7, 100 / 7))
    assert fluid_limit("random", 4, 2)[1:] == pytest.approx((250 / 3, 200 / 3, 50))
    assert fluid_limit("looped-first", 4, 2)[1:] == pytest.approx((200 / 3,) * 3)
    assert fluid_limit("fresh-first", 4, 1) == (100, 100, 0, 0)
    assert fluid_limit("fresh-first", 4, 2)[1:] == pytest.approx((100, 200 / 3, 100 / 3))
    assert fluid_limit("equal-drop", 4, 2) == throughputs(4, 2)


def test_every_limit_uses_all_of_the_ports() -> None:
    for arbitration in ARBITRATIONS[1:]:
        for n, k in ((1, 1), (2, 1), (6, 2), (9, 4), (4, 5)):
            limit = fluid_limit(arbitration, n, k)
            assert sum(limit[1:]) == pytest.approx(100 * min(k, n - 1))
            assert list(limit) == sorted(limit, reverse=True)
    low, high = tail_drop_bounds(4, 2)
    assert (low, high) == pytest.approx((100 / 3, 200 / 3))
    with pytest.raises(ValueError, match="timing"):
        fluid_limit("tail-drop", 3, 1)
    with pytest.raises(ValueError, match="choose from tail-drop"):
        fluid_limit("fifo", 3, 1)
    with pytest.raises(ValueError, match="fewer next hops"):
        fluid_limit("random", 30, 9)


# ---- The command ----


def test_p4lab_plan_ports() -> None:
    done = p4lab("plan-ports", "--mix", "1:0.9,16:0.1", "--utilisation", "4", "--loopback", "3")
    assert done.returncode == 0, done.stderr
    assert "8 of the 32 at the front in loopback mode" in done.stdout
    assert "each recirculation loses" in done.stdout
    done = p4lab("plan-ports", "--mix", "16:0.1", "--bfir", "0.1", "--json")
    record = json.loads(done.stdout)
    assert record["R"] == pytest.approx(1.6)
    assert record["R_of_the_paper"] == pytest.approx(1.5)
    assert record["needed"]["physical"] == provision(1.6, 4).physical
    done = p4lab("plan-ports", "--mix", "16:2")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "from 0 to 1" in done.stderr
