"""Which copies the egress accepts: the P4 program against definitions that know nothing of it.

If these fail, receivers get packets twice, or lose packets of which a copy has arrived.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, note
from hypothesis import settings as budget
from hypothesis import strategies as st

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.paths import ROOT
from p4lab.systems.protect import oracle
from p4lab.systems.protect.oracle import Verdict, delivered, policy, promised
from p4lab.systems.protect.settings import ProtectSettings
from protect_egress import Egress, Trace, copy, longest_jump, overtaken

NEVER = "0 ms"


def settings(accept: str, **more: object) -> ProtectSettings:
    return ProtectSettings.model_validate({"accept": accept, "reset": NEVER, **more})


def is_new(last: int, sn: int, window: int, bits: int) -> bool:
    """The definition: standards.md 4.4, equations (1) to (3) with SNmax = 2^n - 1."""
    return 1 <= (sn - last) % (1 << bits) <= window


# ---- The rule of the paper, exhaustively


@pytest.mark.parametrize(("accept", "register"), [("highest", "pte_last"), ("slots", "slot")])
def test_at_six_bits_every_pair_of_numbers_and_every_window(accept: str, register: str) -> None:
    """In the whole switch: connection n has accepted n last; each gets every number. A table of
    one slot is the same rule."""
    size = 64
    for window in range(1, size):
        chosen = settings(accept, sn_bits=6, window=window, history=1)
        egress = Egress(chosen, connections=size)
        egress.remember((f"{register}_time", last, 1) for last in range(size))
        for sn in range(size):
            egress.remember((f"{register}_sn", last, last) for last in range(size))
            taken = {last for last in range(size) if egress.takes(sn, cid=last)}
            assert taken == {last for last in range(size) if is_new(last, sn, window, 6)}, window


def test_at_eight_bits_every_pair_of_numbers() -> None:
    """In the whole switch, with the window that it has if nobody says otherwise, and its registers
    and counters as they should be afterwards."""
    size = 256
    egress = Egress(settings("highest", sn_bits=8), connections=size)
    egress.remember(("pte_last_time", last, 1) for last in range(size))
    for sn in range(size):
        egress.remember(("pte_last_sn", last, last) for last in range(size))
        for last in range(size):
            wanted = is_new(last, sn, 128, 8)
            assert egress.takes(sn, cid=last) == wanted, (last, sn)
            assert egress.switch.read_register("pte_last_sn", last) == (sn if wanted else last)
    for last in range(size):
        counted = {name: egress.switch.read_counter(name, 2 * last)[0] for name in COUNTERS}
        assert counted == {"received": 256, "accepted": 128, "discarded": 128, "rogue": 0}


COUNTERS = ("received", "accepted", "discarded", "rogue")


def rule_for_all_windows(folder: Path) -> _engine.Switch:
    """The rule of accept.p4 alone, 255 times: WINDOW is what stands in the upper bits of `sn`,
    which do not count at 8 bits. A packet of last and SN gets a bit for each window."""
    calls = "".join(
        f"last = h.case.last; rule.apply((bit<32>)h.case.sn | 32w{window} << 16, last, verdict);\n"
        f"if (verdict == verdict_t.ACCEPTED) {{ h.answer.accepted[{window}:{window}] = 1; }}\n"
        for window in range(1, 256)
    )
    file = folder / "rule.p4"
    file.write_text(
        f"""
