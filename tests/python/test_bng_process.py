"""`p4lab gateway` beside a switch that runs: FreeRADIUS, radclient, Linux hosts that dial in.

If these fail, the gateway works in tests only: an operator cannot start it, or a crash of it costs
subscribers their sessions or their bills.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

import p4runtime_switch as lab
from linux_stacks import Room, Stack
from p4lab.paths import ROOT
from p4lab.systems.bng.lines import Subscription, subscriptions
from p4lab.systems.bng.provision import EVERYBODY
from p4lab.systems.bng.radius import detail
from p4lab.systems.bng.radius.freeradius import MISSING, FreeRadius
from p4lab.systems.bng.radius.freeradius import program as freeradius
from p4lab.systems.bng.radius.profile import Profile
from p4lab.systems.bng.radius.users import User
from p4lab.systems.bng.settings import GatewaySettings
from p4lab.systems.bng.subscriber import hostile
from p4lab.topology import Host, Topology

PROGRAM = ROOT / "p4" / "bng" / "v1model.p4"
TOPOLOGY = Topology.load("bng")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
SECONDS = 30.0
SO_NO_CHECK = 11
"""A veth hands on packets whose checksums nobody has computed; without one there is none missing"""
UDP_PORT = 5004
BODY = 100
IP_BYTES = BODY + 28

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="interfaces need root"),
    pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="there is no /dev/net/tun here"),
    pytest.mark.skipif(freeradius() is None, reason=MISSING),
    pytest.mark.skipif(
        shutil.which("radclient") is None, reason="radclient: sudo apt install freeradius-utils"
    ),
]


def until(done: Callable[[], Any], what: str) -> Any:
    """What `done` gives as soon as that is something."""
    end = time.monotonic() + SECONDS
    while not (found := done()):
        assert time.monotonic() < end, what
        time.sleep(0.02)
    return found


class Home:
    """A Linux host at a port of the switch."""

    def __init__(self, room: Room, host: Host) -> None:
        self.host, self.stack = host, room.stack()
        self.near = f"g{os.getpid() % 10**6}p{host.port}"
        far = ["name", host.interface, "address", host.mac.to_bytes(6, "big").hex(":")]
        far += ["netns", str(self.stack.holder)]
        lab._ip("link", "add", self.near, "type", "veth", "peer", *far)
        Path(f"/proc/sys/net/ipv6/conf/{self.near}/disable_ipv6").write_text("1")
        lab._ip("link", "set", self.near, "up")
        self.stack.run("ip", "link", "set", host.interface, "up")

    def serve(self) -> None:
        """Have an address of its own, and the gateway as the way to everybody."""
        gateway = str(TOPOLOGY.routers[0].address)
        mac = self.host.gateway_mac.to_bytes(6, "big").hex(":")
        for words in (
            ("addr", "add", f"{self.host.ip}/32", "dev", self.host.interface),
            ("neigh", "add", gateway, "lladdr", mac, "dev", self.host.interface),
            ("route", "add", gateway, "dev", self.host.interface),
            ("route", "add", "default", "via", gateway),
        ):
            self.stack.run("ip", *words)

    def socket(self) -> socket.socket:
        made = self.stack.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
        made.settimeout(2)
        made.bind((str(self.host.ip), UDP_PORT))
        return made


def subscription(home: Home) -> Subscription:
    """The line of a home: its tags, its name, its password."""
    lines = subscriptions(TOPOLOGY, GatewaySettings(core="web tv"))
    return next(one for one in lines if one.host.name == home.host.name)


class Caller:
    """A host that dials in by our client."""

    def __init__(self, home: Home, log: Path) -> None:
        self.home, self.log = home, log
        with log.open("w") as out:
            command = [*_inside(home.stack), *subscription(home).command, "--once"]
            self.process = subprocess.Popen(command, env=ENVIRONMENT, stdout=out, stderr=out)
        until(self.is_up, f"{home.host.name} does not get in")

    def is_up(self) -> bool:
        said = self.log.read_text().splitlines()
        assert self.process.poll() is None, said
        return any(line.startswith("{") and json.loads(line)["state"] == "up" for line in said)

    def hang_up(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(SECONDS) == 0


def _inside(stack: Stack) -> tuple[str, ...]:
    return stack._inside


_bodies = count(1)


def exchange(caller: Home, server: Home, packets: int) -> None:
    """So many datagrams there and back, each once and in order, or this fails."""
    with caller.socket() as near, server.socket() as far:
        for number in range(packets):
            body = next(_bodies).to_bytes(BODY, "big")
            near.sendto(body, (str(server.host.ip), UDP_PORT))
            assert far.recvfrom(2000) == (body, (str(caller.host.ip), UDP_PORT)), number
            far.sendto(body, (str(caller.host.ip), UDP_PORT))
            assert near.recvfrom(2000) == (body, (str(server.host.ip), UDP_PORT)), number


class Operator:
    """Who starts FreeRADIUS and the gateway."""

    def __init__(self, server: FreeRadius, folder: Path, switch: str, *more: str) -> None:
        self.server, self.folder, self.switch, self.more = server, folder, switch, more
        self.coa = lab.free_address()
        self.process: subprocess.Popen[str] | None = None
        (folder / "secret").write_bytes(server.secret + b"\n")

    def start(self) -> str:
        """The gateway; gives what it says when it runs."""
        server = self.server
        words = ["gateway", "bng", "--core", "web tv", "--switch", self.switch]
        words += ["--radius", f"127.0.0.1:{server.access_port}:{server.accounting_port}"]
        words += ["--secret", str(self.folder / "secret"), "--coa", self.coa]
        words += ["--state", str(self.folder / "gateway.db"), *self.more]
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "p4lab", *words],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert "sessions from before" in said, said + self.process.stdout.read()
        return said

    def end(self, number: signal.Signals) -> str:
        """End the gateway; gives what it says at last."""
        assert self.process is not None and self.process.stdout is not None
        self.process.send_signal(number)
        self.process.wait(SECONDS)
        return self.process.stdout.read()

    def disconnect(self, name: str) -> str:
        """What radclient says of the gateway's answer."""
        secret = self.server.secret.decode()
        return subprocess.run(
            ["radclient", "-x", "-r", "3", self.coa, "disconnect", secret],
            input=f'User-Name="{name}"',
            capture_output=True,
            text=True,
            check=False,
        ).stdout

    def bills(self) -> dict[str, detail.Bill]:
        """By user name; nobody here dials twice under test."""
        return detail.bills(detail.read(self.server.detail))

    def stops(self, name: str) -> list[dict[str, str]]:
        found = [one for bill in self.bills().values() for one in bill.stops]
        return [one for one in found if one["User-Name"] == name]


