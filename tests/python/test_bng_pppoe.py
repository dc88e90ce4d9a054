"""The access concentrator gives sessions to those who ask rightly, and only they can end them.

If these fail, a subscriber finds no gateway, or one on another line ends or takes over its session.
"""

import shutil
import subprocess
from ipaddress import IPv4Address
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.l2 import Ether
from scapy.layers.ppp import PPPoE, PPPoED, PPPoED_Tags
from scapy.utils import wrpcap

from bng_peers import GATEWAY_MAC, Gateway
from p4lab.systems.bng.ppp import CHAP, PAP, Settings
from p4lab.systems.bng.pppoe import Closed, Concentrator, Dialer, Offer, Opened, Session
from p4lab.systems.bng.pppoe.packets import (
    AC_COOKIE,
    AC_NAME,
    AC_SYSTEM_ERROR,
    BROADCAST,
    GENERIC_ERROR,
    HOST_UNIQ,
    MAX_PAYLOAD,
    PADI,
    PADO,
    PADR,
    PADS,
    PADT,
    RELAY_SESSION_ID,
    SERVICE_NAME,
    SERVICE_NAME_ERROR,
    VENDOR,
    data,
    discovery,
    discovery_of,
    line_tag,
)
from p4lab.systems.bng.subscriber import Account, State, Subscriber, hostile
from p4lab.systems.bng.subscriber.access import Line, inner_of

MAC = bytes.fromhex("060000000001")
OTHER = bytes.fromhex("060000000002")
LINE, OTHER_LINE = 7, 8
ANY = [(SERVICE_NAME, b"")]


def concentrator(**offer):
    return Concentrator(Offer(**offer), Random(1))


def said(there):
    """What was answered: discovery packets."""
    return [discovery_of(frame.packet) for frame in there.take()]


def initiate(there, tags=ANY, *, line=LINE, mac=MAC, now=0.0):
    """What a PADI is answered with."""
    assert there.discovery(now, line, BROADCAST, mac, discovery(PADI, 0, tags)) is None
    return said(there)


def request(there, tags=ANY, *, line=LINE, mac=MAC, now=0.0, cookie=None):
    """A PADR with a good cookie, or the one that is given: event and answers."""
    if cookie is None:
        cookie = initiate(there, line=line, mac=mac, now=now)[0].first(AC_COOKIE)
    packet = discovery(PADR, 0, [*tags, (AC_COOKIE, cookie)])
    event = there.discovery(now, line, GATEWAY_MAC, mac, packet)
    return event, said(there)


def opened(there, **of):
    event, _ = request(there, **of)
    assert isinstance(event, Opened)
    return event.session


def test_a_session_is_offered_and_given():
    there = concentrator(name=b"bng", services=(b"", b"tv"))
    (offer,) = initiate(there, [*ANY, (HOST_UNIQ, b"\0\1\2"), (RELAY_SESSION_ID, b"relay")])
    assert (offer.code, offer.session_id, offer.first(AC_NAME)) == (PADO, 0, b"bng")
    assert offer.all(SERVICE_NAME) == [b"", b"tv"]
    assert (offer.first(HOST_UNIQ), offer.first(RELAY_SESSION_ID)) == (b"\0\1\2", b"relay")
    event, (confirmation,) = request(
        there, [(SERVICE_NAME, b"tv"), (HOST_UNIQ, b"\0\1\2"), (RELAY_SESSION_ID, b"relay")]
    )
    session = event.session
    assert (confirmation.code, confirmation.session_id) == (PADS, session.id)
    assert confirmation.all(SERVICE_NAME) == [b"tv"]
    assert confirmation.first(HOST_UNIQ) == b"\0\1\2"
    assert confirmation.first(RELAY_SESSION_ID) == b"relay"
    assert (session.line, session.mac, session.service) == (LINE, MAC, b"tv")
    assert there.sessions == {session.id: session} and 0 < session.id < 0xFFFF


