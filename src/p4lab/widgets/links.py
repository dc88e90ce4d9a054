"""Buttons that take links down and up."""

from __future__ import annotations

from html import escape
from typing import Any

import traitlets

from p4lab.widgets.lab import Lab
from p4lab.widgets.view import View, script

MOST = 40  # more buttons than that help nobody


class LinkButtons(View):
    """A button for every link between routers, and who learns of a change: the control plane if
    `tell`, and the routers at its ends if `seen`, where they act on it.

    A network of more than 40 links gets buttons for the first 40.
    """

    _esm = script("links.js")
    tell = traitlets.Bool(False).tag(sync=True)
    seen = traitlets.Bool(True).tag(sync=True)

    def __init__(self, lab: Lab) -> None:
        super().__init__()
        self._lab = lab
        self._links = [link for link in lab.topology.links if not link.is_access][:MOST]
        self._refresh()
        lab.watch(self._refresh)
        self.on_msg(self._message)

    def _refresh(self) -> None:
        self.data = {
            "reroutes": self._lab.system.reroutes,
            "links": [
                {"a": link.a, "b": link.b, "up": link.ends not in self._lab.down}
                for link in self._links
            ],
        }

    def _message(self, _: object, content: dict[str, Any], __: object) -> None:
        self.press(content["a"], content["b"])

    def press(self, a: str, b: str) -> None:
        """Breaks the link between two routers, or mends it. Raises ValueError if there is none."""
        down = frozenset((a, b)) in self._lab.down
        self._lab.set_link(a, b, down, tell=self.tell, seen=self.seen)

    def summary(self) -> str:
        links = self.data["links"]
        said = (f"{one['a']} to {one['b']}{'' if one['up'] else ' (down)'}" for one in links)
        return f"Links: {', '.join(said)}."

    def picture(self) -> str:
        return f"<p>{escape(self.summary())}</p>"


def link_buttons(lab: Lab) -> LinkButtons:
    """A button for every link between routers."""
    return LinkButtons(lab)
