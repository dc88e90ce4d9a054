"""Room for frames that wait in the kernel."""

from __future__ import annotations

import socket

SO_RCVBUFFORCE = 33  # what Python's socket module lacks


def enlarge(receiver: socket.socket, size: int) -> None:
    """Lets so many bytes wait for a socket. The kernel asks for the machine's root for that; in a
    user namespace it is as many as everybody may have (sysctl net.core.rmem_max)."""
    try:
        receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, size)
    except PermissionError:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
