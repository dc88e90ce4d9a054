"""A TNA switch on Linux interfaces tells its control plane what hosts say.

Without its port to the CPU it drops IGMP, and no host of `--net linux` gets anything.
"""

from __future__ import annotations

import os
import socket
import subprocess
from ipaddress import IPv4Address

import pytest

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.network import namespace
from p4lab.network.counting import ETH_P_ALL
from p4lab.network.cpu import CpuPort
from p4lab.packets.igmp import join_v2
from p4lab.packets.ip import ETHERTYPE_IPV4, ethernet, multicast_mac
from p4lab.paths import ROOT

PORT = 5


@pytest.mark.skipif(os.geteuid() != 0, reason="a switch on Linux interfaces needs root")
def test_what_a_host_says_by_igmp_reaches_the_control_plane() -> None:
    home = namespace.enter_own()
    try:
        namespace.quiet_ipv6()
        for words in ("add name near type veth peer name far", "set near up", "set far up"):
            subprocess.run(["ip", "link", *words.split()], check=True, capture_output=True)
        program = load_program(ROOT / "p4/bier/tna.p4", [("BSL", "64")])
        inbox = _engine.Inbox(16)
        forwarder = _engine.Forwarder(program, [(PORT, "near")], inbox, cpu_port=64)
        host = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        host.bind(("far", ETH_P_ALL))
        group = IPv4Address("239.1.1.1")
        packet = join_v2(IPv4Address("10.0.1.1"), group)
        frame = ethernet(multicast_mac(group), 0x020100000101, ETHERTYPE_IPV4, packet)
        host.send(frame)
        found = inbox.get(10.0)
        forwarder.stop()
        host.close()
    finally:
        namespace.leave(home)
    assert found is not None
    assert CpuPort(64).packet_in(found[2])[:2] == (PORT, frame)
