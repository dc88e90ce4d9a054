"""`p4lab run 03-protect` as users see it, in virtual time and with Linux hosts.

If these fail, the run ends without what it is about, or protection works in our own network only.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from cli_runner import p4lab
from p4lab.course.labs import load_plan
from p4lab.session.opening import open_session

MS = 1_000_000
TOOLS = ("mnexec", "ifconfig", "ip", "ethtool")
needs_mininet = pytest.mark.skipif(
    os.geteuid() != 0 or any(shutil.which(tool) is None for tool in TOOLS),
    reason="Mininet needs root and its tools",
)


def test_the_run_ends_with_what_became_of_the_copies() -> None:
    done = p4lab("run", "03-protect", "--packets", "300")
    assert done.returncode == 0, done.stdout
    text = " ".join(done.stdout.split())
    assert "r1-r5 (CID 1)" in text and "r1-r3-r4-r5" in text
    assert text.count("reference") >= 4
    assert "Lost for good: r1-r5 0, r5-r1 0." in text
    assert "IEEE 802.1CB raises an alarm at 100" in text
    assert "All receivers got every packet exactly once" in text


def test_a_path_that_is_down_costs_nothing_but_an_alarm() -> None:
    done = p4lab("run", "03-protect", "--packets", "300", "--down", "r1-r2", "--json")
    assert done.returncode == 0, done.stdout
    report = json.loads(done.stdout)
    assert report["ok"] and report["down"] == ["r1-r2"]
    for row in report["protected"]:
        assert row["sent"] == 300 and row["lost"] == 0
        assert row["latent_error"] == 300 and row["alarm"]
        first, second = (path["counted"] for path in row["paths"])
        assert first == {"received": 0, "accepted": 0, "discarded": 0, "rogue": 0, "lost": 300}
        assert second == {"received": 300, "accepted": 300, "discarded": 0, "rogue": 0, "lost": 0}


def test_other_policies_and_connections_by_hand() -> None:
    done = p4lab(
        "run", "03-protect", "--packets", "100", "--accept", "slots", "--history", "8", "--json",
        "--connections", "labs/03-protect/connections.toml",
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["ok"] and report["accept"] == "slots" and report["history"] == 8
    assert [row["name"] for row in report["protected"]] == ["gold", "voice"]
    # The way back goes by the longer path first: then that is path 1, and path 2 is the faster.
    first, second = (path["counted"]["accepted"] for path in report["protected"][1]["paths"])
    assert (first, second) == (0, 100)


def test_a_policy_that_repeats_packets_fails_the_run() -> None:
    done = p4lab("run", "03-protect", "--packets", "50", "--accept", "none")
    assert done.returncode == 1
    assert "h3 got 50 duplicates of 10.0.5.1" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--topology", "tree10"), "that share no link"),
        (("--accept", "first"), "none, match, highest, slots or vector"),
        (("--history", "12"), "1, 2, 4, 8"),
        (("--connections", "no.toml"), "no.toml"),
    ],
)
def test_what_cannot_be_run_is_refused_in_a_sentence(
    arguments: tuple[str, ...], reason: str
) -> None:
    done = p4lab("run", "03-protect", *arguments)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.split())


@needs_mininet
@pytest.mark.parametrize("accept", ["highest", "slots", "vector"])
def test_linux_hosts_lose_nothing_when_a_path_is_down(accept: str) -> None:
    done = p4lab("run", "03-protect", "--net", "linux", "--packets", "200", "--accept", accept,
                 "--down", "r1-r2", "--json")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert [row["lost"] for row in report["protected"]] == [0, 0]
    assert [row["received"] for row in report["hosts"] if row["subscribed"]] == [200, 200]


@needs_mininet
def test_a_cable_that_breaks_meanwhile_is_not_felt_by_linux_hosts() -> None:
    plan = load_plan("03-protect", packets=300, accept="slots")
    plan = replace(plan, streams=tuple(replace(s, interval_ns=2 * MS) for s in plan.streams))
    with open_session(plan, "linux") as session:
        session.start()
        start = session.begin()
        session.net.run_until(start + 300 * MS, session.controller)
        session.net.set_link(plan.topology.link("r2", "r5"), False)
        session.net.run_until(session.end(start), session.controller)
        report = session.report()
    assert report.ok, report.problems
    for row in report.protected:
        assert row.lost == 0
        assert 0 < row.paths[0].counted.received < 300 == row.paths[1].counted.received


TOO_LONG = """
import socket, time
DISCOVER, DO, MTU = 10, 2, 14  # IP_MTU_DISCOVER, IP_PMTUDISC_DO, IP_MTU
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, DISCOVER, DO)
s.connect(("10.0.5.1", 9))
s.send(bytes(1472))  # 1,500 bytes with IP and UDP
time.sleep(1)
print(s.getsockopt(socket.IPPROTO_IP, MTU))
"""


@needs_mininet
def test_linux_learns_from_the_answer_how_much_fits() -> None:
    """Path MTU discovery as the kernel does it: 1,500 less 28 for the tunnel."""
    plan = load_plan("03-protect", packets=1)
    with open_session(plan, "linux") as session:
        session.start()
        (host,) = [shell for shell in session.net._shells if shell.name == "h1"]
        process = host.popen([sys.executable, "-c", TOO_LONG], stdout=subprocess.PIPE)
        session.net.run_until(session.net.now + 2500 * MS, session.controller)
        said, _ = process.communicate(timeout=20)
        assert session.plane.answered == 1
    assert said.decode().strip() == "1472"
