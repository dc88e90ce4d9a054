"""1+1 protection in whole networks in virtual time: what arrives when paths lose, fail and babble.

If these fail, a link that breaks is felt, which is what the system is there to prevent.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import ip_network
from itertools import combinations, pairwise

import pytest

from p4lab import registry
from p4lab.course.labs import load_plan, set_to
from p4lab.model.control import NumberError
from p4lab.model.system import Seen
from p4lab.packets.ip import ETHERTYPE_IPV6, PROTOCOL_UDP, ethernet, ipv6
from p4lab.packets.probe import Probe
from p4lab.paths import ROOT
from p4lab.session.run import carry_out, open_virtual, reference_run
from p4lab.systems.protect.connections import Connection, Flow
from p4lab.systems.protect.drawing import draw
from p4lab.systems.protect.entries import Placed
from p4lab.systems.protect.expected import journey
from p4lab.systems.protect.experiments.setup import Cable, between, link_of, plan_of, two_paths
from p4lab.systems.protect.placement import placements
from p4lab.systems.protect.settings import ProtectSettings
from p4lab.topology import Topology
from protect_egress import Egress, Trace, copy

MS = 1_000_000
SECOND = 1000 * MS
PROTECT = Topology.load("protect")
MIDDLE = [link for link in PROTECT.links if not link.is_access and "r6" not in link.ends]


def chosen(accept: str, **more: object) -> ProtectSettings:
    return ProtectSettings.model_validate({"accept": accept, **more})


# ---- The cases of Linux' link_faults.sh: path A takes 20 ms, path B 50 ms; pings 10 ms apart


def faults(accept: str, loss: float = 0.0, cut_ms: int | None = None) -> tuple[int, int]:
    """Lost and repeated packets of 400 there and 400 back, with loss on the faster path, or a cut
    of it after so many milliseconds."""
    topology = two_paths(Cable(20 * MS, loss=loss), Cable(50 * MS))
    plan = plan_of(topology, 7, between(topology, packets=400, interval_ns=10 * MS), chosen(accept))
    with open_virtual(plan) as session:
        session.start()
        start = session.begin()
        if cut_ms is not None:
            session.net.set_link_at(link_of(topology, 1), start + cut_ms * MS, False)
        session.net.run_until(session.end(start), session.controller)
        received = session.net.observed().received
    got = [received["h2", 1], received["h1", 2]]
    return 800 - sum(one.unique for one in got), sum(one.duplicates for one in got)


@pytest.mark.parametrize("accept", ["slots", "vector"])
@pytest.mark.parametrize(
    "fault", [{}, {"cut_ms": 2000}, {"loss": 0.2}, {"loss": 0.8}], ids=["clean", "cut", "20", "80"]
)
def test_nothing_is_lost_and_nothing_repeated(accept: str, fault: dict[str, object]) -> None:
    """0 % exactly, as the kernel's own test of PRP wants it."""
    assert faults(accept, **fault) == (0, 0)


@pytest.mark.parametrize("fault", [{}, {"cut_ms": 2000}], ids=["clean", "cut"])
def test_the_rule_of_the_paper_survives_a_cut(fault: dict[str, object]) -> None:
    assert faults("highest", **fault) == (0, 0)


def test_the_rule_of_the_paper_loses_what_the_faster_path_loses() -> None:
    """The slower copy is three packets late: old, unless the faster path has lost those, too. So
    of 20 % all but 0.2 to the power of 3 are gone."""
    lost, repeated = faults("highest", loss=0.2)
    assert repeated == 0
    assert 100 < lost < 220, lost


@pytest.mark.parametrize("accept", ["slots", "vector"])
def test_a_fifth_of_the_packets_reordered(accept: str) -> None:
    """The fifth case: on the faster path, 20 % of the packets are not delayed at all."""
    draw_from = random.Random(1)
    arrivals = []
    for number in range(1, 401):
        early = draw_from.random() < 0.2
        arrivals.append((number, number * 10_000 + (0 if early else 20_000)))
        arrivals.append((number, number * 10_000 + 50_000))
    arrivals.sort(key=lambda arrival: arrival[1])
    egress = Egress(chosen(accept))
    out = [number for number, now in arrivals if egress.takes(number, now=now)]
    assert sorted(out) == list(range(1, 401)) and out != sorted(out)