@pytest.mark.parametrize("tags", [[], ANY * 2, [(SERVICE_NAME, b"radio")]])
def test_who_asks_for_what_there_is_not_gets_no_offer(tags):
    assert initiate(concentrator(), tags) == []


def test_an_initiation_goes_to_all_and_has_no_session():
    there = concentrator()
    good = discovery(PADI, 0, ANY)
    for destination, source, packet in [
        (GATEWAY_MAC, MAC, good),
        (BROADCAST, b"\1" + MAC[1:], good),
        (BROADCAST, MAC, discovery(PADI, 5, ANY)),
        (BROADCAST, MAC, discovery(PADR, 0, ANY)),
        (BROADCAST, MAC, discovery(PADO, 0, ANY)),
    ]:
        assert there.discovery(0.0, LINE, destination, source, packet) is None
    assert there.take() == [] and there.ignored == 5


def test_a_cookie_is_good_for_its_line_its_subscriber_and_a_minute():
    there = concentrator()
    cookie = initiate(there)[0].first(AC_COOKIE)
    for wrong in ({"line": OTHER_LINE}, {"mac": OTHER}, {"now": 60.0}):
        assert request(there, cookie=cookie, **wrong) == (None, [])
    assert request(there, cookie=b"") == (None, [])
    assert isinstance(request(there, cookie=cookie, now=30.0)[0], Opened)


def test_a_flood_of_initiations_costs_an_answer_in_measure_and_no_memory():
    """32 at once and 4 a second from one line; another line is served as before."""
    there, line = concentrator(), Line()
    answered = 0
    for number, frame in enumerate(hostile.padi_flood(line, Random(1), 5000)):
        inner = inner_of(frame)
        there.discovery(number / 1000, LINE, inner.destination, inner.source, inner.packet)
        answered += len(there.take())
    assert 32 < answered <= 32 + 4 * 5 + 1
    assert not there.sessions and len(initiate(there, line=OTHER_LINE, now=5.0)) == 1


def test_a_line_has_so_many_sessions_and_no_more():
    there = concentrator(sessions_per_line=2)
    first = opened(there, mac=MAC)
    opened(there, mac=OTHER)
    event, (refusal,) = request(there, mac=b"\2" + bytes(5))
    assert event is None and (refusal.code, refusal.session_id) == (PADS, 0)
    assert refusal.first(AC_SYSTEM_ERROR) == b"the line has enough sessions"
    opened(there, line=OTHER_LINE)
    there.close(first)
    there.take()
    opened(there, mac=b"\2" + bytes(5))


def test_there_are_only_so_many_sessions():
    """Who was offered one in time is refused, who asks later hears nothing."""
    there = concentrator(sessions=1)
    cookie = initiate(there, line=OTHER_LINE)[0].first(AC_COOKIE)
    opened(there)
    assert initiate(there, line=OTHER_LINE) == []
    _, (refusal,) = request(there, line=OTHER_LINE, cookie=cookie)
    assert refusal.first(AC_SYSTEM_ERROR) == b"there is no room for a session"


def test_errors_have_their_tags():
    _, (refusal,) = request(concentrator(), [(SERVICE_NAME, b"radio"), (HOST_UNIQ, b"me")])
    assert (refusal.code, refusal.session_id) == (PADS, 0)
    assert refusal.first(SERVICE_NAME_ERROR) and refusal.first(HOST_UNIQ) == b"me"
    _, (refusal,) = request(concentrator(), [])
    assert refusal.first(GENERIC_ERROR)


def test_a_repeated_request_gets_the_same_session():
    """The PADS was lost. Once PPP has begun, the client has started again: a second session."""
    there = concentrator()
    tags = [*ANY, (HOST_UNIQ, b"one")]
    session = opened(there, tags=tags)
    event, (again,) = request(there, tags)
    assert event is None and again.session_id == session.id
    assert isinstance(request(there, [*ANY, (HOST_UNIQ, b"two")])[0], Opened)
    assert there.session(LINE, MAC, data(session.id, 0xC021, b"hello"))
    assert isinstance(request(there, tags)[0], Opened)


