"""p4/msr6 on the engine beside the reference walk: the same copies, deliveries and refusals.

What a user would lose: the P4 that students start from, or the walk that explains what was refused,
would be wrong about some header, and nobody would know which.
"""

from __future__ import annotations

import random
import re
import struct
from collections import Counter
from dataclasses import replace
from functools import cache
from ipaddress import IPv6Address

import pytest

from p4lab import _engine
from p4lab.control.listeners import Member
from p4lab.engine import load_program
from p4lab.model.entries import diff
from p4lab.packets.ip import PROTOCOL_UDP, ipv6, udp
from p4lab.paths import ROOT
from p4lab.systems.msr6.entries import msr6_entries
from p4lab.systems.msr6.places import places
from p4lab.systems.msr6.reasons import REASONS
from p4lab.systems.msr6.settings import Msr6Settings
from p4lab.systems.msr6.walk import Place, Reason, walk
from p4lab.topology import Topology

GROUP = IPv6Address("ff3e::4:1")
SOURCE = IPv6Address("fd00:0:0:1::1")
CPU_PORT = 510
NETWORKS = ("msr6", "tree10", "ring", "rfc8279")
FUNCTIONS = (0x100, 0x200, 0x300, 0x600)


@cache
def network(name: str) -> Topology:
    return Topology.load(name)


@cache
def program() -> _engine.Program:
    return load_program(ROOT / "p4/msr6/v1model.p4", [])


@cache
def reasons() -> dict[str, int]:
    """Names and numbers of `drop_reason_t`, from the P4."""
    text = (ROOT / "p4/msr6/headers.p4").read_text()
    body = text[text.index("enum bit<8> drop_reason_t") :].split("}")[0]
    return {name: int(number) for name, number in re.findall(r"(\w+)\s*=\s*(\d+)", body)}


@cache
def switch(name: str, router: str) -> _engine.Switch:
    """A router with a listener behind each of its hosts' ports."""
    topology = network(name)
    members = frozenset(Member(host.router, host.port, int(GROUP)) for host in topology.hosts)
    entries = msr6_entries(topology, members, Msr6Settings())
    made = _engine.Switch(program())
    made.write(diff(frozenset(), entries[router]))
    return made


def inner_packet(chance: random.Random) -> bytes:
    group = chance.choice([GROUP] * 8 + [IPv6Address("ff02::5"), SOURCE])
    datagram = udp(SOURCE, group, (5004, 5004), b"data")
    return ipv6(SOURCE, group, PROTOCOL_UDP, datagram, hops=chance.choice([0, 1, 2, 64, 64, 64]))


def argument(chance: random.Random, function: int, left: int) -> int:
    """Most often one that is valid at a node with so much left; unread bits hold anything."""
    noise = chance.getrandbits(16)
    pointer = chance.randrange(max(left, 1))
    if chance.random() < 0.1:
        pointer = chance.choice([left, left + 1, 255])
    if function == 0x100:
        n = chance.choice([chance.randint(1, min(pointer + 1, 4)), pointer + 1, pointer + 2, 0])
        return (n & 0xFF) << 24 | pointer << 16 | noise
    if function == 0x200:
        bits = chance.choice([chance.getrandbits(2), chance.getrandbits(4), chance.getrandbits(16)])
        return bits << 16 | pointer << 8 | noise & 0xFF
    if function == 0x300:
        return chance.choice([0, 0, 0, 0, 1, 255]) << 24 | noise
    return chance.choice([0, 0, noise])


def sid(chance: random.Random, topology: Topology, left: int, number: int, function: int) -> int:
    own = 0 if number & 0x8000 else argument(chance, function, left)
    return 0x5F00 << 112 | number << 48 | function << 32 | own


def listed(chance: random.Random, topology: Topology, index: int) -> int:
    """An entry: a router's or a host's SID, or one of nobody."""
    if chance.random() < 0.2:
        number = 0x8000 | chance.randint(1, len(topology.hosts))
        return sid(chance, topology, index, number, 0x600)
    number = chance.choice([*(router.number for router in topology.routers), 0x7777])
    return sid(chance, topology, index, number, chance.choice([*FUNCTIONS, 0x999]))


