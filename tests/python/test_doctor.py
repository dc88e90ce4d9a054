"""Without these, an admin would search for what the doctor could have named."""

import json
import socket

import pytest
from typer.testing import CliRunner

from p4lab.cli import app
from p4lab.doctor import machine, tools


def test_every_line_has_a_state_and_what_is_not_ok_has_a_fix():
    result = CliRunner().invoke(app, ["doctor", "--json"])
    findings = json.loads(result.stdout)["findings"]
    assert {row["state"] for row in findings} <= {"ok", "missing", "broken"}
    assert all(row["fix"] for row in findings if row["state"] != "ok")
    assert len({row["name"] for row in findings}) == len(findings) > 10
    broken = [row["name"] for row in findings if row["state"] == "broken"]
    assert result.exit_code == (1 if broken else 0), broken


def test_a_program_that_is_there_but_does_not_work_is_broken(tmp_path, monkeypatch):
    p4c = tmp_path / "p4c-bm2-ss"
    p4c.write_text("#!/bin/sh\necho 'libboost is missing' >&2\nexit 127\n")
    p4c.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = tools.p4c()
    assert finding.state == "broken"
    assert "libboost is missing" in finding.detail


def test_versions_are_read_and_absence_is_optional(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tools.simple_switch_grpc().state == "missing"
    switch = tmp_path / "simple_switch_grpc"
    switch.write_text("#!/bin/sh\necho 1.15.5-abcdef\n")
    switch.chmod(0o755)
    assert tools.simple_switch_grpc().detail == "simple_switch_grpc 1.15.5-abcdef"


@pytest.mark.parametrize("index", range(len(machine.PORTS)))
def test_a_taken_port_is_named_with_its_user(monkeypatch, index):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = list(machine.PORTS)
        ports[index] = (taken.getsockname()[1], *ports[index][1:])
        monkeypatch.setattr(machine, "PORTS", tuple(ports[index : index + 1]))
        finding = machine.ports()
    assert finding.state == "missing"
    assert ports[index][1] in finding.detail
