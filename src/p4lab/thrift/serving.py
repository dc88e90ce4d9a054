"""All services of one switch, from a port to a port."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from p4lab import _engine
from p4lab.thrift.cells import Cells
from p4lab.thrift.desk import Desk
from p4lab.thrift.interface import SERVICES, TYPES
from p4lab.thrift.learning import Learning
from p4lab.thrift.management import Management
from p4lab.thrift.own import Own
from p4lab.thrift.program import NOTHING, facts
from p4lab.thrift.publisher import AddressError, Publisher
from p4lab.thrift.replication import Replication
from p4lab.thrift.server import Server
from p4lab.thrift.tables import Tables


def default_notifications(device_id: int) -> str:
    """Where digests are told unless somebody says otherwise, as in bmv2."""
    return f"ipc:///tmp/bmv2-{device_id}-notifications.ipc"


@contextmanager
def serving(
    forwarder: _engine.Forwarder,
    program: _engine.Program | None,
    *,
    port: int,
    host: str = "0.0.0.0",
    config: str | None = None,
    ports: Mapping[int, str] | None = None,
    device_id: int = 0,
    notifications: str | None = None,
) -> Iterator[int]:
    """Serves a switch over Thrift and gives the port, of which 0 is any.

    `config` is the JSON that the program came in, `notifications` the address for digests. Raises
    OSError, `publisher.AddressError`, and ValueError for a program without P4Info.
    """
    own = facts(program, config) if program is not None else NOTHING
    desk = Desk(_engine.Runtime(forwarder), own, ports or {}, device_id)
    ended = threading.Event()
    with _publisher(device_id, notifications) as publisher:
        learning = Learning(desk, publisher)
        info = TYPES["Info"](device_id, port, publisher.address)
        with Server((host, port), desk, _answers(desk, learning, info)) as server:
            info.port = server.port
            teller = threading.Thread(target=learning.run, args=(ended,), daemon=True)
            teller.start()
            try:
                yield server.port
            finally:
                ended.set()
                teller.join()


def _publisher(device_id: int, notifications: str | None) -> Publisher:
    """At the address that was asked for, or else at bmv2's, unless another switch has it: clients
    ask where it is. Raises AddressError."""
    if notifications is not None:
        return Publisher(notifications)
    usual = default_notifications(device_id)
    try:
        return Publisher(usual)
    except AddressError:
        return Publisher(usual.replace("-notifications", f"-{os.getpid()}-notifications"))


def _answers(desk: Desk, learning: Learning, info: Any) -> dict[str, Any]:
    """Who answers which call."""
    cells, replication = Cells(desk), Replication(desk)
    management = Management(desk, cells, learning, replication, info)
    parts = (Tables(desk), cells, learning, management, replication, Own(desk))
    names = {name for methods in SERVICES.values() for name in methods}
    return {name: getattr(part, name) for part in parts for name in names if hasattr(part, name)}
