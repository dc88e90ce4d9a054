"""The IGMP of a simulated host: version 2 (RFC 2236) or 3 (RFC 3376)."""

from __future__ import annotations

from ipaddress import IPv4Address

from p4lab.network.membership_host import MembershipHost
from p4lab.packets import igmp
from p4lab.packets.ip import ETHERTYPE_IPV4
from p4lab.packets.membership import Message, Record, RecordType


class IgmpHost(MembershipHost[IPv4Address]):
    """A host's IPv4 groups; it speaks from its IPv4 address."""

    ether_type = ETHERTYPE_IPV4

    def _read(self, packet: bytes) -> Message[IPv4Address]:
        return igmp.parse(packet)[1]

    def _join(self, group: IPv4Address) -> bytes:
        build = igmp.join_v2 if self.is_older else igmp.join_v3
        return igmp.host_frame(self.host, build(self.host.ip, group))

    def _leave(self, group: IPv4Address) -> bytes:
        build = igmp.leave_v2 if self.is_older else igmp.leave_v3
        return igmp.host_frame(self.host, build(self.host.ip, group))

    def _report(self, group: IPv4Address) -> bytes:
        if self.is_older:
            return self._join(group)
        record = Record(RecordType.MODE_IS_EXCLUDE, group)
        return igmp.host_frame(self.host, igmp.report_v3(self.host.ip, [record]))
