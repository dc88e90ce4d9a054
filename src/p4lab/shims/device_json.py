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
    return _unlike_source(json.dumps({**config, KEY: carried(name, source)}, indent=1) + "\n")


def _nameless(path: str) -> dict[str, Any]:
    """A program that no control plane can have anything to do with."""
    meta = {"version": bmv2json.VERSION, "compiler": bmv2json.COMPILER}
    return {"actions": [], "pipelines": [], "program": path, "__meta__": meta}


def _unlike_source(text: str) -> str:
    """The same JSON, as long as it must be. Controllers wrap it in a message (P4DeviceConfig). Its
    bytes are no UTF-8 if the first byte of the length is from 0x80 to 0xbf, and only then the
    switch cannot take the whole for P4 source."""
    return text + "\n" * (0x40 - len(text.encode()) % 0x40 if len(text.encode()) & 0x40 else 0)
