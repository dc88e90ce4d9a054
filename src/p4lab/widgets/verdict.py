"""The verdict of the checks, with a film and hints for each that failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import traitlets

from p4lab.widgets.view import View, script

Answer = Callable[[str], Mapping[str, Any]]
"""What there is to show of a check, by its id, as plain data"""
Failed = Mapping[str, Any]
"""A check that failed: `id`, `title`, and `film`, whether it has a packet that a film can show"""


class VerdictView(View):
    """A verdict as HTML whose rows carry `data-check`, with two buttons in the last cell of each
    check that `failed`: one for its film, if there is one, and one for the next step of its
    hints."""

    _esm = script("verdict.js")
    film = traitlets.Dict().tag(sync=True)
    """The film that is shown, with `sources`: lines by file; empty before the first"""
    hints = traitlets.Dict().tag(sync=True)
    """The steps that were asked for last"""

    def __init__(
        self,
        html: str,
        text: str,
        failed: Sequence[Failed],
        film_of: Answer,
        hint_of: Answer,
    ) -> None:
        super().__init__()
        self.show(html, text, failed, film_of, hint_of)
        self.on_msg(self._message)

    def show(
        self,
        html: str,
        text: str,
        failed: Sequence[Failed],
        film_of: Answer,
        hint_of: Answer,
    ) -> None:
        """Shows another verdict, and no film of the last one."""
        self._text = text
        self._answers = {"hint": ("hints", hint_of), "watch": ("film", film_of)}
        with self.hold_sync():
            self.film, self.hints = {}, {}
            self.data = {
                "html": html,
                "failed": [*failed],
            }

    def _message(self, _: object, content: dict[str, Any], __: object) -> None:
        what, answer = self._answers[content["do"]]
        setattr(self, what, dict(answer(content["check"])))

    def picture(self) -> str:
        return str(self.data["html"])

    def summary(self) -> str:
        return self._text
