"""What a notebook asks of what was sent: which entries a router used, what it did, and what is in a
header on a link. All of it is about the first packet; who asks for a node that is not there gets a
ValueError."""

from __future__ import annotations

from p4lab.systems.msr6.views.acts import Scene, scenes
from p4lab.systems.msr6.views.frames import Frame
from p4lab.systems.msr6.views.journey import journey
from p4lab.systems.msr6.views.names import Names
from p4lab.widgets.known import known_node, known_router
from p4lab.widgets.sent import Sent

NOT_THERE = "the packet did not get there"


def entries(sent: Sent, router: str) -> str:
    """The entries of the list for which a router made copies, in their order; "none". Says so if
    the packet never came to the router."""
    found = _at(sent, router)
    if not found:
        return NOT_THERE
    used = [act.entry for scene in found for act in scene.acts]
    return ", ".join(str(entry) for entry in used if entry is not None) or "none"


def outcome(sent: Sent, router: str) -> str:
    """What a router did with the packet, in a few words; or that it never came there."""
    visits = [scene.visit for scene in _at(sent, router)]
    for end in (end for visit in visits for end in visit.ends):
        return f"{'refused' if end.told else 'dropped'}: {end.reason}"
    if not visits:
        return NOT_THERE
    left = sum(copy.target not in ("", router) for visit in visits for copy in visit.copies)
    if not left:
        return "nothing leaves"
    return "it leaves once" if left == 1 else f"it leaves {left} times"


def segments_left(sent: Sent, source: str, target: str) -> str:
    """Segments Left on a link; "nothing" if no tree came that way."""
    frame = _frame(sent, source, target)
    return str(frame.segments_left) if frame is not None and frame.has_tree else "nothing"


def tree_bytes(sent: Sent, source: str, target: str) -> int | str:
    """Bytes of the routing header on a link; 0 if there was none. Reports it if no packet came that
    way."""
    frame = _frame(sent, source, target)
    return NOT_THERE if frame is None else frame.header_length


def _at(sent: Sent, router: str) -> list[Scene]:
    known_router(sent.topology, router)
    every = scenes(journey(sent), Names(sent.topology))
    return [scene for scene in every if scene.visit.router == router]


def _frame(sent: Sent, source: str, target: str) -> Frame | None:
    for name in (source, target):
        known_node(sent.topology, name)
    for visit in journey(sent):
        for copy in visit.copies if visit.router == source else ():
            if copy.target == target:
                return copy.frame
    return None
