"""Heartbeats in the data plane. If these fail, a link that carries one way only swallows packets
for ever, or a network that has nothing the matter takes detours.

Routers are joined by cables whose two directions fail by themselves, and no port is ever told of
it: what a switch knows of its neighbours came in packets.
"""

from __future__ import annotations

from collections import Counter, deque
from functools import cache
from ipaddress import IPv4Address
from types import SimpleNamespace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bier_oracle import networks
from cli_runner import p4lab
from p4lab import _engine
from p4lab.control.listeners import Member
from p4lab.engine import load_program
from p4lab.model.control import PacketIn
from p4lab.model.entries import Exact, TableEntry, diff
from p4lab.model.layout import CPU_PORT
from p4lab.model.tables import Tables
from p4lab.network.base import NetworkError
from p4lab.network.cpu import CpuPort
from p4lab.packets.probe import Probe, probe_frame
from p4lab.paths import ROOT
from p4lab.systems.bier.entries import group_number
from p4lab.systems.frr.entries import Protection, frr_entries
from p4lab.systems.frr.experiments.plan import MS, US, program
from p4lab.systems.frr.experiments.restoration import MODES, Setting, delays_for, run, testbed
from p4lab.systems.frr.experiments.storm import HEARTBEATS, Storm
from p4lab.systems.frr.heartbeat import (
    Heartbeat,
    ends,
    found_down,
    heartbeat_frame,
    watch_entries,
)
from p4lab.systems.frr.heartbeat_agents import HeartbeatAgents
from p4lab.systems.frr.plane import Delays, FrrControlPlane
from p4lab.topology import Topology

testbed.__test__ = False  # a network, not a test

GROUP = IPv4Address("239.1.2.3")
EVERY = Heartbeat(1 * MS, 3)
PICOSECONDS = 1000  # per nanosecond
CPU = CpuPort(CPU_PORT)


@cache
def wide() -> _engine.Program:
    return load_program(ROOT / "p4" / "bier-frr" / "v1model.p4", [("BSL", "64")])


class Cables:
    """Switches with heartbeats; `dead` holds directed pairs of names between which nothing comes
    through. Time passes in `wait`, which is also when heartbeats are sent."""

    def __init__(self, topology: Topology, heartbeat: Heartbeat = EVERY) -> None:
        self.topology = topology
        self.heartbeat = heartbeat
        self.now = 10 * MS
        self.dead: set[tuple[str, str]] = set()
        self.believed = set(ends(topology))
        self.hosts: Counter[str] = Counter()
        self.links: Counter[tuple[str, str]] = Counter()
        members = frozenset(
            Member(h.router, h.port, group_number(str(GROUP))) for h in topology.hosts
        )
        entries = frr_entries(topology, members, 64, protection=Protection("link"))
        watched = watch_entries(topology, heartbeat)
        self.switches = {}
        for name in entries:
            self.switches[name] = _engine.Switch(wide())
            self.switches[name].write(diff(frozenset(), entries[name] | watched[name]))

    def wait(self, heartbeats: int) -> None:
        for number in range(heartbeats):
            for end in ends(self.topology):
                self._beat(end, number)
            self.now += self.heartbeat.interval

    def _beat(self, end: tuple[str, int], number: int) -> None:
        frame = heartbeat_frame(self.topology, end, number, end in self.believed)
        self.follow(end[0], CPU_PORT, CPU.packet_out(end[1], frame))

    def send(self, source) -> None:
        self.follow(source.router, source.port, probe_frame(source, GROUP, 1, 0))

    def follow(self, router: str, port: int, frame: bytes) -> None:
        waiting = deque([(router, port, frame, 0)])
        while waiting:
            here, port, data, hops = waiting.popleft()
            assert hops < 50, "a frame goes round in circles"
            now = self.now * PICOSECONDS
            for out_port, out in self.switches[here].process(port, data, now):
                if out_port == CPU_PORT:
                    told, inside, _ = CPU.packet_in(out)
                    down = found_down(inside)
                    assert down is not None
                    assert ((here, told) in self.believed) != down, "nothing new"
                    (self.believed.add if down else self.believed.discard)((here, told))
                    continue
                far = self.topology.neighbour(here, out_port)
                assert far is not None
                if (here, far) in self.dead:
                    continue
                if far in self.switches:
                    self.links[here, far] += Probe.of(out) is not None
                    waiting.append((far, self.topology.port(far, here), out, hops + 1))
                else:
                    self.hosts[far] += 1


