"""What a router made of a packet: header by header, before and after."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from p4lab.steps import Widths, emits, extracts, short
from p4lab.tracing import Hop
from p4lab.widgets.sent import Sent
from p4lab.widgets.view import RouterView, script

Headers = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Field:
    """A field before and after; None where its header is not in the packet."""

    name: str
    before: str | None
    after: str | None

    @property
    def changed(self) -> bool:
        return self.before is not None and self.after is not None and self.before != self.after


@dataclass(frozen=True)
class Header:
    """A header: `same`, `changed`, `added` or `removed`."""

    name: str
    state: str
    fields: tuple[Field, ...]

    def to_json(self) -> dict[str, Any]:
        fields = [{**asdict(field), "changed": field.changed} for field in self.fields]
        return {"name": self.name, "state": self.state, "fields": fields}


def compare(before: Headers, after: Headers) -> list[Header]:
    """The headers of both packets in their order, those that were removed where they stood."""
    names = list(after)
    for name in reversed(before):
        if name not in after:
            place = list(before).index(name) + 1
            behind = next((n for n in list(before)[place:] if n in names), None)
            names.insert(names.index(behind) if behind else len(names), name)
    return [_header(name, before.get(name), after.get(name)) for name in names]


def _header(name: str, before: dict[str, str] | None, after: dict[str, str] | None) -> Header:
    fields = tuple(
        Field(field, (before or {}).get(field), (after or {}).get(field))
        for field in (before or after or {})
    )
    state = "changed" if any(field.changed for field in fields) else "same"
    if before is None:
        state = "added"
    elif after is None:
        state = "removed"
    return Header(name, state, fields)


class PacketView(RouterView):
    """The packet as it came to a router next to each packet that the router sent; by itself if it
    sent none."""

    _esm = script("packet.js")

    def draw(self, sent: Sent) -> None:
        hop = sent.hop(self._router)
        self._title = f"{self._router} got no packet"
        self._variants: list[tuple[str, list[Header]]] = []
        self._targets: list[str] = []
        self._came: Headers = {}
        if hop is not None:
            self._title = f"{self._router}: what came from {hop.source}, and what left"
            self._variants = list(self._compared(hop))
            if not self._variants:
                self._title = f"{self._router} got a packet from {hop.source} and sent nothing"
                self._came = self._headers(extracts(hop.packets[0]))
        self.data = {
            "title": self._title,
            "variants": [
                {"label": label, "to": to, "headers": [header.to_json() for header in headers]}
                for to, (label, headers) in zip(self._targets, self._variants, strict=True)
            ],
            "came": [{"name": name, "fields": fields} for name, fields in self._came.items()],
        }

    def _compared(self, hop: Hop) -> list[tuple[str, list[Header]]]:
        before = self._headers(extracts(hop.packets[0]))
        found = []
        for packet in hop.packets:
            fate = packet["fate"]
            if fate and fate["kind"] == "sent":
                to = self._lab.topology.neighbour(hop.router, fate["port"]) or "nobody"
                to = "the control plane" if packet["id"] in hop.given else to
                carried = self._lab.system.carried(self._lab.plan, emits(packet))
                what = f" with {carried.said}" if carried else ""
                self._targets.append(to)
                label = f"to {to}, port {fate['port']}{what}"
                found.append((label, compare(before, self._headers(emits(packet)))))
        return found

    def _headers(self, steps: list[dict[str, Any]]) -> Headers:
        """What the parser read or the deparser wrote, as text by header and field."""
        widths = Widths(self._sent.program.summary)
        return {
            short(step["header"]): {
                name: self._text(f"{short(step['header'])}.{name}", text, widths.of(step, name))
                for name, text in step["fields"].items()
            }
            for step in steps
        }

    def _text(self, name: str, text: str, width: int) -> str:
        try:
            value = int(text, 0)
        except ValueError:
            return text  # variable length, or an enum
        meaning = self._lab.notation.meaning(name, value)
        words = self._lab.notation.words(name, value, width)
        return f"{words} ({meaning})" if meaning else words

    def told(self) -> str:
        lines = [self._title]
        for label, headers in self._variants:
            parts = [_said(header) for header in headers if header.state != "same"]
            lines.append(f"{label}: {'; '.join(parts) or 'unchanged'}")
        for name, fields in self._came.items():
            lines.append(f"{name}: {', '.join(f'{one} {text}' for one, text in fields.items())}")
        return "\n".join(lines)

    def drawn(self) -> str:
        parts = [f"<p>{escape(self._title)}</p>"]
        for label, headers in self._variants:
            rows = "".join(_rows(header) for header in headers if header.state != "same")
            parts.append(
                f"<table><caption>{escape(label)}</caption><thead><tr><th>field<th>before<th>after"
                f"</tr></thead><tbody>{rows}</tbody></table>"
            )
        if self._came:
            rows = "".join(
                f"<tr><th>{escape(name)}.{escape(one)}<td>{escape(text)}</tr>"
                for name, fields in self._came.items()
                for one, text in fields.items()
            )
            head = "<thead><tr><th>field<th>as it came</tr></thead>"
            parts.append(f"<table>{head}<tbody>{rows}</tbody></table>")
        return "".join(parts)


def _said(header: Header) -> str:
    if header.state != "changed":
        return f"{header.name} {header.state}"
    changes = [f"{f.name} {f.before} → {f.after}" for f in header.fields if f.changed]
    return f"{header.name}: {', '.join(changes)}"


def _rows(header: Header) -> str:
    if header.state != "changed":
        return f"<tr><th>{escape(header.name)}<td colspan=2>{header.state}</tr>"
    return "".join(
        f"<tr><th>{escape(header.name)}.{escape(field.name)}<td>{escape(field.before or '')}"
        f"<td><b>{escape(field.after or '')}</b></tr>"
        for field in header.fields
        if field.changed
    )
