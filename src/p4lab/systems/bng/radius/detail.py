"""What FreeRADIUS has written down of accounting: its `detail` file, read as a bill.

A record that is sent again because its answer was lost is written twice. It has the same
Acct-Session-Id, status and numbers, and differs by Acct-Delay-Time and by what the server adds: to
a biller it is one (RFC 2866, section 2). Two records that differ in anything else are two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

Record = dict[str, str]

OF_THE_SERVER = {"Timestamp", "Tmp-String-9", "Acct-Unique-Session-Id", "Packet-Type"}
OF_THE_TRY = {"Acct-Delay-Time", "Message-Authenticator"}


def read(path: Path) -> Iterator[Record]:
    """The records of a detail file, in their order. A file that is not there has none, and a last
    record without its empty line is still being written: it is left out."""
    if not path.exists():
        return
    record: Record = {}
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line == "\n":
                if record:
                    yield record
                record = {}
            elif line.startswith("\t") and " = " in line:
                name, value = line.strip().split(" = ", 1)
                record[name] = value.strip('"')


@dataclass
class Bill:
    """What is known of a session: its records by status, without repetitions."""

    starts: list[Record] = field(default_factory=list)
    interims: list[Record] = field(default_factory=list)
    stops: list[Record] = field(default_factory=list)
    repeated: int = 0

    @property
    def octets(self) -> tuple[int, int]:
        """From and to the subscriber, by the Stop."""
        return octets(self.stops[0])


def octets(record: Record) -> tuple[int, int]:
    """From and to the subscriber, of all 64 bits."""

    def count(direction: str) -> int:
        low = int(record.get(f"Acct-{direction}-Octets", 0))
        return int(record.get(f"Acct-{direction}-Gigawords", 0)) << 32 | low

    return count("Input"), count("Output")


def bills(records: Iterable[Record]) -> dict[str, Bill]:
    """Sessions by their Acct-Session-Id. On and Off are of no session."""
    found: dict[str, Bill] = {}
    seen: set[frozenset[tuple[str, str]]] = set()
    for record in records:
        status = record.get("Acct-Status-Type", "")
        if status not in ("Start", "Interim-Update", "Stop"):
            continue
        bill = found.setdefault(record.get("Acct-Session-Id", ""), Bill())
        same = frozenset(
            (name, value)
            for name, value in record.items()
            if name not in OF_THE_SERVER | OF_THE_TRY
        )
        if same in seen:
            bill.repeated += 1
            continue
        seen.add(same)
        by_status = {"Start": bill.starts, "Interim-Update": bill.interims, "Stop": bill.stops}
        by_status[status].append(record)
    return found


def complaints(bills: dict[str, Bill], running: Iterable[str] = ()) -> list[str]:
    """What is wrong with the bills, one sentence each, if the sessions `running` are all that have
    not ended."""
    open_sessions = set(running)
    wrong = [f"session {name} runs without a Start." for name in open_sessions - set(bills)]
    for name, bill in bills.items():
        if len(bill.starts) != 1:
            wrong.append(f"session {name} has {len(bill.starts)} Starts.")
        if len(bill.stops) != (name not in open_sessions):
            wrong.append(f"session {name} has {len(bill.stops)} Stops.")
    return sorted(wrong)
