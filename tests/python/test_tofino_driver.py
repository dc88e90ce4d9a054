"""The Tofino's driver against our BF Runtime server, refused and broken off in the middle.

Without this, a lab group's switch could be left half configured, or with somebody else's ports
gone, by a run that was refused, interrupted or killed.
"""

from __future__ import annotations

import os
import queue
import random
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bfrt_chip import Chip, lab_program
from p4lab.control.listeners import Member
from p4lab.engine import load_program
from p4lab.model.entries import Exact, Ternary, Update, diff
from p4lab.model.system import sent_by_port
from p4lab.systems.bier_tna.entries import PORT_STATUS, port_status, tna_entries
from p4lab.systems.bier_tna.plane import TnaControlPlane
from p4lab.targets.tofino import client as clients
from p4lab.targets.tofino import wire
from p4lab.targets.tofino.bfrt import BfrtError
from p4lab.targets.tofino.client import BfrtClient
from p4lab.targets.tofino.driver import Loop, TofinoDriver
from p4lab.targets.tofino.journal import Change, Journal, Ledger
from p4lab.targets.tofino.rack import SwitchSetup, from_text
from p4lab.targets.tofino.rows import Row, cell_row, row
from p4lab.targets.tofino.schema import MIRROR, PORT, PORT_METADATA, RECIRCULATION, Program
from p4lab.topology import Topology

NAME = "lab_bsl64"
GROUP = 0xEF010101
PROGRAM = Program.of(lab_program())
TOPOLOGY = Topology.load("paper")
RACK = """
name = "test"
[[loop]]
switch = "r1"
front = 30
"""
for router in TOPOLOGY.routers:
    RACK += f'[[switch]]\nrouter = "{router.name}"\nserver = "{router.name}:50052"\n'
    RACK += "recirculation = [68]\n" if router.name == "r1" else ""
    for number, to in TOPOLOGY.ports(router.name).items():
        RACK += f'[[cable]]\nswitch = "{router.name}"\nfront = {number}\nto = "{to}"\n'
SETUPS = from_text(RACK).setups(TOPOLOGY)
SETUP: SwitchSetup = SETUPS["r1"]
LAYOUTS = {router: setup.layout for router, setup in SETUPS.items()}
BIFT, SERVED = "pipe.BierIngress.bfr.bift", "pipe.BierEgress.served"
DOWN = "pipe.BierIngress.bfr.port_down"
NOBODYS = 100  # a number that no port has, and no row here


@pytest.fixture
def chip() -> Iterator[Chip]:
    with Chip(NAME) as chip:
        yield chip


def connect(chip: Chip) -> BfrtClient:
    return clients.connect(chip.address, NAME, patience=3)


@pytest.fixture
def bfrt(chip: Chip) -> Iterator[BfrtClient]:
    """Somebody else's connection, or ours to look."""
    bfrt = connect(chip)
    yield bfrt
    bfrt.close()


class Line:
    """A driver's connection: what it writes is noted, and the switch may be brought to refuse."""

    def __init__(self, bfrt: BfrtClient) -> None:
        self._bfrt = bfrt
        self.log: list[tuple[str, str]] = []
        self.refused_at: int | None = None
        """Which row from now on the switch refuses, from 0: another one is sent in its place, one
        that no switch takes"""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bfrt, name)

    def write(self, verb: Any, rows: Sequence[Row]) -> None:
        if self.refused_at is None or self.refused_at >= len(rows):
            self.refused_at = None if self.refused_at is None else self.refused_at - len(rows)
            self._bfrt.write(verb, rows)
            self.log += [(verb, item.table) for item in rows]
            return
        at, self.refused_at = self.refused_at, None
        wrong = [*rows[:at], *refusable(verb, rows[at]), *rows[at + 1 :]]
        self._bfrt.write(verb, wrong)
        pytest.fail(f"the switch took {wrong[at]}")


