"""RADIUS: who comes in, what is billed, and what a stranger cannot do. pyrad and FreeRADIUS judge.

If these fail, a subscriber with the right password stays out, one with a forged answer comes in, or
a session is billed twice or not at all.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import md5
from ipaddress import IPv4Address
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyrad.dictionary import Dictionary
from pyrad.packet import AcctPacket, AuthPacket, CoAPacket

from p4lab.systems.bng.accounting import STOP, Usage, record_body
from p4lab.systems.bng.radius import detail
from p4lab.systems.bng.radius.client import (
    ACCESS,
    ACCOUNTING,
    Client,
    ClientSettings,
    Login,
    Recorded,
    Verdict,
)
from p4lab.systems.bng.radius.coa import (
    DICTIONARY,
    Change,
    DynamicAuthorization,
    ErrorCause,
    RefusedError,
)
from p4lab.systems.bng.radius.exchange import Patience
from p4lab.systems.bng.radius.freeradius import MISSING, FreeRadius, program
from p4lab.systems.bng.radius.profile import Profile, prefix_value, profile_of
from p4lab.systems.bng.radius.slow import Slow
from p4lab.systems.bng.radius.sockets import Sockets
from p4lab.systems.bng.radius.users import User, users_file
from p4lab.systems.bng.radius.wire import (
    Kind,
    WireError,
    attribute,
    attributes,
    checked,
    number,
    text,
    vendor,
)

SECOND = 10**9
SECRET = b"testing123"
WORDS = Dictionary(str(DICTIONARY))
needs_freeradius = pytest.mark.skipif(program() is None, reason=MISSING)
needs_radclient = pytest.mark.skipif(
    shutil.which("radclient") is None, reason="radclient: sudo apt install freeradius-utils"
)
PREFIX, DELEGATED = (0x20010DB8_0001 << 80, 64), (0x20010DB8_0100 << 80, 56)


def client(**others: Any) -> Client:
    return Client(ClientSettings(SECRET, **others), Random(7).randbytes)


def reply_to(request: bytes, code: int, signed: bool = True, **values: Any) -> bytes:
    """What a server made of pyrad answers to an Access-Request."""
    asked = AuthPacket(packet=request, dict=WORDS, secret=SECRET)
    reply = asked.CreateReply()
    reply.code = code
    reply.message_authenticator = None
    for name, value in values.items():
        reply[name.replace("_", "-")] = value
    if signed:
        reply.add_message_authenticator()
    return reply.ReplyPacket()


# ---- Bytes


@pytest.mark.parametrize("length", [1, 6, 15, 16, 17, 32, 128])
def test_pyrad_reads_our_passwords(length: int) -> None:
    one = client()
    password = bytes(Random(length).choices(range(33, 127), k=length))
    assert one.access(0, "who", Login(b"alice", password), number(Kind.NAS_PORT, 9)) is None
    (sent,) = one.take()
    packet = AuthPacket(packet=sent.data, dict=WORDS, secret=SECRET)
    assert packet.verify_message_authenticator()
    assert sent.data[20] == Kind.MESSAGE_AUTHENTICATOR, "BlastRADIUS: it comes first"
    assert packet["User-Name"] == ["alice"] and packet["NAS-Port"] == [9]
    hidden = packet[int(Kind.USER_PASSWORD)][0]
    assert packet.PwDecrypt(hidden) == password.decode()


def test_pyrad_believes_our_chap() -> None:
    one, challenge = client(), bytes(range(16))
    response = b"\x07" + md5(b"\x07" + b"wonder" + challenge).digest()
    one.access(0, "who", Login(b"alice", None, challenge, response), b"")
    packet = AuthPacket(packet=one.take()[0].data, dict=WORDS, secret=SECRET)
    assert packet[int(Kind.CHAP_PASSWORD)] == [response]
    assert packet[int(Kind.CHAP_CHALLENGE)] == [challenge]


def test_accounting_is_signed_and_says_how_late_it_is() -> None:
    one = client()
    usage = Usage((3 << 32) + 5, 7, 11, 13)
    body = record_body(STOP, "0001", text(Kind.USER_NAME, "alice"), 1000 * SECOND, usage, 60, 1)
    one.accounting(0, "0001", lambda now: body + number(Kind.ACCT_DELAY_TIME, now // SECOND))
    (first,) = one.take()
    packet = AcctPacket(packet=first.data, dict=WORDS, secret=SECRET)
    assert packet.VerifyAcctRequest()
    values = dict(attributes(checked(first.data)))
    assert int.from_bytes(values[Kind.ACCT_INPUT_GIGAWORDS], "big") == 3
    assert int.from_bytes(values[Kind.ACCT_INPUT_OCTETS], "big") == 5
    assert one.tick(4 * SECOND) == []
    (again,) = one.take()
    assert dict(attributes(again.data))[Kind.ACCT_DELAY_TIME] == bytes((0, 0, 0, 4))
    assert again.data[1] != first.data[1], "another text is another request (RFC 2866, 5.2)"
    reply = AcctPacket(packet=again.data, dict=WORDS, secret=SECRET).CreateReply().ReplyPacket()
    assert one.heard(5 * SECOND, ACCOUNTING, again.port, reply) == Recorded("0001", True)


def test_a_profile_is_what_the_server_says() -> None:
    said = (
        number(Kind.FRAMED_IP_ADDRESS, 0x64450001)
        + attribute(Kind.FRAMED_IPV6_PREFIX, prefix_value(PREFIX))
        + attribute(Kind.DELEGATED_IPV6_PREFIX, prefix_value(DELEGATED))
        + text(Kind.FILTER_ID, "50M")
        + attribute(Kind.CLASS, b"\0gold")
        + attribute(Kind.CLASS, b"second")
        + vendor(311, 28, bytes((9, 9, 9, 9)))
        + vendor(311, 29, bytes((1, 1, 1, 1)))
        + vendor(32473, 28, b"somebody else's")
        + number(Kind.ACCT_INTERIM_INTERVAL, 600)
        + number(Kind.NAS_PORT, 5)
    )
    assert profile_of(attributes(bytes(20) + said)) == Profile(
        address=0x64450001,
        prefix=PREFIX,
        delegated=DELEGATED,
        service="50M",
        interim=600,
        dns=(0x09090909, 0x01010101),
        classes=(b"\0gold", b"second"),
    )
    chosen_by_us = number(Kind.FRAMED_IP_ADDRESS, 0xFFFFFFFE)
    assert profile_of(attributes(bytes(20) + chosen_by_us)).address is None


@pytest.mark.parametrize("seed", range(50))
def test_what_is_broken_is_refused_and_nothing_worse(seed: int) -> None:
    draw = Random(seed)
    kinds = [*Kind, draw.randrange(256)]
    said = bytes(20) + b"".join(
        bytes((draw.choice(kinds), draw.choice((0, 1, 2, 3, 6, 18, 255)))) + draw.randbytes(4)
        for _ in range(5)
    )
    try:
        profile_of(attributes(said))
    except WireError as error:
        assert str(error).endswith(".")


# ---- Answers


def test_only_a_signed_answer_of_the_server_counts() -> None:
    one = client()
    one.access(0, "who", Login(b"alice", b"wonder"), b"")
    (sent,) = one.take()
    good = reply_to(sent.data, 2, Filter_Id="50M")
    unsigned = reply_to(sent.data, 2, signed=False)
    forged = good[:-1] + bytes((good[-1] ^ 1,))
    other_port = sent.port + 1
    for bad in (unsigned, forged, good[:30], b"", good[:2] + b"\xff\xff" + good[4:]):
        assert one.heard(1, ACCESS, sent.port, bad) is None
    assert one.heard(1, ACCESS, other_port, good) is None
    answer = one.heard(1, ACCESS, sent.port, good)
    assert answer == ("who", Verdict.ACCEPTED, Profile(service="50M"))
    assert one.heard(1, ACCESS, sent.port, good) is None, "the same answer again"


@pytest.mark.parametrize("code", [3, 11])
def test_a_reject_and_a_challenge_let_nobody_in(code: int) -> None:
    one = client()
    one.access(0, "who", Login(b"alice", b"wonder"), b"")
    (sent,) = one.take()
    answer = one.heard(1, ACCESS, sent.port, reply_to(sent.data, code, Reply_Message="no"))
    assert answer is not None and answer[1] is Verdict.REFUSED


@pytest.mark.parametrize(
    "login", [Login(b"", b"x"), Login(b"a" * 254, b"x"), Login(b"a", b""), Login(b"a", None)]
)
def test_a_login_that_cannot_be_is_refused_without_the_server(login: Login) -> None:
    one = client()
    answer = one.access(0, "who", login, b"")
    assert answer is not None and answer.verdict is Verdict.REFUSED and answer.profile.message
    assert one.take() == []


def test_more_than_256_requests_are_open_at_once() -> None:
    """And none of them is mistaken for another."""
    one = client(ports=4)
    asked: dict[tuple[int, int], bytes] = {}
    for subscriber in range(600):
        one.access(0, subscriber, Login(b"user%d" % subscriber, b"x"), b"")
    answers = 0
    while answers < 600:
        sent = one.take()
        assert sent, "with every answer the next one may go"
        for _, port, data in sent:
            assert asked.get((port, data[1])) is None
            asked[port, data[1]] = data
        for (port, identifier), data in list(asked.items()):
            del asked[port, identifier]
            user = AuthPacket(packet=data, dict=WORDS, secret=SECRET)["User-Name"][0]
            answer = one.heard(1, ACCESS, port, reply_to(data, 2))
            assert answer is not None and f"user{answer[0]}" == user
            answers += 1
    assert one.auth.sent == 600 and one.auth.repeated == 0 and one.auth.outstanding == 0


def test_a_server_that_dies_and_comes_back() -> None:
    """Nobody waits for ever, no one comes in, and a dead server is not flooded."""
    one = client(access=Patience(timeout=SECOND, tries=3, failures=2, waiting=5 * SECOND))
    for subscriber in ("a", "b", "c"):
        one.access(0, subscriber, Login(b"alice", b"x"), b"")
    first = one.take()
    lost: list[Any] = []
    for second in range(1, 4):
        lost += one.tick(second * SECOND)
        if second < 3:
            assert [each.data for each in one.take()] == [each.data for each in first]
    assert [answer.token for answer in lost] == ["a", "b", "c"]
    assert {answer.verdict for answer in lost} == {Verdict.NO_ANSWER} and not one.auth.alive
    assert len(one.take()) == 1, "the question whether the server lives"
    one.access(4 * SECOND, "late", Login(b"bob", b"x"), b"")
    one.tick(4 * SECOND)
    (status,) = one.take()
    assert status.data[0] == 12
    assert one.heard(4 * SECOND, ACCESS, 0, reply_to(status.data, 2)) is None
    assert one.auth.alive
    (waited,) = one.take()
    answer = one.heard(5 * SECOND, ACCESS, waited.port, reply_to(waited.data, 2))
    assert answer is not None and answer[0] == "late"


def test_who_waits_too_long_for_a_dead_server_is_refused() -> None:
    one = client(access=Patience(timeout=SECOND, tries=1, failures=1, waiting=5 * SECOND))
    one.access(0, "a", Login(b"alice", b"x"), b"")
    one.tick(SECOND)
    one.access(SECOND, "b", Login(b"bob", b"x"), b"")
    assert [answer.token for answer in one.tick(6 * SECOND)] == ["b"]


# ---- CoA and Disconnect


@dataclass
class Fake:
    """Sessions of a gateway: their attributes, and what was done to them."""

    known: list[dict[str, Any]]
    done: list[Any] = field(default_factory=list)
    refuses: ErrorCause | None = None

    def find(self, named: dict[str, Any]) -> list[Any]:
        return [one for one in self.known if named.items() <= one.items()]

    def change(self, now: int, session: Any, change: Change) -> None:
        if self.refuses is not None:
            raise RefusedError(self.refuses)
        self.done.append((session["Acct-Session-Id"], change))

    def disconnect(self, now: int, session: Any) -> None:
        self.done.append((session["Acct-Session-Id"], None))


def authorization(**others: Any) -> tuple[DynamicAuthorization, Fake]:
    fake = Fake(
        [
            {"Acct-Session-Id": "1", "User-Name": "alice", "NAS-Port": 1},
            {"Acct-Session-Id": "2", "User-Name": "bob", "NAS-Port": 2},
            {"Acct-Session-Id": "3", "User-Name": "bob", "NAS-Port": 3},
        ],
        **others,
    )
    return DynamicAuthorization(SECRET, "p4lab", IPv4Address("127.0.0.1"), fake), fake


def coa(code: int, secret: bytes = SECRET, **values: Any) -> bytes:
    packet = CoAPacket(code, 5, secret, dict=WORDS)
    for name, value in values.items():
        packet[name.replace("_", "-")] = value
    return packet.RequestPacket()


def outcome(request: bytes, reply: bytes | None) -> tuple[int, int | None]:
    """Code and Error-Cause of a reply that pyrad believes."""
    assert reply is not None
    asked = CoAPacket(packet=request, dict=WORDS, secret=SECRET)
    packet = asked.CreateReply(packet=reply)
    assert asked.VerifyReply(packet, reply)
    return reply[0], packet["Error-Cause"][0] if "Error-Cause" in packet else None


@pytest.mark.parametrize(
    ("code", "values", "expected"),
    [
        (43, {"Acct_Session_Id": "1", "Filter_Id": "100M"}, (44, None)),
        (43, {"User_Name": "alice", "NAS_Port": 1, "Session_Timeout": 60}, (44, None)),
        (40, {"Acct_Session_Id": "1"}, (41, None)),
        (43, {"Acct_Session_Id": "9", "Filter_Id": "100M"}, (45, 503)),
        (40, {"Acct_Session_Id": "1", "User_Name": "bob"}, (42, 503)),
        (40, {"User_Name": "bob"}, (42, 508)),
        (40, {}, (42, 402)),
        (43, {"Acct_Session_Id": "1"}, (45, 402)),
        (40, {"Acct_Session_Id": "1", "NAS_Identifier": "other"}, (42, 403)),
        (40, {"Acct_Session_Id": "1", "NAS_IP_Address": "192.0.2.9"}, (42, 403)),
        (40, {"Acct_Session_Id": "1", "Filter_Id": "100M"}, (42, 401)),
        (43, {"Acct_Session_Id": "1", "Class": b"x"}, (45, 401)),
        (43, {"Acct_Session_Id": "1", "Service_Type": 17}, (45, 405)),
        (40, {"Acct_Session_Id": ["1", "2"]}, (42, 404)),
    ],
)
def test_a_request_changes_one_session_or_says_why_not(
    code: int, values: dict[str, Any], expected: tuple[int, int | None]
) -> None:
    server, fake = authorization()
    request = coa(code, **values)
    assert outcome(request, server.heard(0, 0, "server", request)) == expected
    assert [name for name, _ in fake.done] == (["1"] if expected[1] is None else [])


def test_what_the_gateway_cannot_do_is_said() -> None:
    server, fake = authorization(refuses=ErrorCause.RESOURCES_UNAVAILABLE)
    request = coa(43, Acct_Session_Id="1", Filter_Id="100M")
    assert outcome(request, server.heard(0, 0, "server", request)) == (45, 506)
    assert fake.done == []


def test_a_stranger_gets_no_answer() -> None:
    server, fake = authorization()
    for request in (coa(40, b"wrong", Acct_Session_Id="1"), b"", b"\x28\1\0\x14", bytes(20)):
        assert server.heard(0, 0, "server", request) is None
    assert fake.done == [] and server.ignored == 4


def test_a_request_that_is_played_again_does_nothing() -> None:
    """Within the window it gets the answer that was lost, later none at all."""
    server, fake = authorization()
    wall = 1_700_000_000
    request = coa(40, Acct_Session_Id="1", Event_Timestamp=wall)
    first = server.heard(0, wall * SECOND, "server", request)
    assert server.heard(SECOND, (wall + 1) * SECOND, "server", request) == first
    assert server.heard(301 * SECOND, (wall + 301) * SECOND, "server", request) is None
    assert fake.done == [("1", None)]
    for stamp in (wall - 301, wall + 301):
        old = coa(40, Acct_Session_Id="2", Event_Timestamp=stamp)
        assert server.heard(0, wall * SECOND, "server", old) is None
    assert len(fake.done) == 1


# ---- FreeRADIUS


ALICE = Profile(
    address=0x64450001, prefix=PREFIX, delegated=DELEGATED, service="50M", classes=(b"gold",)
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreeRadius]:
    folder = tmp_path_factory.mktemp("radius")
    with FreeRadius(folder, [User("alice", "wonder", ALICE), User("bob", "b")]) as running:
        yield running


def until(one: Client, sockets: Sockets, count: int, seconds: float = 10) -> list[Any]:
    """So many answers."""
    found: list[Any] = []
    end = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < end:
        sockets.send(one.take())
        now = time.monotonic_ns()
        for heard in sockets.receive(0.05):
            answer = one.heard(now, heard.service, heard.port, heard.data)
            found += [] if answer is None else [answer]
        found += one.tick(now)
    return found


def ways_in(server: FreeRadius) -> Sockets:
    return Sockets("127.0.0.1", server.access_port, server.accounting_port, 2)


@needs_freeradius
def test_freeradius_lets_in_who_knows_the_password(server: FreeRadius) -> None:
    one = Client(ClientSettings(server.secret, ports=2))
    now, challenge = time.monotonic_ns(), bytes(range(16))
    right = b"\x01" + md5(b"\x01wonder" + challenge).digest()
    with ways_in(server) as sockets:
        one.access(now, "pap", Login(b"alice", b"wonder"), b"")
        one.access(now, "chap", Login(b"alice", None, challenge, right), b"")
        one.access(now, "wrong", Login(b"alice", b"underland"), b"")
        one.access(now, "unknown", Login(b"mallory", b"x"), b"")
        answers = {answer.token: answer for answer in until(one, sockets, 4)}
    assert answers["pap"].profile == answers["chap"].profile == ALICE
    assert {name: answer.verdict for name, answer in answers.items()} == {
        "pap": Verdict.ACCEPTED,
        "chap": Verdict.ACCEPTED,
        "wrong": Verdict.REFUSED,
        "unknown": Verdict.REFUSED,
    }
    assert one.auth.ignored == 0


@needs_freeradius
def test_freeradius_writes_down_what_we_say(server: FreeRadius) -> None:
    one = Client(ClientSettings(server.secret, ports=2))
    usage = Usage((2 << 32) + 1, (1 << 32) + 2, 3, 4)
    about = one.nas + text(Kind.USER_NAME, "alice")
    body = record_body(STOP, "00000a", about, 1_700_000_000 * SECOND, usage, 60, 1)
    with ways_in(server) as sockets:
        for late in (0, 5):  # The answer to the first one was lost.
            one.accounting(
                time.monotonic_ns(),
                "00000a",
                lambda now, late=late: body + number(Kind.ACCT_DELAY_TIME, late),
            )
            assert until(one, sockets, 1) == [Recorded("00000a", True)]
    bill = detail.bills(detail.read(server.detail))["00000a"]
    assert bill.octets == ((2 << 32) + 1, (1 << 32) + 2)
    assert len(bill.stops) == 1 and bill.repeated == 1
    assert bill.stops[0]["Acct-Terminate-Cause"] == "User-Request"
    assert detail.complaints({"00000a": bill}) == ["session 00000a has 0 Starts."]


@needs_freeradius
def test_freeradius_that_is_gone_is_dead_and_lives_again(server: FreeRadius) -> None:
    quick = Patience(timeout=SECOND // 20, tries=2, failures=1, probe=SECOND // 20)
    one = Client(ClientSettings(server.secret, ports=2, access=quick))
    with ways_in(server) as sockets:
        server.stop()
        one.access(time.monotonic_ns(), "a", Login(b"bob", b"b"), b"")
        assert [answer.verdict for answer in until(one, sockets, 1)] == [Verdict.NO_ANSWER]
        assert not one.auth.alive
        one.access(time.monotonic_ns(), "b", Login(b"bob", b"b"), b"")
        server.start()
        assert [answer.verdict for answer in until(one, sockets, 1)] == [Verdict.ACCEPTED]


@needs_freeradius
def test_a_slow_server_answers_late_and_rightly(server: FreeRadius) -> None:
    """Who asks again while it thinks gets one answer, and to the right question."""
    impatient = Patience(timeout=SECOND // 10, tries=20)
    one = Client(ClientSettings(server.secret, ports=2, access=impatient))
    with (
        Slow(server.access_port, server.accounting_port, (0.3, 0.4), seed=3) as slow,
        Sockets("127.0.0.1", slow.access_port, slow.accounting_port, 2) as sockets,
    ):
        begun = time.monotonic()
        for subscriber in range(20):
            password = b"b" if subscriber % 2 else b"wrong"
            one.access(time.monotonic_ns(), subscriber, Login(b"bob", password), b"")
        answers = until(one, sockets, 20)
        assert time.monotonic() - begun > 0.3
    assert {answer.token for answer in answers} == set(range(20))
    assert all((answer.verdict is Verdict.ACCEPTED) == answer.token % 2 for answer in answers)


@needs_freeradius
@needs_radclient
def test_radclient_disconnects_and_changes() -> None:
    server, fake = authorization()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        ours.bind(("127.0.0.1", 0))
        ours.settimeout(5)
        place = f"127.0.0.1:{ours.getsockname()[1]}"
        for kind, values, said in (
            ("coa", 'Acct-Session-Id="1",Filter-Id="100M"', "CoA-ACK"),
            ("disconnect", 'Acct-Session-Id="2"', "Disconnect-ACK"),
            ("disconnect", 'Acct-Session-Id="9"', "Session-Context-Not-Found"),
        ):
            command = ["radclient", "-x", "-r", "1", "-t", "5", place, kind, SECRET.decode()]
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            ) as asking:
                assert asking.stdin is not None and asking.stdout is not None
                asking.stdin.write(values)
                asking.stdin.close()
                request, source = ours.recvfrom(4096)
                reply = server.heard(0, time.time_ns(), source, request)
                assert reply is not None
                ours.sendto(reply, source)
                assert said in asking.stdout.read()
    assert fake.done == [("1", Change(service="100M")), ("2", None)]


def test_without_freeradius_one_sentence_says_what_to_install() -> None:
    assert MISSING.count(".") == 1 and "sudo apt install freeradius" in MISSING


def test_a_users_file_cannot_be_broken_by_a_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        users_file([User('eve"\nroot Cleartext-Password := "x', "x")])
