"""The Tofino's driver against a server that speaks BFRT and breaks where it is told to.

Without this, a lab group's switch could be left half configured, or with somebody else's ports
gone, by a run that was refused, interrupted or killed.
"""

from __future__ import annotations

import copy
import queue
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bfrt_fake import info
from bfrt_fake.messages import ENUMS, rows
from bfrt_fake.programs import install
from bfrt_fake.server import Server
from bfrt_fake.switch import Switch
from p4lab.control.listeners import Member
from p4lab.engine import load_program
from p4lab.model.entries import Exact, Ternary, Update, diff
from p4lab.model.system import sent_by_port
from p4lab.paths import ROOT
from p4lab.systems.bier_tna.entries import PORT_STATUS, port_status, tna_entries
from p4lab.systems.bier_tna.plane import TnaControlPlane
from p4lab.targets.tofino import sde, tools
from p4lab.targets.tofino.bfrt import BfrtError
from p4lab.targets.tofino.driver import Loop, TofinoDriver
from p4lab.targets.tofino.journal import Change, Journal, Ledger
from p4lab.targets.tofino.rack import SwitchSetup, from_text
from p4lab.targets.tofino.rows import row
from p4lab.targets.tofino.schema import MIRROR, PORT, PORT_METADATA, RECIRCULATION, Program
from p4lab.topology import Topology

NAME = "lab_bsl64"
GROUP = 0xEF010101
PROGRAM = Program.of(load_program(ROOT / "p4/bier/tna.p4", [("BSL", "64")]))
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

SDE_MISSING = tools.missing("wedge", start=False)


@pytest.fixture(params=["stand-in", "SDE"])
def client(request: Any, tmp_path: Path) -> Iterator[Any]:
    """A client module loaded from an SDE's folder: one that we make, and the real one."""
    if request.param == "SDE":
        import os

        if SDE_MISSING:
            pytest.skip(f"the SDE is not installed: {', '.join(SDE_MISSING)}")
        home = Path(os.environ["SDE_INSTALL"])
    else:
        home = tmp_path / "sde"
        install(home)
    path = list(sys.path)
    yield sde.load_client(home)
    sys.path[:] = path
    for name in [name for name in sys.modules if name.partition(".")[0] == "bfrt_grpc"]:
        del sys.modules[name]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(Switch(NAME, info.of_program(PROGRAM, "EntryParser"), info.of_chip())) as server:
        yield server


def connect(client: Any, server: Server, name: str = NAME) -> sde.SdeBfrt:
    return sde.connect(client, server.address, name, patience=3)


def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal", NAME)


def driver(client: Any, server: Server, tmp_path: Path) -> TofinoDriver:
    return TofinoDriver(
        connect(client, server), SETUP, PROGRAM, status=PORT_STATUS, journal=journal(tmp_path)
    )


def entries(*listeners: tuple[str, int]) -> Any:
    members = frozenset(Member(router, port, GROUP) for router, port in listeners)
    return tna_entries(TOPOLOGY, members, 64, layout=LAYOUTS)["r1"]


def furnish(bfrt: sde.SdeBfrt) -> None:
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
    name = "pipe.BierIngress.bfr.bift"
    bfrt.write("insert", [row(name, bift, data, "BierIngress.bfr.decapsulate")])


def test_a_run_configures_the_switch_and_leaves_it_as_it_was(
    client: Any, server: Server, tmp_path: Path
) -> None:
    bfrt = connect(client, server)
    furnish(bfrt)
    bfrt.close()
    before = copy.deepcopy(server.switch.state())

    own = driver(client, server, tmp_path)
    assert own.open() == 0
    ports = server.switch.table(PORT).rows
    assert {int.from_bytes(key[0][2], "big") for key in ports} == {0, 132, 140, 148, 152}
    assert server.switch.looped == set()  # nothing is enabled yet
    own.write(diff(frozenset(), entries(("r1", 1), ("r2", 1))))
    assert server.switch.looped == {152}
    assert server.switch.log[-1] == ("modify", PORT)  # ports are enabled last
    tables = server.switch.tables.values()
    held = {table.name.removeprefix("pipe."): len(table.rows) for table in tables}
    assert held["BierIngress.bfr.bift"] == 1 + len(TOPOLOGY.routers)
    assert held["BierIngress.loop_sessions"] == 2  # 68 and the looped front port
    assert len(server.switch.table(PORT_METADATA).rows) == 1
    assert own.frames() == {number: (1001, 1002) for number in TOPOLOGY.ports("r1")}

    own.write(diff(own.entries(), entries(("r1", 1), ("r3", 1), ("r4", 1))))  # others listen now
    assert own.entries() == entries(("r1", 1), ("r3", 1), ("r4", 1))
    own.write(diff(own.entries(), entries()))
    assert not server.switch.table("$pre.mgid").rows and not server.switch.table("$pre.node").rows
    sent = len(server.switch.log)
    own.close()
    assert server.switch.log[sent : sent + 4] == [("modify", PORT)] * 4  # ports go down first
    assert server.switch.state() == before
    assert not journal(tmp_path).path.exists()


