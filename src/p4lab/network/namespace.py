"""A network namespace of our own, apart from the machine's network."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from p4lab import rights
from p4lab.hosts import kernel
from p4lab.network.base import NetworkError

SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
SIOCETHTOOL = 0x8946
ETHTOOL_GLINK = 0xA
IFF_UP = 1
IFF_RUNNING = 0x40
_FLAGS = struct.Struct("16sh22x")  # ifreq: name, flags
_POINTER = struct.Struct("16sP16x")  # ifreq: name, where the ethtool_value is
_LINK = struct.Struct("II")  # ethtool_value: command, answer


def enter_own() -> int:
    """Leaves the machine's network, for this thread and those it starts; gives the way back.
    Raises NetworkError."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    _call("unshare", kernel.CLONE_NEWNET)
    return home


def leave(home: int) -> None:
    """Goes back to where `enter_own` left. What was made in between goes with its last user. Who is
    root of a user namespace only may not go back into the machine's network, and gets an empty one
    in its place."""
    try:
        _call("setns", home, kernel.CLONE_NEWNET)
    except NetworkError:
        if rights.held() != "user namespace":
            raise
        _call("unshare", kernel.CLONE_NEWNET)
    finally:
        os.close(home)


@contextmanager
def apart() -> Iterator[None]:
    """A network of our own while this is entered, with nothing but `lo`: ports and interfaces are
    free there, whoever else uses them. Raises NetworkError."""
    home = enter_own()
    try:
        set_up("lo", True)
        yield
    finally:
        leave(home)


def clear(shells: list[Any], home: int | None) -> None:
    """Ends the shells of Mininet's nodes and goes back, where `enter_own` has come this far."""
    for shell in shells:
        shell.terminate()
    shells.clear()
    if home is not None:
        leave(home)


def quiet_ipv6() -> None:
    """Kernels talk IPv6 on every interface unless told not to; a switch would have to carry it."""
    for scope in ("all", "default"):
        knob = Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        if knob.exists():
            knob.write_text("1")


def set_up(interface: str, up: bool) -> None:
    """Takes an interface of this namespace up or down, at once. Raises OSError."""
    name = interface.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as system:
        answer = fcntl.ioctl(system, SIOCGIFFLAGS, _FLAGS.pack(name, 0))
        flags = _FLAGS.unpack(answer)[1]
        flags = flags | IFF_UP if up else flags & ~IFF_UP
        fcntl.ioctl(system, SIOCSIFFLAGS, _FLAGS.pack(name, flags))


def is_running(interface: str) -> bool:
    """Whether an interface of this namespace is up and has a carrier, which a veth has while its
    other end is up. The kernel is asked: /sys may show the interfaces of another namespace."""
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


def _call(function: str, *arguments: int) -> None:
    try:
        kernel.call(function, *arguments)
    except OSError as error:
        raise NetworkError(
            f"the system refuses {function} for network namespaces: {error.strerror}"
        ) from error
