"""What happens to a protected stream, and what each acceptance policy makes of it.

The same event three times: `run` lets it happen to the P4 program in virtual time, `by_definition`
asks the definitions of the policies (oracle.py) about copies whose moments are computed here, and
`reference` is what has been published or follows on paper.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from p4lab.session.run import Session
from p4lab.systems.protect.experiments.setup import (
    INGRESS,
    US,
    Cable,
    between,
    link_of,
    opened,
    plan_of,
    two_paths,
)
from p4lab.systems.protect.oracle import Verdict, policy
from p4lab.systems.protect.settings import Accept, ProtectSettings

POLICIES: tuple[Accept, ...] = ("none", "match", "highest", "slots", "vector")
HISTORY = 16  # slots, or bits of the vector
INTERVAL = 100 * US  # between two packets
TRAVEL = 1_000 * US  # on the fast path
SKEW = 5.5  # packets that the fast path is ahead: five, and never two copies in one moment
LOSS = 0.01
RESET_MS = 10
NUMBERS = 1 << 32
DRAIN = 20_000 * US


@dataclass(frozen=True)
class Event:
    """One kind of trouble. `loss` is that of the fast and of the slow path; `down` is the path that
    is cut after a third of the stream, and with `back` works again after two thirds; `restart` sets
    the PTI's number back to 0 after a third; `skew` is in packets; `before_wrap` numbers are left
    on the circle when the stream begins, in shares of its packets."""

    name: str
    loss: tuple[float, float] = (0.0, 0.0)
    down: Literal["", "fast", "slow"] = ""
    back: bool = False
    restart: bool = False
    reset_ms: int = RESET_MS
    skew: float = SKEW
    before_wrap: float | None = None

    def settings(self, accept: Accept) -> ProtectSettings:
        """Those of the switches."""
        return ProtectSettings(accept=accept, history=HISTORY, reset=f"{self.reset_ms} ms")

    def first_number(self, packets: int) -> int:
        """What the PTI's register holds before the first packet."""
        return 0 if self.before_wrap is None else NUMBERS - round(self.before_wrap * packets)


EVENTS = (
    Event("nothing"),
    Event("loss, fast path", loss=(LOSS, 0.0)),
    Event("loss, slow path", loss=(0.0, LOSS)),
    Event("loss, both paths", loss=(LOSS, LOSS)),
    Event("cut of the fast path", down="fast"),
    Event("its return", down="fast", back=True),
    Event("cut of the slow path", down="slow"),
    Event("its return", down="slow", back=True),
    Event("restart of the PTI", restart=True),
    Event("restart, no reset", restart=True, reset_ms=0),
    Event("skew beyond history, loss", loss=(LOSS, 0.0), skew=HISTORY + 4.5),
    Event("wrap-around", before_wrap=0.5),
)
"""In the order of tables and figures"""


@dataclass(frozen=True)
class Outcome:
    """What the receiver got of a stream, in packets: `lost` never came, `duplicates` are copies
    beyond the first, `reordered` are first copies behind one with a higher number."""

    event: Event
    accept: Accept
    seed: int
    sent: int
    lost: int
    duplicates: int
    reordered: int


@dataclass(frozen=True)
class Moments:
    """When something happens, in nanoseconds after the first packet was sent."""

    first: int
    second: int


def moments(packets: int, seed: int) -> Moments:
    """A third and two thirds into the stream, each at a moment of an interval that the seed draws
    (not at its edge, where a packet might be on either side)."""
    draw = random.Random(f"moments {seed}")
    first, second = (
        (packets * third // 3) * INTERVAL + round(draw.uniform(0.05, 0.45) * INTERVAL)
        for third in (1, 2)
    )
    return Moments(first, second)


# ---- The P4 program, in virtual time


def run(event: Event, accept: Accept, packets: int, seed: int) -> Outcome:
    """One stream of so many packets. Raises NetworkError, ProgramError."""
    slow = TRAVEL + round(event.skew * INTERVAL)
    topology = two_paths(Cable(TRAVEL, loss=event.loss[0]), Cable(slow, loss=event.loss[1]))
    stream = between(topology, packets=packets, interval_ns=INTERVAL)[0]
    plan = plan_of(topology, seed, (stream,), event.settings(accept))
    with opened(plan) as session:
        _set_number(session, event.first_number(packets))
        start = session.begin()
        _happen(session, event, start, moments(packets, seed))
        session.net.run_until(start + packets * INTERVAL + slow + DRAIN, session.plane)
        (row,) = session.net.engine.report(session.net.node(stream.receivers[0].name))
    return Outcome(
        event,
        accept,
        seed,
        packets,
        packets - row["received"],
        row["duplicates"],
        row["out_of_order"],
    )


def _happen(session: Session, event: Event, start: int, when: Moments) -> None:
    """Lets the event happen; nobody is told."""
    if event.down:
        link = link_of(session.plan.topology, 1 if event.down == "fast" else 2)
        session.net.set_link_at(link, start + when.first, False)
        if event.back:
            session.net.set_link_at(link, start + when.second, True)
    if event.restart:
        session.net.run_until(start + when.first, session.plane)
        _set_number(session, 0)


def _set_number(session: Session, number: int) -> None:
    """What the PTI's register of the only connection holds from now on, whoever did that."""
    (placed,) = session.plane.placement
    cell = ("register", "pti_last_sn", placed.pti_index, number)
    session.net.engine.write(session.net.node(INGRESS), [cell])


# ---- The definition


def by_definition(event: Event, accept: Accept, packets: int, seed: int) -> Outcome:
    """What the policy's definition makes of the copies that should arrive."""
    decide = policy(event.settings(accept))
    arrivals = sorted(_copies(event, packets, seed))
    taken = [packet for time, packet, sn in arrivals if decide(sn, time // US) is Verdict.ACCEPTED]
    return Outcome(
        event,
        accept,
        seed,
        packets,
        packets - len(set(taken)),
        len(taken) - len(set(taken)),
        _reordered(taken),
    )


def _copies(event: Event, packets: int, seed: int) -> Iterator[tuple[int, int, int]]:
    """Copies that reach the PTE: nanoseconds after the first was sent, packet, number."""
    when, lost = moments(packets, seed), random.Random(f"lost {seed}")
    slow = TRAVEL + round(event.skew * INTERVAL)
    last = event.first_number(packets)
    for packet in range(packets):
        now = packet * INTERVAL
        if event.restart and now - INTERVAL < when.first <= now:
            last = 0
        last = (last + 1) % NUMBERS
        for name, travel, loss in (("fast", TRAVEL, event.loss[0]), ("slow", slow, event.loss[1])):
            # What is on the cable when it is cut is lost, too.
            broken = event.down == name and now + travel > when.first
            repaired = event.back and now >= when.second
            if (repaired or not broken) and lost.random() >= loss:
                yield now + travel, packet, last


def _reordered(packets: Sequence[int]) -> int:
    """First copies that come behind a later packet."""
    seen: set[int] = set()
    highest, late = -1, 0
    for packet in packets:
        late += packet not in seen and packet < highest
        seen.add(packet)
        highest = max(highest, packet)
    return late
