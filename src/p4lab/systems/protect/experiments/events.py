"""What happens to a protected stream, and what each acceptance policy makes of it.

The same event three times: `run` lets it happen to the P4 program in virtual time, `by_definition`
asks the definitions of the policies (oracle.py) about copies whose moments are computed here, and
`expected_lost` is a formula.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from p4lab.model.entries import RegisterCell, Update
from p4lab.network.virtual import VirtualNetwork
from p4lab.packets.probe import Probe
from p4lab.session.run import Session
from p4lab.systems.protect.experiments.setup import (
    BESIDE,
    EGRESS,
    INGRESS,
    MS,
    US,
    Cable,
    between,
    link_of,
    opened,
    plan_of,
    two_paths,
)
from p4lab.systems.protect.oracle import Verdict, policy
from p4lab.systems.protect.plane import ProtectControlPlane
from p4lab.systems.protect.settings import Accept, ProtectSettings

POLICIES: tuple[Accept, ...] = ("none", "match", "highest", "slots", "vector")
HISTORY = 16  # slots, or bits of the vector
INTERVAL = 100 * US  # between two packets
TRAVEL = 1_000 * US  # on the fast path
SKEW = 5.5  # packets that the fast path is ahead: five, and never two copies in one moment
LOSS = 0.01
RESET_MS = 10
DRAIN = 20_000 * US


@dataclass(frozen=True)
class Event:
    """One kind of trouble. `loss` is that of the fast and of the slow path; `down` is the path that
    is cut after a third of the stream, and with `back` works again after two thirds; `restart` sets
    the PTI's number back to 0 after a third; `skew` is in packets; `before_wrap` numbers are left
    on the circle when the stream begins, in shares of its packets. `sn_bits` and `window` are those
    of the switches (0: half of the numbers)."""

    name: str
    loss: tuple[float, float] = (0.0, 0.0)
    down: Literal["", "fast", "slow"] = ""
    back: bool = False
    restart: bool = False
    reset_ms: int = RESET_MS
    skew: float = SKEW
    before_wrap: float | None = None
    sn_bits: int = 32
    window: int = 0

    def settings(self, accept: Accept) -> ProtectSettings:
        """Those of the switches."""
        return ProtectSettings(
            accept=accept,
            window=self.window,
            history=HISTORY,
            reset=f"{self.reset_ms} ms",
            sn_bits=self.sn_bits,
        )

    @property
    def numbers(self) -> int:
        """How many there are on the circle."""
        return 1 << self.sn_bits

    def first_number(self, packets: int) -> int:
        """What the PTI's register holds before the first packet."""
        return 0 if self.before_wrap is None else self.numbers - round(self.before_wrap * packets)


EVENTS = (
    Event("nothing"),
    Event("loss, fast path", loss=(LOSS, 0.0)),
    Event("loss, slow path", loss=(0.0, LOSS)),
    Event("loss, both paths", loss=(LOSS, LOSS)),
    Event("cut of the fast path", down="fast"),
    Event("return of the fast path", down="fast", back=True),
    Event("cut of the slow path", down="slow"),
    Event("return of the slow path", down="slow", back=True),
    Event("restart of the PTI", restart=True),
    Event("restart, no reset", restart=True, reset_ms=0),
    Event("skew below one packet", loss=(LOSS, 0.0), skew=0.5),
    Event("skew beyond the history", loss=(LOSS, 0.0), skew=HISTORY + 4.5),
    Event("wrap-around", before_wrap=0.5),
)
"""In the order of tables and figures"""


@dataclass(frozen=True)
class Delivered:
    """What a receiver got of a stream, in packets: `lost` never came, `duplicates` are copies
    beyond the first, `reordered` are first copies behind one with a higher number."""

    lost: int
    duplicates: int
    reordered: int


