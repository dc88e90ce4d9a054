"""What a packet of the engine's trace was read as, and what it left as.

On v1model there is one parser and one deparser. On TNA ingress and egress have one each, and the
chip puts metadata in front of the packet that are none of its headers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from p4lab.model.notation import Notation

Step = dict[str, Any]

ENTERS = {"original", "recirculated", "resubmitted"}
"""Kinds of packets that begin at the parser: each is a pass"""

_CHIPS = {"ingress_intrinsic_metadata_t", "egress_intrinsic_metadata_t"}
"""Headers that a TNA program extracts and that are none of the packet, by type"""

_METADATA = {"ig_md", "eg_md"}
"""Where the engine keeps the metadata of TNA's blocks, whatever a program calls them"""


TNA_BLOCKS = 6


class Widths:
    """How many bits the fields, keys and parameters of a program have, from its summary."""

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self._of = {
            (owner, item["name"]): int(item["width"])
            for owner, items in _owners(summary)
            for item in items
        }

    def of(self, step: Mapping[str, Any], name: str) -> int:
        """The width of what a step names so; 0 if the program does not say."""
        *front, last = name.split(".")
        owners = (step.get("table"), step.get("action"), short(step.get("header") or ""))
        known = [*((owner, name) for owner in owners), (".".join(front[-1:]), last)]
        return next((self._of[place] for place in known if place in self._of), 0)


# A number with its name in keys, arguments, fields and changes.
_VALUE = re.compile(r"([A-Za-z_][\w.$\[\]]*)(?:=|: (0x[0-9a-f]+|\d+) -> )(0x[0-9a-f]+|\d+)\b")


class Lines:
    """Steps in one line each, their values by a notation. `summary` is that of the program, which
    says how wide they are."""

    def __init__(self, notation: Notation, summary: Mapping[str, Any]) -> None:
        self._notation = notation
        self._widths = Widths(summary)

    def text(self, step: Step) -> str:
        """A step in one line."""

        def told(found: re.Match[str]) -> str:
            name, old, new = found.groups()
            if old is None:
                return f"{name}={self.value(step, name, new)}"
            return f"{name}: {self.value(step, name, old)} -> {self.value(step, name, new)}"

        return _VALUE.sub(told, step["text"])

    def value(self, step: Step, name: str, text: str) -> str:
        """A number of a step, as it belongs to a name there."""
        owner = short(step.get("header") or "")
        full = f"{owner}.{name}" if owner else ".".join(name.split(".")[-2:])
        number = int(text, 0)
        width = self._widths.of(step, name) or _likely_width(number)
        return self._notation.brief(full, number, width) or text


def _likely_width(number: int) -> int:
    """For variables, of which a program's summary says nothing: the size of an address that the
    number would fill; 0 for none. It matters only where the name is that of an address."""
    sizes = ((24, 32), (32, 48), (64, 128))
    return next((size for least, size in sizes if least < number.bit_length() <= size), 0)


def _owners(summary: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Headers, tables and actions with what they have."""
    for header in summary["headers"]:
        yield short(header["name"]), header["fields"]
    for table in summary["tables"]:
        yield table["name"], table["keys"]
    for action in summary["actions"]:
        yield action["name"], action["params"]


def short(name: str) -> str:
    """`hdr.bier` and `ig_hdr.packet.bier` are `bier` to their readers."""
    return name.rstrip(".").rsplit(".", 1)[-1]


def extracts(packet: Mapping[str, Any]) -> list[Step]:
    """The headers that the first parser found, as steps."""
    blocks = _blocks(packet["steps"])
    found = [step for step in (blocks[0] if blocks else []) if step["kind"] == "extract"]
    return [step for step in found if not _is_chips(step)]


def emits(packet: Mapping[str, Any]) -> list[Step]:
    """The headers that a packet left with, as steps: those of the last deparser, and on TNA those
    of the first behind what egress looked at."""
    blocks = _blocks(packet["steps"])
    if not blocks:
        return []
    *_, last = blocks
    own = [step for step in last if step["kind"] == "emit"]
    return own + _unread(blocks) if len(blocks) == TNA_BLOCKS else own


def deparsers(packet: Mapping[str, Any]) -> list[list[Step]]:
    """The headers that each deparser wrote, as steps; without those that wrote none."""
    found = (
        [step for step in block if step["kind"] == "emit"] for block in _blocks(packet["steps"])
    )
    return [steps for steps in found if steps]


def _unread(blocks: Sequence[Sequence[Step]]) -> list[Step]:
    """What the ingress deparser wrote and the egress parser left in the payload."""
    written = [step for step in blocks[2] if step["kind"] == "emit"]
    read = [step for step in blocks[3] if step["kind"] == "extract"]
    names = [short(step["header"]) for step in read if not _is_chips(step)]
    if names != [short(step["header"]) for step in written[: len(names)]]:
        return []
    return written[len(names) :]


def _is_chips(step: Step) -> bool:
    return step["type"] in _CHIPS or step["header"].split(".")[0] in _METADATA


def _blocks(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps of each block of the architecture, in order."""
    blocks: list[list[Step]] = []
    for step in steps:
        if step["kind"] == "block" or not blocks:
            blocks.append([])
        blocks[-1].append(step)
    return blocks
