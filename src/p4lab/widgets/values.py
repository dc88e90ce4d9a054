"""Values of P4 as people write them, and back."""

from __future__ import annotations

import re
from ipaddress import IPv4Address

from p4lab.model.notation import set_bits

_SET = re.compile(r"^\{([\d,\s]*)\}$")
_MAC = re.compile(r"^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$")
BIT_STRINGS = {"fbm", "remaining", "bit_string"}
"""Names of values that are sets of receivers, one bit each"""


class ValueTextError(ValueError):
    """A value that cannot be read; the message is a sentence."""


def shown(name: str, value: int, width: int, bits: int) -> str:
    """A value as text that `read` reads. `name` is that of its field or parameter; BitStrings are
    written with at least `bits` digits."""
    if name in BIT_STRINGS:
        if value.bit_length() <= 16:
            return f"0b{value:0{min(bits, 16)}b}"
        return "{" + ", ".join(str(number) for number in set_bits(value)) + "}"
    if width == 48:
        return ":".join(f"{byte:02x}" for byte in value.to_bytes(6, "big"))
    if width == 32:
        return str(IPv4Address(value))
    if name == "ether_type":
        return f"{value:#06x}"
    return f"{value:#x}" if width in (16, 20) and value > 0xFFF else str(value)


def read(name: str, text: str, width: int) -> int:
    """The number that a text means: 5, 0x1f, 0b101, {1, 3} (bits), an IPv4 or a MAC address.

    Raises ValueTextError with what is wrong; `name` and `width` (bits) are of the field.
    """
    value = _number(name, text.strip().replace("_", ""))
    if value.bit_length() > width:
        raise ValueTextError(f"{name}: {text.strip()} does not fit into {width} bits.")
    return value


def _number(name: str, text: str) -> int:
    if found := _SET.match(text):
        numbers = [int(part) for part in found[1].split(",") if part.strip()]
        if any(not 1 <= number <= 4096 for number in numbers):
            raise ValueTextError(f"{name}: bits are counted from 1, so {text} names no bits.")
        return sum(1 << number - 1 for number in set(numbers))
    if _MAC.match(text):
        return int(text.replace(":", ""), 16)
    if text.count(".") == 3:
        try:
            return int(IPv4Address(text))
        except ValueError as error:
            raise ValueTextError(f"{name}: {text} is no IPv4 address.") from error
    try:
        value = int(text, 0)
    except ValueError as error:
        raise ValueTextError(
            f"{name}: {text or 'nothing'} is no number; write 5, 0x1f, 0b101 or bits as {{1, 3}}."
        ) from error
    if value < 0:
        raise ValueTextError(f"{name}: {text} is negative; P4's bit<> values are not.")
    return value