#define SN_BITS 8
#define WINDOW (sn >> 16)
#include <core.p4>
#include <v1model.p4>
#include "{ROOT}/p4/protect/accept.p4"
header case_t {{ bit<32> last; bit<32> sn; }}
header answer_t {{ bit<256> accepted; }}
struct all_t {{ case_t case; answer_t answer; }}
struct nothing_t {{ }}
parser P(packet_in p, out all_t h, inout nothing_t m, inout standard_metadata_t s) {{
    state start {{ p.extract(h.case); transition accept; }}
}}
control V(inout all_t h, inout nothing_t m) {{ apply {{ }} }}
control I(inout all_t h, inout nothing_t m, inout standard_metadata_t s) {{
    HighestRule() rule;
    apply {{
        bit<32> last;
        verdict_t verdict;
        h.answer.setValid();
        h.answer.accepted = 0;
        {calls}
        s.egress_spec = 1;
    }}
}}
control E(inout all_t h, inout nothing_t m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in all_t h) {{ apply {{ p.emit(h.answer); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""
    )
    return _engine.Switch(load_program(file), engine=None)


def test_at_eight_bits_every_pair_of_numbers_and_every_window(tmp_path: Path) -> None:
    """The rule alone: 16.7 million cases."""
    switch = rule_for_all_windows(tmp_path)
    # Which windows accept a number that is so many steps ahead: all from that one on.
    wanted = [sum(1 << w for w in range(1, 256) if is_new(0, steps, w, 8)) for steps in range(256)]
    for last in range(256):
        for sn in range(256):
            ((_, answer),) = switch.process(0, struct.pack("!II", last, sn))
            assert int.from_bytes(answer, "big") == wanted[(sn - last) % 256], (last, sn)


def test_the_oracle_follows_the_definition() -> None:
    """So that what is compared with the oracle is compared with the definition."""
    for window in range(1, 64):
        for last in range(64):
            for sn in range(64):
                accept = oracle.highest(bits=6, window=window)
                accept(last, 0)
                assert (accept(sn, 0) is Verdict.ACCEPTED) == is_new(last, sn, window, 6)


def test_where_each_of_two_numbers_is_newer_than_the_other() -> None:
    """With W half of all numbers, two that are opposite on the circle are each ahead of the other
    (RFC 1982 leaves that open); one step less in W, and neither is."""
    for window, both in ((32, True), (31, False)):
        egress = Egress(settings("highest", sn_bits=6, window=window))
        assert egress.takes(5)
        assert egress.takes(37) == both
        assert egress.takes(5) == both


# ---- Vector: every state


@pytest.mark.parametrize("history", [1, 2, 4])
def test_every_state_of_a_short_vector(history: int) -> None:
    """At 6 bits: every highest number, every history behind it, every number that comes."""
    egress = Egress(settings("vector", sn_bits=6, history=history), connections=64)
    for seen in range(1, 1 << history, 2):
        back = [age for age in reversed(range(history)) if seen >> age & 1]
        for sn in range(64):
            cells = [("pte_last_sn", last, last) for last in range(64)]
            cells += [("pte_history", last, seen) for last in range(64)]
            egress.remember(cells + [("pte_last_time", last, 1) for last in range(64)])
            for last in range(64):
                accept = oracle.vector(bits=6, history=history)
                assert delivered(accept, (((last - age) % 64, 0) for age in back))
                wanted = accept(sn, 0) is Verdict.ACCEPTED
                assert egress.takes(sn, cid=last) == wanted, (last, bin(seen), sn)


# ---- Traces


LOSSES = [0.0, 0.01, 0.1, 0.3, 0.8]
losses = st.sampled_from(LOSSES)
moments = st.integers(0, 120_000)
cuts = st.tuples(st.integers(0, 1), moments, moments).map(lambda cut: (cut[0], *sorted(cut[1:])))


@st.composite
def traces(draw: st.DrawFn, packets: int = 120) -> Trace:
    """A packet each millisecond, with skew, jitter, losses and cuts of all sizes."""
    times = st.integers(0, 40_000)
    return Trace(
        packets,
        1000,
        (draw(times), draw(times)),
        (draw(losses), draw(losses)),
        (draw(st.integers(0, 3000)), draw(st.integers(0, 3000))),
        tuple(draw(st.lists(cuts, max_size=2))),
        draw(st.integers(0, 2**32)),
    )


policies = st.sampled_from(
    [
        settings("none"),
        settings("match"),
        settings("highest"),
        settings("highest", sn_bits=6),
        settings("highest", window=10),
        *(settings("slots", history=history) for history in (8, 16, 64)),
        settings("slots", history=8, sn_bits=6, window=17),
        *(settings("vector", history=history) for history in (8, 16, 64)),
        settings("vector", history=8, sn_bits=6),
        *(
            settings(accept, history=16, reset="8 ms")
            for accept in ("match", "highest", "slots", "vector")
        ),
    ]
)


@budget(max_examples=120)
@given(traces(), policies, st.integers(0, 2**32))
def test_the_switch_decides_as_the_oracle_does(
    trace: Trace, chosen: ProtectSettings, first: int
) -> None:
    """Copy by copy, around the circle, with lazy resets; accepted, duplicate and rogue."""
    egress, accept = Egress(chosen), policy(chosen)
    size = 1 << chosen.sn_bits
    for number, now in trace.arrivals():
        sn = (first + number) % size
        assert egress.verdict(sn, now) is accept(sn, now), (number, now)


@given(traces(), policies)
def test_no_packet_goes_on_twice_and_none_is_lost_that_was_promised(
    trace: Trace, chosen: ProtectSettings
) -> None:
    """As long as nothing is reset and the circle is not gone around."""
    window = chosen.window if chosen.accept == "highest" else 0
    chosen = chosen.model_copy(update={"reset": NEVER, "sn_bits": 32, "window": window})
    arrivals = trace.arrivals()
    egress = Egress(chosen)
    out = [number for number, now in arrivals if egress.takes(number, now=now)]
    numbers = [number for number, _ in arrivals]
    if chosen.accept not in ("none", "match"):
        assert len(out) == len(set(out))
    assert set(out) >= promised(chosen, numbers)
    if chosen.accept == "highest":
        assert out == sorted(out)


@given(traces(), st.sampled_from([8, 16, 32, 64]))
def test_slots_decide_as_the_vector_does_while_copies_are_less_than_the_history_apart(
    trace: Trace, history: int
) -> None:
    arrivals = trace.arrivals()
    numbers = [number for number, _ in arrivals]
    one = settings("slots", history=history)
    other = settings("vector", history=history)
    slots, vector = (delivered(policy(each), arrivals) for each in (one, other))
    note(f"behind {overtaken(numbers)}, ahead {longest_jump(numbers)}, history {history}")
    if overtaken(numbers) < history and longest_jump(numbers) < history:
        assert slots == vector
        assert set(slots) == set(numbers)  # the first copy of each packet goes on
    assert len(slots) == len(set(slots))


def test_beyond_the_history_slots_lose_less_on_the_whole() -> None:
    """After a gap the vector takes what follows for rogue, and slots go on. Not in every trace: a
    vector that has refused to jump takes all that the slower path brings, while that works."""
    lost = {"slots": 0, "vector": 0, "highest": 0}
    for seed in range(200):
        draw = random.Random(seed)
        loss = draw.choice(LOSSES), draw.choice(LOSSES)
        delays = 0, draw.randint(0, 60_000)
        begins = [draw.randint(0, 150_000) for _ in range(2)]
        cuts = tuple((draw.randint(0, 1), begin, begin + 40_000) for begin in begins)
        trace = Trace(200, 1000, delays, loss, (2000, 2000), cuts, seed)
        arrivals = trace.arrivals()
        arrived = {number for number, _ in arrivals}
        for accept in lost:
            out = delivered(policy(settings(accept, history=8)), arrivals)
            assert len(out) == len(set(out))
            lost[accept] += len(arrived) - len(out)
    assert lost["slots"] < lost["vector"] < lost["highest"], lost


# ---- What the reset time does


@pytest.mark.parametrize("accept", ["match", "highest", "slots", "vector"])
def test_a_restarted_ingress_is_heard_after_the_reset_time(accept: str) -> None:
    """Its numbers begin anew, far behind: without a reset most policies would refuse them for
    ages. The silence counts from the last copy that was accepted."""
    egress = Egress(settings(accept, history=16, reset="10 ms"))
    for sn in range(1000, 1040):
        assert egress.takes(sn, now=sn)
    last = 1039
    for late in range(1, 10_001, 1000):
        egress.takes(1, now=last + late)
    assert egress.verdict(1, now=last + 10_001) in (Verdict.ACCEPTED, Verdict.DUPLICATE)
    assert egress.takes(2, now=last + 10_002 + 10_001)


@pytest.mark.parametrize("accept", ["highest", "vector", "slots"])
def test_with_a_reset_shorter_than_the_gap_duplicates_pass(accept: str) -> None:
    """The other edge: a copy that comes later than the reset time is taken for a new beginning."""
    egress = Egress(settings(accept, reset="1 ms"))
    assert egress.takes(1, now=0) and not egress.takes(1, now=1000)
    assert egress.takes(1, now=1001 + 1)


# ---- Settings


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"history": 48}, "1, 2, 4, 8"),
        ({"accept": "vector", "history": 128}, "at most 64 places"),
        ({"accept": "slots", "history": 64, "sn_bits": 6}, "at most 32 places"),
        ({"reset": "1.5 us"}, "whole microseconds"),
        ({"reset": "soon"}, "a delay such as"),
        ({"window": 64, "sn_bits": 6}, "at most 63 steps"),
        ({"accept": "slots", "history": 8, "window": 7}, "take a larger window"),
    ],
)
def test_settings_that_the_program_could_not_keep_are_refused(
    wrong: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        ProtectSettings.model_validate(wrong)


@pytest.mark.parametrize("accept", ["none", "match", "highest", "slots", "vector"])
def test_every_policy_compiles_and_takes_the_first_copy(accept: str) -> None:
    egress = Egress(settings(accept))
    assert egress.takes(77)
    assert egress.switch.process(1, copy(0, 77, 2)) == [] or accept == "none"
