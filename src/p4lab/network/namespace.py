"""A network namespace of our own, apart from the machine's network."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from p4lab import rights
from p4lab.hosts import kernel
from p4lab.hosts.interfaces import set_up
from p4lab.network.base import NetworkError


def enter_own() -> int:
    """Leaves the machine's network, for this thread and those it starts; gives the way back.
    Raises NetworkError."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    _told("unshare", kernel.leave_network)
    return home


def leave(home: int) -> None:
    """Goes back to where `enter_own` left. What was made in between goes with its last user. Who is
    root of a user namespace only may not go back into the machine's network, and gets an empty one
    in its place."""
    try:
        _told("setns", kernel.call, "setns", home, kernel.CLONE_NEWNET)
    except NetworkError:
        if rights.held() != "user namespace":
            raise
        _told("unshare", kernel.leave_network)
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


def _told(name: str, call: Callable[..., None], *arguments: object) -> None:
    try:
        call(*arguments)
    except OSError as error:
        raise NetworkError(
            f"the system refuses {name} for network namespaces: {error.strerror}"
        ) from error
