"""Addresses of subscribers: pools, router advertisements, prefix delegation, a router's errors.

If these fail, two subscribers get one address, a subscriber's router gets no prefix, or a packet
that is too long vanishes without a word. scapy reads what is sent.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from math import inf
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as some
from scapy.layers.dhcp6 import DHCP6_Advertise, DHCP6_Reply, DHCP6OptIA_PD, DHCP6OptIAPrefix
from scapy.layers.inet import ICMP, IP, UDP, fragment
from scapy.layers.inet6 import ICMPv6ND_RA, ICMPv6NDOptPrefixInfo, ICMPv6TimeExceeded, IPv6

from p4lab.packets.ip import PROTOCOL_UDP, ipv4, ipv6, udp
from p4lab.systems.bng.addresses.client import AddressClient, State
from p4lab.systems.bng.addresses.dhcpv6 import (
    SERVER_PORT,
    Delegation,
    Message,
    Option,
    Packet,
    answer,
    in_udp,
    options_of,
    packet_of,
    server_id,
)
from p4lab.systems.bng.addresses.errors import expired, fragments, too_long
from p4lab.systems.bng.addresses.pools import Pool, PoolError
from p4lab.systems.bng.addresses.router import (
    Advertisement,
    advertisement,
    advertisement_of,
    is_solicitation,
    link_local,
    solicitation,
)
from p4lab.systems.bng.entries import Net

LINK = Net(6, int(IPv6Address("2001:db8:8000::")), 64)
DELEGATED = Net(6, int(IPv6Address("2001:db8:4000:100::")), 56)
OWN4, OWN6 = IPv4Address("192.0.2.1"), IPv6Address("2001:db8::1")
GRANTED = Delegation(DELEGATED)
SERVER, OWN_ID, CLIENT_ID = server_id(0x02_00_00_00_00_01), 0x11, 0x22
OFFER = Advertisement(False, True, LINK, 1492, (int(IPv6Address("2001:db8::53")),))

# ---- Pools


@pytest.mark.parametrize(
    ("network", "length", "room"),
    [
        (IPv4Network("100.64.0.0/29"), 32, 6),
        (IPv4Network("100.64.0.0/29"), 30, 2),
        (IPv6Network("2001:db8::/60"), 64, 16),
        (IPv6Network("2001:db8::/52"), 56, 16),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_nobody_gets_what_another_has(network: object, length: int, room: int, seed: int) -> None:
    pool, draw = Pool(network, length), Random(seed)  # type: ignore[arg-type]
    mine: list[Net] = []
    for _ in range(200):
        assert len(pool) == room - len(mine)
        if mine and draw.random() < 0.4:
            pool.give_back(mine.pop(draw.randrange(len(mine))))
        elif len(mine) < room:
            mine.append(pool.take())
        else:
            with pytest.raises(PoolError, match="empty"):
                pool.take()
        assert len(set(mine)) == len(mine)


def test_an_address_that_radius_names_is_not_given_to_others() -> None:
    pool = Pool(IPv4Network("100.64.0.0/29"), 32)
    named = Net(4, int(IPv4Address("100.64.0.2")), 32)
    pool.take_this(named)
    pool.take_this(Net(4, int(IPv4Address("198.51.100.1")), 32))
    assert named not in {pool.take() for _ in range(5)}
    pool.give_back(named)
    assert pool.take() == named


def test_what_was_given_back_last_is_used_again_last() -> None:
    pool = Pool(IPv6Network("2001:db8::/62"), 64)
    taken = [pool.take() for _ in range(4)]
    for net in (taken[2], taken[0], taken[3]):
        pool.give_back(net)
    assert [pool.take() for _ in range(3)] == [taken[2], taken[0], taken[3]]


# ---- Router advertisements


def test_an_advertisement_as_scapy_reads_it() -> None:
    packet = advertisement(OWN_ID, OFFER)
    seen = IPv6(packet)
    assert (seen.src, seen.dst, seen.hlim) == (str(link_local(OWN_ID)), "ff02::1", 255)
    assert seen[ICMPv6ND_RA].O == 1 and seen[ICMPv6ND_RA].M == 0
    prefix = seen[ICMPv6NDOptPrefixInfo]
    assert (prefix.prefix, prefix.prefixlen, prefix.A, prefix.L) == ("2001:db8:8000::", 64, 1, 0)
    rebuilt = IPv6(packet)
    del rebuilt[ICMPv6ND_RA].cksum
    assert bytes(rebuilt) == packet
    assert advertisement_of(packet) == OFFER


@pytest.mark.parametrize("flags", [(False, False), (False, True), (True, False), (True, True)])
def test_prefix_delegation_begins_only_where_the_router_offers_dhcpv6(
    flags: tuple[bool, bool],
) -> None:
    client = AddressClient(Random(1))
    client.start(0, CLIENT_ID)
    assert [is_solicitation(packet) for packet in client.out] == [True]
    client.out.clear()
    client.heard(1, advertisement(OWN_ID, Advertisement(*flags, LINK, 1492)))
    assert client.prefix == LINK
    assert len(client.out) == any(flags)


def test_what_came_through_a_router_is_no_advertisement() -> None:
    packet = bytearray(advertisement(OWN_ID, OFFER))
    packet[7] = 254
    assert advertisement_of(bytes(packet)) is None
    changed = bytearray(advertisement(OWN_ID, OFFER))
    changed[60] ^= 1
    assert advertisement_of(bytes(changed)) is None
    assert not is_solicitation(solicitation(CLIENT_ID)[:-1])


# ---- DHCPv6


def served(client: AddressClient, granted: Delegation, now: float) -> list[bytes]:
    """The server's answers to all that a client has said."""
    answers = []
    for packet in client.out:
        heard = packet_of(packet, SERVER_PORT)
        body = None if heard is None else answer(SERVER, heard, granted)
        if body is not None:
            reply = in_udp(link_local(OWN_ID), link_local(CLIENT_ID), False, body)
            answers.append(reply)
    client.out.clear()
    for reply in answers:
        client.heard(now, reply)
    return answers