def test_the_first_path_to_come_back_costs_the_skew() -> None:
    """standards.md 4.5: while it was away, the slower copies were new; now they are old."""
    trace = Trace(100, 1000, (0, 5500), cuts=((0, 30_000, 60_000),))
    lost = {}
    for accept in ("highest", "slots", "vector"):
        egress = Egress(chosen(accept))
        out = [number for number, now in trace.arrivals() if egress.takes(number, now=now)]
        lost[accept] = 100 - len(out)
    assert lost == {"highest": 5, "slots": 0, "vector": 0}


# ---- The cases of the kernel's unit test prp_dup_discard; A is path 1, B is path 2

WINDOWED = ["slots", "vector"]


@pytest.mark.parametrize("accept", ["highest", *WINDOWED])
def test_prp_forward(accept: str) -> None:
    assert Egress(chosen(accept)).takes(1)


@pytest.mark.parametrize("accept", ["match", "highest", *WINDOWED])
def test_prp_drop_duplicate(accept: str) -> None:
    egress = Egress(chosen(accept))
    assert egress.takes(1, path=1) and not egress.takes(1, path=2)


@pytest.mark.parametrize("accept", ["match", "highest", *WINDOWED])
def test_prp_entry_timeout(accept: str) -> None:
    """After the forget time the same number passes again, and so do those around it."""
    egress = Egress(chosen(accept, reset="400 ms"))
    assert egress.takes(9, now=1) and egress.takes(10, now=1)
    assert not egress.takes(10, path=2, now=400_001)
    assert egress.takes(9, path=2, now=400_002)
    assert egress.takes(10, path=2, now=800_004)


def test_prp_out_of_sequence() -> None:
    """9, then 8 late; each once. The rule of the paper takes no late packets at all."""
    for accept in WINDOWED:
        egress = Egress(chosen(accept))
        taken = [egress.takes(sn, path=path) for sn, path in LATE]
        assert taken == [True, True, False, True, False], accept
    egress = Egress(chosen("highest"))
    assert [egress.takes(sn, path=path) for sn, path in LATE] == [True, False, False, True, False]


LATE = [(9, 1), (8, 1), (8, 2), (10, 1), (10, 2)]


@pytest.mark.parametrize("accept", ["highest", *WINDOWED])
def test_prp_lan_b_late(accept: str) -> None:
    egress = Egress(chosen(accept))
    taken = [egress.takes(sn, path=path) for path in (1, 2) for sn in (9, 10)]
    assert taken == [True, True, False, False]


# ---- Somebody babbles on path 2


@dataclass(frozen=True)
class Heard:
    """What came of 2,000 good packets, one each millisecond."""

    lost: int
    gap_ms: float
    """The longest time without one"""


