"""What may be let go of a scenario: whatever its packet may have instead, or do without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from keyword import iskeyword
from typing import Any

from p4lab import _engine
from p4lab.adopt.titles import Data
from p4lab.grading import frames
from p4lab.grading.frames import PAYLOAD

LAST_PORT = 508
SHOWN_BITS = 8  # fields from this width on have numbers that students see


def changes(program: _engine.Program, data: Data) -> Iterator[Any]:
    """What may be let go, one after the other: keys with their fields, parameters, fields, port."""
    widths = frames.layout_of(program)
    params = {
        action["name"].rsplit(".", 1)[-1]: {
            param["name"]: param["width"] for param in action["params"]
        }
        for action in program.summary["actions"]
    }
    packet = data["send"][0]["packet"]
    for kind in ("session", "group", "cell"):
        yield _without(kind)
    for at in reversed(range(len(data.get("entry", [])))):
        yield _without_entry(at)
    for at, entry in enumerate(data.get("entry", [])):
        for key, value in entry["match"].items():
            header, field = place(key)
            width = widths.get(header, {}).get(field)
            if width is not None and field in packet.get(header, {}):
                yield _key(at, key, value, header, field, width)
        for name in entry["params"]:
            width = params.get(entry["action"], {}).get(name)
            if width is not None:
                yield _param(at, name, width)
    for header, fields in packet.items():
        if isinstance(fields, Mapping):
            for field in fields:
                yield _field(header, field, widths.get(header, {}).get(field, 0))
    yield _payload
    yield _port


def place(key: str) -> tuple[str, str]:
    """Header and field of a key's name; of hdr.ipv4.ttl these are ipv4 and ttl."""
    path, _, field = key.rpartition(".")
    return path.rpartition(".")[2], field


def _without(kind: str) -> Any:
    def change(data: Data) -> None:
        data.pop(kind, None)

    return change


def _without_entry(at: int) -> Any:
    """An entry that is in the way of none stays an empty place, so that numbers stay."""

    def change(data: Data) -> None:
        data["entry"][at] = None

    return change


def drawn(data: Data, name: str, width: int, most: int | None = None) -> str:
    """A number of so many bits to be drawn; gives how it is written."""
    draw = data.setdefault("draw", {})
    own = name
    while own in draw or iskeyword(own):
        own += "_"
    draw[own] = {"from": 1, "to": most or (1 << width) - 1}
    return f"={own}"


def _key(at: int, key: str, value: Any, header: str, field: str, width: int) -> Any:
    """The entry is for whatever the packet has there."""

    def change(data: Data) -> None:
        if data["entry"][at] is None:
            return
        name = drawn(data, field.lower(), width)
        is_prefix = isinstance(value, str) and "/" in value
        written = f"=({name[1:]}, {width})" if is_prefix else name
        if isinstance(value, str) and "&&&" in value:
            written = f"=({name[1:]}, {(1 << width) - 1})"
        data["entry"][at]["match"][key] = written
        data["send"][0]["packet"][header][field] = name

    return change


def _param(at: int, name: str, width: int) -> Any:
    def change(data: Data) -> None:
        most = LAST_PORT if width == 9 else None
        if data["entry"][at] is None:
            return
        data["entry"][at]["params"][name] = drawn(data, name.lower(), width, most)

    return change


def _field(header: str, field: str, width: int) -> Any:
    """Small numbers for students, anything for the grader; flags are 0 for students."""

    def change(data: Data) -> None:
        fields = data["send"][0]["packet"][header]
        if isinstance(fields[field], str) and fields[field].startswith("="):
            return
        if width >= SHOWN_BITS:
            fields[field] = "any"
        else:
            del fields[field]

    return change


def _payload(data: Data) -> None:
    if PAYLOAD in data["send"][0]["packet"]:
        data["send"][0]["packet"][PAYLOAD] = {"shown": "P4", "from": 0, "to": 100}


def _port(data: Data) -> None:
    data["send"][0]["port"] = drawn(data, "port_in", 9, LAST_PORT)
