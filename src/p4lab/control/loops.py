"""Rows by which the recirculation ports of a Tofino take turns, for programs that have several."""

from __future__ import annotations

from collections.abc import Iterable

from p4lab.model.entries import CloneSession, DefaultAction, Entity, Exact, TableEntry

FIRST_LOOP_SESSION = 1  # mirror sessions are 1, 2, ... for the loops in their order


def loop_entries(loops: Iterable[int]) -> list[Entity]:
    """The round robin over recirculation ports: sessions, rows, and k - 1 in `loop_count`."""
    ports = tuple(loops)
    entities: list[Entity] = [loop_count(len(ports))]
    for turn, port in enumerate(ports):
        session = FIRST_LOOP_SESSION + turn
        key = (("loop", Exact(turn)),)
        entities += [
            CloneSession(session, ((port, 0),)),
            TableEntry("loop_sessions", key, "mirror_to", (("session", session),)),
            TableEntry("loop_ports", key, "loop_to", (("port", port),)),
        ]
    return entities


def loop_count(k: int) -> DefaultAction:
    """How many of the loops take part: the first k. It may change while packets flow."""
    return DefaultAction("loop_count", "use_loops", (("last", k - 1),))
