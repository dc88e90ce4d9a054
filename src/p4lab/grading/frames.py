"""Packets as headers and fields: built from the names of a scenario, shown to a reader.

What headers there are is asked of the reference program, so a lab needs no packet library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from p4lab import _engine
from p4lab.grading.drawing import ip
from p4lab.model.notation import NUMBER, Notation
from p4lab.packets.ip import checksum
from p4lab.plurals import count_of
from p4lab.steps import deparsers, emits, extracts, short

PAYLOAD = "payload"

COMPUTED = ("checksum", "length", "behind")
"""What a 16-bit field may hold instead of a number"""

Layout = Mapping[str, Mapping[str, int]]
"""Header to field to width in bits, in the order of the wire"""


class FrameError(ValueError):
    """A packet that cannot be built; the message names header and field."""


@dataclass(frozen=True)
class Header:
    """A header of a packet; `fields` by name, in the order of the wire. A varbit field that holds
    nothing is left out."""

    name: str
    fields: Mapping[str, int]


@dataclass(frozen=True)
class Headers:
    """The headers of a program, and how their values are written for people. Fields go by names
    such as `bier.ttl`."""

    layout: Layout
    notation: Notation

    def width(self, field: str) -> int:
        """The width of a field in bits; 0 if there is no such field of a fixed width."""
        header, _, name = field.rpartition(".")
        return self.layout.get(header, {}).get(name, 0)

    def said(self, field: str, value: int) -> str:
        """A field's value for a reader."""
        return self.notation.said(field, value, self.width(field))

    def unlike(self, field: str, wanted: int, got: int) -> str:
        """The kind of the difference of two values, if the notation knows one."""
        return self.notation.unlike(field, self.width(field), wanted, got)

    def is_number(self, field: str) -> bool:
        """Whether a field's values are numbers and no more: no address, no set."""
        return self.notation.style(field, self.width(field)) is NUMBER


def layout_of(program: _engine.Program) -> dict[str, dict[str, int]]:
    """The headers of a program by the last part of their names. Raises FrameError where two
    headers would be one to their readers."""
    layout: dict[str, dict[str, int]] = {}
    paths: dict[str, str] = {}
    for header in program.summary["headers"]:
        name, path = short(header["name"]), header["name"].partition(".")[2]
        if paths.setdefault(name, path) != path:
            raise FrameError(f"two headers are called {name}: {paths[name]} and {path}")
        fields = {f["name"]: f["width"] for f in header["fields"] if not f["varbit"]}
        layout.setdefault(name, fields)
    return layout


