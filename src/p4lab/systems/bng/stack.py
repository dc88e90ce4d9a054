"""The gateway as a node of IP itself: ICMP errors, ARP, router advertisements, DHCPv6."""

from __future__ import annotations

from ipaddress import IPv6Address

from p4lab.control.limit import TokenBucket
from p4lab.model.control import PacketIn
from p4lab.systems.bng.addresses.dhcpv6 import (
    SERVER_PORT,
    Delegation,
    answer,
    in_udp,
    packet_of,
    server_id,
)
from p4lab.systems.bng.addresses.errors import expired, fragments, too_long
from p4lab.systems.bng.addresses.router import (
    Advertisement,
    advertisement,
    is_solicitation,
    link_local,
)
from p4lab.systems.bng.callers import Caller
from p4lab.systems.bng.entries import HOST_BITS, Known, Route, core_mac
from p4lab.systems.bng.frames import arp_reply, core_frame
from p4lab.systems.bng.options import Options
from p4lab.systems.bng.ppp.codes import IPV4, IPV6
from p4lab.systems.bng.pppoe import Concentrator


class Stack:
    """What goes to subscribers is given to the concentrator, what goes to the core to `take`.
    Where nothing can be said, methods give the reason."""

    def __init__(self, options: Options, known: Known, concentrator: Concentrator) -> None:
        self._options, self._known, self._concentrator = options, known, concentrator
        self._frames: list[tuple[int, bytes]] = []
        self._errors: dict[int, TokenBucket] = {}

    def take(self) -> list[tuple[int, bytes]]:
        """Ports and frames to be sent to the core."""
        frames, self._frames = self._frames, []
        return frames

    def forget(self, session: int) -> None:
        """A session is over."""
        self._errors.pop(session, None)

    # ---- IPv6 on a subscriber's link

    def advertise(self, caller: Caller) -> None:
        """Tell a subscriber its prefix, MTU and name servers (RFC 4861)."""
        said = Advertisement(
            managed=False,
            other=caller.delegated is not None,
            prefix=caller.prefix,
            mtu=caller.link.peer_mru,
            dns=tuple(map(int, self._options.dns6)),
        )
        packet = advertisement(caller.gateway_id, said)
        self._concentrator.send(caller.session, IPV6, packet)

    def ipv6(self, caller: Caller, packet: bytes) -> str:
        """What a subscriber says to its router: it asks for an advertisement, or by DHCPv6."""
        if is_solicitation(packet):
            self.advertise(caller)
            return ""
        said = packet_of(packet, SERVER_PORT)
        if said is None or packet[8:10] != b"\xfe\x80":
            return "IPv6 on the link"
        access = next(iter(self._known.access.values()))
        granted = Delegation(caller.delegated, tuple(map(int, self._options.dns6)))
        body = answer(server_id(access.mac), said, granted)
        if body is not None:
            own, asker = link_local(caller.gateway_id), IPv6Address(packet[8:24])
            self._concentrator.send(caller.session, IPV6, in_udp(own, asker, False, body))
        return ""

    # ---- Packets that cannot go on

    def expired(self, now: int, caller: Caller, packet: bytes, upstream: bool) -> str:
        """A packet of a session has lived too long: tell its sender."""
        if not self._may_answer(now, caller):
            return "answered often enough"
        error = expired(self._options.address, self._options.address6, packet)
        return "" if error is None else self._to_sender(caller, error, upstream)

    def too_long(self, now: int, caller: Caller, packet: bytes, upstream: bool) -> str:
        """A packet is too long for the line: tell its sender, or send it on in pieces."""
        if not self._may_answer(now, caller):
            return "answered often enough"
        mtu = caller.link.peer_mru
        error = too_long(self._options.address, self._options.address6, packet, mtu)
        if error is not None:
            return self._to_sender(caller, error, upstream)
        if not upstream:
            for piece in fragments(packet, mtu):
                self._to_subscriber(caller, piece)
        return ""

    def _may_answer(self, now: int, caller: Caller) -> bool:
        return self._errors.setdefault(caller.index, TokenBucket()).allows(now)

    def _to_sender(self, caller: Caller, packet: bytes, upstream: bool) -> str:
        if not upstream:
            return self._to_core(packet)
        self._to_subscriber(caller, packet)
        return ""

    def _to_subscriber(self, caller: Caller, packet: bytes) -> None:
        self._concentrator.send(caller.session, IPV6 if packet[0] >> 4 == 6 else IPV4, packet)

    def _to_core(self, packet: bytes) -> str:
        """A packet of ours to the core, by the most specific route of any service."""
        version = packet[0] >> 4
        at, bits = 24 if version == 6 else 16, HOST_BITS[version]
        address = int.from_bytes(packet[at : at + bits // 8], "big")
        best: Route | None = None
        for route in self._known.routes.values():
            net = route.net
            shift = bits - net.length
            fits = net.version == version and address >> shift == net.address >> shift
            if fits and (best is None or net.length > best.net.length):
                best = route
        if best is None or best.port is None:
            return "no route for our own packet"
        mac = core_mac(self._known, best.port)
        self._frames.append((best.port, core_frame(best, mac, packet)))
        return ""

    def arp(self, packet: PacketIn) -> str:
        """Somebody in the core asks for our MAC address."""
        try:
            mac = core_mac(self._known, packet.port)
        except ValueError:
            return "ARP where no core is"
        reply = arp_reply(packet.frame, self._options.address, mac)
        if reply is not None:
            self._frames.append((packet.port, reply))
        return ""
