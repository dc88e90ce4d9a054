"""What each next hop gets of a saturated port when recirculation ports overflow, by arbitration.

The model of this module knows queues and nothing of the engine: time runs in slots of one packet.
In each slot one packet comes in, and each of k recirculation ports, whose queues are never empty,
gives one back. All that need another pass ask for a place in the queues, which take turns; k places
are free. What differs is who gets them:

- equal-drop: each packet is dropped with the same probability: equations 1 and 2 of the paper.
- random: those of one slot come in random order, the last one loses. In one slot at most one packet
  of each number of passes asks, so the k packets that a slot lets in are k different stages of
  1 .. n-1, and they come back together. That makes a Markov chain of C(n-1, k) states.
- looped-first: a fresh packet gets in only if a place is left. Every packet that is in gets
  through.
- fresh-first: the fresh packet takes one place of k. The others see one port less and one next hop
  less, in random order.

A queue with tail drop, which is what hardware has, has no limit of its own: it gives the place to
whom comes first, and that is a matter of timing (docs/recirculation.md).
"""

from __future__ import annotations

from itertools import combinations
from math import comb

from p4lab.systems.bier_tna.recirculation.equations import LINE_RATE, check, throughputs

ARBITRATIONS = ("tail-drop", "equal-drop", "random", "looped-first", "fresh-first")
MOST_STATES = 2000
STILL = 1e-13
"""By how much a share may change when the shares are taken as settled"""


def fluid_limit(
    arbitration: str, next_hops: int, loops: int, capacity: float = LINE_RATE
) -> tuple[float, ...]:
    """What next hops 1 to n get of `capacity`, in its unit, with `loops` recirculation ports of the
    same capacity. Raises ValueError for an arbitration without a limit, or a model too large."""
    check(next_hops, loops)
    if loops >= next_hops - 1:
        return (capacity,) * next_hops
    if arbitration == "equal-drop":
        return throughputs(next_hops, loops, capacity)
    if arbitration == "looped-first":
        let_in = loops / (next_hops - 1)
        return (capacity, *[capacity * let_in] * (next_hops - 1))
    if arbitration == "random":
        return (capacity, *(capacity * share for share in _random_order(next_hops, loops)))
    if arbitration == "fresh-first":
        if loops == 0:
            return (capacity, *[0.0] * (next_hops - 1))
        return (capacity, *fluid_limit("random", next_hops - 1, loops - 1, capacity))
    if arbitration == "tail-drop":
        raise ValueError("tail drop has no limit of its own: who comes first depends on timing.")
    raise ValueError(
        f"there is no arbitration called {arbitration!r}; choose from {', '.join(ARBITRATIONS)}."
    )


def _random_order(next_hops: int, loops: int) -> list[float]:
    """How often a slot lets in each stage 1 .. n-1: the chain's stationary distribution."""
    if loops == 0:
        return [0.0] * (next_hops - 1)
    if comb(next_hops - 1, loops) > MOST_STATES:
        raise ValueError(
            f"{next_hops} next hops on {loops} ports have more than {MOST_STATES} states; "
            "take fewer next hops."
        )
    last = next_hops - 1
    states = list(combinations(range(1, next_hops), loops))
    moves = {}
    for state in states:
        asking = [1, *(stage + 1 for stage in state if stage < last)]
        chosen = list(combinations(asking, loops))  # all of them, or all but one
        moves[state] = [tuple(sorted(some)) for some in chosen]
    share, moved = dict.fromkeys(states, 1 / len(states)), 1.0
    while moved > STILL:  # half of it stays each time, so that nothing goes to and fro for ever
        following = {state: part / 2 for state, part in share.items()}
        for state, ways in moves.items():
            for way in ways:
                following[way] += share[state] / 2 / len(ways)
        moved = max(abs(following[state] - share[state]) for state in states)
        share = following
    return [
        sum(part for state, part in share.items() if stage in state)
        for stage in range(1, next_hops)
    ]
