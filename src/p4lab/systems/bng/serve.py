"""A gateway with everything around it: its state, its switch, its RADIUS server, its sockets."""

from __future__ import annotations

import gc
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from p4lab.control.p4runtime import P4RuntimeDriver, p4info_of
from p4lab.plurals import count_of
from p4lab.systems.bng.entries import Bandwidth
from p4lab.systems.bng.gateway import Gateway
from p4lab.systems.bng.lines import subscriptions
from p4lab.systems.bng.options import Options
from p4lab.systems.bng.process import Inbox, Process
from p4lab.systems.bng.provision import provision
from p4lab.systems.bng.radius.client import Client, ClientSettings
from p4lab.systems.bng.radius.coa import DynamicAuthorization
from p4lab.systems.bng.radius.sockets import Sockets
from p4lab.systems.bng.settings import GatewaySettings
from p4lab.systems.bng.store import Store
from p4lab.topology import Topology

NAS = "p4lab"
PORTS = 8
"""Sockets for each RADIUS service: 2,048 requests may be open"""
P4INFO = ".p4info.txtpb"
"""How the name of the P4Info ends that belongs to a JSON of p4c"""


@dataclass(frozen=True)
class Setup:
    """What the operator says. `radius` are host and ports of access and accounting; `program` is
    p4c's JSON for a switch that has none."""

    topology: Topology
    settings: GatewaySettings
    options: Options
    classes: Sequence[Bandwidth]
    state: Path
    switch: str
    device_id: int
    program: Path | None
    radius: tuple[str, int, int]
    secret: bytes
    coa: tuple[str, int]


def serve(setup: Setup, say: Callable[[str], object]) -> None:
    """Until Ctrl-C or SIGTERM. Sessions stay up, for the next one to go on with.

    Raises OSError, StoreError, and ValueError for a switch that is not there or refuses something.
    """
    with ExitStack() as stack:
        store = stack.enter_context(closing(Store(setup.state)))
        inbox = stack.enter_context(closing(Inbox()))
        driver = stack.enter_context(closing(_driver(setup, store, inbox)))
        radius = stack.enter_context(Sockets(*setup.radius, PORTS))
        changes = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        changes.bind(setup.coa)
        gateway = _gateway(setup, store, driver)
        driver.on_restart = gateway.begin_anew
        authorization = DynamicAuthorization(setup.secret, NAS, setup.options.address, gateway)
        process = Process(gateway, driver, inbox, radius, authorization, changes)
        gc.freeze()  # The sessions from before are here to stay: no collection looks at them again.
        host, port = setup.coa
        say(
            f"{count_of(gateway.sessions, 'session')} from before; "
            f"switch {setup.switch}, CoA {host}:{port}"
        )
        with _signals() as heard:
            process.run(lambda: bool(heard))
        say(f"{gateway.sessions} sessions stay up; --state {setup.state} goes on with them")
        if inbox.lost:
            say(f"{inbox.lost} packets came faster than the gateway hears, and were dropped")


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM end nothing by themselves, but are in this list."""
    heard: list[int] = []
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda signum, _: heard.append(signum)) for number in numbers]
    try:
        yield heard
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _driver(setup: Setup, store: Store, inbox: Inbox) -> P4RuntimeDriver:
    """Connected. Each start outbids the one before it, whose end the switch may not have seen."""
    p4info, config = _program(setup)
    driver = P4RuntimeDriver(
        setup.switch,
        p4info,
        device_id=setup.device_id,
        election_id=store.boot,
        on_packet=inbox.put,
    )
    driver.open(config)
    return driver


def _program(setup: Setup) -> tuple[str, bytes | None]:
    """P4Info of what the switch runs, or is to run, and what it has to be given for that."""
    if setup.program is not None:
        return setup.program.with_suffix(P4INFO).read_text("utf-8"), setup.program.read_bytes()
    found = p4info_of(setup.switch, setup.device_id)
    if not found:
        raise ValueError(f"{setup.switch} has no program: give it one with --program.")
    return found, None


def _gateway(setup: Setup, store: Store, driver: P4RuntimeDriver) -> Gateway:
    """Started, with the sessions from before."""
    now = time.monotonic_ns()
    nas = ClientSettings(setup.secret, NAS, setup.options.address, PORTS)
    gateway = Gateway(
        setup.options, store, Client(nas), driver, SystemRandom(), now, time.time_ns()
    )
    for one in setup.classes:
        gateway.api.add_class(one)
    lines = subscriptions(setup.topology, setup.settings)
    provision(gateway, setup.topology, lines, setup.settings)
    gateway.start(now)
    return gateway
