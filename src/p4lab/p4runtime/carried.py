"""P4 source inside p4c's JSON: how a program gets through tools that know only that file.

bmv2 runs the JSON itself; this switch runs P4. So our `p4c-bm2-ss` puts the source into the JSON,
with everything it includes, below a key of our own, and the switch takes it from there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from p4lab import _engine

KEY = "p4lab"


def carried(name: str, source: str) -> dict[str, str]:
    """What stands below `KEY` in a JSON: the program's file name and its text."""
    return {"name": name, "source": source}


def source_in(config: object) -> tuple[str, str] | None:
    """File name and text of the program in a JSON that has been read; None if it carries none."""
    ours = config.get(KEY) if isinstance(config, Mapping) else None
    if not isinstance(ours, Mapping):
        return None
    name, source = ours.get("name"), ours.get("source")
    if not isinstance(name, str) or not isinstance(source, str):
        return None
    return Path(name).name or "program.p4", source


def compile_carried(name: str, source: str, **how: Any) -> _engine.Compilation:
    """Compiles such a program; `how` is as for `_engine.compile`."""
    with tempfile.TemporaryDirectory(prefix="p4lab-") as folder:
        file = Path(folder) / name
        file.write_text(source, encoding="utf-8")
        return _engine.compile(str(file), **how)
