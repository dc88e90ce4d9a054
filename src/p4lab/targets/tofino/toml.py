"""TOML files of this target."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from p4lab.paths import ROOT
from p4lab.targets import TargetError
from p4lab.topology.tomls import (
    FileError,
    Problem,
    Source,
    Strict,
    fill,
    parse_data,
    read_bytes,
    shown,
)

HARDWARE = ROOT / "hw"


class HardwareError(TargetError, FileError):
    """A map that cannot be used. `problems` has every mistake found, in file order."""

    def __init__(self, problems: list[Problem]) -> None:
        FileError.__init__(self, problems)


Table = TypeVar("Table", bound=Strict)


def read(path: Path, model: type[Table]) -> tuple[Table, Source]:
    """What a file holds, and where. Raises HardwareError."""
    try:
        return parse(read_bytes(path), shown(path), model)
    except FileError as error:
        raise HardwareError(list(error.problems)) from error


def parse(raw: bytes, file: str, model: type[Table]) -> tuple[Table, Source]:
    """The same from the bytes of a file; `file` names it in errors. Raises HardwareError."""
    try:
        data, source = parse_data(raw, file)
        return fill(model, data, source), source
    except FileError as error:
        raise HardwareError(list(error.problems)) from error
