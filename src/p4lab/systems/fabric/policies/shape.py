"""A tree that a student has built: is it one, and what does it cost?"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

from p4lab.model.measured import Measured
from p4lab.policies import Program
from p4lab.systems.fabric.policies.answers import shown
from p4lab.systems.fabric.ports import MOST_COPIES, MOST_LEVELS, PLACES, TERMINALS
from p4lab.systems.fabric.runs import Flow, Scenario, run
from p4lab.systems.fabric.trees import Tree, levels

LOAD = 90.0  # Gb/s


class NoTree(Exception):
    """What a student returns is not a tree: a sentence."""


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
        raise NoTree(f"{name(port)} makes copies, and nobody sends it a frame.")
    return tree


def _copies(answer: Any) -> dict[int, list[int]]:
    if not isinstance(answer, dict):
        raise NoTree(f"tree returns {shown(answer)}, and not a dict of ports and lists.")
    found = {}
    for port, children in answer.items():
        is_list = isinstance(children, list | tuple)
        if not _is_port(port) or not is_list or not all(map(_is_port, children)):
            entry = f"{shown(port)}: {shown(children)}"
            raise NoTree(f"tree returns the entry {entry}; it takes a port and a list of ports.")
        found[port] = list(children)
    return found


def _is_port(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check(port: int, children: Sequence[int], fed: set[int], leaves: int) -> None:
    if not 1 <= len(children) <= MOST_COPIES:
        raise NoTree(f"{name(port)} makes {len(children)} copies: 1 to {MOST_COPIES} are possible.")
    for child in children:
        if not 0 <= child < leaves * PLACES or child % PLACES > TERMINALS:
            raise NoTree(f"There is no server and no surrogate at port {child}.")
        if child in fed or children.count(child) > 1:
            raise NoTree(f"{name(child)} gets each frame twice.")


def of(program: Program, given: Mapping[str, Any]) -> tuple[Tree, list[int]]:
    """The tree that a student's policy builds, and its members. Raises PolicyError."""
    leaves, sender = given["leaves"], given["sender"]
    members = [port for port in given["members"] if port != sender]
    answer = program.call("tree", sender, list(members), leaves)
    try:
        tree = built(answer, sender, leaves)
        _reaches(tree, members)
    except NoTree as error:
        raise program.wrong("tree", str(error)) from error
    return tree, members


def _reaches(tree: Tree, members: Sequence[int]) -> None:
    reached = set(levels(tree))
    if missing := sorted(set(members) - reached):
        rest = f", nor do {len(missing) - 1} others" if len(missing) > 1 else ""
        raise NoTree(f"{name(missing[0])} gets no frame{rest}.")
    if strangers := sorted(reached - set(members)):
        raise NoTree(f"{name(strangers[0])} gets frames and is not a member.")


def measure(program: Program, given: Mapping[str, Any]) -> Measured:
    """Of the tree for `members`: `depth`, the most surrogates on the way to one; `surrogates` in
    all; `crossings`, frames that leave a leaf for each one sent. Nothing is sent."""
    tree, members = of(program, given)
    depth = max(levels(tree).values())
    away = sum(port // PLACES != child // PLACES for port, children in tree for child in children)
    counts = Counter(levels(tree).values())
    told = ", ".join(f"{counts[level]} over {level}" for level in sorted(counts))
    numbers = {
        "depth": depth,
        "surrogates": len(tree) - 1,
        "crossings": away,
        "count": len(members),
    }
    return Measured(numbers, (f"surrogates that frames pass on their way: {told}",))


def carry(program: Program, given: Mapping[str, Any]) -> Measured:
    """What the tree does with frames at 90 Gb/s: `least` is the Gb/s of the member that gets the
    least, `delay` the mean in microseconds."""
    tree, _ = of(program, given)
    depth = max(levels(tree).values())
    if depth > MOST_LEVELS:
        told = f"Frames would pass {depth} surrogates: {MOST_LEVELS} are possible."
        raise program.wrong("tree", told)
    flow = Flow(tree, LOAD, given["size"])
    seen = run(
        Scenario(given["leaves"], (flow,), given["micros"], given["micros"] / 2), given["seed"]
    )
    frames = sum(sink["frames"] for sink in seen.sinks)
    delay = sum((sink["delay"] or 0) * sink["frames"] for sink in seen.sinks) / max(frames, 1) / 1e6
    least = min(seen.gbps(0))
    told = f"of {LOAD:g} Gb/s everybody gets {least:.1f} and more, after {delay:.2f} us on average"
    return Measured({"least": least, "delay": delay, "depth": depth}, (told,))
