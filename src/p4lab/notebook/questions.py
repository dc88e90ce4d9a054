"""Questions that a student answers before the network does."""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets


class Question(ipywidgets.VBox):  # type: ignore[misc]  # it has no types
    """A question with its choices. `reveal` says what the network did, beside what was chosen."""

    def __init__(self, text: str, choices: tuple[str, ...]) -> None:
        self._text = text
        self._choices = ipywidgets.RadioButtons(
            options=choices, value=None, layout={"width": "max-content"}
        )
        self._choices.tooltip = text
        head = ipywidgets.HTML(f"<b>Predict.</b> {escape(text)}")
        super().__init__([head, self._choices])

    @property
    def chosen(self) -> str | None:
        """What the student has chosen, if anything."""
        chosen: str | None = self._choices.value
        return chosen

    def reveal(self, outcome: object, by: str = "The network") -> Revealed:
        """The outcome of the run, to be shown as the value of a cell; `by` is who says it."""
        return Revealed(self.chosen, str(outcome), by)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        choices = "".join(f"<li>{escape(choice)}</li>" for choice in self._choices.options)
        text = f"Predict: {self._text} ({', '.join(self._choices.options)})"
        html = f"<p><b>Predict.</b> {escape(self._text)}</p><ul>{choices}</ul>"
        return {**(bundle or {}), "text/html": html, "text/plain": text}


class Revealed:
    """A prediction next to what happened."""

    _advised = False  # once for each notebook

    def __init__(self, chosen: str | None, outcome: str, by: str = "The network") -> None:
        self.chosen = chosen
        self.outcome = outcome
        self._said = f"{by} says: {outcome}."
        if chosen is None and not Revealed._advised:
            Revealed._advised = True
            self._said += " You made no prediction; try one next time."

    @property
    def right(self) -> bool:
        return self.chosen == self.outcome

    def __repr__(self) -> str:
        if self.chosen is None:
            return self._said
        if self.right:
            return f"{self._said} That is what you predicted."
        return f"{self._said} You predicted: {self.chosen}."

    def _repr_html_(self) -> str:
        colour = "#2b8a3e" if self.right else "#b7791f"
        return (
            f'<div role="status" style="border-left:4px solid {colour};padding:2px 10px">'
            f"{escape(repr(self))}</div>"
        )
