"""The rows of a table of a running switch. What is edited goes to the switch at once."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import traitlets

from p4lab.errors import ArgumentError
from p4lab.model.entries import (
    DontCare,
    Exact,
    Lpm,
    Match,
    Optional,
    Range,
    TableEntry,
    Ternary,
    Update,
)
from p4lab.model.notation import ValueTextError, read
from p4lab.plurals import count_of
from p4lab.widgets.known import known_router
from p4lab.widgets.lab import Lab
from p4lab.widgets.view import View, script


@dataclass(frozen=True)
class Column:
    """A key or a parameter; `width` in bits. `kind` is a match kind, empty for a parameter."""

    name: str
    width: int
    kind: str = ""


class TableView(View):
    """A table of one router: edit a cell, add a row, delete one. The next packet meets the change.

    Raises ValueError if there is no such router, or the program has no such table.
    """

    _esm = script("table.js")
    message = traitlets.Dict().tag(sync=True)
    """The outcome of the last edit: its `number`, `ok` and `text`, one sentence"""

    def __init__(self, lab: Lab, router: str, table: str) -> None:
        self._lab = lab
        super().__init__()
        self.look_at(router, table)
        lab.watch(self.refresh)
        self.on_msg(self._message)

    def look_at(self, router: str, table: str) -> None:
        """Shows another table. Raises ValueError."""
        lab = self._lab
        self._router = known_router(lab.topology, router)
        found = [one for one in lab.program.summary["tables"] if _is(one["name"], table)]
        if len(found) != 1:
            names = [one["name"].rsplit(".", 1)[-1] for one in lab.program.summary["tables"]]
            raise ArgumentError(
                f"the program has no table called {table}; it has {', '.join(sorted(names))}."
            )
        self._table = found[0]["name"]
        self._keys = [
            Column(key["name"], key["width"], key["match_kind"]) for key in found[0]["keys"]
        ]
        params = {
            action["name"]: [Column(param["name"], param["width"]) for param in action["params"]]
            for action in lab.program.summary["actions"]
        }
        self._actions = {name: params.get(name, []) for name in found[0]["actions"]}
        self._ternary = any(key.kind in ("ternary", "range", "optional") for key in self._keys)
        self.message = {}
        self.refresh()

    def refresh(self) -> None:
        """Reads the rows from the switch; those that the last send hit are marked."""
        met = self._met()
        try:
            rows = self._lab.entries(self._router, self._table)
        except ValueError:
            rows = []  # the program has changed and lost the table
        rows.sort(key=lambda row: (-row["priority"], row["handle"]))
        self._rows = {row["handle"]: row for row in rows}
        self.data = {
            "title": f"{self._router}, table {self._table.rsplit('.', 1)[-1]}",
            "keys": [{"name": key.name, "kind": key.kind} for key in self._keys],
            "actions": {
                name: {"label": name.rsplit(".", 1)[-1], "params": [p.name for p in params]}
                for name, params in self._actions.items()
            },
            "priorities": self._ternary,
            "marks": self._marks(bool(met)),
            "rows": [{**self._shown(row), "met": met.get(row["handle"], 0)} for row in rows],
        }

    def _marks(self, hit: bool) -> str:
        """What the marks at the rows mean, and of which send they are; nothing before the first."""
        sent = self._lab.sent
        if sent is None:
            return ""
        count = count_of(len(sent.hops), "packet")
        send = f"the last send ({count} from {sent.stream.source.name})"
        return f"● n: hits of {send}" if hit else f"No row was hit by {send}."

    def _met(self) -> dict[int, int]:
        """How often the packets that were sent last met each row, by handle."""
        met: dict[int, int] = {}
        for hop in self._lab.sent.all_hops() if self._lab.sent else []:
            if hop.router == self._router:
                for packet in hop.packets:
                    for step in packet["steps"]:
                        if step["kind"] == "table" and step["table"] == self._table and step["hit"]:
                            met[step["entry"]] = met.get(step["entry"], 0) + 1
        return met

    def _shown(self, row: dict[str, Any]) -> dict[str, Any]:
        return {
            "handle": row["handle"],
            "priority": str(row["priority"]),
            "action": row["action"],
            "keys": [self._match_text(key, row["matches"][key.name]) for key in self._keys],
            "args": {
                param.name: self._text(param, row["args"][param.name])
                for param in self._actions.get(row["action"], [])
            },
        }

    def _text(self, column: Column, value: int) -> str:
        return self._lab.notation.text(column.name, value, column.width)

    def _match_text(self, key: Column, match: Match) -> str:
        match match:
            case DontCare():
                return "*"
            case Lpm(value, length):
                return f"{self._text(key, value)}/{length}"
            case Ternary(value, mask):
                is_set = self._lab.notation.style(key.name, key.width).is_set
                if is_set and value == mask and value.bit_count() == 1:
                    return f"bit {value.bit_length()}"
                return f"{self._text(key, value)} &&& {self._text(key, mask)}"
            case Range(low, high):
                return f"{self._text(key, low)}..{self._text(key, high)}"
            case Exact(value) | Optional(value):
                return self._text(key, value)

    def _read_match(self, key: Column, text: str) -> Match:
        """What a key's text means. Raises ValueTextError."""
        text = text.strip()
        if key.kind == "lpm":
            value, _, length = text.partition("/")
            return Lpm(read(key.name, value, key.width), _length(key, length))
        if key.kind in ("ternary", "optional") and text == "*":
            return DontCare()
        if key.kind == "ternary":
            if text.startswith("bit "):
                mask = read(key.name, "{" + text[4:] + "}", key.width)
                return Ternary(mask, mask)
            value, wild, bits = text.partition("&&&")
            number, all_bits = read(key.name, value, key.width), (1 << key.width) - 1
            return Ternary(number, read(key.name, bits, key.width) if wild else all_bits)
        if key.kind == "range":
            low, _, high = text.partition("..")
            return Range(read(key.name, low, key.width), read(key.name, high, key.width))
        number = read(key.name, text, key.width)
        return Optional(number) if key.kind == "optional" else Exact(number)

    def _message(self, _: object, content: dict[str, Any], __: object) -> None:
        number = self.message.get("number", 0) + 1
        try:
            text = self.edit(content)
        except (ValueError, KeyError) as error:
            self.message = {"number": number, "ok": False, "text": _sentence(str(error))}
        else:
            self.message = {"number": number, "ok": True, "text": text}
        self.refresh()

    def edit(self, what: dict[str, Any]) -> str:
        """Changes the running switch: `do` is set, delete or add, with the `handle` of a row and
        its new texts (`keys`, `priority`, `action`, `args`). Says what was done.

        Raises ValueError with a sentence; the switch then stays as it is.
        """
        if what["do"] == "add":
            self._lab.write(self._router, [Update("insert", self._entry(what))])
            return "The row is in the switch; the next packet meets it."
        row = self._rows.get(what["handle"])
        if row is None:
            raise ValueError("this row is gone.")
        matches, params = (tuple(row[pairs].items()) for pairs in ("matches", "args"))
        old = TableEntry(self._table, matches, row["action"], params, row["priority"])
        if what["do"] == "delete":
            self._lab.write(self._router, [Update("delete", old)])
            return "The row is gone from the switch."
        new = self._entry(what)
        if (new.match, new.priority) == (old.match, old.priority):
            self._lab.write(self._router, [Update("modify", new)])
        else:
            self._lab.write(self._router, [Update("delete", old), Update("insert", new)])
        return "The switch has the new row; the next packet meets it."

    def _entry(self, what: dict[str, Any]) -> TableEntry:
        matches = tuple(
            (key.name, self._read_match(key, text))
            for key, text in zip(self._keys, what["keys"], strict=True)
        )
        action = what["action"]
        params = self._actions.get(action)
        if params is None:
            raise ValueError(f"the table has no action {action}.")
        given = what["args"]
        args = tuple((p.name, read(p.name, given.get(p.name, ""), p.width)) for p in params)
        priority = read("priority", what.get("priority") or "0", 31) if self._ternary else 0
        return TableEntry(self._table, matches, action, args, priority)

    def summary(self) -> str:
        rows = [
            f"{', '.join(row['keys'])} → {row['action'].rsplit('.', 1)[-1]}"
            f"({', '.join(f'{name}={text}' for name, text in row['args'].items())})"
            for row in self.data["rows"]
        ]
        return "\n".join([self.data["title"], *rows])

    def picture(self) -> str:
        head = "".join(f"<th>{escape(key.name)}" for key in self._keys)
        rows = "".join(
            "<tr>"
            + "".join(f"<td>{escape(text)}" for text in row["keys"])
            + f"<td>{escape(row['action'].rsplit('.', 1)[-1])}<td>"
            + escape(", ".join(f"{name}={text}" for name, text in row["args"].items()))
            + "</tr>"
            for row in self.data["rows"]
        )
        return (
            f"<table><caption>{escape(self.data['title'])}</caption><thead><tr>{head}<th>action"
            f"<th>parameters</tr></thead><tbody>{rows}</tbody></table>"
        )


def _is(name: str, wanted: str) -> bool:
    return name == wanted or name.endswith(f".{wanted}")


def _length(key: Column, text: str) -> int:
    try:
        length = int(text)
    except ValueError as error:
        raise ValueTextError(f"{key.name}: write the prefix as value/length.") from error
    if not 0 <= length <= key.width:
        raise ValueTextError(f"{key.name}: a prefix has 0 to {key.width} bits, not {length}.")
    return length


def _sentence(text: str) -> str:
    """One line that begins with a capital and ends with a full stop."""
    text = " ".join(text.removeprefix("update 0: ").removeprefix("update 1: ").split())
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
