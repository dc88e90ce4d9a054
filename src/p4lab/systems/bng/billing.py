"""What sessions have used, and what becomes of it on disk and in the accounting.

The switch counts frames by cell, and cells have one session after the other; what is billed are
bytes of IP of one session. What is said here waits for `keep`, which writes it in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from itertools import count

from p4lab.model.control import CountingDriver
from p4lab.systems.bng.accounting import INTERIM, START, STOP, Accounting, Usage, record_body
from p4lab.systems.bng.callers import (
    NO_COUNT,
    Caller,
    Raw,
    counted,
    granted_attributes,
    kept,
    place_of,
    station,
)
from p4lab.systems.bng.entries import SESSIONS, Known
from p4lab.systems.bng.frames import overhead
from p4lab.systems.bng.store import Store

SECOND = 10**9
COUNTERS = ("upstream_sent", "downstream_sent", "multicast_sent")


class Billing:
    """`nas` are the attributes that say which gateway this is."""

    def __init__(
        self,
        store: Store,
        accounting: Accounting,
        nas: bytes,
        switch: CountingDriver,
        known: Known,
        wall: int,
    ) -> None:
        self._store, self._accounting, self._nas = store, accounting, nas
        self._switch, self._known = switch, known
        # Names of sessions differ from those of all other starts, even if the store was lost.
        self._prefix = f"{wall // SECOND & 0xFFFFFFFF:08x}{store.boot & 0xFF:02x}"
        self._numbers = count(1)
        self._raw: dict[int, Raw] = {}
        self._ended: list[tuple[Caller, int, int]] = []
        self._changed: list[Caller] = []
        self._counted: list[Caller] = []
        self._records: list[tuple[str, bytes]] = []

    def name(self) -> str:
        """An Acct-Session-Id that no session had before."""
        return f"{self._prefix}{next(self._numbers):06x}"

    def look(self) -> None:
        """What do the cells of the switch hold? For a start that is not the first."""
        self._raw = self._read(range(1, SESSIONS))

    def begin_anew(self, callers: Iterable[Caller]) -> None:
        """The switch counts from the start again: what its cells hold now was not used since."""
        self.look()
        for caller in callers:
            caller.raw = self._raw.pop(caller.index)
            self._counted.append(caller)
        for ended, _, _ in self._ended:
            ended.raw = self._raw[ended.index]

    def began(self, caller: Caller) -> None:
        """A session is up."""
        caller.raw = self._raw.pop(caller.index, NO_COUNT)
        self._records.append((caller.acct_id, self._record(caller, START)))

    def changed(self, caller: Caller) -> None:
        """What is known of a session is to be kept."""
        self._changed.append(caller)

    def interim(self, now: int, caller: Caller) -> None:
        """How much a session has used until now."""
        self.count(caller)
        self._records.append((caller.acct_id, self._record(caller, INTERIM, now)))

    def count(self, caller: Caller) -> None:
        """Bring `caller.usage` up to date."""
        self._add_up(caller, self._read((caller.index,))[caller.index])
        self._counted.append(caller)

    def ended(self, now: int, caller: Caller, cause: int) -> None:
        """A session is over; `cause` is an Acct-Terminate-Cause. The caller may be changed."""
        self._ended.append((copy(caller), cause, now))

    def of_all(self, now: int, status: int) -> None:
        """On or Off: there are no sessions."""
        name = f"{self._prefix}{0:06x}"
        wall = now + self._accounting.wall_offset
        self._records.append((name, record_body(status, name, self._nas, wall)))

    def keep(self, now: int) -> list[int]:
        """What must be on disk before anyone is told. Gives the cells that are free again."""
        read = self._read([ended.index for ended, _, _ in self._ended]) if self._ended else {}
        stops = [
            (ended, self._stop(ended, read[ended.index], cause, at))
            for ended, cause, at in self._ended
        ]
        accounting = self._accounting
        work = stops or self._records or self._changed or self._counted or accounting.unkept
        if not work:
            return []
        store = self._store
        with store.batch():
            for ended, _ in stops:
                store.remove_session(ended.acct_id)
            for caller in self._changed:
                if caller.started:
                    store.put_session(kept(caller))
            store.put_counted((counted(caller), caller.acct_id) for caller in self._counted)
            for acct_id, body in self._records:
                accounting.add(now, acct_id, body)
            for ended, body in stops:
                accounting.add(now, ended.acct_id, body)
            accounting.keep()
        for ended, _ in stops:
            self._raw[ended.index] = ended.raw
        for batch in (self._ended, self._records, self._changed, self._counted):
            batch.clear()
        return [ended.index for ended, _ in stops]

    def _stop(self, ended: Caller, raw: Raw, cause: int, now: int) -> bytes:
        self._add_up(ended, raw)
        return self._record(ended, STOP, now, cause)

    def _record(
        self, caller: Caller, status: int, now: int | None = None, cause: int | None = None
    ) -> bytes:
        """A record of a session; without `now` it is the first one."""
        line = self._known.lines[place_of(caller.session)[0]]
        about = self._nas + station(caller.session, line) + granted_attributes(caller)
        wall = caller.started if now is None else now + self._accounting.wall_offset
        if now is None:
            return record_body(status, caller.acct_id, about, wall)
        seconds = (wall - caller.started) // SECOND
        return record_body(status, caller.acct_id, about, wall, caller.usage, seconds, cause)

    def _read(self, cells: Sequence[int]) -> dict[int, Raw]:
        """What the switch has counted in some cells."""
        up, down, copies = (self._switch.counters(name, cells) for name in COUNTERS)
        return {cell: (*up[cell], *down[cell], *copies[cell]) for cell in cells}

    def _add_up(self, caller: Caller, raw: Raw) -> None:
        """Add to a session's usage what was counted since the last time. A cell that holds less
        than then has begun anew with its switch."""
        new = [
            now - before if now >= before else now
            for now, before in zip(raw, caller.raw, strict=True)
        ]
        line, service_vid = place_of(caller.session)
        up = overhead(self._known.lines[line], service_vid)
        down = self._core_overhead
        caller.raw = raw
        usage = caller.usage
        caller.usage = Usage(
            usage.input_octets + max(0, new[1] - new[0] * up),
            usage.output_octets + max(0, new[3] + new[5] - (new[2] + new[4]) * down),
            usage.input_packets + new[0],
            usage.output_packets + new[2] + new[4],
        )

    @property
    def _core_overhead(self) -> int:
        """Bytes in front of a packet from the core: with labels there are two."""
        labelled = any(label for _, label in self._known.core)
        return 14 + 8 * labelled
