"""What only simple_switch has: mirroring, queues, time. The service `simple_switch`."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from p4lab.model.entries import CloneSession, Update
from p4lab.model.state import SetGroupSession, Write
from p4lab.thrift.desk import Desk
from p4lab.thrift.interface import TYPES, MirrorCode, MirrorRefused

PS_PER_US = 1_000_000


@dataclass
class Own:
    """Its calls. Sessions that P4Runtime writes are not seen here."""

    desk: Desk
    _sessions: dict[int, Any] = field(default_factory=dict)

    def mirroring_session_add(self, session: int, to: Any) -> None:
        try:
            self.desk.runtime.write([_session(session, to)])
        except (ValueError, OverflowError) as error:  # numbers that the engine has no place for
            raise MirrorRefused(MirrorCode.NOT_FOUND) from error
        self._sessions[session] = to

    def mirroring_session_delete(self, session: int) -> None:
        self.mirroring_session_get(session)
        self.desk.runtime.write([Update("delete", CloneSession(session, ()))])
        del self._sessions[session]

    def mirroring_session_get(self, session: int) -> Any:
        if session not in self._sessions:
            raise MirrorRefused(MirrorCode.NOT_FOUND)
        return self._sessions[session]

    def mirroring_mapping_add(self, session: int, port: int) -> int:
        """One if it worked, as in bmv2, which gives a truth value as a number."""
        self.mirroring_session_add(session, TYPES["Session"](port))
        return 1

    def mirroring_mapping_delete(self, session: int) -> int:
        if session not in self._sessions:
            return 0
        self.mirroring_session_delete(session)
        return 1

    def mirroring_mapping_get_egress_port(self, session: int) -> int:
        to = self._sessions.get(session)
        return -1 if to is None or to.port is None else int(to.port)

    def set_egress_priority_queue_depth(self, port: int, priority: int, packets: int) -> int:
        return self._set_queue(port=port, priority=priority, depth=packets)

    def set_egress_queue_depth(self, port: int, packets: int) -> int:
        return self._set_queue(port=port, depth=packets)

    def set_all_egress_queue_depths(self, packets: int) -> int:
        return self._set_queue(depth=packets)

    def set_egress_priority_queue_rate(self, port: int, priority: int, rate: int) -> int:
        return self._set_queue(port=port, priority=priority, rate=rate)

    def set_egress_queue_rate(self, port: int, rate: int) -> int:
        return self._set_queue(port=port, rate=rate)

    def set_all_egress_queue_rates(self, rate: int) -> int:
        return self._set_queue(rate=rate)

    def get_time_elapsed_us(self) -> int:
        return self.desk.runtime.now // PS_PER_US

    def get_time_since_epoch_us(self) -> int:
        return time.time_ns() // 1000

    def _set_queue(self, **setting: int) -> int:
        """Zero, or -1 for a port, priority or number that there cannot be."""
        try:
            self.desk.runtime.set_queue(**setting)
        except (ValueError, OverflowError):
            return -1
        return 0


def _session(session: int, to: Any) -> Write:
    """A session with port, group or both; without either it is removed."""
    if to.group is not None:
        return SetGroupSession(session, to.group, to.port)
    if to.port is not None:
        return Update("insert", CloneSession(session, ((to.port, 0),)))
    return Update("delete", CloneSession(session, ()))
