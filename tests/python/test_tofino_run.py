"""`p4lab run --target tofino-model|wedge` as a lab admin meets it, without an SDE."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bfrt_fake import info
from bfrt_fake.programs import install
from bfrt_fake.server import Server
from bfrt_fake.switch import Switch
from cli_runner import ROOT, p4lab
from p4lab.engine import load_program
from p4lab.targets.tofino import tools
from p4lab.targets.tofino.schema import PORT, Program

GOLDEN = Path(__file__).parent / "golden"
RACK = ("--rack", "hw/rack.example.toml")
RUNS = {
    "dry_run_model.txt": ("01-bier", "--target", "tofino-model", "--topology", "paper"),
    "dry_run_wedge.txt": ("01-bier", "--target", "wedge", "--topology", "testbed", *RACK),
}


@pytest.fixture(autouse=True)
def no_sde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SDE_INSTALL", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("name", RUNS)
def test_a_dry_run_tells_every_step_and_needs_nothing(name: str) -> None:
    done = p4lab("run", *RUNS[name], "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    again = f"p4lab run {' '.join(RUNS[name])} --dry-run > tests/python/golden/{name}"
    assert done.stdout == (GOLDEN / name).read_text(), f"if this is meant: {again}"


def test_lab_05_has_a_dry_run() -> None:
    done = p4lab("run", "05-recirculation", "--target", "tofino-model", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "05-recirculation on" in done.stdout and "p4/bier/tna.p4" in done.stdout


REFUSED = [
    (("--target", "tofino-model"), "needs the Tofino SDE (SDE_INSTALL is not set). Install"),
    (("--target", "wedge"), "needs the map of your rack: --rack FILE"),
    (("--target", "wedge", "--topology", "testbed", *RACK), "SDE_INSTALL is not set"),
    (("--target", "wedge", *RACK), "no switch for r4"),
    (("--target", "wedge", "--rack", "nowhere.toml"), "nowhere.toml:1: cannot read the file"),
    (("--dry-run",), "--dry-run is for --target tofino-model and wedge"),
    (RACK, "--rack is for --target"),
    (("--target", "tofino-model", "--undo"), "--undo is for --target wedge"),
    (("--target", "wedge", *RACK, "--undo", "--dry-run"), "choose one"),
    (("--target", "tofino-model", "--undefined", "1"), "for the engine, not for a Tofino"),
    (("--target", "tofino-model", "--pcap", "x"), "--pcap is not for the target tofino-model"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_what_cannot_be_is_one_sentence(arguments: tuple[str, ...], said: str) -> None:
    done = p4lab("run", "01-bier", *arguments)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]


def test_a_program_without_an_entry_file_for_tna_is_refused() -> None:
    done = p4lab("run", "02-frr", "--target", "tofino-model", "--dry-run")
    assert done.returncode == 2 and "no tna.p4 beside it" in done.stderr


def test_an_sde_may_call_its_compiler_p4c_and_have_its_libraries_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As open-p4studio has it; Intel's compiler is taken where both are."""
    home = tmp_path / "install"
    install(home)
    monkeypatch.setenv("SDE_INSTALL", str(home))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/mine")
    (home / "bin/bf-p4c").rename(home / "bin/p4c")
    found = tools.find("wedge")
    assert found.compiler == str(home / "bin/p4c")
    assert found.environment["LD_LIBRARY_PATH"] == f"{home}/lib:/opt/mine:/usr/local/lib"
    (home / "share").mkdir()
    (home / "share/environment").write_text("SDE_DEPENDENCIES=../dependencies\n")
    assert found.environment["LD_LIBRARY_PATH"].startswith(f"{tmp_path}/dependencies/lib:{home}/")
    (home / "bin/p4c").unlink()
    assert tools.missing("wedge") == ["bf-p4c"]
    assert tools.missing("wedge", start=False) == []  # somebody else has compiled


def test_nothing_to_undo() -> None:
    done = p4lab("run", "01-bier", "--target", "wedge", "--topology", "testbed", *RACK, "--undo")
    assert (done.returncode, done.stdout) == (
        0,
        "Nothing to put back: no run has left a journal.\n",
    )


# ---- The whole verb, against three servers in the place of three switches --------------------

NAME = "p4lab_01_bier_bsl64"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An SDE that is none."""
    sde = tmp_path / "sde"
    install(sde)
    monkeypatch.setenv("SDE_INSTALL", str(sde))


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    compiled = load_program(ROOT / "p4/bier/tna.p4", [("BSL", "64")])
    program = Program.of(compiled)
    p4, chip = info.of_program(program, "EntryParser"), info.of_chip()
    with ExitStack() as stack:
        yield [stack.enter_context(Server(Switch(NAME, p4, chip))) for _ in range(3)]


def rack(servers: list[Server], tmp_path: Path) -> Path:
    text = (ROOT / "hw/rack.example.toml").read_text()
    for number, server in enumerate(servers, 1):
        text = text.replace(f"10.1.0.1{number}:50052", server.address)
    (tmp_path / "rack.toml").write_text(text)
    return tmp_path / "rack.toml"


ONE_ROUTER = """
name = "one"
description = "One router, two hosts"
router = [{ number = 1 }]
host = [{ name = "h1", router = "r1" }, { name = "h2", router = "r1" }]
"""


# A background job of a shell ignores SIGINT, and its children inherit that. (Nothing is done
# between fork and exec: the threads of the servers here would not survive it.)
HEARS_CTRL_C = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from p4lab.__main__ import main
main()
"""


