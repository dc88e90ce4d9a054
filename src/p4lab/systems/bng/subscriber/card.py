"""The subscriber's side in Linux: a network card for frames, and a TUN interface for IP packets."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address

ETH_P_ALL = 3
PACKET_OUTGOING = 4
LONGEST_FRAME = 65536
# What Python's socket module lacks (linux/if_packet.h, linux/if_tun.h).
SOL_PACKET, PACKET_AUXDATA, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 263, 8, 1, 1
VLAN_VALID = 1 << 4
_AUXDATA = struct.Struct("=IIIHHHH")  # status, two lengths, two offsets, tag, its EtherType
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
TUN = "/dev/net/tun"


class Card:
    """Whole Ethernet frames of an interface, VLAN tags included. Needs CAP_NET_RAW."""

    def __init__(self, interface: str) -> None:
        """Raises OSError if there is no such interface, or we may not."""
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.bind((interface, ETH_P_ALL))
        self._socket.setblocking(False)
        self._socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self._number = socket.if_nametoindex(interface)
        self.mac: bytes = self._socket.getsockname()[4]
        """The interface's own address"""

    def hear_all(self) -> None:
        """Frames to other MAC addresses, too."""
        request = struct.pack("iHH8s", self._number, PACKET_MR_PROMISC, 0, b"")
        self._socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)

    def fileno(self) -> int:
        """For `select`."""
        return self._socket.fileno()

    def send(self, frame: bytes) -> None:
        """A frame that the interface does not take now is lost, as on a cable."""
        try:
            self._socket.send(frame)
        except (BlockingIOError, InterruptedError):
            return

    def heard(self) -> Iterator[bytes]:
        """The frames that have come."""
        while True:
            try:
                frame, told, _, address = self._socket.recvmsg(
                    LONGEST_FRAME, socket.CMSG_SPACE(_AUXDATA.size)
                )
            except BlockingIOError:
                return
            if address[2] != PACKET_OUTGOING:
                yield whole(frame, told)

    def close(self) -> None:
        """The interface stays."""
        self._socket.close()


def whole(frame: bytes, told: Sequence[tuple[int, int, bytes]]) -> bytes:
    """A frame with its outermost VLAN tag, which the kernel takes off and passes on separately."""
    for level, kind, data in told:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA) and len(data) >= _AUXDATA.size:
            status, _, _, _, _, tag, ethertype = _AUXDATA.unpack_from(data)
            if status & VLAN_VALID:
                return frame[:12] + struct.pack("!HH", ethertype, tag) + frame[12:]
    return frame


class Tunnel:
    """A TUN interface with what a subscriber was given. Needs CAP_NET_ADMIN, and goes when it is
    closed."""

    def __init__(self, name: str) -> None:
        """Raises OSError if /dev/net/tun is missing, or we may not."""
        self.name = name
        self._device = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
        request = struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI)
        fcntl.ioctl(self._device, TUNSETIFF, request)
        # The identifier comes from IPv6CP; the kernel must not make up another one.
        _ip("link", "set", name, "addrgenmode", "none")

    def fileno(self) -> int:
        """For `select`."""
        return self._device

    def raise_v4(self, address: IPv4Address, mtu: int, *, default: bool) -> None:
        """The address is ours; `default` sends everything this way."""
        _ip("address", "replace", f"{address}/32", "dev", self.name)
        _ip("link", "set", self.name, "mtu", str(mtu), "up")
        if default:
            _ip("route", "replace", "default", "dev", self.name)

    def raise_v6(self, interface_id: int, mtu: int) -> None:
        """The link-local address of the interface identifier."""
        _ip("link", "set", self.name, "mtu", str(mtu), "up")
        address = IPv6Address(0xFE80 << 112 | interface_id)
        _ip("-6", "address", "replace", f"{address}/64", "dev", self.name, "nodad")

    def raise_prefix(self, address: IPv6Address, *, default: bool) -> None:
        """An address of the prefix that the gateway advertises."""
        _ip("-6", "address", "replace", f"{address}/128", "dev", self.name, "nodad")
        if default:
            _ip("-6", "route", "replace", "default", "dev", self.name)

    def lower(self) -> None:
        """Nothing is ours any more."""
        _ip("address", "flush", "dev", self.name)
        _ip("link", "set", self.name, "down")

    def send(self, packet: bytes) -> None:
        """A packet to this host; one that the kernel refuses is lost."""
        try:
            os.write(self._device, packet)
        except OSError:
            return

    def heard(self) -> Iterator[bytes]:
        """The packets that this host sends."""
        while True:
            try:
                yield os.read(self._device, LONGEST_FRAME)
            except (BlockingIOError, InterruptedError):
                return

    def close(self) -> None:
        """The interface goes."""
        os.close(self._device)


def _ip(*words: str) -> None:
    """Raises RuntimeError with what `ip` says if it fails."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")
