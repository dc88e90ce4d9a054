"""What each step of the view says, in sentences and in a few words."""

from __future__ import annotations

from p4lab.model.notation import set_bits
from p4lab.systems.msr6.sids import END_RGB, END_RL, END_RLB
from p4lab.systems.msr6.views.acts import Act, Scene
from p4lab.systems.msr6.views.frames import Frame
from p4lab.systems.msr6.views.jobs import Job, is_leaf
from p4lab.systems.msr6.views.journey import Copy, End
from p4lab.systems.msr6.views.names import Names, bits, function, row
from p4lab.widgets.flights import NO_PORT, UNCHOSEN
from p4lab.widgets.sent import Sent

REASONS = {
    "CUT_OFF": "it ends in the middle of a header",
    "HOP_LIMIT": "a multicast packet that may go no further",
    "LINK_LOCAL": "an address that never leaves its link",
    "NO_LISTENER": "no host here listens to the group",
    "NOT_MULTICAST": "what came out is for one receiver",
    "NO_SUCH_SID": "it is for this router, and for nothing that it has",
    "NO_WAY": "there is no path for the copy",
    "NO_BIFT_ENTRY": "no receiver left that the table knows",
    "BACK_TO_SOURCE": "the copy would go back where the packet came from",
    "ROUTED_MULTICAST": "a list that leads to a group",
    "TOO_BIG": "with its tree it is longer than the links carry",
    "TIME_EXCEEDED": "its hop limit is used up",
    "NO_ROUTE": "there is no route to its destination",
    "UPPER_LAYER": "what its SID needs does not follow",
    "ROUTING_TYPE": "a routing header of another type",
    "HDR_EXT_LEN": "an odd length holds no whole entries",
    "TOO_LONG": "more entries than a router reads",
    "LAST_ENTRY": "the list ends beyond the header",
    "SEGMENTS_LEFT": "Segments Left does not fit",
    "NO_COPY": "it asks for no copy at all",
    "POINTER": "its pointer is not below Segments Left",
    "TOO_MANY": "more children than there are entries",
    "NO_ADJACENCY": "a bit that stands for nothing here",
}
"""The program's reasons (`drop_reason_t` of p4/msr6/headers.p4) in words"""

EXPECTED = ("BACK_TO_SOURCE",)
"""Ends that belong to a copy's life"""


