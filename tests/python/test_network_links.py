"""Links that fail under traffic, on both networks: lost is what the failure explains, no more.

If these fail, a failure lab shows losses that the student's program did not cause, or none at all.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace

import pytest

from p4lab.course.labs import load_plan
from p4lab.engine import load_program
from p4lab.model.run import Plan
from p4lab.network import Network, open_network
from p4lab.session.run import Session

MILLISECOND = 1_000_000
PACKETS = 400

missing_tools = [t for t in ("mnexec", "ifconfig", "ip", "ethtool") if shutil.which(t) is None]


def needs_mininet(test: Callable[[], None]) -> Callable[[], None]:
    """Skips a test where Mininet cannot run, and says why."""
    test = pytest.mark.skipif(os.geteuid() != 0, reason="Mininet needs root")(test)
    reason = f"not installed: {', '.join(missing_tools)}"
    return pytest.mark.skipif(bool(missing_tools), reason=reason)(test)


def ring() -> Plan:
    """h1 sends to everybody else on the ring, whose shortest path to r2 is the link r1-r2."""
    plan = load_plan("01-bier", topology="ring", bsl=64, packets=PACKETS)
    return replace(plan, streams=plan.streams[:1])


def outage(name: str, *, rerouted: bool) -> dict[str, int]:
    """Packets that each receiver missed when r1-r2 was down for the middle half of the stream."""
    plan = ring()
    program = load_program(plan.program, plan.defines)
    network: Network
    with open_network(name, plan.topology, program, seed=plan.seed) as network:
        session = Session(plan, network)
        session.start()
        session.converge()
        plane = session.plane
        (stream,) = plan.streams
        start = network.now + MILLISECOND
        network.start(stream, start)
        link = plan.topology.link("r1", "r2")
        quarter = PACKETS * stream.interval_ns // 4
        for moment, up in ((quarter, False), (3 * quarter, True)):
            network.run_until(start + moment, plane)
            network.set_link(link, up)
            if rerouted:
                plane.link_changed(network.now, link, up)
        network.run_until(start + 4 * quarter + 500 * MILLISECOND, plane)
        seen = network.observed()
    assert seen.sent == {stream.flow: PACKETS}
    received = {host.name: seen.received[host.name, stream.flow] for host in stream.receivers}
    assert all(counts.duplicates == 0 for counts in received.values())
    return {host: PACKETS - counts.unique for host, counts in received.items()}


def test_virtual_outage_loses_exactly_its_packets() -> None:
    missing = outage("virtual", rerouted=False)
    # One packet a millisecond for 200 ms; the link's own delay of 1 ms holds one more at most.
    assert 200 <= missing["h2"] <= 202
    assert missing["h3"] == missing["h2"]
    assert missing["h5"] == missing["h6"] == 0


def test_virtual_rerouting_saves_all_but_what_was_on_the_link() -> None:
    missing = outage("virtual", rerouted=True)
    assert max(missing.values()) <= 2
    assert missing["h5"] == missing["h6"] == 0


@needs_mininet
def test_linux_outage_hits_those_behind_the_link_only() -> None:
    missing = outage("linux", rerouted=False)
    assert 0 < missing["h2"] < PACKETS and missing["h3"] == missing["h2"]
    assert missing["h5"] == missing["h6"] == 0


@needs_mininet
def test_linux_rerouting_loses_less_than_the_outage() -> None:
    without, with_it = (outage("linux", rerouted=choice) for choice in (False, True))
    assert with_it["h2"] < without["h2"]
