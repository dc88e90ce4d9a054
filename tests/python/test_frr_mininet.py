"""Fast reroute on Linux hosts: real cables are pulled, and the kernel tells who must know.

If these fail, the lab's button that kills a link does nothing, or kills more than the link.
"""

from __future__ import annotations

import os
import shutil
import struct
import time
from ipaddress import IPv4Address
from itertools import islice

import pytest

from p4lab.model.run import Stream
from p4lab.network.mininet import MininetNetwork
from p4lab.systems.frr.experiments.plan import PROGRAM
from p4lab.systems.frr.experiments.storm import HEARTBEATS, Storm
from p4lab.systems.frr.heartbeat import Heartbeat
from p4lab.systems.frr.heartbeat_agents import LinuxHeartbeatAgents
from p4lab.systems.frr.link_agents import LinuxLinkAgents, carriers
from p4lab.systems.frr.plane import FrrControlPlane
from p4lab.targets.bmv2 import Bmv2Switches, compile_program, missing
from p4lab.topology import Topology

MS = 1_000_000
GROUP = IPv4Address("239.1.1.1")
TOOLS = ("mnexec", "ifconfig", "ip", "ethtool")
absent = [tool for tool in TOOLS if shutil.which(tool) is None]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="Mininet needs root")
needs_mininet = pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}")
needs_bmv2 = pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())}")


def link_message(name: str, flags: int) -> bytes:
    """RTM_NEWLINK as rtnetlink(7) has it: two headers, an attribute of no interest, the name."""
    text = name.encode() + b"\0"
    attributes = struct.pack("=HHI", 8, 13, 1000)
    attributes += struct.pack("=HH", 4 + len(text), 3) + text.ljust(
        -len(text) % 4 + len(text), b"\0"
    )
    body = struct.pack("=BxHiII", 0, 1, 7, flags, 0) + attributes
    return struct.pack("=IHHII", 16 + len(body), 16, 0, 0, 0) + body


def test_what_the_kernel_says() -> None:
    up, no_carrier = 0x11043, 0x1003
    both = link_message("r1-eth2", up) + link_message("r12-eth10", no_carrier)
    assert list(carriers(both)) == [("r1-eth2", True), ("r12-eth10", False)]


def test_what_nobody_says() -> None:
    """Messages that are cut off or of another kind are passed over."""
    whole = link_message("r1-eth2", 0x11043)
    for length in range(len(whole)):
        assert list(carriers(whole[:length])) == []
    assert list(carriers(bytes(64))) == []
    assert list(carriers(whole[:4] + b"\x14\0" + whole[6:])) == []


@needs_root
@needs_mininet
def test_a_storm_on_linux_hosts() -> None:
    """`p4lab experiment storm --net linux --events 100` is the long one."""
    with Storm(Topology.load("ring"), 5, "linux") as storm:
        events = list(storm.events(4))
        assert [event for event in events if not event.ok] == []
        assert storm.tables() == storm.fresh_tables()


@needs_root
@needs_mininet
def test_a_storm_with_heartbeats_on_linux_hosts() -> None:
    """Cables fail in the middle, where no interface loses its carrier."""
    with Storm(Topology.load("ring"), 5, "linux", heartbeat=HEARTBEATS["linux"]) as storm:
        events = list(storm.events(3))
        assert [event for event in events if not event.ok] == []
        assert storm.tables() == storm.fresh_tables()


class Stage:
    """The testbed on Linux hosts with simple_switch, a subscriber, and packets to be counted."""

    def __init__(self, net: MininetNetwork, plane: FrrControlPlane, controller) -> None:
        self.net = net
        self.controller = controller
        self.source, self.receiver = net.topology.host("h1"), net.topology.host("h2")
        self._flows = iter(range(1, 100))
        plane.start(net.now)
        net.join(self.receiver, GROUP)
        self.until(lambda: plane.membership)

    def until(self, done) -> None:
        deadline = time.monotonic() + 20
        while not done():
            assert time.monotonic() < deadline, "it does not happen"
            self.net.run_until(self.net.now + 50 * MS, self.controller)

    def all_arrive(self) -> bool:
        """A busy machine loses packets that no link has lost, but not every time."""
        for flow in islice(self._flows, 5):
            stream = Stream(flow, GROUP, self.source, (self.receiver,), 50, MS)
            self.net.start(stream, self.net.now)
            self.net.run_until(self.net.now + 1000 * MS, self.controller)
            counts = self.net.observed().received.get((self.receiver.name, flow))
            assert counts is None or counts.duplicates == 0
            if counts is not None and counts.unique == 50:
                return True
        return False


@needs_root
@needs_mininet
@needs_bmv2
def test_simple_switch_repairs_on_its_own() -> None:
    """With a controller that never hears of the failure: the backups must carry the stream."""
    topology = Topology.load("testbed")
    switches = Bmv2Switches(compile_program(PROGRAM, [("BSL", "64")]))
    with MininetNetwork(topology, switches, patched=True) as net:
        plane = FrrControlPlane(topology, 64, net.driver)
        stage = Stage(net, plane, plane)
        assert all(net.driver(r.name).entries() == plane.entries(r.name) for r in topology.routers)
        assert stage.all_arrive()
        with LinuxLinkAgents(plane, net.driver, net.interfaces):
            net.set_link(topology.link("r1", "r2"), False)
            time.sleep(1)  # for the kernel's news to reach the switches
            assert stage.all_arrive()
            assert not plane.failures.links
            net.set_link(topology.link("r1", "r2"), True)
            time.sleep(1)
        assert stage.all_arrive()


@needs_root
@needs_mininet
@needs_bmv2
def test_simple_switch_hears_silence() -> None:
    """The same, but the cable fails in its middle. No interface shows it: only heartbeats do, and
    the news of them reach the controller."""
    topology = Topology.load("testbed")
    link = topology.link("r1", "r2")
    heartbeat = Heartbeat(50 * MS, 4)
    switches = Bmv2Switches(compile_program(PROGRAM, [("BSL", "64")]))
    with MininetNetwork(topology, switches, patched=True) as net:
        plane = FrrControlPlane(topology, 64, net.driver, heartbeat=heartbeat)
        with (
            LinuxLinkAgents(plane, net.driver, net.interfaces) as kernel,
            LinuxHeartbeatAgents(plane, net.driver, heartbeat) as agents,
        ):
            stage = Stage(net, plane, agents)
            stage.until(lambda: agents.all_up)
            assert stage.all_arrive()
            net.set_middle(link, False)
            stage.until(lambda: plane.failures.has(link))
            assert stage.all_arrive()
            net.set_middle(link, True)
            stage.until(lambda: not plane.failures.links)
            assert stage.all_arrive()
            kernel.timer(net.now)
            assert kernel.news == [], "no interface has lost its carrier"