def arrival(chance: random.Random) -> tuple[str, str, bytes]:
    """A topology, a router, and an IPv6 packet for it: valid, or with one mistake or two."""
    name = chance.choice(NETWORKS)
    topology = network(name)
    router = chance.choice(topology.routers)
    function = chance.choice([*FUNCTIONS, 0x100, 0x200])
    size = 1 if function == 0x300 else chance.choice([1, 2, 3, 5, 8, 15, 16])
    entries = [listed(chance, topology, index) for index in range(size)]
    left = chance.randint(1, size + 1)
    if function == 0x300:
        entries[0] = chance.choice([chance.getrandbits(12), chance.getrandbits(128), 0])
    elif function == 0x600:
        left = 0
    follows, kind, length, last = 41, 253, 2 * size, size - 1
    hops = chance.choice([2, 64, 255])
    destination = sid(chance, topology, left, router.number, function)
    routed = True
    for _ in range(chance.choice([0, 0, 1, 1, 2])):
        match chance.randrange(10):
            case 0:
                length = chance.choice([0, 1, length - 1, length + 1, length + 2, 34, 254, 255])
            case 1:
                last = chance.choice([size - 2, size, size + 1, 127, 254, 255]) & 0xFF
            case 2:
                left = chance.choice([0, size + 1, size + 2, 128, 255])
            case 3:
                hops = chance.choice([0, 1])
            case 4:
                kind = chance.choice([0, 4, 254])
            case 5:
                follows = chance.choice([17, 59])
            case 6:
                routed = False
            case 7:
                entries += [0] * chance.choice([1, 17 - size, 20])
                length = 2 * len(entries)
            case 8:
                destination = sid(chance, topology, left, router.number, 0x999)
            case 9:
                destination = listed(chance, topology, left)
    fixed = struct.pack(
        "!BBBBBBH", follows, length & 0xFF, kind, left, last, 0, chance.getrandbits(16)
    )
    header = fixed + b"".join(entry.to_bytes(16, "big") for entry in entries)
    inside = inner_packet(chance)
    if routed:
        packet = ipv6(SOURCE, IPv6Address(destination), 43, header + inside, hops=hops)
    else:
        packet = ipv6(SOURCE, IPv6Address(destination), 41, inside, hops=hops)
    if chance.random() < 0.05:
        packet = packet[: chance.randint(40, len(packet))]
    return name, router.name, packet


@cache
def alone(name: str, router: str) -> dict[str, Place]:
    """What a router knows; all others take what comes and send nothing on."""
    return {
        node: place if node == router else replace(place, is_router=False)
        for node, place in places(network(name)).items()
    }


def expected(name: str, router: str, packet: bytes) -> Counter[tuple[int, bytes]]:
    """What leaves the router, by port, without Ethernet: from the walk alone."""
    topology = network(name)
    seen = walk(alone(name, router), router, packet)
    out: Counter[tuple[int, bytes]] = Counter()
    for copy in seen.copies:
        if copy.source == router:
            out[topology.port(router, copy.target), copy.packet] += 1
    for delivery in seen.deliveries:
        if delivery.node == router and delivery.packet[24:40] == GROUP.packed:
            out.update((host.port, delivery.packet) for host in topology.hosts_of(router))
    for loss in seen.losses:
        if loss.refused and loss.packet == packet:
            out[CPU_PORT, bytes([0, 128 | reasons()[loss.reason.name]]) + packet] += 1
    return out


@pytest.mark.parametrize("seed", range(4))
def test_a_router_does_what_the_walk_says(seed: int) -> None:
    chance = random.Random(seed)
    for number in range(2500):
        name, router, packet = arrival(chance)
        got: Counter[tuple[int, bytes]] = Counter()
        for port, frame in switch(name, router).process(1, bytes(12) + b"\x86\xdd" + packet):
            # Towards the control plane: 9 bits of the port where it came in, 7 of the reason.
            start = frame[:2] if port == CPU_PORT else b""
            got[port, start + frame[len(start) + 14 :]] += 1
        told = f"seed {seed}, packet {number}, {router} of {name}: {packet.hex()}"
        assert got == expected(name, router, packet), told


def test_reports_name_the_reasons_of_the_program() -> None:
    assert {number: name for name, number in reasons().items()} == {**REASONS, 0: "NONE"}


def test_every_reason_of_the_walk_has_its_number() -> None:
    assert {reason.name for reason in Reason} <= reasons().keys()


@pytest.mark.parametrize("encoding", ["te", "rlb", "be", "clone"])
def test_the_core_knows_no_group_but_without_trees(encoding: str) -> None:
    """The point of MSR6: routers that neither receive nor send for a group hold nothing of it."""
    topology = network("msr6")
    listening = frozenset(Member(h.router, h.port, int(GROUP)) for h in topology.hosts[1:])
    found = Msr6Settings(encoding=encoding)
    before = msr6_entries(topology, frozenset(), found, frozenset([(int(GROUP), "r1")]))
    after = msr6_entries(topology, listening, found, frozenset([(int(GROUP), "r1")]))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"r1", "r8", "r9", "r10", "r11"} | (
        {"r2", "r3", "r5", "r7"} if encoding == "clone" else set()
    )


def test_the_arrivals_reach_every_guard() -> None:
    """That the comparison above is one: each refusal, and copies of all kinds, turn up in it."""
    seen: Counter[str] = Counter()
    for seed in range(4):
        chance = random.Random(seed)
        for _ in range(2500):
            name, router, packet = arrival(chance)
            found = walk(alone(name, router), router, packet)
            seen.update({loss.reason.name for loss in found.losses if loss.node == router})
            seen["copies"] += sum(copy.source == router for copy in found.copies) > 1
            seen["delivery"] += any(delivery.node == router for delivery in found.deliveries)
    # What is multicast on the outside is for the tests of the ingress.
    elsewhere = {"UNKNOWN_PACKET", "NO_LISTENER", "BACK_TO_SOURCE", "ROUTED_MULTICAST", "TOO_BIG"}
    assert {*reasons()} - {*seen} == elsewhere | {"NONE"}, seen
    assert min(seen.values()) >= 5, seen
    assert seen["copies"] > 300 and seen["delivery"] > 300, seen