def unstacked(packet: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """The packet with its header stacks as headers of their own: the list `segments = [5, "any"]`
    becomes `segments[0]` and `segments[1]`. The headers of such a stack have one field. Raises
    FrameError."""
    headers: dict[str, Any] = {}
    for name, written in packet.items():
        if not isinstance(written, list):
            headers[name] = written
            continue
        fields = layout.get(f"{name}[0]", {})
        if len(fields) != 1:
            raise FrameError(f"{name} is not a stack of headers with one field")
        (field,) = fields
        for index, item in enumerate(written):
            headers[f"{name}[{index}]"] = {field: item}
    return headers


def number(written: Any, width: int) -> int:
    """A field's value as a number: addresses as one writes them, or numbers. Raises ValueError."""
    if isinstance(written, bool) or not isinstance(written, int | str):
        raise ValueError(f"{written!r} is neither a number nor an address")
    found = _of_text(written.strip(), width) if isinstance(written, str) else written
    if not 0 <= found < 1 << width:
        raise ValueError(f"{found} does not fit into {count_of(width, 'bit')}")
    return found


def _of_text(text: str, width: int) -> int:
    if width == 48 and text.count(":") == 5:
        return int(text.replace(":", ""), 16)
    return ip(text) if "." in text or ":" in text else int(text, 0)


def build(packet: Mapping[str, Any], layout: Layout) -> bytes:
    """The bytes of a packet given as header to fields, in the order of the wire, and `payload`.

    A 16-bit field may be "checksum" (RFC 1071, over its header), "length" (bytes from its header to
    the end of the packet) or "behind" (bytes behind its header). Fields left out are 0. Raises
    FrameError.
    """
    parts: list[tuple[str, bytearray]] = []
    late: list[tuple[int, str, str]] = []
    for name, fields in packet.items():
        if name == PAYLOAD:
            parts.append((name, bytearray(payload(fields))))
            continue
        if name not in layout:
            raise FrameError(f"there is no header {name}; choose from {', '.join(layout)}")
        known, values = layout[name], {}
        for field, written in fields.items():
            if field not in known:
                raise FrameError(f"{name} has no field {field}; it has {', '.join(known)}")
            if written in COMPUTED:
                late.append((len(parts), field, written))
                continue
            try:
                values[field] = number(written, known[field])
            except ValueError as error:
                raise FrameError(f"{name}.{field}: {error}") from error
        parts.append((name, bytearray(packed(values, known))))
    # Lengths before checksums, which cover them.
    for index, field, what in sorted(late, key=lambda item: item[2] == "checksum"):
        name, data = parts[index]
        offset = _offset(layout[name], field)
        if what == "checksum":
            filled = checksum(bytes(data))
        else:
            first = index if what == "length" else index + 1
            filled = sum(len(part) for _, part in parts[first:])
        data[offset : offset + 2] = filled.to_bytes(2, "big")
    return b"".join(bytes(data) for _, data in parts)


def payload(written: Any) -> bytes:
    """`hex:00ff` are bytes, other text is text. Raises FrameError."""
    text = str(written)
    if not text.startswith("hex:"):
        return text.encode()
    try:
        return bytes.fromhex(text[4:])
    except ValueError as error:
        raise FrameError(f"payload {text!r}: {error}") from error


def packed(values: Mapping[str, int], fields: Mapping[str, int]) -> bytes:
    """The bytes of a header: `values` by name, `fields` with their widths in bits; 0 where there is
    no value."""
    bits = 0
    for field, width in fields.items():
        bits = bits << width | values.get(field, 0)
    return bits.to_bytes(sum(fields.values()) // 8, "big")


def _offset(fields: Mapping[str, int], wanted: str) -> int:
    """The byte at which a 16-bit field begins. Raises FrameError if it is none."""
    bits = 0
    for field, width in fields.items():
        if field == wanted:
            if width != 16 or bits % 8:
                computed = ", ".join(COMPUTED)
                raise FrameError(f"{wanted} has {count_of(width, 'bit')}: {computed} need 16")
            return bits // 8
        bits += width
    raise FrameError(f"there is no field {wanted}")


def parsed(packet: Mapping[str, Any]) -> tuple[Header, ...]:
    """The headers that the first parser found in a packet of a trace."""
    return _headers(extracts(packet))


def deparsed(packet: Mapping[str, Any]) -> list[tuple[Header, ...]]:
    """The headers that each deparser wrote of a packet of a trace: on TNA there are two."""
    return [_headers(steps) for steps in deparsers(packet)]


def emitted(packet: Mapping[str, Any]) -> tuple[Header, ...]:
    """The headers with which a packet of a trace left."""
    return _headers(emits(packet))


def _headers(steps: Sequence[Mapping[str, Any]]) -> tuple[Header, ...]:
    return tuple(Header(short(step["header"]), dict(_numbers(step["fields"]))) for step in steps)


def _numbers(fields: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    for name, text in fields.items():
        found = trace_number(text)
        if found is not None:
            yield name, found


def trace_number(text: str) -> int | None:
    """A value as a trace writes it: a number, a truth value, or a varbit, `32 bits 0x94040000`,
    which is None if it is empty; None for what is not a number."""
    length, _, bits = text.partition(" bits ")
    if bits and length == "0":
        return None
    try:
        return int(bits or text, 0)
    except ValueError:
        return {"true": 1, "false": 0}.get(text)


def dissect(program: _engine.Program, data: bytes, port: int = 1) -> tuple[Header, ...]:
    """The headers of a frame as the program's own parser finds them."""
    packets = _engine.Switch(program).trace(port, data)["packets"]
    return parsed(packets[0]) if packets else ()
