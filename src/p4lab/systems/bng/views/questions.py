"""What the notebook asks of the gateway beside what it may ask of any network."""

from __future__ import annotations

from typing import Any

from p4lab.model.entries import Exact
from p4lab.steps import emits
from p4lab.widgets.sent import Sent


def pppoe_length(sent: Sent, source: str, target: str) -> str:
    """What the first frame from a router to a subscriber says of PPPoE's length."""
    packet = sent.frame(source, target)
    for step in emits(packet) if packet else []:
        if "session_id" in step["fields"]:
            return str(int(step["fields"]["len"], 0))
    return "no PPPoE"


def counted(lab: Any, who: str, counter: str) -> int:
    """Packets that a counter of the gateway in a notebook's lab holds for a subscriber; 0 if it is
    not online. Raises ValueError for a counter that the program does not have."""
    mac = lab.topology.host(who).mac
    (router,) = lab.topology.routers
    for row in lab.entries(router.name, "sessions"):
        if row["matches"]["mac"] == Exact(mac):
            return lab.read_cell(router.name, counter, row["args"]["session"])
    return 0