def test_wherever_a_batch_is_refused_none_of_it_stays(
    client: Any, server: Server, tmp_path: Path
) -> None:
    """The switch refuses the n-th update, for every n."""
    bfrt = connect(client, server)
    furnish(bfrt)
    bfrt.close()
    clean = copy.deepcopy(server.switch.state())
    own = driver(client, server, tmp_path)
    own.open()
    opened = copy.deepcopy(server.switch.state())
    first, second = entries(("r1", 1)), entries(("r1", 1), ("r2", 1), ("r4", 1))
    updates, refused = 0, 0
    for old, new in ((frozenset(), first), (first, second)):
        before = opened
        while True:
            server.switch.fail_at = updates
            try:
                own.write(diff(old, new))
            except ValueError as error:
                assert "Hardware access failed" in str(error)
                assert server.switch.state() == before, f"after refusing update {updates}"
                updates, refused = updates + 1, refused + 1
                continue
            server.switch.fail_at = None
            break
        opened, updates = copy.deepcopy(server.switch.state()), 0
    assert refused > 20
    own.close()
    assert server.switch.state() == clean


@pytest.mark.parametrize("seed", range(6))
def test_after_a_crash_at_any_moment_the_next_run_puts_the_switch_back(
    client: Any, server: Server, tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    print(f"seed {seed}")
    bfrt = connect(client, server)
    furnish(bfrt)
    before = copy.deepcopy(server.switch.state())

    class Killed(BaseException):
        pass

    class Dying:
        """A connection whose process ends at its n-th write, before or after the switch had it,
        with all that it would have done about it."""

        def __init__(self) -> None:
            self.left = draw.randrange(1, 25)

        def __getattr__(self, name: str) -> Any:
            return getattr(bfrt, name)

        def write(self, verb: Any, rows_: Any) -> None:
            self.left -= 1
            if self.left < 0 or (self.left == 0 and draw.random() < 0.5):
                raise Killed
            bfrt.write(verb, rows_)
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
    bfrt.close()
    text = journal(tmp_path).path.read_text()
    journal(tmp_path).path.write_text(text + text.splitlines()[-1][:20])  # a line half written

    again = Ledger(connect(client, server), journal(tmp_path))
    assert again.recover() > 0
    assert server.switch.state() == before
    assert not journal(tmp_path).path.exists()


def test_what_cannot_be_put_back_is_told_and_stays_in_the_journal(
    client: Any, server: Server, tmp_path: Path
) -> None:
    clean = copy.deepcopy(server.switch.state())
    own = driver(client, server, tmp_path)
    own.open()
    before = copy.deepcopy(server.switch.state())
    own.write(diff(frozenset(), entries(("r1", 1))))
    server.switch.fail_at = 3
    with pytest.raises(BfrtError, match=r"is not as it was: .*Hardware access failed.*--undo"):
        own.close()
    assert server.switch.state() != before
    again = Ledger(connect(client, server), journal(tmp_path))
    again.recover()
    assert server.switch.state() == clean


def test_a_journal_of_another_program_is_not_applied(
    client: Any, server: Server, tmp_path: Path
) -> None:
    own = driver(client, server, tmp_path)
    own.open()
    other = Journal(tmp_path / "journal", "another")
    with pytest.raises(BfrtError, match="is from a run with lab_bsl64; the switch runs another"):
        other.load()
    (tmp_path / "journal").write_text('{"version": 1, "program": "lab_bsl64"}\nnonsense\n')
    with pytest.raises(BfrtError, match="is not a journal of p4lab"):
        journal(tmp_path).load()


def test_one_client_at_a_time_and_the_right_program(client: Any, server: Server) -> None:
    first = connect(client, server)
    with pytest.raises(BfrtError, match="another client is bound"):
        sde.connect(client, server.address, NAME, patience=0)
    first.close()
    connect(client, server).close()
    with pytest.raises(BfrtError, match="runs lab_bsl64, not other"):
        sde.connect(client, server.address, "other", patience=0)


def test_a_client_that_does_not_load_is_told(tmp_path: Path) -> None:
    """Not its traceback: what is to be done."""
    package = tmp_path / "lib/python3.10/site-packages/tofino/bfrt_grpc"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    path = list(sys.path)
    for text, said in (
        ("import nothing_of_that_name", "needs the packages grpcio, protobuf"),
        ("raise TypeError('Descriptors cannot be created')", "IMPLEMENTATION=python and start"),
    ):
        (package / "client.py").write_text(text)
        with pytest.raises(BfrtError, match=said):
            sde.load_client(tmp_path)
        sys.path[:] = path
        sys.modules.pop("bfrt_grpc", None)
        sys.path_importer_cache.clear()
    with pytest.raises(BfrtError, match=r"no bfrt_grpc/client\.py"):
        sde.load_client(tmp_path / "nowhere")


def test_nobody_there(client: Any) -> None:
    with pytest.raises(BfrtError, match=r"127\.0\.0\.1:1: nothing answers there"):
        sde.connect(client, "127.0.0.1:1", NAME, patience=0)


def test_reading_gives_what_was_written(client: Any, server: Server) -> None:
    """Over random rows of every table: numbers of all widths, ternary keys, lists, words."""
    draw = random.Random(5)
    print("seed 5")
    bfrt = connect(client, server)
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
        with pytest.raises(BfrtError, match="not found"):
            bfrt.write("delete", list(wanted.values()))
        assert len(bfrt.read_all(table.bfrt)) == len(wanted) - 1  # none of them, then
    bfrt.close()


def test_what_the_program_does_not_have_is_named(client: Any, server: Server) -> None:
    bfrt = connect(client, server)
    with pytest.raises(BfrtError, match=r"has no table pipe\.Nothing"):
        bfrt.read_all("pipe.Nothing")
    with pytest.raises(BfrtError, match="insert in"):
        bfrt.write("insert", [row("pipe.BierEgress.served", [("nothing", Exact(1))], [])])
    bfrt.close()


def test_a_change_that_changes_nothing_sends_nothing(
    client: Any, server: Server, tmp_path: Path
) -> None:
    bfrt = connect(client, server)
    ledger = Ledger(bfrt, journal(tmp_path))
    name, action = "pipe.BierEgress.served", "BierEgress.take_out"
    served = row(name, [("entry", Exact(1))], [("fbm", 3)], action)
    ledger.write([Change("put", served)])
    sent = len(server.switch.log)
    ledger.write([Change("put", served)])
    ledger.write([Change("drop", row(name, [("entry", Exact(2))], []))])
    assert len(server.switch.log) == sent
    bfrt.close()


def test_what_the_switch_holds_is_read_from_it(client: Any, server: Server, tmp_path: Path) -> None:
    """Somebody else has changed rows, or the switch forgot all: the difference is written again."""
    own = driver(client, server, tmp_path)
    own.open()
    wanted = entries(("r1", 1), ("r2", 1))
    own.write(diff(frozenset(), wanted))
    own.write(diff(wanted, wanted | {port_status(140)}))
    wanted |= {port_status(140)}
    before = copy.deepcopy(server.switch.state())
    assert own.entries() == wanted
    # A row is gone, one was changed, a port's state was lost, and sessions and groups are no more.
    bift = server.switch.table("bfr.bift").rows
    bift.pop(next(iter(bift)))
    served = list(server.switch.table("served").rows.values())
    served[0].data, served[1].data = served[1].data, served[0].data
    server.switch.cells.clear()
    for table in (MIRROR, "$pre.mgid", "$pre.node"):
        server.switch.table(table).rows.clear()
    held = own.entries()
    assert held < wanted and port_status(140) not in held
    own.write(diff(held, wanted))
    assert server.switch.state() == before
    assert own.entries() == wanted
    own.close()


class Elsewhere:
    """The switches of the other routers, which take everything."""

    def write(self, updates: Any) -> None:
        pass

    def packet_out(self, port: int, frame: bytes) -> None:
        pass


def test_a_switch_that_was_started_anew_is_reconciled(
    client: Any, server: Server, tmp_path: Path
) -> None:
    """By the control plane, with nothing but the difference, and what is right stays untouched."""
    own = driver(client, server, tmp_path)
    own.open()
    plane = TnaControlPlane(
        TOPOLOGY, 64, lambda name: own if name == "r1" else Elsewhere(), layouts=LAYOUTS
    )
    plane.listen(frozenset({Member("r1", 1, GROUP), Member("r2", 1, GROUP)}))
    plane.port_seen("r1", 2, up=False)
    before = copy.deepcopy(server.switch.state())
    lost = ("bfr.bift", "served", MIRROR, "loop_sessions")
    for name in lost:
        server.switch.table(name).rows.clear()
    server.switch.cells.clear()
    sent = len(server.switch.log)
    plane.reconcile(["r1"])
    assert server.switch.state() == before
    written = {table for _, table in server.switch.log[sent:]}
    names = {server.switch.table(name).name for name in (*lost, "port_down")}
    assert written == names
    own.close()


def test_the_state_of_a_port_is_written_and_put_back(
    client: Any, server: Server, tmp_path: Path
) -> None:
    """Also where somebody had written it before us, and not alike in all pipes."""
    register = server.switch.table("port_down").name
    server.switch.cells = {(register, 140, 0): 1, (register, 148, 1): 7, (register, 9, 0): 2}
    before = copy.deepcopy(server.switch.state())
    own = driver(client, server, tmp_path)
    own.open()
    assert own.registers("port_down", [132, 140, 148]) == dict.fromkeys((132, 140, 148), (0, 0))
    own.write(diff(frozenset(), entries()))
    sent = len(server.switch.log)
    own.write([Update("insert", port_status(148))])
    assert server.switch.log[sent:] == [("modify", register)]  # one step and nothing else
    assert own.registers("bfr.port_down", [148]) == {148: (1, 1)}
    own.write([Update("delete", port_status(148))])
    assert own.registers("port_down", [148]) == {148: (0, 0)}
    own.close()
    assert server.switch.state() == before


def test_ports_are_told_by_the_switch(client: Any, server: Server, tmp_path: Path) -> None:
    own = driver(client, server, tmp_path)
    own.open()
    news: queue.SimpleQueue[tuple[int, bool]] = queue.SimpleQueue()
    own.watch(lambda port, up: news.put((port, up)))
    assert not any(own.links().values())
    own.write(diff(frozenset(), entries()))
    ports = TOPOLOGY.ports("r1")
    assert {news.get(timeout=10) for _ in ports} == {(port, True) for port in ports}
    assert own.links() == dict.fromkeys(ports, True)
    server.switch.cable(140, whole=False)
    assert news.get(timeout=10) == (2, False)
    assert own.links()[2] is False
    server.switch.cable(152, whole=False)  # a loop: nobody's cable
    server.switch.cable(140, whole=True)
    assert news.get(timeout=10) == (2, True)
    own.close()
    server.switch.cable(140, whole=False)
    assert news.empty()


def test_counters_are_read_from_the_chip_and_registers_reset(
    client: Any, server: Server, tmp_path: Path
) -> None:
    own = driver(client, server, tmp_path)
    own.open()
    # Frames of the looped socket are counted; the chip's own loops have no MAC that could.
    assert own.loops() == (Loop(68, None, 1001), Loop(152, 1002, 1001))
    turn = server.switch.table("BierIngress.turn").name
    server.switch.cells[turn, 0, 1] = 3
    assert own.registers("BierIngress.turn", [0]) == {0: (0, 3)}
    own.reset()
    assert own.registers("BierIngress.turn", [0]) == {0: (0, 0)}
    assert own.all_counters() == {}
    with pytest.raises(ValueError, match="no counter sent"):
        own.counters("sent", [1])
    with pytest.raises(BfrtError, match="has no cell 512"):
        own.registers("port_down", [512])
    own.close()
    name = "BierIngress.sent"
    counting = Program(
        load_program(ROOT / "p4/bier/tna.p4", [("BSL", "64")]).p4info(json=True),
        [{"name": name, "type": "Counter"}],
    )
    switch = Switch(NAME, info.of_program(counting, "EntryParser"), info.of_chip())
    with Server(switch) as other:
        bfrt = connect(client, other)
        counter = TofinoDriver(bfrt, SETUP, counting, status=PORT_STATUS, journal=journal(tmp_path))
        assert counter.counters("sent", [3, 0]) == {3: (21, 2100), 0: (0, 0)}
        assert list(counter.all_counters()[name]) == list(range(1, 512))
        with pytest.raises(ValueError, match="has no cell 512"):
            counter.counters("sent", [512])
        # A run reports them by ports of the topology: cells 132, 140, ... of the chip.
        rows = sent_by_port(
            TOPOLOGY, lambda router: counter if router == "r1" else Elsewhere(), LAYOUTS
        )
        told = [(row.router, row.port, row.packets, row.bytes) for row in rows]
        numbers = {n: LAYOUTS["r1"].port(n) for n in TOPOLOGY.ports("r1")}
        assert told == [("r1", n, 7 * cell, 700 * cell) for n, cell in numbers.items()]
        bfrt.close()


def test_the_server_refuses_what_the_real_one_refuses(client: Any, server: Server) -> None:
    """Sources of the rules: bf-drivers of open-p4studio 9.13 (pktgen, mirror, port and register
    tables, transactions)."""
    bfrt = connect(client, server)
    key = [("dev_port", Exact(68))]
    (there,) = bfrt.read(RECIRCULATION, [tuple(key)])
    assert there is not None and dict(there.data)["recirculation_enable"] is True
    with pytest.raises(BfrtError, match="ports are there, or are not"):
        bfrt.write("insert", [row(RECIRCULATION, [("dev_port", Exact(3))], [])])
    with pytest.raises(BfrtError, match="ports stay"):
        bfrt.write("delete", [row(RECIRCULATION, key, [])])
    with pytest.raises(BfrtError, match="Read from hardware not supported"):
        bfrt.counted(RECIRCULATION, "dev_port", [68])
    with pytest.raises(BfrtError, match="session 0 is reserved"):
        bfrt.write("insert", [row(MIRROR, [("$sid", Exact(0))], [], "$normal")])
    session = row(MIRROR, [("$sid", Exact(5))], [("$session_enable", True)], "$normal")
    bfrt.write("insert", [session])
    with pytest.raises(BfrtError, match="Already exists"):
        bfrt.write("insert", [session])
    with pytest.raises(BfrtError, match="keys are missing"):
        action = "BierIngress.bfr.drop"
        bfrt.write("insert", [row(PROGRAM.table("bift").bfrt, [("bift_id", Exact(1))], [], action)])
    with pytest.raises(BfrtError, match="not all fields"):
        node = [("$MULTICAST_NODE_ID", Exact(1))]
        bfrt.write("insert", [row("$pre.node", node, [("$MULTICAST_RID", 1)])])
    with pytest.raises(BfrtError, match="cells stay"):
        cell = [("$REGISTER_INDEX", Exact(1))]
        bfrt.write("delete", [row("pipe.BierIngress.bfr.port_down", cell, [])])
    with pytest.raises(BfrtError, match="no port 0 has been added"):
        bfrt.counted("$PORT_STAT", "$DEV_PORT", [0])
    queued = "tf1.tm.counter.eg_port"
    assert list(bfrt.counted(queued, "dev_port", [68])[0]) == [
        "drop_count_packets",
        "usage_cells",
        "watermark_cells",
    ]
    (some,) = bfrt.counted(queued, "dev_port", [68], ["usage_cells"])
    assert list(some) == ["usage_cells"]
    bfrt._single = bfrt._together
    with pytest.raises(BfrtError, match="Transaction not supported"):
        bfrt.write("insert", [row(MIRROR, [("$sid", Exact(1))], [], "$normal")])
    bfrt.close()


@pytest.mark.skipif(bool(SDE_MISSING), reason=f"the SDE is not installed: {', '.join(SDE_MISSING)}")
def test_our_table_of_messages_is_the_protocol() -> None:
    """Names, numbers, types and oneofs, against the SDE's generated module."""
    import os

    path = list(sys.path)
    sde.load_client(Path(os.environ["SDE_INSTALL"]))
    import importlib

    theirs = importlib.import_module("bfrt_grpc.bfruntime_pb2")
    sys.path[:] = path
    for name, fields in rows().items():
        if name in ("Status", "Any"):
            continue
        message = theirs.DESCRIPTOR.message_types_by_name[name.partition(".")[0]]
        if "." in name:
            message = message.nested_types_by_name[name.partition(".")[2]]
        for field, number, kind, repeated, oneof in fields:
            found = message.fields_by_name[field]
            assert found.number == number, (name, field)
            assert (found.label == found.LABEL_REPEATED) == repeated, (name, field)
            assert (found.containing_oneof.name if found.containing_oneof else "") == oneof
            if found.message_type is not None:
                assert found.message_type.name == kind.rpartition(".")[2]
    for name, values in ENUMS.items():
        outer, _, own = name.partition(".")
        enum = theirs.DESCRIPTOR.message_types_by_name[outer].enum_types_by_name[own]
        assert [value.name for value in enum.values] == list(values)
