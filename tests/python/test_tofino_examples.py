"""`p4lab tofino-examples`: the SDE's tests judge our switch. The checkout here is a small one,
and PTF a stand-in.

If these fail, the scoreboard says of the SDE's examples what is not so: a method that fails leaves
the next ones without a fresh switch, one that hangs holds up the others, or an exception is not
counted as one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from p4lab.course.home import HERE
from p4lab.sde import board
from p4lab.sde.board import Result, Row, judge, judge_all
from p4lab.sde.checkout import CLIENT, EXAMPLES, PROTO, PTF_UTILS, SdeError, examples_of
from p4lab.sde.environment import RUNNER, Environment
from p4lab.sde.exceptions import OWN, Excepted, read_exceptions
from p4lab.sde.scoreboard import markdown

PROGRAM = """
#include <tna.p4>
struct headers_t {}
struct metadata_t {}
parser IP(packet_in packet, out headers_t hdr, out metadata_t md,
          out ingress_intrinsic_metadata_t ig) {
    state start { packet.extract(ig); packet.advance(PORT_METADATA_SIZE); transition accept; }
}
control I(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig,
          in ingress_intrinsic_metadata_from_parser_t prsr,
          inout ingress_intrinsic_metadata_for_deparser_t dprsr,
          inout ingress_intrinsic_metadata_for_tm_t tm) {
    Register<bit<8>, bit<1>>(1) seen;
    RegisterAction<bit<8>, bit<1>, bit<8>>(seen) first = {
        void apply(inout bit<8> value, out bit<8> old) { old = value; value = 1; }
    };
    apply {
        tm.bypass_egress = 1;
        if (first.execute(0) == 0) { tm.ucast_egress_port = ig.ingress_port ^ 3; }
    }
}
control ID(packet_out packet, inout headers_t hdr, in metadata_t md,
           in ingress_intrinsic_metadata_for_deparser_t dprsr) { apply { packet.emit(hdr); } }
parser EP(packet_in packet, out headers_t hdr, out metadata_t md,
          out egress_intrinsic_metadata_t eg) {
    state start { packet.extract(eg); transition accept; }
}
control E(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg,
          in egress_intrinsic_metadata_from_parser_t prsr,
          inout egress_intrinsic_metadata_for_deparser_t dprsr,
          inout egress_intrinsic_metadata_for_output_port_t port) { apply {} }
control ED(packet_out packet, inout headers_t hdr, in metadata_t md,
           in egress_intrinsic_metadata_for_deparser_t dprsr) { apply { packet.emit(hdr); } }
Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
"""
"""Forwards its first packet from port 1 to 2, or from 65 to 66, and drops the others"""

TESTS = """
import os, signal, socket, time, unittest

def carried(one, other):
    near, far = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3 * 256) for _ in range(2))
    near.bind((PORTS[one], 0))
    far.bind((PORTS[other], 0))
    far.settimeout(5)
    frame = bytes(range(12)) + b"\\x12\\x34" + bytes(60)
    near.send(frame)
    return far.recv(2000) == frame

class First(unittest.TestCase):
    def runTest(self):
        self.assertTrue(carried("1", "2"))

class Wrong(unittest.TestCase):
    def runTest(self):
        self.assertEqual(1, 2, "one is not two")

class OnAFreshSwitch(unittest.TestCase):
    def runTest(self):
        self.assertTrue(carried("65", "66"))

class Hangs(unittest.TestCase):
    def runTest(self):
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        time.sleep(60)

class Last(unittest.TestCase):
    def runTest(self):
        with open("install/share/tofinopd/little/bf-rt.json") as schema:
            self.assertIn("pipe.I.seen", schema.read())
        for name in ("context.json", "tofino.bin"):
            open("install/share/tofinopd/little/pipe/" + name).close()

