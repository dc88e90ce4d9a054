"""System calls that Python has no name for, or not in every version of ours."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNET = 0x40000000

_has_left = False


def call(function: str, *arguments: int) -> None:
    """Calls a function of the C library that returns 0 if all is well. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def leave_network() -> None:
    """Gives this thread, and those that it starts, an empty network. Raises OSError."""
    global _has_left
    call("unshare", CLONE_NEWNET)
    _has_left = True


def has_left_network() -> bool:
    """Whether a thread of this process has ever had a network of its own: which one a thread that a
    library started is in cannot be told from then on."""
    return _has_left
