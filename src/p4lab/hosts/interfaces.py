"""Interfaces of the network namespace of the caller, by system calls."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import socket
import struct

SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
SIOCETHTOOL = 0x8946
ETHTOOL_GLINK = 0xA
IFF_UP = 1
IFF_RUNNING = 0x40
_FLAGS = struct.Struct("16sh22x")  # ifreq: name, flags
_POINTER = struct.Struct("16sP16x")  # ifreq: name, where the ethtool_value is
_LINK = struct.Struct("II")  # ethtool_value: command, answer


def set_up(interface: str, up: bool) -> None:
    """Takes an interface up or down, at once. Raises OSError."""
    name = interface.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as system:
        answer = fcntl.ioctl(system, SIOCGIFFLAGS, _FLAGS.pack(name, 0))
        flags = _FLAGS.unpack(answer)[1]
        flags = flags | IFF_UP if up else flags & ~IFF_UP
        fcntl.ioctl(system, SIOCSIFFLAGS, _FLAGS.pack(name, flags))


def is_running(interface: str) -> bool:
    """Whether an interface is up and has a carrier, which a veth has while its other end is up. The
    kernel is asked: /sys may show the interfaces of another namespace."""
    value = ctypes.create_string_buffer(_LINK.pack(ETHTOOL_GLINK, 0))
    request = _POINTER.pack(interface.encode(), ctypes.addressof(value))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as system:
        try:
            fcntl.ioctl(system, SIOCETHTOOL, request)
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                return False  # it has been taken away
            return _has_running_flag(system, interface)
    return bool(_LINK.unpack(value.raw[: _LINK.size])[1])


def _has_running_flag(system: socket.socket, interface: str) -> bool:
    """What is left where a driver tells nothing of its link: a flag that the kernel works out a
    little later."""
    try:
        answer = fcntl.ioctl(system, SIOCGIFFLAGS, _FLAGS.pack(interface.encode(), 0))
    except OSError:
        return False
    return bool(_FLAGS.unpack(answer)[1] & IFF_RUNNING)
