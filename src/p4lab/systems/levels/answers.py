"""What a notebook asks of packets that went through a level; `sent` is what was sent there
(p4lab.widgets.sent)."""

from __future__ import annotations

from typing import Any

from p4lab.steps import emits, short


def field(sent: Any, source: str, target: str, name: str) -> str:
    """A field, such as `ipv4.ttl`, of the first frame from the switch to a neighbour, as a number;
    "nothing" if there is no such frame or no such field."""
    packet = sent.frame(source, target)
    header, _, wanted = name.partition(".")
    for step in emits(packet) if packet else []:
        if short(step["header"]) == header and wanted in step["fields"]:
            return str(int(step["fields"][wanted], 0))
    return "nothing"


def arrived(sent: Any, host: str) -> int:
    """How many different packets a host got."""
    return sent.received[host].unique if host in sent.received else 0
