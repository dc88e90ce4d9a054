"""A tree that a student has built: is it one, and what does it cost?"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

from p4lab.model.measured import Measured
from p4lab.policies import Program
from p4lab.policies.errors import WRONG_VALUE
from p4lab.systems.fabric.policies.answers import carried, shown
from p4lab.systems.fabric.ports import MOST_COPIES, MOST_LEVELS, PLACES, TERMINALS
from p4lab.systems.fabric.runs import Flow, Scenario
from p4lab.systems.fabric.trees import Tree, levels

MICROS, WARM = 40, 20
STEPS = 2_000_000
"""Of a policy; the reference's takes 25,000 for 639 members, and one that compares all with all a
million"""


NO_TREE = "no tree"
"""Of ports and lists, but wrong as a tree"""
MOST_TOLD = 4  # levels


class NoTree(Exception):
    """What a student returns is not a tree: a sentence, and the kind of the mistake."""

    def __init__(self, sentence: str, kind: str = NO_TREE) -> None:
        self.kind = kind
        super().__init__(sentence)


def name(port: int) -> str:
    """A port in a sentence: its number, and where it is."""
    return (
        f"Port {port} ({'surrogate' if is_surrogate(port) else 'server'} of leaf {port // PLACES})"
    )


def is_surrogate(port: int) -> bool:
    return port % PLACES == TERMINALS


def built(answer: Any, sender: int, leaves: int) -> Tree:
    """The tree that an answer is, the sender first and each port after the one that feeds it.
    Raises NoTree."""
    copies = _copies(answer)
    if sender not in copies:
        raise NoTree(f"{name(sender)} is the sender and makes no copies.")
    fed = {sender}
    waiting = deque([sender])
    tree: Tree = []
    while waiting:
        port = waiting.popleft()
        children = copies.pop(port)
        tree.append((port, children))
        _check(port, children, fed, leaves)
        fed.update(children)
        for child in children:
            if is_surrogate(child):
                if child not in copies:
                    raise NoTree(f"{name(child)} is sent frames and makes no copies of them.")
                waiting.append(child)
    if copies:
        port = next(iter(copies))
        raise NoTree(f"{name(port)} makes copies, and no one sends it a frame.")
    return tree


def _copies(answer: Any) -> dict[int, list[int]]:
    if not isinstance(answer, dict):
        told = f"tree returns {shown(answer)}, and not a dict of ports and lists."
        raise NoTree(told, WRONG_VALUE)
    found = {}
    for port, children in answer.items():
        is_list = isinstance(children, list | tuple)
        if not _is_port(port) or not is_list or not all(map(_is_port, children)):
            entry = f"{shown(port)}: {shown(children)}"
            told = f"tree returns the entry {entry}; it takes a port and a list of ports."
            raise NoTree(told, WRONG_VALUE)
        if children:
            found[port] = list(children)
    return found


def _is_port(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check(port: int, children: Sequence[int], fed: set[int], leaves: int) -> None:
    if len(children) > MOST_COPIES:
        raise NoTree(f"{name(port)} makes {len(children)} copies: {MOST_COPIES} are possible.")
    for child in children:
        if not 0 <= child < leaves * PLACES or child % PLACES > TERMINALS:
            raise NoTree(f"There is no server and no surrogate at port {child}.")
        if child in fed or children.count(child) > 1:
            raise NoTree(f"{name(child)} gets each frame twice.")


def of(program: Program, given: Mapping[str, Any]) -> tuple[Tree, list[int]]:
    """The tree that a student's policy builds, and its members. Raises PolicyError."""
    leaves, sender = given["leaves"], given["sender"]
    members = [port for port in given["members"] if port != sender]
    answer = program.call("tree", sender, list(members), leaves, steps=STEPS)
    try:
        tree = built(answer, sender, leaves)
        _reaches(tree, members)
    except NoTree as error:
        raise program.wrong("tree", str(error), error.kind) from error
    return tree, members


def _reaches(tree: Tree, members: Sequence[int]) -> None:
    reached = set(levels(tree))
    if missing := sorted(set(members) - reached):
        raise NoTree(f"{name(missing[0])} gets no frame{_nor(len(missing) - 1)}.")
    if strangers := sorted(reached - set(members)):
        raise NoTree(f"{name(strangers[0])} gets frames and is not a member.")


def _nor(others: int) -> str:
    """The end of a sentence about one port, of which it says the same of others."""
    if others == 0:
        return ""
    return ", nor does one other" if others == 1 else f", nor do {others} others"


def measure(program: Program, given: Mapping[str, Any]) -> Measured:
    """Of the tree for `members`: `depth`, the most surrogates on the way to one; `surrogates` in
    all; `crossings`, frames that leave a leaf for each one sent. Nothing is sent."""
    tree, members = of(program, given)
    depth = max(levels(tree).values())
    away = sum(port // PLACES != child // PLACES for port, children in tree for child in children)
    counts = Counter(levels(tree).values())
    found = sorted(counts)[:MOST_TOLD]
    told = ", ".join(f"{counts[level]} through {level or 'none'}" for level in found)
    told += f" and so on, up to {depth}" if len(counts) > MOST_TOLD else ""
    numbers = {
        "depth": depth,
        "surrogates": len(tree) - 1,
        "crossings": away,
        "count": len(members),
    }
    cost = f"{len(tree) - 1} surrogates, and {away} copies go to another leaf"
    return Measured(numbers, (f"members reached through surrogates: {told}", cost))


def carry(program: Program, given: Mapping[str, Any]) -> Measured:
    """What the tree does with `load` Gb/s: `least` is the Gb/s of who gets the least."""
    tree, _ = of(program, given)
    depth = max(levels(tree).values())
    if depth > MOST_LEVELS:
        told = f"Frames would pass {depth} surrogates: {MOST_LEVELS} are possible."
        raise program.wrong("tree", told, NO_TREE)
    flow = Flow(tree, given["load"], given["size"])
    scenario = Scenario(given["leaves"], (flow,), MICROS, WARM)
    seen = carried(program, "tree", scenario, given["seed"])
    least = min(seen.gbps(0))
    told = f"everyone gets at least {least:.1f} of {given['load']} Gb/s"
    return Measured({"least": least, "depth": depth}, (told,))
