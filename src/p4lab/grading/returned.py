"""What comes back to the switch for another pass, where it is not what it should be: a mistake of
one pass shows in the next, in which nothing is wrong with the program."""

from __future__ import annotations

from typing import Any

from p4lab.grading import difference, frames
from p4lab.grading.culprit import Packets, decisions
from p4lab.grading.difference import Out, Pair, Wanted


def returned(reference: Packets, student: Packets, ignore: frozenset[str]) -> Pair | None:
    """The first packet that came back otherwise than the reference's, as the pass before wrote it;
    None if a table or a fate told the two apart before. `ignore` are fields that do not matter."""
    for mine, theirs in zip(reference, student, strict=False):
        if mine["kind"] != theirs["kind"]:
            return None
        if mine["kind"] == "recirculated":
            expected = _before(mine, reference, ignore)
            got = _before(theirs, student, ignore)
            if expected.headers != got.headers:
                return Pair(expected, Out(got.port, b"", got.headers, lineage=got.lineage))
        said = ([decided for decided, *_ in decisions([item])] for item in (mine, theirs))
        if next(said) != next(said):
            return None
    return None


def _before(packet: dict[str, Any], packets: Packets, ignore: frozenset[str]) -> Wanted:
    """What one of `packets` was when the pass before it ended."""
    known = {item["id"]: item for item in packets}
    lineage: list[dict[str, Any]] = []
    parent = packet["parent"]
    while parent is not None:
        lineage.insert(0, known[parent])
        parent = known[parent]["parent"]
    headers = frames.emitted(lineage[-1]) if lineage else ()
    out = Out(packet["ingress_port"], b"", headers, lineage=tuple(lineage))
    return difference.wanted(out, ignore)
