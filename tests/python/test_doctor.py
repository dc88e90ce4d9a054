"""Without these, an admin would search for what the doctor could have named."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from p4lab import doctor, registry, rights
from p4lab.cli import app
from p4lab.doctor import Finding, kernel, machine, networks, tools

NOTHING_WRONG = Finding("system", "ok", "Debian GNU/Linux 12 (bookworm), Linux 6.1, x86_64")
NO_NETEM = Finding("netem", "missing", "Error: Specified qdisc kind is unknown.", "Nothing to do.")
NO_ENGINE = Finding("engine", "broken", "No module named 'p4lab._engine'", "Start ./lab once.")


def told(
    monkeypatch: pytest.MonkeyPatch, *options: str, findings: list[Finding]
) -> tuple[int, str]:
    """What `p4lab doctor` prints on a machine of these findings, and its exit status."""
    probes = tuple(lambda row=row: row for row in findings)
    monkeypatch.setattr(doctor, "all_probes", lambda: probes)
    result = CliRunner().invoke(app, ["doctor", *options])
    return result.exit_code, result.stdout


def test_the_report_word_by_word(monkeypatch):
    status, text = told(monkeypatch, findings=[NOTHING_WRONG, NO_NETEM, NO_ENGINE])
    assert text == (
        "OK        system  Debian GNU/Linux 12 (bookworm), Linux 6.1, x86_64\n"
        "optional  netem   Error: Specified qdisc kind is unknown.\n"
        "                  -> Nothing to do.\n"
        "broken    engine  No module named 'p4lab._engine'\n"
        "                  -> Start ./lab once.\n"
        "1 OK, 1 optional and missing, 1 broken: something needs repair\n"
    )
    assert status == 1


def test_what_is_optional_does_not_fail(monkeypatch):
    status, text = told(monkeypatch, findings=[NOTHING_WRONG, NO_NETEM])
    assert status == 0
    assert text.endswith("1 OK, 1 optional and missing, 0 broken: this machine runs the labs\n")


def test_the_same_as_data(monkeypatch):
    status, text = told(monkeypatch, "--json", findings=[NO_NETEM, NO_ENGINE])
    assert status == 1
    assert json.loads(text) == {
        "findings": [
            {
                "name": "netem",
                "state": "missing",
                "detail": "Error: Specified qdisc kind is unknown.",
                "fix": "Nothing to do.",
            },
            {
                "name": "engine",
                "state": "broken",
                "detail": "No module named 'p4lab._engine'",
                "fix": "Start ./lab once.",
            },
        ]
    }


def test_a_probe_that_fails_is_a_line_and_not_a_crash(monkeypatch):
    monkeypatch.setattr(machine, "MEMINFO", Path("/no/such/meminfo"))
    (found,) = doctor.examine([machine.memory])
    assert (found.name, found.state) == ("memory", "broken")
    assert "/no/such/meminfo" in found.detail


NAMES = [
    *("system", "Python", "engine", "memory", "disk", "port 8888", "port 9559"),
    *("virtual time", "user namespace", "root"),
    *("veth", "offloads", "interfaces", "netem", "AF_XDP"),
    *("JupyterLab", "Mininet", "Wireshark", "Chromium", "p4c", "bmv2", "Tofino SDE"),
]


def test_this_machine_gets_a_line_for_everything_and_keeps_nothing_of_it():
    before = sorted(each.name for each in kernel.INTERFACES.iterdir())
    result = CliRunner().invoke(app, ["doctor", "--json"])
    findings = json.loads(result.stdout)["findings"]
    own = [row["name"] for row in findings[len(NAMES) :]]
    assert [row["name"] for row in findings] == NAMES + own
    assert len(own) == sum(len(system.probes) for system in registry.all_systems())
    assert {row["state"] for row in findings} <= {"ok", "missing", "broken"}
    assert all(row["fix"] for row in findings if row["state"] != "ok")
    assert not any("\n" in row["detail"] + row["fix"] for row in findings), "one line each"
    broken = [row["name"] for row in findings if row["state"] == "broken"]
    assert result.exit_code == (1 if broken else 0), broken
    assert "p4lab0" not in set(os.listdir(kernel.INTERFACES)) - set(before)


def test_it_works_for_a_user_who_is_not_root():
    if os.geteuid() != 0:
        pytest.skip("the tests run without root anyway")
    script = (
        "import os, json\n"
        "from p4lab import doctor\n"
        "probes = doctor.all_probes()\n"
        "list(doctor.examine(probes))  # what is loaded needs no folder that root alone may enter\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "print(json.dumps({row.name: row.state for row in doctor.examine(probes)}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(doctor.__file__).parents[2])},
    )
    assert done.returncode == 0, done.stderr
    states = json.loads(done.stdout)
    assert list(states)[: len(NAMES)] == NAMES
    assert (states["virtual time"], states["root"]) == ("ok", "missing")
    tried = ("user namespace", "veth", "offloads", "netem", "AF_XDP")
    assert "broken" not in [states[name] for name in tried]


def test_a_system_has_lines_of_its_own_and_one_if_it_cannot_be_used(tmp_path, monkeypatch):
    """Without it, who brings a system that needs a program has nowhere to say so."""
    monkeypatch.setattr(registry, "_folders", {})
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "toy_probes.py").write_text(
        "from p4lab.doctor.finding import Finding\n"
        "def oven():\n"
        "    'oven.'\n"
        "    return Finding('oven', 'missing', 'cold', 'Light it.')\n"
    )
    for name, place in (("toy", "toy_probes:oven"), ("lost", "toy_probes:stove")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "system.py").write_text(
            "from p4lab.model.system import System\n"
            "class Mine(System):\n"
            f"    name = {name!r}\n"
            f"    probes = {{'oven': {place!r}}}\n"
        )
        registry.load_folder(tmp_path / name)
    heard = []
    findings = {row.name: row for row in doctor.examine(doctor.all_probes(), heard.append)}
    assert (findings["oven"].state, findings["oven"].fix) == ("missing", "Light it.")
    lost = findings["system lost"]
    assert lost.state == "broken" and "stove" in lost.detail and lost.fix
    assert {"oven", "system lost"} <= set(heard)


def stand_in(folder: Path, name: str, body: str) -> None:
    """A program of that name that does only this."""
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def path(tmp_path, monkeypatch) -> Path:
    """The one folder in which programs are found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(kernel, "SYSTEM_FOLDERS", "")
    monkeypatch.setattr(tools, "SYSTEM_FOLDERS", "")
    return tmp_path


