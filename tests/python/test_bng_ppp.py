"""A PPP link comes up, stays up and goes down as both ends can rely on.

If these fail, a subscriber with a right password gets no address, one with a wrong password gets
one, or a strange or hostile one ties up the gateway.
"""

import hashlib
from ipaddress import IPv4Address
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bng_peers import ADDRESS, DNS, PASSWORD, Pair, kinds
from p4lab.systems.bng.ppp import CHAP, CLIENT, PAP, SERVER, Link, Settings
from p4lab.systems.bng.ppp.codes import CHAP as CHAP_PROTOCOL
from p4lab.systems.bng.ppp.codes import (
    IPCP,
    IPV4,
    IPV6,
    IPV6CP,
    LCP,
    option,
    options_of,
    packet,
)
from p4lab.systems.bng.ppp.codes import PAP as PAP_PROTOCOL
from p4lab.systems.bng.ppp.events import (
    LOST_CARRIER,
    USER_ERROR,
    USER_REQUEST,
    AuthenticationAsked,
    Down,
    V4Up,
    V6Up,
)
from p4lab.systems.bng.subscriber import hostile

REQUEST, ACK, NAK, REJECT = 1, 2, 3, 4


def server(**settings):
    """A server's link that has begun."""
    link = Link(SERVER, Settings(**settings), Random(1))
    link.start(0.0)
    return link


def opened(**settings):
    """A server's link with a client that has been asked for its name, LCP being open."""
    link = server(**settings)
    request = link.take()[0][1]
    link.heard(0.0, LCP, packet(ACK, request[1], request[4:]))
    link.heard(0.0, LCP, packet(REQUEST, 1))
    assert link.lcp.state == 9
    return link


def authenticated(**settings):
    """A server's link in the network phase."""
    link = opened(methods=(PAP,), **settings)
    link.heard(0.0, PAP_PROTOCOL, packet(1, 1, b"\5alice\6wonder"))
    link.authenticated(0.0, ADDRESS, DNS, 0)
    link.take()
    link.happened()
    return link


def answers(link, protocol, body, now=0.0):
    """What a link says to a packet."""
    link.take()
    link.heard(now, protocol, body)
    return link.take()


@pytest.mark.parametrize("method", [PAP, CHAP])
def test_a_link_comes_up(method):
    pair = Pair(Settings(methods=(method,)), random=Random(1))
    pair.dial()
    asked, *_ = pair.server_events
    assert (asked.method, asked.name) == (method, b"alice")
    assert kinds(pair.server_events) == ["AuthenticationAsked", "V6Up", "V4Up"]
    up = next(event for event in pair.client_events if isinstance(event, V4Up))
    assert up == (ADDRESS, IPv4Address("192.0.2.1"), DNS)
    here, there = (
        next(e for e in events if isinstance(e, V6Up))
        for events in (pair.server_events, pair.client_events)
    )
    assert here == there and here.interface_id != here.gateway_id
    assert len(pair.sent) <= 22


def test_a_proof_is_md5_of_identifier_secret_and_challenge():
    """RFC 1994, section 4.1; RADIUS computes the same."""
    pair = Pair(Settings(methods=(CHAP,)), random=Random(1))
    pair.dial()
    asked = pair.server_events[0]
    assert len(asked.challenge) == 16
    text = bytes([asked.identifier]) + PASSWORD + asked.challenge
    assert asked.proof == hashlib.md5(text).digest()


@pytest.mark.parametrize("method", [PAP, CHAP])
def test_a_wrong_password_gets_nothing(method):
    client = Settings(name=b"alice", secret=b"guess")
    pair = Pair(Settings(methods=(method,)), client, random=Random(1))
    pair.start()
    pair.exchange()
    assert kinds(pair.server_events) == ["AuthenticationAsked", "Down"]
    assert pair.server_events[-1].cause == USER_ERROR
    assert pair.client_events == [Down("the server said: wrong name or password", USER_ERROR)]
    assert not any(protocol in (IPCP, IPV6CP) for _, protocol, _ in pair.sent)


def test_the_client_may_choose_among_what_the_server_takes():
    client = Settings(name=b"alice", secret=PASSWORD, methods=(PAP,))
    pair = Pair(Settings(methods=(CHAP, PAP)), client, random=Random(1))
    pair.dial()
    assert pair.server_events[0].method == PAP


def test_a_client_that_refuses_to_say_who_it_is_is_not_let_in():
    link = server()
    request = link.take()[0][1]
    refused = option(3, options_of(request)[3])
    link.heard(0.0, LCP, packet(REJECT, request[1], refused))
    assert link.happened() == [Down("the client refuses to be authenticated", USER_ERROR)]