@dataclass(frozen=True)
class Outcome:
    """One run: what the receiver got, and the same by the policy's definition."""

    event: Event
    accept: Accept
    seed: int
    sent: int
    delivered: Delivered
    defined: Delivered


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
    ends = [topology.link(EGRESS, beside) for beside in BESIDE.values()]
    with opened(plan) as session:
        net = session.net
        for link in ends:
            net.record(link)
        _set_number(session, event.first_number(packets))
        start = session.begin()
        _happen(session, event, start, moments(packets, seed))
        net.run_until(start + packets * INTERVAL + slow + DRAIN, session.plane)
        (row,) = net.engine.report(net.node(stream.receivers[0].name))
        came = [_numbers(net.recorded(link)) for link in ends]
    got = Delivered(packets - row["received"], row["duplicates"], row["out_of_order"])
    copies = [(time, packet) for path, time in ((0, TRAVEL), (1, slow)) for packet in came[path]]
    defined = by_definition(event, accept, packets, seed, copies)
    return Outcome(event, accept, seed, packets, got, defined)


def _happen(session: Session[VirtualNetwork], event: Event, start: int, when: Moments) -> None:
    """Lets the event happen; nobody is told."""
    if event.down:
        link = link_of(session.plan.topology, 1 if event.down == "fast" else 2)
        session.net.set_link_at(link, start + when.first, False)
        if event.back:
            session.net.set_link_at(link, start + when.second, True)
    if event.restart:
        session.net.run_until(start + when.first, session.plane)
        _set_number(session, 0)


def _set_number(session: Session[VirtualNetwork], number: int) -> None:
    """What the PTI's register of the only connection holds from now on, whoever did that."""
    assert isinstance(session.plane, ProtectControlPlane)
    (placed,) = session.plane.placement
    cell = RegisterCell("pti_last_sn", placed.pti_index, number)
    session.net.engine.write(session.net.node(INGRESS), [Update("modify", cell)])


def _numbers(recorded: Sequence[tuple[int, bytes]]) -> list[int]:
    """Which packets of the stream are among the frames of a link."""
    probes = [Probe.of(frame) for _, frame in recorded]
    return [probe.sequence for probe in probes if probe]


# ---- The definition


def by_definition(
    event: Event, accept: Accept, packets: int, seed: int, copies: Iterable[tuple[int, int]]
) -> Delivered:
    """What the policy's definition makes of copies that come over the two paths, each given by how
    long it travels and which packet it is. Moments and numbers are computed here."""
    first = moments(packets, seed).first
    decide = policy(event.settings(accept))
    taken = []
    for time, packet in sorted((packet * INTERVAL + travel, packet) for travel, packet in copies):
        last = event.first_number(packets) + packet
        if event.restart and packet * INTERVAL >= first:
            last = packet - -(-first // INTERVAL)
        if decide((last + 1) % event.numbers, time // US) is Verdict.ACCEPTED:
            taken.append(packet)
    unique = len(set(taken))
    return Delivered(packets - unique, len(taken) - unique, _reordered(taken))


def _reordered(packets: Sequence[int]) -> int:
    """First copies that come behind a later packet."""
    seen: set[int] = set()
    highest, late = -1, 0
    for packet in packets:
        late += packet not in seen and packet < highest
        seen.add(packet)
        highest = max(highest, packet)
    return late


# ---- By formula


def expected_lost(event: Event, accept: Accept, packets: int) -> float:
    """How many packets of a stream a policy should lose on average. Small print is left out: the
    last packet of a stream, several losses in a row, copies on their way when something happens.
    """
    fast, slow = event.loss
    if accept in ("none", "match"):
        return fast * slow * packets
    if event.restart:  # until the numbers are ahead again, or the reset
        reset = event.reset_ms * MS / INTERVAL
        return min(reset or packets, packets / 3)
    if accept == "highest":
        overtaken = int(event.skew)  # packets that a slow copy comes behind
        return fast * (1 if overtaken else slow) * packets + (
            overtaken if event.down == "fast" and event.back else 0
        )
    return fast * (1 if event.skew > HISTORY else slow) * packets
