"""Linux network stacks for tests, each in a namespace of its own, with cables that end in sockets.

Root is not needed where users may make namespaces. A namespace is held by a process that ends with
its standard input, so none outlives the tests, and the kernel takes cables away with their ends.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from ipaddress import IPv6Address

from p4lab.packets.ip import ETHERTYPE_IPV6, PROTOCOL_HOP_BY_HOP, PROTOCOL_ICMPV6, checksum_v6, ipv6

ETH_P_ALL = 3
PATH = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
TOOLS = ("unshare", "nsenter", "ip", "sysctl")
ENVIRONMENT = {**os.environ, "PATH": PATH, "LC_ALL": "C"}
SECONDS = 20.0  # until we give up; no result depends on it
ECHO_REQUEST = 128
# MLD and neighbour discovery (RFC 2710, 3810, 4861).
CHATTER = [bytes([kind]) for kind in range(130, 144)]
# Makes a socket where it runs and hands it over by the Unix socket that it has inherited.
HAND_OVER = (
    "import json, socket, sys;"
    "way = socket.socket(fileno=int(sys.argv[1]));"
    "made = socket.socket(*json.loads(sys.argv[2]));"
    "socket.send_fds(way, [b'.'], [made.fileno()])"
)


class NoNamespacesError(Exception):
    """This user may not make network namespaces here; the message is the system's."""


