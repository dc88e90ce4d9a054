"""What must outlive the control plane: lines, sessions, and accounting that no one has taken yet.

    store = Store(path)                # or Store() in memory
    with store.batch():                # one transaction; nothing is answered before it is over
        store.open_session(kept, record)
        store.close_session(acct_id, record)
    store.records(limit, after)        # accounting in order, for the server
    store.acknowledged(number)

SQLite with a write-ahead log: after kill -9 every batch is there as a whole or not at all. The log
is not flushed to the disk with each batch, so a power cut may take the last batches; that costs the
sessions of the last moments their accounting, and bills no one twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

SCHEMA = """
CREATE TABLE IF NOT EXISTS boots (number INTEGER PRIMARY KEY AUTOINCREMENT);
CREATE TABLE IF NOT EXISTS lines (
    number INTEGER PRIMARY KEY, port INTEGER, label0 INTEGER, label1 INTEGER,
    outer_vid INTEGER, inner_vid INTEGER);
CREATE TABLE IF NOT EXISTS sessions (
    acct_id TEXT PRIMARY KEY, idx INTEGER UNIQUE, line INTEGER, service_vid INTEGER, mac BLOB,
    pppoe_id INTEGER UNIQUE, user BLOB, service TEXT, state BLOB, counted BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (
    number INTEGER PRIMARY KEY AUTOINCREMENT, acct_id TEXT, made INTEGER, body BLOB);
"""

CACHE_KIBIBYTES = 8192
LOG_PAGES = 4000
"""Pages of 4 KiB in the log until they go to the file"""


class StoreError(RuntimeError):
    """The file is not ours, or cannot be used; the message says which."""


class KeptSession(NamedTuple):
    """A session as it is kept. `state` and `counted` are the gateway's business: what was granted,
    and what the switch's counters said."""

    acct_id: str
    index: int  # type: ignore[assignment]
    line: int
    service_vid: int
    mac: bytes
    pppoe_id: int
    user: bytes
    service: str
    state: bytes
    counted: bytes


class Record(NamedTuple):
    """An accounting record: of which session, when it was made (nanoseconds of the wall clock),
    its attributes without the delay."""

    number: int
    acct_id: str
    made: int
    body: bytes


class Store:
    """See above. One process may have it open."""

    def __init__(self, path: Path | None = None) -> None:
        """Raises StoreError for a file that is not a store, or that another process has open."""
        name = ":memory:" if path is None else str(path)
        try:
            self._db = sqlite3.connect(name, isolation_level=None, timeout=0.2)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
            self._db.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._db.executescript(SCHEMA)
            self._db.execute("BEGIN IMMEDIATE")
            self.boot = int(self._db.execute("INSERT INTO boots DEFAULT VALUES").lastrowid or 0)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(
                f"{name} cannot be used as the gateway's memory ({error}); "
                "is another gateway running, or is it another file?"
            ) from None
        """How often a gateway was started with this file: it makes session names unique"""

    def close(self) -> None:
        """Done with the file."""
        self._db.close()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """All that is written in here is kept together, or none of it."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # ---- Lines

    def put_lines(self, lines: Iterable[tuple[int, ...]]) -> None:
        """Lines: number, port, two labels, two tags."""
        self._db.executemany("INSERT OR REPLACE INTO lines VALUES (?, ?, ?, ?, ?, ?)", lines)

    def remove_line(self, number: int) -> None:
        """A line is gone."""
        self._db.execute("DELETE FROM lines WHERE number = ?", (number,))

    def lines(self) -> Iterator[tuple[int, ...]]:
        """All lines."""
        return self._db.execute("SELECT * FROM lines ORDER BY number")

    # ---- Sessions and their accounting

    def put_session(self, session: KeptSession) -> None:
        """A new session, or what has changed about one."""
        self._db.execute(
            "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", session
        )

    def put_counted(self, rows: Iterable[tuple[bytes, str]]) -> None:
        """What was counted, by session."""
        self._db.executemany("UPDATE sessions SET counted = ? WHERE acct_id = ?", rows)

    def remove_session(self, acct_id: str) -> None:
        """A session has ended."""
        self._db.execute("DELETE FROM sessions WHERE acct_id = ?", (acct_id,))

    def sessions(self) -> Iterator[KeptSession]:
        """All sessions that have not ended."""
        for row in self._db.execute("SELECT * FROM sessions ORDER BY acct_id"):
            yield KeptSession(*row)

    def put_record(self, acct_id: str, made: int, body: bytes) -> Record:
        """An accounting record that the server has to get."""
        put = self._db.execute(
            "INSERT INTO records (acct_id, made, body) VALUES (?, ?, ?)", (acct_id, made, body)
        )
        return Record(int(put.lastrowid or 0), acct_id, made, body)

    def records(self, limit: int, after: int = 0) -> list[Record]:
        """The oldest records that no server has acknowledged, those up to `after` left out."""
        found = self._db.execute(
            "SELECT * FROM records WHERE number > ? ORDER BY number LIMIT ?", (after, limit)
        )
        return [Record(*row) for row in found]

    def acknowledged(self, numbers: Iterable[int]) -> None:
        """The server has these records."""
        self._db.executemany("DELETE FROM records WHERE number = ?", ((n,) for n in numbers))