class Telling:
    """The sentences of one packet's journey, asked for in the order of time."""

    def __init__(self, sent: Sent, names: Names) -> None:
        self._sent = sent
        self._names = names
        self._got: set[str] = set()

    def read(self, scene: Scene) -> tuple[str, str]:
        """What a router has in front of it."""
        visit, frame = scene.visit, scene.visit.frame
        router = visit.router
        if not frame.has_tree and visit.origin is None:
            what = self._plain(frame)
            return (
                f"{visit.source} sends {what} to {router}.",
                f"{visit.source} → {router}: no tree",
            )
        if not frame.has_tree:
            return (
                f"{router} gets {self._plain(frame)} and only its own tables say what to do.",
                f"{router} reads: no tree",
            )
        if visit.origin is not None and visit.origin.tree is None:
            return (
                f"{router} puts the tree in front: {_entries(frame)}, a routing header of "
                f"{frame.header_length} bytes. The destination is its own SID. "
                f"{self._asks(scene)}",
                f"{router} puts the tree in front: {frame.header_length} bytes",
            )
        if not scene.is_own:
            return (
                f"{router} is not in the destination: for it this is a packet like any other.",
                f"{router}: not its SID",
            )
        assert frame.sid is not None
        name = function(frame.sid)
        if is_leaf(frame):
            return (
                f"{router} reads its SID, {name}: it is a leaf, and the headers come off.",
                f"{router} reads: a leaf",
            )
        return f"{router} reads its SID, {name}. {self._asks(scene)}", self._short(scene)

    def _plain(self, frame: Frame) -> str:
        group = self._sent.stream.destination
        return (
            f"a packet without a tree, for {group}," if frame.destination else "a frame, no IPv6,"
        )

    def _asks(self, scene: Scene) -> str:
        """What a SID asks for, as a sentence."""
        frame, asked = scene.visit.frame, scene.jobs
        assert frame.sid is not None
        taken = [str(job.entry) for job in asked if job.entry is not None]
        if frame.sid.function == END_RL:
            copies = _count(len(asked), "copy", "copies")
            if not asked:
                return f"It asks for {copies}."
            return f"It asks for {copies}: {_noun(taken, 'entry', 'entries')} {row(taken)}."
        if frame.sid.function == END_RLB:
            if not asked:
                return "No bit is set."
            ways = [_behind(job) for job in asked]
            uses = f" They take {_noun(taken, 'entry', 'entries')} {row(taken)}." if taken else ""
            if len(taken) < len(asked):
                uses = f"{uses} {'The others' if taken else 'They'} take no entry."
            if len(asked) == 1:
                uses = uses.replace("They take", "It takes")
            own = sum(1 << job.bit - 1 for job in asked if job.bit)
            return f"{bits(own).capitalize()}: {row(ways)}.{uses}"
        if frame.sid.function == END_RGB:
            return f"In the BitString {_are(asked)} {row([_behind(job) for job in asked])}."
        return "That is not a function of the profile."

    def _short(self, scene: Scene) -> str:
        taken = [str(job.entry) for job in scene.jobs if job.entry is not None]
        own = [_behind(job) for job in scene.jobs if job.entry is None]
        parts = [f"{_noun(taken, 'entry', 'entries')} {row(taken)}"] if taken else []
        parts += [row(own)] if own else []
        return f"{scene.visit.router} reads: {'; '.join(parts) or 'nothing'}"

    def did(self, scene: Scene, act: Act) -> tuple[str, str, str]:
        """One act: in sentences, in a few words, and its tone."""
        if isinstance(act.did, End):
            return self._end(scene, act.did)
        said, short = self._copy(scene, act, act.did)
        copy, tone = act.did, ""
        more = list(act.wrong)
        if not copy.target:
            more.append(_no_cable(copy.port))
        elif copy.lost:
            more.append(f"But {copy.lost}.")
        elif copy.next is None:
            tone = "good"
            receivers = [host.name for host in self._sent.stream.receivers]
            if copy.target not in receivers:
                more.append(f"{copy.target} has not asked for it.")
            elif copy.target in self._got:
                more.append(f"{copy.target} has it already.")
            self._got.add(copy.target)
        return " ".join([said, *more]), f"{'✕ ' if more else ''}{short}", "bad" if more else tone

    def _copy(self, scene: Scene, act: Act, copy: Copy) -> tuple[str, str]:
        router = scene.visit.router
        to = _target(copy, router)
        frame = copy.frame
        short = f"{router} → {to}"
        if not scene.is_own and frame.has_tree:
            return f"{router} forwards it to {to}.", f"{short}: forwarded"
        if not frame.has_tree and scene.visit.tree is not None:
            return f"{router} hands the packet inside to {to}.", f"{short}: the packet inside"
        if not frame.has_tree:
            return f"{router} sends a copy to {to}, without a tree.", f"{short}: no tree"
        left = f"Segments Left {frame.segments_left}"
        if frame.has_bit_string:
            return self._bits(scene, act, copy), f"{short}: {bits(frame.bit_string)}"
        if act.entry is not None:
            via = _way(act)
            becomes = f"its SID becomes the destination, {left}"
            return (
                f"{router} → {to}, {via}the copy for entry {act.entry}: {becomes}.",
                f"{short}: entry {act.entry}, SL {frame.segments_left}",
            )
        if copy.port == NO_PORT and not copy.target:
            return f"{router} → {to}: the packet goes unchanged, {left}.", f"{short}: {UNCHOSEN}"
        via = _way(act)
        return f"{router} → {to}, {via}a copy that takes no entry, {left}.", f"{short}: no entry"

    def _bits(self, scene: Scene, act: Act, copy: Copy) -> str:
        """A copy of BE: which row, its F-BM, and who still waits."""
        router = scene.visit.router
        to = _target(copy, router)
        look = act.did.look
        kept = f"the copy to {to} has {bits(copy.frame.bit_string)}"
        if look is None:
            return f"{router}: {kept}."
        lowest = min(set_bits(look.waiting), default=0)
        rest = look.waiting & ~look.taken
        still = "still waits" if len(set_bits(rest)) == 1 else "still wait"
        return (
            f"{router} takes the row of bit {lowest}. Of the bits that wait, its F-BM has "
            f"{_numbers(look.waiting & look.taken)}: {kept}."
            f"{f' {bits(rest).capitalize()} {still}.' if rest else ''}"
        )

    def _end(self, scene: Scene, end: End) -> tuple[str, str, str]:
        router, reason = scene.visit.router, end.reason
        words = f" That stands for: {REASONS[reason]}." if reason in REASONS else ""
        why = f"{reason} ({end.place})" if end.place else reason
        if reason in EXPECTED:
            return f"{router} drops a copy: {why}.{words}", f"{router}: {reason}", ""
        if end.told:
            return (
                f"{router} refuses it: {why}.{words} Its control plane gets the packet.",
                f"✕ {router} refuses it: {reason}",
                "bad",
            )
        return f"{router} drops it: {why}.{words}", f"✕ {router} drops it: {reason}", "bad"

    def undone(self, scene: Scene) -> tuple[str, str]:
        """What a router was asked for and did not do."""
        router = scene.visit.router
        left = row([job.words.split(" · ")[-1] for job in scene.undone])
        taken = [str(job.entry) for job in scene.undone if job.entry is not None]
        which = f" ({_noun(taken, 'entry', 'entries')} {row(taken)})" if taken else ""
        return (
            f"{router} is done, and there was no copy for {left}{which}.",
            f"✕ {router}: no copy for {left}",
        )


def _target(copy: Copy, router: str) -> str:
    """Where a copy goes, in a word."""
    if not copy.target:
        return f"port {copy.port}"
    return "itself" if copy.target == router else copy.target


def _no_cable(port: int) -> str:
    """Why a copy is nowhere."""
    if port == NO_PORT:
        return f"{UNCHOSEN.capitalize()}: it stays {NO_PORT}, where there is no cable."
    return f"There is no cable at port {port}."


def _behind(job: Job) -> str:
    return job.words.split(" · ")[-1]


def _way(act: Act) -> str:
    """By which bit of its router a copy goes, if a table said so."""
    look = act.did.look
    taken = look.waiting & look.taken if look is not None else 0
    return f"by {bits(taken)}, " if taken else ""


def _numbers(number: int) -> str:
    return bits(number).removeprefix("bits ").removeprefix("bit ")


def _entries(frame: Frame) -> str:
    return _count(len(frame.entries), "entry", "entries")


def _count(number: int, one: str, more: str) -> str:
    return f"{number or 'no'} {one if number == 1 else more}"


def _noun(things: list[str], one: str, more: str) -> str:
    return one if len(things) == 1 else more


def _are(asked: tuple[Job, ...]) -> str:
    return "is" if len(asked) == 1 else "are"