def test_a_session_is_ended_from_its_own_line_and_address_only():
    there = concentrator()
    session = opened(there)
    padt = discovery(PADT, session.id, [])
    assert there.discovery(0.0, OTHER_LINE, GATEWAY_MAC, MAC, padt) is None
    assert there.discovery(0.0, LINE, GATEWAY_MAC, OTHER, padt) is None
    assert there.discovery(0.0, LINE, GATEWAY_MAC, MAC, discovery(PADT, 0, [])) is None
    assert there.discovery(0.0, LINE, GATEWAY_MAC, MAC, padt) == Closed(session)
    assert not there.sessions and there.take() == []


def test_a_session_is_heard_on_its_own_line_and_address_only():
    there = concentrator()
    session = opened(there)
    packet = data(session.id, 0xC021, b"hello")
    assert there.session(OTHER_LINE, MAC, packet) is None
    assert there.session(LINE, OTHER, packet) is None
    assert there.session(LINE, MAC, packet + bytes(40)) == (session, 0xC021, b"hello")


def test_the_gateway_ends_a_session_and_says_why():
    there = concentrator()
    session = opened(there)
    there.close(session, "no answer")
    there.close(session)
    ((line, mac, _, packet),) = there.take()
    assert (line, mac) == (LINE, MAC)
    ended = discovery_of(packet)
    assert (ended.code, ended.session_id) == (PADT, session.id)
    assert ended.first(GENERIC_ERROR) == b"no answer"


def test_a_session_id_rests_before_it_is_used_again():
    there = concentrator()
    first = opened(there)
    there.close(first)
    there.take()
    assert opened(there).id != first.id


def test_sessions_come_back_after_a_restart():
    there = concentrator()
    there.restore([Session(1, LINE, MAC), Session(3, OTHER_LINE, OTHER)])
    assert [opened(there, mac=bytes([2, 0, 0, 0, 0, n])).id for n in range(2)] == [2, 4]
    assert there.session(LINE, MAC, data(1, 0xC021, b"")) is not None
    with pytest.raises(ValueError, match="session 3 cannot be restored"):
        there.restore([Session(3, LINE, MAC)])


def test_the_access_node_says_whose_line_it_is():
    """TR-101; what a subscriber has forged comes before the access node's tag."""
    forged, true = line_tag(b"forged", b"forged"), line_tag(b"node eth 1/2:100", b"line 4711")
    other_vendor = (32473).to_bytes(4, "big") + b"\1\5other"
    tags = [*ANY, (VENDOR, forged), (VENDOR, true), (VENDOR, other_vendor)]
    session = opened(concentrator(), tags=tags)
    assert (session.circuit_id, session.remote_id) == (b"node eth 1/2:100", b"line 4711")
    assert opened(concentrator()).circuit_id == b""
    with pytest.raises(ValueError, match="at most 63 bytes, not 64"):
        line_tag(b"x" * 64, b"")


@pytest.mark.parametrize(
    ("most", "asked", "answered", "granted"),
    [
        (1500, b"\x05\xdc", b"\x05\xdc", 1500),
        (1500, b"\x23\x28", b"\x05\xdc", 1500),
        (1492, b"\x05\xdc", None, 1492),
        (1500, b"\x05\xd4", None, 1492),
        (1500, b"\0", None, 1492),
        (1500, None, None, 1492),
    ],
)
def test_longer_payloads_for_those_who_ask(most, asked, answered, granted):
    there = concentrator(max_payload=most)
    tags = [*ANY, (MAX_PAYLOAD, asked)] if asked is not None else ANY
    (offer,) = initiate(there, tags)
    event, (confirmation,) = request(there, tags)
    assert offer.first(MAX_PAYLOAD) == confirmation.first(MAX_PAYLOAD) == answered
    assert event.session.max_payload == granted


