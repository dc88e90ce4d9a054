"""What lights up when somebody points at something: an entry, a bit or a node.

A branch is where copies went, from the traces: the copy that an entry or a bit was for, and all
that was made of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from p4lab.model.notation import set_bits
from p4lab.systems.msr6.sids import GlobalSet
from p4lab.systems.msr6.views.acts import Act, Scene
from p4lab.systems.msr6.views.frames import sid_of
from p4lab.systems.msr6.views.jobs import bit_cell, entry_cell
from p4lab.systems.msr6.views.journey import Copy, Visit
from p4lab.systems.msr6.views.names import Names


@dataclass
class Target:
    """What belongs to a thing that is pointed at. `nodes` are what it names, `branch` the nodes
    further on; `ways` are directed links, "r1 r2", and `cells` other things of the header."""

    nodes: set[str] = field(default_factory=set)
    branch: set[str] = field(default_factory=set)
    ways: set[str] = field(default_factory=set)
    cells: set[str] = field(default_factory=set)

    def to_json(self) -> dict[str, Any]:
        return {
            "nodes": sorted(self.nodes),
            "branch": sorted(self.branch - self.nodes),
            "ways": sorted(self.ways),
            "cells": sorted(self.cells),
        }


def node_cell(name: str) -> str:
    """How a node is pointed at."""
    return f"node {name}"


class Pointing:
    """All that can be pointed at in the trees of a packet, by tree and cell."""

    def __init__(self, scenes: Sequence[Scene], names: Names) -> None:
        self._names = names
        self._scenes = {id(scene.visit): scene for scene in scenes}
        self._found: dict[int, dict[str, Target]] = defaultdict(lambda: defaultdict(Target))
        for scene in scenes:
            tree = scene.visit.tree
            if tree is not None:
                found = self._found[tree]
                self._read(scene, found)
                for act in scene.acts:
                    if isinstance(act.did, Copy):
                        self._copied(scene, act, act.did, found)

    def to_json(self) -> dict[str, dict[str, Any]]:
        """By the number of the tree, as text."""
        return {
            str(tree): {cell: target.to_json() for cell, target in sorted(cells.items())}
            for tree, cells in self._found.items()
        }

    def of(self, tree: int) -> Mapping[str, Target]:
        """The targets of a tree by cell."""
        return self._found[tree]

    def _read(self, scene: Scene, found: dict[str, Target]) -> None:
        """What a frame names, and which entries its router is asked to read."""
        visit = scene.visit
        frame, own = visit.frame, found[node_cell(visit.router)]
        own.nodes.add(visit.router)
        for index, number in enumerate(() if frame.has_bit_string else frame.entries):
            sid = sid_of(number)
            target = found[entry_cell(index)]
            if sid is not None:
                name = self._names.node(sid)
                target.nodes.add(name)
                found[node_cell(name)].nodes.add(name)
                found[node_cell(name)].cells.add(entry_cell(index))
        if frame.has_bit_string and frame.sid is not None:
            si = GlobalSet.parse(frame.sid.argument).si
            for bit in set_bits(frame.bit_string):
                name = self._names.receiver(si, bit)
                found[bit_cell(bit)].nodes.add(name)
                own.cells.add(bit_cell(bit))
        for job in scene.jobs:
            own.cells.add(job.cell)
            if job.entry is not None:
                own.cells.add(entry_cell(job.entry))
            if job.entry is not None and job.bit is not None:
                found[job.cell].cells.add(entry_cell(job.entry))
            if job.bit is not None and not frame.has_bit_string:
                way = self._names.adjacency(visit.router, job.bit)
                found[job.cell].nodes.add(str(way.neighbour) if way else visit.router)
        if scene.is_own and scene.jobs:
            self._asked(visit, scene, found)

    def _asked(self, visit: Visit, scene: Scene, found: dict[str, Target]) -> None:
        """An entry leads to those that its node reads."""
        below = {entry_cell(job.entry) for job in scene.jobs if job.entry is not None}
        for index, number in enumerate(visit.frame.entries):
            if number == visit.frame.destination:
                found[entry_cell(index)].cells |= below

    def _copied(self, scene: Scene, act: Act, copy: Copy, found: dict[str, Target]) -> None:
        router = scene.visit.router
        ways, nodes = self._branch(router, copy)
        if act.entry is not None:
            found[entry_cell(act.entry)].ways |= ways
            found[entry_cell(act.entry)].branch |= nodes
        if copy.target and copy.target != router:
            found[node_cell(router)].ways.add(f"{router} {copy.target}")
        if copy.frame.has_bit_string and copy.target:
            # A bit's way are the copies that have it, and what comes out of them: no other bit's.
            for bit in set_bits(copy.frame.bit_string):
                found[bit_cell(bit)].ways.add(f"{router} {copy.target}")
                found[bit_cell(bit)].branch.add(copy.target)
            return
        for cell in act.now:
            found[cell].ways |= ways
            found[cell].branch |= nodes

    def _branch(self, router: str, copy: Copy) -> tuple[set[str], set[str]]:
        """The links that a copy and all that came of it took, and the nodes that they reached."""
        ways: set[str] = set()
        nodes: set[str] = set()
        for source, one in self._onward(router, copy):
            if one.target:
                nodes.add(one.target)
                if one.target != source:
                    ways.add(f"{source} {one.target}")
        return ways, nodes

    def _onward(self, router: str, copy: Copy) -> Iterator[tuple[str, Copy]]:
        waiting = [(router, copy)]
        while waiting:
            source, one = waiting.pop()
            yield source, one
            if one.next is not None:
                waiting += [(one.next.router, after) for after in one.next.copies]

    def needed(self, copy: Copy) -> set[int]:
        """The entries that were used further on of what a copy became."""
        found: set[int] = set()
        for _, one in self._onward("", copy):
            if one.next is not None:
                acts = self._scenes[id(one.next)].acts
                found |= {act.entry for act in acts if act.entry is not None}
        return found

    def needed_from(self, visit: Visit) -> set[int]:
        """The entries that were used from a visit on."""
        found = {act.entry for act in self._scenes[id(visit)].acts if act.entry is not None}
        for copy in visit.copies:
            found |= self.needed(copy)
        return found