def test_a_server_without_a_method_is_an_error():
    with pytest.raises(ValueError, match="needs a method of authentication"):
        Link(SERVER, Settings(methods=()), Random(1))


def test_without_a_user_name_nobody_is_asked():
    link = opened(methods=(PAP,))
    said = answers(link, PAP_PROTOCOL, packet(1, 1, b"\0\6wonder"))
    assert [body[0] for _, body in said] == [3]
    assert kinds(link.happened()) == ["Down"]


def test_a_repeated_request_is_asked_once_and_answered_twice():
    link = opened(methods=(PAP,))
    for number in range(3):
        request = packet(1, number, b"\5alice\6wonder")
        assert answers(link, PAP_PROTOCOL, request) == []
    assert kinds(link.happened()) == ["AuthenticationAsked"]
    link.authenticated(5.0, ADDRESS, DNS, None)
    assert (PAP_PROTOCOL, packet(2, 2, b"\0")) in link.take()
    again = packet(1, 3, b"\5alice\6wonder")
    assert answers(link, PAP_PROTOCOL, again, 6.0) == [(PAP_PROTOCOL, packet(2, 3, b"\0"))]
    assert link.happened() == []


@pytest.mark.parametrize("identifier", [0, 1, 255])
def test_nobody_is_authenticated_before_lcp_is_open(identifier):
    link = server(methods=(PAP,))
    link.heard(0.0, PAP_PROTOCOL, packet(1, identifier, b"\5alice\6wonder"))
    assert link.happened() == []
    for method, protocol, code in ((PAP, PAP_PROTOCOL, 2), (CHAP, CHAP_PROTOCOL, 3)):
        client = Link(CLIENT, Settings(name=b"alice", methods=(method,)), Random(1))
        client.start(0.0)
        client.heard(0.0, protocol, packet(code, identifier, b"\0"))
        assert not client.network


def test_an_answer_that_comes_too_late_lets_nobody_in():
    link = opened(methods=(PAP,))
    link.heard(0.0, PAP_PROTOCOL, packet(1, 1, b"\5alice\6wonder"))
    link.heard(1.0, LCP, packet(5, 9))
    assert kinds(link.happened()) == ["AuthenticationAsked", "Down"]
    link.take()
    link.authenticated(2.0, ADDRESS, DNS, 0)
    link.refused(2.0)
    assert link.take() == [] and link.happened() == []


@pytest.mark.parametrize("kind", [2, 7, 8, 9, 13, 17, 19, 200])
def test_what_has_no_place_on_pppoe_is_rejected(kind):
    """RFC 2516, section 7: FCS, ACCM and ACFC; RFC 1661: all that is unknown."""
    value = b"\1\2\3\4" if kind in (2, 19) else b""
    bad, good = option(kind, value), option(1, (1492).to_bytes(2, "big"))
    assert answers(server(), LCP, packet(REQUEST, 4, good + bad)) == [(LCP, packet(REJECT, 4, bad))]


@pytest.mark.parametrize(
    ("asked", "suggested"), [(1500, 1492), (64, 1492), (65535, 1492), (0, 1492)]
)
def test_an_mru_that_does_not_fit_is_answered_by_one_that_does(asked, suggested):
    options = option(1, asked.to_bytes(2, "big"))
    wanted = option(1, suggested.to_bytes(2, "big"))
    assert answers(server(), LCP, packet(REQUEST, 4, options)) == [(LCP, packet(NAK, 4, wanted))]


def test_who_insists_is_rejected_and_then_dropped():
    """RFC 1661, section 4.6: Max-Failure."""
    link = server()
    codes = []
    for number, (protocol, body) in enumerate(hostile.endless_requests(Random(1), 20)):
        codes += [said[0] for _, said in answers(link, protocol, body, number / 10)]
    assert codes == [NAK] * 5 + [REJECT] * 5
    assert link.over and link.deadline == float("inf")


def test_a_longer_mru_is_granted_where_both_can():
    """RFC 4638: the owner sets 1500 when PPP-Max-Payload was agreed."""
    client = Settings(name=b"alice", secret=PASSWORD, mru=1500)
    pair = Pair(Settings(mru=1500), client, random=Random(1))
    pair.dial()
    assert pair.server.peer_mru == pair.client.peer_mru == 1500
    plain = Pair(random=Random(1))
    plain.dial()
    assert plain.server.peer_mru == 1492


