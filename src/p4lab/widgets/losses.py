"""A counter of lost packets, for as long as links come and go."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Any

from p4lab.plurals import count_of
from p4lab.widgets.lab import Lab
from p4lab.widgets.sent import Sent
from p4lab.widgets.view import View, script


class LossCounter(View):
    """What the subscribers of a stream should have got of all that was sent since the counter was
    shown or reset, and what they got. A button sends `packets` more."""

    _esm = script("losses.js")

    def __init__(self, lab: Lab, stream: int, packets: int) -> None:
        super().__init__()
        self._lab = lab
        self._number = stream
        self._packets = packets
        self._stream = lab.plan.streams[stream - 1]
        self._seen: Sent | None = lab.sent
        self._sent = 0
        self._got: Counter[str] = Counter()
        self._twice: Counter[str] = Counter()
        self._refresh()
        lab.watch(self._watch)
        self.on_msg(self._message)

    @property
    def lost(self) -> int:
        """Packets that subscribers did not get, all together."""
        return sum(self._sent - self._got[host.name] for host in self._stream.receivers)

    def send(self) -> None:
        """Sends as many packets more as the button says."""
        self._lab.send(self._number, self._packets)

    def reset(self) -> None:
        """Forgets what was counted."""
        self._sent = 0
        self._got.clear()
        self._twice.clear()
        self._refresh()

    def _message(self, _: object, content: dict[str, Any], __: object) -> None:
        if content["do"] == "send":
            self.send()
        else:
            self.reset()

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
            self._refresh()

    def _refresh(self) -> None:
        names = [host.name for host in self._stream.receivers]
        rows = ((name, self._got[name], self._twice[name]) for name in names)
        self.data = {
            "title": str(self),
            "packets": self._packets,
            "rows": [
                {"host": name, "got": got, "lost": self._sent - got, "twice": twice}
                for name, got, twice in rows
            ],
        }

    def picture(self) -> str:
        rows = "".join(
            f"<tr><th scope=row>{escape(row['host'])}<td>{row['got']}"
            f"<td{_alarm(row['lost'])}<td{_alarm(row['twice'])}</tr>"
            for row in self.data["rows"]
        )
        return (
            f"<b>{escape(str(self))}</b><table class=p4v-losses><thead><tr><th>host"
            "<th>got (packets)<th>lost (packets)<th>twice (packets)</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )

    def summary(self) -> str:
        return str(self)

    def __str__(self) -> str:
        name, group = self._lab.topology.name, self._stream.destination
        packets = count_of(self._sent, "packet")
        return f"{name}: {packets} sent to {group}, {self.lost} lost"


def _alarm(count: int) -> str:
    """The rest of a cell with a number that should be 0."""
    return f' class="bad">{count}' if count else ">0"
