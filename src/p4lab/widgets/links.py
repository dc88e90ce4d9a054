"""Buttons that take links down and up."""

from __future__ import annotations

from typing import Any

import ipywidgets

from p4lab.topology import Link
from p4lab.widgets.column import Column
from p4lab.widgets.lab import Lab

MOST = 40  # more buttons than that help nobody


def link_buttons(lab: Lab) -> Column:
    """A toggle for every link between routers, and who hears of a change: the control plane, and
    the routers themselves where they act on it.

    A network of more than 40 links gets buttons for the first 40.
    """
    tell = ipywidgets.Checkbox(
        description="tell the control plane", value=False, indent=False, layout={"width": "auto"}
    )
    see = ipywidgets.Checkbox(
        description="the routers at its ends see it",
        value=True,
        indent=False,
        layout={"width": "auto"},
    )
    links = [link for link in lab.topology.links if not link.is_access][:MOST]
    buttons = [_button(lab, link, tell, see) for link in links]
    row = ipywidgets.HBox(buttons, layout={"flex_flow": "row wrap"})
    states = [f"{link.a} to {link.b}{' (down)' if link.ends in lab.down else ''}" for link in links]
    label = ipywidgets.Label("Links: click to break, click to mend.")
    heard = [see, tell] if lab.system.reroutes else [tell]
    return Column(label, row, *heard, note=f"Links: {', '.join(states)}.")


def _button(
    lab: Lab, link: Link, tell: ipywidgets.Checkbox, see: ipywidgets.Checkbox
) -> ipywidgets.ToggleButton:
    button = ipywidgets.ToggleButton(value=link.ends not in lab.down, layout={"width": "auto"})

    def paint() -> None:
        up = link.ends not in lab.down
        button.value = up
        button.description = f"{link.a} – {link.b}" if up else f"{link.a} ✕ {link.b}"
        button.button_style = "" if up else "danger"
        button.tooltip = f"The link is {'up' if up else 'down'}: click to change that"

    def clicked(change: dict[str, Any]) -> None:
        if change["new"] == (link.ends in lab.down):
            lab.set_link(link.a, link.b, change["new"], tell=tell.value, seen=see.value)

    paint()
    lab.watch(paint)
    button.observe(clicked, "value")
    return button
