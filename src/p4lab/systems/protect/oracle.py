"""What each acceptance policy says, from its definition: the oracle of tests and experiments.

    accept = slots(bits=32, history=64, reset_us=100_000)
    [accept(sn, now) for sn, now in arrivals]        # Verdict.ACCEPTED, DUPLICATE or ROGUE

A policy is a function with a memory. `now` is in microseconds and never goes back. Nothing here
follows the P4 program: these are IEEE 802.1CB-2017, 7.4.3.4 and 7.4.3.5, equations (1) to (3) of
the paper on one circle (accept if 1 <= (SN - last) mod M <= W), and slots after RFC 6479.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from p4lab.systems.protect.settings import ProtectSettings


class Verdict(Enum):
    """What becomes of a copy."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    ROGUE = "rogue"
    """Neither new nor a duplicate, as far as the policy can know"""


Policy = Callable[[int, int], Verdict]
"""Sequence number and microseconds in, verdict out"""


class _Memory:
    """The number that a policy (or a slot of one) accepted last, and when."""

    def __init__(self, reset_us: int) -> None:
        self.reset_us = reset_us
        self.last: int | None = None
        self.time = 0

    def forget(self, now: int) -> None:
        """After more than the reset time without an accepted copy, any number is taken."""
        if self.reset_us and now - self.time > self.reset_us:
            self.last = None

    def accept(self, sn: int, now: int) -> Verdict:
        self.last, self.time = sn, now
        return Verdict.ACCEPTED


def none() -> Policy:
    """Everything is accepted."""
    return lambda sn, now: Verdict.ACCEPTED


def match(reset_us: int = 0) -> Policy:
    """A copy is a duplicate if it has the number of the copy that was accepted last."""
    memory = _Memory(reset_us)

    def decide(sn: int, now: int) -> Verdict:
        memory.forget(now)
        return Verdict.DUPLICATE if sn == memory.last else memory.accept(sn, now)

    return decide


def highest(bits: int = 32, window: int = 0, reset_us: int = 0) -> Policy:
    """The paper's: a copy is new if it is 1 to `window` steps ahead of the last new one."""
    size = 1 << bits
    window = window or size // 2
    memory = _Memory(reset_us)

    def decide(sn: int, now: int) -> Verdict:
        memory.forget(now)
        if memory.last is None or 1 <= (sn - memory.last) % size <= window:
            return memory.accept(sn, now)
        return Verdict.DUPLICATE if (memory.last - sn) % size < window else Verdict.ROGUE

    return decide


def slots(bits: int = 32, history: int = 64, window: int = 0, reset_us: int = 0) -> Policy:
    """Number n has slot n mod `history`; a copy is new if it is ahead of what its slot holds."""
    size = 1 << bits
    window = window or size // 2
    memories = [_Memory(reset_us) for _ in range(history)]

    def decide(sn: int, now: int) -> Verdict:
        slot = memories[sn % history]
        slot.forget(now)
        if slot.last is None or 1 <= (sn - slot.last) % size <= window:
            return slot.accept(sn, now)
        return Verdict.DUPLICATE if sn == slot.last else Verdict.ROGUE

    return decide


def vector(bits: int = 32, history: int = 64, reset_us: int = 0) -> Policy:
    """VectorRecoveryAlgorithm: remembers which of the latest `history` numbers were there."""
    size = 1 << bits
    memory = _Memory(reset_us)
    seen: set[int] = set()

    def decide(sn: int, now: int) -> Verdict:
        memory.forget(now)
        if memory.last is None:
            seen.clear()
            seen.add(sn)
            return memory.accept(sn, now)
        delta = (sn - memory.last + size // 2) % size - size // 2
        if abs(delta) >= history:
            return Verdict.ROGUE
        if sn in seen:
            return Verdict.DUPLICATE
        seen.add(sn)
        memory.accept(sn if delta > 0 else memory.last, now)
        seen.intersection_update((memory.last - back) % size for back in range(history))
        return Verdict.ACCEPTED

    return decide


def policy(settings: ProtectSettings) -> Policy:
    """The policy that the settings name, with nothing in its memory."""
    bits, reset = settings.sn_bits, settings.reset_us
    if settings.accept == "match":
        return match(reset)
    if settings.accept == "highest":
        return highest(bits, settings.window, reset)
    if settings.accept == "slots":
        return slots(bits, settings.history, settings.window, reset)
    if settings.accept == "vector":
        return vector(bits, settings.history, reset)
    return none()


def delivered(accept: Policy, arrivals: Iterable[tuple[int, int]]) -> list[int]:
    """The numbers that go on, of copies that arrive as (number, microseconds), in this order."""
    return [sn for sn, now in arrivals if accept(sn, now) is Verdict.ACCEPTED]


def promised(settings: ProtectSettings, numbers: Iterable[int]) -> set[int]:
    """Which packets a policy promises to deliver, if copies with these numbers arrive in this
    order. Numbers are counted on and on, not around the circle, and no reset is due.

    `highest` promises a packet of which a copy comes before all that are later. `slots` and
    `vector` promise those that later ones have overtaken by less than `history`. A gap may be as
    long as `window`, for `vector` shorter than `history`; and with `slots`, no slot may miss its
    numbers for that long. `none` and `match` promise all that comes.
    """
    reach = {"highest": 1, "slots": settings.history, "vector": settings.history}
    kept: set[int] = set()
    newest: int | None = None
    for number in numbers:
        ahead = 0 if newest is None else number - newest
        if settings.accept == "vector" and ahead >= settings.history:
            continue  # rogue, and so are all that follow it
        if ahead > settings.steps:
            continue
        if (
            settings.accept in ("none", "match")
            or newest is None
            or -ahead < reach[settings.accept]
        ):
            kept.add(number)
        newest = number if newest is None else max(newest, number)
    return kept