SETTLE = 5  # heartbeats: heard, told, known at both ends, with one that came back
SILENCE = EVERY.misses + SETTLE


@settings(max_examples=60, deadline=None)
@given(topology=networks(7), one_way=st.booleans(), data=st.data())
def test_a_link_that_fails_in_one_direction_or_both(topology, one_way, data) -> None:
    """Both ends stop using it, nobody else does anything; once it is whole, both use it again."""
    core = [link for link in topology.links if not link.is_access]
    assume(topology.hosts and core)
    cables, source = Cables(topology), data.draw(st.sampled_from(topology.hosts))
    everybody = Counter({host.name: 1 for host in topology.hosts if host.name != source.name})
    cables.wait(SETTLE)
    assert cables.believed == set()
    cables.send(source)
    assert all(count == 1 for count in cables.hosts.values())
    served = set(cables.hosts)
    assert served <= set(everybody)

    link = data.draw(st.sampled_from(core))
    both = ((link.a, link.b), (link.b, link.a))
    cables.dead = {data.draw(st.sampled_from(both))} if one_way else set(both)
    cables.wait(SILENCE)
    assert cables.believed == {(link.a, link.a_port), (link.b, link.b_port)}
    cables.hosts.clear()
    cables.links.clear()
    cables.send(source)
    assert not any(cables.links[pair] for pair in both)
    assert set(cables.hosts.values()) <= {1}
    assert set(cables.hosts) <= served

    cables.dead = set()
    cables.wait(SETTLE)
    assert cables.believed == set()
    cables.hosts.clear()
    cables.send(source)
    assert cables.hosts == Counter(dict.fromkeys(served, 1))


@settings(max_examples=40, deadline=None)
@given(
    interval=st.integers(1, 50_000),
    misses=st.integers(2, 9),
    begin=st.integers(1, 1 << 40),
    late=st.integers(0, 1000),
)
def test_when_silence_begins(interval, misses, begin, late) -> None:
    """To the microsecond: `limit` after the last heartbeat the port still works, then it does not.
    A longer limit would lose packets that nobody has reckoned with."""
    topology = Topology.load("testbed")
    cables = Cables(topology, Heartbeat(interval * US, misses))
    cables.now = begin * US
    cables.wait(1)
    cables.wait(1)
    last = cables.now - cables.heartbeat.interval
    switch = cables.switches["r1"]
    host = topology.host("h1")
    port = topology.port("r1", "r2")
    used = []
    for now in (last + cables.heartbeat.limit, last + cables.heartbeat.limit + US + late * US):
        frame = probe_frame(host, GROUP, 1, 0)
        used.append(port in [p for p, _ in switch.process(host.port, frame, now * PICOSECONDS)])
    assert used == [True, False]


@settings(max_examples=30, deadline=None)
@given(frames=st.lists(st.binary(max_size=40), max_size=20), data=st.data())
def test_what_looks_like_a_heartbeat(frames, data) -> None:
    """From a host or cut off: it neither stops the switch nor changes what it takes ports for."""
    topology = Topology.load("testbed")
    cables = Cables(topology)
    cables.wait(SETTLE)
    host = topology.host("h1")
    for frame in frames:
        for made in (frame, bytes(12) + b"\x88\xb5" + frame):
            assert cables.switches["r1"].process(host.port, made, cables.now * PICOSECONDS) == []
    cables.send(host)
    assert set(cables.hosts.values()) == {1}
    assert cables.links["r1", "r2"] == 1


def test_numbers_that_are_no_heartbeat() -> None:
    assert Heartbeat(200 * US).limit == 600 * US
    assert Heartbeat(200 * US).detection == (400 * US, 600 * US)
    assert Heartbeat(1_500, 3).limit == 4_000  # whole microseconds
    for interval, misses in ((999, 3), (MS, 1), (0, 3), (-5, 3)):
        with pytest.raises(ValueError, match="may miss one"):
            Heartbeat(interval, misses)
    assert found_down(b"") is None
    assert found_down(bytes(12) + b"\x08\x00" + bytes(20)) is None
    assert found_down(bytes(12) + b"\x88\xb5\x00\x05") is True
    assert found_down(bytes(12) + b"\x88\xb5\x00\x04") is False


