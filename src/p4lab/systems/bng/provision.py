"""What a topology and its settings say of a gateway: ports, lines, a class and routes."""

from __future__ import annotations

from collections.abc import Sequence

from p4lab.model.control import NumberError
from p4lab.systems.bng.api import bandwidth
from p4lab.systems.bng.entries import Access, Core, Line, Net, Route
from p4lab.systems.bng.gateway import Gateway
from p4lab.systems.bng.lines import Subscription
from p4lab.systems.bng.settings import GatewaySettings
from p4lab.topology import Router, Topology
from p4lab.topology.units import rate_bits_per_second

EVERYBODY = "subscriber"
"""The class that all subscribers of a run have"""


def only_router(topology: Topology) -> Router:
    """The gateway of a topology. Raises NumberError if it is not one gateway with its hosts."""
    if len(topology.routers) != 1:
        raise NumberError(
            f"{topology.name} has {len(topology.routers)} routers, and a gateway is one: "
            "take a topology with one router and its hosts."
        )
    return topology.routers[0]


def provision(
    gateway: Gateway,
    topology: Topology,
    subscriptions: Sequence[Subscription],
    settings: GatewaySettings,
) -> None:
    """Tell a gateway before its start what is around it. Raises ApiError."""
    api = gateway.api
    down, up = map(rate_bits_per_second, (settings.downstream, settings.upstream))
    api.add_class(bandwidth(EVERYBODY, down, up))
    for host in topology.hosts:
        if host.name in settings.core_hosts:  # a server behind a port of its own
            api.enable_core_port(Core(host.port, 0, host.gateway_mac))
            api.add_route(Route(0, Net(4, int(host.ip), 32), host.port, peer=host.mac))
    lines = []
    for one in subscriptions:
        port = one.host.port
        api.enable_access_port(Access(port, one.label0, one.host.gateway_mac, one.host.mac))
        place = (port, one.label0, one.label1, one.outer_vid, one.inner_vid)
        lines.append(Line(one.number, *place))
    gateway.add_lines(lines)
