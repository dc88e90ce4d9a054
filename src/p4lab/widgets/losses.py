"""A counter of lost packets, for as long as links come and go."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Any

import ipywidgets

from p4lab.widgets.lab import Lab
from p4lab.widgets.sent import Sent


class LossCounter(ipywidgets.VBox):
    """What the subscribers of a stream should have got of all that was sent since the counter was
    shown or reset, and what they got. A button sends `packets` more."""

    def __init__(self, lab: Lab, stream: int, packets: int) -> None:
        self._lab = lab
        self._stream = lab.plan.streams[stream - 1]
        self._seen: Sent | None = lab.sent
        self._sent = 0
        self._got: Counter[str] = Counter()
        self._twice: Counter[str] = Counter()
        more = ipywidgets.Button(
            description=f"send {packets} packets", layout={"width": "max-content"}
        )
        more.on_click(lambda _: lab.send(stream, packets))
        reset = ipywidgets.Button(description="count from 0", layout={"width": "max-content"})
        reset.on_click(lambda _: self.reset())
        self._table = ipywidgets.HTML()
        super().__init__([ipywidgets.HBox([more, reset]), self._table])
        self._paint()
        lab.watch(self._watch)

    @property
    def lost(self) -> int:
        """Packets that subscribers did not get, all together."""
        return sum(self._sent - self._got[host.name] for host in self._stream.receivers)

    def reset(self) -> None:
        """Forgets what was counted."""
        self._sent = 0
        self._got.clear()
        self._twice.clear()
        self._paint()

    def _watch(self) -> None:
        sent = self._lab.sent
        if sent is None or sent is self._seen:
            return
        self._seen = sent
        if sent.is_of(self._stream):
            self._sent += sent.stream.packets
            for name, received in sent.received.items():
                self._got[name] += received.unique
                self._twice[name] += received.duplicates
            self._paint()

    def _paint(self) -> None:
        self._table.value = self._html()

    def _html(self) -> str:
        counts = (
            (host.name, self._got[host.name], self._twice[host.name])
            for host in self._stream.receivers
        )
        rows = "".join(
            f"<tr><th>{escape(name)}<td>{got}<td{_alarm(self._sent - got)}<td{_alarm(twice)}</tr>"
            for name, got, twice in counts
        )
        return (
            f"<b>{escape(str(self))}</b><table><thead><tr><th>host<th>got<th>lost<th>twice</tr>"
            f"</thead><tbody>{rows}</tbody></table>"
        )

    def __str__(self) -> str:
        name, group = self._lab.topology.name, self._stream.destination
        packets = "1 packet" if self._sent == 1 else f"{self._sent} packets"
        return f"{name}: {packets} sent to {group}, {self.lost} lost"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        live = super()._repr_mimebundle_(**kwargs) or {}
        return {**live, "text/html": self._html(), "text/plain": str(self)}


def _alarm(count: int) -> str:
    """The rest of a cell with a number that should be 0."""
    return f' style="color:#d9480f;font-weight:600">{count}' if count else ">0"
