"""System calls that Python has no name for, or not in every version of ours."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNET = 0x40000000


def call(function: str, *arguments: int) -> None:
    """Calls a function of the C library that returns 0 if all is well. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
