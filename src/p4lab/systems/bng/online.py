"""The sessions that are up: by their cell in the switch, and by the name that RADIUS knows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address
from typing import Any

from p4lab.systems.bng.callers import Caller, place_of, station
from p4lab.systems.bng.entries import SESSIONS, Known
from p4lab.systems.bng.radius.wire import Kind, text


class Online:
    """`free` are the cells that no session has, those that were given back last at the end."""

    def __init__(self, known: Known) -> None:
        self.free = deque(range(1, SESSIONS))
        self.by_index: dict[int, Caller] = {}
        self.by_name: dict[str, Caller] = {}
        self._known = known

    def __len__(self) -> int:
        return len(self.by_name)

    def enter(self, caller: Caller) -> None:
        """A session has come up: it gets a cell of its own."""
        while self.free[0] in self._known.sessions:  # somebody's who used the API
            self.free.rotate(-1)
        caller.index = self.free.popleft()
        self._put(caller)

    def restore(self, callers: Iterable[Caller]) -> None:
        """Sessions that were up before a restart, in their cells."""
        for caller in callers:
            self._put(caller)
        self.free = deque(index for index in self.free if index not in self.by_index)

    def leave(self, caller: Caller) -> None:
        """A session is over. Its cell is free when its counters have been read."""
        del self.by_index[caller.index], self.by_name[caller.acct_id]

    def _put(self, caller: Caller) -> None:
        self.by_index[caller.index] = caller
        self.by_name[caller.acct_id] = caller

    def find(self, named: dict[str, Any]) -> Sequence[Caller]:
        """The sessions for which all these attributes of RADIUS are true."""
        if "Acct-Session-Id" in named:
            one = self.by_name.get(named["Acct-Session-Id"])
            callers = [] if one is None else [one]
        else:
            callers = list(self.by_name.values())
        return [caller for caller in callers if self._is(caller, named)]

    def _is(self, caller: Caller, named: dict[str, Any]) -> bool:
        line = self._known.lines[place_of(caller.session)[0]]
        where = station(caller.session, line)
        address = caller.address and str(IPv4Address(caller.address.address))
        facts = {
            "Acct-Session-Id": caller.acct_id,
            "User-Name": caller.user.decode("utf-8", "replace"),
            "Framed-IP-Address": address,
            "Calling-Station-Id": caller.session.mac.hex("-"),
            "NAS-Port": line.number,
        }
        for name, value in named.items():
            if name == "NAS-Port-Id":
                if text(Kind.NAS_PORT_ID, value) not in where:
                    return False
            elif facts[name] != value:
                return False
        return True
