"""What one end of a PPP link wants and grants."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address

PAP = "pap"
CHAP = "chap"
"""CHAP with MD5 (RFC 1994)"""

SERVER = "server"
CLIENT = "client"

GATEWAY = IPv4Address("192.0.2.1")


@dataclass(frozen=True)
class Settings:
    """Shared by all links of one kind; times in seconds.

    The defaults are those of RFC 1661 (section 4.6) and, for the keepalive, of BNG Blaster.
    """

    mru: int = 1492
    """Bytes of the largest packet that is received; a larger one is not granted (RFC 2516, 7)"""
    methods: tuple[str, ...] = (CHAP, PAP)
    """How a server wants its client authenticated, the best first, and what a client does"""
    name: bytes = b"p4lab"
    """A client's user name; a server's name in its challenge"""
    secret: bytes = b""
    """A client's password"""
    address: IPv4Address = GATEWAY
    """A server's own address"""
    v4: bool = True
    """Whether a client wants IPv4"""
    v6: bool = True
    """Whether a client wants IPv6"""
    restart: float = 3.0
    max_configure: int = 10
    max_terminate: int = 2
    max_failure: int = 5
    keepalive: float = 30.0
    """Between two Echo-Requests"""
    misses: int = 3
    """Echo-Requests in a row that may stay without an answer before the link is lost"""
    patience: float = 60.0
    """How long a link may take until it carries packets, the authentication included"""
    packets_per_second: float = 20.0
    """Control packets heard; those beyond are dropped"""
    packets_at_once: int = 100
    openings: int = 8
    """How often a protocol that was open may fall before the link ends; once more every
    `patience`"""
