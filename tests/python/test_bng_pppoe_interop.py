"""Gateway and subscriber get on with programs that others have written.

If these fail, our two ends agree with each other on something that PPPoE is not.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from ipaddress import IPv6Address
from pathlib import Path
from random import Random

import pytest

from bng_hdlc import Reader, framed
from bng_peers import GATEWAY_MAC, PASSWORD, Gateway, address_of, prefix_of
from linux_stacks import ENVIRONMENT, PATH, NoNamespacesError, echo_request, open_room
from p4lab.packets.ip import PROTOCOL_ICMP, checksum, ipv4
from p4lab.paths import ROOT
from p4lab.systems.bng.ppp import CLIENT, Link, Settings
from p4lab.systems.bng.ppp.codes import IPV4, IPV6
from p4lab.systems.bng.subscriber import Account, Line, State, Subscriber
from p4lab.systems.bng.subscriber.card import PACKET_AUXDATA, SOL_PACKET, whole

MAC = 0x020000000101
SECONDS = 30.0
LINE = 5


def program(name: str, how: str) -> str:
    """Where a program is, or the test is skipped and says how to get it."""
    found = shutil.which(name, path=PATH)
    if found is None:
        pytest.skip(f"{name} is not installed ({how})")
    return found


@pytest.fixture
def room():
    try:
        with open_room() as room:
            yield room
    except NoNamespacesError as reason:
        pytest.skip(f"no network namespaces here: {reason}")


class Cable:
    """A host with a network card `eth0`, and our end of its cable."""

    def __init__(self, room):
        self.stack = room.stack()
        self.end = room.cable(self.stack, "eth0", MAC)._end
        self.end.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.end.setblocking(False)
        self.frames = []

    def run(self, *command, **settings):
        """A program in the host."""
        return subprocess.Popen([*self.stack._inside, *command], env=ENVIRONMENT, **settings)

    def heard(self, wait):
        """PPPoE frames that the host has sent, after at most so many seconds."""
        select.select([self.end], [], [], wait)
        found = []
        while True:
            try:
                frame, told, _, address = self.end.recvmsg(65536, 256)
            except BlockingIOError:
                break
            frame = whole(frame, told)
            if address[2] != socket.PACKET_OUTGOING and b"\x88" in frame[12:21]:
                found.append(frame)
        self.frames += found
        return found

    def answered(self, last):
        """Whether the host has sent a frame that ends so."""
        return any(frame.endswith(last) for frame in self.frames)

    def serve(self, gateway, until, line=None, besides=lambda now: None):
        """Answer as a gateway until something is true. Raises AssertionError if it never is."""
        line = line or Line()
        end = time.monotonic() + SECONDS
        while not until():
            now = time.monotonic()
            assert now < end, f"it takes too long; {len(self.frames)} frames were heard"
            for frame in self.heard(0.02):
                gateway.heard(now, LINE, line, frame)
            gateway.tick(now)
            besides(now)
            for _, frame in gateway.take():
                self.end.send(frame)


def own_pppoe(folder: Path) -> str:
    """A copy of Debian's `pppoe` that anyone may run: the original is for the group dip only."""
    copy = folder / "pppoe"
    try:
        shutil.copyfile(program("pppoe", "apt-get install pppoe"), copy)
    except PermissionError:
        pytest.skip("pppoe cannot be read here (it is for root and the group dip)")
    copy.chmod(0o755)
    return str(copy)


