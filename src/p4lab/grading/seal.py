"""Takes from a process, for good, the ways to start another one and to reach a network.

Limits on resources do not bind root, and graders often run as root in a container. On Linux the
kernel can be given a filter of system calls instead (seccomp(2)): a small program of the old packet
filter that sees the number of each call. Those below are answered with EPERM.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys

# By machine: the value that the kernel calls the architecture (linux/audit.h), and the numbers of
# clone, clone3, fork, vfork, execve, execveat, ptrace, socket, connect (asm/unistd.h).
_MACHINES = {
    "x86_64": (0xC000003E, (56, 435, 57, 58, 59, 322, 101, 41, 42)),
    "aarch64": (0xC00000B7, (220, 435, 221, 281, 117, 198, 203)),
}
_X32 = 0x40000000  # another set of numbers for the same calls of x86_64

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_PR_SET_NO_NEW_PRIVS = 38

# Instructions of the filter: load a word, jump if equal, jump if not less, return.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE = 0, 4  # where they are in what the filter sees
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def seal() -> bool:
    """Whether this process, and all that it becomes, is sealed now. Not on other systems and
    machines, nor where the kernel has no such filters."""
    found = _MACHINES.get(platform.machine())
    if not sys.platform.startswith("linux") or found is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
    code = _filter(*found)
    program = _Program(len(code) // 8, code)
    # Without the first, the second is for root only.
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, one, none, none, none) != 0:
        return False
    mode = ctypes.c_ulong(_SECCOMP_MODE_FILTER)
    return bool(libc.prctl(_PR_SET_SECCOMP, mode, ctypes.byref(program), none, none) == 0)


def _filter(architecture: int, refused: tuple[int, ...]) -> bytes:
    """Calls of another architecture have other numbers; a process of this one cannot make them but
    by a way that the kernel offers (int 0x80), so they are refused altogether."""
    last = len(refused) + 1  # jumps are counted in instructions to skip
    checks = [(_IF_EQUAL, last - place, 0, number) for place, number in enumerate(refused, 1)]
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 0, last + 2, architecture),
        (_LOAD, 0, 0, _NUMBER),
        (_IF_AT_LEAST, last, 0, _X32),
        *checks,
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