class Unmade(unittest.TestCase):
    def __init__(self):
        raise NotImplementedError
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """With one example, whose ports lead to a front port, and to ports of an Ethernet CPU."""
    folder = tmp_path / EXAMPLES / "little"
    folder.mkdir(parents=True)
    (folder / "little.p4").write_text(PROGRAM)
    (folder / "test.py").write_text(TESTS)
    ports = [
        {"device_port": port, "veth1": 2 * at, "veth2": 2 * at + 1, "speed": "10G"}
        for at, port in enumerate((1, 2, 65, 66))
    ]
    (folder / "ports.json").write_text(json.dumps({"PortToVeth": ports}))
    for part in (PTF_UTILS, CLIENT, PROTO):
        (tmp_path / part).mkdir(parents=True)
    return tmp_path


@pytest.fixture
def environment(checkout: Path, tmp_path: Path) -> Environment:
    """Python as it is, and the stand-in for PTF."""
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "xmlrunner.py").write_text("class XMLTestRunner: ...\n")
    (tmp_path / "modules" / "scapy").mkdir()
    (tmp_path / "modules" / "scapy" / "__init__.py").touch()
    (tmp_path / "modules" / "scapy" / "packet.py").write_text("class Packet: ...\n")
    (programs / "python").symlink_to(sys.executable)
    (programs / "ptf").symlink_to(Path(__file__).with_name("little_ptf.py"))
    return Environment(tmp_path / "venv", tmp_path / "modules", checkout)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(board, "METHOD", 6)
    monkeypatch.setattr(board, "SLACK", 1)
    return


@pytest.mark.skipif(os.geteuid() != 0, reason="interfaces need root")
@pytest.mark.skipif(shutil.which("ip") is None, reason="not installed: ip")
@pytest.mark.usefixtures("impatient")
def test_each_method_has_its_verdict(
    checkout: Path, environment: Environment, tmp_path: Path
) -> None:
    (example,) = examples_of(checkout).values()
    reasons = {"Hangs": "it waits for nothing", "Last": "no reason", "Unmade": "it is not tried"}
    exceptions = {"little": Excepted(reasons, frozenset({"Unmade"}))}
    rows: list[Row] = []
    work = threading.Thread(  # a namespace is a thread's
        target=lambda: rows.append(
            judge(example, environment, exceptions, tmp_path / "logs", lambda _: None)
        )
    )
    work.start()
    work.join()
    (row,) = rows
    logs = "\n".join(path.read_text() for path in (tmp_path / "logs").rglob("*.log"))
    verdicts = {one.name: one.passed for one in row.results}
    assert verdicts == {
        "Unmade": False,
        "First": True,
        "Wrong": False,
        "OnAFreshSwitch": True,
        "Hangs": False,
        "Last": True,
    }, logs
    assert [one.told for one in row.failed] == ["AssertionError: 1 != 2 : one is not two"]
    assert [one.reason for one in row.excepted] == ["it is not tried", "it waits for nothing"]
    assert [one.name for one in row.stale] == ["Last"]
    assert not row.ok


@pytest.mark.skipif(os.geteuid() != 0, reason="interfaces need root")
@pytest.mark.skipif(shutil.which("ip") is None, reason="not installed: ip")
@pytest.mark.usefixtures("impatient")
def test_a_method_that_runs_beside_its_example_has_its_verdict_once(
    checkout: Path, environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "APART", {"little": ("OnAFreshSwitch", "Last")})
    exceptions = {"little": Excepted({"Last": "no reason"}, frozenset({"Hangs", "Unmade"}))}
    examples = list(examples_of(checkout).values())
    (row,) = judge_all(examples, environment, exceptions, tmp_path / "logs", lambda _: None)
    verdicts = sorted((one.name, one.passed) for one in row.results)
    assert verdicts == [
        ("First", True),
        ("Hangs", False),
        ("Last", True),
        ("OnAFreshSwitch", True),
        ("Unmade", False),
        ("Wrong", False),
    ]
    assert [one.name for one in row.stale] == ["Last"]


