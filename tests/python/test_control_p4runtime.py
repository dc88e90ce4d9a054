"""The P4Runtime driver before our own server: a restart of either side leaves nothing behind."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from p4lab import _engine, rights
from p4lab.control.listeners import Member
from p4lab.control.p4runtime import P4RuntimeDriver, P4RuntimeError, p4info_of
from p4lab.engine import load_program
from p4lab.model.entries import (
    DefaultAction,
    Entity,
    Entries,
    Exact,
    MeterCell,
    TableEntry,
    Ternary,
    Update,
)
from p4lab.model.tables import Tables
from p4lab.network.cpu import CpuPort
from p4lab.network.namespace import apart
from p4lab.network.switches import ForwarderDriver
from p4lab.systems.bier.entries import bier_entries
from p4lab.systems.bier.plane import BierControlPlane
from p4lab.topology import Topology
from p4runtime_switch import DEVICE, serving

ROOT = Path(__file__).parents[2]
PROGRAM = load_program(ROOT / "p4/bier/v1model.p4", [("BSL", "64")])
TOPOLOGY = Topology.load("rfc8279")
INITIAL = TableEntry("mixed", (("h.eth.kind", Exact(0x2222)),), "plain", (("port", 22),))
"""What the program that `serving` serves begins with, and what a controller may change"""
EVERYBODY = frozenset(Member(h.router, h.port, 0xEF010101) for h in TOPOLOGY.hosts)


def wanted(members: frozenset[Member] = EVERYBODY) -> frozenset[Entity]:
    return bier_entries(TOPOLOGY, members, 64)["D"]


class Device:
    """A switch without cables behind a server; it can be started anew at the same address."""

    def __init__(self) -> None:
        self.address = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        deadline = time.monotonic() + 10
        while True:  # the port of a server that has just ended may be taken for a moment
            try:
                self.server = _engine.P4RuntimeServer(self.address)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        self.address = self.server.address
        self.forwarder = _engine.Forwarder(PROGRAM, [], _engine.Inbox(), cpu_port=510)
        self.server.add(1, self.forwarder)

    def stop(self) -> None:
        self.server.close()
        self.forwarder.stop()


class Deaf:
    """The driver of a router that this test does not look at."""

    def write(self, updates: Sequence[Update]) -> None:
        pass

    def entries(self) -> Entries:
        return frozenset()

    def packet_out(self, port: int, frame: bytes) -> None:
        pass


@pytest.fixture
def device() -> Iterator[Device]:
    found = Device()
    yield found
    found.stop()


@pytest.fixture
def driver(device: Device) -> Iterator[P4RuntimeDriver]:
    found = P4RuntimeDriver(device.address, PROGRAM.p4info())
    found.open()
    yield found
    found.close()


def inserts(entities: frozenset[Entity]) -> list[Update]:
    return [Update("insert", entity) for entity in entities]


def test_what_is_written_is_there(driver: P4RuntimeDriver) -> None:
    driver.write(inserts(wanted()))
    assert driver.entries() == wanted()
    fewer = wanted(frozenset(list(EVERYBODY)[:2]))
    gone = [Update("delete", entity) for entity in wanted() - fewer]
    driver.write(gone + inserts(fewer - wanted()))
    assert driver.entries() == fewer


def test_a_switch_that_was_started_anew_gets_everything_again(
    device: Device, driver: P4RuntimeDriver
) -> None:
    driver.write(inserts(wanted()))
    device.stop()
    device.start()
    one = min(wanted(), key=repr)
    driver.write([Update("delete", one)])
    assert driver.entries() == wanted() - {one}


def test_who_counts_hears_of_a_switch_that_was_started_anew(
    device: Device, driver: P4RuntimeDriver
) -> None:
    """Or what it has counted before is taken for what it counts now."""
    heard = []
    driver.on_restart = lambda: heard.append(driver.entries())
    driver.write(inserts(wanted()))
    device.stop()
    device.start()
    deadline = time.monotonic() + 10
    while driver.is_connected:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    driver.restore()
    assert driver.is_connected and heard == [frozenset()]
    assert driver.entries() == wanted()


def test_what_a_controller_may_change_is_read_back() -> None:
    """Or a session gets the rates that another one had before a crash, or a switch that lost its
    connection is asked to delete an entry that the program keeps."""
    cells = [MeterCell("policer", index, 1000, 3000, 2000, 6000) for index in (3, 7)]
    with serving() as address:
        driver = P4RuntimeDriver(address, p4info_of(address, DEVICE))
        driver.open()
        driver.write([Update("insert", cell) for cell in cells])
        driver.close()
        driver.open()
        assert driver.entries() == frozenset((*cells, INITIAL))
        driver.write([Update("delete", cells[0])])
        driver.restore()
        assert driver.entries() == frozenset((cells[1], INITIAL))
        driver.close()


def test_a_controller_that_was_started_anew_finds_what_is_there(
    device: Device, driver: P4RuntimeDriver
) -> None:
    driver.write(inserts(wanted()))
    driver.close()
    second = P4RuntimeDriver(device.address, PROGRAM.p4info())
    second.open()
    try:
        plane = BierControlPlane(TOPOLOGY, 64, lambda name: second if name == "D" else Deaf())
        plane.reconcile("D")
        assert plane.entries("D") == second.entries()
        assert second.entries() < wanted(), "nobody has subscribed to this one yet"
    finally:
        second.close()


def test_a_refused_entry_is_named_and_the_others_stay(driver: P4RuntimeDriver) -> None:
    driver.write(inserts(wanted()))
    match = (("bift_id", Exact(1 << 20)), ("remaining", Ternary(1, 1)))
    bad = TableEntry("bift", match, "forward", (("fbm", 1), ("port", 1)), 5)
    with pytest.raises(P4RuntimeError, match="bift"):
        driver.write([Update("insert", bad)])
    assert driver.entries() == wanted()


def test_a_second_controller_with_a_smaller_election_id_is_told(
    device: Device, driver: P4RuntimeDriver
) -> None:
    driver.close()
    first = P4RuntimeDriver(device.address, PROGRAM.p4info(), election_id=7)
    first.open()
    try:
        second = P4RuntimeDriver(device.address, PROGRAM.p4info(), election_id=3)
        with pytest.raises(P4RuntimeError, match=r"another controller is primary.*7"):
            second.open(patience=0.1)
    finally:
        first.close()


def test_nobody_there_is_said_in_time() -> None:
    driver = P4RuntimeDriver("127.0.0.1:1", PROGRAM.p4info())
    with pytest.raises(P4RuntimeError, match=r"127\.0\.0\.1:1"):
        driver.open(patience=0.2)


def test_a_default_action_changes_and_comes_back(tmp_path: Path) -> None:
    source = (ROOT / "p4/bier/bier.p4").read_text()
    assert "const default_action = drop();" in source
    for name in ("bier/v1model.p4", "include/headers.p4", "include/parser.p4"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / "p4" / name).read_text())
    # A constant default cannot be changed; the table of this program can.
    free = source.replace("const default_action = NoAction();", "default_action = NoAction();")
    (tmp_path / "bier/bier.p4").write_text(free)
    program = load_program(tmp_path / "bier/v1model.p4", [("BSL", "64")])
    server = _engine.P4RuntimeServer("127.0.0.1:0")
    forwarder = _engine.Forwarder(program, [], _engine.Inbox(), cpu_port=510)
    server.add(1, forwarder)
    driver = P4RuntimeDriver(server.address, program.p4info())
    driver.open()
    try:
        default = DefaultAction("port_mac", "rewrite", (("src", 1), ("dst", 2)))
        driver.write([Update("insert", default)])
        driver.write([Update("delete", default)])
        with pytest.raises(P4RuntimeError):
            driver.write([Update("insert", DefaultAction("bift", "forward", ()))])
    finally:
        driver.close()
        server.close()
        forwarder.stop()


def test_counters_are_read_as_in_process(device: Device, driver: P4RuntimeDriver) -> None:
    """The same numbers by P4Runtime as from the switch itself: packets and bytes, cell by cell. As
    on bmv2, bytes are those that came in: the two in front of a packet-out are among them."""
    sent = {1: 3, 2: 1, 7: 0}
    for port, count in sent.items():
        for length in range(count):
            driver.packet_out(port, bytes(60 + length))
    deadline = time.monotonic() + 10
    own = ForwarderDriver(device.forwarder, Tables(), CpuPort(510))
    while own.counters("sent", [1, 2, 7]) != {1: (3, 189), 2: (1, 62), 7: (0, 0)}:
        assert time.monotonic() < deadline, own.counters("sent", [1, 2, 7])
        time.sleep(0.01)
    assert driver.counters("sent", [1, 2, 7]) == own.counters("sent", [1, 2, 7])
    assert driver.counters("BierEgress.sent", [2]) == {2: (1, 62)}
    assert driver.counters("sent", []) == {}
    for reader in (driver, own):
        with pytest.raises(ValueError, match="nowhere"):
            reader.counters("nowhere", [1])
        with pytest.raises(ValueError, match="512"):
            reader.counters("sent", [512])


@pytest.mark.skipif(rights.held() is None, reason="a network of one's own needs root")
def test_a_switch_is_reached_from_a_network_of_its_own(driver: P4RuntimeDriver) -> None:
    """Who has a connection open, in a notebook say, and runs a lab on bmv2 would wait for switches
    that nobody reaches: gRPC's threads stay in the network where they began."""
    with apart():
        hidden = Device()
        assert p4info_of(hidden.address, DEVICE, patience=5)
        here = P4RuntimeDriver(hidden.address, PROGRAM.p4info())
        here.open()
        here.write([Update("insert", entity) for entity in wanted()])
        assert here.entries() == wanted()
        hidden.stop()
        hidden.start()
        here.restore()
        assert here.entries() == wanted()
        here.close()
        hidden.stop()
        begun = time.monotonic()
        with pytest.raises(P4RuntimeError, match=hidden.address):
            here.open(patience=0.2)
        assert time.monotonic() - begun < 5
    assert driver.entries() == frozenset()