def babbled(settings: ProtectSettings, number: Callable[[int], int]) -> Heard:
    """Good packets come by path 1; from 500 ms on, for a second, somebody at r3 puts a packet each
    millisecond into the tunnel of path 2: `number` says which SN, by milliseconds."""
    topology = two_paths(Cable(MS), Cable(2 * MS))
    plan = plan_of(topology, 1, between(topology, packets=2000, interval_ns=MS)[:1], settings)
    receiver = topology.host("h2")
    with open_virtual(plan) as session:
        session.start()
        session.net.watch(receiver)
        (placed,) = placements(plan)
        assert placed.pair[1] == ("r1", "r3", "r4") and placed.address(2).packed[3] == 2
        driver, port = session.net.driver("r3"), topology.port("r3", "r4")
        start = session.begin()
        session.net.set_link(topology.link("r1", "r3"), False)
        for ms in range(500, 1500):
            session.net.run_until(start + ms * MS + MS // 2, session.controller)
            driver.packet_out(port, copy(placed.connection.cid, number(ms), 2))
        session.net.run_until(session.end(start), session.controller)
        came = [time for time, _ in session.net.arrivals(receiver)]
    gaps = [later - earlier for earlier, later in pairwise([*came, start + 2000 * MS])]
    return Heard(2000 - len(came), max(gaps) / MS)


def far(ms: int) -> int:
    """One number, far ahead, again and again."""
    return 1 << 30


def counting(ms: int) -> int:
    """Each further ahead."""
    return (1 << 30) + ms


@pytest.mark.parametrize("accept", ["match", "highest", "slots", "vector"])
def test_nobody_is_locked_out_for_longer_than_the_reset_time(accept: str) -> None:
    """By a sender that is stuck: the reset time, and the packet that ends it (3 ms to spare)."""
    heard = babbled(chosen(accept, reset="100 ms"), far)
    assert heard.gap_ms <= 103, heard


def test_what_a_stuck_sender_costs_by_policy() -> None:
    """highest hears one packet each reset time, slots miss their share of one slot, the vector and
    match nothing."""
    lost = {
        accept: babbled(chosen(accept, reset="100 ms"), far).lost
        for accept in ("match", "highest", "slots", "vector")
    }
    assert lost["match"] == lost["vector"] == 0
    assert 0 < lost["slots"] <= 2000 // 64
    assert lost["highest"] > 900


def test_a_sender_that_counts_up_locks_out_until_a_reset_time_after_it_ends() -> None:
    """Each of its packets is accepted, so the silence that a reset needs begins with its last. A
    window that is no larger than it has to be is what helps."""
    heard = babbled(chosen("highest", reset="100 ms"), counting)
    assert 1000 <= heard.gap_ms <= 1103
    assert babbled(chosen("highest", reset="100 ms", window=1000), counting).lost == 0
    assert babbled(chosen("vector", reset="100 ms"), counting).lost == 0


# ---- The report of a run


@pytest.mark.parametrize("accept", ["highest", "slots", "vector"])
@pytest.mark.parametrize("down", [(), *combinations(MIDDLE, 1), *combinations(MIDDLE, 2)])
def test_the_counters_are_as_the_report_expects(accept: str, down: tuple[object, ...]) -> None:
    """Whatever one or two links fail: exactly, and nobody misses a packet that a path could
    bring."""
    plan = replace(load_plan("03-protect", packets=150, accept=accept), down=down)
    with open_virtual(plan) as session:
        carry_out(session)
        report = session.report()
    assert report.ok, report.problems
    for row in report.protected:
        assert row.sent == row.sent_reference == 150
        assert [path.counted for path in row.paths] == [path.reference for path in row.paths]
        works = [path.reference.received > 0 for path in row.paths]
        assert row.lost == (0 if any(works) else 150)
        assert row.alarm == (works.count(True) == 1)
    unserved = {row.host for row in report.hosts if row.unserved}
    assert bool(unserved) == (not any(works))
    assert len(down) == 2 or not unserved


@pytest.mark.parametrize("accept", ["highest", "slots"])
@pytest.mark.parametrize("down", [(), (PROTECT.link("r1", "r2"),)])
def test_the_same_entries_fit_the_program_for_a_tofino(
    accept: str, down: tuple[object, ...]
) -> None:
    """And its counters say the same, but for `rogue`, which it has not."""
    plan = replace(load_plan("03-protect", packets=150, accept=accept), down=down)
    plan = replace(plan, program=ROOT / "p4" / "protect" / "tna.p4")
    with open_virtual(plan) as session:
        carry_out(session)
        report = session.report()
    assert report.ok, report.problems
    for row in report.protected:
        assert [path.counted for path in row.paths] == [path.reference for path in row.paths]


def test_duplicates_that_a_policy_lets_pass_are_a_problem() -> None:
    """Copies come 2 ms apart and packets each millisecond, so match sees no duplicate."""
    for accept in ("none", "match"):
        plan = load_plan("03-protect", packets=100, accept=accept)
        with open_virtual(plan) as session:
            carry_out(session)
            report = session.report()
        assert not report.ok
        assert any("duplicates" in problem for problem in report.problems)


def test_unprotected_streams_are_excused_where_their_way_is_down() -> None:
    """h1 to h5 is not in the file, so it takes the shortest way, which is down."""
    plan = load_plan("03-protect", packets=20, connections="labs/03-protect/connections.toml")
    far_host = PROTECT.host("h5")
    stream = replace(plan.streams[0], flow=3, destination=far_host.ip, receivers=(far_host,))
    plan = replace(plan, streams=(*plan.streams, stream), down=(PROTECT.link("r1", "r2"),))
    with open_virtual(plan) as session:
        carry_out(session)
        report = session.report()
    assert report.ok, report.problems
    assert [row.host for row in report.hosts if row.unserved] == ["h5"]


def test_a_program_without_counters_has_a_report_all_the_same() -> None:
    """A student's need not count."""
    plan = load_plan("03-protect", packets=10)

    class Mute:
        def __init__(self, driver: object) -> None:
            self.write, self.entries = driver.write, driver.entries
            self.packet_out = driver.packet_out

    with open_virtual(plan) as session:
        carry_out(session)
        system = registry.find("protect")
        collected = system.collect(plan, lambda router: Mute(session.net.driver(router)))
        seen = Seen("virtual", "engine", session.net.observed(), collected, reference_run)
        report = system.report(plan, seen)
    assert report.ok
    assert {row.lost for row in report.protected} == {None}
    assert report.to_json()["protected"][0]["paths"][0]["counted"] is None
    report.render()


# ---- Streams of a check


@pytest.mark.parametrize("name", ["protect", "ring"])
def test_drawn_streams_are_between_hosts_and_at_least_one_is_protected(name: str) -> None:
    plan = load_plan("03-protect", topology=name)
    for seed in range(30):
        drawn = draw(plan, random.Random(seed), 3, 50)
        assert len(drawn.streams) == 3 and {stream.packets for stream in drawn.streams} == {50}
        assert len({(stream.source, stream.destination) for stream in drawn.streams}) == 3
        steps = journey(drawn.topology, placements(drawn), drawn.streams[0])
        assert any(isinstance(step, Placed) for step in steps)


def test_drawn_streams_arrive_with_a_link_down() -> None:
    plan = load_plan("03-protect", topology="ring")
    for seed in range(5):
        chance = random.Random(seed)
        drawn = draw(plan, chance, 3, 20)
        core = [link for link in plan.topology.links if not link.is_access]
        with open_virtual(replace(drawn, down=(chance.choice(core),))) as session:
            carry_out(session)
            assert session.report().ok, session.report().problems


def test_where_nothing_can_be_protected_nothing_is_drawn() -> None:
    plan = replace(load_plan("03-protect"), topology=Topology.load("tree10"))
    with pytest.raises(NumberError, match="no stream between hosts can be protected"):
        draw(plan, random.Random(1), 2, 10)


# ---- IPv6 in the tunnel


def test_ipv6_is_protected_as_well() -> None:
    """Both addresses are the system's own; copies on both paths, one packet for the host."""
    plan = load_plan("03-protect")
    source, target = PROTECT.host("h1"), PROTECT.host("h3")
    with open_virtual(plan) as session:
        session.start()
        flow = Flow(src=ip_network(source.ip6), dst=ip_network("fd00:0:0:5::/64"))
        session.plane.connect(Connection("v6", "r1", "r5", 9, flows=(flow,)))
        net = session.net
        for number in range(50):
            payload = bytes(8) + Probe(77, number, source.id).trailer()
            packet = ipv6(source.ip6, target.ip6, PROTOCOL_UDP, payload)
            frame = ethernet(source.gateway_mac, source.mac, ETHERTYPE_IPV6, packet)
            net.engine.send_at(net._nodes["h1"], (1 + number) * MS * 1000, frame)
        net.run_until(SECOND, session.plane)
        observed = net.observed()
    assert observed.copies["r1", "r2"] == observed.copies["r1", "r3"] == 50
    got = observed.received["h3", 77]
    assert (got.unique, got.duplicates) == (50, 0)


def test_the_plan_of_a_lab_can_be_set_to_another_policy() -> None:
    """As experiments do: the program is compiled with it, too."""
    plan = set_to(load_plan("03-protect", packets=20), accept="slots", history=16)
    assert dict(plan.defines)["ACCEPT"] == "3" and dict(plan.defines)["HISTORY"] == "16"
    with open_virtual(plan) as session:
        carry_out(session)
        assert session.report().ok
        node = session.net._nodes["r5"]
        assert session.net.engine.read_register(node, "slot_sn", 20 % 16) == 20
