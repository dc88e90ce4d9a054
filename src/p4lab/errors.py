"""Errors whose message is all that their reader needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Plain:
    """An exception that a notebook shows as its sentence, without p4lab's own lines."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback."""
        return [str(self)]


class ArgumentError(Plain, ValueError):
    """An argument that makes no sense; the message has those that do."""


class MissingError(Plain, AttributeError):
    """A method that an object lacks; the message has those it has."""


def foreign_line(error: UnicodeDecodeError) -> int:
    """The line of a text, from 1, whose bytes are of another encoding."""
    return error.object.count(b"\n", 0, error.start) + 1


class Interrupted(Plain, KeyboardInterrupt):
    """What a user has interrupted, and how to go on."""


@contextmanager
def interruptible(told: str) -> Iterator[None]:
    """Says what an interrupt has left undone. Raises Interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(told) from None