class Stack:
    """The network of a host or a router; or, without addresses, a place for the ends of cables."""

    def __init__(self, holder: int, inside: Sequence[str]) -> None:
        self.holder = holder
        """Process that keeps the namespace"""
        self._inside = tuple(inside)

    def try_to(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command in here."""
        return subprocess.run(
            [*self._inside, *command],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=ENVIRONMENT,
            check=False,
        )

    def run(self, *command: str) -> str:
        """The same; gives what it prints. Raises AssertionError with what it says if it fails."""
        done = self.try_to(*command)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
        return done.stdout

    def set(self, *knobs: str) -> None:
        """Sets sysctls below net.ipv6: "icmp.ratelimit=0"."""
        self.run("sysctl", "-q", "-w", *(f"net.ipv6.{knob}" for knob in knobs))

    def socket(self, family: int, kind: int, protocol: int = 0) -> socket.socket:
        """A socket of this stack for us, who are outside."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            what = json.dumps([family, kind, protocol])
            command = [*self._inside, sys.executable, "-c", HAND_OVER, str(theirs.fileno()), what]
            subprocess.run(command, check=True, timeout=SECONDS, pass_fds=[theirs.fileno()])
            _, (number,), _, _ = socket.recv_fds(ours, 1, 1)
        return socket.socket(fileno=number)

    def index(self, interface: str) -> int:
        """The number of an interface."""
        return int(self.run("ip", "-o", "link", "show", "dev", interface).split(":")[0])


class Wire:
    """Our end of a cable: whole frames, there and back."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, frame: bytes) -> None:
        self._end.send(frame)

    def awake(self, frame: bytes, last: bytes) -> None:
        """Sends a frame again and again until the other end answers with one that ends in `last`:
        a stack on a busy machine may lose what comes to it in its first moments. Raises
        TimeoutError if it never does."""
        patience = self._end.gettimeout()
        self._end.settimeout(1.0)
        for _ in range(int(SECONDS)):
            self.send(frame)
            try:
                self.before(last)
                break
            except TimeoutError:
                continue
        else:
            raise TimeoutError("the stack does not answer")
        # Answers to what was sent in vain
        self._end.settimeout(0.2)
        with suppress(TimeoutError):
            while True:
                self._end.recv(65535)
        self._end.settimeout(patience)

    def before(self, last: bytes) -> list[bytes]:
        """The frames that the other end sends before one that ends in `last`, but for what stacks
        say to their neighbours. Raises TimeoutError if that one does not come."""
        found = []
        while True:
            frame, address = self._end.recvfrom(65535)
            if frame.endswith(last) and address[2] != socket.PACKET_OUTGOING:
                return found
            if address[2] != socket.PACKET_OUTGOING and not is_chatter(frame):
                found.append(frame)

    def close(self) -> None:
        self._end.close()


class Room:
    """Where stacks are, and cables from them to us. Raises NoNamespacesError."""

    def __init__(self) -> None:
        self._holders: list[subprocess.Popen[bytes]] = []
        self._wires: list[Wire] = []
        if absent := [tool for tool in TOOLS if shutil.which(tool, path=PATH) is None]:
            raise NoNamespacesError(f"not installed: {', '.join(absent)}")
        try:
            self._enter = ["--net"]
            desk = self._hold("unshare", "--net")
        except NoNamespacesError:
            self._enter = ["--user", "--preserve-credentials", "--net"]
            desk = self._hold("unshare", "--map-root-user", "--net")
        self._desk = self._stack_of(desk)
        self._desk.set("conf.all.disable_ipv6=1", "conf.default.disable_ipv6=1")

    def _hold(self, *command: str) -> subprocess.Popen[bytes]:
        """A process in a new namespace that has answered, and lives as long as its input."""
        pipe = subprocess.PIPE
        holder = subprocess.Popen(
            [*command, "cat"], stdin=pipe, stdout=pipe, stderr=pipe, env=ENVIRONMENT, bufsize=0
        )
        with suppress(BrokenPipeError):  # it has failed already
            holder.stdin.write(b"?")
        if holder.stdout.read(1) != b"?":
            _, said = holder.communicate()
            raise NoNamespacesError(said.decode().strip())
        self._holders.append(holder)
        return holder

    def _stack_of(self, holder: subprocess.Popen[bytes]) -> Stack:
        return Stack(holder.pid, ["nsenter", "--target", str(holder.pid), *self._enter])

    def stack(self) -> Stack:
        """A new one, which sends as many ICMPv6 errors as it likes."""
        inside = ["nsenter", "--target", str(self._desk.holder), *self._enter]
        made = self._stack_of(self._hold(*inside, "unshare", "--net"))
        made.run("ip", "link", "set", "lo", "up")
        made.set("icmp.ratelimit=0")
        return made

    def cable(self, stack: Stack, interface: str, mac: int) -> Wire:
        """A cable to a new interface of a stack, which is up."""
        ours = f"wire{len(self._wires)}"
        theirs = ["name", interface, "address", colons(mac), "netns", str(stack.holder)]
        self._desk.run("ip", "link", "add", "name", ours, "type", "veth", "peer", *theirs)
        self._desk.run("ip", "link", "set", ours, "up")
        stack.run("ip", "link", "set", interface, "up")
        end = self._desk.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        end.bind((ours, ETH_P_ALL))
        end.settimeout(SECONDS)
        self._wires.append(Wire(end))
        return self._wires[-1]

    def close(self) -> None:
        for wire in self._wires:
            wire.close()
        for holder in self._holders:
            holder.communicate()


@contextmanager
def open_room() -> Iterator[Room]:
    """A room that is cleared in the end. Raises NoNamespacesError.

    On one processor, so that what is sent first arrives first: a packet that is answered says that
    the one before it has been dealt with.
    """
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        room = Room()
        try:
            yield room
        finally:
            room.close()
    finally:
        os.sched_setaffinity(0, processors)


def colons(mac: int) -> str:
    """A MAC address as `ip` takes it."""
    return mac.to_bytes(6, "big").hex(":")


def is_chatter(frame: bytes) -> bool:
    """Whether a frame is what stacks say to their neighbours without being asked."""
    if int.from_bytes(frame[12:14], "big") != ETHERTYPE_IPV6:
        return True
    protocol, kind = frame[20], frame[54:55]
    return protocol == PROTOCOL_HOP_BY_HOP or (protocol == PROTOCOL_ICMPV6 and kind in CHATTER)


def echo_request(source: IPv6Address, destination: IPv6Address, data: bytes) -> bytes:
    """A ping (RFC 4443, section 4.1), whose answer ends in the same data."""
    body = struct.pack("!BBHHH", ECHO_REQUEST, 0, 0, 1, 1) + data
    check = checksum_v6(source, destination, PROTOCOL_ICMPV6, body)
    body = body[:2] + check.to_bytes(2, "big") + body[4:]
    return ipv6(source, destination, PROTOCOL_ICMPV6, body)