def names(*hosts: str) -> list[User]:
    """They get the addresses of the topology, so that servers find them there."""
    lines = {one.host.name: one for one in subscriptions(TOPOLOGY, GatewaySettings(core="web tv"))}
    return [
        User(
            name, lines[name].password, Profile(address=int(lines[name].host.ip), service=EVERYBODY)
        )
        for name in hosts
    ]


@contextmanager
def engine(ports: list[str], folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Our switch, with its program; gives its address, and what the gateway has to be told."""
    address = lab.free_address()
    words = [*ports, str(PROGRAM), "--", "--grpc-server-addr", address, "--cpu-port", "510"]
    with lab.switch_process(*words):
        yield address, ()


@contextmanager
def bmv2(ports: list[str], folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The real one, without a program."""
    config, info = folder / "bng.json", folder / "bng.p4info.txtpb"
    command = ["p4c-bm2-ss", "--p4runtime-files", str(info), "-o", str(config), str(PROGRAM)]
    subprocess.run(command, check=True, capture_output=True)
    address = lab.free_address()
    words = ["--no-p4", "--thrift-port", lab.free_address().rpartition(":")[2], *ports]
    words += ["--", "--grpc-server-addr", address, "--cpu-port", "510"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(["simple_switch_grpc", *words], stdout=quiet, stderr=quiet) as switch:
        try:
            yield address, ("--program", str(config))
        finally:
            switch.kill()


BMV2 = pytest.mark.skipif(
    None in (shutil.which("simple_switch_grpc"), shutil.which("p4c-bm2-ss")),
    reason="simple_switch_grpc and p4c-bm2-ss: install p4lang-bmv2 and p4lang-p4c",
)


@dataclass(frozen=True)
class Access:
    """Two homes and a server at a switch, and who runs its gateway."""

    alice: Home
    bob: Home
    web: Home
    operator: Operator
    folder: Path
    stack: ExitStack

    def dial(self, home: Home, log: str) -> Caller:
        """A home that is in; its client ends with the network."""
        caller = Caller(home, self.folder / log)
        self.stack.callback(caller.process.kill)
        return caller


@contextmanager
def access(switch: Any, folder: Path) -> Iterator[Access]:
    """A switch without a gateway; alice and bob may dial in, and the server answers."""
    with ExitStack() as stack:
        room = Room()
        stack.callback(room.close)
        homes = {name: Home(room, TOPOLOGY.host(name)) for name in ("alice", "bob", "web")}
        homes["web"].serve()
        server = stack.enter_context(FreeRadius(folder / "radius", names("alice", "bob")))
        ports = [word for one in homes.values() for word in ("-i", f"{one.host.port}@{one.near}")]
        address, more = stack.enter_context(switch(ports, folder))
        operator = Operator(server, folder, address, *more)
        yield Access(**homes, operator=operator, folder=folder, stack=stack)


@pytest.mark.parametrize("switch", [engine, pytest.param(bmv2, marks=BMV2)])
@pytest.mark.beside(seconds=15)
def test_sessions_outlive_a_gateway_that_is_killed(switch: Any, tmp_path: Path) -> None:
    with access(switch, tmp_path) as here:
        alice, bob, web, operator = here.alice, here.bob, here.web, here.operator
        assert operator.start().startswith("0 sessions")

        calls = [here.dial(home, home.near) for home in (alice, bob)]
        for call in calls:
            exchange(call.home, web, 20)

        assert "Disconnect-ACK" in operator.disconnect("bob")
        calls[1].process.wait(SECONDS)
        exchange(alice, web, 10)

        operator.end(signal.SIGKILL)
        exchange(alice, web, 10)
        assert operator.start().startswith("1 sessions")
        exchange(alice, web, 10)
        here.dial(bob, "again")
        exchange(bob, web, 10)

        calls[0].hang_up()
        (stop,) = until(lambda: operator.stops("alice"), "alice's Stop does not come")
        assert (stop["Acct-Input-Packets"], stop["Acct-Output-Packets"]) == ("50", "50")
        assert detail.octets(stop) == (50 * IP_BYTES, 50 * IP_BYTES)
        (stop,) = operator.stops("bob")
        assert stop["Acct-Terminate-Cause"] == "Admin-Reset"
        assert detail.octets(stop) == (20 * IP_BYTES, 20 * IP_BYTES)

        assert operator.end(signal.SIGTERM).startswith("1 sessions stay up")
        bills = operator.bills()
        (running,) = (name for name, bill in bills.items() if not bill.stops)
        assert detail.complaints(bills, [running]) == []


@contextmanager
def flood(home: Home) -> Iterator[list[int]]:
    """PADIs as fast as a host can send them; the list has their number once they end."""
    frames = list(hostile.padi_flood(subscription(home).line, Random(1), 500))
    sent, over = [0], threading.Event()

    def send() -> None:
        with home.stack.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
            raw.bind((home.host.interface, 0))
            while not over.is_set():
                for frame in frames:
                    # A full queue is a flood, too.
                    with suppress(BlockingIOError, OSError):
                        sent[0] += raw.send(frame) > 0

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("switch", [engine, pytest.param(bmv2, marks=BMV2)])
@pytest.mark.beside(seconds=10)
def test_a_flood_at_full_speed_leaves_the_gateway_to_others(switch: Any, tmp_path: Path) -> None:
    """Without a limit in the switch, packets of all lines are dropped on their way up."""
    with access(switch, tmp_path) as here:
        alice, bob, web, operator = here.alice, here.bob, here.web, here.operator
        operator.start()
        with flood(alice) as sent:
            until(lambda: sent[0] > 5000, "alice sends no flood")
            before = sent[0]
            here.dial(bob, "bob")
            exchange(bob, web, 20)
            assert sent[0] > before, "there was no flood while bob dialled in"
        operator.end(signal.SIGTERM)