def test_name_servers_are_given_and_netbios_is_not():
    """A client that asks for 0.0.0.0 everywhere ends with what there is, and no circle."""
    link = authenticated()
    asked = b"".join(option(kind, bytes(4)) for kind in (3, 129, 130, 131, 132))
    rejected = b"".join(option(kind, bytes(4)) for kind in (130, 131, 132))
    assert answers(link, IPCP, packet(REQUEST, 1, asked)) == [(IPCP, packet(REJECT, 1, rejected))]
    left = option(3, bytes(4)) + option(129, bytes(4))
    given = option(3, ADDRESS.packed) + option(129, DNS[0].packed)
    assert answers(link, IPCP, packet(REQUEST, 2, left)) == [(IPCP, packet(NAK, 2, given))]
    assert answers(link, IPCP, packet(REQUEST, 3, given)) == [(IPCP, packet(ACK, 3, given))]


def test_header_compression_is_rejected():
    vj = option(2, b"\0\x2d\x0f\1")
    body = packet(REQUEST, 1, option(3, ADDRESS.packed) + vj)
    assert answers(authenticated(), IPCP, body) == [(IPCP, packet(REJECT, 1, vj))]


def test_a_client_without_an_address_option_is_told_its_address():
    link = authenticated()
    given = option(3, ADDRESS.packed)
    for number in range(5):
        assert answers(link, IPCP, packet(REQUEST, number)) == [(IPCP, packet(NAK, number, given))]
    assert [body[0] for _, body in answers(link, IPCP, packet(REQUEST, 9))] == [5]


def test_an_address_that_belongs_to_another_is_never_granted():
    link = authenticated()
    stolen = IPv4Address("100.69.0.2")
    said = []
    for number in range(40):
        protocol, body = hostile.stolen_address(stolen, number)
        said += answers(link, protocol, body, float(number))
    codes = [body[0] for _, body in said]
    assert ACK not in codes and codes[:5] == [NAK] * 5
    assert all(options_of(body)[3] == ADDRESS.packed for _, body in said if body[0] == NAK)
    assert not link.v4_open and len(said) < 60


def test_a_client_does_not_ask_again_for_what_was_rejected():
    client = Settings(name=b"alice", secret=PASSWORD)
    pair = Pair(random=Random(1), client=client)
    pair.dial()
    requests = [options_of(b) for n, p, b in pair.sent if (n, p, b[0]) == ("c", IPCP, REQUEST)]
    assert [list(request) for request in requests] == [[3, 129, 131], [3, 129], [3, 129]]


def test_two_interface_identifiers_never_are_the_same():
    link = authenticated()
    own = link.ipv6cp.own
    for bad in (own, bytes(8)):
        ((protocol, said),) = answers(link, IPV6CP, packet(REQUEST, 1, option(1, bad)))
        assert (protocol, said[0]) == (IPV6CP, NAK)
        assert options_of(said)[1] not in (own, bytes(8))


def test_a_granted_interface_identifier_is_the_only_one():
    pair = Pair(random=Random(1), interface_id=0xABC)
    pair.dial()
    assert [e.interface_id for e in pair.client_events if isinstance(e, V6Up)] == [0xABC]


@pytest.mark.parametrize(
    ("grant", "rejected", "lives"),
    [({"interface_id": None}, IPV6CP, "v4_open"), ({"address": None}, IPCP, "v6_open")],
)
def test_a_family_that_is_not_granted_leaves_the_other_alone(grant, rejected, lives):
    pair = Pair(random=Random(1), **grant)
    pair.dial()
    protests = [b[4:6] for n, p, b in pair.sent if (n, p, b[0]) == ("s", LCP, 8)]
    assert protests == [rejected.to_bytes(2, "big")]
    assert getattr(pair.client, lives) and getattr(pair.server, lives)


def test_a_client_may_want_one_family_only():
    client = Settings(name=b"alice", secret=PASSWORD, v6=False)
    pair = Pair(client=client, random=Random(1))
    pair.dial()
    assert pair.server.v4_open and not pair.server.v6_open


def test_network_protocols_wait_for_the_authentication():
    link = opened()
    body = packet(REQUEST, 1, option(3, ADDRESS.packed))
    assert answers(link, IPCP, body) == []
    assert answers(link, IPV4, b"E" * 20) == [] and "Packet" not in kinds(link.happened())


def test_packets_of_an_open_protocol_reach_the_owner():
    pair = Pair(random=Random(1))
    pair.dial()
    pair.server.heard(0.0, IPV6, b"`solicitation")
    assert pair.server.happened() == [(IPV6, b"`solicitation")]


