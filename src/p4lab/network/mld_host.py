"""The MLD of a simulated host: version 1 (RFC 2710) or 2 (RFC 3810)."""

from __future__ import annotations

from ipaddress import IPv6Address

from p4lab.network.membership_host import MembershipHost
from p4lab.packets import mld
from p4lab.packets.ip import ETHERTYPE_IPV6, link_local
from p4lab.packets.membership import Message, Record, RecordType
from p4lab.topology import Host


class MldHost(MembershipHost[IPv6Address]):
    """A host's IPv6 groups; it speaks from its link-local address (RFC 3810, section 5.2.13)."""

    ether_type = ETHERTYPE_IPV6

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._address = link_local(host.mac)

    def _read(self, packet: bytes) -> Message[IPv6Address]:
        return mld.parse(packet)[1]

    def _join(self, group: IPv6Address) -> bytes:
        build = mld.join_v1 if self.is_older else mld.join_v2
        return mld.host_frame(self.host, build(self._address, group))

    def _leave(self, group: IPv6Address) -> bytes:
        build = mld.leave_v1 if self.is_older else mld.leave_v2
        return mld.host_frame(self.host, build(self._address, group))

    def _report(self, group: IPv6Address) -> bytes:
        if self.is_older:
            return self._join(group)
        record = Record(RecordType.MODE_IS_EXCLUDE, group)
        return mld.host_frame(self.host, mld.report_v2(self._address, [record]))