@pytest.mark.parametrize("code", [PADI, PADR, PADT])
def test_tags_that_lie_are_survived(code):
    there = concentrator()
    destination = BROADCAST if code == PADI else GATEWAY_MAC
    for packet in hostile.broken_tags(code):
        there.discovery(0.0, LINE, destination, MAC, packet)
        assert len(there.take()) <= 1
    assert not there.sessions
    assert len(initiate(there, line=OTHER_LINE)) == 1


CODES = st.sampled_from([PADI, PADO, PADR, PADS, PADT, 0])
TAGS = st.lists(
    st.tuples(
        st.sampled_from([0, 0x101, 0x103, 0x104, 0x105, 0x110, 0x120, 0x203, 0xFFFF]),
        st.binary(max_size=20),
    ),
    max_size=8,
)
PACKETS = st.one_of(st.binary(max_size=60), st.builds(discovery, CODES, st.integers(0, 3), TAGS))


@given(st.lists(st.tuples(st.booleans(), PACKETS), max_size=30))
def test_whatever_is_heard_a_concentrator_says_little_and_raises_nothing(heard):
    there = concentrator()
    session = opened(there)
    for to_all, packet in heard:
        there.discovery(0.0, OTHER_LINE, BROADCAST if to_all else GATEWAY_MAC, MAC, packet)
        there.session(OTHER_LINE, MAC, packet)
        assert len(there.take()) <= 1
    assert there.sessions[session.id] is session


@given(st.lists(st.tuples(st.booleans(), PACKETS), max_size=30))
def test_whatever_is_heard_a_client_says_little_and_raises_nothing(heard):
    dialer = Dialer(Random(1))
    dialer.start(0.0)
    dialer.out.clear()
    for of_other, packet in heard:
        dialer.heard(0.0, OTHER if of_other else GATEWAY_MAC, packet)
        assert len(dialer.out) <= 1
        dialer.out.clear()


def answer(dialer, code, session_id, tags=(), source=GATEWAY_MAC):
    """What a concentrator says to a client that has asked."""
    uniq = discovery_of(dialer.out[-1][1]).first(HOST_UNIQ)
    dialer.heard(0.0, source, discovery(code, session_id, [(HOST_UNIQ, uniq), *tags]))


def test_a_client_takes_the_first_offer_that_fits():
    dialer = Dialer(Random(1), service=b"tv")
    dialer.start(0.0)
    assert dialer.out[0][0] == BROADCAST
    name = (AC_NAME, b"bng")
    answer(dialer, PADO, 0, [name, (SERVICE_NAME, b"radio")], OTHER)
    dialer.heard(0.0, OTHER, discovery(PADO, 0, [name, (SERVICE_NAME, b"tv")]))  # of another client
    assert len(dialer.out) == 1
    answer(dialer, PADO, 0, [name, (SERVICE_NAME, b"tv"), (AC_COOKIE, b"c")])
    destination, packet = dialer.out[1]
    asked = discovery_of(packet)
    assert destination == GATEWAY_MAC and asked.code == PADR and asked.first(AC_COOKIE) == b"c"
    answer(dialer, PADS, 9, [(SERVICE_NAME, b"tv")], OTHER)
    assert dialer.session_id == 0
    answer(dialer, PADS, 9, [(SERVICE_NAME, b"tv")])
    assert dialer.session_id == 9


def test_a_client_is_ended_by_its_own_concentrator_only():
    """Two concentrators on one wire: a stale PADT of the other must not end the session."""
    dialer = Dialer(Random(1))
    dialer.start(0.0)
    answer(dialer, PADO, 0, [(AC_NAME, b"bng"), *ANY])
    answer(dialer, PADS, 9)
    dialer.heard(0.0, OTHER, discovery(PADT, 9, []))
    dialer.heard(0.0, GATEWAY_MAC, discovery(PADT, 8, []))
    assert dialer.session_id == 9
    dialer.heard(0.0, GATEWAY_MAC, discovery(PADT, 9, [(GENERIC_ERROR, b"maintenance")]))
    assert dialer.failure == "the concentrator hung up: maintenance" and not dialer.session_id


