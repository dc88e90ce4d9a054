"""Compiled programs where the SDE's scripts put them, for tests that send them to the switch."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from p4lab import _engine

INSTALLED = "install"
SHARE = Path(INSTALLED, "share", "tofinopd")


def install(programs: Iterable[Path], place: Path) -> None:
    """Writes `install/share/tofinopd/PROGRAM` below `place` for each program: its bf-rt.json, and
    for each pipeline the two files that a client sends along. These have nothing in them: the
    switch runs what it compiles itself. Raises ValueError for a program that does not compile."""
    for program in programs:
        folder = place / SHARE / program.stem
        folder.mkdir(parents=True)
        schema = _engine.compile(str(program)).bfrt()
        (folder / "bf-rt.json").write_text(schema)
        for pipeline in _pipelines(schema):
            (folder / pipeline).mkdir()
            (folder / pipeline / "context.json").write_text("{}")
            (folder / pipeline / "tofino.bin").write_bytes(b"")


def _pipelines(schema: str) -> list[str]:
    """The names in front of tables' names."""
    names = (table["name"] for table in json.loads(schema)["tables"])
    return sorted({name.partition(".")[0] for name in names if "." in name})
