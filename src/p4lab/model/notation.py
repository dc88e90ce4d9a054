"""How values of P4 are written for people, and read back.

A value is shown by the notation of its field: what its system says of it, or what its plain name
and type say (an address, an EtherType, a number). Its width alone says nothing: 64 bits may be a
set of receivers, an identifier or half of an address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address

from p4lab.plurals import count_of

MOST_NAMED = 12  # longer lists of bits are counted
_SET = re.compile(r"^\{([\d,\s]*)\}$")
_MAC = re.compile(r"^[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}$")
_ADDRESS = re.compile(r"addr|^(src|dst|destination|source|mac|ip|gateway|next_hop|nexthop)$", re.I)
_ADDRESSES = {32: "ipv4", 48: "mac", 128: "ipv6"}
_TYPES = {"ether_type", "ethertype", "etype"}


class ValueTextError(ValueError):
    """A value that cannot be read; the message is a sentence."""


@dataclass(frozen=True)
class Style:
    """One way to write values. `text` is what one would type and `read` reads, `said` what stands
    beside another value, in a table of differences; both get the value and its width in bits.
    `unlike` names the kind of difference between a value that is wanted and one that came, where
    the style knows one. `words` is how a sentence has the value, if not as `text`; `brief` how a
    line of a trace has it, if not as the engine writes numbers."""

    name: str
    text: Callable[[int, int], str]
    said: Callable[[int, int], str]
    unlike: Callable[[int, int], str] = lambda wanted, got: ""
    words: Callable[[int, int], str] | None = None
    brief: Callable[[int, int], str] | None = None
    is_set: bool = False
    """A value is a set of bits with numbers: a key that asks for one of them is `bit 7`"""


def plain(name: str, text: Callable[[int, int], str]) -> Style:
    """A style that writes a value the same way everywhere."""
    return Style(name, text, text, brief=text)


def mac(value: int) -> str:
    """A MAC address: 02:00:00:00:01:02."""
    return value.to_bytes(6, "big").hex(":")


def set_bits(value: int) -> list[int]:
    """The numbers of the bits that are set, from 1."""
    return [i + 1 for i in range(value.bit_length()) if value >> i & 1]


def bit_numbers(value: int) -> str:
    """The bits that are set as people say it: `bits 7 and 9`."""
    numbers = [str(number) for number in set_bits(value)]
    if not numbers:
        return "no bit"
    if len(numbers) > MOST_NAMED:
        return f"{len(numbers)} bits"
    *most, last = numbers
    return f"bits {', '.join(most)} and {last}" if most else f"bit {last}"


def bits_named(value: int) -> str:
    """The bits that are set, in a form for tables of differences: `bits 7, 9`."""
    numbers = [str(number) for number in set_bits(value)]
    listed = ", ".join(numbers[:8]) + (", ..." if len(numbers) > 8 else "")
    return f"bit {listed}" if len(numbers) == 1 else f"bits {listed}"


BITS_NOT_CLEARED = "bits not cleared"
BITS_LOST = "bits lost"


MOST_DIGITS = 16  # longer sets are written by their members
MOST_BRIEF = 16  # longer sets are numbers in a trace


def _bits_text(value: int, width: int) -> str:
    if value.bit_length() <= MOST_DIGITS:
        return f"0b{value:0{min(width, MOST_DIGITS)}b}"
    return "{" + ", ".join(map(str, set_bits(value))) + "}"


def _bits_said(value: int, width: int) -> str:
    return f"{value:#x} ({bits_named(value)})" if value else "0 (no bit)"


def _bits_brief(value: int, width: int) -> str:
    numbers = set_bits(value)
    return f"{value:#x}" if len(numbers) > MOST_BRIEF else "{" + ", ".join(map(str, numbers)) + "}"


def _bits_unlike(wanted: int, got: int) -> str:
    if wanted & got == wanted:
        return BITS_NOT_CLEARED
    return BITS_LOST if wanted & got == got else ""


def bits(digits: int | None = None) -> Style:
    """The style of a set in which bit 1 is the lowest. `digits` are written at the least, where
    they are 0 or 1; those of the whole field unless told."""

    def text(value: int, width: int) -> str:
        return _bits_text(value, width if digits is None else digits)

    return Style(
        "bits",
        text,
        _bits_said,
        _bits_unlike,
        words=lambda value, _: bit_numbers(value),
        brief=_bits_brief,
        is_set=True,
    )


def _number_text(value: int, width: int) -> str:
    return str(value) if value < 1024 else f"{value:#x}"


def _hex_text(value: int, width: int) -> str:
    return f"{value:#0{2 + (width + 3) // 4}x}"


def _address(name: str, text: Callable[[int], str]) -> Style:
    """An address, which in a trace is 0 as long as nobody has set it."""

    def whole(value: int, width: int) -> str:
        return text(value)

    return Style(name, whole, whole, brief=lambda value, _: text(value) if value else "0")


NUMBER = Style("number", _number_text, _number_text)
HEX = Style("hex", _hex_text, _hex_text)
MAC = _address("mac", mac)
IPV4 = _address("ipv4", lambda value: str(IPv4Address(value)))
IPV6 = _address("ipv6", lambda value: str(IPv6Address(value)))
BITS = bits()

_STYLES = {style.name: style for style in (NUMBER, HEX, MAC, IPV4, IPV6, BITS)}

KNOWN = {
    ("ether_type", 0x0800): "IPv4",
    ("ether_type", 0x0806): "ARP",
    ("ether_type", 0x8100): "VLAN",
    ("ether_type", 0x86DD): "IPv6",
    ("protocol", 1): "ICMP",
    ("protocol", 2): "IGMP",
    ("protocol", 4): "IPv4",
    ("protocol", 6): "TCP",
    ("protocol", 17): "UDP",
    ("protocol", 41): "IPv6",
    ("protocol", 58): "ICMPv6",
}
"""Values that have a name, by field"""

HEADERS = {
    "arp": "ARP",
    "eth": "Ethernet",
    "ether": "Ethernet",
    "ethernet": "Ethernet",
    "icmp": "ICMP",
    "icmpv6": "ICMPv6",
    "igmp": "IGMP",
    "ipv4": "IPv4",
    "ipv6": "IPv6",
    "tcp": "TCP",
    "udp": "UDP",
    "vlan": "VLAN",
}
"""Headers that have a name beside the one that programs give them"""


@dataclass(frozen=True)
class Notation:
    """The styles of a system's fields, keys and parameters: by `header.field`, or by the last part
    of their name alone. What is not there is written by its plain name and type."""

    styles: Mapping[str, Style] = field(default_factory=dict)
    known: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """Names of values, by field; beside those that everybody knows"""

    def style(self, name: str, width: int) -> Style:
        """The style of a field, key or parameter of so many bits."""
        last = name.rsplit(".", 1)[-1]
        own = self.styles.get(name) or self.styles.get(last)
        if own is not None:
            return own
        if _ADDRESS.search(last) and width in _ADDRESSES:
            return _STYLES[_ADDRESSES[width]]
        return HEX if last.lower() in _TYPES else NUMBER

    def said(self, name: str, value: int, width: int) -> str:
        """A value for a sentence."""
        return self.style(name, width).said(value, width)

    def text(self, name: str, value: int, width: int) -> str:
        """A value as one would type it; `read` reads it."""
        return self.style(name, width).text(value, width)

    def words(self, name: str, value: int, width: int) -> str:
        """A value alone in a sentence, or in a picture."""
        style = self.style(name, width)
        return (style.words or style.text)(value, width)

    def brief(self, name: str, value: int, width: int) -> str | None:
        """A value in a line of a trace; None if the number does as well."""
        brief = self.style(name, width).brief
        return brief and brief(value, width)

    def meaning(self, name: str, value: int) -> str:
        """What a value of a field is called; empty if it has no name."""
        key = (name.rsplit(".", 1)[-1], value)
        return self.known.get(key) or KNOWN.get(key, "")

    def unlike(self, name: str, width: int, wanted: int, got: int) -> str:
        """The kind of the difference of two values, where the field's style knows one."""
        return self.style(name, width).unlike(wanted, got)