def test_a_program_that_does_not_compile_fails_all_its_methods(
    checkout: Path, environment: Environment, tmp_path: Path
) -> None:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("interfaces need root and ip")
    (checkout / EXAMPLES / "little" / "little.p4").write_text(
        PROGRAM.replace("apply {}", "apply {")
    )
    (example,) = examples_of(checkout).values()
    rows: list[Row] = []
    work = threading.Thread(
        target=lambda: rows.append(judge(example, environment, {}, tmp_path / "logs", print))
    )
    work.start()
    work.join()
    (row,) = rows
    assert row.refused is not None and "little.p4" in row.refused
    assert len(row.failed) == 6


def test_a_manifest_gives_every_exception_a_reason(tmp_path: Path) -> None:
    assert "TestLag" in read_exceptions(OWN)["tna_multicast"].not_run
    file = tmp_path / "exceptions.toml"
    for text, said in [
        ('[a]\nb = ""', "a.b has no reason"),
        ("a = 1", r"\[a\]"),
        ('[a.not_run]\nb = ""', "a.b has no reason"),
        ("a = ", "cannot be read"),
    ]:
        file.write_text(text)
        with pytest.raises(SdeError, match=said):
            read_exceptions(file)


def _published() -> list[Row]:
    """The rows that docs/tofino-examples.md has, with methods of our own names."""
    text = (HERE.root / "docs" / "tofino-examples.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    first = lines.index("| example | methods | pass | excepted | fail |")
    cells = [line.strip("| ").split(" | ") for line in lines[first + 1 :]]
    exceptions = read_exceptions(OWN)
    rows = []
    for name, *counts in cells:
        if counts[0] == "not run":
            rows.append(Row(name, (), 0, left_out=exceptions[name].left_out))
        elif name != "all":
            _, passed, excepted, failed = map(int, counts)
            kinds = [(True, None)] * passed + [(False, "why")] * excepted + [(False, None)] * failed
            rows.append(
                Row(name, tuple(Result("x", *kind[:1], 0, "", kind[1]) for kind in kinds), 0)
            )
    return rows


def test_the_published_board_adds_up() -> None:
    """Each count, the sums, and that a table of the command's own would be this one."""
    text = (HERE.root / "docs" / "tofino-examples.md").read_text(encoding="utf-8")
    assert markdown(_published()) in text


def test_the_published_board_is_that_of_the_manifest() -> None:
    exceptions = read_exceptions(OWN)
    for row in _published():
        listed = exceptions.get(row.name, Excepted())
        assert bool(row.left_out) == bool(listed.left_out), row.name
        if not row.left_out:
            assert len(row.excepted) == len(listed.methods), row.name
    assert {name for name in exceptions} <= {row.name for row in _published()}


def test_nine_of_ten_methods_of_the_sde_pass() -> None:
    rows = _published()
    assert sum(row.passed for row in rows) >= 0.9 * sum(len(row.results) for row in rows)


def test_what_tests_of_the_sde_count_on_is_there(tmp_path: Path) -> None:
    """`random.sample` of a set, in whatever order, and packets that read bytes."""
    # In the place of what is only in the environment of the tests.
    (tmp_path / "xmlrunner.py").write_text("XMLTestRunner = dict")
    asking = tmp_path / "asking.py"
    asking.write_text(
        "import random\n"
        "from scapy.layers.l2 import Ether\n"
        "frame = bytes(Ether(src='00:00:00:00:00:07'))\n"
        "print(sorted(random.sample({1, 2, 3}, 3)), Ether().load_bytes(frame).src)\n"
    )
    done = subprocess.run(
        [sys.executable, str(RUNNER), str(asking)],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "[1, 2, 3] 00:00:00:00:00:07", done.stderr


def test_an_example_without_any_method_is_not_right() -> None:
    assert not Row("a", (), 1.0, refused="its tests do not run").ok
    assert Row("a", (), 1.0, left_out="it needs a Tofino 2").ok
    assert Row("a", (Result("x", False, 1.0, "told", "a reason"),), 1.0).ok


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SdeError, match="open-p4studio"):
        examples_of(tmp_path)
