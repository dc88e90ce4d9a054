"""What switches have counted themselves, next to what their network has seen of them."""

from __future__ import annotations

from collections.abc import Callable

from p4lab.control.bier import RECIRC_PORT
from p4lab.control.bier_tna import Layouts
from p4lab.control.plane import Count, CountingDriver, Driver
from p4lab.lab.report import CounterRow
from p4lab.topology import Topology

SENT = "sent"  # the counter of p4/*/v1model.p4 with a cell per port


def counted(
    topology: Topology,
    driver_for_router: Callable[[str], Driver],
    layouts: Layouts | None = None,
) -> tuple[CounterRow, ...]:
    """What every router's switch says it has sent, by port; nothing where the program has no such
    counter, or the driver reads none. `layouts` are those of Tofinos, whose cells are called as
    their chip's ports."""
    rows = []
    for router in topology.routers:
        neighbours = topology.ports(router.name)
        if layouts is None:
            neighbours = {**neighbours, RECIRC_PORT: router.name}
            cells = {port: port for port in neighbours}
        else:
            cells = {layouts[router.name].port(port): port for port in neighbours}
        for cell, count in _read(driver_for_router(router.name), list(cells)).items():
            port = cells[cell]
            rows.append(CounterRow(router.name, neighbours[port], port, count.packets, count.bytes))
    return tuple(rows)


def _read(driver: Driver, ports: list[int]) -> dict[int, Count]:
    if not isinstance(driver, CountingDriver):
        return {}
    try:
        return driver.counters(SENT, ports)
    except ValueError:  # programs of one's own need not count
        return {}
