"""How many of something, in words."""

from __future__ import annotations


def noun_of(count: int | str, one: str, several: str = "") -> str:
    """`packet` for 1, else `packets`; `several` is the plural where that is not `one` with an s."""
    return one if str(count) == "1" else several or one + "s"


def count_of(count: int | str, one: str, several: str = "") -> str:
    """`1 packet`, `2 packets`, `0.5 points`."""
    return f"{count} {noun_of(count, one, several)}"
