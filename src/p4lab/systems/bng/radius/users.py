"""Subscribers as an operator lists them: for FreeRADIUS' file, or for local users."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from p4lab.systems.bng.radius.profile import NOTHING, Prefix, Profile


class User(NamedTuple):
    """A subscriber: the name and password of a login, and what it gets."""

    name: str
    password: str
    profile: Profile = NOTHING


def users_file(users: list[User]) -> str:
    """The `users` file of FreeRADIUS. Raises ValueError for a name or password that the file
    cannot hold."""
    return "".join(_entry(user) for user in users)


def _entry(user: User) -> str:
    lines = [f"\t{name} := {value}" for name, value in _replies(user.profile)]
    rest = "\n" + ",\n".join(lines) if lines else ""
    return f"{_quoted(user.name)} Cleartext-Password := {_quoted(user.password)}{rest}\n"


def _quoted(value: str) -> str:
    if any(character in '"\\%\n' for character in value):
        raise ValueError(f"{value!r} has a character that FreeRADIUS' users file cannot hold.")
    return f'"{value}"'


def _prefix(prefix: Prefix) -> str:
    return f"{IPv6Address(prefix[0])}/{prefix[1]}"


def _replies(profile: Profile) -> list[tuple[str, str]]:
    """Attributes of the answer, with FreeRADIUS' names."""
    found: list[tuple[str, object]] = [
        ("Framed-IP-Address", profile.address and IPv4Address(profile.address)),
        ("Framed-Pool", profile.pool and _quoted(profile.pool)),
        ("Framed-IPv6-Prefix", profile.prefix and _prefix(profile.prefix)),
        ("Framed-IPv6-Pool", profile.prefix_pool and _quoted(profile.prefix_pool)),
        ("Delegated-IPv6-Prefix", profile.delegated and _prefix(profile.delegated)),
        ("Delegated-IPv6-Prefix-Pool", profile.delegated_pool and _quoted(profile.delegated_pool)),
        ("Filter-Id", profile.service and _quoted(profile.service)),
        ("Session-Timeout", profile.session_timeout),
        ("Idle-Timeout", profile.idle_timeout),
        ("Acct-Interim-Interval", profile.interim),
    ]
    found += [
        (name, IPv4Address(server))
        for name, server in zip(
            ("MS-Primary-DNS-Server", "MS-Secondary-DNS-Server"), profile.dns, strict=False
        )
    ]
    found += [("Class", f"0x{value.hex()}") for value in profile.classes[:1]]
    return [(name, str(value)) for name, value in found if value is not None]