def test_debians_discovery_finds_our_concentrator(room):
    cable = Cable(room)
    command = [
        program("pppoe-discovery", "apt-get install ppp"),
        "-I",
        "eth0",
        "-a",
        "1",
        "-t",
        "2",
    ]
    with cable.run(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as asked:
        cable.serve(Gateway(Random(1)), lambda: asked.poll() is not None)
        said = asked.stdout.read()
    assert asked.returncode == 0, said
    assert "p4lab" in said and GATEWAY_MAC.hex(":") in said.lower(), said


def test_debians_pppoe_carries_a_session_with_our_concentrator(room, tmp_path):
    cable, gateway = Cable(room), Gateway(Random(1))
    link, reader = Link(CLIENT, Settings(name=b"alice", secret=PASSWORD), Random(2)), Reader()
    pipe = subprocess.PIPE
    with cable.run(
        own_pppoe(tmp_path), "-I", "eth0", stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
    ) as pppoe:
        os.set_blocking(pppoe.stdout.fileno(), False)

        def converse(now):
            stream = pppoe.stdout.read()
            for protocol, body in reader.feed(stream or b""):
                link.heard(now, protocol, body)
            link.tick(now)
            link.happened()
            for protocol, body in link.take():
                pppoe.stdin.write(framed(protocol, body))

        cable.serve(gateway, lambda: gateway.concentrator.sessions)
        link.start(time.monotonic())
        cable.serve(gateway, lambda: link.settled and gateway.up == 1, besides=converse)
        (session,) = gateway.concentrator.sessions.values()
        assert session.mac == MAC.to_bytes(6, "big") and reader.wrong == 0
        pppoe.stdin.close()  # The end of its input is the end of the session.
        cable.serve(gateway, lambda: not gateway.concentrator.sessions)


def test_our_client_gets_a_session_from_debians_server(room, tmp_path):
    cable = Cable(room)
    server, pppoe = program("pppoe-server", "apt-get install pppoe"), own_pppoe(tmp_path)
    script, options = tmp_path / "pppd", tmp_path / "options"
    places = f"{ROOT / 'src'}:{ROOT / 'tests' / 'python'}"
    peer = ROOT / "tests" / "python" / "bng_pppoe_server_peer.py"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={places} exec {sys.executable} {peer} "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    options.write_text("")
    words = ["-I", "eth0", "-C", "debian", "-S", "internet", "-L", "192.0.2.1"]
    words += ["-R", "100.69.0.1", "-N", "5", "-F", "-q", script, "-Q", pppoe, "-O", options]
    account = Account("alice", "wonder", bytes.fromhex("020000000202"), service=b"internet")
    subscriber = Subscriber(account, Random(3))

    def talk(until):
        end = time.monotonic() + SECONDS
        while not until():
            now = time.monotonic()
            assert now < end, f"it is {subscriber.state} ({subscriber.reason})"
            for frame in subscriber.take():
                cable.end.send(frame)
            for frame in cable.heard(0.02):
                subscriber.heard(now, frame)
            subscriber.tick(now)

    with cable.run(server, *map(str, words), stderr=subprocess.DEVNULL) as running:
        try:
            time.sleep(0.2)  # until it listens; a first PADI may be lost, the second comes in 5 s
            subscriber.dial(time.monotonic())
            talk(lambda: subscriber.state in (State.UP, State.DOWN))
            assert (subscriber.state, subscriber.reason) == (State.UP, "")
            assert str(subscriber.address).startswith("100.69.0.")
            assert str(subscriber.gateway) == "192.0.2.1" and subscriber.interface_id
            subscriber.hang_up(time.monotonic())
            talk(lambda: subscriber.state == State.DOWN)
            assert subscriber.reason == "we hung up"
        finally:
            running.terminate()


def kernel_has_ppp():
    """Whether /dev/ppp can be opened, and not only made."""
    try:
        os.close(os.open("/dev/ppp", os.O_RDWR))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not kernel_has_ppp(), reason="the kernel has no PPP (modprobe ppp_generic)")
def test_the_kernels_pppd_gets_a_session_from_our_gateway(room, tmp_path):
    cable, gateway = Cable(room), Gateway(Random(1))
    pty = f"{own_pppoe(tmp_path)} -I eth0"
    words = ["pty", pty, "user", "alice", "password", "wonder", "noauth", "nodetach", "noaccomp"]
    words += ["nopcomp", "default-asyncmap", "mru", "1492", "mtu", "1492", "+ipv6", "noproxyarp"]
    pipe = subprocess.PIPE
    with cable.run(
        program("pppd", "apt-get install ppp"), *words, stdout=pipe, stderr=subprocess.STDOUT
    ) as pppd:
        try:
            cable.serve(gateway, lambda: gateway.up == 1 or pppd.poll() is not None)
            assert pppd.poll() is None, pppd.stdout.read().decode()
        finally:
            pppd.terminate()
        cable.serve(gateway, lambda: not gateway.concentrator.sessions)


@pytest.mark.parametrize("method", ["pap", "chap"])
def test_zouppps_clients_get_sessions_from_our_gateway(room, method):
    cable, gateway = Cable(room), Gateway(Random(1))
    found = program("zouppp", "go install github.com/hujun-open/zouppp@latest")
    words = [found, "-i", "eth0", "-u", "alice", "-p", "wonder", "-n", "3", "-v6=false"]
    words += ["-a=false", *(["-pap"] if method == "pap" else [])]
    pipe = subprocess.PIPE
    with cable.run(*words, stdout=pipe, stderr=subprocess.STDOUT) as clients:
        try:
            cable.serve(gateway, lambda: gateway.up == 3 or clients.poll() is not None)
            assert gateway.up == 3, clients.stdout.read().decode()
        finally:
            clients.kill()


