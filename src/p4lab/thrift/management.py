"""The switch as a whole: its ports, its program, and beginning anew; of the service `standard`."""

from __future__ import annotations

from typing import Any

from p4lab.hosts.interfaces import is_running
from p4lab.model.state import Clear, ResetDefault, SetMember, SetMemberGroup, Write
from p4lab.thrift.cells import Cells
from p4lab.thrift.desk import Desk
from p4lab.thrift.interface import (
    TYPES,
    LookupCode,
    LookupRefused,
    PortCode,
    PortRefused,
    SwapCode,
    SwapRefused,
)
from p4lab.thrift.learning import Learning
from p4lab.thrift.replication import Replication

KINDS = 6  # of resources that have numbers


class Management:
    """Its calls."""

    def __init__(
        self, desk: Desk, cells: Cells, learning: Learning, replication: Replication, info: Any
    ) -> None:
        self._desk = desk
        self._cells, self._learning, self._replication = cells, learning, replication
        self._info = info

    def bm_mgmt_get_info(self) -> Any:
        return self._info

    def bm_get_config(self) -> str:
        return self._desk.facts.config

    def bm_get_config_md5(self) -> bytes:
        return self._desk.facts.checksum

    def bm_load_new_config(self, config: str) -> None:
        """As in a bmv2 that was not started with --enable-swap."""
        raise SwapRefused(SwapCode.DISABLED)

    def bm_swap_configs(self) -> None:
        raise SwapRefused(SwapCode.DISABLED)

    def bm_reset_state(self) -> None:
        """All tables, profiles, groups and cells as they were at the start."""
        own = self._desk.facts
        runtime = self._desk.runtime
        updates: list[Write] = []
        for table in own.tables.values():
            if not table.is_const:
                updates.append(Clear(table.name))
            if not table.has_const_default:
                updates.append(ResetDefault(table.name))
        for profile, has_groups in own.profiles.items():
            groups = runtime.member_groups(profile) if has_groups else []
            updates += [SetMemberGroup(profile, group, None) for group, _ in groups]
            members = runtime.members(profile)
            updates += [SetMember(profile, member, None) for member, *_ in members]
        self._learning.reset()
        updates += [*self._cells.reset(), *self._replication.reset()]
        if updates:  # else the switch waits for its program
            runtime.write(updates)

    def bm_dev_mgr_show_ports(self) -> list[Any]:
        ports = sorted(self._desk.ports.items())
        return [TYPES["Port"](port, name, is_running(name), {}) for port, name in ports]

    def bm_dev_mgr_add_port(self, interface: str, port: int, capture: str) -> None:
        """This switch has the ports that it was started with."""
        raise PortRefused(PortCode.OTHER)

    def bm_dev_mgr_remove_port(self, port: int) -> None:
        raise PortRefused(PortCode.OTHER)

    def bm_get_id_from_name(self, _: int, kind: int, name: str) -> int:
        if not 0 <= kind < KINDS:
            raise LookupRefused(LookupCode.INVALID_TYPE)
        found = self._desk.facts.numbers.get((kind, name))
        if found is None:
            raise LookupRefused(LookupCode.INVALID_NAME)
        return found
