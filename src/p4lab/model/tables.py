"""What a switch holds, as whoever writes to it knows."""

from __future__ import annotations

from collections.abc import Sequence

from p4lab.model.entries import Entity, Entries, Update, key

WAITING = 64  # batches; so many that they cost no more than the entities themselves


class Tables:
    """The entities of one switch. A batch applies as a whole or raises ValueError."""

    def __init__(self) -> None:
        self._entities: dict[tuple[object, ...], Entity] = {}
        self._waiting: list[tuple[Update, ...]] = []

    def note(self, updates: Sequence[Update]) -> None:
        """A batch that the switch itself found right. It is looked at when somebody asks for the
        entities: in a network of a thousand routers a million are written, and nobody asks."""
        self._waiting.append(tuple(updates))
        if len(self._waiting) > WAITING:
            self._catch_up()

    def _catch_up(self) -> None:
        for update in (update for batch in self._waiting for update in batch):
            if update.kind == "delete":
                self._entities.pop(key(update.entity), None)
            else:
                self._entities[key(update.entity)] = update.entity
        self._waiting.clear()

    def apply(self, updates: Sequence[Update]) -> None:
        """As a switch does: no insert of what is there, no change of what is not."""
        self._catch_up()
        wanted: dict[tuple[object, ...], Entity | None] = {}
        for update in updates:
            name = key(update.entity)
            is_there = (wanted[name] if name in wanted else self._entities.get(name)) is not None
            if is_there == (update.kind == "insert"):
                state = "is there already" if update.kind == "insert" else "is not there"
                raise ValueError(f"{update.kind} of {name}, which {state}")
            wanted[name] = None if update.kind == "delete" else update.entity
        for name, entity in wanted.items():
            if entity is None:
                self._entities.pop(name, None)
            else:
                self._entities[name] = entity

    @property
    def entries(self) -> Entries:
        """All of them."""
        self._catch_up()
        return frozenset(self._entities.values())


class Held:
    """A driver without a switch: it holds what is written, and nobody hears its frames."""

    def __init__(self) -> None:
        self._tables = Tables()

    def write(self, updates: Sequence[Update]) -> None:
        """Applies all updates or none. Raises ValueError."""
        self._tables.apply(updates)

    def entries(self) -> Entries:
        """What has been written."""
        return self._tables.entries

    def packet_out(self, port: int, frame: bytes) -> None:
        """Nobody is there."""