def test_an_unknown_protocol_and_an_unknown_code_are_said_to_be():
    link = opened()
    assert answers(link, 0x80FD, b"\1\1\0\4") == [(LCP, packet(8, 2, b"\x80\xfd\1\1\0\4"))]
    assert answers(link, LCP, packet(77, 3)) == [(LCP, packet(7, 3, packet(77, 3)))]
    assert answers(server(), 0x80FD, b"\1\1\0\4") == []


def test_who_begins_again_is_asked_again():
    """BNG Blaster's proxy LCP: a request in the open state renegotiates everything."""
    pair = Pair(Settings(methods=(CHAP,)), random=Random(1))
    pair.dial()
    before = len(pair.server_events)
    again = Link(CLIENT, Settings(name=b"alice", secret=PASSWORD), Random(9))
    pair.client = again
    again.start(pair.now)
    pair.run(4.0)
    assert kinds(pair.server_events[before:]) == [
        "V4Down",
        "V6Down",
        "AuthenticationAsked",
        "V6Up",
        "V4Up",
    ]
    assert pair.server.settled and again.settled


@pytest.mark.parametrize("how", [packet(REQUEST, 1), packet(6, 1)])
def test_who_begins_again_without_end_is_dropped(how):
    """By a request, or a Terminate-Ack: eight times at once and one a minute."""
    link = authenticated()
    fallen = 0
    for number in range(2000):
        now, was = number / 10, link.lcp.state
        link.heard(now, LCP, how)
        link.tick(now)
        fallen += was == 9 and link.lcp.state != 9
        for sent, said in link.take():
            if sent == LCP and said[0] == REQUEST:
                link.heard(now, LCP, packet(REQUEST, 2))
                link.heard(now, LCP, packet(ACK, said[1], said[4:]))
    assert 5 < fallen <= 9 and link.over
    assert kinds(link.happened())[-1] == "Down"


def test_a_peer_that_rejects_the_codes_of_lcp_is_dropped():
    link = authenticated()
    assert [body[0] for _, body in answers(link, LCP, packet(7, 1, packet(1, 1)))] == [5]
    link.heard(0.0, LCP, packet(6, 1))
    assert kinds(link.happened()) == ["Down"]


def test_a_looped_line_is_noticed():
    link = Link(CLIENT, Settings(name=b"alice"), Random(1))
    link.start(0.0)
    for step in range(50):
        for protocol, body in link.take():
            link.heard(step * 0.1, protocol, body)
        link.tick(step * 0.1)
    assert [event.cause for event in link.happened()] == [LOST_CARRIER]
    assert link.over


def test_two_ends_with_one_magic_number_choose_others():
    link = server()
    ((_, said),) = answers(link, LCP, packet(REQUEST, 1, option(5, link.lcp.magic)))
    assert said[0] == NAK and options_of(said)[5] != link.lcp.magic


def test_an_echo_is_answered_with_our_own_magic_number():
    link = opened()
    ((_, said),) = answers(link, LCP, packet(9, 33, b"\0\0\0\0hello"))
    assert said == packet(10, 33, link.lcp.magic + b"hello")
    assert answers(link, LCP, packet(9, 33, link.lcp.magic + b"hello")) == []
    assert answers(server(), LCP, packet(9, 33, bytes(4))) == []


def test_a_peer_that_is_gone_is_missed():
    pair = Pair(random=Random(1))
    pair.dial()
    pair.run(95.0)
    assert not pair.server.over
    pair.loss = 1.0
    pair.run(125.0)
    down = pair.server_events[-1]
    assert down == Down("no answer to 3 Echo-Requests", LOST_CARRIER)
    assert kinds(pair.server_events[-3:]) == ["V4Down", "V6Down", "Down"]
    assert pair.server.deadline == float("inf")


def test_nobody_there_is_said_after_ten_requests():
    link = server()
    for second in range(60):
        link.tick(float(second))
    assert len(link.take()) == 10
    assert link.happened() == [Down("no answer to LCP", LOST_CARRIER)]


def test_hanging_up_is_heard_at_the_other_end():
    for one, other in (("server", "client"), ("client", "server")):
        pair = Pair(random=Random(1))
        pair.dial()
        getattr(pair, one).close(pair.now, "enough", 6)
        pair.exchange()
        assert getattr(pair, f"{one}_events")[-1] == Down("enough", 6)
        assert getattr(pair, f"{other}_events")[-1] == Down("the peer hung up", USER_REQUEST)
        for name in (one, other):
            assert kinds(getattr(pair, f"{name}_events")).count("Down") == 1


