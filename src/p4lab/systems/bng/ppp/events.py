"""What a link reports to its owner."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import NamedTuple

# Acct-Terminate-Cause (RFC 2866, section 5.10)
USER_REQUEST = 1
LOST_CARRIER = 2
ADMIN_RESET = 6
USER_ERROR = 17


class AuthenticationAsked(NamedTuple):
    """A server is to judge its client: answer with `Link.authenticated` or `Link.refused`.

    PAP: `proof` is the password, `challenge` is empty. CHAP: `proof` is the 16 octets of the
    response, `challenge` what they answer; with `identifier` this is RADIUS's CHAP-Password.
    """

    method: str
    name: bytes
    identifier: int
    challenge: bytes
    proof: bytes


class V4Up(NamedTuple):
    """IPCP is open: the client's address, the server's (None if it did not say) and, at a client,
    the name servers it was given."""

    address: IPv4Address
    gateway: IPv4Address | None
    dns: tuple[IPv4Address, ...]


class V4Down(NamedTuple):
    """IPCP was open and is not any more; the link may live on."""


class V6Up(NamedTuple):
    """IPv6CP is open: the client's interface identifier and the server's, 64 bits each."""

    interface_id: int
    gateway_id: int


class V6Down(NamedTuple):
    """IPv6CP was open and is not any more; the link may live on."""


class Packet(NamedTuple):
    """An IP packet of an open protocol: 0x0021 for IPv4, 0x0057 for IPv6."""

    protocol: int
    body: bytes


class Down(NamedTuple):
    """The link is over; said once. `cause` is RADIUS's Acct-Terminate-Cause."""

    reason: str
    cause: int


Event = AuthenticationAsked | V4Up | V4Down | V6Up | V6Down | Packet | Down
