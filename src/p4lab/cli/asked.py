"""Options that may name a check: `--watch-it` and `--hint` alone mean the first that fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

ASKING = ("--watch-it", "--hint")


class MayNameACheck(TyperCommand):
    """A verb with such options. What follows one is a check, unless it is another option or a
    folder."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What click reads, with an empty name where none is given."""
        return super().parse_args(ctx, list(named(args)))


def named(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments with `--option=` for an option that names no check."""
    for place, written in enumerate(arguments):
        following = arguments[place + 1 : place + 2]
        alone = not following or following[0].startswith("-") or _is_folder(following[0])
        yield f"{written}=" if written in ASKING and alone else written


def _is_folder(written: str) -> bool:
    return "/" in written or Path(written).is_dir()