def test_who_hangs_up_does_not_wait_for_ever():
    link = opened()
    link.take()
    link.close(0.0, "maintenance", 6)
    for tenth in range(100):
        link.tick(tenth / 10)
    assert [body[0] for _, body in link.take()] == [5, 5]
    assert link.happened() == [Down("maintenance", 6)]


def test_a_late_answer_to_a_repeated_request_counts():
    link = server()
    request = link.take()[0][1]
    link.tick(3.0)
    assert link.take() == [(LCP, request)]
    link.heard(3.1, LCP, packet(ACK, request[1], request[4:]))
    assert link.lcp.state == 7
    link.heard(3.2, LCP, packet(ACK, request[1], request[4:]))
    assert link.lcp.state == 7


def test_a_link_that_gets_nowhere_ends():
    """LCP is open, and the name never comes."""
    link = opened(methods=(PAP,))
    for second in range(60):
        link.heard(float(second), LCP, packet(9, 1, bytes(4)))
        link.tick(float(second))
        assert not link.over
    link.tick(60.0)
    assert link.happened() == [Down("not up within 60 s", LOST_CARRIER)]


def test_a_flood_of_echoes_is_answered_in_measure():
    """100 at once and 20 a second, whatever comes."""
    link = authenticated()
    sent = 0
    for number, (protocol, body) in enumerate(hostile.echo_flood(Random(1), 10_000)):
        sent += len(answers(link, protocol, body, number / 1000))
    assert 250 < sent <= 100 + 10 * 20 + 1


def test_naks_without_end_come_to_an_end():
    link = server()
    draw, sent = Random(1), 0
    packets = link.take()
    for step in range(1000):
        for protocol, body in packets:
            sent += 1
            link.heard(step * 1.0, protocol, hostile.endless_nak(body, draw))
        link.tick(step * 1.0)
        packets = link.take()
    assert link.over and sent <= 40


def test_broken_options_are_ignored():
    for body in hostile.broken_options():
        link = server()
        assert answers(link, LCP, body) == [] and not link.over
        assert link.lcp.state == 6
    widest = bytes((77, 255)) + bytes(253)
    assert answers(server(), LCP, packet(REQUEST, 5, widest)) == [(LCP, packet(REJECT, 5, widest))]


CONTROL = st.sampled_from([LCP, PAP_PROTOCOL, CHAP_PROTOCOL, IPCP, IPV6CP, IPV6, 0x80FD])
NEAR = st.builds(
    lambda code, identifier, data: packet(code, identifier, data),
    st.integers(0, 13),
    st.integers(0, 3),
    st.binary(max_size=24),
)


@given(
    st.booleans(),
    st.integers(0, 3),
    st.lists(st.tuples(CONTROL, st.one_of(st.binary(max_size=40), NEAR)), max_size=40),
)
def test_whatever_is_heard_a_link_says_little_and_raises_nothing(is_server, stage, heard):
    if is_server:
        link = [server, opened, opened, authenticated][stage]()
    else:
        pair = Pair(random=Random(1))
        if stage:
            pair.dial()
        link = pair.client
    link.take()
    for number, (protocol, body) in enumerate(heard):
        now = number * 0.5
        link.heard(now, protocol, body)
        assert len(link.take()) <= 4
        for event in link.happened():
            if isinstance(event, AuthenticationAsked):
                assert event.name
                link.authenticated(now, ADDRESS, DNS, 0)
        link.tick(now)
        assert len(link.take()) <= 5
        assert link.deadline > now, "the owner would ask again and again"


@pytest.mark.parametrize("seed", range(40))
def test_on_a_bad_line_both_ends_agree_or_give_up(seed):
    """A third of all packets is lost. Nobody ends with an address that the other does not know."""
    print("seed", seed)
    pair = Pair(random=Random(seed), loss=0.33)
    pair.start()
    pair.run(90.0)
    if pair.server.v4_open and pair.client.v4_open:
        here = [e for e in pair.server_events if isinstance(e, V4Up)][-1]
        there = [e for e in pair.client_events if isinstance(e, V4Up)][-1]
        assert here.address == there.address == ADDRESS
    assert pair.server.settled or pair.server.over or pair.client.settled or pair.client.over
    pair.loss = 0.0
    pair.run(400.0)
    assert (pair.server.settled and pair.client.settled) or pair.server.over or pair.client.over
