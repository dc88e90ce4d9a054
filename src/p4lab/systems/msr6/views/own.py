"""A tree of one's own: a list that is written by hand instead of by the control plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from p4lab.errors import ArgumentError
from p4lab.model.entries import Exact, TableEntry, Update
from p4lab.systems.msr6.settings import SEGMENTS
from p4lab.systems.msr6.sids import END_RL, ListArgument, Sid, leaf, node_numbers
from p4lab.systems.msr6.tree import Node
from p4lab.widgets.known import known, known_router
from p4lab.widgets.lab import Lab

Entry = tuple[str, int, int] | tuple[str]
"""A node with children, (name, n, p), or a leaf, (name,)"""


def own_tree(
    lab: Lab, router: str, root: tuple[int, int], entries: Sequence[Entry], *, stream: int = 1
) -> None:
    """Puts a list for End.RL into a router's row of the table `trees` for a stream's group. `root`
    is n and p of the router's own SID; `entries` begin with the highest index. It stays until
    `lab.reload()`, or until the control plane writes that row anew.

    Raises ValueError with a sentence for what is not a list, or if the router has no such row.
    """
    known_router(lab.topology, router)
    if not 1 <= len(entries) <= SEGMENTS:
        raise ArgumentError(f"a list has 1 to {SEGMENTS} entries, and not {len(entries)}.")
    lab.renew()  # or else the next packet would do that, and this list would be gone
    nodes = node_numbers(lab.topology)
    sids = [_sid(entry, nodes) for entry in reversed(entries)]
    args = {
        "destination": Sid(nodes[router], END_RL, ListArgument(*root).pack()).pack(),
        "last_entry": len(sids) - 1,
        **{f"sid_{index}": 0 for index in range(SEGMENTS)},
        **{f"sid_{index}": sid for index, sid in enumerate(sids)},
    }
    group = int(lab.plan.streams[stream - 1].destination)
    for row in lab.entries(router, "trees"):
        key = row["matches"]
        if key["group"] == Exact(group) and key["part"] == Exact(0):
            params = tuple({**row["args"], **args}.items())
            new = TableEntry("trees", tuple(key.items()), "encapsulate", params, row["priority"])
            lab.write(router, [Update("modify", new)])
            return
    raise ArgumentError(
        f"{router} has no row for {lab.plan.streams[stream - 1].destination}: nobody listens, or "
        "its packets carry no list."
    )


def _sid(entry: Entry, nodes: Mapping[Node, int]) -> int:
    """An entry as a number. Raises ValueError."""
    if not isinstance(entry, (tuple, list)) or len(entry) not in (1, 3):
        raise ArgumentError(
            f'{entry!r} is not an entry: write ("r5", n, p), or ("r8",) with its comma for a leaf.'
        )
    name, *argument = entry
    known(name, [str(node) for node in nodes], "node")
    if not argument:
        return leaf(nodes[name]).pack()
    return Sid(nodes[name], END_RL, ListArgument(*argument).pack()).pack()
