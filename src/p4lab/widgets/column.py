"""Views below each other, which stay readable where scripts do not run."""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets


class Column(ipywidgets.VBox):
    """Some views as one. `note` stands for controls that have no picture of their own."""

    def __init__(self, *parts: ipywidgets.Widget, note: str = "") -> None:
        self._note = note
        super().__init__(parts)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        live = super()._repr_mimebundle_(**kwargs) or {}
        bundles = [part._repr_mimebundle_() for part in self.children]
        plain = [bundle[0] if isinstance(bundle, tuple) else bundle or {} for bundle in bundles]
        html = [bundle["text/html"] for bundle in plain if "text/html" in bundle]
        text = [bundle["text/plain"] for bundle in plain if "text/html" in bundle]
        if self._note:
            html.insert(0, f"<p>{escape(self._note)}</p>")
            text.insert(0, self._note)
        return {**live, "text/html": "".join(html), "text/plain": "\n".join(text)}
