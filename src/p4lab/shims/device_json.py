"""The JSON that `p4c-bm2-ss` writes: what tools read of it, and the program for our switch."""

from __future__ import annotations

import json
from typing import Any

from p4lab import _engine, bmv2json
from p4lab.p4runtime.carried import KEY, carried


def device_json(program: _engine.Program, name: str, source: str, path: str) -> str:
    """The text of the file. `name` and `source` are the program's file name and text, `path` is
    what it was compiled from."""
    try:
        config = bmv2json.description(program, path=path)
    except ValueError:  # no P4Info can be made of it; p4c complains of that only where it is asked
        config = _nameless(path)
    return json.dumps({**config, KEY: carried(name, source)}, indent=1) + "\n"


def _nameless(path: str) -> dict[str, Any]:
    """A program that no control plane can have anything to do with."""
    meta = {"version": bmv2json.VERSION, "compiler": bmv2json.COMPILER}
    return {"actions": [], "pipelines": [], "program": path, "__meta__": meta}
