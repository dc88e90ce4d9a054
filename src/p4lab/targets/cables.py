"""Cables to a switch that is judged by itself: one at each port, with us at the other end."""

from __future__ import annotations

import select
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Collection, Sequence

from p4lab.network.counting import ETH_P_ALL, PACKET_OUTGOING

MTU = 9000

# What Python's socket module lacks (linux/if_packet.h).
SOL_PACKET, PACKET_AUXDATA = 263, 8
VLAN_VALID = 1 << 4
AT_ONCE = 10_000  # frames of one cable: of a loop there is always one more
_AUXDATA = struct.Struct("=IIIHHHH")  # status, two lengths, two offsets, tag, its EtherType
Frames = list[tuple[int, bytes]]


class Cables:
    """Pairs of interfaces in the network namespace where they are laid."""

    def __init__(self, near: Callable[[int], str]) -> None:
        """`near` names the switch's end of the cable at a port."""
        self._near = near
        self._far: dict[int, socket.socket] = {}

    def lay(self, port: int) -> str:
        """A cable at a port, if there is none: the name of its near end."""
        near, far = self._near(port), f"pc{port}"
        if port not in self._far:
            for command in (
                ["ip", "link", "add", near, "mtu", str(MTU), "type", "veth", "peer", "name", far],
                ["ip", "link", "set", far, "mtu", str(MTU), "up"],
                ["ip", "link", "set", near, "up"],
            ):
                subprocess.run(command, check=True, capture_output=True)
            cable = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            cable.bind((far, ETH_P_ALL))
            self.add(port, cable)
        return near

    def add(self, port: int, cable: socket.socket) -> None:
        """A cable that is there already, by the socket at our end."""
        cable.setblocking(False)
        cable.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self._far[port] = cable

    def forget(self, port: int) -> None:
        """A cable that others have laid is theirs again."""
        self._far.pop(port, None)

    def send(self, port: int, frame: bytes) -> None:
        """A frame goes into a port."""
        self._far[port].send(frame)

    def drain(self) -> None:
        """What has come out so far is nobody's."""
        for cable in self._far.values():
            _drained(cable)

    def collect(
        self,
        quiet: float,
        longest: float,
        *,
        ports: Collection[int] | None = None,
        heard: Callable[[], Frames] = list,
        least: int = 0,
    ) -> tuple[Frames, bool]:
        """What comes out of these ports (all, if none are named), and `heard` besides, until it is
        `quiet` seconds quiet and the `least` number of frames is there; and whether it was quiet
        within the `longest` time, in seconds."""
        found: Frames = []
        chosen = self._far.keys() if ports is None else self._far.keys() & ports
        by_number = {self._far[port].fileno(): (port, self._far[port]) for port in chosen}
        end = time.monotonic() + longest
        calm = time.monotonic() + quiet
        while (now := time.monotonic()) < end and (now < calm or len(found) < least):
            ready, _, _ = select.select(list(by_number), [], [], quiet / 10)
            before = len(found)
            for number in ready:
                port, cable = by_number[number]
                found += [(port, frame) for frame in _drained(cable)]
            found += heard()
            if len(found) > before:
                calm = time.monotonic() + quiet
        return found, now >= calm

    def close(self) -> None:
        """Our ends are gone; the interfaces go with their namespace, or with the pair."""
        for cable in self._far.values():
            cable.close()
        self._far.clear()


def _drained(cable: socket.socket) -> list[bytes]:
    frames: list[bytes] = []
    while len(frames) < AT_ONCE:
        try:
            frame, told, _, address = cable.recvmsg(MTU + 100, socket.CMSG_SPACE(_AUXDATA.size))
        except BlockingIOError:
            break
        if address[2] != PACKET_OUTGOING:
            frames.append(_whole(frame, told))
    return frames


def _whole(frame: bytes, told: Sequence[tuple[int, int, bytes]]) -> bytes:
    """A frame with its VLAN header, which the kernel takes off and tells beside it."""
    for level, kind, data in told:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tag, ether_type = _AUXDATA.unpack(data)
            if status & VLAN_VALID:
                return frame[:12] + struct.pack("!HH", ether_type, tag) + frame[12:]
    return frame