def bound(rapid: bool, granted: Delegation = GRANTED) -> AddressClient:
    client = AddressClient(Random(2), rapid)
    client.start(0, CLIENT_ID)
    client.out.clear()
    client.heard(0, advertisement(OWN_ID, OFFER))
    served(client, granted, 0.1)
    served(client, granted, 0.2)
    return client


@pytest.mark.parametrize("rapid", [True, False])
def test_a_prefix_is_delegated_renewed_and_given_back(rapid: bool) -> None:
    client = bound(rapid)
    assert client.state is State.BOUND and client.delegated == DELEGATED
    client.tick(client.deadline)
    assert client.state is State.RENEWING
    (reply,) = served(client, Delegation(DELEGATED), 7300)
    assert client.state is State.BOUND and client.delegated == DELEGATED
    assert IPv6(reply)[DHCP6OptIAPrefix].prefix == "2001:db8:4000:100::"
    client.release(8000)
    (reply,) = served(client, Delegation(DELEGATED), 8001)
    assert DHCP6_Reply in IPv6(reply) and client.delegated is None and client.deadline == inf


def test_without_rapid_commit_the_server_advertises_first() -> None:
    client = AddressClient(Random(2), rapid=False)
    client.start(0, CLIENT_ID)
    client.heard(0, advertisement(OWN_ID, OFFER))
    (reply,) = served(client, Delegation(DELEGATED), 0.1)
    seen = IPv6(reply)
    assert DHCP6_Advertise in seen and seen[UDP].sport == 547
    assert seen[DHCP6OptIA_PD][DHCP6OptIAPrefix].plen == 56


def test_a_prefix_that_is_not_his_any_more_gets_the_lifetime_zero() -> None:
    """And the client does not go on using it."""
    client = bound(True)
    other = Net(6, DELEGATED.address + (1 << 72), 56)
    client.tick(client.deadline)
    (reply,) = served(client, Delegation(other), 7300)
    lifetimes = {}
    option = IPv6(reply)[DHCP6OptIA_PD]
    for each in option.iapdopt:
        lifetimes[each.prefix] = each.validlft
    assert lifetimes == {"2001:db8:4000:200::": 86400, "2001:db8:4000:100::": 0}
    assert client.delegated == other


def test_a_prefix_that_nobody_renews_is_given_up() -> None:
    """The server is gone: after its valid lifetime the prefix may be another's."""
    client = bound(True)
    while client.deadline < 86400:
        client.tick(client.deadline)
        assert client.delegated == DELEGATED
    client.tick(client.deadline)
    assert client.delegated is None and client.state is State.SEARCHING
    client.out = client.out[-1:]
    served(client, GRANTED, 90000)
    assert client.delegated == DELEGATED


def test_who_gets_no_prefix_is_told_so() -> None:
    client = bound(True, Delegation(None))
    assert client.delegated is None and client.state is not State.BOUND


