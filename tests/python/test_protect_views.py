"""The views of protection: a student believes the picture, so it has to be what happened.

Oracles are independent of the traces: the delays of the links, and the policies by their
definitions (systems/protect/oracle.py), fed with the copies in the order in which they came.
"""

from __future__ import annotations

import random
import re
import shutil
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from p4lab.course.home import HERE
from p4lab.course.material import start
from p4lab.notebook import Lab, open_lab
from p4lab.systems.protect.oracle import Verdict, policy
from p4lab.systems.protect.views import circle
from p4lab.systems.protect.views.copies import ACCEPTED, Arrival, arrivals, protecting
from p4lab.systems.protect.views.ring import Ring
from p4lab.systems.protect.views.slots import Slots
from p4lab.systems.protect.views.ways import Way, ways
from p4lab.topology import Link
from p4lab.widgets.sent import Sent

SETTINGS = [
    {"accept": "none"},
    {"accept": "match"},
    {"accept": "highest"},
    {"accept": "highest", "sn_bits": 3},
    {"accept": "highest", "sn_bits": 4, "window": 2},
    {"accept": "slots", "history": 8},
    {"accept": "slots", "history": 2},
    {"accept": "slots", "history": 4, "sn_bits": 3},
    {"accept": "vector", "history": 4},
]
LINKS = [("r1", "r2"), ("r2", "r5"), ("r1", "r3"), ("r3", "r4"), ("r4", "r5")]
MS = 1_000_000


def lab_with(**settings: object) -> Lab:
    return open_lab("03-protect", folder=HERE.sources, **settings)


def drawn_cut(chance: random.Random) -> tuple[str, str, float, float]:
    """A failure of one link that no frame leaves or reaches a router with."""
    start = chance.randint(0, 9) + chance.choice((0.25, 0.5, 0.75))
    return (*chance.choice(LINKS), start, start + chance.choice((0.125, 1, 3)))


def seen(sent: Sent) -> list[Arrival]:
    placed = protecting(sent)
    assert placed is not None
    return arrivals(sent, placed)