PLAIN = Notation()


def read(name: str, text: str, width: int) -> int:
    """The number that a text means: 5, 0x1f, 0b101, {1, 3} (bits), an IP or a MAC address.

    Raises ValueTextError with what is wrong; `name` and `width` (bits) are of the field.
    """
    value = _number(name, text.strip().replace("_", ""))
    if value.bit_length() > width:
        raise ValueTextError(f"{name}: {text.strip()} does not fit into {count_of(width, 'bit')}.")
    return value


def _number(name: str, text: str) -> int:
    if found := _SET.match(text):
        numbers = [int(part) for part in found[1].split(",") if part.strip()]
        if any(not 1 <= number <= 4096 for number in numbers):
            raise ValueTextError(f"{name}: bits are counted from 1, so {text} names no bits.")
        return sum(1 << number - 1 for number in set(numbers))
    if _MAC.match(text):
        return int(re.sub("[:-]", "", text), 16)
    if text.count(".") == 3:
        try:
            return int(IPv4Address(text))
        except ValueError as error:
            raise ValueTextError(f"{name}: {text} is not an IPv4 address.") from error
    if ":" in text:
        try:
            return int(IPv6Address(text))
        except ValueError as error:
            raise ValueTextError(f"{name}: {text} is not an IPv6 address.") from error
    try:
        value = int(text, 0)
    except ValueError as error:
        raise ValueTextError(
            f"{name}: {text or 'nothing'} is not a number; "
            "write 5, 0x1f, 0b101 or bits as {1, 3}."
        ) from error
    if value < 0:
        raise ValueTextError(f"{name}: {text} is negative; P4's bit<> values are not.")
    return value
