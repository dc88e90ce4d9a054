"""Everything that the control plane of a TNA switch sets and reads, from Python: what a lab, a
measurement or a student's own control plane needs besides tables."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.model.entries import Exact, MeterCell, TableEntry, Update, diff
from p4lab.model.state import (
    FillMeter,
    Group,
    IndirectEntry,
    IndirectUpdate,
    SetMember,
    SetMemberGroup,
    SetValueSet,
    Write,
)
from p4lab.model.tna import (
    Application,
    Coalescing,
    Generator,
    Lag,
    LowPass,
    Lpf,
    Mirror,
    MirrorSession,
    Multicast,
    Node,
    Once,
    Periodic,
    PortDown,
    PortMetadata,
    Prune,
)
from p4lab.paths import ROOT
from p4lab.systems.bier_tna.entries import TnaLayout, tna_entries
from p4lab.topology import Topology

HERE = Path(__file__).parent
SEND, REPLICATE, MIRROR, LEARN, MEASURE, BALANCE = 1, 2, 3, 4, 5, 6
MICROSECOND = 1_000_000  # picoseconds


@cache
def program() -> _engine.Program:
    return load_program(HERE / "tna_playground.p4")


def ask(what: int, number: int = 0, color: int = 0, value: int = 0, ether_type: int = 1) -> bytes:
    head = bytes(12) + ether_type.to_bytes(2, "big")
    fields = bytes([what, color]) + number.to_bytes(2, "big") + value.to_bytes(4, "big")
    return head + fields + bytes(60)


def answer(data: bytes) -> tuple[int, int, int]:
    """Colour, number and value of what came out, behind the two bytes of a copy and Ethernet."""
    fields = data[2 + 14 + 1 :]
    return fields[0], int.from_bytes(fields[1:3], "big"), int.from_bytes(fields[3:7], "big")


def copies(switch: _engine.Switch, packet: bytes, port: int = 1) -> list[tuple[int, int, int]]:
    """Port, mark and replication id of what comes out."""
    return [(out, data[0], data[1]) for out, data in switch.process(port, packet)]


def test_replication_with_nodes_exclusion_lags_and_pruning() -> None:
    switch = _engine.Switch(program())
    switch.set_up(
        [
            Lag(3, (20, 21)),
            Multicast(7, (Node(1, (5, 6)), Node(2, (7,), 9), Node(3, (8,), None, (3,)))),
            Multicast(8, ((Node(1, (5,)), Node(2, (6,))),)),
            Prune(4, (6,)),
        ]
    )
    everything = [(5, 0, 1), (6, 0, 1), (7, 0, 2), (8, 0, 3), (20, 0, 3)]
    assert copies(switch, ask(REPLICATE, 7)) == everything
    assert copies(switch, ask(REPLICATE, 7, value=1))[-1] == (21, 0, 3)
    # Exclusion id 9 takes the second node away; at level 2, id 4 prunes port 6 of the first.
    assert (7, 0, 2) not in copies(switch, ask(REPLICATE, 7, color=9))
    assert (6, 0, 1) not in copies(switch, ask(REPLICATE, 7, color=4))
    assert copies(switch, ask(REPLICATE, 8)) == [(5, 0, 1)]
    switch.set_port(20, up=False)
    assert copies(switch, ask(REPLICATE, 7))[-1] == (21, 0, 3)
    switch.set_up([Multicast(7, None)])
    assert copies(switch, ask(REPLICATE, 7)) == []


def test_mirror_sessions() -> None:
    switch = _engine.Switch(program())
    packet = ask(MIRROR, 12)
    assert copies(switch, packet) == []
    switch.set_up([Multicast(7, (Node(2, (5,)),)), Mirror(12, MirrorSession(port=3, groups=(7,)))])
    assert copies(switch, packet) == [(5, 0x77, 2), (3, 0x77, 0)]
    switch.set_up([Mirror(12, MirrorSession(port=3, max_length=40))])
    ((port, data),) = switch.process(1, packet)
    assert (port, len(data)) == (3, 40)
    disabled, at_egress = MirrorSession(enabled=False, port=3), MirrorSession(True, "egress", 3)
    for closed in (disabled, at_egress, MirrorSession(), None):
        switch.set_up([Mirror(12, closed)])
        assert copies(switch, packet) == []


COALESCING = MirrorSession(direction="egress", coalescing=Coalescing(bytes(4)))
WRONG: list[tuple[Any, str]] = [
    (Mirror(1024, MirrorSession()), "session: mirror session 1024 does not exist"),
    (Mirror(1, MirrorSession(direction="up")), "to: direction: .*up"),  # type: ignore[arg-type]
    (Mirror(1, MirrorSession(groups=(1, 2, 3))), "groups: .*two groups"),
    (Mirror(1, MirrorSession(port=3.5)), "port: .*float"),  # type: ignore[arg-type]
    (Mirror(1, COALESCING), "cannot coalesce"),
    (Mirror(1016, replace(COALESCING, direction="both")), "direction"),
    (Mirror(1016, replace(COALESCING, coalescing=Coalescing(bytes(300)))), "header"),
    (Multicast(1, (Node(1, (512,)),)), "port 512"),
    (Multicast(1, (7,)), "int is not iterable|'int'"),  # type: ignore[arg-type]
    (Generator(4, 0, None), "pipe 4"),
    (Generator(0, 8, None), "application 8"),
    (Generator(0, 0, Application(Periodic(0))), "1 nanosecond"),
    (Generator(0, 0, Application("never")), "str is not a trigger"),  # type: ignore[arg-type]
    (Lpf("mean", None, LowPass("average", 1, 1)), "average"),  # type: ignore[arg-type]
    (("lag", 3, [20]), "tuple is not a setting"),
    (Node(1, (5,)), "Node is not a setting"),
]


def test_settings_that_cannot_be_are_refused_as_a_whole() -> None:
    switch = _engine.Switch(program())
    good = Mirror(12, MirrorSession(port=3))
    for bad, message in WRONG:
        with pytest.raises(ValueError, match=f"setting 2: .*({message})"):
            switch.set_up([good, bad])
        assert copies(switch, ask(MIRROR, 12)) == []
    with pytest.raises(ValueError, match="no Lpf called rate"):
        switch.set_up([Lpf("rate", None, LowPass("sample", 1, 1))])
    v1model = _engine.Switch(load_program(ROOT / "p4/bier/v1model.p4", [("BSL", "64")]))
    with pytest.raises(ValueError, match="TNA"):
        v1model.set_up([])


def test_value_sets_port_metadata_digests_counters_and_meters() -> None:
    switch = _engine.Switch(program())
    switch.set_up([PortMetadata(1, 0xBEEF << 48)])
    ((_, data),) = switch.process(1, ask(SEND, 9, ether_type=0x88CC))
    assert answer(data) == (0, 9, 0xBEEF)
    switch.write([SetValueSet("special_types", ((Exact(0x88CC),),))])
    ((_, data),) = switch.process(1, ask(SEND, 9, ether_type=0x88CC))
    assert answer(data)[0] == 1
    # Four pipes with four places each, which this switch keeps in one set.
    with pytest.raises(ValueError, match="4"):
        switch.write([SetValueSet("special_types", tuple((Exact(n),) for n in range(17)))])

    key = (("number", Exact(700)),)
    switch.write([Update("insert", TableEntry("by_number", key, "counted", (("port", 4),)))])
    assert [port for port, _ in switch.process(1, ask(LEARN, 700, value=5))] == [4]
    name, fields = switch.take_digests()[0]
    assert name.endswith("learned") and fields == [("number", 700), ("value", 5)]
    assert switch.take_digests() == []
    assert switch.read_direct_counter("by_number", key)[0] == 1
    assert switch.read_counter("asked", LEARN)[0] == 1

    # 1000 bytes a second, bursts of 200: of packets of 86 bytes (checksum included) two at once.
    rates = (1000, 200, 1000, 200)
    switch.write([Update("modify", MeterCell("rate", 0, *rates))])
    assert switch.read_meter("rate", 0) == rates
    second = 1_000_000 * MICROSECOND
    colors = [
        answer(switch.process(1, ask(MEASURE, 9), now=now)[0][1])[0]
        for now in (0, 0, 0, second // 10, second // 10)
    ]
    assert colors == [0, 0, 3, 0, 3]
    switch.write([FillMeter("rate", None)])
    assert switch.read_meter("rate", 0) is None

    switch.set_up([Lpf("mean", 1, LowPass("sample", 1000, 1000))])
    start = 2 * second
    values = [
        answer(switch.process(1, ask(MEASURE, 9, value=value), now=start + now)[0][1])[2]
        for now, value in ((0, 1000), (MICROSECOND, 2000))
    ]
    assert values == [1000, 1632]


def test_a_selector_spreads_flows_over_its_members() -> None:
    switch = _engine.Switch(program())
    members = [SetMember("chosen", i, "to", (("port", 10 + i),)) for i in range(4)]
    group = SetMemberGroup("chosen", 1, (0, 1, 2, 3))
    entry = IndirectEntry("by_flow", (("color", Exact(0)),), Group(1))
    switch.write([*members, group, IndirectUpdate("insert", entry)])
    taken = [switch.process(1, ask(BALANCE, value=flow))[0][0] for flow in range(200)]
    assert set(taken) == {10, 11, 12, 13}
    assert taken == [switch.process(1, ask(BALANCE, value=flow))[0][0] for flow in range(200)]
    # Each pipe counts for itself.
    switch.process(129, ask(BALANCE))
    assert [switch.read_register("seen", 0, pipe) for pipe in range(3)] == [400, 1, 0]


def tna_network(seed: int, engine: str = "interpreter") -> tuple[_engine.Network, int, list[int]]:
    network = _engine.Network(seed)
    network.fingerprint_on()
    switch = network.add_switch("s1", program(), cpu_port=64, seed=seed, engine=engine)
    links = []
    for port in (1, 2, 3):
        host = network.add_host(f"h{port}", 0x0200_0000_0000 + port)
        network.set_promiscuous(host, True)
        link = network.connect(
            (switch, port), (host, 0), rate=10**9, jitter=30_000, loss=0.01, delay=MICROSECOND
        )
        links.append(link)
    return network, switch, links


def test_the_packet_generator_in_a_network() -> None:
    network, switch, links = tna_network(1)
    packet = ask(SEND)
    network.set_up(
        switch,
        [
            Generator(0, 0, Application(Once(10_000), packet)),
            Generator(0, 1, Application(Periodic(20_000), packet)),
            Generator(0, 2, Application(PortDown(), packet)),
        ],
    )

    def counts() -> list[int]:
        apps = (network.generator_counts(switch, 0, app) for app in range(3))
        return [app["packets"] for app in apps if app is not None]

    network.run_until(100 * MICROSECOND)
    assert counts() == [1, 5, 0]
    network.set_link(links[1], False)
    network.set_link(links[1], False)
    network.run_until(110 * MICROSECOND)
    assert counts() == [1, 5, 1]
    assert network.link_stats(links[2])[0]["sent"]["frames"] == 7
    network.set_link(links[1], True)
    network.set_up(switch, [Generator(0, 1, None)])
    network.run_until(300 * MICROSECOND)
    assert network.generator_counts(switch, 0, 1) is None
    assert counts() == [1, 1]


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_a_link_fails_over_without_a_control_plane(engine: str) -> None:
    """By the packet generator and a SelectorAction, as the chip does it: without it a lab on fast
    reroute shows what no Tofino does."""
    network = _engine.Network(1)
    switch = network.add_switch("s1", load_program(HERE / "tna_failover.p4"), engine=engine)
    ports = [1, 2, 3, 4]
    hosts = [network.add_host(f"h{port}", 0x0200_0000_0000 + port) for port in (*ports, 9)]
    links = []
    for port, host in zip((*ports, 9), hosts, strict=True):
        network.set_promiscuous(host, True)
        links.append(network.connect((switch, port), (host, 0), delay=MICROSECOND))
    written: list[Write] = [SetMember("links", port, "to", (("port", port),)) for port in ports]
    group = SetMemberGroup("links", 2, tuple(ports))
    flows = IndirectEntry("by_flow", (("type", Exact(1)),), Group(2))
    written += [group, IndirectUpdate("insert", flows)]
    for place, port in enumerate(ports):
        params = (("place", 2 * 8 + place),)
        row = TableEntry("place_of", (("port", Exact(port)),), "take_out", params)
        written.append(Update("insert", row))
    network.write(switch, written)
    network.set_up(switch, [Generator(0, 1, Application(PortDown(), bytes(60)))])

    def sent() -> list[int]:
        """Packets of 100 flows, by link."""
        before = [network.link_stats(link)[0]["sent"]["frames"] for link in links[:4]]
        for flow in range(100):
            packet = bytes(12) + (1).to_bytes(2, "big") + flow.to_bytes(4, "big") + bytes(46)
            network.send_at(hosts[4], network.now + flow * MICROSECOND, packet)
        network.run_until(network.now + 200 * MICROSECOND)
        after = [network.link_stats(link)[0]["sent"]["frames"] for link in links[:4]]
        return [a - b for a, b in zip(after, before, strict=True)]

    first = sent()
    assert sum(first) == 100 and min(first) > 10
    network.set_link(links[1], False)
    second = sent()
    assert sum(second) == 100 and second[1] == 0
    assert all(now >= before for now, before in zip(second, first, strict=True) if now)
    network.set_link(links[1], True)
    assert sent() == second, "nobody has put it back"
    network.write(switch, [group])
    assert sent() == first


def test_the_example_of_the_page_runs_as_it_is_written() -> None:
    """Its generator sends, every 20 microseconds and when a port goes down, what session 12 mirrors
    to port 3."""
    part = (ROOT / "docs/tna.md").read_text("utf-8").split("## What no table holds")[1]
    found = re.search(r"```python\n(.*?)```", part, re.S)
    assert found is not None
    network, switch, links = tna_network(1)
    given = {"network": network, "switch": switch, "frame": ask(MIRROR, 12)}
    exec(compile(found[1], "docs/tna.md", "exec"), given)
    network.run_until(50 * MICROSECOND)
    network.set_link(links[0], False)
    network.run_until(70 * MICROSECOND)
    counts = [network.generator_counts(switch, 0, app) for app in (1, 2)]
    assert [app["packets"] for app in counts if app is not None] == [3, 1]
    assert network.link_stats(links[2])[0]["sent"]["frames"] == 4, "mirrored to port 3"


def test_the_page_names_a_bier_layout_that_there_is() -> None:
    part = (ROOT / "docs/tna.md").read_text("utf-8").split("## BIER")[1]
    found = re.search(r"```python\n(.*?)```", part, re.S)
    assert found is not None
    topology = Topology.load("paper")
    given = {"tna_entries": tna_entries, "TnaLayout": TnaLayout}
    given |= {"topology": topology, "membership": frozenset()}
    exec(compile(found[1], "docs/tna.md", "exec"), given)
    assert set(given["entries"]) == {router.name for router in topology.routers}


def busy(seed: int, engine: str = "interpreter") -> int | None:
    """A network in which the generator, mirrors, loops with a rate, a lossy link and a port that
    fails all have a part."""
    network, switch, links = tna_network(seed, engine)
    looped = bytes.fromhex("0000") + ask(REPLICATE, 7)
    network.set_loop(switch, 70, rate=10**9, queue=3_000)
    network.set_up(
        switch,
        [
            Multicast(7, (Node(1, (2, 3)), Node(2, (70,)))),
            Mirror(12, MirrorSession(port=2, groups=(7,))),
            Generator(
                0,
                0,
                Application(Periodic(3_000), ask(SEND), packets_per_batch=2, packet_jitter=500),
            ),
            Generator(0, 1, Application(PortDown(), looped)),
        ],
    )
    for number in range(60):
        packet = ask((SEND, REPLICATE, MIRROR, BALANCE)[number % 4], 12 if number % 4 == 2 else 7)
        network.send_at(1, number * 2 * MICROSECOND, packet)
    network.run_until(50 * MICROSECOND)
    network.set_link(links[1], False)
    network.run_until(70 * MICROSECOND)
    network.set_link(links[1], True)
    network.run_until(1000 * MICROSECOND)
    stats = network.loop_stats(switch, 70)
    assert stats is not None and stats["returned"] > 0
    return network.fingerprint


def test_the_same_seed_gives_the_same_run_bit_for_bit() -> None:
    assert busy(3) == busy(3)
    assert busy(3) != busy(4)
    assert busy(3, engine="jit") == busy(3)


def test_bier_with_loops_is_the_same_on_both_engines() -> None:
    topology = Topology.load("paper")
    bier = load_program(ROOT / "p4/bier/tna.p4", [("BSL", "64")])
    entries = diff(frozenset(), tna_entries(topology, frozenset(), 64)["r1"])
    frames = []
    for engine in ("interpreter", "jit"):
        switch = _engine.Switch(bier, engine=engine)
        switch.write(entries)
        head = bytes.fromhex("020000000201020000000102ab371000013f00116a2100000004")
        frames.append([switch.process(9, head + bytes(7) + bytes([bits])) for bits in range(64)])
    assert frames[0] == frames[1]
