"""Work that root has done as somebody else, so that it can reach no more than they can."""

from __future__ import annotations

import os
import pwd
import resource
import traceback
from collections.abc import Callable
from typing import NoReturn

MOST = 32 << 20  # bytes of an answer


class DroppedError(Exception):
    """The work failed; the message is a traceback, for the log."""


def limit(memory: int, processes: int) -> None:
    """Bounds what this process and those that it starts may take: bytes of each one's memory, and
    their number for one user; neither can be raised again by who is not root."""
    for which, most in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(which, (most, most))


def as_user(user: pwd.struct_passwd, work: Callable[[], bytes]) -> bytes:
    """What `work` returns in a fork of this process that is this user and in no other group. This
    process must have one thread. Raises DroppedError."""
    result, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(result)
        _child(user, work, send)
    os.close(send)
    data = b""
    with os.fdopen(result, "rb") as file:
        data = file.read(MOST)
    _, status = os.waitpid(pid, 0)
    if data[:1] != b"R":
        raise DroppedError(data[1:].decode(errors="replace") or f"it ended with status {status}")
    return data[1:]


def _child(user: pwd.struct_passwd, work: Callable[[], bytes], send: int) -> NoReturn:
    """Nothing of the caller's code runs after it. Having been root, it cannot be traced by the
    user whom it becomes (ptrace(2), `dumpable`)."""
    try:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(user.pw_gid)
                os.setuid(user.pw_uid)
            os.chdir("/")
            message = b"R" + work()
        except BaseException:
            message = b"E" + traceback.format_exc().encode(errors="replace")
        view = memoryview(message)
        while view:
            view = view[os.write(send, view) :]
    finally:
        os._exit(0)
