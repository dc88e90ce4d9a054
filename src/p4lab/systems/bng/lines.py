"""The lines of a run: which host is behind which, what surrounds its frames, who it says it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from p4lab.systems.bng import entries
from p4lab.systems.bng.frames import cable
from p4lab.systems.bng.settings import GatewaySettings
from p4lab.systems.bng.subscriber.access import Line
from p4lab.topology import Host, Topology

FIRST_LABEL = 16  # those below are reserved (RFC 3032, section 2.1)
LINES_OF_A_NODE = 16
SERVICE_VID = 7
"""The Internet access of every line with labels, as in the published program"""


class Subscription(NamedTuple):
    """A line and who is behind it. Labels and VLAN numbers are 0 where there are none, as in the
    keys of `lines` and `sessions` (p4/bng/README.md)."""

    number: int
    """From 1: the program's number of the line"""
    host: Host
    line: Line
    label0: int
    label1: int
    outer_vid: int
    inner_vid: int
    service_vid: int
    user: str
    password: str

    @property
    def interface(self) -> str:
        """Where a real subscriber's packets come and go."""
        return "ppp0"

    @property
    def command(self) -> tuple[str, ...]:
        """What makes a real host the subscriber."""
        client = (sys.executable, "-m", "p4lab.systems.bng.subscriber", self.host.interface)
        who = ("--user", self.user, "--password", self.password, "--tun", self.interface)
        words: tuple[str, ...] = (*client, *who, "--no-ipv6", "--mac", _written(self.host.mac))
        for vlan in self.line.vlans:
            words += ("--vlan", str(vlan))
        for label in self.line.labels:
            words += ("--label", str(label))
        return words + (("--peer", _written(self.host.gateway_mac)) if self.line.labels else ())


def _written(mac: int) -> str:
    return mac.to_bytes(6, "big").hex(":")


def subscriptions(topology: Topology, settings: GatewaySettings) -> tuple[Subscription, ...]:
    """One for each subscriber, in the order of the topology. The label of the access node and the
    number of the line on it follow from the line's number, as in the published test bed: node
    number / 16 + 1, line number mod 16."""
    return tuple(_subscriptions(topology, settings))


def _subscriptions(topology: Topology, settings: GatewaySettings) -> Iterator[Subscription]:
    subscribers = [host for host in topology.hosts if host.name not in settings.core_hosts]
    for number, host in enumerate(subscribers, 1):
        node, vid = number // LINES_OF_A_NODE + 1, number % LINES_OF_A_NODE + 1
        has_labels = settings.access == "labels" or (settings.access == "mixed" and number % 2 == 1)
        labels = (FIRST_LABEL + host.router_number, FIRST_LABEL + node)
        place, service = ((*labels, vid, 0), SERVICE_VID) if has_labels else ((0, 0, node, vid), 0)
        # The access node stands for its line here: it has the host's address, too.
        outer = (host.gateway_mac.to_bytes(6, "big"), host.mac.to_bytes(6, "big"))
        line = cable(entries.Line(number, host.port, *place), outer, service)
        keys = (*place, service)
        yield Subscription(number, host, line, *keys, host.name, f"secret of {host.name}")
