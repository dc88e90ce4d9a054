"""How ports are numbered: leaf x 8 + place. Places 0 to 4 have servers, 5 is the surrogate."""

from __future__ import annotations

PLACES = 8
TERMINALS = 5
LEAVES = 128
LEAVES_OF_RACK = 32
MOST_COPIES = 8
MOST_LEVELS = 4


def terminal(leaf: int, place: int = 0) -> int:
    """The port of a server."""
    return leaf * PLACES + place


def terminals(leaf: int) -> list[int]:
    """All ports of a leaf that have a server."""
    return [terminal(leaf, place) for place in range(TERMINALS)]


def surrogate(leaf: int) -> int:
    """The port that loops frames back."""
    return leaf * PLACES + TERMINALS
