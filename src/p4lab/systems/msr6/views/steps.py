"""The steps of the view: what a router reads, each copy that it makes, what it leaves undone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from p4lab.model.notation import set_bits
from p4lab.systems.msr6.views.acts import Act, Scene
from p4lab.systems.msr6.views.frames import Frame
from p4lab.systems.msr6.views.journey import Copy, End
from p4lab.systems.msr6.views.pointing import Pointing
from p4lab.systems.msr6.views.telling import Telling

MOST_BITS = 4
"""Bits that a label on a link names"""


@dataclass(frozen=True)
class Step:
    """One step. `frame` is what is shown of the packet: what the router reads, or the copy. `now`
    are cells of the jobs that it is about and `done` of those before; `entries` are read now, and
    `needed` later, by the copy or what becomes of it. `did` is None where a router reads, or has
    left something undone (`undone`)."""

    scene: Scene
    frame: Frame
    said: str
    short: str
    tone: str
    label: str
    did: Copy | End | None = None
    undone: frozenset[str] = frozenset()
    now: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    entries: frozenset[int] = frozenset()
    needed: frozenset[int] = frozenset()

    @property
    def router(self) -> str:
        return self.scene.visit.router

    @property
    def way(self) -> tuple[str, str] | None:
        """From where to where, if something was sent on a link."""
        visit = self.scene.visit
        if self.did is None and not self.undone and visit.origin is None:
            return visit.source, visit.router  # how the packet came into the network
        if not isinstance(self.did, Copy) or self.did.target in ("", self.router):
            return None
        return self.router, self.did.target

    @property
    def title(self) -> str:
        """Whose packet is shown."""
        if isinstance(self.did, Copy):
            if self.did.target == self.router:
                return f"{self.router}, for itself"
            return f"{self.router} → {self.did.target or f'port {self.did.port}'}"
        return f"at {self.router}"


def steps(scenes: Sequence[Scene], pointing: Pointing, telling: Telling) -> Iterator[Step]:
    """All steps of a journey, in the order of time."""
    for scene in scenes:
        yield _read(scene, pointing, telling)
        for act in scene.acts:
            step = _act(scene, act, pointing, telling)
            if step is not None:
                yield step
        if scene.undone:
            yield _undone(scene, telling)


def _read(scene: Scene, pointing: Pointing, telling: Telling) -> Step:
    said, short = telling.read(scene)
    return Step(
        scene,
        scene.visit.frame,
        said,
        short,
        "",
        "no tree" if not scene.visit.frame.has_tree else "",
        entries=frozenset(job.entry for job in scene.jobs if job.entry is not None),
        needed=frozenset(pointing.needed_from(scene.visit)),
    )


def _act(scene: Scene, act: Act, pointing: Pointing, telling: Telling) -> Step | None:
    did = act.did
    if isinstance(did, Copy) and did.frame.has_tree and scene.visit.tree is None:
        return None  # a tree that was put in front: what is read next says so
    said, short, tone = telling.did(scene, act)
    frame = did.frame if isinstance(did, Copy) else scene.visit.frame
    needed = pointing.needed(did) if isinstance(did, Copy) else set()
    entries = frozenset() if act.entry is None else frozenset([act.entry])
    label = did.reason if isinstance(did, End) else _label(did)
    return Step(
        scene,
        frame,
        said,
        short,
        tone,
        label,
        did,
        now=act.now,
        done=act.done,
        entries=entries,
        needed=frozenset(needed),
    )


def _undone(scene: Scene, telling: Telling) -> Step:
    said, short = telling.undone(scene)
    done = frozenset().union(*(act.now for act in scene.acts))
    left = frozenset(job.cell for job in scene.undone)
    entries = frozenset(job.entry for job in scene.undone if job.entry is not None)
    frame = scene.visit.frame
    return Step(scene, frame, said, short, "bad", "no copy", None, left, done=done, entries=entries)


def _label(copy: Copy) -> str:
    """What stands on a copy while it is on its link."""
    if not copy.target:
        return f"port {copy.port}"
    if copy.frame.has_bit_string:
        numbers = [str(bit) for bit in set_bits(copy.frame.bit_string)]
        if len(numbers) <= MOST_BITS:
            return " ".join(numbers) or "no bit"
        return f"{len(numbers)} bits"
    return f"SL {copy.frame.segments_left}" if copy.frame.has_tree else "no tree"
