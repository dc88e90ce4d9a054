"""A simulated subscriber takes the packets of its own session and nothing else.

If these fail, a run says that a subscriber got packets which a real one, at the end of the same
line, would never have seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from p4lab.course.labs import load_plan, system_of
from p4lab.packets.ip import PROTOCOL_UDP, ipv4, udp
from p4lab.session.run import Session, open_virtual
from p4lab.systems.bng.attachment import DialUp
from p4lab.systems.bng.pppoe.packets import DISCOVERY, SESSION, data
from p4lab.systems.bng.subscriber.access import Line

IPV4, IPV6 = 0x0021, 0x0057
"""RFC 1661 and 5072: protocols of PPP"""


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_virtual(load_plan("06-bng")) as opened:
        opened.start()
        assert opened.converge_or_go_on() == ""
        yield opened


@pytest.fixture(params=["alice", "bob"])  # with labels, and with two tags
def dialled(request: Any, session: Session) -> DialUp:
    found = session.net._attachments[request.param]
    assert isinstance(found, DialUp)
    return found


def packet(dialled: DialUp) -> bytes:
    subscriber = dialled.subscriber
    payload = udp(subscriber.gateway, subscriber.address, (5004, 5004), b"x" * 30)
    return ipv4(subscriber.gateway, subscriber.address, PROTOCOL_UDP, payload)


def frame(dialled: DialUp, **changes: Any) -> bytes:
    """A packet for the subscriber as its line brings it, but for the changes."""
    account, dialer = dialled.subscriber.account, dialled.subscriber.dialer
    of: Callable[[str, Any], Any] = changes.get
    inside = of("inside", None) or data(
        of("session", dialer.session_id), of("protocol", IPV4), packet(dialled)
    )
    line = of("line", account.line)
    source, target = of("source", dialer.concentrator), of("target", account.mac)
    return line.frame(target, source, of("kind", SESSION), inside)


def test_its_own_packets_come_out_whole(dialled):
    heard = dialled.heard(0, frame(dialled))
    assert heard.inner is not None
    assert heard.inner[12:] == b"\x08\x00" + packet(dialled)
    assert heard.trouble == ""


@pytest.mark.parametrize(
    ("changes", "trouble"),
    [
        ({"line": Line()}, "the labels and tags of its line"),
        ({"target": bytes(6)}, "another MAC address"),
        ({"kind": DISCOVERY}, "EtherType 0x8863"),
        ({"source": bytes(6)}, "not from the MAC address of the gateway"),
        ({"session": 999}, "session 999"),
        ({"protocol": IPV6}, "protocol 0x0057"),
        ({"inside": bytes(20)}, "version, type, code or length of PPPoE"),
    ],
)
def test_what_is_wrong_is_named(dialled, changes, trouble):
    heard = dialled.heard(0, frame(dialled, **changes))
    assert heard.inner is None
    assert trouble in heard.trouble


def test_a_length_that_leaves_out_the_protocol_field_is_noticed(dialled):
    """What is cut off are the last two bytes of the packet."""
    whole = data(dialled.subscriber.dialer.session_id, IPV4, packet(dialled))
    short = whole[:4] + (len(whole) - 8).to_bytes(2, "big") + whole[6:]
    heard = dialled.heard(0, frame(dialled, inside=short))
    assert heard.trouble == "PPPoE's length ends before the packet does"


def test_who_never_dialled_in_is_said_to_be_not_online():
    """After `alice's line sends nothing: `, in a report."""
    plan = load_plan("06-bng")
    lone = system_of("06-bng").attachments(plan)["alice"]
    with pytest.raises(
        ValueError, match=r"^the subscriber is not online \(the call is in state .*\)\.$"
    ):
        lone.wrap(bytes(34))
