"""Units into stages, in the order of the program: each as early as its dependencies and the memory
of the stages allow. The chip's compiler tries much more: docs/fit.md says how far the two differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from math import ceil

from p4lab.fit import chip
from p4lab.fit.dependencies import STEP, Dependency
from p4lab.fit.graph import Action, Gress, Unit
from p4lab.fit.memory import Blocks, Layout, attached, layout

# A program that needs more stages than this is not followed to its end.
MOST_STAGES = 64


@dataclass(frozen=True)
class Share:
    """Of what a stage has besides memory."""

    logical_tables: int = 0
    gateways: int = 0
    meter_alus: int = 0
    stats_alus: int = 0
    hash_slices: int = 0
    exact_bytes: int = 0
    ternary_bytes: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def within(self, all_of_it: Share) -> bool:
        return all(a <= b for a, b in zip(astuple(self), astuple(all_of_it), strict=True))


WHOLE = Share(
    chip.LOGICAL_TABLES,
    chip.GATEWAYS,
    chip.METER_ALUS,
    chip.STATS_ALUS,
    chip.HASH_SLICES,
    chip.EXACT_BYTES,
    chip.TERNARY_BYTES,
)


@dataclass
class Stage:
    """What is taken in one stage."""

    srams: int = 0
    map_rams: int = 0
    tcams: int = 0
    columns: list[int] = field(default_factory=lambda: [0] * chip.TCAM_COLUMNS)  # rows taken
    share: Share = field(default_factory=Share)

    def deepest(self, width: int) -> int:
        """How many rows of blocks `width` wide still fit: they lie in one column."""
        if width == 0:
            return 0
        return sum((chip.TCAM_ROWS - taken) // width for taken in self.columns)

    def holds(self, need: Need) -> bool:
        blocks = need.blocks
        return (
            self.srams + blocks.srams <= chip.SRAMS
            and self.map_rams + blocks.map_rams <= chip.MAP_RAMS
            and self.deepest(blocks.tcam_width) >= blocks.tcam_depth
            and (self.share + need.share).within(WHOLE)
        )

    def take(self, need: Need) -> None:
        blocks = need.blocks
        self.srams += blocks.srams
        self.map_rams += blocks.map_rams
        self.tcams += blocks.tcams
        for _ in range(blocks.tcam_depth):
            column = min(range(chip.TCAM_COLUMNS), key=lambda c: self._room(c, blocks.tcam_width))
            self.columns[column] += blocks.tcam_width
        self.share += need.share

    def _room(self, column: int, width: int) -> tuple[bool, int]:
        left = chip.TCAM_ROWS - self.columns[column] - width
        return (left < 0, left)


@dataclass(frozen=True)
class Need:
    """What a piece of a unit takes in one stage."""

    blocks: Blocks = field(default_factory=Blocks)
    share: Share = field(default_factory=Share)


@dataclass(frozen=True)
class Piece:
    """A unit, or the part of its entries that lies in one stage."""

    unit: int
    stage: int
    entries: int
    blocks: Blocks


@dataclass(frozen=True)
class Unplaced:
    """A unit that lies in no stage, and why."""

    unit: int
    why: str


class Placement:
    """The stages of one pipe; ingress goes first, egress takes what is left."""

    def __init__(self) -> None:
        self.stages = [Stage() for _ in range(MOST_STAGES)]

    def place(
        self, gress: Gress, units: Sequence[Unit], edges: Sequence[Dependency]
    ) -> tuple[list[Piece], list[Unplaced]]:
        """Places all units of one direction."""
        incoming: dict[int, list[Dependency]] = defaultdict(list)
        for edge in edges:
            incoming[edge.after].append(edge)
        pieces: list[Piece] = []
        unplaced: list[Unplaced] = []
        last: dict[int, int] = {}
        home: dict[int, int] = {}  # stage of a shared memory
        for unit in units:
            first = max(
                (last.get(edge.before, 0) + STEP[edge.kind] for edge in incoming[unit.index]),
                default=0,
            )
            own = self._place(gress, unit, first, home)
            if isinstance(own, Unplaced):
                unplaced.append(own)
                last[unit.index] = first
                continue
            pieces += own
            last[unit.index] = max(piece.stage for piece in own)
            for resource in unit.resources:
                home.setdefault(resource, own[0].stage)
        return pieces, unplaced

    def _place(
        self, gress: Gress, unit: Unit, first: int, home: dict[int, int]
    ) -> list[Piece] | Unplaced:
        how = layout(gress, unit)
        if how.kind == "condition" and how.key_bits > chip.CONDITION_BITS:
            return Unplaced(
                unit.index,
                f"a condition reads at most 4 bytes and 12 bits of fields, this one {how.key_bits} "
                "bits",
            )
        beside = attached(gress, unit)
        # What is on the same register lies in the same stage as that.
        fixed = [home[resource] for resource, _ in beside if resource in home]
        new = [(resource, blocks) for resource, blocks in beside if resource not in home]
        own = _need(gress, unit, how, [resource for resource, _ in new])
        for _, blocks in new:
            own = replace(own, blocks=own.blocks + blocks)
        first = max([first, *fixed])
        if first >= MOST_STAGES:
            return Unplaced(
                unit.index,
                f"what it waits for takes {first} stages, and the chip has {chip.STAGES}",
            )
        if how.splits:
            return self._split(unit, how, own, first)
        need = replace(own, blocks=own.blocks + how.blocks(how.entries))
        for number in range(first, MOST_STAGES):
            if self.stages[number].holds(need):
                self.stages[number].take(need)
                return [Piece(unit.index, number, how.entries, need.blocks)]
        return Unplaced(unit.index, _why(need))

    def _split(self, unit: Unit, how: Layout, own: Need, first: int) -> list[Piece] | Unplaced:
        """Entries into the first stage with room, and what is left over into the next."""
        left = how.entries
        smallest = how.blocks(min(left, chip.TCAM_ENTRIES))
        if not Stage().holds(replace(own, blocks=own.blocks + smallest)):
            need = replace(own, blocks=own.blocks + smallest)
            return Unplaced(unit.index, _why(need))
        pieces: list[Piece] = []
        for number in range(first, MOST_STAGES):
            stage = self.stages[number]
            entries = self._most(stage, how, own, left)
            if entries == 0:
                continue
            need = replace(own, blocks=own.blocks + how.blocks(entries))
            stage.take(need)
            pieces.append(Piece(unit.index, number, entries, need.blocks))
            left -= entries
            if left == 0:
                return pieces
            # Its other memories hang on the first piece.
            own = Need(share=replace(own.share, meter_alus=0, stats_alus=0))
        return Unplaced(
            unit.index, f"its {how.entries} entries need more than {MOST_STAGES} stages"
        )

    @staticmethod
    def _most(stage: Stage, how: Layout, own: Need, left: int) -> int:
        """How many entries fit, in steps of a block unless all do."""

        def fits(entries: int) -> bool:
            need = replace(own, blocks=own.blocks + how.blocks(entries))
            return stage.holds(need)

        if fits(left):
            return left
        step = chip.TCAM_ENTRIES if how.kind == "ternary" else chip.SRAM_ROWS
        low, high = 0, max(1, left // step)
        while low < high:
            middle = (low + high + 1) // 2
            if fits(middle * step):
                low = middle
            else:
                high = middle - 1
        return min(left, low * step)


def _need(gress: Gress, unit: Unit, how: Layout, new: list[int]) -> Need:
    """Everything but memory blocks."""
    kinds = [gress.resources[index].kind for index in new]
    kinds += [resource.kind for resource in how.direct]
    crossbar = sum((hi - lo) // 8 + 1 for _, lo, hi in unit.crossbar)
    share = Share(
        logical_tables=int(unit.kind != "condition"),
        gateways=int(unit.kind == "condition"),
        meter_alus=sum(kind in ("register", "meter", "filter", "selector") for kind in kinds),
        stats_alus=sum(kind == "counter" for kind in kinds),
        hash_slices=max((_slices(gress, action) for action in unit.actions), default=0),
        exact_bytes=crossbar if how.kind != "ternary" else 0,
        ternary_bytes=how.key_bytes if how.kind == "ternary" else 0,
    )
    return Need(share=share)


def _slices(gress: Gress, action: Action) -> int:
    """Hash distribution: an index takes one slice of 16 bits, a hash as many as it is wide."""
    hashed = [gress.resources[resource] for resource, by_hash in action.uses if by_hash]
    return sum(ceil(r.width / 16) if r.kind == "hash" and r.width else 1 for r in hashed)


def _why(need: Need) -> str:
    """What of a stage is too small for this even when nothing else is in it."""
    blocks, share = need.blocks, need.share
    limits = [
        (blocks.tcam_width, chip.TCAM_ROWS, "TCAM blocks side by side"),
        (blocks.srams, chip.SRAMS, "SRAM blocks"),
        (blocks.map_rams, chip.MAP_RAMS, "map RAMs"),
        (share.meter_alus, chip.METER_ALUS, "registers and meters"),
        (share.stats_alus, chip.STATS_ALUS, "counters"),
        (share.hash_slices, chip.HASH_SLICES, "hashed indices"),
        (share.exact_bytes, chip.EXACT_BYTES, "bytes of fields to match exactly"),
        (share.ternary_bytes, chip.TERNARY_BYTES, "bytes of fields to match ternary"),
    ]
    for wanted, there_are, what in limits:
        if wanted > there_are:
            return f"it needs {wanted} {what} in one stage, and a stage has {there_are}"
    return "no stage has room for it"