def refusable(verb: str, item: Row) -> list[Row]:
    """What a switch refuses in the place of a row: what is there already, or what is not."""
    if verb == "insert":
        return [item, item]
    if item.is_default:
        return [replace(item, action="no such action")]
    number = 1 << 20 if item.is_cell else NOBODYS
    (name, _), *_ = [pair for pair in item.key if isinstance(pair[1], Exact)]
    kept = [pair for pair in item.key if pair[0] != name]
    return [replace(item, key=tuple(sorted([(name, Exact(number)), *kept], key=lambda p: p[0])))]


def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal", NAME)


class Driven:
    """A driver and its line."""

    def __init__(self, chip: Chip, tmp_path: Path) -> None:
        self.line = Line(connect(chip))
        self.own = TofinoDriver(
            self.line, SETUP, PROGRAM, status=PORT_STATUS, journal=journal(tmp_path)
        )


@pytest.fixture
def driven(chip: Chip, tmp_path: Path) -> Driven:
    return Driven(chip, tmp_path)


def entries(*listeners: tuple[str, int]) -> Any:
    members = frozenset(Member(router, port, GROUP) for router, port in listeners)
    return tna_entries(TOPOLOGY, members, 64, layout=LAYOUTS)["r1"]


def furnish(bfrt: BfrtClient) -> None:
    """What somebody else has on the switch, some of it where we will write."""
    port = [("$SPEED", "BF_SPEED_25G"), ("$FEC", "BF_FEC_TYP_FC"), ("$PORT_ENABLE", True)]
    theirs = [("$LOOPBACK_MODE", "BF_LPBK_MAC_NEAR"), ("$TX_MTU", 1500), ("$RX_MTU", 1500)]
    bfrt.write("insert", [row(PORT, [("$DEV_PORT", Exact(132))], [*port, *theirs])])
    bfrt.write("insert", [row(PORT, [("$DEV_PORT", Exact(0))], port)])
    session = [("$session_enable", True), ("$direction", "INGRESS"), ("$ucast_egress_port", 7)]
    bfrt.write("insert", [row(MIRROR, [("$sid", Exact(1))], session, "$normal")])
    rewrite = [("src", 1), ("dst", 2)]
    mac = "pipe.BierEgress.rewrite.port_mac"
    for number in (132, 9):
        key = [("port", Exact(number))]
        bfrt.write("insert", [row(mac, key, rewrite, "BierEgress.rewrite.rewrite")])
    bift = [("bift_id", Exact(5)), ("remaining", Ternary(1, 3)), ("$MATCH_PRIORITY", Exact(7))]
    data = [("entry", 1), ("fbm", 1)]
    bfrt.write("insert", [row(BIFT, bift, data, "BierIngress.bfr.decapsulate")])


def ports(bfrt: BfrtClient) -> dict[int, dict[str, Any]]:
    """The ports that were made, by number."""
    return {item.key[0][1].value: dict(item.data) for item in bfrt.read_all(PORT)}


def looped(bfrt: BfrtClient) -> set[int]:
    return {
        number
        for number, port in ports(bfrt).items()
        if port["$PORT_ENABLE"] and port["$LOOPBACK_MODE"] == "BF_LPBK_MAC_NEAR"
    }


def test_a_run_configures_the_switch_and_leaves_it_as_it_was(
    chip: Chip, bfrt: BfrtClient, driven: Driven, tmp_path: Path
) -> None:
    furnish(bfrt)
    before = chip.state()
    own, line = driven.own, driven.line
    assert own.open() == 0
    assert ports(bfrt).keys() == {0, 132, 140, 148, 152}
    assert looped(bfrt) == set()  # nothing of ours is enabled yet
    own.write(diff(frozenset(), entries(("r1", 1), ("r2", 1))))
    assert looped(bfrt) == {152}
    assert line.log[-1] == ("modify", PORT)  # ports are enabled last
    assert len(bfrt.read_all(BIFT)) == 1 + len(TOPOLOGY.routers)
    sessions = bfrt.read_all("pipe.BierIngress.loop_sessions")
    assert len(sessions) == 2  # 68 and the looped front port
    (metadata,) = [item for item in bfrt.read_all(PORT_METADATA) if dict(item.data)["looped"]]
    assert metadata.key[0][1] == Exact(152)
    assert own.frames() == dict.fromkeys(TOPOLOGY.ports("r1"), (0, 0))

    own.write(diff(own.entries(), entries(("r1", 1), ("r3", 1), ("r4", 1))))  # others listen now
    assert own.entries() == entries(("r1", 1), ("r3", 1), ("r4", 1))
    own.write(diff(own.entries(), entries()))
    assert not bfrt.read_all("$pre.mgid") and not bfrt.read_all("$pre.node")
    sent = len(line.log)
    own.close()
    assert line.log[sent : sent + 4] == [("modify", PORT)] * 4  # ports go down first
    assert chip.state() == before
    assert not journal(tmp_path).path.exists()


