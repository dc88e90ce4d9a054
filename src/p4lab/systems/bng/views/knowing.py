"""What the two ends of a subscriber's line know at a moment: how far each protocol is."""

from __future__ import annotations

from typing import Any, NamedTuple

from p4lab.systems.bng.attachment import DialUp
from p4lab.systems.bng.lines import Subscription
from p4lab.systems.bng.plane import GatewayControlPlane
from p4lab.systems.bng.ppp.authentication import Judge
from p4lab.systems.bng.pppoe.packets import BROADCAST
from p4lab.systems.bng.report import state_name
from p4lab.systems.bng.views.decoding import written

NOTHING = "–"


class Row(NamedTuple):
    """One line of what is known: at the subscriber, and at the gateway."""

    name: str
    subscriber: str
    gateway: str


class Known(NamedTuple):
    """All rows, and whether the subscriber has all that it wants."""

    rows: tuple[Row, ...]
    is_complete: bool


def known(client: DialUp, plane: GatewayControlPlane, one: Subscription) -> Known:
    """What both ends know now."""
    subscriber = client.subscriber
    caller = _caller(plane, one)
    mine, theirs = subscriber.link, caller and caller.link
    rows = [
        Row("PPPoE", _discovery(subscriber), f"session {caller.session.id}" if caller else NOTHING),
        Row("LCP", _state(mine, "lcp"), _state(theirs, "lcp")),
        Row("authentication", _login(mine), _login(theirs)),
        Row("IPCP", _state(mine, "ipcp"), _state(theirs, "ipcp")),
        Row("IPv6CP", _state(mine, "ipv6cp"), _state(theirs, "ipv6cp")),
    ]
    addresses: Any = subscriber.addresses
    own = [str(subscriber.address)] if subscriber.address else []
    prefixes = [net for net in (addresses.prefix, addresses.delegated) if net is not None]
    own += map(written, prefixes)
    nets = caller.nets if caller else ()
    rows.append(Row("addresses", _listed(own), _listed(list(map(written, nets)))))
    return Known(tuple(rows), bool(subscriber.address) and addresses.delegated is not None)


def _caller(plane: GatewayControlPlane, one: Subscription) -> Any:
    """What the gateway has of the subscriber on a line; None if nothing."""
    for session in plane.gateway.concentrator.sessions.values():
        if session.line[0] == one.number:  # type: ignore[index]
            return session.link
    return None


def _discovery(subscriber: Any) -> str:
    dialer = subscriber.dialer
    if dialer is None:
        return NOTHING
    if dialer.session_id:
        return f"session {dialer.session_id}"
    return "PADI sent" if dialer.concentrator == BROADCAST else "PADR sent"


def _state(link: Any, layer: str) -> str:
    automaton = link and getattr(link, layer)
    return state_name(automaton.state) if automaton is not None else NOTHING


def _login(link: Any) -> str:
    """How far authentication is, at the side that asks or the one that answers."""
    if link is None or not link.authentication.method:
        return NOTHING
    if link.network:
        return "accepted"
    if isinstance(link.authentication, Judge):
        return "challenged" if link.authentication.challenge else "waits"
    return "answered" if link.authentication.identifier >= 0 else "waits"


def _listed(parts: list[str]) -> str:
    return ", ".join(parts) or NOTHING
