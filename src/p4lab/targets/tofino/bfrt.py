"""What this target asks of a BFRT client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from p4lab.model.entries import Match
from p4lab.targets import TargetError
from p4lab.targets.tofino.rows import Row, Value

Verb = Literal["insert", "modify", "delete"]


class BfrtError(TargetError):
    """What a switch has refused, or that it cannot be reached; the message says which. `not_there`
    tells that what was asked for does not exist."""

    def __init__(self, text: str, *, not_there: bool = False) -> None:
        self.not_there = not_there
        super().__init__(text)


class Bfrt(Protocol):
    """A connection to one switch, bound to the program that it runs."""

    address: str
    program: str

    def read(self, table: str, keys: Sequence[tuple[tuple[str, Match], ...]]) -> list[Row | None]:
        """The rows with these keys, None for keys that are not there. Raises BfrtError."""

    def read_all(self, table: str) -> list[Row]:
        """All rows of a table, the default entry aside. Raises BfrtError."""

    def read_default(self, table: str) -> Row | None:
        """The default entry of a table. Raises BfrtError."""

    def write(self, verb: Verb, rows: Sequence[Row]) -> None:
        """Inserts, modifies or deletes rows of one table: all of them, or none and BfrtError.
        Default entries can be modified, and deleting one means the program's own."""

    def counted(
        self, table: str, key: str, numbers: Sequence[int], fields: Sequence[str] = ()
    ) -> list[dict[str, Value]]:
        """Fields (without names: all) of the rows with these numbers as key, also such as can only
        be read, as the chip has them now; nothing for rows that are not there. Raises BfrtError."""

    def all_counted(self, table: str) -> dict[int, dict[str, Value]]:
        """The same of all rows of a table whose key is one number. Raises BfrtError."""

    def clear(self, table: str) -> None:
        """All cells of a register or counter as at the beginning. Raises BfrtError."""

    def has(self, table: str) -> bool:
        """Whether the switch has such a table."""

    def watch(self, told: Callable[[int, bool], None]) -> None:
        """From now on `told` is called, from a thread, with every port of the chip that gets or
        loses its link. Raises BfrtError."""

    def unwatch(self) -> None:
        """Nobody is told any more. Raises BfrtError."""

    def close(self) -> None:
        """Ends the connection; the switch keeps what it has."""