class Driver:
    def __init__(self) -> None:
        self.tables = Tables()
        self.sent: list[tuple[int, bytes]] = []

    def write(self, updates) -> None:
        self.tables.apply(updates)

    def entries(self):
        return self.tables.entries

    def packet_out(self, port, frame) -> None:
        self.sent.append((port, frame))


def agents(name: str, delays: Delays) -> SimpleNamespace:
    """Agents whose switches only note what they are sent; `answer` lets one disagree."""
    topology = Topology.load(name)
    drivers = {router.name: Driver() for router in topology.routers}
    plane = FrrControlPlane(topology, 64, drivers.__getitem__, delays=delays, heartbeat=EVERY)
    made = HeartbeatAgents(plane, drivers.__getitem__, EVERY)
    plane.start(0)
    for driver in drivers.values():
        driver.sent.clear()  # IGMP's queries

    def answer(now: int, end: tuple[str, int], down: bool) -> None:
        frame = heartbeat_frame(topology, end, 1, down)
        made.packet_in(now, end[0], PacketIn(end[1], frame))

    def until(end: int) -> None:
        while made.next_timer() <= end:
            made.timer(made.next_timer())

    return SimpleNamespace(
        topology=topology, drivers=drivers, plane=plane, agents=made, answer=answer, until=until
    )


def test_a_link_is_up_when_both_ends_say_so() -> None:
    lab = agents("ring", Delays(distance=400 * US))
    link = lab.topology.link("r2", "r3")
    far, near = (link.a, link.a_port), (link.b, link.b_port)
    for end in ends(lab.topology):
        lab.answer(0, end, False)
    lab.until(10 * MS)
    assert lab.plane.failures.links == set()
    lab.answer(10 * MS, far, True)
    lab.until(10 * MS + 400 * US - 1)
    assert not lab.plane.failures.has(link), "the controller is not there yet"
    lab.until(20 * MS)
    assert lab.plane.failures.links == {link.ends}
    lab.answer(20 * MS, near, True)
    lab.answer(21 * MS, far, False)
    lab.until(30 * MS)
    assert lab.plane.failures.links == {link.ends}, "one end still hears nothing"
    lab.answer(30 * MS, near, False)
    lab.until(40 * MS)
    assert lab.plane.failures.links == set()
    notified = [step for step in lab.plane.timeline if step.stage == "notification"]
    assert len(notified) == 2
    assert [(news.router, news.up) for news in lab.agents.news[-4:]] == [
        (far[0], False),
        (near[0], False),
        (far[0], True),
        (near[0], True),
    ]


def test_a_neighbour_that_was_never_there_is_news() -> None:
    """After as long as any other silence, and not before."""
    lab = agents("ring", Delays())
    link = lab.topology.link("r2", "r3")
    for end in ends(lab.topology):
        if end not in ((link.a, link.a_port), (link.b, link.b_port)):
            lab.answer(0, end, False)
    lab.until(EVERY.limit - 1)
    assert lab.plane.failures.links == set()
    lab.until(2 * EVERY.limit)
    assert lab.plane.failures.links == {link.ends}


def test_heartbeats_go_on_in_step() -> None:
    """One per port and interval; one that came back goes again at once, as the switch wants it."""
    lab = agents("testbed", Delays())
    lab.until(3 * MS)
    port = lab.topology.port("r1", "r2")
    sent = [frame for at, frame in lab.drivers["r1"].sent if at == port]
    assert [int.from_bytes(frame[14:], "big") for frame in sent] == [5, 9, 13, 17]
    lab.answer(3 * MS, ("r1", port), False)
    again = lab.drivers["r1"].sent[-1]
    assert again == (port, heartbeat_frame(lab.topology, ("r1", port), 4, False))
    assert watch_entries(lab.topology, EVERY)["r1"] <= lab.drivers["r1"].entries()
    assert watch_entries(lab.topology, EVERY)["r1"] == {
        TableEntry("watched", (("port", Exact(each)),), "watch", (("limit_us", 3000),))
        for each in (port, lab.topology.port("r1", "r3"))
    }