def test_a_kernel_that_refuses_is_quoted_in_one_line(path):
    stand_in(path, "unshare", "echo 'unshare: unshare failed: Operation not permitted' >&2\nexit 1")
    stand_in(path, "ethtool", "exit 0")
    for probe in (kernel.veth, kernel.offloads, kernel.netem):
        finding = probe()
        assert finding.state == "missing"
        assert finding.detail == "unshare: unshare failed: Operation not permitted"
    assert "sudo" in kernel.veth().fix


def test_without_the_programs_it_names_their_packages(path):
    assert "util-linux" in kernel.veth().detail
    assert kernel.offloads().fix == "sudo apt-get install ethtool"
    assert kernel.interfaces().fix == "sudo apt-get install ethtool"
    assert "mininet" in tools.mininet().fix
    assert "chromium" in tools.chromium().fix
    assert "tshark" in tools.tshark().fix


def test_an_interface_that_merges_frames_is_named_with_the_command(path, monkeypatch):
    system = path / "net"
    for name, state in (("eth0", "up"), ("wlan0", "down"), ("veth1", "up"), ("lo", "up")):
        (system / name).mkdir(parents=True)
        (system / name / "operstate").write_text(f"{state}\n")
    monkeypatch.setattr(kernel, "INTERFACES", system)
    stand_in(
        path,
        "ethtool",
        "case $2 in eth0) on=on ;; *) on=off ;; esac\n"
        'echo "Features for $2:"\n'
        'echo "tcp-segmentation-offload: $on"\n'
        'echo "\ttx-tcp-segmentation: on"\n'
        'echo "generic-receive-offload: $on [requested on]"\n'
        'echo "large-receive-offload: off [fixed]"',
    )
    finding = kernel.interfaces()
    assert (finding.state, finding.detail) == ("missing", "eth0 has tso gro on")
    assert finding.fix.endswith("sudo ethtool -K eth0 tso off gro off")
    stand_in(path, "ethtool", "exit 75")
    assert kernel.interfaces().state == "ok"


