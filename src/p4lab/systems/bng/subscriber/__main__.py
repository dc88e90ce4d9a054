"""`python -m p4lab.systems.bng.subscriber eth0 --user alice`: dial in on an interface, and stay."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from random import Random

from p4lab.systems.bng.addresses.client import AddressClient
from p4lab.systems.bng.subscriber.access import SERVICE_VLAN, VLAN, Line
from p4lab.systems.bng.subscriber.card import Card, Tunnel
from p4lab.systems.bng.subscriber.client import Account, Subscriber
from p4lab.systems.bng.subscriber.real import Connection


def arguments() -> argparse.ArgumentParser:
    """What can be said on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m p4lab.systems.bng.subscriber",
        description="A PPPoE client in user space. Ends with SIGINT or SIGTERM.",
    )
    parser.add_argument("interface", help="where the line is connected")
    parser.add_argument("--user", required=True, help="user name")
    parser.add_argument("--password", default="", help="password")
    parser.add_argument(
        "--vlan",
        type=int,
        action="append",
        default=[],
        help="VLAN of the line; given twice, the first one is the outer one (802.1ad)",
    )
    parser.add_argument(
        "--label",
        type=int,
        action="append",
        default=[],
        help="MPLS label in front of the frames, where the access node is this interface, too; "
        "given twice, the first one is the outer one",
    )
    parser.add_argument("--peer", help="MAC address of the gateway, behind labels")
    parser.add_argument("--mac", help="MAC address, instead of the interface's")
    parser.add_argument("--service", default="", help="name of the service")
    parser.add_argument("--circuit-id", default="", help="what an access node would add (TR-101)")
    parser.add_argument("--remote-id", default="", help="what an access node would add (TR-101)")
    parser.add_argument("--mru", type=int, default=1492, help="up to 1500 (RFC 4638)")
    parser.add_argument("--tun", default="ppp0", help="name of the interface for IP packets")
    parser.add_argument("--no-ipv4", action="store_true", help="do not ask for IPv4")
    parser.add_argument("--no-ipv6", action="store_true", help="do not ask for IPv6")
    parser.add_argument("--no-route", action="store_true", help="set no default route")
    parser.add_argument("--once", action="store_true", help="do not dial again")
    return parser


def line_of(vlans: list[int], labels: list[int], outer: tuple[bytes, bytes]) -> Line:
    """What surrounds the frames of a line; `outer` are the addresses of a frame with labels. Raises
    ValueError for a number that no VLAN or label has."""
    for label in labels:
        if not 15 < label < 1 << 20:
            raise ValueError(f"{label} is not a label: they go from 16 to {(1 << 20) - 1}.")
    for vlan in vlans:
        if not 0 < vlan < 4095:
            raise ValueError(f"{vlan} is not the number of a VLAN: they go from 1 to 4094.")
    if len(vlans) > 2:
        raise ValueError(f"a line has at most two VLAN tags, not {len(vlans)}.")
    kinds = (VLAN, VLAN) if labels or len(vlans) < 2 else (SERVICE_VLAN, VLAN)
    return Line(tuple(zip(kinds, vlans, strict=False)), tuple(labels), outer)


def mac_of(text: str) -> bytes:
    """A MAC address. Raises ValueError if it is none, or that of a group."""
    if re.fullmatch(r"[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}", text) is None:
        raise ValueError(f"{text!r} is not a MAC address of a host, such as 02:00:00:00:00:01.")
    return bytes.fromhex(text.replace(":", ""))


def main(words: list[str] | None = None) -> int:
    """The command. 0 if the session was up, 1 if it never was, 2 for a mistake in its arguments."""
    parser = arguments()
    said = parser.parse_args(words)
    try:
        mac = mac_of(said.mac) if said.mac else None
        if said.label and not (said.peer and said.mac):
            raise ValueError("behind labels, say --peer and --mac: the outer addresses.")
        outer = (mac_of(said.peer), mac or b"") if said.peer else (bytes(6), bytes(6))
        line = line_of(said.vlan, said.label, outer)
        if not 128 <= said.mru <= 1500:
            raise ValueError(f"an MRU goes from 128 to 1500 bytes, not {said.mru}.")
    except ValueError as problem:
        parser.error(str(problem))
    try:
        card, tunnel = Card(said.interface), Tunnel(said.tun)
    except OSError as problem:
        parser.error(
            f"{said.interface}, {said.tun}: {problem.strerror}. It takes an interface, "
            "/dev/net/tun and the rights CAP_NET_RAW and CAP_NET_ADMIN."
        )
    if mac is not None:
        card.hear_all()
    account = Account(
        said.user,
        said.password,
        mac or card.mac,
        line,
        service=said.service.encode(),
        v4=not said.no_ipv4,
        v6=not said.no_ipv6,
        mru=said.mru,
        circuit_id=said.circuit_id.encode(),
        remote_id=said.remote_id.encode(),
    )
    random = Random(os.urandom(16))
    addresses = AddressClient(random)
    connection = Connection(
        Subscriber(account, random, addresses),
        addresses,
        card,
        tunnel,
        default=not said.no_route,
        once=said.once,
    )
    signal.signal(signal.SIGTERM, connection.end)
    signal.signal(signal.SIGINT, connection.end)
    try:
        return 0 if connection.run() else 1
    finally:
        tunnel.close()
        card.close()


if __name__ == "__main__":
    sys.exit(main())
