"""`--pcap`: what a student opens in Wireshark is what crossed the links, and both readers agree."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from scapy.utils import PcapNgReader

from p4lab.course.labs import load_plan
from p4lab.session.opening import run
from p4lab.systems.bier.packets import BIER

SCRIPT = Path(__file__).resolve().parents[2] / "wireshark" / "bier.lua"
PACKETS = 4
NAMES = ("bier8296.bift_id", "bier8296.ttl", "bier8296.bfir_id", "_ws.malformed")
COLUMNS = ["-T", "fields", *(word for name in NAMES for word in ("-e", name))]


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captures")
    report = run(load_plan("01-bier", topology="paper", packets=PACKETS), pcap=folder)
    assert report.ok, report.problems
    return folder


def bier_headers(capture: Path) -> list[BIER]:
    with PcapNgReader(str(capture)) as reader:
        return [frame[BIER] for frame in reader if BIER in frame]


def test_every_link_has_a_file(captures: Path) -> None:
    topology = load_plan("01-bier", topology="paper").topology
    assert len(list(captures.glob("*.pcapng"))) == len(topology.links)


def test_the_bier_packets_of_a_run_are_in_its_captures(captures: Path) -> None:
    found = [header for file in captures.glob("*.pcapng") for header in bier_headers(file)]
    assert len(found) >= PACKETS
    assert {header.proto for header in found} == {4}
    assert all(header.bits for header in found), "a BIER packet without receivers was sent"


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_and_scapy_read_the_same(captures: Path, tmp_path: Path) -> None:
    for file in captures.glob("*.pcapng"):
        done = subprocess.run(
            ["tshark", "-X", f"lua_script:{SCRIPT}", "-r", str(file), "-Y", "bier8296", *COLUMNS],
            capture_output=True,
            text=True,
            check=True,
            env={"PATH": "/usr/bin:/bin:/usr/sbin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
        )
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        seen = [tuple(int(cell, 0) for cell in row[:3]) for row in rows]
        expected = [(h.bift_id, h.ttl, h.bfir_id) for h in bier_headers(file)]
        assert seen == expected
        assert not any(row[3] for row in rows)
