"""How many of something, in words."""

from __future__ import annotations


def count_of(count: int | str, one: str, several: str = "") -> str:
    """`1 packet`, `2 packets`, `0.5 points`; `several` is the plural where that is not `one` with
    an s."""
    return f"{count} {one if str(count) == '1' else several or one + 's'}"