def test_messages_to_another_server_and_of_nobody_get_no_answer() -> None:
    name, other = (Option.CLIENT_ID, b"me"), (Option.SERVER_ID, b"other")
    ours = (Option.SERVER_ID, SERVER)
    for kind, options in (
        (Message.REQUEST, [name, other]),
        (Message.REQUEST, [name]),
        (Message.RENEW, [ours]),
        (Message.SOLICIT, [name, ours]),
        (Message.SOLICIT, []),
        (Message.REPLY, [name, ours]),
        (99, [name]),
    ):
        assert answer(SERVER, Packet(kind, b"abc", list(options)), Delegation(DELEGATED)) is None


@given(some.binary(max_size=200), some.sampled_from(sorted(Message)))
def test_no_message_harms_the_server(body: bytes, kind: int) -> None:
    heard = Packet(kind, b"abc", [*options_of(body), (Option.CLIENT_ID, b"me")])
    said = answer(SERVER, heard, Delegation(DELEGATED))
    assert said is None or len(said) < 1000


@given(some.binary(max_size=300))
def test_no_packet_harms_client_or_server(packet: bytes) -> None:
    client = AddressClient(Random(1))
    client.start(0, CLIENT_ID)
    client.heard(0, packet)
    assert packet_of(packet, SERVER_PORT) is None or len(packet) >= 52
    assert client.delegated is None


# ---- Errors

SENDER, TARGET = IPv4Address("198.51.100.7"), IPv4Address("100.64.0.9")
SENDER6, TARGET6 = IPv6Address("2001:db8:ffff::7"), IPv6Address("2001:db8:8000::9")


def long(size: int, flags: int = 0) -> bytes:
    """An IPv4 packet of so many bytes."""
    data = udp(SENDER, TARGET, (1, 2), Random(size).randbytes(size - 28))
    packet = IP(ipv4(SENDER, TARGET, PROTOCOL_UDP, data))
    packet.flags = flags
    packet.id = 77
    del packet.chksum
    return bytes(packet)


def test_too_long_with_df_says_how_long_a_packet_may_be() -> None:
    error = too_long(OWN4, OWN6, long(1500, flags=2), 1492)
    assert error is not None
    seen = IP(error)
    assert (seen.src, seen.dst) == (str(OWN4), str(SENDER))
    assert (seen[ICMP].type, seen[ICMP].code, seen[ICMP].nexthopmtu) == (3, 4, 1492)
    assert too_long(OWN4, OWN6, long(1500), 1492) is None
    body = ipv6(SENDER6, TARGET6, PROTOCOL_UDP, udp(SENDER6, TARGET6, (1, 2), bytes(1452)))
    big = too_long(OWN4, OWN6, body, 1492)
    assert big is not None
    assert big[40] == 2 and int.from_bytes(big[44:48], "big") == 1492


@pytest.mark.parametrize(("size", "mtu"), [(1500, 1492), (4000, 1492), (1500, 576), (1493, 1492)])
def test_without_df_a_packet_goes_on_in_pieces(size: int, mtu: int) -> None:
    """The same pieces that scapy makes."""
    packet = long(size)
    pieces = fragments(packet, mtu)
    expected = [bytes(piece) for piece in fragment(IP(packet), fragsize=mtu - 20)]
    assert pieces == expected and all(len(piece) <= mtu for piece in pieces)
    assert fragments(long(size, flags=2), mtu) == []


@pytest.mark.parametrize("version", [4, 6])
def test_a_packet_that_has_lived_too_long_is_reported(version: int) -> None:
    if version == 4:
        error = expired(OWN4, OWN6, long(100))
        assert error is not None
        seen = IP(error)
        assert (seen[ICMP].type, seen[ICMP].code, seen.dst) == (11, 0, str(SENDER))
        assert bytes(seen[ICMP].payload)[:100] == long(100)
        rebuilt = IP(error)
        del rebuilt[ICMP].chksum, rebuilt.chksum
        assert bytes(rebuilt) == error
        assert expired(OWN4, OWN6, error) is None, "no error about an error"
    else:
        body = ipv6(SENDER6, TARGET6, PROTOCOL_UDP, udp(SENDER6, TARGET6, (1, 2), b"x"))
        error = expired(OWN4, OWN6, body)
        assert error is not None and ICMPv6TimeExceeded in IPv6(error)
        assert expired(OWN4, OWN6, error) is None


@given(some.binary(max_size=80))
def test_no_packet_harms_the_errors(packet: bytes) -> None:
    for error in (expired(OWN4, OWN6, packet), too_long(OWN4, OWN6, packet, 1280)):
        assert error is None or len(error) <= 1280
    assert sum(map(len, fragments(packet, 576))) <= 2 * 576