@pytest.mark.parametrize("method", ["PAP", "CHAP"])
def test_bng_blasters_sessions_are_established_by_our_gateway(room, tmp_path, method):
    """It ends a session over anything that it does not expect."""
    cable, gateway = Cable(room), Gateway(Random(1))
    found = program("bngblaster", "its package is at github.com/rtbrick/bngblaster/releases")
    file, report = tmp_path / "blaster.json", tmp_path / "report.json"
    access = {"interface": "eth0", "type": "pppoe", "vlan-mode": "N:1"}
    access["authentication-protocol"] = method
    ppp = {
        "authentication": {"username": "alice", "password": "wonder"},
        "ipcp": {"request-dns1": True, "request-dns2": False},
    }
    said = {"interfaces": {"access": [access]}, "sessions": {"count": 3}, "ppp": ppp}
    said |= {"pppoe": {"reconnect": False}, "dhcpv6": {"enable": False}}
    file.write_text(json.dumps(said))
    words = [found, "-C", str(file), "-J", str(report)]
    pipe = subprocess.PIPE
    with cable.run(*words, stdout=pipe, stderr=subprocess.STDOUT, cwd=tmp_path) as blaster:
        try:
            cable.serve(gateway, lambda: gateway.up == 3 or blaster.poll() is not None)
            assert gateway.up == 3, blaster.stdout.read().decode()
            blaster.send_signal(signal.SIGINT)
            cable.serve(gateway, lambda: blaster.poll() is not None)
        finally:
            blaster.kill()
    assert json.loads(report.read_text())["report"]["sessions-established"] == 3
    assert not gateway.concentrator.sessions


def ping(address, data):
    """An ICMP echo request from the gateway's side."""
    body = b"\x08\0\0\0\0\1\0\1" + data
    check = checksum(body).to_bytes(2, "big")
    return ipv4(address_of(0), address, PROTOCOL_ICMP, body[:2] + check + body[4:])


@pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="there is no /dev/net/tun here")
@pytest.mark.parametrize(
    ("tags", "labels"),
    [
        ((), ()),
        (((0x8100, 7),), ()),
        (((0x88A8, 100), (0x8100, 7)), ()),
        (((0x8100, 7),), (16, 17)),
    ],
    ids=["cable", "tag", "qinq", "labels"],
)
def test_a_linux_host_is_online_through_our_client(room, tags, labels):
    """The host's own IP stack answers a ping through the session, whatever its line looks like."""
    cable, gateway = Cable(room), Gateway(Random(1))
    mac = MAC.to_bytes(6, "big")
    line = Line(tags, labels, (GATEWAY_MAC, mac))
    words = [word for _, vlan in tags for word in ("--vlan", str(vlan))]
    if labels:
        words += ["--peer", GATEWAY_MAC.hex(":"), "--mac", mac.hex(":")]
        words += [word for label in labels for word in ("--label", str(label))]
    command = [sys.executable, "-m", "p4lab.systems.bng.subscriber", "eth0", "--user", "alice"]
    command += ["--password", "wonder", *words]
    environment = {**ENVIRONMENT, "PYTHONPATH": str(ROOT / "src")}
    client = subprocess.Popen(
        [*cable.stack._inside, *command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    with client:
        try:
            cable.serve(gateway, lambda: gateway.up == 1 or client.poll() is not None, line)
            assert client.poll() is None, client.stderr.read().decode()
            os.set_blocking(client.stdout.fileno(), False)
            text = []

            def listen(_):
                text.append(client.stdout.read() or b"")

            cable.serve(gateway, lambda: b"".join(text).count(b"\n") == 2, line, listen)
            said, there = map(json.loads, b"".join(text).splitlines())
            (session,) = gateway.concentrator.sessions.values()
            address = address_of(session.id)
            assert said["state"] == "up" and said["address"] == str(address)
            shown = cable.stack.run("ip", "-4", "-o", "address", "show", "dev", "ppp0")
            assert f"{address}/32" in shown
            assert "mtu 1492" in cable.stack.run("ip", "link", "show", "dev", "ppp0")
            assert "ppp0" in cable.stack.run("ip", "route", "show", "default")
            own = prefix_of(session.id).address | int.from_bytes(session.link.ipv6cp.peer, "big")
            assert there["state"] == "addressed" and there["address"] == str(IPv6Address(own))
            ping4, ping6 = b"are you there?", b"and with IPv6?"
            gateway.concentrator.send(session, IPV4, ping(address, ping4))
            source = IPv6Address("2001:db8:ffff::1")
            gateway.concentrator.send(session, IPV6, echo_request(source, IPv6Address(own), ping6))
            cable.serve(gateway, lambda: cable.answered(ping4) and cable.answered(ping6), line)
        finally:
            client.send_signal(signal.SIGTERM)
        cable.serve(gateway, lambda: client.poll() is not None, line)
        assert client.returncode == 0 and not gateway.concentrator.sessions
