"""The header of a packet as HTML: its bytes as on the wire, each beside what it says."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from ipaddress import IPv6Address

from p4lab.model.notation import set_bits
from p4lab.systems.msr6.encoded import ENTRY_BYTES, FIXED_BYTES
from p4lab.systems.msr6.sids import END_RGB, END_RL, END_RLB, GlobalSet
from p4lab.systems.msr6.views.frames import DESTINATION, IPV6_BYTES, Frame, sid_of
from p4lab.systems.msr6.views.jobs import bit_cell, entry_cell
from p4lab.systems.msr6.views.names import Names, function
from p4lab.systems.msr6.views.pointing import node_cell
from p4lab.systems.msr6.views.steps import Step
from p4lab.widgets.svg import element

_FIXED = (
    ("next header", "what follows this header: 41 is IPv6"),
    ("length", "HdrExtLen, in units of 8 bytes without the first 8: 2 for each entry"),
    ("type", "routing type: 253 is for experiments"),
    ("left", "Segments Left: where in the list the packet is"),
    ("last", "Last Entry: the highest index of the list"),
    ("flags", "flags: none"),
    ("tag", "tag: none"),
)
"""The fields of the fixed part, each of a byte but the last, and what they are"""

_HEADING = element(
    "thead",
    element(
        "tr",
        *(
            element("th", name, scope="col")
            for name in ("", "", "locator", "node", "function", "argument", "")
        ),
    ),
)

_LEGEND = element(
    "p",
    element("span", "read now", class_="p4m-key now"),
    element("span", "still needed", class_="p4m-key needed"),
    element("span", "for other branches", class_="p4m-key"),
    element("span", "used up", class_="p4m-key gone"),
    class_="p4m-legend",
)


def panel(step: Step, names: Names) -> str:
    """What is shown of a step beside the network."""
    frame = step.frame
    size = f"{frame.length} bytes of IPv6" if frame.length is not None else ""
    if frame.has_tree:
        size = f"routing header of {frame.header_length} bytes"
        if frame.length is not None:
            size += f", in {frame.length} of IPv6"
    head = element("b", escape(step.title)) + element("span", escape(size), class_="p4m-size")
    heading = _HEADING if frame.sid is not None else ""
    rows = "".join([heading, _address(frame, names), *_routing(step, names)])
    return "".join(
        [
            element("div", head, class_="p4m-head"),
            _jobs(step),
            element("table", rows, class_="p4m-bytes"),
            _LEGEND if frame.entries and not frame.has_bit_string else "",
        ]
    )


def _address(frame: Frame, names: Names) -> str:
    """The row of the destination address."""
    label = element("th", "DA", scope="row", title=f"destination address: from byte {DESTINATION}")
    gap = element("td", class_="p4m-arrow")
    if frame.destination is None:
        return element("tbody", element("tr", gap, label, element("td", "no IPv6", colspan=5)))
    sid = frame.sid
    if sid is None:
        cells = _whole(frame.destination, str(IPv6Address(frame.destination)))
    else:
        said = f"{names.node(sid)} · {function(sid)}"
        cells = _parts(frame.destination, f"{said}: {names.argument(sid)}")
    cell = node_cell(names.node(sid)) if sid else None
    row = element("tr", gap, label, cells, class_="p4m-da", data_cell=cell, tabindex=_focus(cell))
    return element("tbody", row)


def _routing(step: Step, names: Names) -> Iterator[str]:
    """The rows of the routing header, if there is one."""
    frame = step.frame
    if not frame.fixed:
        words = "no routing header: a packet like any other"
        cells = element("td", words, colspan=5, class_="p4m-none")
        gap = element("td", class_="p4m-arrow") + element("th", scope="row")
        yield element("tbody", element("tr", gap, cells))
        return
    yield element("tbody", _fixed(frame))
    rows = [_entry(step, index, names) for index in range(len(frame.entries))]
    left = frame.segments_left
    if frame.has_tree and left >= len(frame.entries):
        is_root = left == len(frame.entries)
        words = "behind the list: at the root" if is_root else "beyond the list"
        if is_root and frame.has_bit_string:
            words = "not at a leaf yet"
        arrow = element("td", "SL ▸", class_="p4m-arrow")
        index = element("th", str(left), scope="row")
        more = "" if is_root else " bad"
        rows.append(
            element("tr", arrow, index, element("td", words, colspan=5, class_=f"p4m-none{more}"))
        )
    yield element("tbody", *rows, class_="p4m-list")


def _fixed(frame: Frame) -> str:
    parts = [frame.fixed[i : i + 1] for i in range(FIXED_BYTES - 2)] + [frame.fixed[-2:]]
    cells = []
    for (name, title), part in zip(_FIXED, parts, strict=True):
        value = int.from_bytes(part, "big")
        shown = {"flags": "", "tag": ""}.get(name, f" {value}")
        more = " left" if name == "left" else ""
        cells.append(
            element(
                "span",
                element("b", part.hex()),
                element("i", escape(f"{name}{shown}")),
                class_=f"p4m-byte{more}",
                title=f"{title}: {value}",
            )
        )
    label = element("th", "RH", scope="row", title=f"routing header: from byte {IPV6_BYTES}")
    strip = element("div", *cells, class_="p4m-fixed")
    gap = element("td", class_="p4m-arrow")
    return element("tr", gap, label, element("td", strip, colspan=5))


def _entry(step: Step, index: int, names: Names) -> str:
    """A row of the list: pale once Segments Left is not above it any more."""
    frame = step.frame
    number = frame.entries[index]
    states = ["p4m-entry"]
    if frame.has_tree and index >= frame.segments_left:
        states.append("gone")
    elif index in step.needed or frame.has_bit_string:
        states.append("needed")
    if index in step.entries:
        states.append("now")
    if index in step.entries and step.tone == "bad":
        states.append("bad")
    if frame.fixed[4] < index:
        states.append("outside")
    arrow = element("td", "SL ▸" if frame.segments_left == index else "", class_="p4m-arrow")
    start = IPV6_BYTES + FIXED_BYTES + ENTRY_BYTES * index
    label = element("th", str(index), scope="row", title=f"entry {index}: from byte {start}")
    if frame.has_bit_string:
        assert frame.sid is not None
        si = GlobalSet.parse(frame.sid.argument).si if frame.sid.function == END_RGB else 0
        cells = _whole(number, "", _bit_names(number, si, names))
        return element("tr", arrow, label, cells, class_=" ".join(states))
    said = names.entry(number)
    if frame.fixed[4] < index:
        said += ", behind Last Entry"
    cells = _parts(number, said) if sid_of(number) else _whole(number, said)
    cell = entry_cell(index)
    return element(
        "tr", arrow, label, cells, class_=" ".join(states), data_cell=cell, tabindex=_focus(cell)
    )


def _bit_names(bit_string: int, si: int, names: Names) -> str:
    """The bits that are set, each to be pointed at."""
    found = (
        element(
            "span",
            escape(f"{bit} {names.receiver(si, bit)}"),
            class_="p4m-bit",
            data_cell=bit_cell(bit),
            tabindex=0,
        )
        for bit in set_bits(bit_string)
    )
    return " ".join(found)


def _parts(number: int, said: str) -> str:
    """A SID in its parts, and in words."""
    digits = f"{number:032x}"
    locator = " ".join(digits[start : start + 4] for start in range(0, 16, 4))
    return "".join(
        [
            element("td", locator, class_="p4m-locator"),
            element("td", digits[16:20], class_="p4m-node"),
            element("td", digits[20:24], class_="p4m-function"),
            element("td", _argument(number), class_="p4m-argument"),
            element("td", escape(said), class_="p4m-said"),
        ]
    )


def _argument(number: int) -> str:
    """The 32 bits of an argument, the fields of its function set apart."""
    digits = f"{number & 0xFFFFFFFF:08x}"
    function_number = number >> 32 & 0xFFFF
    widths = {END_RL: (2, 2, 4), END_RLB: (4, 2, 2), END_RGB: (2, 6)}
    titles = {
        END_RL: ("n: how many children", "p: the entry of the first child", "reserved"),
        END_RLB: ("bits: adjacencies, the lowest is bit 1", "p: the first entry", "reserved"),
        END_RGB: ("SI: which set of receivers", "reserved"),
    }
    parts, start = [], 0
    rest = ("no argument",)
    for width, title in zip(
        widths.get(function_number, (8,)), titles.get(function_number, rest), strict=True
    ):
        tag = "i" if title in ("reserved", *rest) else "b"
        parts.append(element(tag, digits[start : start + width], title=title))
        start += width
    return " ".join(parts)


def _whole(number: int, said: str, inside: str = "") -> str:
    """128 bits that have no parts."""
    digits = f"{number:032x}"
    groups = " ".join(digits[start : start + 4] for start in range(0, 32, 4))
    hexadecimal = element("td", groups, colspan=4, class_="p4m-whole")
    return hexadecimal + element("td", inside or escape(said), class_="p4m-said")


def _focus(cell: str | None) -> int | None:
    return None if cell is None else 0


def _jobs(step: Step) -> str:
    """What the router of the step is asked for: a chip for each copy."""
    scene = step.scene
    if not scene.jobs:
        return element("div", class_="p4m-jobs")
    chips = []
    for job in scene.jobs:
        state = "waits"
        if job.cell in step.undone:
            state = "undone"
        elif job.cell in step.now:
            state = "now"
        elif job.cell in step.done:
            state = "done"
        chips.append(
            element(
                "span",
                escape(job.words),
                class_=f"p4m-chip {state}",
                data_cell=job.cell,
                tabindex=0,
            )
        )
    sid = scene.visit.frame.sid
    what = "entry · node" if sid is not None and sid.function == END_RL else "bit · where to"
    lead = element("span", escape(f"{scene.visit.router} is asked for ({what}):"))
    look = step.did.look if step.did is not None else None
    mask = ""
    if look is not None and scene.visit.frame.has_bit_string:
        numbers = ", ".join(str(bit) for bit in set_bits(look.taken))
        mask = element("span", f"F-BM: {numbers}", class_="p4m-mask")
    return element("div", lead, *chips, mask, class_="p4m-jobs")
