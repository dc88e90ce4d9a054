"""The IGMP of a simulated host: it reports what it joins, and what it listens to when asked.

Hosts with an even number speak version 2, the others version 3, so that every network has both.
"""

from __future__ import annotations

from ipaddress import IPv4Address

from p4lab.packets import igmp
from p4lab.packets.ip import ETHERTYPE_IPV4
from p4lab.topology import Host

# Answers to a query are spread out, by host number, so that they do not come all at once.
ANSWER_STEP = 100_000  # nanoseconds

Answers = list[tuple[int, bytes]]


class IgmpHost:
    """Which groups a host listens to. Frames to send come as (delay in nanoseconds, frame)."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.groups: set[IPv4Address] = set()
        self.version = 2 if host.number % 2 == 0 else 3

    def join(self, group: IPv4Address) -> Answers:
        """The unsolicited report of RFC 2236 or RFC 3376; nothing if it is a member already."""
        if group in self.groups:
            return []
        self.groups.add(group)
        build = igmp.join_v2 if self.version == 2 else igmp.join_v3
        return [(0, igmp.host_frame(self.host, build(self.host.ip, group)))]

    def leave(self, group: IPv4Address) -> Answers:
        """The leave message, or the report that the group is wanted from nobody."""
        if group not in self.groups:
            return []
        self.groups.remove(group)
        build = igmp.leave_v2 if self.version == 2 else igmp.leave_v3
        return [(0, igmp.host_frame(self.host, build(self.host.ip, group)))]

    def hear(self, frame: bytes) -> Answers:
        """A frame has reached the host: a query is answered, anything else is not for it."""
        if int.from_bytes(frame[12:14], "big") != ETHERTYPE_IPV4:
            return []
        try:
            _, message = igmp.parse(frame[14:])
        except igmp.Malformed:
            return []
        if not isinstance(message, igmp.Query):
            return []
        asked = sorted(group for group in self.groups if message.group in (group, igmp.NO_ADDRESS))
        return [(ANSWER_STEP * self.host.number, self._report(group)) for group in asked]

    def _report(self, group: IPv4Address) -> bytes:
        if self.version == 2:
            return igmp.host_frame(self.host, igmp.join_v2(self.host.ip, group))
        record = igmp.Record(igmp.RecordType.MODE_IS_EXCLUDE, group)
        return igmp.host_frame(self.host, igmp.report_v3(self.host.ip, [record]))
