"""The network of a lab and what its routers do, side by side: one selection, one time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import anywidget
import ipywidgets
import traitlets

from p4lab.steps import short
from p4lab.widgets.lab import Lab
from p4lab.widgets.packet import PacketView
from p4lab.widgets.table import TableView
from p4lab.widgets.topology import TopologyView
from p4lab.widgets.verdict import VerdictView
from p4lab.widgets.view import RouterView, SentView, script, style

_CSS = Path(__file__).parent / "js" / "live.css"

NETWORK, PACKET, TABLE, CHECKS = "network", "packet", "table", "checks"
"""Views that labs have beside those of their systems"""


def nothing(check: str) -> dict[str, Any]:
    """The film and the hints of checks that have not run."""
    return {}


class LiveView(anywidget.AnyWidget):
    """The network, and below it what the chosen router did: its system's views, the packet's
    headers, its tables. `parts` light up as checks pass. It is empty until it is given a lab."""

    _esm = script("live.js")
    _css = style(_CSS)
    views = traitlets.Dict().tag(sync=True, **ipywidgets.widget_serialization)
    """The network's view by the name "network", and one for each of `tabs`"""
    tabs: traitlets.List[Any] = traitlets.List().tag(sync=True)
    """The tabs as `name`, `label` and, for a table, `table`"""
    chosen = traitlets.Dict().tag(sync=True)
    """What was clicked last: `router`, and perhaps `table`"""
    arrival = traitlets.Float(None, allow_none=True).tag(sync=True)
    """When the packet comes to the chosen router, in nanoseconds of the picture's time"""
    trouble = traitlets.Unicode().tag(sync=True)
    """Why there is nothing to be seen: what the compiler says, in place of all views"""
    title = traitlets.Unicode().tag(sync=True)
    parts: traitlets.List[Any] = traitlets.List().tag(sync=True)
    """The parts: `id`, `title`, `status` (passed, failed, waits, checking) and `points`"""
    cuts = traitlets.Bool().tag(sync=True)
    """Whether there is a link between routers, which can be cut"""
    saves = traitlets.Int().tag(sync=True)
    """How many states of the files were looked at"""

    _lab: Lab | None = None

    def __init__(self, *, checks: bool = True) -> None:
        """`checks`: whether there is a tab for the verdict."""
        super().__init__()
        self._checks = checks
        self.verdict = VerdictView(
            "<p>checking …</p>", "The checks are running.", (), nothing, nothing
        )

    def show(self, lab: Lab, title: str) -> None:
        """Begins with a lab, of which the first packet is sent if none was."""
        before = [view for name, view in self.views.items() if name != CHECKS]
        self._lab = lab
        network = TopologyView(lab, follow=True, playing=True)
        router = self._first(lab)
        self._made: dict[str, SentView | TableView] = dict(self._of_system(lab, router))
        self._made[PACKET] = PacketView(lab, router)
        with self.hold_sync():
            self.views = {NETWORK: network, **self._made, CHECKS: self.verdict}
            self.title = title
            self.cuts = any(not link.is_access for link in lab.topology.links)
            self.chosen = {"router": router}
            self._tables: list[str] = []
            self._follow()
        for view in before:
            view.close()
        lab.watch(self._follow)
        self.observe(self._choose, "chosen")

    def show_checks(self, title: str) -> None:
        """Begins with a lab that has no network: its verdict alone."""
        with self.hold_sync():
            self.views = {CHECKS: self.verdict}
            self.tabs = [{"name": CHECKS, "label": "checks"}]
            self.title = title

    def _of_system(self, lab: Lab, router: str) -> Iterator[tuple[str, SentView]]:
        """The views of the lab's system that need no more than a router, if that."""
        for name, place in lab.system.views.items():
            kind = resolve_name(place)
            if isinstance(kind, type) and issubclass(kind, RouterView):
                yield name, kind(lab, router)
            elif isinstance(kind, type) and issubclass(kind, SentView):
                yield name, kind(lab, None)

    def _first(self, lab: Lab) -> str:
        """The router that the packet comes to first."""
        hops = lab.to_show(None).all_hops()
        return hops[0].router if hops else lab.topology.routers[0].name

    def _label(self) -> None:
        tabs = [
            {"name": name, "label": view.label or name.removesuffix("_view")}
            for name, view in self._made.items()
            if isinstance(view, SentView) and name != PACKET
        ]
        tabs.append({"name": PACKET, "label": "headers"})
        tabs += [{"name": TABLE, "label": f"table {one}", "table": one} for one in self._tables]
        if self._checks:
            tabs.append({"name": CHECKS, "label": "checks"})
        self.tabs = tabs

    def _choose(self, change: dict[str, Any]) -> None:
        """Shows what was clicked. A script may ask for anything: what there is not is left."""
        assert self._lab is not None
        router, table = change["new"].get("router"), change["new"].get("table")
        if router not in {one.name for one in self._lab.topology.routers}:
            return
        for view in self._made.values():
            if isinstance(view, SentView):
                if isinstance(view, RouterView):
                    view.look_at(router)
            elif self._tables:
                view.look_at(router, table if table in self._tables else self._tables[0])
        self._time()

    def _follow(self) -> None:
        """Shows what was sent last, also by others than this view."""
        assert self._lab is not None
        sent = self._lab.sent
        if sent is None:
            return
        for view in self._made.values():
            if isinstance(view, SentView) and view.sent is not sent:
                view.show(sent)
        self._tables = _tables(self._lab)
        if self._tables and TABLE not in self._made:
            router = self.chosen["router"]
            self._made[TABLE] = TableView(self._lab, router, self._tables[0])
            self.views = {**self.views, **self._made}
        self._label()
        self._time()

    def _time(self) -> None:
        assert self._lab is not None
        sent, router = self._lab.sent, self.chosen.get("router")
        hop = sent.hop(router) if sent and router else None
        self.arrival = float(hop.time - sent.all_hops()[0].time) if sent and hop else None

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        live = super()._repr_mimebundle_(**kwargs)
        data, metadata = live if isinstance(live, tuple) else (live or {}, {})
        return {**data, "text/plain": self.trouble or self.title}, metadata


def _tables(lab: Lab) -> list[str]:
    """The tables of the program that runs."""
    return [short(table["name"]) for table in lab.program.summary["tables"]]
