"""Multicast: the services `simple_pre` and `simple_pre_lag`.

bmv2's groups are made of nodes, each with one replication id and several ports; the engine has for
each group the list of its copies. So nodes live here, and a group is written whole when one of its
nodes changes. Groups that P4Runtime writes are not seen here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from p4lab.model.entries import MulticastGroup, Update
from p4lab.model.state import Write
from p4lab.thrift.desk import Desk
from p4lab.thrift.interface import ReplicationCode, ReplicationRefused

MOST = 4096  # groups, and nodes, as in bmv2
GROUPS = 1 << 16
PORTS = 512


@dataclass
class _Node:
    rid: int
    ports: tuple[int, ...]
    group: int | None = None


@dataclass
class Replication:
    """The calls of both services."""

    desk: Desk
    _groups: dict[int, list[int]] = field(default_factory=dict)
    """Nodes of each group"""
    _nodes: dict[int, _Node] = field(default_factory=dict)

    def bm_mc_mgrp_create(self, _: int, group: int) -> int:
        if not 0 < group < GROUPS:
            raise ReplicationRefused(ReplicationCode.INVALID_GROUP)
        if group not in self._groups and len(self._groups) >= MOST:
            raise ReplicationRefused(ReplicationCode.FULL)
        for node in self._groups.get(group, []):  # bmv2 begins anew, too
            self._nodes[node].group = None
        self._groups[group] = []
        self._write(group)
        return group

    def bm_mc_mgrp_destroy(self, _: int, group: int) -> None:
        for node in self._groups.pop(group, []):
            self._nodes[node].group = None
        if 0 < group < GROUPS:
            self._tell(Update("delete", MulticastGroup(group, ())))

    def bm_mc_node_create(self, _: int, rid: int, ports: str, lags: str = "") -> int:
        _check_lags(lags)
        if len(self._nodes) >= MOST:
            raise ReplicationRefused(ReplicationCode.FULL)
        if not 0 <= rid < GROUPS:
            raise ReplicationRefused(ReplicationCode.OTHER)
        taken = self._nodes
        number = next(node for node in range(len(taken) + 1) if node not in taken)
        self._nodes[number] = _Node(rid, _ports(ports))
        return number

    def bm_mc_node_update(self, _: int, node: int, ports: str, lags: str = "") -> None:
        _check_lags(lags)
        own = self._node(node)
        own.ports = _ports(ports)
        if own.group is not None:
            self._write(own.group)

    def bm_mc_node_associate(self, _: int, group: int, node: int) -> None:
        own = self._node(node)
        nodes = self._group(group)
        if own.group is not None:
            raise ReplicationRefused(ReplicationCode.OTHER)
        own.group = group
        nodes.append(node)
        self._write(group)

    def bm_mc_node_dissociate(self, _: int, group: int, node: int) -> None:
        own = self._node(node)
        nodes = self._group(group)
        if own.group != group:
            raise ReplicationRefused(ReplicationCode.OTHER)
        own.group = None
        nodes.remove(node)
        self._write(group)

    def bm_mc_node_destroy(self, context: int, node: int) -> None:
        own = self._node(node)
        if own.group is not None:
            self.bm_mc_node_dissociate(context, own.group, node)
        del self._nodes[node]

    def bm_mc_set_lag_membership(self, _: int, lag: int, ports: str) -> None:
        """The engine's groups have no link aggregation."""
        raise ReplicationRefused(ReplicationCode.OTHER)

    def bm_mc_get_entries(self, _: int) -> str:
        """All of it as JSON; a node's ports are an object of their own, with its number."""
        nodes = self._nodes.items()
        entries: dict[str, list[dict[str, Any]]] = {
            "mgrps": [
                {"id": group, "l1_handles": own} for group, own in sorted(self._groups.items())
            ],
            "l1_handles": [
                {"handle": number, "rid": node.rid, "l2_handle": number} for number, node in nodes
            ],
            "l2_handles": [
                {"handle": number, "ports": node.ports, "lags": []} for number, node in nodes
            ],
            "lags": [],
        }
        return json.dumps(entries)

    def reset(self) -> list[Write]:
        """The updates that take all groups away."""
        groups = list(self._groups)
        self._groups.clear()
        self._nodes.clear()
        return [Update("delete", MulticastGroup(group, ())) for group in groups]

    def _node(self, node: int) -> _Node:
        if node not in self._nodes:
            raise ReplicationRefused(ReplicationCode.INVALID_NODE)
        return self._nodes[node]

    def _group(self, group: int) -> list[int]:
        if group not in self._groups:
            raise ReplicationRefused(ReplicationCode.INVALID_GROUP_HANDLE)
        return self._groups[group]

    def _write(self, group: int) -> None:
        nodes = (self._nodes[node] for node in self._groups[group])
        copies = tuple((port, node.rid) for node in nodes for port in node.ports)
        self._tell(Update("insert", MulticastGroup(group, copies)))

    def _tell(self, update: Update) -> None:
        try:
            self.desk.runtime.write([update])
        except ValueError as error:
            raise ReplicationRefused(ReplicationCode.OTHER) from error


def _ports(ports: str) -> tuple[int, ...]:
    """Ports from a text of zeros and ones, the last of which is port 0."""
    if set(ports) - {"0", "1"} or len(ports) > PORTS:
        raise ReplicationRefused(ReplicationCode.OTHER)
    return tuple(port for port, bit in enumerate(reversed(ports)) if bit == "1")


def _check_lags(lags: str) -> None:
    if "1" in lags:
        raise ReplicationRefused(ReplicationCode.OTHER)