@pytest.mark.parametrize("interval", [100, 200, 1000])
@pytest.mark.parametrize("seed", [3, 4])
def test_the_data_plane_acts_when_it_must(interval, seed) -> None:
    """The computed bounds hold for what a subscriber sees, and the controller adds nothing."""
    heartbeat = Heartbeat(interval * US)
    delays = delays_for(3)
    done = run(
        Setting("BIER-FRR and IP-FRR", seed, testbed(), delays, 10 * US, heartbeat=heartbeat)
    )
    least, most = heartbeat.detection
    assert least <= done.outage <= most + 20 * US  # and two probes
    assert done.duplicates == 0
    known = done.duration("detection", None)
    assert least < known <= most + heartbeat.interval + 20 * US


def test_without_backups_the_silence_is_the_controllers() -> None:
    for mode, restored in (("no FRR", 75.4), ("BIER-FRR only", 35.4)):
        setting = Setting(
            mode, 1, testbed(), delays_for(3), 100 * US, heartbeat=Heartbeat(200 * US)
        )
        assert run(setting).outage / MS == pytest.approx(restored + 0.7, abs=0.4)
    assert set(MODES) >= {"no FRR", "BIER-FRR only"}


def test_a_storm_that_takes_all_links_down() -> None:
    """The testbed has three between routers, and four may be down."""
    storm = Storm(Topology.load("testbed"), 1, heartbeat=Heartbeat(MS))
    events = list(storm.events(20))
    assert [event for event in events if not event.ok] == []
    assert max(event.broken for event in events) == 3


def test_heartbeats_that_come_late_in_the_beginning_are_waited_for() -> None:
    """Three of a microsecond are over before the first has come: what follows from that must not
    shorten the silence that is measured."""
    short = Heartbeat(US)
    setting = Setting("no FRR", 1, testbed(), delays_for(3), MS, heartbeat=short)
    assert run(setting).outage / MS == pytest.approx(76, abs=1.5)


def test_false_alarms_before_the_failure_are_told(monkeypatch) -> None:
    monkeypatch.setattr(HeartbeatAgents, "all_up", False)
    short = Heartbeat(200 * US)
    setting = Setting("no FRR", 1, testbed(), delays_for(3), MS, heartbeat=short)
    with pytest.raises(NetworkError, match=r"every 0\.2 ms.*--heartbeat-ms more"):
        run(setting)


def test_a_storm_with_heartbeats(capsys) -> None:
    """`p4lab experiment storm --detection heartbeat` makes more events."""
    storm = Storm(Topology.load("ring"), 3, heartbeat=HEARTBEATS["virtual"])
    with capsys.disabled():
        print("storm: seed 3", end=" ")
    events = list(storm.events(25))
    assert [event for event in events if not event.ok] == []
    assert max(event.broken for event in events) > 1
    assert storm.tables() == storm.fresh_tables()


def test_without_entries_nothing_is_watched() -> None:
    """Labs that do not ask for heartbeats are as if there were none."""
    topology = Topology.load("testbed")
    host = topology.host("h1")
    members = frozenset(Member(h.router, h.port, group_number(str(GROUP))) for h in topology.hosts)
    switch = _engine.Switch(program())
    switch.write(diff(frozenset(), frr_entries(topology, members, 64)["r1"]))
    frame = probe_frame(host, GROUP, 1, 0)
    for now in (0, 1, 10**18):
        assert topology.port("r1", "r2") in [p for p, _ in switch.process(host.port, frame, now)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("restoration", "--heartbeat-ms", "1"), "add that"),
        (("storm", "--detection", "smoke"), "link and heartbeat"),
        (("storm", "--detection", "heartbeat", "--heartbeat-ms", "0"), "0.001"),
        (("storm", "--detection", "heartbeat", "--topology", "bng"), "no link between routers"),
    ],
)
def test_what_cannot_go_together(arguments, said, tmp_path) -> None:
    done = p4lab("experiment", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_verb_measures_heartbeats(tmp_path) -> None:
    done = p4lab(
        "experiment", "restoration", "--runs", "1", "--no-sweeps", "--detection", "heartbeat",
        "--pps", "10000", "--out", tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "0.4 to 0.6 ms" in " ".join(done.stdout.split())
    assert ",0.2,0.6," in (tmp_path / "restoration.csv").read_text().splitlines()[1]
