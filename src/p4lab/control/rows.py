"""Rows that the programs of many systems have: Ethernet addresses of ports, listeners of groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from p4lab.model.control import NumberError
from p4lab.model.entries import Entity, Exact, MulticastGroup, TableEntry
from p4lab.topology import Router, Topology

FIRST_GROUP_ID = 2

PortOf = Callable[[str, int], int]
"""What a router (by name) calls a port of the topology"""


def same_port(router: str, port: int) -> int:
    """The port as the topology calls it."""
    return port


def port_macs(
    topology: Topology, router: Router, port_of: PortOf = same_port
) -> Iterator[TableEntry]:
    """A row of `port_mac` for each cable of a router: its own address, and that at the far end."""
    hosts = {host.name for host in topology.hosts_of(router.name)}
    for port, neighbour in topology.ports(router.name).items():
        far = 0 if neighbour in hosts else topology.port(neighbour, router.name)
        yield TableEntry(
            "port_mac",
            (("port", Exact(port_of(router.name, port))),),
            "rewrite",
            (("src", router.mac(port)), ("dst", topology.mac(neighbour, far))),
        )


def delivery(ports_of: dict[int, set[int]]) -> list[Entity]:
    """A row of `group_ports` and a multicast group for each group (a number) with its ports.

    Raises NumberError if there are more groups than 16-bit ids.
    """
    rows: list[Entity] = []
    for group, group_id in _group_ids(ports_of).items():
        replicas = tuple((port, port) for port in sorted(ports_of[group]))
        rows.append(MulticastGroup(group_id, replicas))
        rows.append(
            TableEntry(
                "group_ports",
                (("group", Exact(group)),),
                "replicate",
                (("mcast_grp", group_id),),
            )
        )
    return rows


def _group_ids(groups: Collection[int]) -> dict[int, int]:
    """A 16-bit multicast group id per group address: its low bits, or the next id that is free.

    Derived from the address rather than counted, so that a new group does not renumber others.
    """
    if len(groups) > 0xFFFF - FIRST_GROUP_ID:
        raise NumberError("a router can replicate at most 65533 multicast groups")
    ids: dict[int, int] = {}
    taken: set[int] = set()
    for group in sorted(groups):
        group_id = max(group & 0xFFFF, FIRST_GROUP_ID)
        while group_id in taken:
            group_id = max((group_id + 1) & 0xFFFF, FIRST_GROUP_ID)
        taken.add(group_id)
        ids[group] = group_id
    return ids
