"""`p4lab run --target tofino-model|wedge` as a lab admin meets it, without an SDE: our switches are
in the place of those of a rack."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from bfrt_chip import Chip
from cli_runner import ROOT, p4lab
from p4lab.model.entries import Exact, Ternary
from p4lab.targets.tofino import client as clients
from p4lab.targets.tofino import tools
from p4lab.targets.tofino.client import BfrtClient
from p4lab.targets.tofino.rows import row
from p4lab.targets.tofino.schema import PORT
from sde_folder import install

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
    (("--target", "wedge"), "needs the map of your rack: --rack FILE"),
    (("--target", "wedge", "--topology", "testbed", *RACK), "start bf_switchd on r1"),
    (("--target", "wedge", *RACK), "no switch for r4"),
    (("--target", "wedge", "--rack", "nowhere.toml"), "nowhere.toml: no such map of a rack"),
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
def chips() -> Iterator[list[Chip]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Chip(NAME)) for _ in range(3)]


def rack(chips: list[Chip], tmp_path: Path) -> Path:
    text = (ROOT / "hw/rack.example.toml").read_text()
    for number, chip in enumerate(chips, 1):
        text = text.replace(f"10.1.0.1{number}:50052", chip.address)
    (tmp_path / "rack.toml").write_text(text)
    return tmp_path / "rack.toml"


def states(chips: list[Chip]) -> list[dict[str, object]]:
    return [chip.state() for chip in chips]


@contextmanager
def looking(chip: Chip) -> Iterator[BfrtClient]:
    """Somebody else's connection to a switch."""
    bfrt = clients.connect(chip.address, NAME, patience=3)
    try:
        yield bfrt
    finally:
        bfrt.close()


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
    chips: list[Chip], tmp_path: Path, number: signal.Signals
) -> None:
    before = states(chips)
    process = start(rack(chips, tmp_path))
    with looking(chips[0]) as bfrt:
        ports = {port.key[0][1].value: dict(port.data) for port in bfrt.read_all(PORT)}
    modes = {number: port["$LOOPBACK_MODE"] for number, port in ports.items()}
    assert {port for port, mode in modes.items() if mode != "BF_LPBK_NONE"} == {128, 152}
    assert all(port["$PORT_ENABLE"] for port in ports.values())
    assert all(now != then for now, then in zip(states(chips), before, strict=True))
    process.send_signal(number)
    told, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "r1 1/0   to h1                  0 in            0 out" in told
    assert "r1 196   loop        not counted drops not told" in told
    assert "r1 30/0  loop                   0 round drops not told" in told
    assert states(chips) == before
    assert not list((tmp_path / "state/p4lab").glob("*.journal"))


def test_ports_that_go_down_are_gone_around(chips: list[Chip], tmp_path: Path) -> None:
    """Somebody disables a port of a cable, and enables it again."""
    before = states(chips)
    process = start(rack(chips, tmp_path))
    assert process.stdout
    with looking(chips[0]) as bfrt:

        def down() -> set[int]:
            cells = bfrt.all_counted("pipe.BierIngress.bfr.port_down")
            values = {cell: set(next(iter(fields.values()))) for cell, fields in cells.items()}
            assert all(len(each) == 1 for each in values.values())  # in all pipes alike
            return {cell for cell, each in values.items() if each == {1}}

        def next_hops() -> set[int]:
            """The ports to which the BIFT of r1 leads."""
            rows = bfrt.read_all("pipe.BierIngress.bfr.bift")
            return {dict(item.data)["port"] for item in rows if "port" in dict(item.data)}

        def enable(port: int, on: bool) -> None:
            bfrt.write("modify", [row(PORT, [("$DEV_PORT", Exact(port))], [("$PORT_ENABLE", on)])])

        assert (down(), next_hops()) == (set(), {140, 148})
        enable(140, False)
        told = process.stdout.readline()
        assert told == "r1: the port to r2 has no link; routes are recomputed\n"
        assert (down(), next_hops()) == ({140}, {148})
        enable(140, True)
        assert "r1: the port to r2 is up again" in process.stdout.readline()
        assert (down(), next_hops()) == (set(), {140, 148})
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert states(chips) == before


def test_a_switch_that_ends_ends_the_run_and_the_others_are_put_back(
    chips: list[Chip], tmp_path: Path
) -> None:
    before = states(chips)
    process = start(rack(chips, tmp_path))
    chips[1].end()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert chips[1].address in errors and "p4lab run ... --undo tries again" in errors
    assert [chips[i].state() for i in (0, 2)] == [before[0], before[2]]
    chips[1].start()  # for the fixture to end


def test_a_run_that_was_killed_is_undone(chips: list[Chip], tmp_path: Path) -> None:
    before = states(chips)
    file = rack(chips, tmp_path)
    process = start(file)
    process.kill()
    process.communicate(timeout=60)
    assert states(chips) != before
    arguments = ("--target", "wedge", "--topology", "testbed", "--rack", file)
    done = p4lab("run", "01-bier", *arguments, "--undo")
    assert done.returncode == 0, done.stderr
    assert "r1:" in done.stdout and "rows are as they were" in done.stdout
    assert states(chips) == before


def test_a_switch_that_refuses_leaves_the_others_as_they_were(
    chips: list[Chip], tmp_path: Path
) -> None:
    """Its BIFT is full of somebody else's entries."""
    with looking(chips[2]) as bfrt:
        bift = "pipe.BierIngress.bfr.bift"
        rows = [
            row(
                bift,
                [
                    ("bift_id", Exact(number)),
                    ("remaining", Ternary(1, 1)),
                    ("$MATCH_PRIORITY", Exact(1)),
                ],
                [],
                "BierIngress.bfr.drop",
            )
            for number in range(4096)
        ]
        bfrt.write("insert", rows)
    before = states(chips)
    arguments = ("--target", "wedge", "--topology", "testbed", "--rack", rack(chips, tmp_path))
    done = p4lab("run", "01-bier", *arguments)
    assert done.returncode == 2
    assert f"{chips[2].address}: insert in {bift}: row 1: " in done.stderr
    assert states(chips) == before


def test_another_program_on_a_switch_is_left_alone(chips: list[Chip], tmp_path: Path) -> None:
    with Chip("somebody_elses") as other:
        before = states([*chips, other])
        file = rack([*chips[:2], other], tmp_path)
        done = p4lab(
            *("run", "01-bier", "--target", "wedge", "--topology", "testbed", "--rack", file)
        )
        assert done.returncode == 2
        assert f"{other.address}: the switch runs somebody_elses, not {NAME}" in done.stderr
        assert states([*chips, other]) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="bf_switchd needs root")
def test_where_nobody_listens_a_driver_is_started_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "sde")
    monkeypatch.setenv("SDE_INSTALL", str(tmp_path / "sde"))
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
    assert counters["r1"]["ports"]["1"] == {"received": 0, "sent": 0}
    host, _, port = server.partition(":")
    with pytest.raises(OSError):
        socket.create_connection((host, int(port)), timeout=1)
