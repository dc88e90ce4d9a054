"""A network namespace of our own, apart from the machine's network."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from p4lab.network.base import NetworkError

CLONE_NEWNET = 0x40000000


def enter_own() -> int:
    """Leaves the machine's network, for this thread and those it starts; gives the way back.
    Raises NetworkError."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    _libc("unshare", CLONE_NEWNET)
    return home


def leave(home: int) -> None:
    """Goes back to where `enter_own` left. What was made in between goes with its last user."""
    _libc("setns", home, CLONE_NEWNET)
    os.close(home)


def quiet_ipv6() -> None:
    """Kernels talk IPv6 on every interface unless told not to; a switch would have to carry it."""
    for scope in ("all", "default"):
        knob = Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        if knob.exists():
            knob.write_text("1")


def _libc(function: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise NetworkError(
            f"the system refuses {function} for network namespaces: {os.strerror(number)}"
        )