def test_a_client_asks_ten_times_and_says_what_it_missed():
    dialer = Dialer(Random(1))
    dialer.start(0.0)
    for second in range(60):
        dialer.tick(float(second))
    assert len(dialer.out) == 10 and dialer.failure == "no answer to 10 PADI"


def test_a_refusal_is_passed_on():
    dialer = Dialer(Random(1))
    dialer.start(0.0)
    answer(dialer, PADO, 0, [(AC_NAME, b"bng"), *ANY])
    answer(dialer, PADS, 0, [(SERVICE_NAME_ERROR, b"no such service")])
    assert dialer.failure == "the concentrator refuses: no such service"


LINES = [
    Line(),
    Line(((0x88A8, 100), (0x8100, 7))),
    Line(((0x8100, 100),), (100, 1007), (GATEWAY_MAC, bytes.fromhex("020000000a01"))),
]


def conversation(method, line):
    """All frames of a set-up, some traffic and the end, on a line."""
    random = Random(1)
    gateway = Gateway(random, Settings(methods=(method,)))
    account = Account(
        "alice", "wonder", MAC, line, mru=1500, circuit_id=b"node eth 1/2:100", remote_id=b"4711"
    )
    subscriber = Subscriber(account, random)
    frames = []

    def talk(now):
        while True:
            up, down = subscriber.take(), gateway.take()
            if not up and not down:
                return
            frames.extend(up + [frame for _, frame in down])
            for frame in up:
                gateway.heard(now, LINE, line, frame)
            for _, frame in down:
                subscriber.heard(now, frame)

    subscriber.dial(0.0)
    talk(0.0)
    assert subscriber.state == State.UP
    frames.append(hostile.hijack(line, MAC, GATEWAY_MAC, 1, IPv4Address("100.69.0.1"), 3))
    for second in range(1, 32):
        subscriber.tick(float(second))
        gateway.tick(float(second))
        talk(float(second))
    subscriber.hang_up(40.0)
    talk(40.0)
    assert subscriber.state == State.DOWN and not gateway.concentrator.sessions
    return frames


@pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not installed (apt-get install tshark)"
)
def test_tshark_reads_whole_sessions_without_a_complaint(tmp_path):
    """On a cable, with QinQ and with labels."""
    frames = [
        frame for line in LINES for method in (PAP, CHAP) for frame in conversation(method, line)
    ]
    capture = tmp_path / "session.pcap"
    wrpcap(str(capture), [Ether(frame) for frame in frames])
    columns = ["frame.protocols", "_ws.malformed", "_ws.expert.message", "pppoed.tags.circuit_id"]
    command = ["tshark", "-r", str(capture), "-T", "fields", "-E", "separator=|"]
    for column in columns:
        command += ["-e", column]
    read = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [row.split("|") for row in read.stdout.splitlines()]
    assert len(rows) == len(frames)
    assert [row[1:3] for row in rows if row[1] or row[2]] == []
    seen = {layer for row in rows for layer in row[0].split(":")}
    assert {"pppoed", "pppoes", "lcp", "pap", "chap", "ipcp", "ipv6cp", "udp"} <= seen
    assert {row[3] for row in rows} == {"", "node eth 1/2:100"}


def test_scapy_reads_what_we_write():
    frames = conversation(PAP, LINES[0])
    packets = [Ether(frame) for frame in frames]
    codes = [packet[PPPoED].code for packet in packets if PPPoED in packet]
    assert codes == [PADI, PADO, PADR, PADS, PADT, PADT]
    assert all(bytes(packet) == frame for packet, frame in zip(packets, frames, strict=True))
    tags = {tag.tag_type for tag in packets[0][PPPoED_Tags].tag_list}
    assert tags == {SERVICE_NAME, HOST_UNIQ, VENDOR, MAX_PAYLOAD}
    assert {packet[PPPoE].sessionid for packet in packets[4:-2]} == {1}