def test_wherever_a_batch_is_refused_none_of_it_stays(
    chip: Chip, bfrt: BfrtClient, driven: Driven
) -> None:
    """The switch refuses the n-th row, for every n."""
    furnish(bfrt)
    clean = chip.state()
    own, line = driven.own, driven.line
    own.open()
    opened = chip.state()
    first, second = entries(("r1", 1)), entries(("r1", 1), ("r2", 1), ("r4", 1))
    refused = 0
    for old, new in ((frozenset(), first), (first, second)):
        at = 0
        while True:
            line.refused_at = at
            try:
                own.write(diff(old, new))
            except ValueError:
                assert chip.state() == opened, f"after refusing row {at}"
                at, refused = at + 1, refused + 1
                continue
            assert line.refused_at is not None  # it was not as many rows
            line.refused_at = None
            break
        opened = chip.state()
    assert refused > 20
    own.close()
    assert chip.state() == clean


@pytest.mark.parametrize("seed", range(6))
def test_after_a_crash_at_any_moment_the_next_run_puts_the_switch_back(
    chip: Chip, bfrt: BfrtClient, tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    print(f"seed {seed}")
    furnish(bfrt)
    before = chip.state()

    class Killed(BaseException):
        pass

    class Dying:
        """A connection whose process ends at its n-th write, before or after the switch had it,
        with all that it would have done about it."""

        def __init__(self) -> None:
            self.left = draw.randrange(1, 25)

        def __getattr__(self, name: str) -> Any:
            return getattr(bfrt, name)

        def write(self, verb: Any, rows: Any) -> None:
            self.left -= 1
            if self.left < 0 or (self.left == 0 and draw.random() < 0.5):
                raise Killed
            bfrt.write(verb, rows)
            if self.left == 0:
                self.left = -1
                raise Killed

    own = TofinoDriver(Dying(), SETUP, PROGRAM, status=PORT_STATUS, journal=journal(tmp_path))
    held: Any = frozenset()
    try:
        own.open()
        for listeners in ([("r1", 1)], [("r1", 1), ("r2", 1)], [("r3", 1)]):
            new = entries(*listeners)
            own.write(diff(held, new))
            held = new
        raise Killed
    except Killed:
        assert journal(tmp_path).path.exists()
    text = journal(tmp_path).path.read_text()
    journal(tmp_path).path.write_text(text + text.splitlines()[-1][:20])  # a line half written

    assert Ledger(bfrt, journal(tmp_path)).recover() > 0
    assert chip.state() == before
    assert not journal(tmp_path).path.exists()


def test_what_cannot_be_put_back_is_told_and_stays_in_the_journal(
    chip: Chip, bfrt: BfrtClient, driven: Driven, tmp_path: Path
) -> None:
    clean = chip.state()
    own = driven.own
    own.open()
    own.write(diff(frozenset(), entries(("r1", 1))))
    driven.line.refused_at = 7
    with pytest.raises(BfrtError, match=r"is not as it was: .*has no.*--undo"):
        own.close()
    assert chip.state() != clean
    Ledger(bfrt, journal(tmp_path)).recover()
    assert chip.state() == clean


def test_a_switch_that_ends_in_the_middle_is_told_and_its_journal_stays(
    chip: Chip, driven: Driven, tmp_path: Path
) -> None:
    """Started anew, it has nothing of ours, and the journal finds nothing to do."""
    driven.own.open()
    clean = Chip(NAME)
    chip.end()
    with pytest.raises(ValueError, match=chip.address):
        driven.own.write(diff(frozenset(), entries(("r1", 1))))
    with pytest.raises(BfrtError, match="--undo tries again"):
        driven.own.close()
    chip.start()
    bfrt = connect(chip)
    assert Ledger(bfrt, journal(tmp_path)).recover() > 0
    bfrt.close()
    assert chip.state() == clean.state()
    clean.end()


class Cut:
    """Passes a client's bytes on to a server and back, until the line is cut."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        host, _, port = self._server.rpartition(":")
        with suppress(OSError):  # it is closed
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection((host, int(port)))
                self._ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass_on(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        """Nothing gets through any more, and nobody answers a new call."""
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # whoever waits for it hears of that
            end.close()


def test_a_line_that_is_cut_leaves_what_another_run_can_undo(chip: Chip, tmp_path: Path) -> None:
    """The switch goes on, and nobody can tell what has got there."""
    clean = chip.state()
    line = Cut(chip.address)
    own = TofinoDriver(
        clients.connect(line.address, NAME, patience=3),
        SETUP,
        PROGRAM,
        status=PORT_STATUS,
        journal=journal(tmp_path),
    )
    own.open()
    own.write(diff(frozenset(), entries(("r1", 1))))
    line.cut()
    with pytest.raises(ValueError, match=line.address):
        own.write(diff(entries(("r1", 1)), entries()))
    with pytest.raises(BfrtError, match="--undo tries again"):
        own.close()
    assert chip.state() != clean
    bfrt = connect(chip)
    Ledger(bfrt, journal(tmp_path)).recover()
    bfrt.close()
    assert chip.state() == clean


def test_a_server_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "CALL", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(BfrtError, match="the server takes no client: no answer to client 8"):
            clients.connect(address, NAME, patience=0)


def test_a_journal_of_another_program_is_not_applied(driven: Driven, tmp_path: Path) -> None:
    driven.own.open()
    other = Journal(tmp_path / "journal", "another")
    with pytest.raises(BfrtError, match="is from a run with lab_bsl64; the switch runs another"):
        other.load()
    (tmp_path / "journal").write_text('{"version": 1, "program": "lab_bsl64"}\nnonsense\n')
    with pytest.raises(BfrtError, match="is not a journal of p4lab"):
        journal(tmp_path).load()


def test_a_number_that_is_taken_is_left_to_its_client_and_the_program_must_be_the_right_one(
    chip: Chip,
) -> None:
    first = wire.Wire(chip.address, clients.CLIENT_IDS[0])
    with pytest.raises(wire.WireError, match=f"the number {clients.CLIENT_IDS[0]}"):
        wire.Wire(chip.address, clients.CLIENT_IDS[0])
    connect(chip).close()
    first.close()
    with pytest.raises(BfrtError, match="runs lab_bsl64, not other"):
        clients.connect(chip.address, "other", patience=0)


def test_nobody_there() -> None:
    with pytest.raises(BfrtError, match=r"127\.0\.0\.1:1: nothing answers there"):
        clients.connect("127.0.0.1:1", NAME, patience=0)


def test_somebody_else_listens_there() -> None:
    """A port of another program: one sentence, not what gRPC makes of its bytes."""
    with socket.create_server(("127.0.0.1", 0)) as odd:

        def answer() -> None:
            with suppress(OSError):  # it is closed
                while True:
                    line, _ = odd.accept()
                    line.sendall(b"SSH-2.0-odd\r\n")
                    line.close()

        threading.Thread(target=answer, daemon=True).start()
        address = f"127.0.0.1:{odd.getsockname()[1]}"
        with pytest.raises(BfrtError, match=f"{address}: the server takes no client"):
            clients.connect(address, NAME, patience=0)


def test_reading_gives_what_was_written(bfrt: BfrtClient) -> None:
    """Over random rows of every table: numbers of all widths, ternary keys, lists, words."""
    draw = random.Random(5)
    print("seed 5")
    for table in PROGRAM.tables:
        if table.const_entries or not table.key:
            continue
        wanted = {}
        for _ in range(5):
            key: list[tuple[str, Any]] = []
            for field in table.key:
                value, mask = draw.getrandbits(field.bits), draw.getrandbits(field.bits)
                ternary = Ternary(value & mask, mask)
                key.append((field.name, ternary if field.kind == "TERNARY" else Exact(value)))
            if table.has_priorities:
                key.append(("$MATCH_PRIORITY", Exact(draw.randrange(1 << 24))))
            action = draw.choice(table.actions)
            data = [(param.name, draw.getrandbits(param.bits)) for param in action.params]
            made = row(table.bfrt, key, data, action.name)
            wanted[made.name] = made
        bfrt.write("insert", list(wanted.values()))
        assert {each.name: each for each in bfrt.read_all(table.bfrt)} == wanted
        some = next(iter(wanted))
        assert bfrt.read(table.bfrt, [some[1]]) == [wanted[some]]
        bfrt.write("delete", [wanted[some]])
        assert bfrt.read(table.bfrt, [some[1]]) == [None]
        with pytest.raises(BfrtError):
            bfrt.write("delete", list(wanted.values()))
        assert len(bfrt.read_all(table.bfrt)) == len(wanted) - 1  # none of them, then


def test_a_full_table_takes_nothing_of_a_batch(chip: Chip, bfrt: BfrtClient) -> None:
    name, action = "pipe.BierIngress.loop_ports", "BierIngress.loop_to"
    size = PROGRAM.table("loop_ports").size
    rows = [row(name, [("loop", Exact(n))], [("port", n)], action) for n in range(size + 1)]
    before = chip.state()
    with pytest.raises(BfrtError, match=f"insert in {name}: row {size + 1}: "):
        bfrt.write("insert", rows)
    assert chip.state() == before
    bfrt.write("insert", rows[:size])
    assert len(bfrt.read_all(name)) == size


def test_what_the_program_does_not_have_is_named(bfrt: BfrtClient) -> None:
    with pytest.raises(BfrtError, match=r"has no table pipe\.Nothing"):
        bfrt.read_all("pipe.Nothing")
    for key, data, action, said in (
        ("nothing", [], None, "has no key nothing"),
        ("entry", [], "nothing", "has no action nothing"),
        ("entry", [("nothing", 1)], "BierEgress.take_out", "has no field nothing"),
        ("entry", [("fbm", 1 << 64)], "BierEgress.take_out", "fbm has 64 bits"),
    ):
        with pytest.raises(BfrtError, match=f"insert in {SERVED}: .*{said}"):
            bfrt.write("insert", [row(SERVED, [(key, Exact(1))], data, action)])


def test_a_change_that_changes_nothing_sends_nothing(driven: Driven, tmp_path: Path) -> None:
    ledger = Ledger(driven.line, journal(tmp_path))
    served = row(SERVED, [("entry", Exact(1))], [("fbm", 3)], "BierEgress.take_out")
    ledger.write([Change("put", served)])
    sent = len(driven.line.log)
    assert sent == 1
    ledger.write([Change("put", served)])
    ledger.write([Change("drop", row(SERVED, [("entry", Exact(2))], []))])
    assert len(driven.line.log) == sent


def test_what_the_switch_holds_is_read_from_it(
    chip: Chip, bfrt: BfrtClient, driven: Driven
) -> None:
    """Somebody else has changed rows, or the switch forgot all: the difference is written again."""
    own = driven.own
    own.open()
    wanted = entries(("r1", 1), ("r2", 1))
    own.write(diff(frozenset(), wanted))
    own.write(diff(wanted, wanted | {port_status(140)}))
    wanted |= {port_status(140)}
    before = chip.state()
    assert own.entries() == wanted
    # A row is gone, two were changed, a port's state was lost, and sessions and groups are no more.
    bfrt.write("delete", bfrt.read_all(BIFT)[:1])
    one, other, *_ = bfrt.read_all(SERVED)
    bfrt.write("modify", [replace(one, data=other.data), replace(other, data=one.data)])
    bfrt.clear(DOWN)
    for table in (MIRROR, "$pre.mgid", "$pre.node"):
        bfrt.write("delete", bfrt.read_all(table))
    held = own.entries()
    assert held < wanted and port_status(140) not in held
    own.write(diff(held, wanted))
    assert chip.state() == before
    assert own.entries() == wanted
    own.close()


class Elsewhere:
    """The switches of the other routers, which take everything."""

    def write(self, updates: Any) -> None:
        pass

    def packet_out(self, port: int, frame: bytes) -> None:
        pass


def test_a_switch_that_was_started_anew_is_reconciled(
    chip: Chip, bfrt: BfrtClient, driven: Driven
) -> None:
    """By the control plane, with nothing but the difference, and what is right stays untouched."""
    own = driven.own
    own.open()
    plane = TnaControlPlane(
        TOPOLOGY, 64, lambda name: own if name == "r1" else Elsewhere(), layouts=LAYOUTS
    )
    plane.listen(frozenset({Member("r1", 1, GROUP), Member("r2", 1, GROUP)}))
    plane.port_seen("r1", 2, up=False)
    before = chip.state()
    lost = {BIFT, SERVED, "pipe.BierIngress.loop_sessions", MIRROR}
    for name in lost:
        bfrt.write("delete", bfrt.read_all(name))
    bfrt.clear(DOWN)
    sent = len(driven.line.log)
    plane.reconcile(["r1"])
    assert chip.state() == before
    assert {table for _, table in driven.line.log[sent:]} == lost | {DOWN}
    own.close()


def test_the_state_of_a_port_is_written_and_put_back(
    chip: Chip, bfrt: BfrtClient, driven: Driven
) -> None:
    """Also where somebody had written it before us, and not alike in all pipes."""
    for cell, values in ((140, (1, 0, 0, 0)), (148, (0, 7, 0, 0)), (9, (2, 0, 0, 0))):
        bfrt.write("modify", [cell_row(PROGRAM, "port_down", cell, values)])
    before = chip.state()
    own, log = driven.own, driven.line.log
    own.open()
    held = own.registers("port_down", [132, 140, 148])
    assert held == dict.fromkeys((132, 140, 148), (0, 0, 0, 0))
    own.write(diff(frozenset(), entries()))
    sent = len(log)
    own.write([Update("insert", port_status(148))])
    assert log[sent:] == [("modify", DOWN)]  # one step and nothing else
    assert own.registers("bfr.port_down", [148, 9]) == {148: (1, 1, 1, 1), 9: (2, 0, 0, 0)}
    own.write([Update("delete", port_status(148))])
    assert own.registers("port_down", [148]) == {148: (0, 0, 0, 0)}
    own.close()
    assert chip.state() == before


def test_ports_are_told_by_the_switch(bfrt: BfrtClient, driven: Driven) -> None:
    """The switch tells of ports that are enabled and disabled."""
    own = driven.own
    own.open()
    news: queue.SimpleQueue[tuple[int, bool]] = queue.SimpleQueue()
    own.watch(lambda port, up: news.put((port, up)))
    assert not any(own.links().values())
    own.write(diff(frozenset(), entries()))
    numbers = TOPOLOGY.ports("r1")
    seen: dict[int, bool] = {}
    while seen != dict.fromkeys(numbers, True):  # to be made is news, too
        port, up = news.get(timeout=10)
        seen[port] = up
    assert own.links() == dict.fromkeys(numbers, True)

    def enable(port: int, on: bool) -> None:
        bfrt.write("modify", [row(PORT, [("$DEV_PORT", Exact(port))], [("$PORT_ENABLE", on)])])

    enable(140, False)
    assert news.get(timeout=10) == (2, False)
    assert own.links()[2] is False
    enable(152, False)  # a loop: nobody's cable
    enable(140, True)
    assert news.get(timeout=10) == (2, True)
    own.close()
    assert news.empty()


COUNTING = """
#include <tna.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers_t { ethernet_t ethernet; }
struct none_t {}
parser IP(packet_in p, out headers_t h, out none_t m, out ingress_intrinsic_metadata_t i) {
    state start {
        p.extract(i); p.advance(PORT_METADATA_SIZE); p.extract(h.ethernet); transition accept;
    }
}
control I(inout headers_t h, inout none_t m, in ingress_intrinsic_metadata_t i,
          in ingress_intrinsic_metadata_from_parser_t p,
          inout ingress_intrinsic_metadata_for_deparser_t d,
          inout ingress_intrinsic_metadata_for_tm_t tm) {
    Counter<bit<64>, PortId_t>(512, CounterType_t.PACKETS_AND_BYTES) sent;
    apply { sent.count(h.ethernet.dst[8:0]); }
}
control ID(packet_out p, inout headers_t h, in none_t m,
           in ingress_intrinsic_metadata_for_deparser_t d) { apply { p.emit(h); } }
parser EP(packet_in p, out headers_t h, out none_t m, out egress_intrinsic_metadata_t e) {
    state start { p.extract(e); transition accept; }
}
control E(inout headers_t h, inout none_t m, in egress_intrinsic_metadata_t e,
          in egress_intrinsic_metadata_from_parser_t p,
          inout egress_intrinsic_metadata_for_deparser_t d,
          inout egress_intrinsic_metadata_for_output_port_t o) { apply {} }
control ED(packet_out p, inout headers_t h, in none_t m,
           in egress_intrinsic_metadata_for_deparser_t d) { apply {} }
Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
"""
"""Counts a frame in the cell that its destination names."""


def test_counters_are_read_from_the_chip_and_reset(tmp_path: Path) -> None:
    """Each frame is in its cell, and a run reports cells by ports of the topology."""
    (tmp_path / "counting.p4").write_text(COUNTING)
    program = load_program(tmp_path / "counting.p4", [])
    frames = {LAYOUTS["r1"].port(n): n + 2 for n in TOPOLOGY.ports("r1")}
    with Chip(NAME, program) as chip:
        for cell, count in frames.items():
            for _ in range(count):
                chip.forwarder.send_from_cpu(cell.to_bytes(6, "big") + bytes(54))
        own = TofinoDriver(
            connect(chip), SETUP, Program.of(program), status="", journal=journal(tmp_path)
        )
        (one,) = own.counters("sent", [min(frames)]).values()
        each = one.bytes // one.packets
        assert each >= 60
        wanted = {cell: (count, count * each) for cell, count in frames.items()}
        assert own.counters("I.sent", list(frames)) == wanted
        assert own.all_counters() == {"I.sent": wanted}
        with pytest.raises(ValueError, match="has 512 entries, so none 512"):
            own.counters("sent", [512])
        rows = sent_by_port(
            TOPOLOGY, lambda router: own if router == "r1" else Elsewhere(), LAYOUTS
        )
        told = [(row.router, row.port, row.packets, row.bytes) for row in rows]
        assert told == [("r1", n, n + 2, (n + 2) * each) for n in TOPOLOGY.ports("r1")]
        own.reset()
        assert own.all_counters() == {"I.sent": {}}
        own.close()


def test_a_run_asks_for_nothing_that_the_sdes_driver_refuses(
    chip: Chip, bfrt: BfrtClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our switch takes it. Sources of the rules: bf-drivers of open-p4studio 9.13 (pktgen, mirror,
    port and register tables, transactions)."""
    told = {table["id"]: table for table in chip.tables}
    written: list[tuple[str, Any, bool]] = []
    read: list[tuple[str, Any]] = []
    write_on, read_on = wire.Wire.write, wire.Wire.read

    def write(self: Any, updates: Any, *, together: bool, pipe: int = wire.ALL_PIPES) -> None:
        for update in updates:
            if update.entity.HasField("table_entry"):
                kind = type(update).Type.Name(update.type)
                written.append((kind, update.entity.table_entry, together))
        write_on(self, updates, together=together, pipe=pipe)

    def read_(self: Any, entities: Any) -> Any:
        read.extend((told[e.table_entry.table_id]["name"], e.table_entry) for e in entities)
        return read_on(self, entities)

    furnish(bfrt)
    monkeypatch.setattr(wire.Wire, "write", write)
    monkeypatch.setattr(wire.Wire, "read", read_)
    own = Driven(chip, tmp_path).own
    own.open()
    own.write(diff(frozenset(), entries(("r1", 1), ("r2", 1))))
    own.write(diff(own.entries(), entries(("r3", 1)) | {port_status(140)}))
    own.links(), own.frames(), own.loops()
    own.close()

    assert len(written) > 60 and len(read) > 20
    assert not any(name == RECIRCULATION and entry.table_flags.from_hw for name, entry in read)
    for kind, entry, together in written:
        table = told[entry.table_id]
        name, key = table["name"], entry.key.fields
        data = {field["singleton"]["id"]: field["singleton"]["name"] for field in table["data"]}
        given = {data[field.field_id] for field in entry.data.fields if field.field_id in data}
        assert not together or table["table_type"].startswith("MatchAction")
        assert name != RECIRCULATION or kind == "MODIFY"
        assert table["table_type"] != "Register" or kind == "MODIFY"
        assert name != MIRROR or int.from_bytes(key[0].exact.value, "big") > 0
        if name == PORT:
            born = {"$SPEED", "$FEC"}
            assert given >= born if kind == "INSERT" else not given & born


@pytest.fixture
def cable() -> Iterator[tuple[str, str]]:
    """Two interfaces, one at each end."""
    near, far = f"p4l{os.getpid()}a", f"p4l{os.getpid()}b"
    ip("link", "add", near, "type", "veth", "peer", "name", far)
    try:
        for name in (near, far):
            Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
            ip("link", "set", name, "up")
        yield near, far
    finally:
        ip("link", "delete", near)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="interfaces need root")
