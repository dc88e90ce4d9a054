"""Runs a command with a filter of system calls (seccomp(2)) that keeps it from making user
namespaces, as that of a container does: `python refusing.py COMMAND...`"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

UNSHARE = {"x86_64": 272, "aarch64": 97}
CLONE_NEWUSER = 0x10000000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
LOAD, IS, HAS, RETURN = 0x20, 0x15, 0x45, 0x06  # instructions of the old packet filter
NUMBER, FIRST_ARGUMENT = 0, 16  # where they are in struct seccomp_data
ALLOW, FAIL = 0x7FFF0000, 0x00050000


class Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def main() -> None:
    code = [
        (LOAD, 0, 0, NUMBER),
        (IS, 0, 3, UNSHARE[platform.machine()]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (HAS, 0, 1, CLONE_NEWUSER),
        (RETURN, 0, 0, FAIL | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
    program = Program(len(code), ctypes.cast(text, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1), (PR_SET_SECCOMP, FILTER, ctypes.byref(program))):
        if libc.prctl(*arguments, *[0] * (5 - len(arguments))) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
