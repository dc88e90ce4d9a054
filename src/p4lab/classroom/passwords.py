"""Passwords: made here, handed out once, and kept as what scrypt makes of them (RFC 7914).

Sixty random bits each, so that nobody need count wrong attempts.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

COST, BLOCK, PARALLEL = 1 << 14, 8, 1
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without those that are taken for each other"""
GROUPS, OF = 3, 4
COLUMNS = ("id", "name", "email", "password")


def new() -> str:
    """Such as `k3fm-x7qa-p2hd`."""
    groups = ("".join(secrets.choice(LETTERS) for _ in range(OF)) for _ in range(GROUPS))
    return "-".join(groups)


def hashed(password: str) -> str:
    """What is kept of a password: salt and hash."""
    salt = secrets.token_bytes(16)
    return f"{_text(salt)}:{_text(_scrypt(password, salt))}"


def fits(password: str, kept: str) -> bool:
    """Whether it is the password that this was made of."""
    salt, _, digest = kept.partition(":")
    found = _scrypt(password.strip().lower(), base64.b64decode(salt))
    return hmac.compare_digest(_text(found), digest)


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=COST, r=BLOCK, p=PARALLEL)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def load(path: Path) -> dict[str, str]:
    """The hashes by login; none if the file does not exist. Raises OSError."""
    try:
        found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found


def save(path: Path, kept: Mapping[str, str]) -> None:
    """Keeps it for its owner alone. Raises OSError."""
    beside = path.with_name(f"{path.name}.new")
    with _private(beside, "w") as file:
        json.dump(dict(kept), file, indent=1)
    os.replace(beside, path)


def hand_out(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Adds lines of `COLUMNS` to the list of passwords to hand out, in place of older ones of the
    same ids. Raises OSError."""
    known: list[list[str]] = []
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            known = list(csv.reader(file))[1:]
    ids = {row[0] for row in rows}
    beside = path.with_name(f"{path.name}.new")
    with _private(beside, "w") as file:
        lines = csv.writer(file)
        lines.writerows([COLUMNS, *(row for row in known if row and row[0] not in ids), *rows])
    os.replace(beside, path)


def _private(path: Path, mode: str) -> IO[Any]:
    return open(path, mode, encoding="utf-8", newline="", opener=lambda p, f: os.open(p, f, 0o600))
