"""What a simulated host says of the groups it listens to, in IGMP or in MLD.

It reports what it joins, and what it listens to when asked. Hosts with an even number speak the
older version of the protocol, the others the newer, so that every network has both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic

from p4lab.packets.membership import A, Malformed, Message, Query
from p4lab.topology import Host

# Answers to a query are spread out, by host number, so that they do not come all at once.
ANSWER_STEP = 100_000  # nanoseconds

Answers = list[tuple[int, bytes]]


class MembershipHost(ABC, Generic[A]):
    """Which groups a host listens to. Frames to send come as (delay in nanoseconds, frame)."""

    ether_type: ClassVar[int]

    def __init__(self, host: Host) -> None:
        self.host = host
        self.groups: set[A] = set()
        self.is_older = host.number % 2 == 0

    def join(self, group: A) -> Answers:
        """The unsolicited report; nothing if it is a member already."""
        if group in self.groups:
            return []
        self.groups.add(group)
        return [(0, self._join(group))]

    def leave(self, group: A) -> Answers:
        """What says that the group is not wanted any more."""
        if group not in self.groups:
            return []
        self.groups.remove(group)
        return [(0, self._leave(group))]

    def hear(self, frame: bytes) -> Answers:
        """A frame has reached the host: a query is answered, anything else is not for it."""
        if int.from_bytes(frame[12:14], "big") != self.ether_type:
            return []
        try:
            message = self._read(frame[14:])
        except Malformed:
            return []
        if not isinstance(message, Query):
            return []
        general = message.group.is_unspecified
        asked = sorted(group for group in self.groups if general or group == message.group)
        return [(ANSWER_STEP * self.host.number, self._report(group)) for group in asked]

    @abstractmethod
    def _read(self, packet: bytes) -> Message[A]:
        """The message of a packet. Raises Malformed."""

    @abstractmethod
    def _join(self, group: A) -> bytes:
        """The frame that says that a group is wanted from now on."""

    @abstractmethod
    def _leave(self, group: A) -> bytes:
        """The frame that says that it is not wanted any more."""

    @abstractmethod
    def _report(self, group: A) -> bytes:
        """The frame that says that it is still wanted."""
