"""If these fail, a sender does not learn why its packets are dropped, or errors about errors go
round for ever."""

from __future__ import annotations

import shutil
import subprocess
from fractions import Fraction
from ipaddress import IPv6Address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import UDP
from scapy.layers.inet6 import (
    HBHOptUnknown,
    ICMPv6DestUnreach,
    ICMPv6EchoRequest,
    ICMPv6ND_Redirect,
    ICMPv6PacketTooBig,
    ICMPv6ParamProblem,
    ICMPv6TimeExceeded,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from p4lab.control.limit import SECOND, TokenBucket
from p4lab.packets.icmp import (
    Problem,
    no_route,
    packet_too_big,
    parameter_problem,
    time_exceeded,
)

ROUTER = IPv6Address("fd00:0:0:2::fe")
SENDER = "fd00:0:0:1::1"
TARGET = "fd00:0:0:3::1"
GROUP = "ff3e::4:1"

ERRORS = {
    "no route": (no_route, ICMPv6DestUnreach(code=0)),
    "time exceeded": (time_exceeded, ICMPv6TimeExceeded(code=0)),
    "too big": (lambda *both: packet_too_big(*both, 1400), ICMPv6PacketTooBig(mtu=1400)),
    **{
        f"parameter problem {code}": (
            lambda router, packet, code=code: parameter_problem(router, packet, Problem(code), 70),
            ICMPv6ParamProblem(code=code, ptr=70),
        )
        for code in (0, 1, 2, 4, 6)
    },
}


def packet(*layers: Packet, src: str = SENDER, dst: str = TARGET, **fields) -> bytes:
    built = IPv6(src=src, dst=dst, **fields)
    for layer in layers:
        built /= layer
    return bytes(built)


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("length", [0, 8, 1224, 1225, 1400])
def test_errors_are_those_of_scapy_and_quote_what_fits_in_1280_bytes(name, length):
    build, message = ERRORS[name]
    asked = packet(UDP(), Raw(bytes(length)))
    quoted = asked[: 1280 - 40 - 8]
    wanted = IPv6(src=str(ROUTER), dst=SENDER) / message / Raw(quoted)
    answer = build(ROUTER, asked)
    assert answer == bytes(wanted)
    assert len(answer) <= 1280


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_reads_what_we_mean(tmp_path: Path) -> None:
    asked = packet(UDP())
    answers = [build(ROUTER, asked) for build, _ in ERRORS.values()]
    capture = tmp_path / "errors.pcap"
    wrpcap(str(capture), [Ether(dst="02:01:00:00:01:01") / IPv6(answer) for answer in answers])
    done = subprocess.run(
        ["tshark", "-r", str(capture), "-V", "-O", "icmpv6"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.strip() for line in done.stdout.splitlines()]
    problem = "Type: Parameter Problem (4)"
    wanted = [
        "Type: Destination Unreachable (1)",
        "Code: 0 (no route to destination)",
        "Type: Time Exceeded (3)",
        "Code: 0 (hop limit exceeded in transit)",
        "Type: Packet Too Big (2)",
        "Code: 0",
        problem,
        "Code: 0 (erroneous header field encountered)",
        problem,
        "Code: 1 (unrecognized Next Header type encountered)",
        problem,
        "Code: 2 (unrecognized IPv6 option encountered)",
        # Wireshark 4.0 has no names for what RFC 8754 and RFC 8883 added.
        problem,
        "Code: 4 (",
        problem,
        "Code: 6 (",
    ]
    read = [line for line in lines if line.startswith(("Type:", "Code:"))]
    assert len(read) == len(wanted)
    assert all(line.startswith(part) for line, part in zip(read, wanted, strict=True))
    assert sum("[correct]" in line for line in lines) == len(answers)
    assert lines.count("Pointer: 70") == 5 and lines.count("MTU: 1400") == 1


def test_the_padding_of_a_short_frame_is_not_quoted() -> None:
    asked = packet(UDP())
    assert time_exceeded(ROUTER, asked + bytes(6)) == time_exceeded(ROUTER, asked)


# --- what must not be answered: RFC 4443, section 2.4 (e) ------------------------------------

ROUTED = IPv6ExtHdrRouting(type=253, addresses=[TARGET, TARGET])
OPTIONS = IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt()
LATER = IPv6ExtHdrFragment(offset=100, nh=58)

NEVER = {
    "an error": packet(ICMPv6TimeExceeded(), Raw(bytes(60))),
    "an error of an unknown type": packet(ICMPv6EchoRequest(type=127)),
    "an error behind a routing header": packet(ROUTED, ICMPv6ParamProblem()),
    "an error behind options": packet(OPTIONS, ROUTED, ICMPv6DestUnreach()),
    "an error in a first fragment": packet(IPv6ExtHdrFragment(m=1), ICMPv6PacketTooBig()),
    "ICMPv6 in a later fragment": packet(LATER, Raw(bytes(80))),
    "ICMPv6 without a type": packet(nh=58),
    "a redirect": packet(ICMPv6ND_Redirect()),
    "a redirect behind a routing header": packet(ROUTED, ICMPv6ND_Redirect()),
    "a source that nobody has": packet(UDP(), src="::"),
    "a group as source": packet(UDP(), src=GROUP),
    "a source that must not leave its host": packet(UDP(), src="::1"),
    "half a header": packet(UDP())[:39],
    "nothing": b"",
}
ALWAYS = {
    "a ping": packet(ICMPv6EchoRequest()),
    "a ping behind a routing header": packet(ROUTED, ICMPv6EchoRequest()),
    "an error in a tunnel": packet(ROUTED, IPv6() / ICMPv6TimeExceeded()),
    "a later fragment of data": packet(IPv6ExtHdrFragment(offset=100, nh=17), Raw(bytes(80))),
    "a routing header cut short": packet(ROUTED)[:44],
}


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("about", [*NEVER, *ALWAYS])
def test_what_must_not_be_answered_is_not_and_the_rest_is(name, about):
    build, _ = ERRORS[name]
    if about in NEVER:
        assert build(ROUTER, NEVER[about]) is None
    else:
        assert build(ROUTER, ALWAYS[about]) is not None


def test_packets_to_groups_are_answered_in_two_cases_only() -> None:
    asked = packet(UDP(), Raw(bytes(40)), dst=GROUP)
    answered = {name for name, (build, _) in ERRORS.items() if build(ROUTER, asked)}
    assert answered == {"too big"}
    for kind, wanted in ((0x1E, False), (0x5E, False), (0x9E, True), (0xDE, False)):
        asked = packet(IPv6ExtHdrHopByHop(options=[HBHOptUnknown(otype=kind)]), UDP(), dst=GROUP)
        answers = [parameter_problem(ROUTER, asked, code, 42) is not None for code in Problem]
        assert answers == [wanted and code == Problem.UNRECOGNIZED_OPTION for code in Problem]
    assert parameter_problem(ROUTER, asked, Problem.UNRECOGNIZED_OPTION, len(asked)) is None


HEADERS = st.lists(st.sampled_from([ROUTED, *OPTIONS, IPv6ExtHdrFragment(), LATER]), max_size=3)
BODIES = st.sampled_from([UDP(), ICMPv6EchoRequest(), ICMPv6TimeExceeded(), Raw(bytes(9))])
PACKETS = st.builds(lambda headers, body: packet(*headers, body), HEADERS, BODIES)


@given(st.binary(max_size=1500) | PACKETS, st.data())
def test_whatever_arrives_an_answer_is_right_and_is_not_answered_itself(asked, data):
    changed = bytearray(asked)
    for _ in range(data.draw(st.integers(0, 3)) if asked else 0):
        changed[data.draw(st.integers(0, len(asked) - 1))] = data.draw(st.integers(0, 255))
    name = data.draw(st.sampled_from(list(ERRORS)))
    build, message = ERRORS[name]
    answer = build(ROUTER, bytes(changed))
    if answer is None:
        return
    read = IPv6(answer)
    assert isinstance(read[1], type(message)) and read.plen == len(answer) - 40
    right = read[1].cksum
    del read[1].cksum
    assert IPv6(bytes(read))[1].cksum == right
    assert bytes(changed).startswith(answer[48:])
    assert all(other(IPv6Address(SENDER), answer) is None for other, _ in ERRORS.values())


# --- how often: RFC 4443, section 2.4 (f) ----------------------------------------------------


@given(
    st.integers(1, 200),
    st.integers(1, 20),
    st.lists(st.integers(0, SECOND // 5) | st.sampled_from([0, 1, SECOND]), max_size=60),
)
def test_a_bucket_lets_through_what_fits_into_it_and_no_more(rate, burst, waits):
    """Against exact fractions: one may leave when a whole token is there, and takes it along."""
    bucket = TokenBucket(rate, burst)
    now, tokens = 0, Fraction(burst)
    left = []
    for wait in waits:
        now += wait
        tokens = min(Fraction(burst), tokens + Fraction(wait * rate, SECOND))
        allowed = bucket.allows(now)
        assert allowed == (tokens >= 1)
        tokens -= allowed
        left += [now] * allowed
    for i, first in enumerate(left):
        for j, last in enumerate(left[i:], 1):
            assert j <= burst + Fraction((last - first) * rate, SECOND)


def test_a_flood_is_answered_ten_times_and_then_ten_times_a_second():
    bucket = TokenBucket()
    allowed = [bucket.allows(10**6 * i) for i in range(3001)]  # three seconds, 1000 a second
    assert allowed[:11] == [True] * 10 + [False]
    assert sum(allowed) == 10 + 3 * 10