def start(file: Path, topology: str = "testbed", *options: str) -> subprocess.Popen[str]:
    """A run that is ready: its switches are set up."""
    command = [sys.executable, "-c", HEARS_CTRL_C, "run", "01-bier", "--target", "wedge", *options]
    process = subprocess.Popen(
        [*command, "--topology", topology, "--rack", str(file)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"},
        cwd=ROOT,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout and process.stderr
    for line in process.stderr if "--json" in options else process.stdout:
        if line.startswith("Ctrl-C"):
            return process
    pytest.fail(process.stderr.read())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_reads_counters_and_puts_all_switches_back(
    servers: list[Server], home: None, tmp_path: Path, number: signal.Signals
) -> None:
    before = [server.switch.state() for server in servers]
    process = start(rack(servers, tmp_path))
    assert servers[0].switch.looped == {128, 152}
    assert all(server.switch.table(PORT).rows for server in servers)
    time.sleep(0.2)
    process.send_signal(number)
    told, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "r1 1/0   to h1               1001 in         1002 out" in told
    assert "r1 196   loop        not counted         1001 dropped" in told
    assert "r1 30/0  loop                1002 round         1001 dropped" in told
    assert [server.switch.state() for server in servers] == before
    assert not list((tmp_path / "state/p4lab").glob("*.journal"))


def test_ports_that_lose_their_link_are_gone_around(
    servers: list[Server], home: None, tmp_path: Path
) -> None:
    """One cable has no link from the start, another is pulled, and put back."""
    chip = servers[0].switch
    before = [server.switch.state() for server in servers]
    register = chip.table("port_down")

    def down() -> set[int]:
        return {port for (name, port, _), value in chip.cells.items() if value}

    def next_hops() -> set[int]:
        """The ports to which the BIFT of r1 leads."""
        rows = chip.table("bfr.bift").rows.values()
        return {int.from_bytes(row.data[3], "big") for row in rows if 3 in row.data}

    chip.dead.add(148)  # the socket to r3 is empty
    process = start(rack(servers, tmp_path))
    assert process.stdout
    assert (down(), next_hops()) == ({148}, {140})
    assert {chip.cell(register, 148, pipe) for pipe in range(2)} == {1}
    chip.cable(148, whole=True)
    assert "r1: the port to r3 is up again" in process.stdout.readline()
    assert (down(), next_hops()) == (set(), {140, 148})
    chip.cable(140, whole=False)
    assert process.stdout.readline() == ("r1: the port to r2 has no link; routes are recomputed\n")
    assert (down(), next_hops()) == ({140}, {148})
    servers[1].switch.cable(140, whole=False)  # and its other end
    assert "r2: the port to r1 has no link" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    chip.dead.clear()
    assert [server.switch.state() for server in servers] == before


def test_a_switch_that_ends_ends_the_run_and_the_others_are_put_back(
    servers: list[Server], home: None, tmp_path: Path
) -> None:
    before = [server.switch.state() for server in servers]
    process = start(rack(servers, tmp_path))
    servers[1].__exit__()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert servers[1].address in errors and "p4lab run ... --undo tries again" in errors
    assert [servers[i].switch.state() for i in (0, 2)] == [before[0], before[2]]


def test_a_run_that_was_killed_is_undone(servers: list[Server], home: None, tmp_path: Path) -> None:
    before = [server.switch.state() for server in servers]
    file = rack(servers, tmp_path)
    process = start(file)
    process.kill()
    process.communicate(timeout=60)
    assert [server.switch.state() for server in servers] != before
    arguments = ("--target", "wedge", "--topology", "testbed", "--rack", file)
    done = p4lab("run", "01-bier", *arguments, "--undo")
    assert done.returncode == 0, done.stderr
    assert "r1:" in done.stdout and "rows are as they were" in done.stdout
    assert [server.switch.state() for server in servers] == before


def test_a_switch_that_refuses_leaves_the_others_as_they_were(
    servers: list[Server], home: None, tmp_path: Path
) -> None:
    before = [server.switch.state() for server in servers]
    servers[2].switch.fail_at = 12
    arguments = ("--target", "wedge", "--topology", "testbed", "--rack", rack(servers, tmp_path))
    done = p4lab("run", "01-bier", *arguments)
    assert done.returncode == 2 and "Hardware access failed" in done.stderr
    assert [server.switch.state() for server in servers] == before


@pytest.mark.skipif(os.geteuid() != 0, reason="bf_switchd needs root")
def test_where_nobody_listens_a_driver_is_started_and_ended(home: None, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = f"127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "one.toml").write_text(ONE_ROUTER)
    text = f'name = "one"\n[[switch]]\nrouter = "r1"\nserver = "{server}"\n'
    for front in (1, 2):
        text += f'[[cable]]\nswitch = "r1"\nfront = {front}\nto = "h{front}"\n'
    (tmp_path / "rack.toml").write_text(text)
    process = start(tmp_path / "rack.toml", str(tmp_path / "one.toml"), "--json")
    process.send_signal(signal.SIGINT)
    told, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    counters = json.loads(told)["counters"]
    assert counters["r1"]["ports"]["1"] == {"received": 1001, "sent": 1002}
    host, _, port = server.partition(":")
    with pytest.raises(OSError):
        socket.create_connection((host, int(port)), timeout=1)
