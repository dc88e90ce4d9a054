"""What subscribers watch: IGMP in each session, by itself (RFC 3376).

    listeners = Listeners(gateway's address)
    listeners.heard(now, session, packet)      # IPv4 with IGMP in it, from a session that is up
    listeners.tick(now)                        # when `listeners.deadline` has come
    listeners.drop(session)                    # the session is over
    listeners.news()                           # -> [(session, group, True or False)], in order
    listeners.take()                           # -> [(session, IPv4 packet)] to be sent

A session costs nothing until it speaks IGMP, and again when it watches nothing any more. Times are
nanoseconds; groups are numbers.
"""

from __future__ import annotations

import heapq
from ipaddress import IPv4Address

from p4lab.control.igmp import IgmpRouter
from p4lab.control.membership import Effects
from p4lab.packets.igmp import NO_ADDRESS, query_v3
from p4lab.packets.membership import Query

MOST_GROUPS = 8
"""That one session watches: nobody has more screens, and groups are few in the switch"""
EVERYTHING = Query(3, NO_ADDRESS, 100)
"""To be answered within 10 s"""


class Listeners:
    """See above."""

    def __init__(self, address: IPv4Address) -> None:
        self._address = address
        self._queriers: dict[int, IgmpRouter] = {}
        self._groups: dict[int, set[int]] = {}
        self._timers: list[tuple[int, int]] = []
        self._due: dict[int, int] = {}
        self._news: list[tuple[int, int, bool]] = []
        self._packets: list[tuple[int, bytes]] = []

    @property
    def deadline(self) -> int | None:
        """When `tick` has to be called at the latest; None for never."""
        return self._timers[0][0] if self._timers else None

    def ask(self, session: int) -> None:
        """What does a session watch? For those that were up before the gateway was."""
        self._packets.append((session, query_v3(self._address, EVERYTHING)))

    def heard(self, now: int, session: int, packet: bytes) -> None:
        """Whatever it is: what is not a report of IGMP changes nothing."""
        querier = self._queriers.get(session)
        if querier is None:
            querier = IgmpRouter(self._address, [session])
            first = querier.start(now)
            self._queriers[session], self._groups[session] = querier, set()
            self._do(session, querier.handle(now, session, packet), first.packets)
        else:
            self._do(session, querier.handle(now, session, packet))

    def tick(self, now: int) -> None:
        """Ask again, and forget who has not answered."""
        while self._timers and self._timers[0][0] <= now:
            due, session = heapq.heappop(self._timers)
            if self._due.get(session) == due:
                del self._due[session]
                self._do(session, self._queriers[session].timer(now))

    def drop(self, session: int) -> None:
        """It watches nothing any more."""
        self._queriers.pop(session, None)
        self._due.pop(session, None)
        self._news += [(session, group, False) for group in sorted(self._groups.pop(session, ()))]

    def news(self) -> list[tuple[int, int, bool]]:
        """Sessions that have begun or ceased to watch a group, since the last call."""
        news, self._news = self._news, []
        return news

    def take(self) -> list[tuple[int, bytes]]:
        """Packets to be sent to sessions."""
        packets, self._packets = self._packets, []
        return packets

    def _do(
        self, session: int, effects: Effects, before: tuple[tuple[int, bytes], ...] = ()
    ) -> None:
        groups = self._groups[session]
        for _, group in effects.leaves:
            if group in groups:
                groups.remove(group)
                self._news.append((session, group, False))
        for _, group in effects.joins:
            if len(groups) < MOST_GROUPS:
                groups.add(group)
                self._news.append((session, group, True))
        if not groups:
            self.drop(session)
            return
        self._packets += before + effects.packets
        due = effects.next_timer
        if due is not None and due < self._due.get(session, due + 1):
            self._due[session] = due
            heapq.heappush(self._timers, (due, session))