def test_root_of_a_container_may_lack_the_right(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(rights, "STATUS", tmp_path / "status")
    monkeypatch.setattr(rights, "MAP", tmp_path / "map")
    monkeypatch.setattr(networks, "in_namespace", lambda _: None)
    (tmp_path / "status").write_text("Name:\tpython\nCapEff:\t00000000a80425fb\n")  # docker's own
    assert networks.root().state == "missing" and "--privileged" in networks.root().fix
    (tmp_path / "status").write_text("CapEff:\t000001ffffffffff\n")
    (tmp_path / "map").write_text("         0          0 4294967295\n")
    assert networks.root().state == "ok"
    (tmp_path / "map").write_text("         0       1000          1\n")
    assert "user namespace" in networks.root().detail
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (tmp_path / "status").write_text("CapEff:\t0000000000000000\n")
    assert networks.root().detail == "you are not root"


def test_too_little_memory_or_disk_is_broken(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "MEMINFO", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemTotal: 8000000 kB\nMemAvailable:  500000 kB\n")
    assert (machine.memory().state, machine.memory().detail[:11]) == ("broken", "0.5 GB free")
    (tmp_path / "meminfo").write_text("MemAvailable: 5000000 kB\n")
    assert machine.memory().state == "ok"
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 30))
    assert machine.disk().state == "broken"


@pytest.mark.parametrize(
    ("platform", "processor", "state"),
    [
        ("linux", "x86_64", "ok"),
        ("linux", "aarch64", "ok"),
        ("linux", "riscv64", "missing"),
        ("darwin", "arm64", "broken"),
    ],
)
def test_architectures(monkeypatch, platform, processor, state):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(machine.platform, "machine", lambda: processor)
    assert machine.system().state == state


def test_a_python_that_is_too_old_is_broken(monkeypatch):
    monkeypatch.setattr(machine, "PYTHON_NEEDED", (99, 0))
    assert machine.python().state == "broken"


@pytest.mark.parametrize("probe", ["jupyterlab_port", "p4runtime_port"])
def test_a_taken_port_is_named_with_its_user(monkeypatch, probe):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for port in ("JUPYTERLAB_PORT", "P4RUNTIME_PORT"):
            monkeypatch.setattr(machine, port, taken.getsockname()[1])
        finding = getattr(machine, probe)()
    assert finding.state == "missing"
    assert "in use" in finding.detail and finding.fix


def test_a_program_that_is_there_but_does_not_work_is_broken(path):
    stand_in(path, "p4c-bm2-ss", "echo 'libboost is missing' >&2\nexit 127")
    finding = tools.p4c()
    assert finding.state == "broken"
    assert "libboost is missing" in finding.detail


def test_versions_are_read_and_absence_is_optional(path):
    assert tools.simple_switch_grpc().state == "missing"
    stand_in(path, "simple_switch_grpc", "echo 1.15.5-abcdef")
    assert tools.simple_switch_grpc().detail == "simple_switch_grpc 1.15.5-abcdef"


def test_the_tofino_sde_needs_its_files_and_its_model_x86(tmp_path, monkeypatch):
    monkeypatch.delenv("SDE_INSTALL", raising=False)
    assert tools.tofino_sde().state == "missing"
    monkeypatch.setenv("SDE_INSTALL", str(tmp_path))
    assert "no bin/bf-p4c, bin/bf_switchd in" in tools.tofino_sde().detail
    (tmp_path / "bin").mkdir()
    for name in ("bf-p4c", "bf_switchd"):
        stand_in(tmp_path / "bin", name, "exit 0")
    found = tools.tofino_sde()
    assert found.state == "ok" and "for switches; no tofino-model" in found.detail
    stand_in(tmp_path / "bin", "tofino-model", "exit 0")
    monkeypatch.setattr(tools.platform, "machine", lambda: "x86_64")
    assert tools.tofino_sde().state == "ok"
    monkeypatch.setattr(tools.platform, "machine", lambda: "aarch64")
    assert (tools.tofino_sde().state, "aarch64" in tools.tofino_sde().detail) == ("broken", True)