def test_frames_of_a_port_are_counted(cable: tuple[str, str], tmp_path: Path) -> None:
    """What came in by the cable of port 1, and nothing anywhere else."""
    near, far = cable
    with Chip(NAME, ports=[(LAYOUTS["r1"].port(1), near)]) as chip:
        own = Driven(chip, tmp_path).own
        own.open()
        own.write(diff(frozenset(), entries(("r1", 1))))
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as end:
            end.bind((far, 0))
            for _ in range(7):
                end.send(bytes(12) + b"\x12\x34" + bytes(46))  # of a type that nobody forwards
        deadline = time.monotonic() + 10
        while own.frames()[1][0] < 7 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert own.frames() == dict.fromkeys(TOPOLOGY.ports("r1"), (0, 0)) | {1: (7, 0)}
        own.close()


def test_registers_are_read_from_the_chip_and_reset(bfrt: BfrtClient, driven: Driven) -> None:
    own = driven.own
    own.open()
    # Our switch has no queues of a traffic manager that it could tell drops of.
    assert own.loops() == (Loop(68, None, None), Loop(152, 0, None))
    bfrt.write("modify", [cell_row(PROGRAM, "BierIngress.turn", 0, (0, 3, 0, 0))])
    assert own.registers("BierIngress.turn", [0]) == {0: (0, 3, 0, 0)}
    own.reset()
    assert own.registers("BierIngress.turn", [0]) == {0: (0, 0, 0, 0)}
    assert own.all_counters() == {}
    with pytest.raises(ValueError, match="no counter sent"):
        own.counters("sent", [1])
    with pytest.raises(BfrtError, match="has 512 entries, so none 512"):
        own.registers("port_down", [512])
    own.close()
