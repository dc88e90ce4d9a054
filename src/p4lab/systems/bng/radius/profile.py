"""What an Access-Accept or a CoA grants a subscriber."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from p4lab.systems.bng.radius.wire import Kind, WireError

MICROSOFT = 311
MS_PRIMARY_DNS, MS_SECONDARY_DNS = 28, 29
AUTOMATIC = (0xFFFFFFFF, 0xFFFFFFFE)
"""Values of Framed-IP-Address by which the NAS chooses one itself (RFC 2865, section 5.8)"""

Prefix = tuple[int, int]
"""First address of an IPv6 prefix as a number, and its length"""


class Profile(NamedTuple):
    """What one subscriber gets; None where the server says nothing. Times are in seconds.

    `classes` are opaque and go back in every accounting record (RFC 2865, section 5.25).
    """

    address: int | None = None
    pool: str | None = None
    prefix: Prefix | None = None
    prefix_pool: str | None = None
    delegated: Prefix | None = None
    delegated_pool: str | None = None
    interface_id: int | None = None
    service: str | None = None
    session_timeout: int | None = None
    idle_timeout: int | None = None
    interim: int | None = None
    dns: tuple[int, ...] = ()
    classes: tuple[bytes, ...] = ()
    message: str = ""


NOTHING = Profile()


def profile_of(attributes: Iterable[tuple[int, bytes]]) -> Profile:
    """The profile in a packet's attributes; those that are not known here do not count. Raises
    WireError for a value of the wrong length."""
    found: dict[str, object] = {}
    for kind, value in attributes:
        if kind == Kind.CLASS:
            found["classes"] = (*found.get("classes", ()), value)  # type: ignore[misc]
        elif kind == Kind.VENDOR_SPECIFIC:
            server = _dns(value)
            if server is not None:
                found["dns"] = (*found.get("dns", ()), server)  # type: ignore[misc]
        elif kind in _READ:
            name, read = _READ[kind]
            found[name] = read(kind, value)
    if found.get("address") in AUTOMATIC:
        del found["address"]
    return Profile(**found)  # type: ignore[arg-type]


def _text(kind: int, value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _number(kind: int, value: bytes) -> int:
    if len(value) != 4:
        raise WireError(f"attribute {int(kind)} has {len(value)} bytes, not 4.")
    return int.from_bytes(value, "big")


def _long(kind: int, value: bytes) -> int:
    if len(value) != 8:
        raise WireError(f"attribute {int(kind)} has {len(value)} bytes, not 8.")
    return int.from_bytes(value, "big")


def _prefix(kind: int, value: bytes) -> Prefix:
    """RFC 3162, section 2.3: reserved 8, length 8, and as many bytes as the prefix needs."""
    length = value[1] if len(value) >= 2 else 255
    if length > 128 or not 2 + (length + 7) // 8 <= len(value) <= 18:
        raise WireError(f"attribute {int(kind)} holds no IPv6 prefix: {value.hex()}.")
    address = int.from_bytes(value[2:].ljust(16, b"\0"), "big")
    return address >> 128 - length << 128 - length, length


def prefix_value(prefix: Prefix) -> bytes:
    """An IPv6 prefix as attributes carry it."""
    address, length = prefix
    return bytes((0, length)) + address.to_bytes(16, "big")[: (length + 7) // 8]


def _dns(value: bytes) -> int | None:
    """The name server in a vendor's attribute, if it is Microsoft's for one."""
    is_dns = value[4:5] in (bytes((MS_PRIMARY_DNS,)), bytes((MS_SECONDARY_DNS,)))
    if len(value) == 10 and int.from_bytes(value[:4], "big") == MICROSOFT and is_dns:
        return int.from_bytes(value[6:], "big")
    return None


_READ = {
    int(Kind.FRAMED_IP_ADDRESS): ("address", _number),
    int(Kind.FRAMED_POOL): ("pool", _text),
    int(Kind.FRAMED_IPV6_PREFIX): ("prefix", _prefix),
    int(Kind.FRAMED_IPV6_POOL): ("prefix_pool", _text),
    int(Kind.DELEGATED_IPV6_PREFIX): ("delegated", _prefix),
    int(Kind.DELEGATED_IPV6_PREFIX_POOL): ("delegated_pool", _text),
    int(Kind.FRAMED_INTERFACE_ID): ("interface_id", _long),
    int(Kind.FILTER_ID): ("service", _text),
    int(Kind.SESSION_TIMEOUT): ("session_timeout", _number),
    int(Kind.IDLE_TIMEOUT): ("idle_timeout", _number),
    int(Kind.ACCT_INTERIM_INTERVAL): ("interim", _number),
    int(Kind.REPLY_MESSAGE): ("message", _text),
}
