"""What a film follows: some fields, by name, and how their values are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from p4lab.grading.film.record import Row
from p4lab.grading.frames import Layout, trace_number
from p4lab.grading.ways import unscoped
from p4lab.model.notation import Notation
from p4lab.steps import Step, short

State = Mapping[str, str]
"""Values as a trace writes them, by the watched name"""

VALID = ".$valid"


class Watched:
    """The fields that a film follows: `labels` by name, which is `header.field`, or the last part
    of the name alone, whatever it belongs to."""

    def __init__(self, labels: Mapping[str, str], notation: Notation, layout: Layout) -> None:
        self.labels = labels
        self._notation = notation
        self._layout = layout

    def name_of(self, written: str) -> str:
        """The watched name of a variable of a trace; empty if it is not watched."""
        parts = unscoped(written).split(".")
        whole = ".".join(parts[-2:])
        return whole if whole in self.labels else parts[-1] if parts[-1] in self.labels else ""

    def after(self, state: State, step: Step) -> dict[str, str]:
        """What is known after a step."""
        return {**state, **{name: text for name, text in self._seen(step) if name}}

    def _seen(self, step: Step) -> Iterator[tuple[str, str]]:
        if step["kind"] == "change":
            yield self.name_of(step["name"]), str(step["after"])
        elif step["kind"] == "extract":
            header = short(step["header"])
            yield self.name_of(f"{header}{VALID}"), "valid"
            for field, text in step["fields"].items():
                yield self.name_of(f"{header}.{field}"), str(text)
        elif step["kind"] == "table":
            for item in (*step["key"], *step["args"]):
                yield self.name_of(item["name"]), str(item["value"])

    def rows(self, expected: State, got: State, shown: Iterable[str]) -> tuple[Row, ...]:
        """The watched values of two states, those that are to be `shown`."""
        return tuple(self._row(name, expected.get(name), got.get(name)) for name in shown)

    def _row(self, name: str, expected: str | None, got: str | None) -> Row:
        texts = (self._words(name, expected), self._words(name, got))
        return Row(
            name, self.labels[name], *texts, self._bits(name, expected), self._bits(name, got)
        )

    def _words(self, name: str, text: str | None) -> str:
        if text is None:
            return ""
        if name.endswith(VALID):
            return "there" if text == "valid" else "not there"
        number = trace_number(text)
        if number is None or text in ("true", "false"):
            return text
        return self._notation.words(name, number, self._width(name))

    def _bits(self, name: str, text: str | None) -> str:
        number = None if text is None else trace_number(text)
        return f"{number:b}" if number is not None and self.is_set(name) else ""

    def is_set(self, name: str) -> bool:
        """Whether a field is a set of bits."""
        return self._notation.style(name, self._width(name)).is_set

    def _width(self, name: str) -> int:
        header, _, field = name.rpartition(".")
        return self._layout.get(header, {}).get(field, 0)