def drawn(step: dict[str, str]) -> tuple[str, str, str]:
    """Number, path and verdict of the copy in a step's picture."""
    found = re.search(r'data-number="(\d+)" data-path="(\d)" data-verdict="(\w+)"', step["layer"])
    assert found
    return found[1], found[2], found[3]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_every_verdict_is_that_of_the_policy(settings: dict[str, object], seed: int) -> None:
    """What is drawn as accepted is accepted by the definition, copy by copy."""
    cut = drawn_cut(random.Random(seed))
    print(f"seed {seed}: {cut}")
    lab = lab_with(**settings)
    sent = lab.send(packets=14, cut=cut)
    decide = policy(lab.plan.settings)
    found = seen(sent)
    view = lab.circle_view(sent)
    assert len(found) == len(view.data["steps"]) > 14
    for arrival, step in zip(found, view.data["steps"], strict=True):
        verdict = decide(arrival.number, arrival.time // 1000)
        assert (arrival.verdict == ACCEPTED) == (verdict is Verdict.ACCEPTED)
        if settings["accept"] != "match":
            assert arrival.verdict == verdict.value
        assert drawn(step) == (str(arrival.number), str(arrival.path), verdict.value)
        assert "and yet" not in step["said"], "the solution follows its rule"
    went_on = sum(arrival.verdict == ACCEPTED for arrival in found)
    got = sent.received["h3"]
    assert went_on == got.unique + got.duplicates


@pytest.mark.parametrize("bits", [3, 32])
def test_copies_have_the_numbers_that_the_sender_counts(bits: int) -> None:
    """The first packet has number 1, and behind the last number comes 0."""
    sent = lab_with(sn_bits=bits).send(packets=12)
    found = seen(sent)
    assert {(arrival.packet, arrival.path) for arrival in found} == {
        (packet, path) for packet in range(12) for path in (1, 2)
    }
    assert all(arrival.number == (arrival.packet + 1) % (1 << bits) for arrival in found)


def test_copies_of_the_same_moment_are_in_the_order_of_the_switch() -> None:
    """What one copy leaves in the register, the next one finds there."""
    found = seen(lab_with().send(packets=10))
    assert len({arrival.time for arrival in found}) < len(found), "some come at the same moment"
    for earlier, later in pairwise(found):
        assert earlier.cell and later.cell
        assert later.cell.before == earlier.cell.after


@pytest.mark.parametrize(("history", "bits"), [(8, 32), (4, 3)])
def test_slots_hold_the_newest_number_of_each(history: int, bits: int) -> None:
    lab = lab_with(accept="slots", history=history, sn_bits=bits)
    found = seen(lab.send(packets=14, cut=("r1", "r2", 2.4, 2.6)))
    slots = Slots(found, history)
    decide = policy(lab.plan.settings)
    held: dict[int, int | None] = {arrival.number % history: None for arrival in found}
    for number, arrival in enumerate(found):
        assert slots.held(number) == held
        if decide(arrival.number, arrival.time // 1000) is Verdict.ACCEPTED:
            held[arrival.number % history] = arrival.number


def test_the_packet_that_the_papers_rule_loses_is_named() -> None:
    """The lesson of the lab: its only copy looks old. With slots nothing is lost."""
    lab = lab_with()
    sent = lab.send(packets=8, cut=("r1", "r2", 2.4, 2.6))
    view = lab.circle_view(sent)
    bad = [step for step in view.data["steps"] if step["tone"] == "bad"]
    assert [drawn(step) for step in bad] == [("3", "2", "duplicate")]
    assert "2 steps behind 5" in bad[0]["said"] and "it is lost" in bad[0]["said"]
    assert "✕ behind: the packet is lost" in str(bad[0]), "the only copy is no duplicate"
    times = lab.time_view(sent).data["steps"]
    assert [step["tone"] for step in times] == ["good", "good", "bad", *["good"] * 5]
    assert "lost on r1–r2" in times[2]["said"]
    assert "✕ behind" in str(times[2]) and "✕ duplicate" in str(times[1])
    slots = lab_with(accept="slots")
    view = slots.circle_view(slots.send(packets=8, cut=("r1", "r2", 2.4, 2.6)))
    assert not [step for step in view.data["steps"] if step["tone"] == "bad"]


def test_what_did_not_arrive_is_not_said_in_green(tmp_path: Path) -> None:
    """Also where there is no step: on the starter no copy gets to the end of the connection."""
    list(start("03-protect", tmp_path))
    lab = open_lab("03-protect", folder=tmp_path)
    sent = lab.send(packets=5)
    twice = lab_with(accept="none").send(packets=5)
    assert "h3 should have" in str(sent) and "h3 got duplicates" in str(twice)
    for view in (lab.circle_view(sent), lab.time_view(sent)):
        assert view.data["ending"] and not view.data["ok"]
    assert not lab_with(accept="none").time_view(twice).data["ok"]
    solved = lab_with()
    assert solved.time_view(solved.send(packets=5)).data["ok"]


def test_a_lock_out_shows_every_packet_that_it_costs() -> None:
    """Five packets are lost on both ways. The next three are more than 4 steps ahead."""
    lab = lab_with(sn_bits=3)
    lab.set_link("r1", "r3", False)
    sent = lab.send(packets=16, cut=("r1", "r2", 2.5, 6.5))
    bad = [step for step in lab.circle_view(sent).data["steps"] if step["tone"] == "bad"]
    assert [drawn(step)[0] for step in bad] == ["0", "1", "2"]
    assert sent.received["h3"].unique == 16 - 5 - 3


def test_a_program_that_breaks_its_rule_is_told(tmp_path: Path) -> None:
    """Without the way around the circle, 0 looks old; the picture says that it is not."""
    for folder in ("protect", "include"):
        shutil.copytree(HERE.sources / folder, tmp_path / folder)
    file = tmp_path / "protect" / "accept.p4"
    text = file.read_text()
    wrong = text.replace("    steps = (sn - last) & SN_MASK;\n", "")
    assert wrong != text
    file.write_text(wrong)
    lab = open_lab("03-protect", folder=tmp_path, sn_bits=3)
    steps = lab.circle_view(lab.send(packets=8)).data["steps"]
    told = [step for step in steps if "By the rule it is new, and yet" in step["said"]]
    assert [drawn(step) for step in told] == [("0", "1", "rogue"), ("0", "2", "rogue")]


@pytest.mark.parametrize("size", [8, 64, 1 << 16, 1 << 32])
@pytest.mark.parametrize("seed", range(4))
def test_numbers_stand_in_their_order_around_the_circle(size: int, seed: int) -> None:
    """Also across the last number, where the next one is 0: clockwise means ahead."""
    chance = random.Random(seed)
    first = chance.choice([0, 1, size - 3, chance.randrange(size)])
    numbers = [(first + chance.randint(-2, 20)) % size for _ in range(12)]
    print(f"seed {seed}: {first}, {numbers}")
    ring = Ring(numbers, size)
    assert set(numbers) <= set(ring.shown)
    start = ring.turn(ring.shown[0])
    turns = [(ring.turn(number) - start) % 1 for number in ring.shown]
    assert turns == sorted(set(turns)), "each has a place of its own"


def links_of(way: Way, lab: Lab) -> list[Link]:
    placed = protecting(lab.last())
    assert placed
    routers = placed.pair[way.path - 1]
    return [lab.link(a, b) for a, b in pairwise(routers)]


@pytest.mark.parametrize("seed", range(12))
def test_copies_take_as_long_as_their_links(seed: int) -> None:
    """Times on the axis are sums of delays; what a failing link carries is lost, and no more."""
    cut = drawn_cut(random.Random(seed))
    print(f"seed {seed}: {cut}")
    lab = lab_with()
    sent = lab.send(packets=10, cut=cut)
    placed = protecting(sent)
    assert placed
    found = ways(sent, placed)
    assert [(way.packet, way.path) for way in found] == [
        (packet, path) for packet in range(10) for path in (1, 2)
    ]
    for way in found:
        at = way.packet * MS
        points, lost = [at], ""
        for link in links_of(way, lab):
            on_it = at < cut[3] * MS and at + link.delay_ns > cut[2] * MS
            if link.ends == frozenset(cut[:2]) and on_it:
                lost = "-".join(cut[:2])
                break
            at += link.delay_ns
            points.append(at)
        assert [time - sent.start for _, time in way.points] == points
        assert way.lost == lost
        assert (way.arrived is None) == bool(lost)


def test_the_skew_is_that_of_the_paths() -> None:
    lab = lab_with()
    lab.send(packets=3)
    first, second = (sum(link.delay_ns for link in links_of(way, lab)) for way in both(lab))
    for step in lab.time_view().data["steps"]:
        assert f"The skew is {(second - first) // MS} ms." in step["said"]


def both(lab: Lab) -> list[Way]:
    """The ways of the first packet."""
    placed = protecting(lab.last())
    assert placed
    return ways(lab.last(), placed)[:2]


def test_no_line_goes_through_words() -> None:
    lab = open_lab("03-protect", folder=HERE.sources)
    data = lab.time_view(lab.send(packets=20)).data
    titles = re.findall(r'y="([\d.]+)"[^>]*class="p4c-name"', data["base"])
    drops = re.findall(
        r'y1="([\d.]+)"[^>]*y2="([\d.]+)"[^>]*class="p4c-drop"', data["steps"][0]["layer"]
    )
    assert len(titles) == 3 and len(drops) > 2
    for y in map(float, titles):
        assert not any(float(top) < y < float(bottom) for top, bottom in drops)


def test_each_stream_is_shown_with_its_own_connection() -> None:
    lab = lab_with(connections="labs/03-protect/connections.toml")
    gold, voice = lab.send(1, 2), lab.send(2, 2)
    assert "r5, which ends connection gold" in lab.circle_view(gold).data["title"]
    assert "r1, which ends connection voice" in lab.circle_view(voice).data["title"]
    assert "path 1: r5 – r4 – r3 – r1" in lab.time_view(voice).data["base"]


CONNECTION = """
[[connection]]
name = "<b>\\"&"
from = "r1"
to = "r5"
cid = 1
[[flow]]
connection = "<b>\\"&"
src = "h1"
dst = "h3"
"""


def test_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(CONNECTION)
    lab = lab_with(connections=str(file))
    sent = lab.send()
    for view in (lab.circle_view(sent), lab.time_view(sent)):
        assert "<b>" not in view.picture().replace("<p><b>", "")
        assert '<b>"&' in view.data["title"], "for textContent"
        assert "<b>" not in view.data["base"]


def test_a_stream_that_nobody_protects_is_told_so(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(CONNECTION)
    lab = lab_with(connections=str(file))
    other = lab.send(2)
    assert other.ok
    circle, times = lab.circle_view(other), lab.time_view(other)
    assert circle.summary().startswith("No connection protects what h4 sends to 10.0.1.2")
    assert times.summary().startswith("Nothing was put on two paths")
    assert circle.data["steps"] == times.data["steps"] == []


def test_long_runs_are_shortened_and_say_so() -> None:
    lab = lab_with()
    sent = lab.send(packets=120)
    circle, times = lab.circle_view(sent).data, lab.time_view(sent).data
    assert len(circle["steps"]) == 200 and "the first 200 of 240 copies" in circle["title"]
    assert len(times["steps"]) == 40 and "the first 40 of 120 packets" in times["title"]


def test_the_still_picture_has_the_step_that_matters() -> None:
    """Where scripts do not run, one step is drawn and all are listed."""
    lab = lab_with()
    sent = lab.send(packets=8, cut=("r1", "r2", 2.4, 2.6))
    for view in (lab.circle_view(sent), lab.time_view(sent)):
        picture = view.picture()
        assert picture.count("<li>") == len(view.data["steps"])
        lost = next(step for step in view.data["steps"] if step["tone"] == "bad")
        assert lost["layer"] in picture
        assert all(step["short"] in view.summary() for step in view.data["steps"])


def test_one_accepted_copy_is_one() -> None:
    came = [SimpleNamespace(verdict=verdict) for verdict in (ACCEPTED, "discarded")]
    said = [circle._ending("h3 got it.", came[:number]) for number in (1, 2)]  # type: ignore[arg-type]
    assert said[0].startswith("1 copy came, 1 was accepted; ")
    assert said[1].startswith("2 copies came, 1 was accepted; ")
