"""What comes back to the switch for another pass, where it is not what it should be: a mistake of
one pass shows in the next, in which nothing is wrong with the program."""

from __future__ import annotations

from collections.abc import Sequence

from p4lab.grading import difference, frames
from p4lab.grading.culprit import Packets
from p4lab.grading.difference import Out, Pair, Wanted


def returned(reference: Packets, student: Packets, ignore: frozenset[str]) -> Pair | None:
    """The first packet that came back otherwise than the reference's, as the pass before wrote it;
    None if there is none as long as the traces' packets are of the same kinds. `ignore` are fields
    that do not matter."""
    for number, (mine, theirs) in enumerate(zip(reference, student, strict=False)):
        if mine["kind"] != theirs["kind"]:
            return None
        if mine["kind"] != "recirculated":
            continue
        expected = _before(reference[: number + 1], ignore)
        got = _before(student[: number + 1], ignore)
        if expected.headers != got.headers:
            return Pair(expected, Out(got.port, b"", got.headers, lineage=got.lineage))
    return None


def _before(packets: Sequence[dict], ignore: frozenset[str]) -> Wanted:
    """What the last of `packets` was when the pass before it ended."""
    last = packets[-1]
    known = {packet["id"]: packet for packet in packets}
    lineage = []
    parent = last["parent"]
    while parent is not None:
        lineage.insert(0, known[parent])
        parent = known[parent]["parent"]
    headers = frames.emitted(lineage[-1]) if lineage else ()
    out = Out(last["ingress_port"], b"", headers, lineage=tuple(lineage))
    return difference.wanted(out, ignore)
