"""`p4lab switch --arch tna` with the files of an SDE: ports.json and bf_switchd's configuration.

If these fail, who comes from the Tofino model finds their ports elsewhere, or a pipeline in another
pipe."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from p4lab.hosts.interfaces import is_running
from p4lab.network import namespace
from p4lab.p4runtime.command_line import CommandLineError, parse
from p4lab.p4runtime.switchd_conf import ConfError, pipelines_in
from p4lab.p4runtime.veths import PortsError, read_ports, veths


def write(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data))
    return path


def veth(port: object, one: object = 0, other: object = 1) -> dict[str, object]:
    return {"device_port": port, "veth1": one, "veth2": other}


def test_ports_are_read_as_the_model_reads_them(tmp_path: Path) -> None:
    entries = {
        "PortToVeth": [veth(8), {**veth(64, 250, 251), "_comment": "the CPU's"}],
        "PortToIf": [{"device_port": 130, "if": "enp1s0", "speed": "10G"}],
    }
    found = read_ports(write(tmp_path / "ports.json", entries))
    assert [(one.number, one.near, one.far) for one in found] == [
        (8, "veth0", "veth1"),
        (64, "veth250", "veth251"),
        (130, "enp1s0", None),
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "object"),
        ({}, "lists no port"),
        ({"PortToVeth": 3}, "list"),
        ({"PortToVeth": [3]}, r"PortToVeth\[0\]"),
        ({"PortToVeth": [veth("8")]}, "device_port"),
        ({"PortToVeth": [veth(600)]}, "0 to 510"),
        ({"PortToVeth": [veth(1, None)]}, "veth1"),
        ({"PortToVeth": [veth(1), veth(1, 2, 3)]}, "1 is there twice"),
        ({"PortToVeth": [veth(1), veth(2)]}, "veth0 is there twice"),
        ({"PortToIf": [{"device_port": 1}]}, "if"),
        ({"PortToNM": [{"addr": "ipc:///x"}]}, "PortToNM"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, data: object, said: str) -> None:
    with pytest.raises(PortsError, match=said):
        read_ports(write(tmp_path / "ports.json", data))


def conf(*pipelines: tuple[str, list[int]], name: str = "two") -> dict[str, object]:
    own = [{"p4_pipeline_name": one, "pipe_scope": scope} for one, scope in pipelines]
    program = {"program-name": name, "p4_pipelines": own}
    return {"p4_devices": [{"device-id": 0, "p4_programs": [program]}]}


def test_pipelines_run_in_the_pipes_of_the_configuration(tmp_path: Path) -> None:
    file = write(tmp_path / "two.conf", conf(("a", [0, 2]), ("b", [3])))
    assert pipelines_in(file, "two") == ["a", None, "a", "b"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "p4_devices"),
        ({"p4_devices": []}, "empty"),
        (conf(("a", [0]), name="other"), "no program two, but other"),
        (conf(("a", [4])), "0 to 3"),
        (conf(("a", [0]), ("b", [0])), "both"),
        (conf((None, [0])), "p4_pipeline_name"),
    ],
)
def test_a_wrong_configuration_is_refused(tmp_path: Path, data: object, said: str) -> None:
    with pytest.raises(ConfError, match=said):
        pipelines_in(write(tmp_path / "two.conf", data), "two")


def test_the_options_of_the_model_are_a_tofinos() -> None:
    options = parse(["--arch", "tna", "--int-port-loop", "0xa", "x.p4"])
    assert options.loop_pipes == (1, 3)
    with pytest.raises(CommandLineError, match="--arch tna"):
        parse(["--ports-json", "ports.json", "x.p4"])
    with pytest.raises(CommandLineError, match="0 to 15"):
        parse(["--arch", "tna", "--int-port-loop", "16", "x.p4"])


@pytest.mark.skipif(os.geteuid() != 0, reason="interfaces need root")
@pytest.mark.skipif(shutil.which("ip") is None, reason="not installed: ip")
def test_veths_are_made_and_taken_away_but_not_those_of_others(tmp_path: Path) -> None:
    ports = read_ports(write(tmp_path / "ports.json", {"PortToVeth": [veth(1), veth(2, 2, 3)]}))

    def names() -> set[str]:
        lines = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True)
        return {line.split(": ")[1].partition("@")[0] for line in lines.stdout.splitlines()}

    def work() -> None:
        with namespace.apart():
            subprocess.run("ip link add veth2 type veth peer name veth3".split(), check=True)
            with veths(ports):
                assert names() >= {"veth0", "veth1", "veth2", "veth3"}
                assert is_running("veth0")
            assert names() & {"veth0", "veth1", "veth2", "veth3"} == {"veth2", "veth3"}
            done.append(True)

    done: list[bool] = []
    thread = threading.Thread(target=work)  # a namespace is a thread's
    thread.start()
    thread.join()
    assert done
