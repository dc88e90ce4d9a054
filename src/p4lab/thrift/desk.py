"""What all services share: the switch, its program, and how refusals of the engine are told."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from p4lab import _engine
from p4lab.thrift.interface import TableCode, TableRefused
from p4lab.thrift.program import Facts


@dataclass
class Desk:
    """One switch. Calls come from several clients, one at a time."""

    runtime: _engine.Runtime
    facts: Facts
    ports: Mapping[int, str] = field(default_factory=dict)
    """Interfaces by port"""
    device_id: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)


# What the engine says (`_engine.Runtime`) and what the API says of it.
_TABLE_CODES = {
    "duplicate": TableCode.DUPLICATE,
    "not found": TableCode.INVALID_HANDLE,
    "full": TableCode.FULL,
    "const table": TableCode.IMMUTABLE,
    "const default": TableCode.DEFAULT_ENTRY_CONST,
    "no member": TableCode.INVALID_MEMBER,
    "no group": TableCode.INVALID_GROUP,
    "empty group": TableCode.EMPTY_GROUP,
    "table type": TableCode.WRONG_TYPE,
    "action scope": TableCode.INVALID_ACTION,
    "no key": TableCode.NO_KEY,
    "counter": TableCode.COUNTERS_DISABLED,
    "meter": TableCode.METERS_DISABLED,
    "rates": TableCode.INVALID_METER,
}


def kind(error: ValueError) -> str:
    """The kind of a refusal of the engine."""
    return str(error.args[1]) if len(error.args) == 2 else "other"


@contextmanager
def table_codes(**instead: TableCode) -> Iterator[None]:
    """Tells the engine's refusals as a table's; `instead` has other codes by kind (with _)."""
    try:
        yield
    except ValueError as error:
        own = kind(error)
        code = instead.get(own.replace(" ", "_"), _TABLE_CODES.get(own, TableCode.OTHER))
        raise TableRefused(code) from error
